"""What one process told in two files, as a launcher's console beside the log of each: its figures once, in the order of the file that holds most of them."""

import polars as pl

_SAME = ("rank", "step", "microbatch", "of", "fine", "bad")


def told_once(values: pl.DataFrame) -> pl.DataFrame:
    """Rows of `values` → the same without those that a rank tells in another of its files as well."""
    files = values.filter(pl.col("rank").is_not_null() & pl.col("step").is_not_null()).group_by("rank", "file").len()
    several = files.filter(pl.len().over("rank") > 1)
    if not several.height or not values["bad"].is_not_null().any():
        return values
    most = several.sort("len", "file", descending=[True, False]).unique("rank", keep="first", maintain_order=True)
    nth = pl.int_range(pl.len()).over("file", *_SAME)
    told = values.with_columns(nth.alias("_nth")).join(
        most.select("rank", pl.col("file").alias("_most")), on="rank", how="left", maintain_order="left"
    )
    is_first = pl.col("file") == pl.col("_most")
    again = told.filter(~is_first.fill_null(True)).join(
        told.filter(is_first), on=[*_SAME, "_nth"], how="semi", nulls_equal=True
    )
    places = again.select("file", "line", "rank", "of").unique()
    return told.drop("_nth", "_most").join(
        places, on=["file", "line", "rank", "of"], how="anti", nulls_equal=True, maintain_order="left"
    )
