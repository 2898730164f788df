"""Scales of scaled formats (FP8) that are infinite or no number, in order: by step, rank, and place in its program."""

import polars as pl


def bad_scales(tensors: pl.DataFrame) -> pl.DataFrame:
    """Rows of tensors that report a scale which is no finite number."""
    told = tensors.filter(pl.col("scale").is_not_null() & pl.col("rank").is_not_null())
    return told.filter(~pl.col("scale").is_finite()).sort("step", "rank", "seq", "file", "line", nulls_last=True)
