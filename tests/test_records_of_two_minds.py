"""Two records of the same figures, one of which tells another rank: nobody is named; where both tell the same, it is named."""

from collections.abc import Callable
from pathlib import Path

import pytest

from forensics import analyze
from tests.sources import written

SIZE, BAD, OTHER, ONSET, LAST = 4, 1, 3, 6, 8
Row = tuple[int, int, str, str]  # step, rank, loss, norm
Files = dict[str, list[str]]
FAULTS = ("nan", "nan at the end", "huge", "norm")


def rows(fault: str, bad: int) -> list[Row]:
    def told(step: int, rank: int) -> Row:
        draw = (step * 31 + rank * 17) % 97
        loss, norm = f"{2.2 - step / 40 + draw / 997:.4f}", f"{1 + draw / 100:.4f}"
        if step > ONSET:
            return step, rank, "nan", "nan"
        if step == ONSET and rank == bad:
            return step, rank, *{"huge": ("8.4e+13", "3.1e+17"), "norm": (loss, "nan")}.get(fault, ("nan", "nan"))
        return step, rank, loss, norm

    last = ONSET if fault.endswith("end") else LAST
    return [told(step, rank) for step in range(last + 1) for rank in range(SIZE)]


def text(form: str, told: list[Row]) -> list[str]:
    return [form.format(s=step, r=rank, loss=loss, norm=norm) for step, rank, loss, norm in told]


def each(name: str, form: str, head: tuple[str, ...] = ()) -> Callable[[list[Row]], Files]:
    return lambda told: {
        name.format(r=r): [*head, *text(form, [one for one in told if one[1] == r])] for r in range(SIZE)
    }


TABLES: dict[str, Callable[[list[Row]], Files]] = {
    "csv": lambda told: {"m.csv": ["step,rank,loss,grad_norm", *text("{s},{r},{loss},{norm}", told)]},
    "jsonl": lambda told: {"m.jsonl": text('{{"step": {s}, "rank": {r}, "loss": "{loss}", "gnorm": "{norm}"}}', told)},
    "markdown": lambda told: {
        "report.md": [
            "| step | rank | loss | gnorm |",
            "|---|---|---|---|",
            *text("| {s} | {r} | {loss} | {norm} |", told),
        ]
    },
    "of each": each("metrics_rank{r}.csv", "{s},{loss},{norm}", ("step,loss,grad_norm",)),
    "wide": lambda told: {
        "loss_by_rank.csv": [
            "step," + ",".join(f"rank{r}" for r in range(SIZE)),
            *(f"{s}," + ",".join(one[2] for one in told if one[0] == s) for s in sorted({one[0] for one in told})),
        ]
    },
}
LINES: dict[str, Callable[[list[Row]], Files]] = {
    "heads": lambda told: {"train.log": text("[rank{r}]: step {s} loss {loss} grad_norm {norm}", told)},
    "fields": lambda told: {"train.log": text("rank={r} step={s} loss={loss} gnorm={norm}", told)},
    "files": each("rank_{r}.log", "step {s} | loss {loss} | grad_norm {norm}"),
    "objects": lambda told: {"train.log": text('{{"rank": {r}, "step": {s}, "loss": "{loss}", "gnorm": "{norm}"}}', told)},
}  # fmt: skip
PAIRS = [(table, lines) for at, table in enumerate(TABLES) for lines in [*LINES][at % 2 :: 2]]
LAYOUT = {"args.txt": ["--dp 4 --tp 1 --pp 1"]}


def ranks(tmp_path: Path, pair: tuple[str, str], first: list[Row], second: list[Row]) -> list[int]:
    return analyze(written(tmp_path, TABLES[pair[0]](first) | LINES[pair[1]](second) | LAYOUT)).verdict.ranks


def exchanged(told: list[Row]) -> list[Row]:
    """What one record tells of a rank the other tells of another, and the other way round."""
    turned = {BAD: OTHER, OTHER: BAD}
    return sorted((step, turned.get(rank, rank), *rest) for step, rank, *rest in told)


@pytest.mark.parametrize(("pair", "fault"), [*zip(PAIRS, FAULTS * len(PAIRS), strict=False)])
def test_of_two_minds_nobody_is_named(tmp_path: Path, pair: tuple[str, str], fault: str) -> None:
    told = rows("nan" if (pair[0], fault) == ("wide", "norm") else fault, BAD)
    assert ranks(tmp_path, pair, told, exchanged(told)) == []


@pytest.mark.parametrize(("pair", "fault"), [*zip(PAIRS, FAULTS[::-1] * len(PAIRS), strict=False)])
def test_where_only_who_was_bad_differs_nobody_is_named(tmp_path: Path, pair: tuple[str, str], fault: str) -> None:
    """All other figures are the same in both."""
    fault = "nan" if (pair[0], fault) == ("wide", "norm") else fault
    assert ranks(tmp_path, pair, rows(fault, BAD), rows(fault, OTHER)) == []


@pytest.mark.parametrize("pair", PAIRS)
def test_of_one_mind_it_is(tmp_path: Path, pair: tuple[str, str]) -> None:
    assert ranks(tmp_path, pair, rows("nan", BAD), rows("nan", BAD)) == [BAD]


def test_of_numbered_files_the_number_is_who(tmp_path: Path) -> None:
    told = rows("nan", BAD)
    numbered = each("logs/{r}.txt", "step {s} | loss {loss} | grad_norm {norm}")
    assert (
        analyze(written(tmp_path / "1", TABLES["csv"](told) | numbered(exchanged(told)) | LAYOUT)).verdict.ranks == []
    )
    assert analyze(written(tmp_path / "2", TABLES["csv"](told) | numbered(told) | LAYOUT)).verdict.ranks == [BAD]


def test_files_that_are_numbered_otherwise_deny_nothing(tmp_path: Path) -> None:
    """Numbers of a launcher that are none of ranks."""
    told = rows("nan", BAD)
    numbered = each("logs/{r}.txt", "step {s} | loss {loss} | grad_norm {norm}")
    turned = sorted((step, (rank + 1) % SIZE, *rest) for step, rank, *rest in told)
    assert analyze(written(tmp_path, TABLES["csv"](told) | numbered(turned) | LAYOUT)).verdict.ranks == [BAD]


def test_the_mean_of_all_beside_each_denies_nothing(tmp_path: Path) -> None:
    """One prints what all reduced, which was no number where one's was none."""
    told = rows("nan", BAD)
    mean = [f"step {step} loss {'nan' if step >= ONSET else 2.1 - step / 50}" for step in range(LAST + 1)]
    assert analyze(written(tmp_path, TABLES["csv"](told) | {"rank0.log": mean} | LAYOUT)).verdict.ranks == [BAD]
