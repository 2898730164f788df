"""What a scheduler stopped, and what is said behind that: processes do not go at once, and those who go last miss the first."""

from collections.abc import Mapping

import polars as pl

STOPS = ("time_limit", "preemption", "cancelled", "Preempted", "Preempting")


def first_stops(events: pl.DataFrame) -> dict[str, int]:
    """File → the first line in which a scheduler stops the job: what ends below it follows from that."""
    is_stop = (pl.col("kind") == "scheduler") & pl.col("code").is_in(STOPS) & pl.col("line").is_not_null()
    return dict(events.filter(is_stop).group_by("file").agg(pl.col("line").min()).iter_rows())


def is_below(stops: Mapping[str, int], file: str, line: int | None) -> bool:
    """Does a line stand below the one with which a scheduler, in the same log, stopped the job?"""
    return file in stops and line is not None and line > stops[file]


def said_before(events: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """Rows of events without those below the line with which a scheduler stopped the job, or in which the process itself tells that it was told to. Where a
    launcher had begun to end it, that follows from how a task had ended."""
    is_begun = (pl.col("kind") == "scheduler") & (pl.col("code") == "terminating")
    stops = first_stops(events)
    if not rows.height or not stops or events.filter(is_begun).height:
        return rows
    asked = events.filter((pl.col("code") == "told_to_stop") & pl.col("rank").is_not_null())
    own = asked.group_by("file", "rank").agg(pl.col("line").min().alias("_told"))
    told = rows.join(own, on=["file", "rank"], how="left", maintain_order="left")
    is_later = [is_below(stops, file, line) for file, line in rows.select("file", "line").iter_rows()]
    is_left = (told["line"] > told["_told"]).fill_null(value=False) | pl.Series(is_later, dtype=pl.Boolean)
    return rows.filter(~is_left)
