"""NaN that the next operation removes: a row that is masked wholly makes one in softmax, and what reads it writes zeros over it.

Judged by where it goes, as masks are. A NaN goes into the next operation of its rank and step that has a NaN input: one whose
outputs are all clean has removed it, one that gives NaN did not. Where none follows, or none shows its outputs, the
forward pass must go on after the last NaN of the step. That alone proves no harm, because a NaN that is removed on the way forward may come back in a
gradient that no row shows. So the same tensor must have been removed in a step after which the rank went on, with another step in
which no NaN was left over, and in its first step already where no row shows what removed it; or in the first step of all ranks that
have the operation.
"""

import polars as pl

from forensics.graph.numerics.masks import excused
from forensics.graph.numerics.tensor_rules import SELECTORS

_WAY = ["rank", "launch", "step"]
_SITE = ["module", "op", "tensor"]
_FORWARD = ~pl.col("phase").is_in(["backward", "grad_sync", "optimizer"]).fill_null(False)


def without_removed(frame: pl.DataFrame) -> pl.DataFrame:
    """Rows with `bad` → the same with `bad` false where a NaN was removed and did no harm."""
    telling = pl.col("role").is_not_null()
    nan = pl.col("bad").fill_null(False) & pl.col("nan").fill_null(False) & telling
    rows = frame.filter(nan & _FORWARD & pl.col("kind").is_null()).select(*_WAY, *_SITE, "operation", "place", "role")
    if not rows.height:
        return frame
    near = frame.join(rows.select(_WAY).unique(), on=_WAY, how="semi").filter(telling)
    rows = _with_fate(rows, near, nan)
    harmless = _harmless(rows, frame, near, nan)
    wanted = rows.join(harmless, on=["rank", *_SITE], how="semi", nulls_equal=True)
    wanted = wanted.filter(pl.col("removed").fill_null(True))
    return excused(frame, wanted) if wanted.height else frame


def _with_fate(rows: pl.DataFrame, near: pl.DataFrame, nan: pl.Expr) -> pl.DataFrame:
    """Adds `removed`; null where nothing follows in the step. `near`: all telling rows of these steps."""
    out, fed = pl.col("role") == "out", (nan & (pl.col("role") == "in")).any()
    ops = near.group_by("operation", maintain_order=True).agg(
        pl.col(*_WAY, "plain", "kind").first(), pl.col("place").min().alias("start"), fed.alias("fed"),
        (out & (pl.col("bad") == False)).any().alias("clean"),  # noqa: E712
        (out & pl.col("bad").is_null()).any().alias("dark"),
        (out & nan).any().alias("again"),
    ).filter("fed")  # fmt: skip
    whole = ~pl.col("plain").is_in(list(SELECTORS)).fill_null(False)
    removes = (
        pl.when(pl.col("again") | pl.col("kind").is_not_null()).then(False)
        .when(pl.col("clean") & ~pl.col("dark") & whole).then(True)
    )  # fmt: skip
    told = ops.select(*_WAY, pl.col("start").alias("at"), removes.alias("removes")).drop_nulls("removes").sort("at")
    starts = ops.select("operation", "start")
    rows = rows.join(starts, on="operation", how="left", maintain_order="left")
    begin = pl.when(pl.col("role") == "in").then("start").otherwise(pl.col("place") + 1).alias("at")
    rows = rows.with_columns(begin).sort("at").join_asof(
        told, on="at", by=_WAY, strategy="forward", check_sortedness=False
    )  # fmt: skip
    after = near.group_by(_WAY).agg(
        pl.col("place").filter(nan).max().alias("last_nan"), pl.col("place").max().alias("last"),
        pl.col("place").filter(_FORWARD & pl.col("kind").is_null()).max().alias("last_forward"),
    )  # fmt: skip
    rows = rows.join(after, on=_WAY, how="left")
    is_quiet = pl.col("last_forward") > pl.col("last_nan")
    quiet = pl.when(is_quiet).then(True).when(pl.col("last") > pl.col("last_nan")).then(False)
    return rows.with_columns(pl.coalesce("removes", quiet).alias("removed"))


def _harmless(rows: pl.DataFrame, frame: pl.DataFrame, near: pl.DataFrame, nan: pl.Expr) -> pl.DataFrame:
    """(rank, site) of what was removed without harm."""
    left = near.filter(nan).join(rows.filter("removed").select("place"), on="place", how="anti")
    steps = frame.select(_WAY).unique()
    sound = steps.join(left.select(_WAY).unique(), on=_WAY, how="anti")
    ends = sound.group_by("rank", "launch").agg(pl.col("step").max().alias("goes_on"))
    begun = steps.group_by("rank", "launch").agg(pl.col("step").min().alias("begun"))
    good = rows.filter("removed").join(sound, on=_WAY, how="semi")
    good = good.join(ends, on=["rank", "launch"]).join(begun, on=["rank", "launch"])
    first = good.filter(pl.col("step") == pl.col("begun")).select("rank", *_SITE).unique()
    went_on = good.filter(pl.col("step") < pl.col("goes_on"))
    proven = [
        went_on.filter(pl.col("removes")).select("rank", *_SITE),
        went_on.select("rank", *_SITE).join(first, on=["rank", *_SITE], how="semi", nulls_equal=True),
    ]
    ran = frame.join(first.select("module", "op").unique(), on=["module", "op"], how="semi", nulls_equal=True)
    many = ran.group_by("module", "op").agg(pl.col("rank").n_unique().alias("ranks"))
    alike = first.join(many, on=["module", "op"], nulls_equal=True)
    alike = alike.filter((pl.len().over(_SITE) == pl.col("ranks")) & (pl.col("ranks") > 1))
    return pl.concat([*proven, alike.select("rank", *_SITE)]).unique()
