"""Relations that hold for recorded statistics of tensors, whatever the truth is: other names, another framing, a column less: nobody new is named."""

import json
import lzma
import random
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import pytest

from tests import analysed
from tests.analysed import NAMES, SAMPLES
from tests.numeric_relations import FRAMINGS
from tests.relations import Files, Outcome, files_of, look, newly_named, outcome

_RANK = re.compile(r"rank_\d+\.jsonl(?:\.xz)?$")
_NEEDED = frozenset(("rank", "step"))
_DROPPED = 2  # columns of each sample, others in each
Rows = list[dict[str, Any]]


def _text(path: str, data: bytes) -> str:
    return (lzma.decompress(data) if path.endswith(".xz") else data).decode()


@cache
def recorded(name: str) -> tuple[Mapping[str, Rows], Files]:
    """A sample's rows of tensors by file, and its other files."""
    files = files_of(SAMPLES / name / "bundle")
    rows = {
        path: [json.loads(line) for line in _text(path, data).splitlines() if line]
        for path, data in files.items()
        if _RANK.search(path)
    }
    return rows, {path: data for path, data in files.items() if path not in rows}


def told(name: str, change: Callable[[dict[str, Any]], dict[str, Any]], *, as_table: bool = False) -> Outcome:
    rows, others = recorded(name)
    made = {path.removesuffix(".xz"): [change(row) for row in own] for path, own in rows.items()}
    _, write = FRAMINGS["commas" if as_table else "objects"]
    return look(
        {**others, **{path.replace(".jsonl", ".csv") if as_table else path: write(own) for path, own in made.items()}}
    )


def newly(name: str, now: Outcome) -> list[str]:
    """Whom this names and the sample as it was recorded does not; it is asked only where somebody is named."""
    return newly_named(outcome(analysed.sample(name)), now) if now.named else []


def columns_of(name: str) -> list[str]:
    rows, _ = recorded(name)
    found = {column for own in rows.values() for row in own[:200] for column in row} - _NEEDED
    return sorted(found)


FIGURES = [
    name
    for name in NAMES
    if any(
        _RANK.search(path.name) and '"tensor"' in _text(path.name, path.read_bytes())[:4000]
        for path in (SAMPLES / name).rglob("*jsonl*")
    )
]


def _other(module: str) -> str:
    """Another name with as many parts, which says nothing."""
    return ".".join(
        part if part.isdigit() else "m" + "".join(str(ord(letter) % 7) for letter in part) for part in module.split(".")
    )


def test_there_are_samples() -> None:
    assert len(FIGURES) > 8


@pytest.mark.parametrize("name", FIGURES)
def test_modules_of_other_names(name: str) -> None:
    change = lambda row: {**row, "module": _other(row["module"])} if isinstance(row.get("module"), str) else row  # noqa: E731
    assert newly(name, told(name, change)) == []


@pytest.mark.parametrize("name", FIGURES)
def test_another_framing(name: str) -> None:
    assert newly(name, told(name, dict, as_table=True)) == []


@pytest.mark.parametrize("name", FIGURES)
def test_without_a_column(name: str) -> None:
    columns = columns_of(name)
    for column in random.Random(name).sample(columns, min(_DROPPED, len(columns))):
        without = told(name, lambda row, gone=column: {key: cell for key, cell in row.items() if key != gone})
        assert newly(name, without) == [], column
