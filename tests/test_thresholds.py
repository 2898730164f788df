"""docs/thresholds.md says what the code says, names tests that exist, and misses no constant of the modules that it lists."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
_ROW = re.compile(
    r"^\| `(?P<module>[a-z_.]+)\.(?P<name>\w+(?:\[\w+\])?)` \| (?P<value>[^|]+) \| (?P<why>[^|]+) \| `(?P<test>\w+)::(?P<case>\w+)` \|$"
)
_NUMBER = re.compile(r"\d+(?:\.\d+)?(?= |$|%)")
_UNITS = {"min": 60_000_000_000}
ROWS = [found for line in (ROOT / "docs" / "thresholds.md").read_text().splitlines() if (found := _ROW.match(line))]
# What modules hold besides: units, bits, lists of columns, how many rows are looked at, and how many are shown.
_NO_THRESHOLDS = (
    "_GRADIENTS", "_LINES", "_SERIES", "_SPIKES", "_SHOWN", "_WORDS", "_WORDS_OF_LINE", "_LONG", "_NAMED", "_SECOND_NS", "SECOND_NS",
    "_MINUTE_NS", "_MS_NS", "_THERMAL", "_HARDWARE", "SIGMA", "_MOST_RANKS", "_AT_ONCE", "_CANDIDATES", "_PRINTERS", "_OPS",
)  # fmt: skip
# The rooms in which one thing is told from another by a number.
DECIDING = sorted(
    ".".join(path.relative_to(ROOT / "forensics").with_suffix("").parts)
    for room in ("facts", "detectors")
    for path in (ROOT / "forensics" / room).rglob("*.py")
)


def constants(module: str) -> dict[str, float]:
    """Numbers that a module defines at its top, tuples of them taken apart; of a table the first number of each row."""
    found: dict[str, float] = {}
    tree = ast.parse((ROOT / "forensics" / f"{module.replace('.', '/')}.py").read_text())
    for node in tree.body:
        if isinstance(node, ast.Assign):
            target, value = node.targets[0], node.value
            pairs = (
                zip(target.elts, value.elts, strict=True)
                if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
                else [(target, value)]
            )
            for name, number in pairs:
                if (
                    isinstance(name, ast.Name)
                    and isinstance(number, ast.Constant)
                    and isinstance(number.value, int | float)
                ):
                    found[name.id] = float(number.value)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.value, ast.Dict) and isinstance(node.target, ast.Name):
            found |= {f"{node.target.id}[{key}]": number for key, number in _rows(node.value)}
    return found


def _rows(table: ast.Dict) -> Iterator[tuple[str, float]]:
    """Key → the first number of a row that is a call or a tuple."""
    for key, row in zip(table.keys, table.values, strict=True):
        parts = row.args if isinstance(row, ast.Call) else row.elts if isinstance(row, ast.Tuple) else []
        first = parts[0] if parts else None
        if isinstance(key, ast.Constant) and isinstance(first, ast.Constant) and isinstance(first.value, int | float):
            yield str(key.value), float(first.value)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["module"] + row["name"])
def test_the_table_says_what_the_code_says(row: re.Match[str]) -> None:
    told = constants(row["module"]).get(row["name"])
    if told is not None:  # some are made of others, as minutes of seconds
        assert told in {float(one) for one in _NUMBER.findall(row["value"])}
    tests = (ROOT / "tests" / f"{row['test']}.py").read_text()
    assert f"def {row['case']}(" in tests
    assert row["why"].strip()


@pytest.mark.parametrize("module", DECIDING)
def test_no_number_that_decides_is_without_a_reason(module: str) -> None:
    listed = {row["name"] for row in ROWS if row["module"] == module}
    assert {name for name in constants(module) if name not in _NO_THRESHOLDS} <= listed


def test_the_table_is_read() -> None:
    assert len(ROWS) > 15
