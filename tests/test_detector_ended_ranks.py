"""Who failed first, as far as clocks can tell: T4a and T4b."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from forensics import analyze
from forensics.analyze import conclude_evidence
from forensics.detectors.ranks.process_ended import DETECTOR
from forensics.model.incident import Code, Verdict
from parsers.schema.evidence import Evidence
from parsers.schema.tables import TABLE_NAMES, TableName, table
from tests.hang_tables import Rows, call
from tests.log_cases import case

_SECOND = 1_000_000_000
_START = 1_763_000_000 * _SECOND
_RANKS, _PER_HOST, _CULPRIT = 256, 8, 77


def _job(anchors: bool, *, culprit_raises: bool = True, gap_s: float = 2.0) -> Verdict:
    """Rank 77 raises an error; 2 s later eight others do, each by a clock that is up to 5 s wrong."""
    chance = random.Random(4)
    skew = {host: chance.randint(-5 * _SECOND, 5 * _SECOND) for host in range(_RANKS // _PER_HOST)}
    rows: dict[TableName, list[dict[str, Any]]] = {name: [] for name in TABLE_NAMES}

    def clock(rank: int, time_ns: int) -> int:
        return _START + time_ns + skew[rank // _PER_HOST] + chance.randint(0, 20_000_000)

    for rank in range(_RANKS):
        file = f"rank_{rank}.log"
        rows["ranks"].append(
            {"rank": rank, "host": f"n{rank // _PER_HOST}", "world_size": _RANKS, "file": file, "line": 1}
        )
        if anchors:
            rows["steps"] += [
                {"rank": rank, "step": step, "phase": "train", "file": file, "line": 2 + step, "time_basis": "utc",
                 "time_ns": clock(rank, step * _SECOND)}
                for step in range(9)
            ]  # fmt: skip
    failing = [(_CULPRIT, 20.0, "KeyError", "KeyError: 'labels'")] if culprit_raises else []
    others = [(rank, 20.0 + gap_s, "ValueError", f"ValueError: too few rows, {rank}") for rank in range(0, 256, 32)]
    for rank, when, code, text in failing + (others if culprit_raises else []):
        rows["events"].append(
            {"kind": "exception", "code": code, "severity": "error", "rank": rank, "rank_space": "global", "line": 50,
             "file": f"rank_{rank}.log", "time_ns": clock(rank, int(when * _SECOND)), "time_basis": "utc", "text": text}
        )  # fmt: skip
    if not culprit_raises:
        for rank in range(_RANKS):
            rows["events"].append(
                {"kind": "collective_timeout", "severity": "error", "rank": rank, "rank_space": "global", "line": 50, "seq": 9,
                 "file": f"rank_{rank}.log", "time_ns": clock(rank, 600 * _SECOND), "time_basis": "utc", "text": "Watchdog"}
            )  # fmt: skip
    evidence = Evidence("job", {name: table(name, listed) for name, listed in rows.items()})
    report = conclude_evidence(evidence)
    assert (report.coverage.clock.skew_bound_s is not None) == anchors
    return report.incidents[report.primary].verdict


def test_clocks_that_err_by_more_than_the_gap_give_a_set() -> None:
    verdict = _job(anchors=False)
    assert verdict.kind == "crash" and verdict.ranks == []
    assert _CULPRIT in verdict.suspects.ranks
    assert "clock_error_exceeds_gap" in verdict.undecided


def test_anchors_bring_the_error_below_the_gap_and_give_the_name() -> None:
    assert _job(anchors=True).ranks == [_CULPRIT]


def test_a_gap_below_the_recovered_error_gives_a_set() -> None:
    verdict = _job(anchors=True, gap_s=0.01)
    assert verdict.ranks == [] and _CULPRIT in verdict.suspects.ranks


@pytest.mark.parametrize("anchors", [False, True], ids=["skewed", "aligned"])
def test_whoever_times_out_first_is_not_named(anchors: bool) -> None:
    assert _job(anchors, culprit_raises=False).ranks == []


@pytest.mark.parametrize(
    ("raised", "how"),
    [
        ({}, "gave_up"),
        ({"time_ns": _START, "time_basis": "utc"}, "died"),
        ({"time_ns": _START + 900 * _SECOND, "time_basis": "utc"}, "gave_up"),
        ({"file": "err.log", "line": 1}, "died"),
        ({"kind": "gpu_oom"}, "died"),
    ],
    ids=["no stamp", "stamped before", "stamped after", "before in the same file", "device memory"],
)
def test_an_exception_in_another_file_than_the_same_ranks_time_out(raised: dict[str, Any], how: str) -> None:
    waited = {"kind": "collective_timeout", "rank": 2, "file": "err.log", "line": 9, "seq": 5, "time_basis": "utc"}
    other = {"kind": "exception", "code": "AttributeError", "rank": 2, "file": "app.log", "line": 3, **raised}
    assert case([waited | {"time_ns": _START + 600 * _SECOND}, other]).ends[2].how == how


def test_what_a_rank_died_of_is_told_with_its_line_of_code() -> None:
    text = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.00 GiB. GPU 1 has 79 GiB of which 1.50 GiB is free."
    frames = [["wrapper", "/env/lib/python3.11/site-packages/torch/x.py", 8], ["step", "/job/train.py", 40]]
    rows: list[dict[str, Any]] = [
        {"kind": "exception", "code": "torch.OutOfMemoryError", "detail": json.dumps({"frames": frames})}
    ]
    rows = [{**row, "rank": 6, "text": text, "line": 9} for row in [*rows, {"kind": "gpu_oom"}]]
    (found,) = DETECTOR.detect(case(rows))
    assert found.summary.startswith(
        "Rank 6 ran out of GPU memory (3.00 GiB requested, 1.50 GiB free) at /job/train.py:40"
    )
    assert found.code == Code(file="/job/train.py", line=40, function="step")
    assert [action.kind for action in found.actions] == ["check_config"]
    assert found.first_anomaly.signature == "gpu_oom"


@pytest.mark.parametrize(("function", "file", "ranks"), [
    ("__getitem__", "torch/utils/data/dataset.py", [1]),
    ("all_reduce", "torch/distributed/distributed_c10d.py", []),
], ids=["it read data", "it waited"])  # fmt: skip
def test_what_a_rank_raises_while_its_operation_is_on_the_way(function: str, file: str, ranks: list[int]) -> None:
    """Its record shows an open operation: where it stood tells whether the exception is its own."""
    job = (
        Rows(2)
        .dump(0, call("world", 5, done=True), call("world", 6))
        .dump(1, call("world", 5, done=True), call("world", 6))
    )
    frames = [(function, file, 10), ("main", "train.py", 5)]
    rows = [{"function": name, "file": path, "line": line} for name, path, line in frames]
    job.add("stacks", rank=1, is_main=True, snapshot=0, source="traceback", frames=rows, file="logs/rank_1.log")
    job.event("exception", rank=1, code="KeyError", text="KeyError: 'eos'")
    assert job.verdict().ranks == ranks


def _vanished(*ranks: int) -> Verdict:
    """Ray says that these workers went without a word; the others lost their connections."""
    job = Rows(4)
    for rank in range(4):
        if rank in ranks:
            job.event("exit", rank=rank, code="SYSTEM_ERROR", file="driver.log")
        else:
            job.event("peer_closed", rank=rank)
    return job.verdict(hung=False)


def test_a_worker_that_went_without_a_word_died_and_several_may_have_been_aborted() -> None:
    assert (_vanished(2).kind, _vanished(2).cause, _vanished(2).ranks) == ("crash", None, [2])
    assert _vanished(1, 2).ranks == []


SHELL = "[rank{rank}]: Fatal Python error: Segmentation fault\n[rank{rank}]: \n"
THREAD = "[rank{rank}]: {head} 0x00007f170b20fb80 (most recent call first):\n"
FRAME = '[rank{rank}]:   File "{file}", line {line} in {name}\n'
OWN = [("/opt/lib/python3.11/ctypes/__init__.py", 519, "string_at"), ("/srv/app/kernels.py", 78, "gather"), ("/srv/app/train.py", 12, "<module>")]  # fmt: skip
LIBRARY = [("/usr/lib/python3/dist-packages/torch/_ops.py", 1061, "__call__"), ("/usr/lib/python3/dist-packages/torch/nn/modules/module.py", 1751, "_call_impl")]  # fmt: skip


def _crash(folder: Path, rank: int, *threads: tuple[str, list[tuple[str, int, str]]], shell: str = SHELL) -> Any:
    lines = [f"[rank{one}]: step {step} loss 2.{step}\n" for step in range(4) for one in range(4)]
    lines.append(shell.format(rank=rank))
    for head, frames in threads:
        lines.append(THREAD.format(rank=rank, head=head))
        lines += [FRAME.format(rank=rank, file=file, line=line, name=name) for file, line, name in frames]
    lines.append(f"[rank{rank}]: Segmentation fault (core dumped)\n" if shell == SHELL else "")
    (folder / "train.log").write_text("".join(lines))
    report = analyze(folder)
    return report.incidents[report.primary]


@pytest.mark.parametrize("rank", [1, 3])
@pytest.mark.parametrize("other", [[], [("Thread", [("/srv/app/watch.py", 5, "watch")])]], ids=["alone", "beside"])
def test_a_crash_is_where_its_interpreter_shows_it(tmp_path: Path, rank: int, other: list[Any]) -> None:
    incident = _crash(tmp_path, rank, *other, ("Current thread", OWN))
    code = incident.verdict.code
    assert (incident.verdict.cause, incident.verdict.ranks) == ("segfault", [rank])
    assert code is not None and (code.file, code.line, code.function) == ("/srv/app/kernels.py", 78, "gather")
    assert "kernels.py" in (incident.actions[0].command or "")
    assert any("string_at" in item.claim for item in incident.evidence)


@pytest.mark.parametrize(
    "threads",
    [[("Current thread", LIBRARY)], [("Thread", OWN)], []],
    ids=["within a library", "another thread", "no stack"],
)
def test_a_crash_is_not_where_some_other_thread_stood(tmp_path: Path, threads: list[Any]) -> None:
    incident = _crash(tmp_path, 2, *threads)
    assert (incident.verdict.cause, incident.verdict.ranks, incident.verdict.code) == ("segfault", [2], None)
    assert "kernels.py" not in " ".join(f"{one.target} {one.command}" for one in incident.actions)
