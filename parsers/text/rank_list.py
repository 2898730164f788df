"""Members of a group as text: one form for each list, so that equal lists are equal texts and stay small.

`"0-3,8"` are the ranks 0, 1, 2, 3, 8 in this order; the order is the group's own, slice i belongs to entry i. Read is any list
of them: in brackets of any kind or none, divided by commas, semicolons, bars or blanks.
"""

from collections.abc import Iterable
from functools import lru_cache

from parsers.text.patterns import regex

RANKS = 1 << 18  # ranks of a job: no number beyond is believed, or a few digits would cost as many rows (bounds.py)
_RANGE = regex(r"(\d{1,9})(?:-(\d{1,9}))?")
_DASH = regex(r"\s*-\s*")
_BETWEEN = regex(r"\s*[,;|]\s*|\s+")


@lru_cache(maxsize=16_384)
def rank_list(text: str) -> tuple[int, ...] | None:
    """`[0, 1, 2]`, `0;1;2`, or a text of ranges such as `"0-3,8"` → the ranks in group order; None where it is neither."""
    found: list[int] = []
    for part in _BETWEEN.split(_DASH.sub("-", text.strip("\"'[](){} \t\r\n").rstrip(",; "))):
        match = _RANGE.fullmatch(part)
        if match is None:
            return None
        first, last = int(match[1]), int(match[2] or match[1])
        if last >= RANKS or last - first + len(found) >= RANKS:
            return None
        found += range(first, last + 1)
    return tuple(found)


def rank_text(ranks: Iterable[int]) -> str:
    """Ranks in group order → the one text for them; runs that rise by one are written as ranges."""
    runs: list[list[int]] = []
    for rank in ranks:
        if runs and rank == runs[-1][1] + 1:
            runs[-1][1] = rank
        else:
            runs.append([rank, rank])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


@lru_cache(maxsize=16_384)
def normal(text: str) -> str | None:
    """Any text that `rank_list` reads → the one form; None where it is none."""
    found = rank_list(text)
    return rank_text(found) if found else None
