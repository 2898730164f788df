"""Who feeds whom in a pipeline, where stages call their parts alike and no message is recorded: by figures alone.

What began the forward pass of one rank was just as large, step after step, as what a part of one other rank gave out, and of no third one. Ranks
in one line hold other parts of the model, whatever these are called.
"""

from collections.abc import Mapping

import polars as pl

from parsers.text.unanimous import unanimous

_STEPS, _FEWEST = 8, 3  # that are compared at most; sizes that differ from each other, at least
_SIZE = pl.max_horizontal("absmax", pl.col("min").abs(), pl.col("max").abs())


def feeders(rows: pl.DataFrame, before: int) -> dict[int, int]:
    """Rows of statistics, and the first step with a bad value → rank → who feeds it."""
    is_forward = (pl.col("phase").fill_null("forward") == "forward") & pl.col("kind").is_null()
    told = rows.lazy().filter(pl.col("step").is_between(before - _STEPS, before - 1) & is_forward)
    told = told.with_columns(_SIZE.alias("size")).filter(pl.col("size").is_finite() & (pl.col("size") > 0))
    came = told.filter(pl.col("role") == "in").sort("place").group_by("rank", "step").agg(pl.col("size").first())
    gave = told.filter(pl.col("role") == "out").select("step", "size", "module", by="rank").unique()
    met = came.join(gave, on=["step", "size"]).filter(pl.col("by") != pl.col("rank"))
    often = met.group_by("rank", "by", "module").agg(pl.col("step").n_unique(), pl.col("size").n_unique())
    steps = came.group_by("rank").agg(pl.col("step").n_unique().alias("all"))
    sure = often.join(steps, on="rank").filter((pl.col("step") == pl.col("all")) & (pl.col("size") >= _FEWEST))
    return unanimous(sure.select("rank", "by").sort("rank", "by").collect().iter_rows())


def ahead_of(rank: int | None, fed: Mapping[int, int]) -> frozenset[int]:
    """Who feeds a rank, and those who feed them."""
    found: set[int] = set()
    while rank is not None and (rank := fed.get(rank)) is not None and rank not in found:
        found.add(rank)
    return frozenset(found)


def in_line(one: int | None, other: int | None, fed: Mapping[int, int]) -> bool:
    """Does one of two ranks feed the other, over whomever?"""
    return one in ahead_of(other, fed) or other in ahead_of(one, fed)
