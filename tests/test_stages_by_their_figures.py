"""Stages of a pipeline that call their parts alike and record no message: who feeds whom is told by figures, and the step of a table by what stands above it."""

from collections.abc import Callable, Sequence
from pathlib import Path

import polars as pl
import pytest

from forensics import analyze
from forensics.graph.numerics.feeders import feeders
from forensics.model.incident import Verdict
from tests.sources import written

STEPS, AT = 8, 5
PARTS = ("block0.attn", "block0.up", "block0.norm", "block0")
NAMES = ("module", "in absmax", "out min", "out max", "out nan")
Row = tuple[str, ...]
Draw = Callable[[Sequence[Row]], list[str]]


def figures(stages: int, stage: int, step: int, part: int, odd: int | None) -> Row:
    """A row of a table: what went in, and what came out; a part takes what the one before gave, a stage what the stage before did."""

    def gave(nth: int, of: int) -> float:
        return 1 + ((nth * 37 + of * 11 + step * 17) % 97) / 31

    took = gave(stage - 1, len(PARTS) - 1) if part == 0 else gave(stage, part - 1)
    is_late = odd is not None and step > AT
    came = is_late or (odd is not None and step == AT and (stage > odd or (stage == odd and part > 2)))
    made = came or (stage == odd and step == AT and part == 2)
    low, high = ("nan", "nan") if made else (f"{-gave(stage, part):.3f}", f"{gave(stage, part) - 0.2:.3f}")
    return (PARTS[part], "nan" if came else f"{took:.3f}", low, high, "256" if made else "0")


def _boxed(rows: Sequence[Row]) -> list[str]:
    sizes = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    drawn = ["┃ " + " ┃ ".join(c.ljust(s) for c, s in zip(rows[0], sizes, strict=True)) + " ┃"]
    drawn += ["│ " + " │ ".join(c.ljust(s) for c, s in zip(row, sizes, strict=True)) + " │" for row in rows[1:]]
    top, mid, end = (
        a + b.join(line * (size + 2) for size in sizes) + c
        for a, line, b, c in (("┏", "━", "┳", "┓"), ("┡", "━", "╇", "┩"), ("└", "─", "┴", "┘"))
    )
    return [top, drawn[0], mid, *drawn[1:], end]


def _markdown(rows: Sequence[Row]) -> list[str]:
    drawn = [f"| {' | '.join(row)} |" for row in rows]
    return [drawn[0], "|---" * len(rows[0]) + "|", *drawn[1:], ""]


def _psql(rows: Sequence[Row]) -> list[str]:
    rule = "+----" * len(rows[0]) + "+"
    drawn = [f"| {' | '.join(row)} |" for row in rows]
    return [rule, drawn[0], rule, *drawn[1:], rule]


def _aligned(rows: Sequence[Row]) -> list[str]:
    return ["".join(cell.replace(" ", "_").ljust(16) for cell in row).rstrip() for row in rows]


WHO = "rank {r} of {w}, pid {p}"
# how the table is drawn · what stands above it · how a process says who it is · its file
FORMS: dict[str, tuple[Draw, str, str, str]] = {
    "boxes": (_boxed, "step {s}  forward activations, stage {r}", "[11:03:12] " + WHO, "stage{r}.log"),
    "words first": (_markdown, "Activations of the forward pass, step {s}", WHO, "p{r}.log"),
    "a preposition": (_markdown, "### activations after update {s}", WHO, "rank_{r}.log"),
    "a colon": (_psql, "iteration {s}: forward", WHO, "rank{r}.txt"),
    "of how many": (_psql, "--- step {s}/8 hidden states of rank {r} ---", WHO, "w{r}.log"),
    "the step alone": (_markdown, "step {s}", WHO, "rank_{r}.md"),
    "aligned": (_aligned, "step {s} forward statistics", WHO, "w{r}.log"),
    "in brackets": (_boxed, "[step {s}] what went in and came out", WHO, "w{r}.log"),
    "five of them": (_boxed, "Global step {s}, module outputs", WHO, "w{r}.log"),
}


