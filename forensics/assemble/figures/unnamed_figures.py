"""Figures of which no name tells what they are: where one of them goes bad as a training does, it stands for the loss.

A figure does so that was finite in its first steps in every process and then, within a few steps, in most of them is NaN, Inf or larger than
any training comes to, to their ends. What recurs, returns or stays with one process alone is somebody's own matter. Of several figures that
which turned first counts. A job that tells its loss is judged by that.

What every rank tells for itself, and beside it the mean of all of them, equal on all ranks in every step, is what all reduce: where just one figure is so,
it stands for each rank's own loss.
"""

import polars as pl

from forensics.assemble.figures.common_figures import with_common
from forensics.assemble.figures.figure_pairs import figure_pairs
from parsers.schema.tables import TableName, Tables
from parsers.text.replica_names import says_what
from parsers.text.sides import side_of

_BEFORE = 4  # finite figures of a process before it may turn
_SPREAD = 3  # steps after the first process within which most have turned
_BEYOND = 1e6  # times what it was at first, or 1 where that is less
_RANKS = 3  # whose mean is not told by chance
_ROUNDED, _MOSTLY = 1e-3, 0.9  # of a mean as it is printed; of the steps
_GROWS = 1.5  # times what it was at first, at the end
_WHO = ("file", "rank", "name")


def with_unnamed(tables: Tables) -> dict[TableName, pl.DataFrame]:
    """Evidence tables → the same without rows of phase `figures`; those of the figure that stands for the loss are lines of the training."""
    tables = with_common(tables)
    steps = tables["steps"]
    told = steps.filter(pl.col("figures").is_not_null() & pl.col("step").is_not_null())
    if not told.height and not (steps["phase"] == "figures").any():
        return dict(tables)
    kept = steps.filter(pl.col("phase").ne_missing("figures"))
    if kept.select((pl.col("loss").is_not_null() & (pl.col("phase").fill_null("train") == "train")).any()).item():
        return {**tables, "steps": kept}
    series = _series(told)
    name = _averaged(series) or _turned(series)
    if name is None:
        return {**tables, "steps": kept}
    chosen = series.filter(pl.col("name") == name).select("_row", pl.col("value").alias("_loss"))
    numbered = told.with_row_index("_row").join(chosen, on="_row", maintain_order="left")
    is_seen = pl.lit(True).alias("loss_seen")
    lines = numbered.with_columns(pl.col("_loss").alias("loss"), is_seen, pl.lit("train").alias("phase"))
    place = ["file", "line", "record", "rank", "step"]
    rest = kept.join(lines.select(place), on=place, how="anti", nulls_equal=True)
    return {**tables, "steps": pl.concat([rest, lines.select(steps.columns)])}


def _series(told: pl.DataFrame) -> pl.DataFrame:
    """_row, file, rank, step, name, value: a row for each pair, in order."""
    return (
        figure_pairs(told.with_row_index("_row"), "_row", "file", "rank", "line", "step")
        .filter(pl.col("value").is_not_null() & ~pl.col("name").map_elements(_is_of_part, pl.Boolean))
        .unique([*_WHO, "step"], keep="first", maintain_order=True)
        .sort("step", "_row")
    )


def _is_of_part(name: str) -> bool:
    """What goes into a part of a model, or comes out of it, is no loss, nor is a norm or a sum of what is held."""
    return bool(side_of(name)) or says_what(name)


def _averaged(series: pl.DataFrame) -> str | None:
    """The one figure that differs between all ranks and whose mean another one is, on all ranks alike, in nearly every step."""
    known = series.filter(pl.col("rank").is_not_null() & pl.col("value").is_finite())
    known = known.unique(["name", "step", "rank"], keep="first", maintain_order=True)
    steps = known.group_by("name", "step").agg(
        pl.col("rank").n_unique().alias("ranks"), pl.col("value").n_unique().alias("values"),
        pl.col("value").mean().alias("mean"), pl.col("value").first().alias("first"),
    )  # fmt: skip
    ranks = known["rank"].n_unique()
    whole = steps.filter((pl.col("ranks") == ranks) & (ranks >= _RANKS))
    own, common = whole.filter(pl.col("values") == ranks), whole.filter(pl.col("values") == 1)
    both = own.join(common.select("step", pl.col("name").alias("of_all"), pl.col("first").alias("told")), on="step")
    is_mean = (pl.col("mean") - pl.col("told")).abs() <= _ROUNDED * pl.col("told").abs()
    pairs = both.group_by("name", "of_all").agg(is_mean.mean().alias("share"), pl.len().alias("steps"))
    pairs = pairs.filter((pl.col("share") >= _MOSTLY) & (pl.col("steps") >= _BEFORE))
    if pairs.height != 1:
        return None
    means = own.filter(pl.col("name") == pairs["name"][0]).sort("step")["mean"]
    early, late = means.head(_BEFORE).median(), means.tail(_BEFORE).median()
    is_loss = isinstance(early, float) and isinstance(late, float) and late <= _GROWS * early  # an accuracy grows
    return str(pairs["name"][0]) if is_loss else None


def _turned(series: pl.DataFrame) -> str | None:
    """The figure that went bad first."""
    size = pl.col("value").abs()
    is_early = pl.col("value").is_finite() & (pl.int_range(pl.len()).over(_WHO) < _BEFORE)
    early = size.filter(is_early).median().over("name")
    beyond = size > _BEYOND * pl.max_horizontal(early, pl.lit(1.0))
    bad = pl.col("value").is_finite().not_() | beyond.fill_null(False)
    step = pl.col("step")
    ends = series.with_columns(bad.alias("bad")).group_by(_WHO, maintain_order=True).agg(
        step.filter(~pl.col("bad")).max().alias("fine"),
        step.filter(pl.col("bad")).min().alias("at"),
        (~pl.col("bad")).sum().alias("count"),
    )  # fmt: skip
    turned = ends.with_columns(pl.when(pl.col("at") > pl.col("fine")).then("at"))
    first = pl.col("at").min().over("name")
    near = (pl.col("at") <= first + _SPREAD).fill_null(False)
    names = turned.with_columns(near.alias("near")).group_by("name", maintain_order=True).agg(
        pl.len().alias("all"), pl.col("near").sum(), pl.col("at").min(), (pl.col("count") >= _BEFORE).all().alias("began"),
    )  # fmt: skip
    spread = names.filter(pl.col("began") & (2 * pl.col("near") > pl.col("all"))).sort("at", maintain_order=True)
    # In one process alone a figure may have a reason of its own to end.
    together = spread.filter(pl.col("at") <= pl.col("at").min() + _SPREAD)
    return str(together["name"][0]) if together["near"].sum() > 1 else None
