"""Whose figure was far from all others, and finite: of what every rank of the job tells of a step under one name, one rank's alone is a thousand times
the largest of the others', and what it usually is itself.

What all have summed or averaged rises on all alike, so such a figure is of what the rank made or was given itself. A loss or a norm of its own says so
alone; of names of which nothing is known, two must. Where several of its figures leap in one step, one of them its own, a hundred times will do: what it
usually is, the steps before tell. What becomes of it later does not matter: a spike that is over was one. One figure, whatever it is called, says so where it
is a hundred times all that any rank ever told of it, and the losses of all others rise right after: the update of that step was bad by it. So it does where
it is a million times as much, and they are no numbers any more.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from forensics.assemble.figures.figure_pairs import figure_pairs
from forensics.facts.figures.own_values import OwnLoss
from parsers.text import vocabulary

_FAR = 1e3  # times the others', or 1 where that is less
_TOGETHER = 100  # times the others', of two figures at once
_NEAR = 10  # times the others': it is back
_FEWEST = 3  # ranks
_STEPS = 4  # that tell what is usual
_ALIKE = 2  # unknown names
_LATELY, _AFTER = 8, 2  # steps up to it, and after it, of the losses of the others
_RISEN = 1.25  # times any of these
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
    least = pl.max_horizontal("next", pl.lit(1.0))
    per_step = per_step.filter((pl.col("count") == len(job)) & (pl.col("top") > _TOGETHER * least))
    if not per_step.height:
        return None
    begun = per_step.group_by("key", "rank").agg(pl.col("step").min().alias("begun"))
    size = pl.col("size")
    before = size.filter(pl.col("step") < pl.col("begun"))
    usual = (
        series.join(begun, on=["key", "rank"], maintain_order="left")
        .group_by("key", "rank")
        .agg(
            pl.min_horizontal(size.median(), pl.when(before.len() >= _STEPS).then(before.median())).alias("usual"),
            pl.len().alias("steps"),
            size.last().alias("last"),
        )
    )
    others = pl.max_horizontal("next", "usual", pl.lit(1.0))
    is_far = (pl.col("steps") >= _STEPS) & (pl.col("top") > _TOGETHER * others)
    far = per_step.join(usual, on=["key", "rank"]).filter(is_far).sort("step", "key")
    far = far.with_columns((pl.col("top") > _FAR * others).alias("is_far"))
    for first in far.partition_by("step"):
        names = [str(key).partition(" ")[2] for key in first["key"].to_list()]
        order = sorted(range(len(names)), key=lambda at: (not _is_known(names[at]), not first["is_far"][at]))
        if _is_enough(first, names):
            row = first.row(order[0], named=True)
            return _found(series, row, [names[at] for at in order])
        if first["is_far"].any():
            return None
    return None


def carried_value(steps: pl.DataFrame, earlier: pl.DataFrame, job: frozenset[int]) -> OwnLoss | None:
    """Table of steps, the same of the attempt before, and the ranks of the job → the first step in which one rank's figure leapt alone, and after which the
    losses of all others rose."""
    train = (pl.col("phase").fill_null("train") == "train") & pl.col("rank").is_in(sorted(job))
    rows = steps.filter(train & pl.col("step").is_not_null())
    if len(job) < _FEWEST or not rows["figures"].is_not_null().any() or rows["rank"].n_unique() < len(job):
        return None
    before = earlier.filter(train & (pl.col("step") < rows["step"].min())) if earlier.height else rows.clear()
    series = pl.concat([_series(before), _series(rows)]).filter(~pl.col("key").str.ends_with(" loss"))
    per_step = series.group_by("key", "step").agg(
        pl.len().alias("count"), pl.col("size").max().alias("top"), pl.col("rank").sort_by("size").last().alias("rank")
    )
    tops = per_step.filter((pl.col("count") == len(job)) & (pl.col("step") >= rows["step"].min()))
    usual = per_step.group_by("key").agg(pl.col("top").median().alias("usual"))
    far = tops.join(usual, on="key").filter(pl.col("top") > _TOGETHER * pl.col("usual")).sort("step", "key")
    for one in far.iter_rows(named=True):
        own = series.filter(pl.col("key") == one["key"])
        is_its = pl.col("rank") == one["rank"]
        others = own.filter(~is_its | (pl.col("step") < one["step"]))
        most = others["size"].max()
        if others["step"].n_unique() < _STEPS or not isinstance(most, float) or one["top"] <= _TOGETHER * most:
            continue
        is_beyond = one["top"] > _FAR**2 * (most or 1.0) and _lost_with(rows, one["rank"], one["step"])
        if not most or not (is_beyond or _rose_after(pl.concat([before, rows]), one["rank"], one["step"])):
            continue
        row = _line(own.filter(is_its & (pl.col("step") == one["step"])))
        is_back = float(own.filter(is_its)["size"][-1]) <= _NEAR * most
        name = str(one["key"]).partition(" ")[2]
        return OwnLoss(one["step"], [row], True, name=name, times=_TOGETHER, is_back=is_back, is_carried=not is_beyond)
    return None


def _rose_after(rows: pl.DataFrame, rank: int, step: int) -> bool:
    told = rows.filter((pl.col("rank") != rank) & pl.col("loss").is_finite())
    others = told.group_by("step").agg(pl.col("loss").median()).sort("step")
    until = others.filter(pl.col("step") <= step).tail(_LATELY)["loss"]
    after = others.filter(pl.col("step") > step).head(_AFTER)["loss"]
    return (
        len(until) >= _STEPS and len(after) == _AFTER and float(after.min()) > _RISEN * float(until.max())  # type: ignore[arg-type]
    )


def _lost_with(rows: pl.DataFrame, rank: int, step: int) -> bool:
    """Were the losses of all others numbers before that step, and none from it, or from the next one, on?"""
    others = rows.filter((pl.col("rank") != rank) & pl.col("loss").is_not_null())
    before, after = (others.filter(one)["loss"] for one in (pl.col("step") < step, pl.col("step") > step))
    return len(before) > 0 and len(after) > 0 and bool(before.is_finite().all()) and not after.is_finite().any()


def _is_enough(first: pl.DataFrame, names: Sequence[str]) -> bool:
    """Are the figures that are far in a step one rank's, one of its own among them or two that are very far?"""
    known = [far for name, far in zip(names, first["is_far"], strict=True) if _is_known(name)]
    is_enough = any(known) or first["is_far"].sum() >= _ALIKE or (bool(known) and len(names) >= _ALIKE)
    return is_enough and first["rank"].n_unique() == 1


