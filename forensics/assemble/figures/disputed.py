"""Figures of which two records tell other ranks: neither is heard of who it was.

Two records tell the same figures where what one prints of a step, and of nobody else, the other prints of that step as well, whatever either calls it. Where
both have it of another rank, again and again and never of the same, one of them is wrong, and nobody knows which. So it is where each shows one rank's loss, or
its norm, as no number or far from all others in a step, and the other's as theirs. Files that are numbered as the ranks are, and mostly tell what is told of these, are of them too.
"""

import polars as pl

from forensics.assemble.figures.figure_pairs import figure_pairs
from parsers.schema.tables import TableName, Tables

_STEPS = 2  # in which two records tell the same of other ranks, for that to be no chance
_MOSTLY = 0.5  # of numbered files tell what is told of the ranks of their numbers
_FAR = 1e6  # times what is usual, or 1 where that is less
_FIGURES = ("loss", "grad_norm")


def with_disputed(tables: Tables) -> dict[TableName, pl.DataFrame]:
    """Tables of one attempt, ranks global → the same; what is disputed of a rank is nobody's in `steps` and `values`."""
    steps = tables["steps"].filter(pl.col("step").is_not_null() & (pl.col("phase").fill_null("train") != "eval"))
    files = _files(steps)
    if files["shape"].n_unique() < 2 or steps["rank"].n_unique() < 2:
        return dict(tables)
    # What each prints of a figure of all is no record of others.
    told = _told(steps, files).filter(pl.col("rank").n_unique().over("shape") > 1)
    if told["shape"].n_unique() < 2:
        return dict(tables)
    ranks = sorted(_crossed(told) | _bad_elsewhere(told))
    if not ranks:
        return dict(tables)
    own = pl.when(~pl.col("rank").is_in(ranks)).then("rank").alias("rank")
    local = pl.when(~pl.col("rank").is_in(ranks)).then("local_rank").alias("local_rank")
    return {**tables, **{name: tables[name].with_columns(own, local) for name in ("steps", "values")}}


def _files(steps: pl.DataFrame) -> pl.DataFrame:
    """file, shape of its name, numbers in it."""
    told, file = steps.select(pl.col("file").cast(pl.String)).unique(maintain_order=True), pl.col("file")
    return told.with_columns(shape=file.str.replace_all(r"\d+", "#"), numbers=file.str.extract_all(r"\d+"))


def _told(steps: pl.DataFrame, files: pl.DataFrame) -> pl.DataFrame:
    """shape, rank, step, name, value: a row for each figure of somebody, in the files of one shape of name. Of files without a rank, their number where that is
    the only one that differs."""
    plain = steps.with_columns(pl.col("file").cast(pl.String))
    varied = files.explode("numbers").with_columns(pl.int_range(pl.len()).over("file").alias("place"))
    varied = varied.filter(pl.col("numbers").n_unique().over("shape", "place") > 1)
    alone = varied.filter(pl.len().over("file") == 1)
    number = alone.select("file", pl.col("numbers").cast(pl.Int64, strict=False).alias("_number"))
    named = plain.join(files.select("file", "shape"), on="file").join(number, on="file", how="left")
    is_nobodys = pl.col("rank").is_null().all().over("shape")
    who = pl.when(is_nobodys).then("_number").otherwise("rank").alias("rank")
    named = named.with_columns(who, is_nobodys.alias("by_number")).filter(pl.col("rank").is_not_null())
    keys = ("shape", "by_number", "rank", "step")
    plain_ones = [named.select(*keys, pl.lit(name).alias("name"), pl.col(name).alias("value")) for name in _FIGURES]
    others = figure_pairs(named, *keys)
    told = pl.concat([*plain_ones, others.select(*keys, "name", "value")])
    return told.filter(pl.col("value").is_not_null()).unique(maintain_order=True)


def _crossed(told: pl.DataFrame) -> set[int]:
    """Ranks of which another record tells what is told of others, and never what is told of them."""
    alone = told.filter(pl.col("value").is_finite() & (pl.col("rank").n_unique().over("shape", "step", "value") == 1))
    alone = alone.unique(["shape", "rank", "step", "value"])
    both = alone.join(alone, on=["step", "value"], suffix="_2").filter(pl.col("shape") != pl.col("shape_2"))
    both = both.filter(~pl.col("by_number"))
    pairs = both.group_by("shape", "shape_2", "rank", "rank_2", "by_number_2").agg(steps=pl.col("step").n_unique())
    most = pl.col("steps").max()
    pairs = pairs.filter(pl.col("steps") == most.over("shape", "shape_2", "rank"))
    pairs = pairs.filter((pl.len().over("shape", "shape_2", "rank") == 1) & (pl.col("steps") >= _STEPS))
    is_same = pl.col("rank") == pl.col("rank_2")
    share = is_same.mean().over("shape", "shape_2")
    found = pairs.filter(~is_same & (~pl.col("by_number_2") | (share >= _MOSTLY)))
    return {*found["rank"], *found["rank_2"]}


def _bad_elsewhere(told: pl.DataFrame) -> set[int]:
    """Ranks whose loss or norm alone was bad in a step in one record, while in another that of another rank was."""
    kept = told.filter(pl.col("name").is_in(_FIGURES) & ~pl.col("by_number"))
    usual = pl.max_horizontal(pl.col("value").abs().median().over("shape", "step", "name"), pl.lit(1.0))
    bad = ~pl.col("value").is_finite() | (pl.col("value").abs() > _FAR * usual)
    each = kept.group_by("step", "name", "shape").agg(
        pl.col("rank").filter(bad).unique().sort().alias("bad"), pl.col("rank").filter(~bad).unique().alias("fine")
    )
    each = each.filter((pl.col("bad").list.len() > 0) & (pl.col("fine").list.len() > 0))
    both = each.join(each, on=["step", "name"], suffix="_2").filter(pl.col("shape") < pl.col("shape_2"))
    found = set[int]()
    for bad_1, fine_1, bad_2, fine_2 in both.select("bad", "fine", "bad_2", "fine_2").iter_rows():
        if {*bad_1} <= {*fine_2} and {*bad_2} <= {*fine_1}:
            found |= {*bad_1, *bad_2}
    return found
