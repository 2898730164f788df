"""Whose figure was far from all others, and finite: of what every rank of the job tells of a step under one name, one rank's alone is a thousand times
the largest of the others', and what it usually is itself.

What all have summed or averaged rises on all alike, so such a figure is of what the rank made or was given itself. A loss or a norm of its own says so
alone; of names of which nothing is known, two must. What becomes of it later does not matter: a spike that is over was one.
"""

from collections.abc import Mapping
from typing import Any

import polars as pl

from forensics.facts.own_values import OwnLoss
from parsers.text import vocabulary

_FAR = 1e3  # times the others', or 1 where that is less
_NEAR = 10  # times the others': it is back
_FEWEST = 3  # ranks
_STEPS = 4  # that tell what is usual
_ALIKE = 2  # unknown names
_KNOWN = ("loss", "own_grad_norm")
_WHERE = ("rank", "step", "file", "line", "time_ns")


def far_value(steps: pl.DataFrame, job: frozenset[int]) -> OwnLoss | None:
    """Table of steps, and the ranks of the job → the first step in which one rank's figures were so, where it is one rank."""
    train = pl.col("phase").fill_null("train") == "train"
    rows = steps.filter(train & pl.col("rank").is_in(sorted(job)) & pl.col("step").is_not_null())
    if len(job) < _FEWEST or rows["rank"].n_unique() < len(job):
        return None
    series = _series(rows)
    in_order = pl.col("size").sort(descending=True)
    per_step = series.group_by("key", "step").agg(
        pl.len().alias("count"),
        in_order.first().alias("top"),
        in_order.slice(1, 1).first().alias("next"),
        pl.col("rank").sort_by("size", descending=True).first().alias("rank"),
    )
    usual = series.group_by("key", "rank").agg(
        pl.col("size").median().alias("usual"), pl.len().alias("steps"), pl.col("size").last().alias("last")
    )
    others = pl.max_horizontal("next", "usual", pl.lit(1.0))
    far = (
        per_step.filter(pl.col("count") == len(job))
        .join(usual, on=["key", "rank"])
        .filter((pl.col("steps") >= _STEPS) & (pl.col("top") > _FAR * others))
        .sort("step", "key")
    )
    if not far.height:
        return None
    first = far.filter(pl.col("step") == far["step"].min())
    names = [str(key).partition(" ")[2] for key in first["key"].to_list()]
    known = [at for at, name in enumerate(names) if _is_known(name)]
    if first["rank"].n_unique() != 1 or not (known or len(names) >= _ALIKE):
        return None
    chosen = first.row(min(known, default=0), named=True)
    of_it = (pl.col("key") == chosen["key"]) & (pl.col("step") == chosen["step"]) & (pl.col("rank") == chosen["rank"])
    row: Mapping[str, Any] = series.filter(of_it).row(0, named=True)
    shown = {"loss": row["value"], "grad_norm": None, "loss_scale": None, "skipped": None}
    is_back = chosen["last"] <= _NEAR * max(chosen["next"], chosen["usual"], 1.0)
    name = names[min(known, default=0)]
    return OwnLoss(chosen["step"], [{**row, **shown}], True, name=name, times=_FAR, is_back=is_back)


def _is_known(name: str) -> bool:
    said = vocabulary.meaning_of(name)
    return name == "loss" or (said is not None and said.meaning in _KNOWN)


def _series(rows: pl.DataFrame) -> pl.DataFrame:
    """rank, step, file, line, time_ns, key (the shape of the file's name, and the figure's), value, size: a row for each finite figure, in order."""
    shape = pl.col("file").cast(pl.String).str.replace_all(r"\d+", "#").str.replace_all(" ", "_")
    rows = rows.with_columns(shape.alias("shape"), pl.col("file").cast(pl.String))
    losses = rows.filter(pl.col("loss").is_not_null()).select(
        *_WHERE, pl.concat_str("shape", pl.lit(" loss")).alias("key"), pl.col("loss").alias("value")
    )
    pairs = rows.filter(pl.col("figures").is_not_null()).select(*_WHERE, "shape", pl.col("figures").str.split(" "))
    told = pairs.explode("figures").with_columns(pl.col("figures").str.splitn("=", 2).alias("pair"))
    told = told.select(
        *_WHERE,
        pl.concat_str("shape", pl.lit(" "), pl.col("pair").struct.field("field_0")).alias("key"),
        pl.col("pair").struct.field("field_1").cast(pl.Float64, strict=False).alias("value"),
    )
    series = (
        pl.concat([losses, told]).filter(pl.col("value").is_finite()).with_columns(pl.col("value").abs().alias("size"))
    )
    return series.unique(["key", "rank", "step"], keep="first", maintain_order=True).sort("step", maintain_order=True)
