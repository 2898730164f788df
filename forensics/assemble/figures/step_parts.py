"""Lines that tell of a step and no figure, counted at the rows of its loss: `it 16 update done`. They say whether a step told all that the others do, and nothing else."""

from collections.abc import Mapping

import polars as pl

from parsers.schema.tables import TableName

_OF = ("file", "rank", "local_rank", "step")


def with_parts(tables: Mapping[TableName, pl.DataFrame]) -> dict[TableName, pl.DataFrame]:
    """Evidence tables → the same without rows of phase `part`, which are counted in the column `parts`."""
    steps = tables["steps"]
    is_part = pl.col("phase") == "part"
    parts = steps.filter(is_part)
    if not parts.height:
        return dict(tables)
    counted = parts.group_by(_OF).agg(pl.len().cast(pl.Int64).alias("_parts"))
    rest = steps.filter(is_part.ne_missing(pl.lit(value=True)))
    joined = rest.join(counted, on=_OF, how="left", nulls_equal=True, maintain_order="left")
    is_loss = pl.col("loss").is_not_null()
    made = joined.with_columns(pl.when(is_loss).then("_parts").alias("parts"))
    return {**tables, "steps": made.select(steps.columns)}