def _found(series: pl.DataFrame, chosen: Mapping[str, Any], names: Sequence[str]) -> OwnLoss:
    of_it = (pl.col("key") == chosen["key"]) & (pl.col("step") == chosen["step"]) & (pl.col("rank") == chosen["rank"])
    row = _line(series.filter(of_it))
    is_back = chosen["last"] <= _NEAR * max(chosen["next"], chosen["usual"], 1.0)
    times = _FAR if chosen["is_far"] else _TOGETHER
    beside = tuple(names[1:])
    return OwnLoss(chosen["step"], [row], True, name=names[0], times=times, is_back=is_back, beside=beside)


def _line(rows: pl.DataFrame) -> Mapping[str, Any]:
    """The first of these rows as a line of a training that shows the figure."""
    row = rows.row(0, named=True)
    return {**row, "loss": row["value"], "grad_norm": None, "loss_scale": None, "skipped": None}


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
    told = figure_pairs(rows, *_WHERE, "shape").select(
        *_WHERE, pl.concat_str("shape", pl.lit(" "), "name").alias("key"), "value"
    )
    series = pl.concat([losses, told]).filter(pl.col("value").is_finite())
    series = series.with_columns(pl.col("value").abs().alias("size"))
    return series.unique(["key", "rank", "step"], keep="first", maintain_order=True).sort("step", maintain_order=True)
