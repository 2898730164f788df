"""Whose loss alone rose in the step after which those of all did, where ranks print losses of their own.

Until then all held the same parameters, and the others came to their usual losses with them: what was new is the rank's own, its data or what its device
made of it. That the others rise right after, together, is how averaged gradients carry it on; a batch that is hard for one rank alone does no such thing.
Where ranks tell their own gradient norms, one that outweighs those of all others together is as clear, though clipping kept the others from rising; so is
the norm of all that leaps in that step. Who stays above all others line after line, and gets ten times as high, needs neither: where each goes on alone
for a while, as between the means of a local SGD, nothing carries it on, and no data that a model can learn make so much of it.
"""

from collections.abc import Mapping
from typing import Any

import polars as pl

from forensics.assemble.figures.figure_pairs import figure_pairs
from parsers.text import vocabulary

_BACK = 50  # steps that tell what is usual
_FEWEST = 3  # ranks
_STEPS = 5  # that all told before
_FAR = 1.25  # times any loss before
_AFTER = 2  # steps in which the others have risen
_STANDS, _APART = 5, 10  # steps in a row above any loss of the others until then; times these, the most of them
_OUTWEIGHS = 10  # times any norm that was told until then, and as many as there are ranks


def origin(steps: pl.DataFrame, job: frozenset[int], step: int | None) -> Mapping[str, Any] | None:
    """Table of steps, the ranks of a job that trains nothing but replicas, the step in which a loss rose → the row of that rank and `how`: carried, the
    losses of all others rose after it; alone, its norm outweighs theirs; apart, its own alone stayed high; None where the losses of all are not told, or say otherwise."""
    if step is None or len(job) < _FEWEST:
        return None
    train = pl.col("phase").fill_null("train") == "train"
    rows = steps.filter(train & pl.col("rank").is_in(sorted(job)) & pl.col("loss").is_finite()).drop_nulls("step")
    rows = rows.unique(["rank", "step"], keep="first", maintain_order=True)
    rows = rows.filter((pl.len().over("step") == len(job)) & (pl.col("step") > step - _BACK)).sort("step", "rank")
    before, now = rows.filter(pl.col("step") < step), rows.filter(pl.col("step") == step)
    if before["step"].n_unique() < _STEPS or now.is_empty():
        return None
    usual = float(before["loss"].max())  # type: ignore[arg-type]
    risen = now.filter(pl.col("loss") > usual)
    if risen.height != 1 or risen["loss"][0] <= _FAR * usual:
        return None
    rest = rows.filter(pl.col("rank") != risen["rank"][0])
    others = rest.group_by("step", maintain_order=True).agg(pl.col("loss").median())
    after = others.filter(pl.col("step") > step).head(_AFTER)
    until = others.filter(pl.col("step") <= step)["loss"]
    beyond = 2 * float(until.max()) - float(until.min())  # type: ignore[arg-type]
    is_carried = after.height == _AFTER and bool((after["loss"] > beyond).all())
    row = risen.row(0, named=True)
    most, norm, is_own = _norms(rows, row)
    is_told = most is not None and norm is not None
    is_alone = is_told and norm > max(_OUTWEIGHS, len(job)) * most
    is_carried = is_carried and (not is_told or not is_own or norm > most)
    how = "carried" if is_carried else "alone" if is_alone else None
    if how is None and _is_apart(rows.filter(pl.col("step") >= step), row["rank"], usual):
        how = "apart"
    return None if how is None else {**row, "how": how}


def _is_apart(rows: pl.DataFrame, rank: int, usual: float) -> bool:
    """Did a rank's loss alone stay far above all that was usual, from the step of these rows on that is the first?"""
    is_its = pl.col("rank") == rank
    own = rows.filter(is_its).head(_STANDS)["loss"]
    others = rows.filter(~is_its & pl.col("step").is_in(rows["step"].unique().sort().head(_STANDS)))["loss"]
    most = max(usual, float(others.max() or 0.0))  # type: ignore[arg-type]
    is_usual = most <= _FAR * usual
    return len(own) == _STANDS and is_usual and float(own.min()) > _FAR * most and float(own.max()) > _APART * most  # type: ignore[arg-type]


def _norms(rows: pl.DataFrame, found: Mapping[str, Any]) -> tuple[Any, Any, bool]:
    """(the largest gradient norm that was told until then, the rank's, whether these are the ranks' own); else of all, whose mean leaps with the one;
    nulls where none is told."""
    columns = ("rank", "step")
    told = figure_pairs(rows, *columns)
    own = [name for name in told["name"].unique().to_list() if _is_own_norm(str(name))]
    norms = told.filter(pl.col("name").is_in(own)).select(*columns, "value")
    printed = rows.select(*columns, pl.col("grad_norm").alias("value")).drop_nulls()
    is_own = bool(norms.height) or bool((printed.group_by("step").agg(pl.col("value").n_unique())["value"] > 1).any())
    norms = norms if norms.height else printed
    is_it = (pl.col("rank") == found["rank"]) & (pl.col("step") == found["step"])
    is_before = (pl.col("step") <= found["step"]) & ~is_it if is_own else pl.col("step") < found["step"]
    return norms.filter(is_before)["value"].max(), norms.filter(is_it)["value"].max(), is_own


def _is_own_norm(name: str) -> bool:
    said = vocabulary.meaning_of(name)
    return said is not None and said.meaning == "own_grad_norm"