def bundle(form: str, stages: int = 4, odd: int | None = 2) -> dict[str, list[str]]:
    draw, title, who, name = FORMS[form]
    files = {}
    for rank in range(stages):
        lines = [who.format(r=rank, w=stages, p=5177 + rank)]
        for step in range(STEPS):
            told = [figures(stages, rank, step, part, odd) for part in range(len(PARTS))]
            lines += [title.format(s=step, r=rank), *draw([NAMES, *told])]
        files[name.format(r=rank)] = [*lines, "loop left"]
    return files


def verdict(folder: Path, files: dict[str, list[str]]) -> Verdict:
    return analyze(str(written(folder, files))).verdict


@pytest.mark.parametrize("form", FORMS)
def test_who_made_it_is_named_and_its_step(tmp_path: Path, form: str) -> None:
    stages = 5 if form == "five of them" else 4
    found = verdict(tmp_path, bundle(form, stages))
    assert (found.kind, list(found.ranks)) == ("numerics", [2])
    assert found.first_anomaly is not None and found.first_anomaly.step == AT


def test_the_first_and_the_last_stage(tmp_path: Path) -> None:
    for odd in (0, 3):
        found = verdict(tmp_path / str(odd), bundle("boxes", odd=odd))
        assert list(found.ranks) == [odd]


def sizes(gave: Callable[[int, int], float], took: Callable[[int, int], float]) -> dict[int, int]:
    """Who feeds whom, of three ranks whose sizes these are by rank and step."""
    rows = [
        {"rank": rank, "step": step, "phase": "forward", "module": "block0", "role": role, "absmax": size(rank, step), "place": 2 * step + at}
        for rank in range(3)
        for step in range(6)
        for at, (role, size) in enumerate((("in", took), ("out", gave)))
    ]  # fmt: skip
    none = {"min": pl.Float64, "max": pl.Float64, "kind": pl.String}
    return feeders(pl.DataFrame(rows).with_columns(pl.lit(None, kind).alias(name) for name, kind in none.items()), 6)


def test_who_feeds_whom_is_told_by_sizes_that_no_third_one_gave() -> None:
    gave: Callable[[int, int], float] = lambda rank, step: 1 + rank * 0.37 + step * step * 0.11  # noqa: E731
    assert sizes(gave, lambda rank, step: gave(rank - 1, step)) == {1: 0, 2: 1}
    assert sizes(gave, lambda rank, step: gave(rank - 1, step) + (step == 3)) == {}  # not in each step
    assert sizes(gave, lambda rank, step: 2.5 + rank * 0.1 + step) == {}  # replicas have data of their own
    assert sizes(lambda rank, step: 4.0, lambda rank, step: 4.0) == {}  # the same always, and of all
    alike: Callable[[int, int], float] = lambda rank, step: gave(min(rank, 1), step)  # noqa: E731
    assert 0 not in sizes(alike, lambda rank, step: gave(1, step))  # two gave it


def test_a_stage_whose_log_is_lost_may_have_made_what_came(tmp_path: Path) -> None:
    files = bundle("boxes")
    del files["stage2.log"]
    assert not verdict(tmp_path, files).ranks


@pytest.mark.parametrize("title", ["step {s} validation metrics", "eval at step {s}"])
def test_a_table_of_an_evaluation_is_of_no_step(tmp_path: Path, title: str) -> None:
    rows = [("class", "iou", "acc"), ("road", "0.51", "0.6"), ("pole", "nan", "nan")]
    lines = [
        line
        for step in range(STEPS)
        for line in (f"step {step} loss {2 - step / 9:.3f}", title.format(s=step), *_psql(rows))
    ]
    files = {f"rank_{rank}.log": lines for rank in range(3)}
    assert verdict(tmp_path, files).kind != "numerics"
