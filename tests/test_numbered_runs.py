"""Runs one after the other in numbered folders or files: what the newest began with, and numbers that are no runs."""

from collections.abc import Callable
from pathlib import Path

import pytest

from forensics import analyze

LOADED = "Loaded checkpoint ckpt/last.pt, resuming at iteration 20\n"
Loss = Callable[[int, int], str]


def well(rank: int, step: int) -> str:
    return f"{3 - step / 30 + rank / 100 + (step * 7 + rank * 13) % 11 / 300:.4f}"


def bad(rank: int, step: int) -> str:
    return "nan"


def high(rank: int, step: int) -> str:
    return f"{9.8 + rank / 100 + step % 3 / 10:.4f}"


def write(path: Path, rank: int, steps: range, loss: Loss = well, *, hour: int | None = None, head: str = "") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    stamps = ("" if hour is None else f"2026-03-01 1{hour}:00:{step:02} " for step in steps)
    lines = (f"{at}step {step} loss {loss(rank, step)} lr 3.0e-04\n" for at, step in zip(stamps, steps, strict=True))
    path.write_text(head + "".join(lines))


def answer(folder: Path) -> tuple[str, str | None, list[int], int | None, int]:
    report = analyze(folder)
    anomaly = report.verdict.first_anomaly
    step = None if anomaly is None else anomaly.step
    return report.verdict.kind, report.verdict.cause, report.verdict.ranks, step, report.coverage.attempts


NAMES = ("run{n}/rank_{r}.log", "try-{n}/logs/rank{r}.out", "out_{n}/rank_{r}/train.log")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("stamped", [True, False], ids=["stamped", "bare"])
@pytest.mark.parametrize(("loss", "first"), [(bad, 20), (high, 30)], ids=["NaN at once", "it leaps"])
def test_folders(tmp_path: Path, name: str, stamped: bool, loss: Loss, first: int) -> None:
    for rank in range(4):
        write(tmp_path / name.format(n=1, r=rank), rank, range(30), hour=0 if stamped else None)
        newer = tmp_path / name.format(n=2, r=rank)
        write(newer, rank, range(first, first + 8), loss, hour=1 if stamped else None, head=LOADED)
    assert answer(tmp_path) == ("numerics", "bad_state", [], first, 2)


@pytest.mark.parametrize(
    "head",
    [
        LOADED,
        "=> loaded checkpoint 'last.pth' (epoch 1, step 20)\n",
        "Resuming from step 20 of /ckpt\n",
        "restored snapshot.pt at iter=20\n",
    ],
)
def test_files_beside_each_other(tmp_path: Path, head: str) -> None:
    write(tmp_path / "train_1.log", 0, range(30))
    write(tmp_path / "train_2.log", 0, range(20, 28), bad, head=head)
    assert answer(tmp_path) == ("numerics", "bad_state", [], 20, 2)


def test_the_second_step_is_not_what_was_loaded(tmp_path: Path) -> None:
    for rank in range(4):
        write(tmp_path / f"run1/rank_{rank}.log", rank, range(30))
        loss = well if rank else (lambda rank, step: well(rank, step) if step == 20 else "nan")
        write(tmp_path / f"run2/rank_{rank}.log", rank, range(20, 28), loss, head=LOADED)
    assert answer(tmp_path) == ("numerics", "nan_birth", [0], 21, 2)


def test_one_of_several_ranks_is_not_what_all_loaded(tmp_path: Path) -> None:
    for rank in range(4):
        write(tmp_path / f"run1/rank_{rank}.log", rank, range(30))
        write(tmp_path / f"run2/rank_{rank}.log", rank, range(20, 28), bad if rank == 3 else well, head=LOADED)
    assert answer(tmp_path)[2:] == ([3], 20, 2)


def _hosts(folder: Path) -> None:
    for host in (1, 2):
        for rank in range(2):
            write(folder / f"node{host}/worker{rank}.log", rank, range(30), bad if host == 2 else well)


def _at_once(folder: Path) -> None:
    for n, steps in ((1, range(30)), (2, range(20, 50))):
        write(folder / f"run{n}/rank_0.log", 0, steps, hour=0, head=LOADED if n == 2 else "")


def _rotated(folder: Path) -> None:
    write(folder / "worker_1.log", 0, range(30))
    write(folder / "worker_2.log", 1, range(20, 30), bad)


def _ranks(folder: Path) -> None:
    for rank, steps in ((0, range(30)), (1, range(20, 30))):
        write(folder / f"rank{rank}/train.log", rank, steps, head=LOADED if rank else "")


def _other_ranks(folder: Path) -> None:
    write(folder / "part1/rank_0.log", 0, range(30))
    write(folder / "part2/rank_1.log", 1, range(20, 30), head=LOADED)


def _seeds(folder: Path) -> None:
    for seed in (1, 2):
        write(folder / f"seed{seed}/train.log", 0, range(30), bad if seed == 2 else well)


@pytest.mark.parametrize("made", [_hosts, _at_once, _rotated, _ranks, _other_ranks, _seeds])
def test_numbers_that_are_no_runs(tmp_path: Path, made: Callable[[Path], None]) -> None:
    made(tmp_path)
    assert analyze(tmp_path).coverage.attempts == 1


STOP = "slurmstepd: error: *** JOB 77 ON n1 CANCELLED AT 2026-03-01T10:01:00 DUE TO PREEMPTION ***\n"
GONE = "".join(f"n1: rank {rank} died from signal 15\n" for rank in range(2))


@pytest.mark.parametrize(
    ("last", "head", "attempts"),
    [(STOP, "", 2), (GONE, "", 2), ("", LOADED, 2), ("", "", 1)],
    ids=["a scheduler stopped it", "all ranks ended", "it loaded a checkpoint", "cut for its length"],
)
@pytest.mark.parametrize("name", ["job.out", "logs/slurm-77.out"])
def test_a_log_and_what_was_put_aside_of_it(tmp_path: Path, name: str, last: str, head: str, attempts: int) -> None:
    def log(steps: range, hour: int) -> str:
        lines = (
            f"2026-03-01 1{hour}:00:{step:02} [rank{rank}] step {step}/50 loss {well(rank, step)}\n"
            for step in steps
            for rank in range(2)
        )
        return "".join(lines)

    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.with_name(f"{path.name}.1").write_text(log(range(20), 0) + last)
    path.write_text(head + log(range(20, 51), 1))
    report = analyze(tmp_path)
    assert report.coverage.attempts == attempts
    assert report.verdict.kind in ("healthy", "unknown") and not report.verdict.ranks
