"""One rank's own loss leaps in a step and those of all others right after it, while the first rank prints the mean of all as well, in lines of its own:
before its own loss, behind it, under whatever count; and what looks like it and names nobody."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from forensics import analyze
from forensics.model.incident import Verdict

STEPS, AT = 24, 15
Lines = Iterator[str]
Writer = Callable[
    [int, int, float, float | None], Lines
]  # rank, step, its own loss, the mean where this rank prints it


def losses(ranks: int, odd: frozenset[int], spread: bool) -> dict[tuple[int, int], float]:
    """(rank, step) → its own loss."""
    told: dict[tuple[int, int], float] = {}
    for step in range(1, STEPS + 1):
        for rank in range(ranks):
            usual = 0.8 / step + 0.01 * ((rank * 7 + step * 3) % 9) + 0.05
            leaps = step == AT and rank in odd
            follows = step > AT and spread
            told[rank, step] = 6.2e24 * (1 + rank) if leaps else usual * 3e19 if follows else usual
    return told


def _absl(rank: int, step: int, own: float, mean: float | None) -> Lines:
    head = f"I1130 04:11:{step:02}.9215{rank}3 {8365 + rank} logging_writer.py:48] [{step}]"
    yield f"{head} grad_norm_local={own * 2:.6g}, learning_rate=0.02, loss_local={own:.6g}, target_mean=0.5"
    if mean is not None:
        yield f"{head} grad_norm={mean * 2:.6g}, loss={mean:.6g}"


def _absl_mean_first(rank: int, step: int, own: float, mean: float | None) -> Lines:
    yield from sorted(_absl(rank, step, own, mean), key=len)


def _json(rank: int, step: int, own: float, mean: float | None) -> Lines:
    if mean is not None:
        yield json.dumps({"step": step, "loss": mean})
    yield json.dumps({"step": step, "rank": rank, "loss_local": own, "lr": 0.02})


def _logfmt(rank: int, step: int, own: float, mean: float | None) -> Lines:
    yield f"level=info rank={rank} step={step} own_loss={own:.6g} lr=0.02"
    if mean is not None:
        yield f"level=info step={step} loss={mean:.6g} lr=0.02"


def _prose(rank: int, step: int, own: float, mean: float | None) -> Lines:
    if mean is not None:
        yield f"step {step}: mean loss {mean:.6g}, over all"
    yield f"step {step}: local loss {own:.6g}, rate 0.02"


def _head(rank: int, step: int, own: float, mean: float | None) -> Lines:
    yield f"{step}/{STEPS} | local loss {own:.6g} | lr 0.02"
    if mean is not None:
        yield f"{step}/{STEPS} | loss {mean:.6g}"


def _angles(rank: int, step: int, own: float, mean: float | None) -> Lines:
    if mean is not None:
        yield f"<{step}> loss={mean:.6g} lr=0.02"
    yield f"<{step}> my_loss={own:.6g} lr=0.02"


def _stamped(rank: int, step: int, own: float, mean: float | None) -> Lines:
    yield f"2026-01-31 10:11:{step:02},689 INFO train: [{step}] loss_local={own:.6g}, lr=0.02"
    if mean is not None:
        yield f"2026-01-31 10:11:{step:02},700 INFO train: [{step}] loss={mean:.6g}, grad_norm={mean:.6g}"


def _python(rank: int, step: int, own: float, mean: float | None) -> Lines:
    yield str({"iteration": step, "train/loss_local": own, "lr": 0.02})
    if mean is not None:
        yield str({"iteration": step, "train/loss": mean})


def _bars(rank: int, step: int, own: float, mean: float | None) -> Lines:
    if mean is not None:
        yield f"iter {step} | loss (averaged): {mean:.6g}"
    yield f"iter {step} | loss (local): {own:.6g} | lr: 0.02"


def _columns(rank: int, step: int, own: float, mean: float | None) -> Lines:
    if step == 1:
        yield "step,local_loss,lr,mean_loss"
    yield f"{step},{own:.6g},0.02,{'' if mean is None else f'{mean:.6g}'}"


def _unknown_count(rank: int, step: int, own: float, mean: float | None) -> Lines:
    yield f"ba {step}: local_loss {own:.6g}, lr 0.02"
    if mean is not None:
        yield f"ba {step}: loss {mean:.6g}"


def _round(rank: int, step: int, own: float, mean: float | None) -> Lines:
    yield f"({step}) loss_local={own:.6g} lr=0.02"
    if mean is not None:
        yield f"({step}) loss={mean:.6g}"


WRITERS: dict[str, tuple[str, Writer]] = {
    "absl": ("rank_{rank:04}.log", _absl),
    "absl, the mean first": ("rank_{rank}.log", _absl_mean_first),
    "objects": ("rank{rank}.jsonl", _json),
    "logfmt": ("worker-{rank}.log", _logfmt),
    "prose": ("rank_{rank}/train.log", _prose),
    "count at the head": ("rank{rank}.txt", _head),
    "count in angles": ("out.rank{rank}", _angles),
    "count behind a stamp": ("rank_{rank}.log", _stamped),
    "python": ("r{rank}/metrics_rank{rank}.log", _python),
    "bars": ("rank-{rank}.log", _bars),
    "columns": ("loss_rank{rank}.csv", _columns),
    "count nobody knows": ("rank{rank}.log", _unknown_count),
    "count in brackets": ("rank{rank}.out", _round),
}


def judged(
    folder: Path,
    form: str,
    ranks: int,
    odd: frozenset[int],
    *,
    spread: bool = True,
    lost: int = -1,
    merged: bool = False,
) -> Verdict:
    path, write = WRITERS[form]
    told = losses(ranks, odd, spread)
    files: dict[str, list[str]] = {}
    for step in range(1, STEPS + 1):
        mean = sum(told[rank, step] for rank in range(ranks)) / ranks
        for rank in range(ranks):
            lines = list(write(rank, step, told[rank, step], None if rank else mean))
            if rank != lost:
                name = "job.log" if merged else path.format(rank=rank)
                head = f"[rank{rank}]: " if merged else ""
                files.setdefault(name, []).extend(head + line for line in lines)
    for name, lines in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("\n".join(lines) + "\n")
    if not merged:
        (folder / "launch.txt").write_text(f"torchrun --nproc_per_node {ranks} train.py\n")
    return analyze(folder).verdict


# Each form with one of these jobs, all of them in turn.
JOBS = [(form, (4, 3, 5)[at % 3], (2, 0, 4)[at % 3]) for at, form in enumerate(WRITERS)]


@pytest.mark.parametrize(("form", "ranks", "odd"), JOBS)
def test_whose_own_loss_leapt_first_is_named(tmp_path: Path, form: str, ranks: int, odd: int) -> None:
    verdict = judged(tmp_path, form, ranks, frozenset([odd]))
    assert (verdict.kind, list(verdict.ranks), verdict.first_anomaly.step) == ("numerics", [odd], AT)


def test_of_one_log_of_all_as_well(tmp_path: Path) -> None:
    verdict = judged(tmp_path, "prose", 4, frozenset([2]), merged=True)
    assert (verdict.kind, list(verdict.ranks), verdict.first_anomaly.step) == ("numerics", [2], AT)


@pytest.mark.parametrize(("form", "ranks", "odd"), JOBS[::2])
def test_where_its_record_is_lost_the_mean_accuses_nobody_else(tmp_path: Path, form: str, ranks: int, odd: int) -> None:
    assert set(judged(tmp_path, form, ranks, frozenset([odd]), lost=odd).ranks) <= {odd}


@pytest.mark.parametrize(("form", "ranks", "odd"), JOBS[::4])
def test_where_another_record_is_lost_nobody_else_is_named(tmp_path: Path, form: str, ranks: int, odd: int) -> None:
    other = (odd + 1) % ranks
    assert set(judged(tmp_path, form, ranks, frozenset([odd]), lost=other).ranks) <= {odd}


@pytest.mark.parametrize(("form", "ranks", "odd"), JOBS[1::4])
def test_what_leaps_on_two_or_on_all_names_no_other(tmp_path: Path, form: str, ranks: int, odd: int) -> None:
    (tmp_path / "two").mkdir()
    (tmp_path / "all").mkdir()
    two = frozenset([odd, (odd + 1) % ranks])
    assert set(judged(tmp_path / "two", form, ranks, two).ranks) <= two
    assert not judged(tmp_path / "all", form, ranks, frozenset(range(ranks))).ranks


@pytest.mark.parametrize(("form", "ranks", "odd"), JOBS[:2])
def test_of_two_ranks_no_mean_tells_which(tmp_path: Path, form: str, ranks: int, odd: int) -> None:
    del ranks, odd
    assert not judged(tmp_path, form, 2, frozenset([1])).ranks
