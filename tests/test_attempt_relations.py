"""A failure of an older launch is none of the newest, whatever tells the launches of one log apart."""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from itertools import chain
from pathlib import Path

import pytest

from forensics import analyze
from forensics.report import Report

OLD, NEW, WORLD = 2, 6, 8
BEGUN = datetime(2026, 3, 30, 18, 25)
Files = dict[str, list[str]]
FILE, STEP, INDEX = "/w/pre/run.py", 76, 71


def at(time: datetime) -> str:
    return f"{time:%Y-%m-%d %H:%M:%S},000"


def introduced(rank: int, pid: int, time: datetime) -> str:
    return f"{at(time)} rank {rank} pid {pid} cuda:{rank}"


def of_world(rank: int, pid: int, time: datetime) -> str:
    return f"{at(time)} rank {rank} of {WORLD} starting, pid {pid}"


def started(rank: int, pid: int, time: datetime) -> str:
    return f"{at(time)} [rank{rank}] INFO trainer: starting pid={pid} local_rank={rank} world_size={WORLD}"


def steps(first: int, count: int, time: datetime) -> list[str]:
    return [
        f"{at(time + timedelta(seconds=2 * n))} rank 0 step {first + n} loss {2.1 - n / 100:.3f}" for n in range(count)
    ]


def trace(rank: int, line: int, code: str, error: str) -> list[str]:
    frames = [
        f'  File "{FILE}", line 88, in <module>',
        "    main()",
        f'  File "{FILE}", line {line}, in main',
        f"    {code}",
    ]
    return [f"[rank{rank}]: {text}" for text in ("Traceback (most recent call last):", *frames, error)]


def failed(culprit: int, error: str) -> Iterator[list[str]]:
    yield trace(culprit, INDEX, "x = vocab[tok]", error)
    lost = "torch.distributed.DistBackendError: NCCL error in: ../NCCLUtils.hpp:268, remote process exited or there was a network error"
    for rank in range(WORLD):
        if rank != culprit:
            yield trace(rank, STEP, "dist.all_reduce(loss)", lost)


def table(culprit: int, first_pid: int, time: datetime) -> list[str]:
    """torchrun's, of the process that it saw fail first."""
    rule, thin = "=" * 60, "-" * 60
    told = [
        f"  time      : {time:%Y-%m-%d_%H:%M:%S}",
        "  host      : ak-9",
        f"  rank      : {culprit} (local_rank: {culprit})",
    ]
    told += [f"  exitcode  : 1 (pid: {first_pid + culprit})", "  error_file: <N/A>", "  traceback : <N/A>"]
    return [
        rule,
        "run.py FAILED",
        thin,
        "Failures:",
        "  <NO_OTHER_FAILURES>",
        thin,
        "Root Cause (first observed failure):",
        "[0]:",
        *told,
        rule,
    ]


def launch(number: int, introduces: Callable[[int, int, datetime], str], has_table: bool) -> list[list[str]]:
    """Blocks of lines of one launch, those of a rank's own each for itself."""
    time, pid = BEGUN + timedelta(hours=12 * number), 50110 + 11128 * number
    culprit, error = ((OLD, "KeyError: '<|audio_start|>'"), (NEW, "IndexError: list index out of range"))[number]
    first = (60, 1380)[number]  # a job that went on from its checkpoint: its steps never fall
    blocks = [[introduces(rank, pid + rank, time)] for rank in range(WORLD)]
    blocks += [[line] for line in steps(first, 12, time + timedelta(minutes=2))]
    blocks += failed(culprit, error)
    return [*blocks, table(culprit, pid, time + timedelta(minutes=3))] if has_table else blocks


def analyzed(files: Files, folder: Path) -> Report:
    for name, lines in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("\n".join(lines) + "\n")
    return analyze(folder)


def named(report: Report) -> tuple[list[int], int]:
    return report.incidents[report.primary].verdict.ranks, report.coverage.attempts


INTRODUCED = {"a pid": introduced, "a place in the world": of_world, "a start": started}
BANNERS = {
    "nothing": [],
    "a banner": ["### launch 2 of 2 by ana, vocabulary fixed"],
    "a shell": ["+ torchrun run.py", "", "---"],
}


@pytest.mark.parametrize("banner", BANNERS)
@pytest.mark.parametrize(("how", "has_table"), [(how, has) for how in INTRODUCED for has in (False, True)])
def test_an_older_launch_in_the_same_log(how: str, has_table: bool, banner: str, tmp_path: Path) -> None:
    old, new = (launch(number, INTRODUCED[how], has_table) for number in (0, 1))
    lines = [*chain.from_iterable(old), *BANNERS[banner], *chain.from_iterable(new)]
    assert named(analyzed({"pre.log": lines}, tmp_path)) == ([NEW], 2)


@pytest.mark.parametrize("how", INTRODUCED)
def test_an_older_launch_in_a_folder_of_its_own_log(how: str, tmp_path: Path) -> None:
    files = {
        f"attempt_{number}/pre.log": [*chain.from_iterable(launch(number, INTRODUCED[how], True))] for number in (0, 1)
    }
    assert named(analyzed(files, tmp_path)) == ([NEW], 2)


def test_processes_that_introduce_themselves_twice_are_one_launch(tmp_path: Path) -> None:
    blocks = launch(1, introduced, True)
    again = [*chain.from_iterable(blocks[:WORLD])]
    lines = [*chain.from_iterable(blocks[: WORLD + 4]), *again, *chain.from_iterable(blocks[WORLD + 4 :])]
    assert named(analyzed({"pre.log": lines}, tmp_path)) == ([NEW], 1)


def test_processes_of_another_program_that_begin_while_the_first_runs_are_no_later_launch(tmp_path: Path) -> None:
    """Nobody has ended when they come."""
    blocks = launch(1, introduced, True)
    others = [introduced(rank, 71000 + rank, BEGUN + timedelta(hours=12, minutes=1)) for rank in range(WORLD)]
    lines = [*chain.from_iterable(blocks[: WORLD + 10]), *others, *chain.from_iterable(blocks[WORLD + 10 :])]
    report = analyzed({"pre.log": lines}, tmp_path)
    assert report.coverage.attempts == 1


def test_a_process_that_is_replaced_alone_is_no_later_launch(tmp_path: Path) -> None:
    blocks = launch(1, of_world, True)
    caught = trace(3, INDEX, "x = vocab[tok]", "KeyError: 'a'")
    new = [of_world(3, 71003, BEGUN + timedelta(hours=12, minutes=2))]
    lines = [*chain.from_iterable([*blocks[: WORLD + 4], caught, new, *blocks[WORLD + 4 :]])]
    assert analyzed({"pre.log": lines}, tmp_path).coverage.attempts == 1
