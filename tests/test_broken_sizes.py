"""A figure that no training comes to, of one rank alone, is as bad as none at all; what masks are filled with is not. What a rank was given stands anywhere
in a record."""

from collections.abc import Callable
from pathlib import Path

import pytest

from forensics import Report, analyze
from parsers.training.told_values import of_line, of_record

RANKS, STEPS, FIRST, ODD = 4, 16, 10, 2
Line = Callable[[int, int, str, str, str], str]  # rank, step, loss, largest parameter, largest gradient


def _report(
    folder: Path, name: str, line: Line, head: str = "", *, largest: str = "2.8512e+36", odd: int = ODD
) -> Report:
    for rank in range(RANKS):
        rows = [head] if head else []
        for step in range(STEPS):
            lost = step >= FIRST
            loss = "inf" if lost else f"{4 - step / 10 + rank / 100:.4f}"
            size = largest if lost and rank == odd else f"{3 + rank / 10 + step / 500:.4f}"
            rows.append(line(rank, step, loss, size, f"{1 + rank}.4200e+35" if lost else f"0.05{rank}{step:02d}"))
        path = folder / name.format(r=rank)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(rows) + "\n")
    return analyze(folder)


@pytest.mark.parametrize(
    ("name", "line", "head"),
    [
        ("log_rank{r}.txt", lambda r, s, loss, most, grad: f"iter {s} | loss {loss}\niter {s} | shard |w|max end {most} | m|max {grad}", ""),
        ("log_rank{r}.txt", lambda r, s, loss, most, grad: f"step {s} loss {loss}\nstep {s} | max|param| = {most} max|grad| = {grad}", ""),
        ("log_rank{r}.txt", lambda r, s, loss, most, grad: f"step {s} loss {loss} pmax {most} gmax {grad}", ""),
        ("rank_{r}/m.csv", lambda r, s, loss, most, grad: f"{grad},{loss},{most},{s}", "grad_absmax,loss,param_absmax,step"),
    ],
)  # fmt: skip
def test_who_holds_what_no_training_comes_to_is_named(tmp_path: Path, name: str, line: Line, head: str) -> None:
    verdict = _report(tmp_path, name, line, head).verdict
    assert (verdict.cause, verdict.ranks) == ("bad_state", [ODD])
    assert verdict.first_anomaly is not None
    assert verdict.first_anomaly.step == FIRST


@pytest.mark.parametrize("largest", ["-3.4028e+38", "3.3895e+38", "-1e30", "4.1e+25"])
def test_what_a_mask_holds_or_a_divergence_passes_names_nobody(tmp_path: Path, largest: str) -> None:
    report = _report(
        tmp_path,
        "log_rank{r}.txt",
        lambda r, s, loss, most, grad: f"step {s} loss {loss}\nstep {s} scores min {most} max {grad}",
        largest=largest,
    )
    assert report.verdict.ranks == []


def test_sizes_of_figures() -> None:
    told = of_line("step 3 w absmax 2.1e+36 mask min -3.4028e+38 out 1.0e+25 g 0.5")[1]
    assert told is not None
    assert (told["fine"], told["bad"]) == ("3", "0=2.1e+36")
    record = of_record({"w": 2.1e36, "mask": -3.4028e38, "id": "123456789012345678901234567890123", "g": 0.5})
    assert record is not None
    assert (record["fine"], record["bad"]) == ("id g", "w=2.1e+36")


@pytest.mark.parametrize(
    ("head", "cells", "cause"),
    [
        ("grad_norm,loss,step,z_mean", lambda lost, given: ("nan" if given else "0.25",), "bad_input"),
        ("grad_norm,loss,step,z_nan", lambda lost, given: ("12" if given else "0",), "bad_input"),
        ("grad_norm,loss,step,logits_nan", lambda lost, given: ("12" if lost else "0",), "nan_birth"),  # what is made of it
    ],
)  # fmt: skip
def test_what_a_rank_was_given_stands_behind_its_loss(
    tmp_path: Path, head: str, cells: Callable[[bool, bool], tuple[str, ...]], cause: str
) -> None:
    for rank in range(RANKS):
        rows = [head]
        for step in range(STEPS):
            given = step == FIRST and rank == ODD
            lost = given or step > FIRST
            norm = "nan" if step >= FIRST else f"{1 + step / 10}"
            loss = "nan" if lost else f"{4 - step / 10 + rank / 100:.4f}"
            rows.append(",".join((norm, loss, str(step), *cells(lost, given))))
        path = tmp_path / f"rank_{rank}" / "metrics.csv"
        path.parent.mkdir()
        path.write_text("\n".join(rows) + "\n")
    verdict = analyze(tmp_path).verdict
    assert (verdict.cause, verdict.ranks) == (cause, [ODD])


def _lost_by_all(folder: Path, told: Callable[[int, int], str], lost: int = FIRST) -> Report:
    """Losses of all ranks are NaN from a step on; beside each stands what `told` makes of rank and step."""
    for rank in range(RANKS):
        rows = [
            f"step {step} loss {'nan' if step >= lost else f'{4 - step / 10 + rank / 100:.4f}'}\n{told(rank, step)}"
            for step in range(lost + 2)
        ]
        (folder / f"log_rank{rank}.txt").write_text("\n".join(rows) + "\n")
    return analyze(folder)


@pytest.mark.parametrize(
    ("told", "lost"),
    [
        (lambda r, s: f"step {s} optimizer exp_avg_sq: nan={32 * (s >= FIRST - 2)} inf=0 of 64", FIRST),
        (lambda r, s: f"step {s} grads emb.weight max {'inf' if s >= FIRST - 2 else 0.25 + r}", FIRST),
        (lambda r, s: f"step {s}: after update max|w|={'nan' if s >= FIRST - 2 else 0.25 + r}", FIRST),
    ],
)
def test_what_all_lost_before_their_losses_is_the_first(
    tmp_path: Path, told: Callable[[int, int], str], lost: int
) -> None:
    verdict = _lost_by_all(tmp_path, told, lost).verdict
    assert (verdict.kind, verdict.ranks) == ("numerics", [])
    assert verdict.first_anomaly is not None
    assert verdict.first_anomaly.step == FIRST - 2


def test_what_the_first_update_made_bad_is_the_first(tmp_path: Path) -> None:
    report = _lost_by_all(
        tmp_path, lambda r, s: f"step {s} params after step: emb.weight[nan=5/64] fc.bias[nan=3/9]", 1
    )
    assert report.verdict.cause == "bad_state"
    assert report.verdict.first_anomaly is not None
    assert report.verdict.first_anomaly.step == 0


@pytest.mark.parametrize(
    "told",
    [
        lambda r, s: f"step {s} grads max {'inf' if s == 3 or s >= FIRST else 0.25 + r}",  # which a scaler skips
        lambda r, s: f"step {s} router load mean {'nan' if s >= 3 else 0.25 + r}",  # of what nobody was sent
        lambda r, s: f"step {s} frozen adapter weight mean nan",
    ],
)
def test_what_was_over_or_is_always_so_is_not_the_first(tmp_path: Path, told: Callable[[int, int], str]) -> None:
    verdict = _lost_by_all(tmp_path, told).verdict
    assert (verdict.ranks, verdict.first_anomaly and verdict.first_anomaly.step) == ([], FIRST)
