"""The middle of some values."""

from collections.abc import Iterable


def median(values: Iterable[float]) -> float:
    """As `statistics.median`, of one value at least. That module brings fractions and patterns for them along: what every
    analysis would load is a hundredth of what a small one costs."""
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def lower_median(values: Iterable[float]) -> float:
    """The middle of some values, which is one of them: of two in the middle the lower."""
    ordered = sorted(values)
    return float(ordered[(len(ordered) - 1) // 2])
