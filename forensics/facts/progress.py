"""How far the job came: whether it had begun, and the step that was in progress."""

from collections.abc import Mapping

import polars as pl

from parsers.schema.tables import TableName

_AT_START = r"(?i)\b(?:start(?:up|ing)?|init\w*|launch|bring[- ]?up|rendezvous)[ _-]barrier\b|\bbarrier (?:of|at) (?:the )?(?:start|init|launch)"
_BEFORE = 4  # steps that show how many lines each has
_COUNTS = 3  # steps of which a rank prints figures in words that nobody knows


def newest(numbers: pl.Series) -> int | None:
    """The largest of integers, null where there is none."""
    value = numbers.max()
    return value if isinstance(value, int) else None


def step_in_progress(steps: pl.DataFrame, rank: int | None = None) -> int | None:
    """Last completed step + 1: the rank's own where it printed steps, else what most ranks say. A step of which the rank has printed fewer
    lines than of each before (the loss, and no norm yet) is the one in progress."""
    steps = steps.filter((pl.col("phase") == "train").fill_null(True) & pl.col("step").is_not_null())
    own = steps.filter(pl.col("rank") == rank) if rank is not None else steps.clear()
    if own.height:
        return (newest(own["step"]) or 0) + 1 - _is_begun(own)
    if not steps.height:
        return None
    last = steps.group_by("rank").agg(pl.col("step").max())
    step = int(last.group_by("step").len().sort(["len", "step"], descending=True)["step"][0])
    there = last.filter(pl.col("step") == step)["rank"].to_list()
    return step + 1 - _is_begun(steps.filter(pl.col("rank").is_in(there, nulls_equal=True)))


def _is_begun(own: pl.DataFrame) -> bool:
    """Is the last step one that each of these ranks has told less of than of the steps before?"""
    counts = own.group_by("file", "rank", "step").len().sort("step")
    by_rank = counts.group_by("file", "rank").agg(
        pl.col("len").last().alias("last"), pl.col("len").slice(0, pl.len() - 1).tail(_BEFORE).alias("before")
    )
    told = by_rank.filter(pl.col("before").list.len() >= _BEFORE)
    return bool(told.height and (told["last"] < told["before"].list.min()).all())


def has_begun(tables: Mapping[TableName, pl.DataFrame], events: pl.DataFrame) -> bool:
    """Had the run come past its start: steps, figures of several ranks beside a count of them, recorded operations, or a communication that timed out? One whose line counts who
    joined, or that calls it so, is the barrier of a start."""
    if tables["steps"].height or tables["operations"].height or tables["tensors"].height:
        return True
    counting = tables["values"].drop_nulls(["rank", "step"]).group_by("rank").agg(pl.col("step").n_unique())
    if counting.filter(pl.col("step") >= _COUNTS).height > 1:
        return True
    at_start = (pl.col("op") == "barrier") & pl.col("text").cast(pl.String).str.contains(_AT_START)
    told = events.filter(pl.col("kind").is_in(["collective_timeout", "desync", "checkpoint_save"]))
    told = told.filter(~at_start.fill_null(False))
    if not told.height:
        return False
    joining = events.filter(pl.col("kind") == "missing_members").select("file", "line").drop_nulls()
    return told.join(joining, on=["file", "line"], how="anti").height > 0
