"""Figures of which nobody knows the names, as the table `steps` keeps them in one column: `q3=0.51 zeta=nan`."""

import polars as pl


def figure_pairs(steps: pl.DataFrame, *columns: str) -> pl.DataFrame:
    """Rows of `steps` → these columns, name, value (null where it is no number): a row for each figure, in order."""
    told = steps.filter(pl.col("figures").is_not_null())
    pairs = told.select(*columns, pl.col("figures").str.split(" ").alias("_pair")).explode("_pair")
    apart = pl.col("_pair").str.splitn("=", 2)
    value = apart.struct.field("field_1").str.to_lowercase().cast(pl.Float64, strict=False)
    return pairs.select(*columns, apart.struct.field("field_0").alias("name"), value.alias("value"))
