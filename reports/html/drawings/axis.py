"""A time axis in parts: where nothing happens for long it is broken, and each part has a scale of its own, written on it."""

import itertools
from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from reports.layout import duration

_BREAK, _LEAST = 44, 46  # pixels of a break, and of a part with a single moment
_BREAKS = 5
_LARGE, _SHORTEST = 0.3, 1.0  # a gap that is broken: of the time that is left, and seconds
_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))


class Tick(NamedTuple):
    x: int
    text: str


class Break(NamedTuple):
    x: int
    text: str


class Part(NamedTuple):
    """From `begin` to `end`, seconds; drawn from `left` to `right`, pixels."""

    begin: float
    end: float
    left: float
    right: float

    def at(self, moment: float) -> float:
        if self.end <= self.begin:
            return (self.left + self.right) / 2
        return self.left + (moment - self.begin) / (self.end - self.begin) * (self.right - self.left)


class Axis:
    """Seconds since 1970 → pixels. `zero`: the moment that ticks count from."""

    def __init__(self, moments: Sequence[float], zero: float, left: int, right: int) -> None:
        self.zero = zero
        known = sorted(set(moments)) or [zero]
        groups = _groups(known)
        room = right - left - _BREAK * (len(groups) - 1) - _LEAST * len(groups)
        weights = [len(group) - 1 for group in groups]
        whole = sum(weights) or 1
        self.parts: list[Part] = []
        x = float(left)
        for group, weight in zip(groups, weights, strict=True):
            end = x + _LEAST + room * weight / whole
            self.parts.append(Part(group[0], group[-1], x, end))
            x = end + _BREAK

    def at(self, moment: float) -> float:
        """Where a moment stands; one outside of all parts at the edge of the nearest."""
        index = max(0, bisect_right([part.begin for part in self.parts], moment) - 1)
        part = self.parts[index]
        return round(part.at(min(max(moment, part.begin), part.end)), 2)

    @property
    def end(self) -> float:
        return round(self.parts[-1].right, 2)

    def breaks(self) -> list[Break]:
        """The middle of each gap, and how long it is."""
        pairs = zip(self.parts, self.parts[1:], strict=False)
        return [Break(round((one.right + two.left) / 2), duration(two.begin - one.end)) for one, two in pairs]

    def ticks(self) -> list[Tick]:
        """Round moments of each part, counted from zero; of a part with a single moment that one."""
        found: list[Tick] = []
        for part in self.parts:
            for moment in _round_moments(part, self.zero):
                x = round(part.at(moment))
                if not found or x - found[-1].x >= 80:
                    found.append(Tick(x, relative(moment - self.zero)))
        return found


def is_coarse(text: str) -> bool:
    """Is this a stamp in whole seconds?"""
    _, _, fraction = text.removesuffix("Z").partition(".")
    return "T" in text and not fraction.strip("0")


def relative(elapsed: float, *, is_coarse: bool = False) -> str:
    """−0.0215 → "−21.5 ms", 600 → "+10 min 00 s", 0 → "0". `is_coarse`: of a stamp in whole seconds, "≈ 0 s"."""
    size = abs(elapsed)
    if is_coarse and size < 10:
        return f"≈ {'−' if elapsed < -0.5 else '+' if elapsed > 0.5 else ''}{size:.0f} s"
    if size < 5e-7:
        return "0"
    sign = "+" if elapsed > 0 else "−"
    if size >= 1:
        return f"{sign}{duration(size)}"
    factor, unit = next((factor, unit) for factor, unit in _UNITS if size >= factor or factor == 1e-6)
    return f"{sign}{size / factor:.3g} {unit}"


def _groups(moments: Sequence[float]) -> list[list[float]]:
    """Moments that belong on one scale: the longest gap is taken out as long as it is much of what is left."""
    gaps = sorted(((later - earlier, at) for at, (earlier, later) in enumerate(itertools.pairwise(moments))),
                  reverse=True)  # fmt: skip
    left, cuts = moments[-1] - moments[0], []
    for gap, at in gaps[:_BREAKS]:
        if gap < max(_LARGE * left, _SHORTEST):
            break
        cuts.append(at + 1)
        left -= gap
    edges = [0, *sorted(cuts), len(moments)]
    return [list(moments[begin:end]) for begin, end in itertools.pairwise(edges)]


def _round_moments(part: Part, zero: float) -> list[float]:
    if part.end <= part.begin:
        return [part.begin]
    wanted = max(1, int((part.right - part.left) // 110))
    step = _nice((part.end - part.begin) / wanted)
    first = -(-(part.begin - zero) // step)
    found = []
    while zero + first * step <= part.end + step * 1e-6:
        found.append(zero + first * step)
        first += 1
    return found or [part.begin]


def _nice(step: float) -> float:
    """The next of 1, 2, 5, 10, … seconds; of 1, 2, 5, 10, 15, 30 minutes and of hours where it is long."""
    for long in (60, 120, 300, 600, 900, 1800, 3600, 7200, 21600, 43200, 86400):
        if 30 < step <= long:
            return float(long)
    magnitude = 1.0
    while magnitude > step:
        magnitude /= 10
    while magnitude * 10 <= step:
        magnitude *= 10
    return next(factor * magnitude for factor in (1, 2, 5, 10) if factor * magnitude >= step * 0.999)
