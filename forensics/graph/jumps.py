"""A finite value that leapt beyond all that its peers hold and all that it was before: the trace of a flipped exponent bit.

Peers are the other ranks' rows of the same tensor in the same step. A value counts where it is many doublings above the
largest of at least two peers and above the rank's own figure of the step before, where that was seen. Training can
make one rank's activations or one expert's weights larger than others', never by that much in one step.
"""

from collections.abc import Mapping
from typing import Any

import polars as pl

from forensics.graph.tensor_rules import STATES

_LEAP = 2.0**32  # of values that differ between ranks by design
_LEAP_OF_REPLICAS = 2.0**10  # of parameters whose figures the peers share bit by bit
_TENSOR = ["step", "microbatch", "chunk", "phase", "module", "op", "tensor", "nth"]
_SERIES = ["rank", "phase", "module", "op", "tensor"]
_FIGURES = ("min", "max", "absmax")


def first_jump(frame: pl.DataFrame) -> Mapping[str, Any] | None:
    """The first such row, by step, then by place in program order. `frame`: rows of one launch of tensor_ops.read_rows."""
    size = pl.coalesce("absmax", pl.max_horizontal(pl.col("min").abs(), pl.col("max").abs()))
    rows = frame.filter(pl.col("role").is_not_null() & pl.col("kind").is_null() & (pl.col("bad") == False))  # noqa: E712
    rows = rows.select(
        *_TENSOR[:-1], "rank", "place", "base", *(name for name in _FIGURES if name != "absmax"), size.alias("size")
    )
    large = rows.filter(
        pl.col("size") > _LEAP_OF_REPLICAS * pl.col("size").median().over("phase", "module", "op", "tensor")
    )
    if not large.height:
        return None
    names = large.select("phase", "module", "op", "tensor").unique()
    rows = rows.join(names, on=names.columns, how="semi", nulls_equal=True, maintain_order="left")
    rows = rows.with_columns(pl.col("place").cum_count().over("rank", *_TENSOR[:-1]).alias("nth"))
    found = _leaps(rows).sort("step", "place")
    if not found.height:
        return None
    return frame.row(int(frame["place"].search_sorted(found["place"][0])), named=True)


def _leaps(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows that stand out among their peers and in their own series."""
    steps = rows.group_by(*_SERIES, "step").agg(pl.col("size").max().alias("before")).sort("step")
    steps = steps.with_columns(pl.col("before").shift(1).over(_SERIES))
    rows = rows.join(steps, on=[*_SERIES, "step"], how="left", nulls_equal=True)
    first = (pl.col("size") == pl.col("size").max()) & (pl.col("size").rank("ordinal", descending=True) == 1)
    ranked = rows.with_columns(
        first.over(_TENSOR).alias("largest"), pl.col("rank").n_unique().over(_TENSOR).alias("ranks")
    )
    others = ranked.filter(~pl.col("largest")).group_by(_TENSOR).agg(
        pl.col("size").max().alias("peers"), (pl.struct("min", "max", "size").n_unique() == 1).alias("equal")
    )  # fmt: skip
    ranked = ranked.filter(pl.col("largest") & (pl.col("ranks") > 2)).join(others, on=_TENSOR, nulls_equal=True)
    leap = pl.when(pl.col("equal") & pl.col("base").is_in(list(STATES))).then(_LEAP_OF_REPLICAS).otherwise(_LEAP)
    usual = pl.max_horizontal("peers", "before")
    return ranked.filter((usual > 0) & (pl.col("size") > leap * usual))
