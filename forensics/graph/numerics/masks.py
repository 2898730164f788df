"""-Inf that is wanted: a mask on its way into softmax, attention or a maximum. Judged by where it goes, not by who made it.

No row says which operation reads a tensor, so an -Inf is taken to go into the next operation of its rank and step that
has an -Inf input: one whose outputs are all clean has absorbed it, one that gives -Inf again hands it on, one that
makes NaN or +Inf of it broke it, and what a call took to another rank was not absorbed here. What was absorbed is no
birth. What broke is none either where it is a mask all the same: the same tensor was absorbed in another step or on
another rank, its operator builds masks by name, or it holds 0 and -Inf alone and came from no tensor. Then the operation
that broke it is the birth (a row that is masked wholly).
"""

import polars as pl

from forensics.graph.numerics.tensor_rules import MASK_BUILDERS, MASK_CONSUMERS, MAXIMA, SELECTORS

_WAY = ["rank", "launch", "step"]
_SITE = ["module", "op", "tensor"]
_NOT_HERE = ("backward", "grad_sync", "optimizer")  # a gradient is never masked with -Inf


def without_masks(frame: pl.DataFrame) -> pl.DataFrame:
    """Rows with `bad` → the same with `bad` false where an Inf is a mask's."""
    low = (pl.col("min") == float("-inf")).fill_null(False)
    up = (pl.col("max") == float("inf")).fill_null(False)
    passing = ~pl.col("phase").is_in(_NOT_HERE).fill_null(False)
    masky = pl.col("bad").fill_null(False) & ~pl.col("nan").fill_null(False) & ~up & passing
    rows = frame.filter(masky & pl.col("role").is_not_null()).select(
        *_WAY, *_SITE, "operation", "place", "role", "plain", low.alias("low"),
        (pl.col("max").is_in([0.0, float("-inf")]) & low).fill_null(False).alias("only"),
    )  # fmt: skip
    if not rows.height:
        return frame
    near = frame.join(rows.select(_WAY).unique(), on=_WAY, how="semi", nulls_equal=True)
    ops = _readers(near.with_columns((masky & pl.col("role").is_not_null()).alias("masky")))
    wanted = _wanted(_with_fate(rows, ops, near.filter(~pl.col("place").is_in(rows["place"].implode()))))
    return excused(frame, wanted)


def excused(frame: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """The same, with `bad` false in these rows."""
    is_one = pl.col("place").is_in(rows["place"].implode())
    return frame.with_columns(pl.when(is_one).then(False).otherwise("bad").alias("bad"))


def _readers(near: pl.DataFrame) -> pl.DataFrame:
    """Operations with an Inf input, in program order: `absorbs` (null = it hands the Inf on), `named` (a softmax, an
    attention, a maximum), `start` (its first place), `given` (it has input rows that hold no Inf)."""
    fed = near.filter(pl.col("masky") & (pl.col("role") == "in"))["operation"].unique()
    out, into = pl.col("role") == "out", pl.col("role") == "in"
    unsigned = (pl.col("masky") & into & (pl.col("min") != float("-inf")).fill_null(True)).any()
    ops = near.filter(pl.col("operation").is_in(fed.implode())).group_by("operation", maintain_order=True).agg(
        pl.col(*_WAY, "plain", "kind").first(), pl.col("place").min().alias("start"), unsigned.alias("unsigned"),
        (out & pl.col("masky")).any().alias("again"),
        (out & pl.col("bad").fill_null(False) & ~pl.col("masky")).any().alias("broke"),
        (out & (pl.col("bad") == False)).any().alias("clean"),  # noqa: E712
        (out & pl.col("bad").is_null()).any().alias("dark"),
    )  # fmt: skip
    named = pl.col("plain").is_in([*MASK_CONSUMERS, *MAXIMA]).fill_null(False)
    ops = ops.with_columns(named.alias("named"))
    takes = pl.when("unsigned").then("named").otherwise(~pl.col("plain").is_in(list(SELECTORS)).fill_null(False))
    absorbs = (
        pl.when(pl.col("broke") | (pl.col("kind").is_not_null() & ~pl.col("again"))).then(False)
        .when("again").then(None)
        .when(pl.col("clean") & ~pl.col("dark") & takes).then(True)
        .when(~pl.col("clean") & pl.col("plain").is_in(list(MASK_CONSUMERS))).then(~pl.col("unsigned"))
    )  # fmt: skip
    return ops.with_columns(absorbs.alias("absorbs")).sort("start")


def _with_fate(rows: pl.DataFrame, ops: pl.DataFrame, others: pl.DataFrame) -> pl.DataFrame:
    """Adds `absorbed` (by the first operation on its way that does not hand it on; where there is none, by whether
    all that follows in the step is clean), `by_name` (that operation is a softmax, …) and `source` (no clean input)."""
    telling = ops.filter(pl.col("absorbs").is_not_null()).select(*_WAY, pl.col("start").alias("at"), "absorbs", "named")
    own = ops.select("operation", "start")
    rows = rows.join(own, on="operation", how="left", maintain_order="left")
    begin = pl.when(pl.col("role") == "in").then("start").otherwise(pl.col("place") + 1).alias("at")
    rows = rows.with_columns(begin).sort("at").join_asof(
        telling.sort("at"), on="at", by=_WAY, strategy="forward", check_sortedness=False
    )  # fmt: skip
    known = others.filter(pl.col("role").is_not_null()).group_by(_WAY).agg(
        pl.col("place").filter(pl.col("bad") == True).max().alias("last_bad"),  # noqa: E712
        pl.col("place").filter(pl.col("bad") == False).max().alias("last_ok"),  # noqa: E712
    )  # fmt: skip
    rows = rows.join(known, on=_WAY, how="left", nulls_equal=True)
    quiet = (pl.col("last_ok") > pl.col("place")) & (pl.col("last_bad").fill_null(-1) < pl.col("place"))
    given = others.filter(pl.col("role") == "in")["operation"].unique()
    return rows.with_columns(
        pl.coalesce("absorbs", quiet & pl.col("low"), pl.lit(False)).alias("absorbed"),
        pl.col("named").fill_null(False).alias("by_name"),
        (~pl.col("operation").is_in(given.implode())).alias("source"),
    )


def _wanted(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows of masks: absorbed here or elsewhere, known by name or by what they hold, or handed on from one that is."""
    out = pl.col("role") == "out"
    known = rows.filter("absorbed").select(_SITE).unique().with_columns(pl.lit(True).alias("elsewhere"))
    rows = rows.join(known, on=_SITE, how="left", nulls_equal=True)
    builder = out & pl.col("plain").is_in(list(MASK_BUILDERS))
    alone = pl.col("only") & (~out | pl.col("source") | pl.col("by_name"))
    enters = ~out & pl.col("low") & pl.col("plain").is_in(list(MASK_CONSUMERS))
    is_known = pl.col("absorbed") | pl.col("elsewhere").fill_null(False)
    rows = rows.with_columns((is_known | builder | alone | enters).alias("wanted"))
    handed = (pl.col("wanted") & ~out).any().over("operation")
    return rows.filter(pl.col("wanted") | (out & pl.col("low") & handed))
