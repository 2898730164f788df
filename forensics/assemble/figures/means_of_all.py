"""Losses of all ranks that one prints beside its own, in lines of their own: which of its two is which, the numbers say.

    rank 0: [17] loss_local=0.0971        rank 1: [17] loss_local=0.1294        rank 2: [17] loss_local=0.1102
            [17] loss=0.1122

Where some ranks tell two losses of each step and all others one, and the one is in nearly every step the mean of what all ranks tell otherwise, it is of
all, whatever it is called and whichever stands first. Its rows get the phase `reduced`: none of them is any rank's own. Where the record of a rank is
lost, no mean can be told: then the larger of the two is, for who prints one that is as usual has no fault of its own.
"""

import polars as pl

from parsers.schema.tables import TableName, Tables
from parsers.training.reduced_losses import REDUCED

_STEPS = 4  # with finite losses of all ranks
_RANKS = 2
_ROUNDED, _MOSTLY = 2e-3, 0.9  # of a mean as it is printed; of the steps
_BOTH = 2


def with_means_of_all(tables: Tables) -> dict[TableName, pl.DataFrame]:
    """Tables of one attempt, ranks global → the same; such rows of phase `reduced`."""
    steps = tables["steps"]
    is_told = pl.col("rank").is_not_null() & pl.col("step").is_not_null() & pl.col("loss").is_not_null()
    train = pl.col("phase").fill_null("train") == "train"
    told = steps.with_row_index("_row").filter(is_told & train & pl.col("microbatch").is_null())
    if not told.select("rank", "step").is_duplicated().any() or told["rank"].n_unique() < _RANKS:
        return dict(tables)
    told = told.sort("file", "line", "_row").with_columns(
        pl.int_range(pl.len()).over("rank", "step").alias("_place"), pl.len().over("rank", "step").alias("_count")
    )
    shown = [place for place in range(_BOTH) if _is_mean(told, place)]
    if len(shown) == 1:
        found = told.filter((pl.col("_count") == _BOTH) & (pl.col("_place") == shown[0]))["_row"]
    elif _is_of_some(told):
        in_order = pl.col("loss").abs().fill_nan(float("inf")).rank("ordinal").over("rank", "step")
        found = told.filter((pl.col("_count") == _BOTH) & (in_order == _BOTH))["_row"]
    else:
        return dict(tables)
    is_mean = pl.int_range(pl.len()).is_in(found.implode())
    phase = pl.when(is_mean).then(pl.lit(REDUCED)).otherwise("phase").alias("phase")
    return {**tables, "steps": steps.with_columns(phase)}


def _is_of_some(told: pl.DataFrame) -> bool:
    """Do some ranks tell two of every step and all others one?"""
    counts = told.group_by("rank").agg(pl.col("_count").unique(), pl.col("step").n_unique().alias("steps"))
    is_steady = bool((counts["_count"].list.len() == 1).all()) and bool((counts["steps"] >= _STEPS).all())
    return is_steady and {*counts["_count"].list.first()} == {1, _BOTH}


def _is_mean(told: pl.DataFrame, place: int) -> bool:
    """Is the loss at that place, of those who tell two, the mean of the others of theirs and of those of all other ranks?"""
    is_of_all = (pl.col("_count") == _BOTH) & (pl.col("_place") == place)
    ranks = told["rank"].n_unique()
    own, loss = pl.col("loss").filter(~is_of_all), pl.col("loss").filter(is_of_all)
    steps = told.group_by("step").agg(
        own.mean().alias("mean"),
        loss.first().alias("told"),
        (pl.col("rank").filter(~is_of_all).n_unique() == ranks).alias("is_whole"),
        (pl.col("_count").max() == _BOTH).alias("is_both"),
        (own.n_unique() > 1).alias("differs"),
    )
    steps = steps.filter("is_whole", "is_both", pl.col("mean").is_finite(), pl.col("told").is_finite())
    is_it = pl.col("differs") & ((pl.col("mean") - pl.col("told")).abs() <= _ROUNDED * pl.col("told").abs())
    return steps.height >= _STEPS and float(steps.select(is_it.mean()).item()) >= _MOSTLY
