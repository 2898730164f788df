"""Tensors that must be equal bit by bit on several ranks, and where they first were not.

Compared are only outputs of one all_reduce, all_gather or broadcast over a stated group, and parameters after the
optimizer over the stated group of their gradient all_reduce. Different figures prove divergence; equal ones nothing.
`share`: by how much they may differ (alike.py).
"""

from collections.abc import Mapping
from typing import Any

import msgspec
import polars as pl

from forensics.graph.numerics.alike import FIGURES, differ, sides
from forensics.graph.numerics.calls import match
from forensics.graph.numerics.tensor_ops import operations
from forensics.graph.numerics.tensor_rules import EQUAL_OUTPUTS
from forensics.model.told import values

Row = Mapping[str, Any]
_UPDATED = (pl.col("phase") == "optimizer") & (pl.col("base") == "param")
_FEWEST, _SEVERAL = 3, 2


class Divergence(msgspec.Struct, frozen=True):
    """`sides`: groups of ranks with equal figures, the largest first; `row`: rank → its row, `members` of the group."""

    sides: tuple[tuple[int, ...], ...]
    row: Mapping[int, Row]
    members: tuple[int, ...]


def first_divergence(frame: pl.DataFrame, share: float, idle: Mapping[int, int]) -> Divergence | None:
    """`frame`: rows of tensor_ops.read_rows, one launch. The earliest by step, then by place in program order. `idle`: rank →
    the step whose update it left out by right; from then on its parameters are not compared."""
    comms = frame.filter(pl.col("kind").is_in(list(EQUAL_OUTPUTS)) & ~pl.col("inferred")).drop_nulls("group_ranks")
    params = frame.filter(_UPDATED)
    for rank, step in idle.items():
        params = params.filter((pl.col("rank") != rank) | (pl.col("step") < step))
    if not comms.height:
        return None
    steps = _suspicious_steps(comms, params, share)
    comms, params = (part.filter(pl.col("step").is_in(steps)) for part in (comms, params))
    if not steps:
        return None
    ops = operations(comms)
    found: list[tuple[tuple[int, int], Divergence]] = []
    by_operation: dict[int, list[Row]] = {}
    for row in _finite(comms).iter_rows(named=True):
        by_operation.setdefault(row["operation"], []).append(row)
    groups: dict[tuple[int, str], tuple[int, ...]] = {}
    for call in match(ops):
        if call.conflict or call.members is None:
            continue
        outputs: dict[str, dict[int, Row]] = {}
        for rank, at in call.rows.items():
            for made in by_operation.get(ops["operation"][at], []):
                outputs.setdefault(made["tensor"], {})[rank] = made
            if call.kind == "all_reduce" and ops["phase"][at] == "grad_sync" and ops["module"][at]:
                groups[rank, ops["module"][at]] = call.members
        found += [_dated(side) for same in outputs.values() if (side := _sides(same, call.members, share)) is not None]
    found += _parameters(_finite(params), groups, _shards(frame), share, idle)
    return min(found, key=lambda item: item[0])[1] if found else None


class Before(msgspec.Struct, frozen=True):
    """What came before a divergence of parameters. `used`: the same sides in an earlier row of that step, null where there is none;
    `equal`: a row of the last update after which all were equal."""

    used: Divergence | None = None
    equal: Row | None = None


def before(frame: pl.DataFrame, found: Divergence, share: float) -> Before:
    """The update that shows replicas apart may not be what parted them: that they were when the parameter was used in the same step."""
    row = found.row[min(found.row)]
    if row["phase"] != "optimizer" or row["base"] != "param":
        return Before()
    names = [pl.col(name).eq_missing(pl.lit(row[name])) for name in ("module", "tensor")]
    same = frame.filter(*names, pl.col("rank").is_in(list(found.row)), ~pl.col("bad").fill_null(True))
    now = same.filter((pl.col("step") == row["step"]) & (pl.col("phase") != "optimizer"))
    updates = same.filter(_UPDATED & (pl.col("step") < row["step"]))
    used = _first_of_each(now, found, share)
    last = _first_of_each(updates.filter(pl.col("step") == pl.col("step").max()), found, share)
    is_equal = last is not None and len(last.sides) == 1
    return Before(
        used if used is not None and used.sides == found.sides else None,
        last.row[min(last.row)] if last is not None and is_equal else None,
    )


def _first_of_each(rows: pl.DataFrame, found: Divergence, share: float) -> Divergence | None:
    """The first of these rows on each rank, and who agrees in them; null where a rank of `found` has none."""
    once = rows.sort("place").unique("rank", keep="first", maintain_order=True)
    first = {one["rank"]: one for one in once.iter_rows(named=True)}
    if first.keys() != found.row.keys() or len({one["microbatch"] for one in first.values()}) > 1:
        return None
    parts = sorted((tuple(side) for side in sides(first, share)), key=lambda side: (-len(side), side))
    return Divergence(tuple(parts), first, found.members)


