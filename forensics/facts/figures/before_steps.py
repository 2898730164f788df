"""What a rank tells without a step, behind one of its steps and ahead of a later one or of none: it is of the middle of a run, or its end, and of nothing that was loaded. Where the next
step is an earlier one, the run began anew between these."""

import polars as pl


def without_later(values: pl.DataFrame, steps: pl.DataFrame) -> pl.DataFrame:
    """Rows of `values`, and those of `steps` → the former without such rows."""
    bare = pl.col("step").is_null() & pl.col("rank").is_not_null() & pl.col("line").is_not_null()
    if not values.select((bare & pl.col("bad").is_not_null()).any()).item():
        return values
    columns = (pl.col("file").cast(pl.String), "rank", "line", "step")
    told = pl.concat([one.select(columns) for one in (values, steps)]).drop_nulls().sort("line")
    asked = values.with_row_index("_row").with_columns(pl.col("file").cast(pl.String)).sort("line")
    asked = asked.select("_row", "file", "rank", "line")
    by = ["file", "rank"]
    before = asked.join_asof(
        told.rename({"step": "_last"}), on="line", by=by, strategy="backward", check_sortedness=False
    )
    both = before.join_asof(
        told.rename({"step": "_next"}), on="line", by=by, strategy="forward", check_sortedness=False
    )
    is_later = pl.col("_last").is_not_null() & (pl.col("_next") >= pl.col("_last")).fill_null(value=True)
    later = both.filter(is_later)["_row"]
    return values.with_row_index("_row").filter(~(bare & pl.col("_row").is_in(later.implode()))).drop("_row")
