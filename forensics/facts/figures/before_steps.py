"""What a rank tells without a step, behind one of its steps and ahead of a later one or of none: it is of the middle of a run, or its end. Where all ranks tell the same behind the
same step, it is of that step, or, where it says that this was loaded and a step follows, of a beginning; else it is of nothing that others tell. What each tells just once stands
alike in files that tell no step. Where the next step is an earlier one, the run began anew between these."""

from collections.abc import Set

import polars as pl

_LOADED = r"(?i)(?:^|[^a-z])(?:(?:re)?load(?:ed|ing)|restor(?:ed|ing)|resum(?:ed|ing))(?:[^a-z]|$)"


def placed(values: pl.DataFrame, steps: pl.DataFrame, job: Set[int]) -> pl.DataFrame:
    """Rows of `values`, those of `steps`, and the ranks of the job → the former, such rows with their step, or without them."""
    bare = pl.col("step").is_null() & pl.col("rank").is_not_null() & pl.col("line").is_not_null()
    if not values.select((bare & pl.col("bad").is_not_null()).any()).item():
        return values
    columns = (pl.col("file").cast(pl.String), "rank", "line", "step")
    told = pl.concat([one.select(columns) for one in (values, steps)]).drop_nulls().sort("line")
    if len(job) > 1 and told["rank"].n_unique() == 1 and set(values.filter(bare)["rank"]) == set(job):
        return values  # who alone tells steps tells those of all
    asked = values.with_row_index("_row").filter(bare).with_columns(pl.col("file", "of").cast(pl.String))
    asked = asked.sort("line").select("_row", "file", "rank", "line", "of")
    by = ["file", "rank"]
    before, after = told.rename({"step": "_last"}), told.rename({"step": "_next"})
    both = asked.join_asof(before, on="line", by=by, strategy="backward", check_sortedness=False)
    both = both.join_asof(after, on="line", by=by, strategy="forward", check_sortedness=False)
    is_once = (pl.len() == pl.col("rank").n_unique()).over("of") & (pl.col("rank").n_unique() == len(job)).over("of")
    is_placeless = pl.col("_last").is_null() & pl.col("_next").is_null()
    alike = [
        pl.when(is_once & is_placeless).then(pl.col(at).max().over("of")).otherwise(at).alias(at)
        for at in ("_last", "_next")
    ]
    both = both.with_columns(alike)
    is_later = pl.col("_last").is_not_null() & (pl.col("_next") >= pl.col("_last")).fill_null(value=True)
    later = both.filter(is_later & pl.col("rank").is_in(sorted(job)))
    of_all = later.filter((pl.col("rank").n_unique() == len(job)).over("of", "_last"))
    is_loaded = pl.col("of").str.contains(_LOADED).fill_null(value=False)
    known = of_all.select("_row", pl.when(~is_loaded | pl.col("_next").is_null()).then("_last").alias("_at"))
    lost = both.filter(is_later)["_row"].implode()
    rows = values.with_row_index("_row").join(known, on="_row", how="left", maintain_order="left")
    rows = rows.filter(~pl.col("_row").is_in(lost) | pl.col("_row").is_in(known["_row"].implode()))
    return rows.with_columns(pl.coalesce("step", "_at").alias("step")).drop("_row", "_at")
