"""Slurm's host lists as names: `gpu-[016-018,020],login1` → gpu-016, gpu-017, gpu-018, gpu-020, login1."""

from collections.abc import Iterator
from itertools import islice, product

from parsers.patterns import regex

HOSTS = 200_000  # of one list
_PART = regex(r"(?:[^,\[\]]|\[[0-9,-]*\])+")  # what stands between the commas outside of brackets
_PIECE = regex(r"\[([0-9,-]*)\]|[^\[\]]+")
_RANGE = regex(r"([0-9]{1,9})(?:-([0-9]{1,9}))?")


def host_list(text: str, at_most: int = HOSTS) -> list[str]:
    """Every name once, in order, `at_most` so many; what is cut off in the middle of a bracket is left out."""
    found: dict[str, None] = {}
    text = text if text.count("[") == text.count("]") else text[: text.rfind("[")].rpartition(",")[0]
    for part in _PART.finditer(text):
        found |= dict.fromkeys(_names(part[0], at_most - len(found)))
    return list(found)


def _names(part: str, at_most: int) -> Iterator[str]:
    pieces = [
        list(_numbers(piece[1], at_most)) if piece[1] is not None else [piece[0].strip()]
        for piece in _PIECE.finditer(part)
    ]
    return map("".join, islice(product(*pieces), at_most))


def _numbers(text: str, at_most: int) -> Iterator[str]:
    """`016-018,020` → 016, 017, 018, 020: as wide as they are written."""
    for one in _RANGE.finditer(text):
        last = int(one[2] or one[1])
        written = f"%0{len(one[1])}d"
        yield from map(written.__mod__, range(int(one[1]), min(last, int(one[1]) + at_most) + 1))
