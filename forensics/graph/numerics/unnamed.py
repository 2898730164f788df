"""Communications that their name does not tell, or whose group it does not: operations whose outputs are equal in every figure on several ranks
while their inputs differ. No rank computes that alone. Where digests of three ranks and more say so, in several calls, they are one group, as if it were stated.

Learnt from two clean steps and taken for granted in all others. An operation with parameters of its own computes, too,
and is none of these; a result that is the same in every call (a mask, a constant) proves nothing.
"""

import polars as pl

from forensics.graph.numerics.tensor_rules import EQUAL_OUTPUTS
from parsers.text.rank_list import rank_text

_CALL = ["step", "microbatch", "chunk", "phase", "module", "op", "nth"]
_SITE = ["phase", "module", "op"]
_FIGURES = ("tensor", "min", "max", "mean", "l2norm", "absmax", "checksum")
_STEPS = 2  # how many steps are looked at
_RICH = ("l2norm", "mean", "checksum")  # figures that tell one tensor from another; without any no operation counts
_PHASES = ("forward", "recompute", "backward")
_PROVING = 3  # ranks


def with_unnamed_calls(frame: pl.DataFrame) -> pl.DataFrame:
    """Rows of tensor_ops with `bad` → the same with `kind` and, where none is stated, `group_ranks` of such operations;
    `inferred` marks them."""
    frame = frame.with_columns(pl.lit(False).alias("inferred"))
    if all(frame[name].null_count() == frame.height for name in _RICH):
        return frame
    found = _groups(_sample(frame))
    if not found.height:
        return frame
    frame = frame.join(found, on=["rank", *_SITE], how="left", nulls_equal=True, maintain_order="left")
    known = pl.col("_members").is_not_null() & (pl.col("kind").is_null() | pl.col("_proven"))
    is_told = pl.col("group_ranks").is_not_null() | pl.col("_proven")
    return frame.with_columns(
        pl.when(known).then(pl.coalesce("kind", pl.lit("all_reduce"))).otherwise(pl.col("kind")).alias("kind"),
        pl.when(known).then(pl.coalesce("group_ranks", "_members")).otherwise(pl.col("group_ranks")).alias("group_ranks"),
        (known & ~is_told).alias("inferred"),
    ).drop("_members", "_proven")  # fmt: skip


def _sample(frame: pl.DataFrame) -> pl.DataFrame:
    """Clean operations without parameters of the first steps that several ranks show, one row each: the figures of
    what went in and of what came out."""
    is_local = pl.col("kind").is_null() & pl.col("phase").fill_null("forward").is_in(_PHASES)
    is_nobodys = pl.col("group").is_null() & pl.col("group_ranks").is_null()
    is_of_some = pl.col("kind").is_in(sorted(EQUAL_OUTPUTS)) & is_nobodys
    local = (is_local | is_of_some) & pl.col("module").is_not_null()
    shared = frame.lazy().group_by("step").agg(pl.col("rank").n_unique().alias("ranks")).filter(pl.col("ranks") > 1)
    steps = shared.sort("step").head(_STEPS).collect()["step"]
    rows = frame.filter(pl.col("step").is_in(steps.implode()) & local & pl.col("role").is_not_null())
    computing = frame.lazy().filter(pl.col("role") == "state").select("module").unique().collect()["module"]
    rows = rows.filter(~pl.col("module").is_in(computing.implode()))
    into, out = pl.col("role") == "in", pl.col("role") == "out"
    figures = pl.struct(_FIGURES)
    made = rows.group_by("operation", maintain_order=True).agg(
        pl.col("rank", "launch", *_CALL[:-1]).first(),
        figures.filter(into).alias("given"), figures.filter(out).alias("made"),
        pl.col("bad").fill_null(True).any().alias("unclear"),
        pl.any_horizontal(pl.col(name).is_not_null() for name in _RICH).all().alias("rich"),
        pl.col("checksum").is_not_null().all().alias("summed"),
    )  # fmt: skip
    telling = pl.col("rich") & ~pl.col("unclear")
    made = made.filter(telling & (pl.col("given").list.len() > 0) & (pl.col("made").list.len() > 0))
    return made.with_columns(pl.int_range(pl.len()).over("rank", *_CALL[:-1]).alias("nth"))


def _groups(sample: pl.DataFrame) -> pl.DataFrame:
    """rank, site → its members as text, for sites where all calls of all ranks have equals from unequal inputs."""
    if not sample.height:
        return sample.select("rank", *_SITE, pl.lit("").alias("_members"), pl.lit(False).alias("_proven"))
    alike = sample.group_by(*_CALL, "made").agg(
        pl.col("rank").sort().alias("ranks"), pl.col("given").n_unique().alias("inputs"), pl.col("summed").all()
    )  # fmt: skip
    joint = ((pl.col("ranks").list.len() > 1) & (pl.col("inputs") == pl.col("ranks").list.len())).all()
    sites = alike.group_by(_SITE).agg(
        joint.alias("joint"), pl.col("made").n_unique().alias("values"), pl.struct("step", "microbatch", "nth").n_unique().alias("calls"),
        pl.col("ranks").unique().alias("groups"), (pl.col("summed").all() & (pl.col("ranks").list.len().min() >= _PROVING)).alias("_proven"),
    )  # fmt: skip
    sites = sites.filter(pl.col("joint") & (pl.col("calls") > 1) & (pl.col("values") >= pl.col("calls")))
    split = sites.select(*_SITE, "groups", "_proven").explode("groups")
    split = split.with_columns(
        pl.col("groups").map_elements(lambda ranks: rank_text(ranks.to_list()), return_dtype=pl.String).alias("_members")
    ).explode("groups").rename({"groups": "rank"})  # fmt: skip
    alone = pl.len().over("rank", *_SITE) == 1  # a rank that is now with these, now with those, proves nothing
    return split.filter(alone).select("rank", *_SITE, "_members", "_proven")
