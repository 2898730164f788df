"""A record of figures per rank whose column of ranks has any name: in every form it says the same; what else is counted in a step names nobody."""

import random
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from forensics import analyze

RANKS, STEPS, FIRST, ODD = 4, 14, 9, 2
Value = Callable[[int, int], float]  # rank, step


def spreads(rank: int, step: int) -> float:
    return float("nan") if step > FIRST or (step == FIRST and rank == ODD) else 3 + 0.137 * rank - 0.0731 * step


def far(rank: int, step: int) -> float:
    return 4.1e5 if (rank, step) == (ODD, FIRST) else 3 + 0.137 * rank - 0.0731 * step


Rows = Sequence[tuple[int, int, float]]


def _rows(value: Value, *, shuffled: bool) -> Rows:
    order = random.Random(5)
    rows = []
    for step in range(STEPS):
        ranks = [*range(RANKS)]
        if shuffled:
            order.shuffle(ranks)
        rows += [(step, rank, value(rank, step)) for rank in ranks]
    return rows


def _commas(rows: Rows, who: str, what: str) -> tuple[str, str]:
    return "stats.csv", f"step,{who},{what},spare\n" + "".join(f"{s},{r},{v:.5f},0.25\n" for s, r, v in rows)


def _tabs(rows: Rows, who: str, what: str) -> tuple[str, str]:
    return "stats.tsv", f"{who}\tstep\t{what}\n" + "".join(f"{r}\t{s}\t{v:.5f}\n" for s, r, v in rows)


def _drawn(rows: Rows, who: str, what: str) -> tuple[str, str]:
    body = "".join(f"| {s} | {r} | {v:.5f} |\n" for s, r, v in rows)
    return "stats.md", f"| step | {who} | {what} |\n|---|---|---|\n{body}"


def _objects(rows: Rows, who: str, what: str) -> tuple[str, str]:
    shown = (f'{{"it": {s}, "{who}": {r}, "{what}": {v:.5f}}}\n'.replace(": nan", ": NaN") for s, r, v in rows)
    return "stats.jsonl", "".join(shown)


def _pairs(rows: Rows, who: str, what: str) -> tuple[str, str]:
    return "stats.log", "".join(f"ts=2026-03-01T10:00:{s:02}Z step={s} {who}={r} {what}={v:.5f}\n" for s, r, v in rows)


def _document(rows: Rows, who: str, what: str) -> tuple[str, str]:
    shown = (f' {{"step": {s}, "{who}": {r}, "{what}": {v:.5f}}}'.replace(": nan", ": NaN") for s, r, v in rows)
    return "stats.json", "[\n" + ",\n".join(shown) + "\n]\n"


FORMS = {"commas": _commas, "tabs": _tabs, "drawn": _drawn, "objects": _objects, "pairs": _pairs, "document": _document}


def _ranks(folder: Path, form: str, rows: Rows, who: str, what: str = "local_loss", beside: str = "") -> list[int]:
    name, text = FORMS[form](rows, who, what)
    (folder / name).write_text(text)
    if beside:
        (folder / "run.yaml").write_text(beside)
    return list(analyze(folder).verdict.ranks)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("who", ["worker", "r", "quux"])
def test_records_in_the_order_of_arrival(tmp_path: Path, form: str, who: str) -> None:
    assert _ranks(tmp_path, form, _rows(spreads, shuffled=True), who) == [ODD]


