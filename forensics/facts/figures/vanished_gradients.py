"""From where on the gradient was exactly zero, to the end, though the loss was a number above zero: nothing is learnt any more.

A norm that is not computed in every step is zero from the beginning on, and a skipped update tells that it was one. What is printed as zero beside a loss of zero is
how some programs print NaN.
"""

from collections.abc import Mapping
from typing import Any

import msgspec
import polars as pl

from forensics.assemble.figures.figure_pairs import figure_pairs
from parsers.text.vocabulary import words_of

_WELL, _ZERO = 8, 5  # lines with a norm above zero, and with zero after them, at least
_STRAY = 0.2  # of the lines before may have been zero
_NO_SCALE = 1.0
_ALL = 0.99  # of the elements


class Vanished(msgspec.Struct, frozen=True):
    """`row`: the first with zero, `well`: the last with more; `share`: a row in which a figure says that all elements are zero, its name and value."""

    row: Mapping[str, Any]
    well: Mapping[str, Any]
    share: tuple[Mapping[str, Any], str, float] | None


def vanished(steps: pl.DataFrame) -> Vanished | None:
    """Table of steps → where the norm of all that print one vanished; None where it did not, or where a loss scale is told, which says more, unless it was set
    lower there and stays so."""
    train = steps.filter((pl.col("phase").fill_null("train") == "train") & pl.col("step").is_not_null())
    if (train["skipped"] > 0).any():
        return None
    norms = train.filter(pl.col("grad_norm").is_not_null()).sort("file", "line", nulls_last=True)
    found: list[tuple[Mapping[str, Any], Mapping[str, Any]]] = []
    for own in norms.partition_by("file", "rank"):
        one = _from(own.sort("step", maintain_order=True))
        if one is None:
            return None
        found.append(one)
    if not found:
        return None
    row, well = min(found, key=lambda one: int(one[0]["step"]))
    later = train.filter(pl.col("step") >= row["step"])
    scales, before = (own["loss_scale"].drop_nulls() for own in (later, train.filter(pl.col("step") < row["step"])))
    is_set = scales.n_unique() == 1 and (scales[0] <= _NO_SCALE or (len(before) > 0 and before[-1] > scales[0]))
    if (train["loss_scale"].is_not_null().any() and not is_set) or not norms["grad_norm"].is_finite().all():
        return None
    losses = later["loss"].drop_nulls()
    if not len(losses) or not bool((losses.is_finite() & (losses > 0)).all()):
        return None
    return Vanished(row, well, _share(train, int(row["step"])))


def _from(own: pl.DataFrame) -> tuple[Mapping[str, Any], Mapping[str, Any]] | None:
    """(the first line of the zeros that last to the end, the last before them) of a series."""
    norms = own["grad_norm"].to_list()
    last = max((at for at, norm in enumerate(norms) if norm != 0), default=-1)
    above = [norm > 0 for norm in norms[: last + 1]]
    is_it = len(norms) - last > _ZERO and sum(above) >= _WELL and above.count(False) <= _STRAY * len(above)
    return (own.row(last + 1, named=True), own.row(last, named=True)) if is_it else None


def _share(train: pl.DataFrame, step: int) -> tuple[Mapping[str, Any], str, float] | None:
    columns = ("rank", "step", "file", "line")
    pairs = figure_pairs(train.filter(pl.col("step") >= step), *columns).filter(pl.col("value") >= _ALL)
    zero = [name for name in pairs["name"].unique().to_list() if {"zero", "zeros"} & {*words_of(str(name))}]
    told = pairs.filter(pl.col("name").is_in(zero)).sort("step", "file")
    row = told.row(0, named=True) if told.height else None
    return None if row is None else (row, row["name"], row["value"])
