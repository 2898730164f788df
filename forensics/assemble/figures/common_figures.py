"""Figures of which nothing is known, that all ranks tell alike in one step after the other: what replicas hold in common, or have reduced.

Each value is another one, so they are no settings; as many in a row are not alike by chance, however few digits are printed. Where such a figure is told
otherwise by some from a step on, it is kept as a digest is, and forensics/facts/figures/left_replicas.py says who left the others.
"""

import polars as pl

from forensics.assemble.figures.figure_pairs import figure_pairs
from parsers.schema.tables import TableName, Tables

_STEPS = 8  # in a row, from the first on, in which all tell the same, and another value in each
_APART = 3  # steps from the first in which some tell another value on, all of them
_RANKS = 2


def with_common(tables: Tables) -> dict[TableName, pl.DataFrame]:
    """Evidence tables → the same; rows of `steps` that tell such a figure of which some part have it in `checksum`, too."""
    steps = tables["steps"].with_row_index("_row")
    told = steps.filter(pl.col("figures").is_not_null() & pl.col("rank").is_not_null() & pl.col("step").is_not_null())
    if not told.height or told["rank"].n_unique() < _RANKS:
        return dict(tables)
    pairs = figure_pairs(told, "_row", "rank", "step").filter(pl.col("value").is_finite())
    names = _parted(pairs)
    if not names:
        return dict(tables)
    kept = pairs.filter(pl.col("name").is_in(names)).sort("_row", "name")
    said = kept.group_by("_row", maintain_order=True).agg(
        pl.concat_str("name", pl.lit("="), "value").str.join(" ").alias("_said")
    )
    joined = steps.join(said, on="_row", how="left", maintain_order="left")
    is_said = pl.col("_said").is_not_null()
    filled = joined.with_columns(
        pl.concat_str("checksum", "_said", separator=" ", ignore_nulls=True).replace("", None).alias("checksum"),
        pl.when(is_said & (pl.col("phase") == "figures")).then(pl.lit("train")).otherwise("phase").alias("phase"),
    )
    return {**tables, "steps": filled.select(tables["steps"].columns).cast(tables["steps"].schema)}


def _parted(pairs: pl.DataFrame) -> list[str]:
    """The names of figures that were told alike by all for long enough, and then were not."""
    once = pairs.unique(["name", "step", "rank"], keep="first", maintain_order=True)
    ranks = pl.col("rank").n_unique().over("name")
    each = once.with_columns(ranks.alias("_all")).group_by("name", "step").agg(
        pl.col("rank").n_unique().alias("_told"), pl.col("value").n_unique().alias("_values"),
        pl.col("value").first().alias("_one"), pl.col("_all").first(),
    ).sort("name", "step")  # fmt: skip
    is_apart = (pl.col("_values") > 1) | (pl.col("_told") < pl.col("_all"))
    before = each.filter(pl.col("_all") >= _RANKS).with_columns(
        is_apart.cum_sum().over("name").alias("_since"), (pl.col("_values") > 1).alias("_apart")
    )
    # A replica that left does not come back; what is rounded, or taken at another moment, does.
    since = pl.col("_apart").cum_max().over("name")
    found = before.with_columns(since.alias("_parted")).group_by("name", maintain_order=True).agg(
        pl.col("_one").filter(pl.col("_since") == 0).n_unique().alias("_alike"),
        pl.col("_apart").filter("_parted").sum().alias("_steps"), pl.col("_apart").filter("_parted").all().alias("_all"),
    )  # fmt: skip
    is_left = pl.col("_all") & (pl.col("_steps") >= _APART)
    return [str(name) for name in found.filter((pl.col("_alike") >= _STEPS) & is_left)["name"]]