@pytest.mark.parametrize("form", ["commas", "objects"])
@pytest.mark.parametrize(("who", "world", "named"), [("quux", 4, [ODD]), ("quux", 8, []), ("worker", 8, [])])
def test_in_order_the_world_must_be_as_large(tmp_path: Path, form: str, who: str, world: int, named: list[int]) -> None:
    beside = f"world_size: {world}\nprecision: bf16\n"
    assert _ranks(tmp_path, form, _rows(spreads, shuffled=False), who, beside=beside) == named


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("who", "shuffled"), [("quux", False), ("layer", True), ("micro_batch", True), ("epoch", True)]
)
def test_what_else_is_counted_in_a_step_names_nobody(tmp_path: Path, form: str, who: str, shuffled: bool) -> None:
    assert _ranks(tmp_path, form, _rows(spreads, shuffled=shuffled), who) == []


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "value",
    [
        lambda rank, step: float("nan") if step >= FIRST else 3 - 0.0731 * step,  # reduced: equal on all
        lambda rank, step: float("nan") if step > FIRST or (step == FIRST and rank in (0, ODD)) else 3 + 0.1 * (rank // 2) - 0.07 * step,
    ],
    ids=["reduced", "two that share"],
)  # fmt: skip
def test_of_what_is_shared_nobody_is_named(tmp_path: Path, form: str, value: Value) -> None:
    assert _ranks(tmp_path, form, _rows(value, shuffled=True), "worker") == []


# --- far, and finite -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
def test_a_figure_far_from_all_others_that_came_back(tmp_path: Path, form: str) -> None:
    assert _ranks(tmp_path, form, _rows(far, shuffled=True), "worker") == [ODD]


def test_names_of_which_nothing_is_known_where_one_is_the_mean_of_another(tmp_path: Path) -> None:
    lines = []
    for step in range(STEPS):
        mean = sum(far(rank, step) for rank in range(RANKS)) / RANKS
        for rank in ((2, 0, 3, 1), (1, 3, 0, 2), (3, 2, 1, 0))[step % 3]:
            top = 3.1e5 if (rank, step) == (ODD, FIRST) else 2.5 + 0.11 * rank
            lines.append(f'{{"it": {step}, "k": {rank}, "a": {far(rank, step):.5f}, "A": {mean:.5f}, "m": {top:.3f}}}')
    (tmp_path / "flow.jsonl").write_text("\n".join(lines) + "\n")
    verdict = analyze(tmp_path).verdict
    assert (verdict.kind, verdict.ranks, verdict.first_anomaly.step) == ("numerics", [ODD], FIRST)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "norm",
    [
        lambda rank, step: 900.0 if (rank, step) == (ODD, FIRST) else 1.2 + rank / 10,
        lambda rank, step: 5e4 if rank == ODD else 1.2 + rank / 10,
        lambda rank, step: 5e4 if step == FIRST else 1.2 + rank / 10,
        lambda rank, step: 5e4 if step == FIRST and rank in (0, ODD) else 1.2 + rank / 10,
    ],
    ids=["not so far", "always", "all", "two"],
)
def test_what_is_not_far_or_not_one_ranks_names_nobody(tmp_path: Path, norm: Value) -> None:
    for rank in range(RANKS):
        rows = [
            f"step {s} own loss {3 - s / 20 + rank / 30:.4f} own grad norm {norm(rank, s):.3f}" for s in range(STEPS)
        ]
        (tmp_path / f"rank_{rank}.log").write_text("\n".join(rows) + "\n")
    assert not analyze(tmp_path).verdict.ranks


@pytest.mark.parametrize(
    "form",
    [
        "step {s} own loss {l:.4f} own grad norm {n:.3f}",
        '{{"step": {s}, "local_loss": {l:.4f}, "local_grad_norm": {n:.3f}}}',
        "[    INFO] - step {s}: own loss {l:.4f}, own grad norm {n:.3f}, update done",
    ],
)
def test_a_norm_of_the_ranks_own_that_is_far(tmp_path: Path, form: str) -> None:
    for rank in range(RANKS):
        rows = [
            form.format(s=step, l=3 - step / 20 + rank / 30, n=2e4 if (rank, step) == (ODD, FIRST) else 1.2 + rank / 10)
            for step in range(STEPS)
        ]
        (tmp_path / f"rank_{rank}.log").write_text("\n".join(rows) + "\n")
    verdict = analyze(tmp_path).verdict
    assert (verdict.kind, verdict.ranks, verdict.first_anomaly.step) == ("numerics", [ODD], FIRST)  # type: ignore[union-attr]
