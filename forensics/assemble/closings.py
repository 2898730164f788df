"""Words that end a job only together: "finished 20 steps", and the last of the steps that were announced.

Alone they say that something is done. They are the end where every printer of steps says so after its last step, the number is
that of its steps, nothing comes after the words in their file, and nothing in the attempt shows a failure, an operation that
never ended, or that somebody looked at a job that stood still. Else they say nothing, and are left out.
"""

from collections.abc import Mapping

import polars as pl

from parsers.schema.tables import TableName
from parsers.training.progress import CLOSING, LAST_STEP

_PRINTER = ["file", "rank", "local_rank"]
_GRAVE = ["error", "fatal"]


def with_closings(tables: Mapping[TableName, pl.DataFrame]) -> dict[TableName, pl.DataFrame]:
    """Tables of one attempt, ranks global → the same, without the rows of job_end that are none."""
    events = tables["events"]
    is_weak = ((pl.col("kind") == "job_end") & pl.col("code").is_in([CLOSING, LAST_STEP])).fill_null(False)
    weak = events.filter(is_weak)
    if not weak.height or _is_end(tables, weak):
        return dict(tables)
    return {**tables, "events": events.filter(~is_weak)}


def _is_end(tables: Mapping[TableName, pl.DataFrame], weak: pl.DataFrame) -> bool:
    steps = tables["steps"].filter((pl.col("phase") == "train").fill_null(True) & pl.col("line").is_not_null())
    last = steps.group_by(_PRINTER).agg(pl.col("line").max().alias("_last"), pl.col("step").max())
    is_closing = pl.col("code") == CLOSING
    said = weak.group_by(_PRINTER).agg(
        pl.col("line").max().alias("_said"), pl.col("line").filter(is_closing).max().alias("_closed"),
        pl.col("step").filter(is_closing).last().alias("_of"),
    )  # fmt: skip
    both = last.join(said, on=_PRINTER, how="left", nulls_equal=True)
    counted = (both["_of"] - both["step"]).is_in([0, 1]) | both["_of"].is_null()  # counted from 1 or from 0
    if not both.height or not bool(((both["_said"] >= both["_last"]).fill_null(False) & counted).all()):
        return False
    closed = both.drop_nulls("_closed").group_by("file").agg(pl.col("_closed").max())
    ends = closed.join(tables["files"].select("file", "lines"), on="file", how="left")
    return bool((ends["_closed"] == ends["lines"]).fill_null(False).all()) and not _shows_trouble(tables)


def _shows_trouble(tables: Mapping[TableName, pl.DataFrame]) -> bool:
    operations = tables["operations"].select("state", "retired")
    unfinished = (pl.col("state") != "completed").fill_null(True) & ~pl.col("retired").fill_null(False)
    sampled = tables["stacks"].filter((pl.col("source") != "traceback").fill_null(True))
    grave = tables["events"].filter(pl.col("severity").is_in(_GRAVE))
    return bool(grave.height or sampled.height or operations.filter(unfinished).height)
