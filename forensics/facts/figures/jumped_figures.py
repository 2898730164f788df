"""Which printed figure, whatever it is called, went from one level to another about a step: what changed when the pace did.

A figure does so that keeps one level before and another after, far from each other, with the change within a few steps of the one in
question. It is evidence beside a fall, and accuses nobody.
"""

from typing import NamedTuple

import polars as pl

from forensics.assemble.figures.figure_pairs import figure_pairs
from forensics.facts.durations.outliers import spread_of
from forensics.model.middle import median

_SIDE, _LEAST = 12, 5  # steps on either side that are compared, and the figures among them at least
_NEAR = 3  # steps between its change and the step in question
_FAR = 1.5  # times the one level, or the other
_AT_ONCE = 0.5  # of the way, in one step
_SIGMAS = 5  # of the larger spread, between the levels


class Jump(NamedTuple):
    """`step`, `file`, `line`: the first that shows the level after."""

    name: str
    before: float
    after: float
    step: int
    file: str
    line: int | None
    stands: bool  # it is the same all the time before, and all the time after: a limit or a setting


def jumped_at(steps: pl.DataFrame, step: int) -> Jump | None:
    """Table `steps` of one file → the figure that went farthest from its level, relative to it, about that step; first those that else stand."""
    told = steps.filter(pl.col("step").is_between(step - _SIDE, step + _SIDE))
    rows = figure_pairs(told, "step", "file", "line").filter(pl.col("value").is_finite()).sort("step", "line")
    jumps = (_jump(str(name), own, step) for (name,), own in rows.partition_by("name", as_dict=True).items())
    found = [one for one in jumps if one is not None]
    return max(found, key=lambda one: (one.stands, _ratio(one), one.name), default=None)


def _jump(name: str, rows: pl.DataFrame, step: int) -> Jump | None:
    before = rows.filter(pl.col("step") < step - _NEAR)["value"].to_list()
    after = rows.filter(pl.col("step") > step + _NEAR)["value"].to_list()
    if min(len(before), len(after)) < _LEAST:
        return None
    low, high, noise = median(before), median(after), max(spread_of(before), spread_of(after))
    is_far = low * high > 0 and max(low / high, high / low) >= _FAR and abs(high - low) > _SIGMAS * noise
    if not is_far:
        return None
    rows = rows.with_columns(rose=pl.col("value").diff().abs())
    late = rows.filter((pl.col("value") - high).abs() < (pl.col("value") - low).abs())
    if late.is_empty() or abs(int(late["step"][0]) - step) > _NEAR:
        return None
    first = late.row(0, named=True)
    if (first["rose"] or 0.0) < _AT_ONCE * abs(high - low):
        return None
    stands = len({*before}) == len({*after}) == 1
    return Jump(name, low, high, int(first["step"]), str(first["file"]), first["line"], stands)


def _ratio(one: Jump) -> float:
    return max(one.before / one.after, one.after / one.before)
