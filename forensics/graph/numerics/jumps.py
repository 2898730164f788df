"""A finite value that leapt beyond all that its peers hold and all that it was before: the trace of a flipped exponent bit.

Peers are the other ranks' rows of the same tensor in the same step. A value counts where it is many doublings above the
largest of its peers and above the rank's own figure of the step before; of fewer than two peers, both must have been
seen. Training can make one rank's activations or one expert's weights larger than others', never by that much in one
step. What an operation makes of a value that had leapt before counts for nothing.
"""

from collections.abc import Mapping
from typing import Any

import polars as pl

from forensics.graph.numerics.tensor_rules import STATES

# Leaps: of a parameter that replicas share, of any other, of the rest.
_REPLICA, _STATE, _VALUE = 2.0**10, 2.0**32, 2.0**64
_SERIES = ["phase", "module", "op", "tensor"]
_TENSOR = ["step", "microbatch", "chunk", *_SERIES]
_OWN = ["rank", *_SERIES]


def first_jump(frame: pl.DataFrame, leaps: pl.DataFrame | None) -> Mapping[str, Any] | None:
    """The first such row, by step, parameters first. `frame`: rows of one launch of tensor_ops.read_rows."""
    born = _born(leaps) if leaps is not None else None
    if born is None or not born.height:
        return None
    place = born.sort("step", "state", "place", descending=[False, True, False])["place"][0]
    return frame.row(int(frame["place"].search_sorted(place)), named=True)


def arrived(leaps: pl.DataFrame | None, rank: int, operation: int) -> bool:
    """Did an operation of this rank compute with a value that had leapt, which nothing that the rank made or holds explains?
    It came from another rank, or from what was not recorded."""
    if leaps is None:
        return False
    mine = leaps.filter(pl.col("rank") == rank)
    return bool(_fed(mine).is_in([operation]).any()) and not _born(mine).height


def _fed(leaps: pl.DataFrame) -> pl.Series:
    """Operations that computed with a value that had leapt."""
    return leaps.filter(~pl.col("state") & (pl.col("role") != "out"))["operation"]


def _born(leaps: pl.DataFrame) -> pl.DataFrame:
    """Leaps of parameters, and of what an operation made of values that had not leapt."""
    fed = _fed(leaps).implode()
    return leaps.filter(pl.col("state") | ((pl.col("role") == "out") & ~pl.col("operation").is_in(fed)))


def all_leaps(frame: pl.DataFrame) -> pl.DataFrame | None:
    """Rows of all leaps, parameters and values; None where nothing stands out. `frame`: as of `first_jump`."""
    size = pl.coalesce("absmax", pl.max_horizontal(pl.col("min").abs(), pl.col("max").abs()))
    state = pl.col("base").is_in(list(STATES))
    wanted = pl.col("role").is_not_null() & (pl.col("kind").is_null() | state) & ~pl.col("bad").fill_null(True)
    # An Inf that is not bad is a mask's, or a start of a maximum's: no power of two is missing from it.
    rows = frame.lazy().filter(wanted & ~size.is_infinite().fill_null(False)).select(
        *_TENSOR, "rank", "place", "operation", "role", "min", "max", size.alias("size"), state.alias("state")
    )  # fmt: skip
    usual = pl.col("size").filter(pl.col("size") > 0).min()
    series = rows.group_by(_SERIES).agg(leaps=pl.col("size").nan_max() > _REPLICA * usual)
    names = series.filter("leaps").select(_SERIES).collect()
    if not names.height:
        return None
    return _leaps(rows.collect().join(names, on=_SERIES, how="semi", nulls_equal=True, maintain_order="left"))


def _leaps(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows that stand out among their peers and in their own series."""
    rows = rows.with_columns(pl.int_range(pl.len()).over("rank", *_TENSOR).alias("nth"))
    steps = rows.group_by(*_OWN, "step").agg(pl.col("size").max().alias("before")).sort("step")
    steps = steps.with_columns(pl.col("before").shift(1).over(_OWN))
    rows = rows.join(steps, on=[*_OWN, "step"], how="left", nulls_equal=True, maintain_order="left")
    call = [*_TENSOR, "nth"]
    rows = rows.with_columns((pl.col("size").rank("ordinal", descending=True).over(call) == 1).alias("largest"))
    others = rows.filter(~pl.col("largest")).group_by(call).agg(
        pl.col("size").max().alias("peers"), pl.len().alias("ranks"),
        (pl.struct("min", "max", "size").n_unique() == 1).alias("equal"),
    )  # fmt: skip
    rows = rows.filter("largest").join(others, on=call, how="left", nulls_equal=True, maintain_order="left")
    several = pl.col("ranks").fill_null(0) > 1
    leap = pl.when(~pl.col("state")).then(_VALUE).when(several & pl.col("equal")).then(_REPLICA).otherwise(_STATE)
    usual = pl.max_horizontal("peers", "before")
    known = several | pl.col("before").is_not_null()
    return rows.filter(known & (usual > 0) & (pl.col("size") > leap * usual))
