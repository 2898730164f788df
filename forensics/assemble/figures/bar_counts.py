"""What a progress bar counts (batches of an epoch, items of any loop) is no step of the training where the same log, or another
of the same rank, tells its steps itself: the bar's line keeps its loss and loses its number. A log that has nothing but bars goes by their count.
"""

from collections.abc import Mapping

import polars as pl

from parsers.schema.tables import TableName
from parsers.training.progress import BAR


def without_bar_counts(tables: Mapping[TableName, pl.DataFrame]) -> dict[TableName, pl.DataFrame]:
    """Evidence tables → the same, `step` null where it is but the count of a bar."""
    steps = tables["steps"]
    counted = pl.col("framework").eq_missing(pl.lit(BAR))
    if not steps.height or not steps.select(counted.any()).item():
        return dict(tables)
    is_step = pl.col("step").is_not_null() & (pl.col("phase") == "train").fill_null(True)
    told = steps.filter(~counted & is_step)
    known = {of: told[of].drop_nulls().unique().implode() for of in ("file", "rank")}
    is_told = pl.any_horizontal(pl.col(of).is_in(own).fill_null(value=False) for of, own in known.items())
    step = pl.when(~(counted & is_told)).then("step").alias("step")
    return {**tables, "steps": steps.with_columns(step)}
