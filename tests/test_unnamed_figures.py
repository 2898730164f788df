"""Figures under names that nobody has taught: where one goes bad as a training does, the verdict says so; else nothing is said."""

from collections.abc import Callable
from pathlib import Path

import pytest

from forensics import analyze

Value = Callable[[int, int], str]  # rank, step → what stands there
RANKS, STEPS, FIRST, ODD = 4, 30, 20, 2


def spreads(rank: int, step: int) -> str:
    bad = step > FIRST or (step == FIRST and rank == ODD)
    return "nan" if bad else f"{3 - step / 30 + rank / 100 + (step * 7 + rank * 13) % 11 / 300:.4f}"


def at_once(rank: int, step: int) -> str:
    return spreads(ODD, step)


def well(rank: int, step: int) -> str:
    return spreads(rank, step % FIRST)


FORMS: dict[str, tuple[str, str, str]] = {
    "a table": ("rank_{r}.csv", "step,obj,mine\n", "{s},{v},{w}\n"),
    "a table whose count has no known name": ("rank_{r}/x.csv", "t,obj,mine\n", "{s},{v},{w}\n"),
    "semicolons": ("rank{r}.csv", "iteration;quux;zork\n", "{s};{v};{w}\n"),
    "pairs": ("rank_{r}.log", "", "epoch 0 | batch {s} | local objective = {v} | |g| = {w}\n"),
    "prose": ("rank_{r}.out", "", "(step {s}) L={v} own, G={w}\n"),
    "logfmt": ("rank_{r}.txt", "", "step={s} obj={v} mine={w}\n"),
    "objects": ("rank_{r}.jsonl", "", '{{"step": {s}, "obj": "{v}", "mine": "{w}"}}\n'),
}


def write(folder: Path, form: str, value: Value, other: Value = well) -> None:
    name, head, row = FORMS[form]
    for rank in range(RANKS):
        path = folder / name.format(r=rank)
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = (row.format(s=step, v=value(rank, step), w=other(rank, step)) for step in range(STEPS))
        path.write_text(head + "".join(rows))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("other", [well, spreads], ids=["alone", "both"])
def test_who_turned_first(tmp_path: Path, form: str, other: Value) -> None:
    write(tmp_path, form, spreads, other)
    verdict = analyze(tmp_path).verdict
    assert (verdict.kind, verdict.ranks, verdict.first_anomaly.step) == ("numerics", [ODD], FIRST)


@pytest.mark.parametrize("form", FORMS)
def test_all_at_once_is_nobodys(tmp_path: Path, form: str) -> None:
    write(tmp_path, form, at_once)
    verdict = analyze(tmp_path).verdict
    assert (verdict.kind, verdict.ranks, verdict.first_anomaly.step) == ("numerics", [], FIRST)


def always(rank: int, step: int) -> str:
    return "nan"


def now_and_then(rank: int, step: int) -> str:
    return "nan" if step % 5 == 4 else well(rank, step)


def of_one(rank: int, step: int) -> str:
    return spreads(rank, step) if rank == ODD else well(rank, step)


def returns(rank: int, step: int) -> str:
    return "inf" if FIRST <= step < FIRST + 4 else well(rank, step)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("value", [well, always, now_and_then, of_one, returns])
def test_what_ends_no_training_is_nobodys_fault(tmp_path: Path, form: str, value: Value) -> None:
    write(tmp_path, form, value)
    assert analyze(tmp_path).verdict.kind in ("unknown", "healthy")


def test_a_job_that_tells_its_loss_is_judged_by_that(tmp_path: Path) -> None:
    for rank in range(RANKS):
        rows = (f"step {step} loss {well(rank, step)} auc {spreads(rank, step)}\n" for step in range(STEPS))
        (tmp_path / f"rank_{rank}.log").write_text("".join(rows))
    assert analyze(tmp_path).verdict.kind in ("unknown", "healthy")


@pytest.mark.parametrize("name", ["val_obj", "best", "test/quux", "max_obj", "elapsed_s", "data_ms"])
def test_evaluations_and_times_are_no_figures_of_it(tmp_path: Path, name: str) -> None:
    for rank in range(RANKS):
        rows = (f"{step},{spreads(rank, step)}\n" for step in range(STEPS))
        (tmp_path / f"rank_{rank}.csv").write_text(f"step,{name}\n" + "".join(rows))
    assert analyze(tmp_path).verdict.kind in ("unknown", "healthy")
