"""Which ranks a quota of processor time holds back: their control group was throttled in many of its periods, those of others were not.

A group is a rank's where its path holds the number of that rank's process alone, or where the file was taken of that rank. A group that holds
all of the job tells nobody apart.
"""

import re
from collections.abc import Iterator

import msgspec
import polars as pl

from forensics.facts.rows.event_rows import reference
from forensics.model.middle import median
from forensics.model.ref import Ref
from parsers.schema.tables import Tables

_OFTEN = 0.2  # of the periods: a process that is held back in fewer loses less than steps vary by
_PERIODS = 10  # at least, a second of the usual ones
_MORE = 2.0  # times what others show
_NUMBER = re.compile(r"(?<!\d)\d{3,10}(?!\d)")  # shorter ones count ranks, processors and slices
_THROTTLED, _ALL = "cgroup/nr_throttled", "cgroup/nr_periods"


class Throttled(msgspec.Struct, frozen=True):
    """`folder`: of the control group; `version`: of control groups, null where it is not told."""

    rank: int
    folder: str
    version: int | None
    throttled: int
    periods: int
    refs: tuple[Ref, ...]

    @property
    def share(self) -> float:
        return self.throttled / self.periods


def throttled(tables: Tables, identity: pl.DataFrame) -> tuple[Throttled, ...]:
    """Table `devices` and who is who → the ranks that are held back."""
    rows = tables["devices"].filter(pl.col("metric").is_in([_THROTTLED, _ALL]) & pl.col("part").is_not_null())
    if not rows.height:
        return ()
    own = {one.rank: one for one in _of_ranks(rows, identity)}
    found = []
    for rank, one in sorted(own.items()):
        others = [other.share for other in own.values() if other.rank != rank]
        if one.share >= max(_OFTEN, _MORE * median(others) if others else 0.0):
            found.append(one)
    return tuple(found)


def _of_ranks(rows: pl.DataFrame, identity: pl.DataFrame) -> Iterator[Throttled]:
    ranks: dict[int, set[int]] = {}
    known = identity.select("pid", "rank").drop_nulls().iter_rows() if identity.height else ()
    for pid, rank in known:
        ranks.setdefault(pid, set()).add(rank)
    for (part, _), group in rows.partition_by("part", "file", as_dict=True).items():
        told = {row["metric"]: row for row in group.sort("line").iter_rows(named=True)}
        if told.keys() != {_THROTTLED, _ALL} or told[_ALL]["value"] < _PERIODS:
            continue
        numbers = {int(number) for number in _NUMBER.findall(str(part))}
        named = set().union(*(ranks.get(number, set()) for number in numbers)) or {told[_THROTTLED]["rank"]} - {None}
        if len(named) == 1:
            version = told[_THROTTLED]["text"]
            yield Throttled(
                min(named), str(part).removesuffix("/cpu.stat"), int(version) if version in ("1", "2") else None,
                int(told[_THROTTLED]["value"]), int(told[_ALL]["value"]),
                tuple(reference(row | {"text": f"{name.partition('/')[2]} {row['value']:.0f}"}) for name, row in told.items()),
            )  # fmt: skip
