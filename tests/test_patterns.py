"""Patterns that are compiled on first use: all of them can be, and they are what re.compile gives."""

import importlib
import pickle
import pkgutil
import re

import parsers
from parsers.patterns import regex

NAMES = [module.name for module in pkgutil.walk_packages(parsers.__path__, "parsers.")]


def _patterns(value: object, depth: int = 3) -> list[re.Pattern[str]]:
    if hasattr(value, "fullmatch") and value is not re:
        return [value]  # type: ignore[list-item]
    if depth and isinstance(value, dict):
        value = (*value.keys(), *value.values())
    fields = [getattr(value, name, None) for name in ("pattern", "follows")]
    inside = [*value, *fields] if isinstance(value, list | tuple) else fields
    return [found for one in inside if depth for found in _patterns(one, depth - 1)]


def test_every_pattern_of_every_parser_compiles() -> None:
    values = [value for name in NAMES for value in vars(importlib.import_module(name)).values()]
    found = [pattern for value in values for pattern in _patterns(value)]
    assert len(found) > 500
    assert all(pattern.flags >= 0 for pattern in found)


def test_a_pattern_answers_as_the_compiled_one_and_travels_to_other_processes() -> None:
    for pattern in (regex(r"(?P<a>\d+)x", re.I), pickle.loads(pickle.dumps(regex(r"(?P<a>\d+)x", re.I)))):
        match = pattern.search("12X")
        assert match and match["a"] == "12" and pattern.groupindex == {"a": 1}
        assert pattern.pattern == r"(?P<a>\d+)x" and pattern.sub("-", "1x2") == "-2"
        assert pickle.loads(pickle.dumps(pattern)).findall("1x") == ["1"]
