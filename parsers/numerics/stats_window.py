"""Of a large file of tensor statistics only what an analysis needs, read in two passes that hold little in memory.

Not a parser: tensor_stats.py uses it for Parquet beyond a number of rows. Kept are, per rank,
- all rows of each step in which bad values begin (the step before held none), and of the steps before and after it;
  of very many such steps the first ones and the last ones;
- all rows of a rank's last step, where none of its rows is bad;
- in every step the first and the last row, all bad rows' first, and all rows of communications and of the phases
  grad_sync and optimizer, so that calls, replicas and clean parameters can be followed through the run;
- rows whose scaled format clipped or lost values.
Nothing else is decided here. `record` stays the number of the row in the file, so order and places are the file's.
"""

import polars as pl

ROWS = 200_000  # smaller files are read whole
ONSETS = 8  # of each rank, from the begin and from the end
_ALWAYS = ("comm", "grad_sync", "optimizer")
_SHARES = (("overflow_pct", 0.1), ("underflow_pct", 5.0))


def is_bad(schema: pl.Schema) -> pl.Expr:
    """NaN or Inf by the counts where there are any, else by min, max and absmax; masks count, too."""
    parts = [pl.col(name).fill_null(0) > 0 for name in ("nan_count", "inf_count") if name in schema]
    parts += [~pl.col(name).is_finite().fill_null(True) for name in ("min", "max", "absmax") if name in schema]
    return pl.any_horizontal(parts) if parts else pl.lit(False)


def can_reduce(schema: pl.Schema) -> bool:
    """Rank, step and figures are numbers."""
    named = [schema.get(name) for name in ("rank", "step")]
    figures = [schema[name] for name in ("nan_count", "inf_count", "min", "max", "absmax") if name in schema]
    return all(kind is not None and kind.is_integer() for kind in named) and all(kind.is_numeric() for kind in figures)


def reduced(lazy: pl.LazyFrame, schema: pl.Schema) -> pl.DataFrame:
    """The kept rows, with `record`. `lazy`: one file, in its order."""
    numbered = lazy.with_row_index("record").with_columns(pl.col("record").cast(pl.Int64))
    steps = _steps(numbered, schema)
    window = _window(steps).lazy()
    edges = pl.concat([steps["first"], steps["last"], steps["bad_first"].drop_nulls()]).unique()
    special = [pl.col("record").is_in(edges.implode())]
    if "phase" in schema:
        special.append(pl.col("phase").is_in(_ALWAYS))
    special += [pl.col(name) >= least for name, least in _SHARES if name in schema and schema[name].is_numeric()]
    whole = numbered.join(window, on=["rank", "step"], how="left", maintain_order="left")
    kept = whole.filter(pl.col("inside").fill_null(False) | pl.any_horizontal(special).fill_null(False))
    return kept.drop("inside").collect(engine="streaming").sort("record")


def _steps(numbered: pl.LazyFrame, schema: pl.Schema) -> pl.DataFrame:
    """One row per rank and step: whether it holds anything bad, and the numbers of its first, last and first bad row."""
    bad = is_bad(schema)
    return (
        numbered.select("rank", "step", "record", bad.alias("bad"))
        .group_by("rank", "step")
        .agg(
            pl.col("bad").any(),
            pl.col("record").min().alias("first"), pl.col("record").max().alias("last"),
            pl.when("bad").then("record").min().alias("bad_first"),
        )
        .sort("rank", "first")
        .collect(engine="streaming")
    )  # fmt: skip


def _window(steps: pl.DataFrame) -> pl.DataFrame:
    """(rank, step) of which all rows are kept."""
    by = "rank"
    before = pl.col("bad").shift(1).over(by).fill_null(False)
    steps = steps.with_columns((pl.col("bad") & ~before).alias("onset"))
    nth = pl.col("onset").cum_sum().over(by)
    told = pl.col("onset") & ((nth <= ONSETS) | (nth > pl.col("onset").sum().over(by) - ONSETS))
    steps = steps.with_columns(told.alias("onset"))
    near = pl.any_horizontal(pl.col("onset").shift(shift).over(by).fill_null(False) for shift in (-1, 0, 1))
    is_last = pl.col("first") == pl.col("first").max().over(by)
    quiet = is_last & ~pl.col("bad").any().over(by)
    return steps.filter(near | quiet).select("rank", "step").unique().with_columns(pl.lit(True).alias("inside"))


def first_bad(lazy: pl.LazyFrame, schema: pl.Schema) -> pl.LazyFrame:
    """Per rank its first bad row in step order: columns rank, step, place (of the row in its file)."""
    packed = pl.col("step").cast(pl.Int64) * (1 << 40) + pl.col("record").cast(pl.Int64)
    found = lazy.with_row_index("record").filter(is_bad(schema)).group_by("rank").agg(packed.min().alias("key"))
    return found.select("rank", (pl.col("key") // (1 << 40)).alias("step"), (pl.col("key") % (1 << 40)).alias("place"))
