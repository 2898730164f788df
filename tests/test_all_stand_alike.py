"""Each process of a job says in its own log that nothing moves, all behind the same step: the job hangs, and none of them is the reason that is seen."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from forensics import analyze
from forensics.model.incident import Verdict
from tests.sources import written

_START = "2026-01-05 09:59:00 rank {rank} of {number} started, world size {number}"


def _logs(
    said: str, number: int = 4, name: str = "worker-{}.log", *, start: str = _START, last: Mapping[int, int] = {}, silent: int | None = None, later: int | None = None
) -> dict[str, list[str]]:  # fmt: skip
    """Logs of all ranks; `last`: of some the last step, `silent`: who says nothing of it, `later`: who goes on behind its word."""
    files = {}
    for rank in range(number):
        top = last.get(rank, 30)
        own = [start.format(rank=rank, number=number)]
        own += [
            f"2026-01-05 10:00:{step:02} step {step} loss 2.{31 + step} step_time=1.28s" for step in range(1, top + 1)
        ]
        if rank != silent:
            own += [
                f"2026-01-05 10:{20 + at}:31 " + said.format(seconds=600 * (1 + at), minutes=10 * (1 + at))
                for at in range(2)
            ]
        if rank == later:
            own += [f"2026-01-05 10:40:0{at} step {top + 1 + at} loss 2.31 step_time=1.28s" for at in range(3)]
        files[name.format(rank)] = own
    return files


def _verdict(folder: Path, files: Mapping[str, list[str]]) -> Verdict:
    return analyze(str(written(folder, files))).verdict


_PS = {
    "ps.txt": [
        "$ ps -eo pid,ppid,stat,wchan:20,args",
        "  PID  PPID STAT WCHAN                COMMAND",
        *(
            f" 410{rank}  4000 {'Tl   do_signal_stop  ' if rank == 2 else 'Sl   futex_wait_queue'} python -u fit.py"
            for rank in range(4)
        ),
    ]
}
_SAID = "WARN no step finished in the last {seconds}s; main thread in IteratorGetNext"


@pytest.mark.parametrize(
    ("said", "number", "name"),
    [
        (_SAID, 4, "worker-{}.log"),
        ("no progress in {minutes} min, collecting stacks", 8, "rank_{}.log"),
        ("WARNING: training stalled for {seconds} seconds", 2, "worker-{}.log"),
        ("[guard] no step for {minutes} minutes (last step 30)", 4, "out.{}"),
        ("last step {minutes} minutes ago", 4, "logs/r{}.txt"),
        ("E step_watch: no iteration completed within the last {seconds} s", 3, "worker-{}.log"),
        ("stuck for {seconds}s at get_next", 4, "worker-{}.log"),
        ("loop has been hanging for {minutes} min", 6, "trainer_{}.log"),
        ("no new batch since {seconds} s", 4, "worker-{}.log"),
        ("no training progress for {seconds} secs; queue is empty", 5, "worker{}/train.log"),
        ("without any new step for {minutes} min", 4, "worker-{}.log"),
        ("not progressing since {minutes} min: waiting for data", 4, "node/{}/stderr"),
    ],
)
def test_the_job_hangs_and_nobody_is_named(tmp_path: Path, said: str, number: int, name: str) -> None:
    found = _verdict(tmp_path, _logs(said, number, name))
    assert (found.kind, found.cause, found.ranks, found.suspects.ranks) == ("hang", None, [], [])


@pytest.mark.parametrize(
    "files",
    [
        _logs(_SAID, later=2),
        _logs(_SAID, silent=1),
        _logs(_SAID, last={3: 29}),
        _logs(_SAID, start="started"),
        {path: own for path, own in _logs(_SAID).items() if "2" not in path},
        _logs("INFO watchdog: no step for {seconds} s (evaluation in progress, 120 of 400 batches)"),
        _logs("watchdog: no step for {seconds} s, uploading the checkpoint, 41%"),
        {path: [*own, "2026-01-05 10:40:00 INFO batch 50 of 400 judged"] for path, own in _logs(_SAID).items()},
        _logs(_SAID, start=_START + " pid 410{rank}") | _PS,
        _logs(_SAID, silent=0) | {"monitor.log": ["2026-01-05 10:30:00 monitor: no step for 1200s"]},
    ],
    ids=[
        "one went on",
        "one is silent",
        "one is behind",
        "no world",
        "a lost log",
        "an evaluation",
        "an upload",
        "batches behind it",
        "one is held",
        "another's word",
    ],
)
def test_where_one_is_unlike_the_others_it_is_not_said(tmp_path: Path, files: dict[str, list[str]]) -> None:
    found = _verdict(tmp_path, files)
    assert found.ranks == [] and found.first_anomaly.signature != "stood_alike"


def test_a_pause_of_all_in_a_job_that_went_on_is_no_hang(tmp_path: Path) -> None:
    files = {
        path: [*own, *(f"2026-01-05 10:5{at}:00 step {31 + at} loss 2.3 step_time=1.28s" for at in range(4))]
        for path, own in _logs(_SAID).items()
    }
    assert _verdict(tmp_path, files).kind != "hang"


def test_a_failure_beside_it_is_asked_first(tmp_path: Path) -> None:
    files = _logs(_SAID, silent=1)
    files["worker-1.log"] += [
        "Traceback (most recent call last):",
        '  File "/opt/fit.py", line 42, in <module>',
        "    x[1]",
        "KeyError: 1",
    ]
    found = _verdict(tmp_path, files)
    assert found.kind == "crash" and {*found.ranks} <= {1}
