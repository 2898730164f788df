"""Where the dynamic loss scale of fp16 training fell, and whether it fell to the end.

A scale that halves a few times and then stays is how it finds its level. One that falls and falls, or reaches its minimum,
means that gradients overflow at every step. Steps that follow the last overflow without another one show that it stays, also
where they print no scale.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import msgspec
import polars as pl

from forensics.model.told import has_kind

Row = Mapping[str, Any]
_COLLAPSE = 16.0  # this many times below its highest value without a rise
_STABLE = 10  # lines without a change that end a warm-up
_START = 50  # a fall that begins by this step is a warm-up
_FIRST = 65536.0  # with which others begin
_LEVEL = 4096.0  # at which many stay
_LOWEST, _STUCK = 1.0, 3  # a scale that this many overflows in a row could not reduce
_ROUNDED = 1.01  # lines print three or four digits of what others print whole


class Fall(msgspec.Struct, frozen=True):
    """`start`, `end`: the first line that is lower, the lowest; `settled`: stable after; `early`: training had just begun."""

    start: Row
    end: Row
    settled: bool
    early: bool
    is_minimum: bool = False


def falls(steps: pl.DataFrame, events: pl.DataFrame) -> list[Fall]:
    """Tables of steps and events → the fall of each file and rank, earliest first."""
    if not _is_told(steps, events):
        return []
    told = events.filter(pl.col("kind") == "loss_scale").sort("file", "line", nulls_last=True)
    train = steps.filter(pl.col("phase").fill_null("train") == "train")
    found = [fall for rows in _series(train, told) if (fall := _fall(rows)) is not None and not _is_search(fall)]
    return sorted((_dated(one, train, told) for one in found), key=lambda one: _order(one.start))


def _is_search(fall: Fall) -> bool:
    """Is it still as high as where others begin, at the start or where nothing tells when, or at the start not far below? Then it looks
    for its level."""
    least = _LEVEL if fall.early else _FIRST
    return not fall.settled and fall.end["scale"] >= least and (fall.early or fall.start["step"] is None)


def collapse(steps: pl.DataFrame, events: pl.DataFrame) -> Fall | None:
    """The fall that went on to the end, or to the minimum; None where the scale found its level, or never fell."""
    if not _is_told(steps, events):
        return None
    found = falls(steps, events)
    told = events.filter(pl.col("kind") == "loss_scale").sort("file", "line", nulls_last=True)
    said = pl.col("text").str.contains("(?i)already at minimum").fill_null(False) | (pl.col("code") == "minimum")
    train = steps.filter(pl.col("phase").fill_null("train") == "train")
    lowest, stuck = told.filter(said), told.filter(_is_stuck())
    if not lowest.height and stuck.height and not _went_on(train, stuck.row(-1, named=True)):
        lowest = stuck
    if lowest.height:
        row = lowest.row(0, named=True)
        start = found[0].start if found else row
        return Fall(start, row, False, False, True)
    for row in told.filter(_is_below_one()).reverse().iter_rows(named=True):
        if not _rose(train, told, row):
            end = {**row, "scale": row["value"], "reduced": True}
            return Fall(found[0].start if found else end, end, False, False)
    for one in found:
        if (not one.settled or _skips_on(train, one.end)) and not one.early and not _went_on(train, one.end):
            return one
    return None


def _is_told(steps: pl.DataFrame, events: pl.DataFrame) -> bool:
    return steps["loss_scale"].count() > 0 or has_kind(events, "loss_scale")


def _is_stuck() -> pl.Expr:
    """Whether a line says that it reduced the scale to what it was, as the last ones of its file do."""
    tried = pl.col("detail").str.extract(r'"attempted": "([\d.e+-]+)"').cast(pl.Float64, strict=False)
    kept = (pl.col("code") == "reduced") & (pl.col("value") <= _LOWEST) & (tried <= pl.col("value"))
    return kept.fill_null(False) & (kept.fill_null(False).reverse().cum_min().sum().over("file") >= _STUCK)


def _is_below_one() -> pl.Expr:
    """Whether a line says that the scale is less than 1: gradients overflow without any scale."""
    return ((pl.col("code") == "reduced") & (pl.col("value") < _LOWEST) & (pl.col("value") > 0)).fill_null(False)


def _rose(steps: pl.DataFrame, events: pl.DataFrame, end: Row) -> bool:
    """Whether the scale is told to be 1 or more after that, or steps went on."""
    later = (pl.col("file") == end["file"]) & (pl.col("line") > end["line"])
    raised = events.filter(later & (pl.col("code") == "raised") & (pl.col("value") >= _LOWEST))
    is_told = raised.height + steps.filter(later & (pl.col("loss_scale") >= _LOWEST)).height > 0
    return is_told or _went_on(steps, end)


def _dated(fall: Fall, steps: pl.DataFrame, events: pl.DataFrame) -> Fall:
    """With the step of its first overflow: every lower scale that was told before the next step took a step of its own."""
    start = fall.start
    told = steps.filter((pl.col("file") == start["file"]) & pl.col("step").is_not_null())
    after = told.filter(pl.col("line") > start["line"])["line"].min() if start["line"] is not None else None
    if start["step"] is None or after is None or not start["reduced"]:
        return fall
    between = pl.col("line").is_between(start["line"], after) & (pl.col("file") == start["file"])
    lower = events.filter(between & (pl.col("value") < start["scale"]))["value"].n_unique()
    before = told.filter(pl.col("line") < start["line"])["step"].max()
    least = before + 1 if isinstance(before, int) and before < start["step"] else start["step"] - lower
    return msgspec.structs.replace(fall, start={**start, "step": max(start["step"] - lower, least)})


def _series(steps: pl.DataFrame, events: pl.DataFrame) -> Sequence[Sequence[Row]]:
    """Scales in the order of their lines, per file and rank. Lines without a rank tell of all: the scale is one."""
    lines = steps.filter(pl.col("loss_scale").is_not_null())
    names = ("file", "rank", "line", "step", "time_ns")
    both = [
        lines.select(*names, scale="loss_scale", reduced=pl.lit(False)),
        events.select(*names, scale="value", reduced=(pl.col("code") == "reduced").fill_null(False)),
    ]
    whole = pl.concat(both).filter(pl.col("scale").is_finite()).sort("file", "line", nulls_last=True)
    whole = whole.with_columns(pl.col("step").fill_null(_next_step(whole, steps)))
    series = []
    for part in whole.partition_by("file", maintain_order=True):
        for rank in part["rank"].drop_nulls().unique(maintain_order=True).to_list() or [None]:
            series.append(part.filter(pl.col("rank").is_null() | pl.col("rank").eq_missing(rank)).to_dicts())
    return series


def _next_step(scales: pl.DataFrame, steps: pl.DataFrame) -> pl.Series:
    """Of each line, the step that the file tells next: an overflow is printed before its step."""
    told = steps.select("file", "line", pl.col("step").alias("next")).drop_nulls().sort("line")
    scales = scales.with_row_index().sort("line")
    found = scales.join_asof(told, on="line", by="file", strategy="forward", check_sortedness=False)
    return found.sort("index")["next"]


def _went_on(steps: pl.DataFrame, end: Row) -> bool:
    """Whether enough steps were told after the last overflow, in its file or, by the clock, in others."""
    after = (pl.col("file") == end["file"]) & (pl.col("line") > end["line"])
    if end["time_ns"] is not None:
        after |= (pl.col("file") != end["file"]) & (pl.col("time_ns") > end["time_ns"])
    later = steps.filter(after & (pl.col("skipped").fill_null(0) == 0))
    uncounted = later.filter(pl.col("step").is_null() & pl.col("loss").is_finite())  # HF's trainer prints no numbers
    return max(later["step"].drop_nulls().n_unique(), uncounted.height) > _STABLE


def _skips_on(steps: pl.DataFrame, end: Row) -> bool:
    """Whether most steps are still skipped though the scale falls no more: it has no lower value."""
    later = steps.filter((pl.col("file") == end["file"]) & (pl.col("line") > end["line"])).drop_nulls("step")
    return later.height > 0 and bool((later["skipped"].fill_null(0) > 0).mean() > 0.5)  # type: ignore[operator]


def _fall(rows: Sequence[Row]) -> Fall | None:
    best: tuple[Row, Row, int] | None = None
    top = 0
    for at, row in enumerate(rows):
        if not at or row["scale"] > rows[at - 1]["scale"] * _ROUNDED:
            top = at
        low = row["scale"] > 0 and rows[top]["scale"] / row["scale"] >= _COLLAPSE
        if row["scale"] <= 0 or (low and (best is None or row["scale"] < best[1]["scale"])):
            high = rows[top]["scale"]
            lower = (other for other in rows[top:] if other["reduced"] or other["scale"] * _ROUNDED < high)
            start = _onset([next(lower, rows[top]), *rows[top + 1 : at + 1]])  # a log may begin at nothing
            best = (start, row, at)
    if best is None:
        return None
    start, end, at = best
    step = start["step"]
    return Fall(start, end, len(rows) - at > _STABLE, step is not None and step <= _START)


def _onset(rows: Sequence[Row]) -> Row:
    """The first of the falls that came one soon after the other, to the last: what fell long before, and then stayed, had found its level. Where
    they never came soon, the first of all."""
    level, onset, above = rows[0], rows[0], 0.0
    for before, row in pairwise(rows):
        if row["scale"] < before["scale"]:
            # A line that tells each fall tells that there was none.
            until = row["step"] if row["reduced"] else before["step"]
            is_late = None not in (until, level["step"]) and until - level["step"] > _STABLE
            onset, above = (row, before["scale"]) if is_late else (onset, above)
            level = row
    return onset if above > 0 and above >= _COLLAPSE * rows[-1]["scale"] else rows[0]


def _order(row: Row) -> tuple[int, str, int]:
    return (row["step"] if row["step"] is not None else 1 << 62, row["file"] or "", row["line"] or 0)
