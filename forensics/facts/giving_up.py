"""The first giving-up: when somebody's wait ended at its time-out. What fails afterwards followed from it.

Stamps that count alike and lie further apart than clocks do order two ends; else, within one file, its lines. Nothing else
orders anything.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import polars as pl

from forensics.facts.process_ends import ProcessEnd

Order = Literal["before", "after"]
KINDS = ("collective_timeout", "barrier_missing", "desync")
_CLOCKS_NS = 60_000_000_000  # where the error of the clocks is not known


@dataclass(frozen=True, slots=True)
class GivingUp:
    """`times`: basis → first stamp. `lines`: file → first line. `clocks_ns`: how far clocks may be apart."""

    times: Mapping[str, int]
    lines: Mapping[str, int]
    clocks_ns: int = _CLOCKS_NS

    def order(self, end: ProcessEnd) -> Order | None:
        """Did a process end before or after the first giving-up? None: nothing tells, or nobody gave up."""
        first = self.times.get(end.time_basis or "utc")
        if first is not None and end.time_ns is not None and abs(end.time_ns - first) > self.clocks_ns:
            return "before" if end.time_ns < first else "after"
        for ref in end.refs:
            if ref.file in self.lines and ref.line is not None:
                return "before" if ref.line < self.lines[ref.file] else "after"
        return None


def giving_up(events: pl.DataFrame, skew_bound_s: float | None) -> GivingUp:
    """Events without recovered errors → the first giving-up per clock and per file."""
    rows = events.filter(pl.col("kind").is_in(KINDS))
    stamped = rows.drop_nulls("time_ns").with_columns(pl.col("time_basis").fill_null("utc"))
    times = dict(stamped.group_by("time_basis").agg(pl.col("time_ns").min()).iter_rows())
    lines = dict(rows.drop_nulls("line").group_by("file").agg(pl.col("line").min()).iter_rows())
    bound = _CLOCKS_NS if skew_bound_s is None else int(skew_bound_s * 1e9)
    return GivingUp(times, lines, bound)


def in_order(ends: Mapping[int, ProcessEnd], first: GivingUp) -> dict[int, ProcessEnd]:
    """Ends by rank → the same, read in the light of the first giving-up: who failed before it died by itself, whatever its
    code; who failed after it followed."""
    return {rank: _read(end, first.order(end)) for rank, end in ends.items()}


def _read(end: ProcessEnd, order: Order | None) -> ProcessEnd:
    if end.how == "failed" and order == "before":
        return replace(end, how="died")
    return replace(end, how="followed") if end.how in ("died", "failed") and order == "after" else end
