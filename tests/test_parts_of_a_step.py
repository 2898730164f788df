"""Figures that no word calls times are times where they are called like the parts of a step and add up to its whole."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from forensics import analyze

RANKS, STEPS, SLOW = 6, 20, 4
NAMES = ("load", "forward", "backward", "all_reduce", "optimizer", "total")
Cells = list[str]


def cells(rank: int, step: int, *, whole: float = 1.0) -> Cells:
    """One rank loads longer, the others wait for it."""
    jitter = 0.001 * ((rank * 7 + step * 3) % 5)
    parts = (0.9 if rank == SLOW else 0.05, 0.4, 0.8, 0.1 if rank == SLOW else 0.95, 0.06)
    return [f"{part + jitter:.4f}" for part in parts] + [f"{whole * (sum(parts) + 5 * jitter):.4f}"]


FORMS: Mapping[str, Callable[[list[tuple[int, int, Cells]]], str]] = {
    "times.csv": lambda rows: "\n".join(
        [",".join(("rank", "step", *NAMES)), *(",".join((str(rank), str(step), *own)) for rank, step, own in rows)]
    ),
    "times.jsonl": lambda rows: "\n".join(
        json.dumps({"rank": rank, "step": step} | dict(zip(NAMES, map(float, own), strict=True)))
        for rank, step, own in rows
    ),
    "times.md": lambda rows: "\n".join(
        [
            "| " + " | ".join(("rank", "step", *NAMES)) + " |",
            "|" + "---|" * 8,
            *("| " + " | ".join((str(rank), str(step), *own)) + " |" for rank, step, own in rows),
        ]
    ),
}


def told(tmp_path: Path, form: str, whole: float) -> tuple[str, list[int]]:
    rows = [(rank, step, cells(rank, step, whole=whole)) for step in range(STEPS) for rank in range(RANKS)]
    (tmp_path / form).write_text(FORMS[form](rows) + "\n")
    found = analyze(tmp_path).verdict
    return found.kind, found.ranks


@pytest.mark.parametrize("form", FORMS)
def test_who_holds_the_others_up(tmp_path: Path, form: str) -> None:
    assert told(tmp_path, form, 1.0) == ("slow", [SLOW])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("whole", [0.2, 40.0], ids=["less than its parts", "far more"])
def test_figures_that_do_not_add_up_are_no_times(tmp_path: Path, form: str, whole: float) -> None:
    assert told(tmp_path, form, whole)[1] == []
