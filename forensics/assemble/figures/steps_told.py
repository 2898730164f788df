"""Which step a figure, a check or a count is of, where its own line does not tell it or tells something else.

Lines that tell of a step and no figure, counted at the rows of its loss: `it 16 update done`. They say whether a step told all that the others do, and nothing else.

The step of a figure that a store of metrics answers in another file than the gauge that counts the steps.

A query is of one metric, so `train_loss` and `train_step` come as two answers. What one rank showed at one moment is one scrape of it, and
belongs together. A scrape may fall between the two being set: a figure that is no number keeps its step only where the rank showed nothing
else in that step, more than once.

What a progress bar counts (batches of an epoch, items of any loop) is no step of the training where the same log, or another
of the same rank, tells its steps itself: the bar's line keeps its loss and loses its number. A log that has nothing but bars goes by their count.

The step of a check that tells none: that of the line of a step which follows it in its file, where the one before it is just a step older.

    step 30: loss 4.19⏎ [ERROR] op=matmul_grad, num_nan=1⏎ step 31: loss 3.69              it was in step 31

At the end of a file, or where a log tells one step of several, it may have been in any.
"""

import polars as pl

from forensics.model.told import has_kind
from parsers.schema.event_kinds import BAR
from parsers.schema.tables import TableName, Tables

_OF = ("file", "rank", "local_rank", "step")
_MOMENT = ("rank", "time_ns")


def with_parts(tables: Tables) -> dict[TableName, pl.DataFrame]:
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


def with_gauged_steps(tables: Tables) -> dict[TableName, pl.DataFrame]:
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
    filled = filled.with_columns(told).with_columns(step=pl.coalesce("step", pl.when(is_sure).then("_told")))
    return {**tables, "steps": filled.select(steps.columns)}


def without_bar_counts(tables: Tables) -> dict[TableName, pl.DataFrame]:
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


def with_placed_checks(tables: Tables) -> dict[TableName, pl.DataFrame]:
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