def without_own_ways(frame: pl.DataFrame) -> pl.DataFrame:
    """Rows of `frame` without outputs and parameters that are another on each of three or more ranks in every one of several steps:
    whatever was recorded of them, it is not what all hold in common."""
    names = ["microbatch", "phase", "module", "op", "tensor"]
    figures = [name for name in (*FIGURES, "checksum") if frame[name].is_not_null().any()]
    shown = _finite(frame.filter(pl.col("kind").is_in(list(EQUAL_OUTPUTS)) | _UPDATED))
    if not figures or not shown.height:
        return frame
    each = shown.group_by("step", *names).agg(
        pl.struct(figures).n_unique().alias("apart"), pl.len().alias("rows"), pl.col("rank").n_unique().alias("ranks")
    )
    is_apart = (pl.col("apart") == pl.col("rows")) & (pl.col("ranks") >= _FEWEST)
    own = each.group_by(names).agg(is_apart.all().alias("own"), pl.len().alias("steps"))
    own = own.filter(pl.col("own") & (pl.col("steps") >= _SEVERAL))
    return frame.join(own.select(names), on=names, how="anti", nulls_equal=True, maintain_order="left")


def that_kept(frame: pl.DataFrame, divergence: Divergence) -> frozenset[int]:
    """Ranks whose parameter is that of their last update though the parameter of all others, who are as many or more, moved:
    their update was zero. Empty where it is about something else, or not all of that is recorded."""
    row = divergence.row[min(divergence.row)]
    if row["phase"] != "optimizer" or row["base"] != "param":
        return frozenset()
    names = [pl.col(name).eq_missing(pl.lit(row[name])) for name in ("module", "tensor")]
    before = frame.filter(_UPDATED & (pl.col("step") < row["step"]) & pl.all_horizontal(names))
    last = {one["rank"]: one for one in before.sort("place").unique("rank", keep="last").iter_rows(named=True)}
    figures = ("checksum", *FIGURES)
    if not divergence.row.keys() <= last.keys():
        return frozenset()
    same = [rank for rank, now in divergence.row.items() if all(now[name] == last[rank][name] for name in figures)]
    return frozenset(same) if 2 * len(same) <= len(divergence.row) else frozenset()


def _suspicious_steps(comms: pl.DataFrame, params: pl.DataFrame, share: float) -> list[int]:
    """The first steps in which some tensor of one name differs at all: only there calls are matched one by one."""
    names = ["step", "microbatch", "phase", "module", "op", "tensor"]
    found: set[int] = set()
    for part, key in ((comms, [*names, "group_ranks", "nth"]), (params, [*names, "nth"])):
        shown = [*dict.fromkeys([*names, "group_ranks", "rank", "place", "role", "bad", *FIGURES, "checksum"])]
        nth = pl.col("place").cum_count().over("rank", *names)
        counted = _finite(part.select(shown)).with_columns(nth.alias("nth"))
        if share:
            unlike = differ(lambda name: (pl.col(name).min(), pl.col(name).max()), share)
        else:
            figures = (pl.col(name) for name in (*FIGURES, "checksum"))
            unlike = pl.any_horizontal(one.n_unique() - one.has_nulls() > 1 for one in figures)
        found |= set(counted.group_by(key).agg(unlike.alias("differ")).filter("differ")["step"].to_list())
    return sorted(found)[:8]


def _finite(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.filter((pl.col("role") == "out") & ~pl.col("bad").fill_null(True))


def _shards(frame: pl.DataFrame) -> set[str]:
    """Parameters that are sent by a gather: shards differ by design."""
    return values(frame.filter((pl.col("kind") == "all_gather") & (pl.col("base") == "param"))["module"])


def _parameters(
    params: pl.DataFrame,
    groups: Mapping[tuple[int, str], tuple[int, ...]],
    shards: set[str],
    share: float,
    idle: Mapping[int, int],
) -> list[tuple[tuple[int, int], Divergence]]:
    same: dict[tuple[Any, ...], dict[int, Row]] = {}
    for row in params.iter_rows(named=True):
        inner = str(row["tensor"]).removeprefix("param").lstrip(".")
        name = f"{row['module']}.{inner}" if inner else str(row["module"])
        # Gradients are reduced under the parameter's own name, or all of a module under its.
        members = groups.get((row["rank"], name)) or groups.get((row["rank"], str(row["module"])))
        if members is not None and name not in shards and row["module"] not in shards:
            same.setdefault((row["step"], name, tuple(sorted(members))), {})[row["rank"]] = row
    found = [
        _sides(rows, tuple(one for one in members if idle.get(one, step + 1) > step), share)
        for (step, _, members), rows in same.items()
    ]
    return [_dated(side) for side in found if side is not None]


def _dated(side: Divergence) -> tuple[tuple[int, int], Divergence]:
    row = side.row[min(side.row)]
    return (row["step"], row["place"]), side


def _sides(rows: Mapping[int, Row], members: tuple[int, ...], share: float) -> Divergence | None:
    """None where all agree, or where fewer than two can be compared."""
    found = sorted((tuple(side) for side in sides(rows, share)), key=lambda side: (-len(side), side))
    return Divergence(tuple(found), rows, members) if len(found) > 1 else None
