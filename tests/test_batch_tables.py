"""What a batch held, as a table below a line that says so."""

from collections.abc import Callable
from pathlib import Path

import pytest

from forensics import analyze
from parsers import read

RANKS, AT, ODD = 4, 12, 1
FEATURES = ("age", "price_log", "dwell")
STATISTICS = ("count", "mean", "std", "min", "max")
Cell = Callable[[str, str], str]


def sound(feature: str, statistic: str) -> str:
    return {"count": "1024.0", "mean": "3.25", "std": "1.125", "min": "0.5", "max": "9.75"}[statistic]


def broken(feature: str, statistic: str) -> str:
    return (
        {"mean": "-inf", "std": "nan", "min": "-inf"}.get(statistic, "9.75")
        if feature == FEATURES[1]
        else sound(feature, statistic)
    )


def described(cell: Cell) -> str:
    rows = ["       " + "  ".join(f"{feature:>9}" for feature in FEATURES)]
    rows += [f"{name:6} " + "  ".join(f"{cell(feature, name):>9}" for feature in FEATURES) for name in STATISTICS]
    return "\n".join(rows)


def by_feature(cell: Cell) -> str:
    rows = ["feature    " + "  ".join(STATISTICS)]
    rows += [f"{feature:10} " + "  ".join(cell(feature, name) for name in STATISTICS) for feature in FEATURES]
    return "\n".join(rows)


def drawn(cell: Cell) -> str:
    rows = ["| column | " + " | ".join(STATISTICS) + " |", "|---|" + "---|" * len(STATISTICS)]
    rows += [f"| {feature} | " + " | ".join(cell(feature, name) for name in STATISTICS) + " |" for feature in FEATURES]
    return "\n".join(rows)


def written(
    folder: Path,
    head: str,
    form: Callable[[Cell], str],
    *,
    odd: Cell = broken,
    others: Cell = sound,
    after: bool = True,
) -> None:
    for rank in range(RANKS):
        lines = [f"rank {rank}/{RANKS} is up"]
        for step in range(AT + 3):
            bad = step > AT or (step == AT and rank == ODD)
            loss = f"step {step} loss_local {'nan' if bad else f'{0.4 + (rank * 7 + step * 3) % 19 / 50:.4f}'}"
            shown = [f"[part {rank}] {head.format(s=step)}", form(odd if rank == ODD and step == AT else others)]
            lines += [loss, *shown] if step == AT and after else [*shown, loss] if step == AT else [loss]
        (folder / f"rank_{rank}.log").write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize("form", [described, by_feature, drawn])
@pytest.mark.parametrize(
    "head", ["batch of step {s}, describe():", "step {s} input check:", "iteration {s}: features of the batch:"]
)
@pytest.mark.parametrize("after", [True, False])
def test_who_read_what_was_no_number_is_named(
    tmp_path: Path, form: Callable[[Cell], str], head: str, after: bool
) -> None:
    written(tmp_path, head, form, after=after)
    verdict = analyze(tmp_path).verdict
    assert (verdict.cause, verdict.ranks, verdict.first_anomaly.step) == ("bad_input", [ODD], AT)


@pytest.mark.parametrize("form", [described, by_feature])
def test_what_all_read_alike_is_no_ranks_own(tmp_path: Path, form: Callable[[Cell], str]) -> None:
    written(tmp_path, "batch of step {s}:", form, others=broken)
    verdict = analyze(tmp_path).verdict
    assert (verdict.cause, verdict.ranks) == ("nan_birth", [ODD])  # by its loss


def test_lines_that_are_no_table_are_none(tmp_path: Path) -> None:
    text = (
        "step 3 batch done, next input:\nstep 4 loss 2.1\nall well so far: 7 8 9\nstep 5 samples:\nage 3 4\nprice 5\n"
    )
    (tmp_path / "rank_0.log").write_text(text)
    assert "batch" not in read(str(tmp_path)).tables["values"]["of"].cast(str).to_list()
