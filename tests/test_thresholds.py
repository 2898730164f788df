"""docs/thresholds.md says what the code says, names tests that exist, and misses no constant of the modules that it lists."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
_ROW = re.compile(
    r"^\| `(?P<module>[\w.]+)\.(?P<name>_\w+)` \| (?P<value>[^|]+) \| (?P<why>[^|]+) \| `(?P<test>\w+)::(?P<case>\w+)` \|$"
)
_NUMBER = re.compile(r"\d+(?:\.\d+)?(?= |$|%)")
_UNITS = {"min": 60_000_000_000}
ROWS = [found for line in (ROOT / "docs" / "thresholds.md").read_text().splitlines() if (found := _ROW.match(line))]
# What these modules hold besides: lists of columns, how many rows make a series, how many are shown.
_NO_THRESHOLDS = ("_GRADIENTS", "_SERIES", "_LEAST", "_SPIKES")


def constants(module: str) -> dict[str, float]:
    """Numbers that a module defines at its top, tuples of them taken apart."""
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
    return found


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["module"] + row["name"])
def test_the_table_says_what_the_code_says(row: re.Match[str]) -> None:
    told = constants(row["module"]).get(row["name"])
    if told is not None:  # some are made of others, as minutes of seconds
        assert told in {float(one) for one in _NUMBER.findall(row["value"])}
    tests = (ROOT / "tests" / f"{row['test']}.py").read_text()
    assert f"def {row['case']}(" in tests
    assert row["why"].strip()


@pytest.mark.parametrize(
    "module", ["detectors.numerics.loss_log", "detectors.numerics.loss_scale", "detectors.numerics.exhausted_range"]
)
def test_no_number_of_a_loss_is_without_a_reason(module: str) -> None:
    listed = {row["name"] for row in ROWS if row["module"] == module}
    assert {name for name in constants(module) if name not in _NO_THRESHOLDS} == listed


def test_the_table_is_read() -> None:
    assert len(ROWS) > 15
