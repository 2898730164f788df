"""docs/requirements.md: every row with what reads, what decides and what tests it; all of these exist."""

import re
from functools import cache
from pathlib import Path

import pytest

from samples.situations import CASES
from tests.test_reference_coverage import ROWS as REFERENCE

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / "docs" / "requirements.md").read_text()
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in TEXT.splitlines()
    if re.match(r"\| [A-Z]\d+ \|", line)
]
PARTLY = re.findall(r"^- \*\*([A-Z]\d+)\*\*: (.+)$", TEXT, re.MULTILINE)
COUNTS = {"A": 21, "B": 13, "X": 20, "G": 4, "O": 13, "M": 9, "F": 8, "S": 13, "D": 5}
IDS = [f"{area}{number}" for area, count in COUNTS.items() for number in range(1, count + 1)]


def _listed(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


@cache
def _tests(module: str) -> str:
    return (ROOT / "tests" / f"{module}.py").read_text()


def test_every_row_is_there_once() -> None:
    assert [row[0] for row in ROWS] == IDS
    assert len(IDS) == 106


def test_what_is_done_partly_has_its_reason() -> None:
    marked = [row[0] for row in ROWS if row[2] == "partly"]
    assert {row[2] for row in ROWS} <= {"works", "partly"}
    assert [name for name, _ in PARTLY] == marked
    assert len(marked) <= 5
    assert all(len(reason) > 30 for _, reason in PARTLY)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_what_a_row_names_exists(row: list[str]) -> None:
    _, asks, _, parsers, code, tests = row
    assert asks and parsers and _listed(code) and _listed(tests)
    for module in _listed(parsers):
        assert (ROOT / "parsers" / f"{module.replace('.', '/')}.py").is_file(), module
    for module in _listed(code):
        path = (
            (ROOT / module.replace(".", "/"))
            if module.startswith("reports.")
            else ROOT / "forensics" / module.replace(".", "/")
        )
        assert path.with_suffix(".py").is_file() or path.is_dir(), module
    for test in _listed(tests):
        module, _, name = test.partition("::")
        if module == "test_situations" and not name.startswith("test_"):
            assert name in CASES, test
        elif module == "test_reference_coverage":
            assert name in {one.id for one in REFERENCE}, test
        else:
            assert f"def {name}(" in _tests(module), test
