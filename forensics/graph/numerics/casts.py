"""Master copies of parameters in the optimizer's state, and where a parameter is no longer what its master casts to.

A state is a parameter's master where both show the same figures after the first updates of nearly all ranks and parameters, but for what a
cast may change: no momentum does, whatever it is called. A parameter has left its master where it is apart from a later update on, to the
last one recorded.
"""

from collections.abc import Mapping
from typing import Any

import msgspec
import polars as pl

from forensics.graph.numerics.alike import FIGURES, differ

Row = Mapping[str, Any]
_CAST = 2**-7  # a number of bfloat16 is off by 2**-9 of itself, and the largest and the norm of many by no more
_EARLY = 2  # updates after which a parameter and its master must agree
_PAIRS = 8  # of a parameter and a state after an update, of all ranks, for that state to be a master
_NEARLY_ALL = 0.9  # of them: the rest may be what is looked for
_SAME = ("rank", "step", "module")
_SERIES = ("rank", "module", "leaf", "key")


class Parted(msgspec.Struct, frozen=True):
    """`rows`: rank → (its parameter, the master) in `step`, of those that left their masters first; `members`: who have masters."""

    step: int
    members: tuple[int, ...]
    rows: Mapping[int, tuple[Row, Row]]


def parted(frame: pl.DataFrame) -> Parted | None:
    """`frame`: rows of tensor_ops.read_rows, one launch. None where no master is known, or all agree."""
    pairs = _pairs(frame.filter((pl.col("phase") == "optimizer") & ~pl.col("bad").fill_null(True)))
    nth = pl.col("step").rank("dense").over(_SERIES)
    began = (pl.col("apart") & (nth <= _EARLY)).any().over(_SERIES)
    pairs = pairs.with_columns(began.alias("began"), pl.col("apart").last().over(_SERIES).alias("stays"))
    agree = (~pl.col("began")).mean().over("key") >= _NEARLY_ALL
    masters = pairs.filter(agree & (pl.len().over("key") >= _PAIRS) & ~pl.col("began"))
    apart = masters.filter(pl.col("apart") & pl.col("stays"))
    step = apart["step"].min()
    if not isinstance(step, int):
        return None
    first = apart.filter(pl.col("step") == step).sort("place").unique("rank", keep="first", maintain_order=True)
    places = dict(zip(first["rank"].to_list(), first.select("place", "place_state").iter_rows(), strict=True))
    wanted = frame.filter(pl.col("place").is_in([place for both in places.values() for place in both]))
    rows = {row["place"]: row for row in wanted.iter_rows(named=True)}
    members = tuple(masters["rank"].unique().sort().to_list())
    return Parted(step, members, {rank: (rows[one], rows[other]) for rank, (one, other) in sorted(places.items())})


def _pairs(rows: pl.DataFrame) -> pl.DataFrame:
    """A row for each parameter and state of it after an update, in order: leaf, key, whether they are apart, and their places."""
    leaf = pl.col("tensor").str.strip_prefix("param").str.strip_prefix(".")
    name = pl.col("tensor").str.strip_prefix("optimizer_state").str.strip_prefix(".")
    params = rows.filter(pl.col("base") == "param").select(*_SAME, *FIGURES, "place", leaf.alias("leaf"))
    states = rows.filter(pl.col("base") == "optimizer_state").select(*_SAME, *FIGURES, "place", name.alias("name"))
    both = params.join(states, on=_SAME, suffix="_state")
    is_own = (pl.col("leaf") == "") | pl.col("name").str.starts_with(pl.col("leaf") + pl.lit("."))
    both = both.filter(is_own & (pl.col("absmax") > 0) & (pl.col("absmax_state") > 0))
    key = pl.col("name").str.strip_prefix(pl.col("leaf")).str.strip_prefix(".")
    return both.with_columns(key.alias("key"), differ(_ends, _CAST).alias("apart")).sort("step", "place")


def _ends(name: str) -> tuple[pl.Expr, pl.Expr]:
    both = pl.col(name), pl.col(f"{name}_state")
    return pl.min_horizontal(both), pl.max_horizontal(both)
