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
LAUNCH = "".join(f"[rank{rank}]: initialized, world size 4, pid {4700 + rank}\n" for rank in range(4))
DONE = LAUNCH + "".join(f"[rank{rank}]: training complete\n" for rank in range(4))


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


DIFFERENT = ("all_reduce", "all_reduce", "all_gather_single", "reduce_scatter_single")


@pytest.mark.parametrize("log", ["", THREAD * 4, "rank 0 of world size 4\n"])
def test_different_calls_of_all_ranks_are_told_as_what_they_are_if_it_stands(tmp_path: Path, log: str) -> None:
    """An error of a helper thread is no answer where the stacks of all ranks are there; that it hangs, one look does not prove."""
    verdict = analyze(
        write(tmp_path, {rank: CALL.format(op) for rank, op in enumerate(DIFFERENT)}, LAUNCH + log)
    ).verdict
    assert (verdict.kind, verdict.cause, verdict.status, verdict.ranks) == ("hang", None, "hypothesis", [])
    assert "single_snapshot" in verdict.undecided and verdict.summary.startswith("If the job stands still")


def test_what_is_told_under_a_condition_is_not_its_own_alternative(tmp_path: Path) -> None:
    report = analyze(write(tmp_path, {rank: CALL.format(op) for rank, op in enumerate(DIFFERENT)}, LAUNCH))
    assert report.incidents[0].alternatives == []


@pytest.mark.parametrize("log", [DONE, LAUNCH.replace("4", "8")])
def test_different_calls_of_a_job_that_went_on_or_of_some_ranks_are_no_hang(tmp_path: Path, log: str) -> None:
    bundle = write(tmp_path, {rank: CALL.format(op) for rank, op in enumerate(DIFFERENT)}, log)
    assert analyze(bundle).verdict.kind != "hang"


def test_who_stands_elsewhere_is_named_as_before(tmp_path: Path) -> None:
    frames = dict.fromkeys(range(4), CALL.format("all_reduce")) | {2: "acquire (filelock/_unix.py:42)"}
    assert analyze(write(tmp_path, frames), hung=True).verdict.ranks == [2]


def test_an_error_of_a_helper_thread_ended_no_process(tmp_path: Path) -> None:
    """It is shown, and the stacks say what holds the job up (of no rank: the log is everybody's)."""
    bundle = write(tmp_path, dict.fromkeys(range(4), CALL.format("all_reduce")), THREAD * 4)
    report = analyze(bundle, hung=True)
    assert report.verdict.kind == "hang"
    assert report.tables["events"]["code"].to_list() == ["TypeError"] * 4


def own_line(folder: Path, lines: Mapping[int, str]) -> Path:
    write(folder, dict.fromkeys(lines, CALL.format("all_reduce")))
    for rank, line in lines.items():
        path = folder / f"rank{rank}.stack.txt"
        path.write_text(path.read_text().replace("job.py:40", line))
    return folder


@pytest.mark.parametrize("odd", ["job.py:44", "eval/loop.py:7"])
def test_calls_that_several_lines_made_are_looked_at_there(tmp_path: Path, odd: str) -> None:
    report = analyze(own_line(tmp_path, dict.fromkeys(range(4), "job.py:40") | {3: odd}), hung=True)
    first = report.incidents[0].actions[0]
    assert (report.verdict.ranks, first.kind, first.command) == ([], "check_code", None)
    assert {"job.py:40", odd} == {*first.target.split(", ")} and f"rank 3 called it at {odd}" in first.reason


@pytest.mark.parametrize("lines", [["job.py:40"] * 4, [f"job.py:{at}" for at in range(40, 46)]])
def test_one_line_of_all_and_a_line_of_each_tell_nothing(tmp_path: Path, lines: list[str]) -> None:
    report = analyze(own_line(tmp_path, dict(enumerate(lines))), hung=True)
    assert report.verdict.kind == "hang" and "check_code" not in {one.kind for one in report.incidents[0].actions}


def own_stack(rank: int, op: str, at: str, caller: int = 90) -> str:
    frames = [f'"/env/site-packages/torch/distributed/distributed_c10d.py", line 3252 in {op}', f'"/job/fit.py", line {at}',
              f'"/job/fit.py", line {caller} in <module>']  # fmt: skip
    told = "\n".join(f"  File {one}" for one in frames)
    return f"Current thread 0x00007f000000{rank}b80 (most recent call first):\n{told}\n"


def another_way(folder: Path, odd: tuple[str, str, int], *, looks: int = 2, who: tuple[int, ...] = (2,)) -> Path:
    for rank in range(4):
        op, at, caller = odd if rank in who else ("all_reduce", "13 in score", 90)
        told = own_stack(rank, op, at, caller) * looks
        (folder / f"rank{rank}.log").write_text(f"rank {rank} of world size 4\n{told}")
    return folder


@pytest.mark.parametrize(
    ("odd", "looks", "who", "ranks"),
    [
        (("all_gather_into_tensor", "21 in score", 90), 2, (2,), [2]),
        (("broadcast", "13 in score", 90), 3, (0,), [0]),
        (("barrier", "30 in score", 90), 2, (3,), [3]),
        (("all_gather_into_tensor", "21 in score", 90), 1, (2,), []),
        (("all_gather_into_tensor", "21 in score", 95), 2, (2,), []),
        (("all_gather_into_tensor", "52 in share", 90), 2, (2,), []),
        (("all_gather_into_tensor", "21 in score", 90), 2, (1, 2), []),
        (("recv", "21 in score", 90), 2, (2,), []),
    ],
    ids=["a gather", "a loop", "a barrier", "one look", "called elsewhere", "another function", "two", "a message"],
)
def test_who_alone_took_another_way_in_one_function(
    tmp_path: Path, odd: tuple[str, str, int], looks: int, who: tuple[int, ...], ranks: list[int]
) -> None:
    verdict = analyze(another_way(tmp_path, odd, looks=looks, who=who), hung=True).verdict
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("hang", "collective_mismatch" if ranks else None, ranks)


def test_a_group_of_less_than_the_job_may_have_calls_of_its_own(tmp_path: Path) -> None:
    bundle = another_way(tmp_path, ("all_gather_into_tensor", "21 in score", 90))
    assert analyze(bundle, hung=True, topology={"pp": 2}).verdict.ranks == []
