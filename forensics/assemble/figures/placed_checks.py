"""The step of a check that tells none: that of the line of a step which follows it in its file, where the one before it is just a step older.

    step 30: loss 4.19⏎ [ERROR] op=matmul_grad, num_nan=1⏎ step 31: loss 3.69              it was in step 31

At the end of a file, or where a log tells one step of several, it may have been in any.
"""

from collections.abc import Mapping

import polars as pl

from forensics.model.told import has_kind
from parsers.schema.tables import TableName


def with_placed_checks(tables: Mapping[TableName, pl.DataFrame]) -> dict[TableName, pl.DataFrame]:
    """Evidence tables → the same, events nan_assert with a step where it is told so."""
    events, told = tables["events"], tables["steps"]
    if not has_kind(events, "nan_assert"):
        return dict(tables)
    bare = (pl.col("kind") == "nan_assert") & pl.col("step").is_null() & pl.col("line").is_not_null()
    asked = events.with_row_index("_row").filter(bare.fill_null(False)).select("_row", "file", "line")
    # A line that shows a bad loss of its own step is a mark of that step as well.
    marks = pl.concat([told.select("file", "line", "step"), events.select("file", "line", "step")]).drop_nulls()
    if not asked.height or not marks.height:
        return dict(tables)
    asked, marks = (one.with_columns(pl.col("file").cast(pl.String)).sort("line") for one in (asked, marks))
    marks = marks.with_columns(pl.col("line").alias("_at"))
    before = asked.join_asof(marks, on="line", by="file", strategy="backward", check_sortedness=False)
    after = asked.join_asof(marks, on="line", by="file", strategy="forward", check_sortedness=False)
    both = before.join(after.select("_row", pl.col("step").alias("_next")), on="_row")
    placed = both.filter((pl.col("_next") - pl.col("step")).is_in([0, 1])).select("_row", pl.col("_next"))
    joined = events.with_row_index("_row").join(placed, on="_row", how="left", maintain_order="left")
    return {**tables, "events": joined.with_columns(pl.coalesce("step", "_next").alias("step")).drop("_row", "_next")}
