"""What is told alike by all who tell it: the one answer to "two numbers for one name are none"."""

from collections import defaultdict
from collections.abc import Hashable, Iterable
from itertools import takewhile
from typing import TypeVar

Name = TypeVar("Name", bound=Hashable)
Value = TypeVar("Value", bound=Hashable)


def sole(values: Iterable[Value]) -> Value | None:
    """The one value that all tell; None where they tell several, or nobody tells any."""
    found = {*values}
    return found.pop() if len(found) == 1 else None


def begin_alike(*rows: Iterable[Hashable]) -> int:
    """How many of their first parts, or characters, all have alike."""
    return len([*takewhile(lambda own: len({*own}) == 1, zip(*rows, strict=False))])


def unanimous(pairs: Iterable[tuple[Name, Value]]) -> dict[Name, Value]:
    """Name → number, or whatever is told of it, of names that have one alone, in the order in which they were first told."""
    found: defaultdict[Name, set[Value]] = defaultdict(set)
    for name, value in pairs:
        found[name].add(value)
    return {name: own.pop() for name, own in found.items() if len(own) == 1}
