"""Slurm's host lists as names: `gpu-[016-018,020],login1` → gpu-016, gpu-017, gpu-018, gpu-020, login1."""

from collections.abc import Iterator
from itertools import islice

from parsers.text.patterns import regex

HOSTS = 200_000  # of one list
_PART = regex(r"(?:[^,\[\]]|\[[0-9,-]*\])+")  # what stands between the commas outside of brackets
_PIECE = regex(r"\[([0-9,-]*)\]|[^\[\]]+")
_RANGE = regex(r"([0-9]{1,9})(?:-([0-9]{1,9}))?")


def host_list(text: str, at_most: int = HOSTS) -> list[str]:
    """Every name once, in order, of the first `at_most` that are named."""
    return list(dict.fromkeys(named(text, at_most)))


def named(text: str, at_most: int) -> Iterator[str]:
    """Names in order, as often as they stand there; what is cut off in the middle of a bracket is left out. A few bytes may
    name any number of hosts: no more than `at_most` are made."""
    text = text if text.count("[") == text.count("]") else text[: text.rfind("[")].rpartition(",")[0]
    for part in _PART.finditer(text):
        if at_most <= 0:
            return
        found = _names(part[0], at_most)
        at_most -= len(found)
        yield from found


def _names(part: str, at_most: int) -> list[str]:
    """Of several brackets the last one counts fastest: those before it are needed only as often as it begins anew."""
    pieces: list[list[str]] = []
    needed = at_most
    for piece in reversed(list(_PIECE.finditer(part))):
        own = [piece[0].strip()] if piece[1] is None else list(islice(_numbers(piece[1]), needed))
        if not own:
            return []
        needed = -(-needed // len(own))
        pieces.insert(0, own)
    names = [""]
    for own in pieces:
        names = [name + more for name in names for more in own]
    return names[:at_most]


def _numbers(text: str) -> Iterator[str]:
    """`016-018,020` → 016, 017, 018, 020: as wide as they are written."""
    for one in _RANGE.finditer(text):
        written = f"%0{len(one[1])}d"
        yield from map(written.__mod__, range(int(one[1]), int(one[2] or one[1]) + 1))
