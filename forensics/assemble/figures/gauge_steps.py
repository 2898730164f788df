"""The step of a figure that a store of metrics answers in another file than the gauge that counts the steps.

A query is of one metric, so `train_loss` and `train_step` come as two answers. What one rank showed at one moment is one scrape of it, and
belongs together. A scrape may fall between the two being set: a figure that is no number keeps its step only where the rank showed nothing
else in that step, more than once.
"""

from collections.abc import Mapping

import polars as pl

from parsers.schema.tables import TableName

_MOMENT = ("rank", "time_ns")


def with_gauged_steps(tables: Mapping[TableName, pl.DataFrame]) -> dict[TableName, pl.DataFrame]:
    """Evidence tables → the same, `step` filled where another series of the rank tells it of that moment."""
    steps = tables["steps"]
    known = pl.all_horizontal(pl.col(name).is_not_null() for name in _MOMENT)
    is_figure = pl.col("loss").is_not_null() | pl.col("grad_norm").is_not_null()
    is_open = known & pl.col("step").is_null() & is_figure & (pl.col("phase") == "train")
    is_count = known & pl.col("step").is_not_null() & (pl.col("phase") == "figures") & pl.col("figures").is_null()
    if not steps.height or not steps.select(is_open.any() & is_count.any()).item():
        return dict(tables)
    counts = steps.filter(is_count).group_by(_MOMENT).agg(pl.col("step").unique().alias("_steps"))
    counts = counts.filter(pl.col("_steps").list.len() == 1).with_columns(pl.col("_steps").list.first())
    filled = steps.join(counts, on=_MOMENT, how="left", maintain_order="left")
    told = pl.when(is_open).then("_steps").alias("_told")
    is_bad = ~(pl.col("loss").is_finite().fill_null(True) & pl.col("grad_norm").is_finite().fill_null(True))
    own = ("file", "rank", "_told")
    is_sure = ~is_bad | (is_bad.all().over(own) & (pl.len().over(own) > 1))
    filled = filled.with_columns(told).with_columns(
        pl.coalesce("step", pl.when(is_sure & pl.col("_told").is_not_null()).then("_told")).alias("step")
    )
    return {**tables, "steps": filled.select(steps.columns)}
