"""Patterns that are compiled on first use: all of them can be, they are what re.compile gives, and none of them can be read in
exponentially many ways."""

import importlib
import pickle
import pkgutil
import re

import pytest

import forensics
import parsers
from parsers.ambiguity import is_exponential
from parsers.text.patterns import regex

NAMES = [
    module.name
    for package in (parsers, forensics)
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    if not module.name.endswith("__main__")
]


def _patterns(value: object, depth: int = 3) -> list[re.Pattern[str]]:
    if hasattr(value, "fullmatch") and value is not re:
        return [value]  # type: ignore[list-item]
    if depth and isinstance(value, dict):
        value = (*value.keys(), *value.values())
    fields = [getattr(value, name, None) for name in ("pattern", "follows")]
    inside = [*value, *fields] if isinstance(value, list | tuple) else fields
    return [found for one in inside if depth for found in _patterns(one, depth - 1)]


def _all() -> list[re.Pattern[str]]:
    values = [value for name in NAMES for value in vars(importlib.import_module(name)).values()]
    return [pattern for value in values for pattern in _patterns(value)]


def test_every_pattern_compiles() -> None:
    found = _all()
    assert len(found) > 500
    assert all(pattern.flags >= 0 for pattern in found)


def test_a_pattern_answers_as_the_compiled_one_and_travels_to_other_processes() -> None:
    for pattern in (regex(r"(?P<a>\d+)x", re.I), pickle.loads(pickle.dumps(regex(r"(?P<a>\d+)x", re.I)))):
        match = pattern.search("12X")
        assert match and match["a"] == "12" and pattern.groupindex == {"a": 1}
        assert pattern.pattern == r"(?P<a>\d+)x" and pattern.sub("-", "1x2") == "-2"
        assert pickle.loads(pickle.dumps(pattern)).findall("1x") == ["1"]


@pytest.mark.parametrize(
    "pattern",
    [r"(a+)+$", r"(?:(?:\d+|N/A)\s*)+$", r"(?:a|ab|b)*c", r"(?:a*)*b", r"(?i:(?:ab|AB)+)x", r"(?: ?\[\d\]\S+)+;"],
)
def test_what_can_be_read_in_exponentially_many_ways(pattern: str) -> None:
    assert is_exponential(pattern)


@pytest.mark.parametrize(
    "pattern", [r"a+b", r"(?:\w+\s)+x", r"(?:a|ab)*c", r"(?:\d+(?:\s+|,))*$", r"(?:a\d{1,3})+$", r"(?:(?:a|b+)*+)x"]
)
def test_what_cannot(pattern: str) -> None:
    assert not is_exponential(pattern)


def test_no_pattern_takes_exponential_time() -> None:
    """Each of them, whatever the text: what fuzzing finds by luck alone."""
    asked = {(pattern.pattern, pattern.flags) for pattern in _all()}
    assert [pattern for pattern, flags in asked if is_exponential(pattern, flags)] == []
