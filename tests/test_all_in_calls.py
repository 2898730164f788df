"""Stacks in which every process waits in a call: that it hangs and in which calls is told, and nobody is named."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from forensics import analyze

STACK = """\
Process {pid}: python train.py
Python v3.11.7 (/usr/bin/python3.11)

Thread {pid} (idle): "MainThread"
    {frame}
    _exception_logger.<locals>.wrapper (torch/distributed/c10d_logger.py:83)
    step (job.py:40)
    <module> (job.py:90)
"""
CALL = "{} (torch/distributed/distributed_c10d.py:3252)"
THREAD = """\
Exception in thread recorder:
Traceback (most recent call last):
  File "/usr/lib/python3.11/threading.py", line 1045, in _bootstrap_inner
    self.run()
  File "/srv/job/record.py", line 16, in watch
    out.write(payload)
TypeError: write() argument must be str, not bytes
"""


def write(folder: Path, frames: Mapping[int, str], log: str = "") -> Path:
    for rank, frame in frames.items():
        (folder / f"rank{rank}.stack.txt").write_text(STACK.format(pid=4700 + rank, frame=frame))
    if log:
        (folder / "train.log").write_text(log)
    return folder


@pytest.mark.parametrize(
    "ops", [("all_reduce",) * 4, ("all_reduce", "all_reduce", "all_gather_single", "reduce_scatter_single")]
)
def test_a_job_that_stands_in_calls_hangs_and_nobody_is_named(tmp_path: Path, ops: tuple[str, ...]) -> None:
    bundle = write(tmp_path, {rank: CALL.format(op) for rank, op in enumerate(ops)})
    report = analyze(bundle, hung=True)
    assert (report.verdict.kind, report.verdict.cause, report.verdict.ranks) == ("hang", None, [])
    assert report.verdict.suspects.ranks == []
    assert {op.removesuffix("_single") for op in ops} <= set((report.verdict.first_anomaly.op or "").split("/"))


def test_nothing_shows_that_a_running_job_hangs(tmp_path: Path) -> None:
    assert analyze(write(tmp_path, dict.fromkeys(range(4), CALL.format("all_reduce")))).verdict.kind != "hang"


def test_who_stands_elsewhere_is_named_as_before(tmp_path: Path) -> None:
    frames = dict.fromkeys(range(4), CALL.format("all_reduce")) | {2: "acquire (filelock/_unix.py:42)"}
    assert analyze(write(tmp_path, frames), hung=True).verdict.ranks == [2]


def test_an_error_of_a_helper_thread_ended_no_process(tmp_path: Path) -> None:
    """It is shown, and the stacks say what holds the job up (of no rank: the log is everybody's)."""
    bundle = write(tmp_path, dict.fromkeys(range(4), CALL.format("all_reduce")), THREAD * 4)
    report = analyze(bundle, hung=True)
    assert report.verdict.kind == "hang"
    assert report.tables["events"]["code"].to_list() == ["TypeError"] * 4
