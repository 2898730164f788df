"""Copies of what processes were given, in folders called after their numbers, and logs that print these numbers (parsers/who/processes/process_table.py);
what is caught and logged stands below a record that tells its printer (parsers/pytorch/carried.py)."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.sources import raised

PIDS = {"ruby": (4711, 4719), "opal": (5120, 5104)}  # by rank, 0 to 3
ORDER = ("opal", "ruby")  # of their ranks
RANKS = {pid: 2 * node + at for node, host in enumerate(ORDER) for at, pid in enumerate(PIDS[host])}
CULPRIT = 4711
FORMS = {
    "proc": "proc/{host}/{pid}/environ",
    "a folder with a date": "snap_0311/{host}/{pid}/environ",
}
LOGGERS = {
    "bars": "2026-03-11 02:15:{s:02} | {level:<8} | {pid} | fit:run:93 - {words}",
    "brackets": "02:15:{s:02} [{pid}] {level} {words}",
    "pid=": "2026-03-11 02:15:{s:02},001 {level} pid={pid} fit: {words}",
}
TRACE = ["Traceback (most recent call last):", '  File "/job/fit.py", line 9, in run', "    step(batch)"]


def given(form: str, separator: str = "\n") -> dict[str, list[str]]:
    made = {}
    for host, pids in PIDS.items():
        for pid in pids:
            own = [
                "HOME=/home/k",
                "MASTER_PORT=6123",
                "WORLD_SIZE=4",
                f"RANK={RANKS[pid]}",
                f"LOCAL_RANK={RANKS[pid] % 2}",
            ]
            made[form.format(host=host, pid=pid)] = own if separator == "\n" else [separator.join(own)]
    return made


def logs(form: str, caught: Mapping[str, Sequence[tuple[int | None, str]]]) -> dict[str, list[str]]:
    """`caught`: host → who logged what; None: the interpreter prints it."""
    made = {}
    for host, pids in PIDS.items():
        lines = [
            form.format(s=s, level="INFO", pid=pid, words=f"step {10 * s} loss 2.{s}{at}")
            for s in (1, 2, 3)
            for at, pid in enumerate(pids)
        ]
        for pid, words in caught.get(host, ()):
            lines += [] if pid is None else [form.format(s=9, level="ERROR", pid=pid, words="giving up")]
            lines += [*TRACE, words]
        made[f"logs/{host}.log"] = lines
    return made


LOST = "ConnectionResetError: [Errno 104] Connection reset by peer"


@pytest.mark.parametrize("logger", LOGGERS)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("separator", ["\n", "\0"])
def test_whose_process_logged_what_it_caught(tmp_path: Path, form: str, logger: str, separator: str) -> None:
    caught = {"ruby": [(CULPRIT, "KeyError: 'ids'"), (4719, LOST)], "opal": [(5104, LOST)]}
    found = raised(tmp_path, {**given(FORMS[form], separator), **logs(LOGGERS[logger], caught)})
    assert sorted(rank for rank in found if rank is not None) == [RANKS[5104], RANKS[CULPRIT], RANKS[4719]]


def test_what_is_linked_to_it_is_of_the_same_process(tmp_path: Path) -> None:
    chain = "\n".join(
        (
            "OSError: stale",
            "",
            "During handling of the above exception, another exception occurred:",
            "",
            *TRACE,
            "RuntimeError: no data",
        )
    )
    found = raised(
        tmp_path,
        {**given(FORMS["proc"]), **logs(LOGGERS["bars"], {"ruby": [(CULPRIT, chain)], "opal": [(5104, LOST)]})},
    )
    assert sorted(rank for rank in found if rank is not None) == sorted([RANKS[5104], *[RANKS[CULPRIT]] * 2])


def test_the_only_traceback_below_a_record_may_be_of_another_process(tmp_path: Path) -> None:
    found = raised(
        tmp_path, {**given(FORMS["proc"]), **logs(LOGGERS["bars"], {"ruby": [(CULPRIT, "KeyError: 'ids'")]})}
    )
    assert found == [None]


@pytest.mark.parametrize("logger", LOGGERS)
@pytest.mark.parametrize(
    ("pid", "level", "told"), [(CULPRIT, "ERROR", RANKS[CULPRIT]), (CULPRIT, "INFO", None), (4719, "ERROR", None)],
    ids=["an error more", "no error", "another's"],
)  # fmt: skip
def test_who_says_another_error_right_behind_it_caught_it(
    tmp_path: Path, logger: str, pid: int, level: str, told: int | None
) -> None:
    files = {**given(FORMS["proc"]), **logs(LOGGERS[logger], {"ruby": [(CULPRIT, "KeyError: 'ids'")]})}
    files["logs/ruby.log"] += [LOGGERS[logger].format(s=9, level=level, pid=pid, words="leaving")]
    assert raised(tmp_path, files) == [told]


@pytest.mark.parametrize("host", ["ruby", "opal"])
def test_what_an_interpreter_prints_is_of_no_record_above_it(tmp_path: Path, host: str) -> None:
    caught = {host: [(PIDS[host][0], LOST), (None, "KeyError: 'ids'")]}
    found = raised(tmp_path, {**given(FORMS["proc"]), **logs(LOGGERS["bars"], caught)})
    assert found == [None, None]


def test_what_the_launcher_raises_is_its_own(tmp_path: Path) -> None:
    own = '  File "/opt/lib/python3.11/site-packages/torch/distributed/run.py", line 919, in run\n    elastic_launch(\nChildFailedError: fit.py FAILED'
    found = raised(tmp_path, {**given(FORMS["proc"]), **logs(LOGGERS["bars"], {"ruby": [(CULPRIT, own)]})})
    assert found == [None]


def test_what_stands_below_a_step_is_nobodys(tmp_path: Path) -> None:
    found = raised(tmp_path, {**given(FORMS["proc"]), **logs(LOGGERS["bars"], {"ruby": [(None, "KeyError: 'ids'")]})})
    assert found == [None]


def test_a_number_that_two_files_share_is_no_process(tmp_path: Path) -> None:
    files = {f"run/{at % 2 + 300}/{at}.env": [f"RANK={at}", "WORLD_SIZE=4"] for at in range(4)}
    log = [f"[{300 + at}] INFO step 1 loss 2.{at}" for at in (0, 1)] * 2 + [
        "[300] ERROR giving up",
        *TRACE,
        "KeyError: 'ids'",
    ]
    assert raised(tmp_path, {**files, "all.log": log}) == [None]
