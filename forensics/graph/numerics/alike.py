"""Are the figures of two tensors equal? Bit by bit, unless the person allows for more: then as a share of what they are.

Minimum, maximum and mean are measured by the largest magnitude of the tensor: a mean near zero has no share of its own.
A checksum tells that bits differ and never by how much, so where a share is allowed it says nothing.
"""

from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import Any

import polars as pl

FIGURES = ("min", "max", "mean", "l2norm", "absmax")
_LARGEST = ("min", "max", "absmax")
_DIGITS = {"float16": 1e-3, "bfloat16": 8e-3}  # by how much rounding moves a figure
_ROUNDED, _NEAR, _CLEAR = 2e-7, 0.01, 8  # of a float32; of the difference; times that it must stand out
_WHOLE = ("min", "max", "l2norm")
Ends = Callable[[str], tuple[pl.Expr, pl.Expr]]  # figure → its least and its greatest value among those compared


def differ(ends: Ends, share: float) -> pl.Expr:
    """Whether some figure is apart by more than `share`, above 0."""
    sizes = {name: pl.max_horizontal(*(end.abs() for end in ends(name))) for name in FIGURES}
    largest = pl.max_horizontal(sizes[name] for name in _LARGEST)
    apart = [
        (ends(name)[1] - ends(name)[0] > share * (size if name == "l2norm" else largest)).fill_null(False)
        for name, size in sizes.items()
    ]
    return pl.any_horizontal(apart)


def sides(rows: Mapping[int, Mapping[str, Any]], share: float) -> list[list[int]]:
    """Ranks → those whose figures are equal together; one side where nothing can be compared. Where a share is allowed, who
    is linked by small distances is on one side."""
    by_checksum = all(row["checksum"] is not None for row in rows.values()) and not share
    names = [name for name in FIGURES if all(row[name] is not None for row in rows.values())]
    alike: dict[tuple[Any, ...], list[int]] = {}
    for rank, row in sorted(rows.items()):
        alike.setdefault(tuple(row[name] for name in (("checksum",) if by_checksum else names)), []).append(rank)
    return list(alike.values()) if not share else _linked(alike, names, share)


def _linked(alike: Mapping[tuple[Any, ...], list[int]], names: Sequence[str], share: float) -> list[list[int]]:
    found: list[list[tuple[Any, ...]]] = []
    for figures in alike:
        near = [side for side in found if any(_is_near(names, figures, other, share) for other in side)]
        found = [*(side for side in found if side not in near), [figures, *(one for side in near for one in side)]]
    return [sorted(rank for figures in side for rank in alike[figures]) for side in found]


def _is_near(names: Sequence[str], one: Sequence[float], other: Sequence[float], share: float) -> bool:
    pairs = dict(zip(names, zip(one, other, strict=True), strict=True))
    sizes = {name: max(abs(a), abs(b)) for name, (a, b) in pairs.items()}
    largest = max((sizes[name] for name in _LARGEST if name in sizes), default=0.0)
    return all(abs(a - b) <= share * (sizes[name] if name == "l2norm" else largest) for name, (a, b) in pairs.items())


def common_factor(one: Mapping[str, Any], other: Mapping[str, Any]) -> float | None:
    """By what the whole of one tensor is the other one: both ends and the norm grew alike, which no single element brings about. Null
    where they did not, or where they show too little: a tensor of one value has one factor whatever became of it."""
    if not all(row[name] for row in (one, other) for name in _WHOLE) or other["min"] == other["max"]:
        return None
    low, high, factor = (one[name] / other[name] for name in _WHOLE)
    rounded = _DIGITS.get(str(one["dtype"]).rpartition(".")[2], _ROUNDED)
    apart = abs(factor - 1)
    is_alike = all(abs(end - factor) <= max(_NEAR * apart, rounded) for end in (low, high))
    return factor if isfinite(factor) and apart > _CLEAR * rounded and is_alike else None


def is_lone(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Does one end of a tensor alone stand apart from that of its copy, by as much as the norm tells that one element moved?"""
    if any(row[name] is None for row in (one, other) for name in _WHOLE):
        return False
    moved = [name for name in ("min", "max") if one[name] != other[name]]
    grown = one["l2norm"] ** 2 - other["l2norm"] ** 2
    if len(moved) != 1 or not isfinite(grown):
        return False
    before = one[moved[0]] ** 2 - grown  # the square of what that element was
    room = _NEAR * abs(grown)
    return bool(-room <= before <= max(other["min"] ** 2, other["max"] ** 2) + room)
