"""The first giving-up: when somebody's wait ended at its time-out. What fails afterwards followed from it.

Stamps of one host order two ends where they differ by more than printing takes; those of two hosts only beyond the known
error of their clocks. Where that is not known, a host may be an hour ahead: then what came a minute later followed, as it
accuses nobody, and nothing is known to have come before. Within one file its lines order what has no stamp.
"""

from collections.abc import Mapping
from typing import Literal

import msgspec
import polars as pl
from msgspec.structs import replace

from forensics.assemble.who.clocks import Clocks
from forensics.facts.ends.process_ends import ProcessEnd
from forensics.model.hosts import hosts_of_ranks, short_host
from forensics.model.taxonomy import RAN_OUT

Order = Literal["before", "after"]
# A store is waited for before work begins, and what fails then follows from nothing that stood still.
KINDS = (*(kind for kind in RAN_OUT if kind != "store_timeout"), "desync")
_MINUTE_NS = 60_000_000_000
_Clock = tuple[str | None, str]  # host, basis


class GivingUp(msgspec.Struct, frozen=True):
    """`times`: (host, basis) → first stamp. `lines`: file → first line. `hosts`: rank → host."""

    times: Mapping[_Clock, int]
    lines: Mapping[str, int]
    hosts: Mapping[int, str] = msgspec.field(default_factory=dict)
    clocks: Clocks = msgspec.field(default_factory=Clocks)

    def order(self, end: ProcessEnd) -> Order | None:
        """Did a process end before or after the first giving-up? None: nothing tells, or nobody gave up."""
        if end.time_ns is not None and self.times:
            own = (self.hosts.get(end.rank), end.time_basis or "utc")
            found = None
            for clock, first in self.times.items():
                order = self._against(end.time_ns, own, first, clock)
                if order == "after":
                    return order
                found = order or found
            if found is not None:
                return found
        for ref in end.refs:
            if ref.file in self.lines and ref.line is not None:
                return "before" if ref.line < self.lines[ref.file] else "after"
        return None

    def _against(self, time_ns: int, own: _Clock, first_ns: int, clock: _Clock) -> Order | None:
        """The order of an end and one clock's first giving-up."""
        far = abs(time_ns - first_ns) > _MINUTE_NS
        if own[1] != clock[1]:
            return None
        if own == clock or None in (own[0], clock[0]):
            return None if not far else "before" if time_ns < first_ns else "after"
        before = self.clocks.precedes(time_ns, own[0], first_ns, clock[0], basis_a=own[1], basis_b=clock[1])
        if before is not None:
            return "before" if before else "after"
        return "after" if far and time_ns > first_ns else None


def giving_up(events: pl.DataFrame, identity: pl.DataFrame, clocks: Clocks) -> GivingUp:
    """Events without recovered errors → the first giving-up per clock and per file."""
    hosts = {rank: short_host(host) for rank, host in hosts_of_ranks(identity).items()}
    rows = events.select("kind", "rank", "rank_space", "host", "time_basis", "time_ns", "file", "line")
    rows = rows.filter(pl.col("kind").is_in(KINDS))
    times: dict[_Clock, int] = {}
    stamped = rows.drop_nulls("time_ns").group_by("rank", "rank_space", "host", "time_basis")
    for rank, space, host, basis, time_ns in stamped.agg(pl.col("time_ns").min()).iter_rows():
        where = hosts.get(rank) if space == "global" and rank is not None else None
        clock = (where or (short_host(host) if host else None), basis or "utc")
        times[clock] = min(times.get(clock, time_ns), time_ns)
    lines = dict(rows.drop_nulls("line").group_by("file").agg(pl.col("line").min()).iter_rows())
    # Whoever ended after any mostly ended after the first.
    ordered = dict(sorted(times.items(), key=lambda one: one[1]))
    return GivingUp(ordered, lines, hosts, clocks)


def in_order(ends: Mapping[int, ProcessEnd], first: GivingUp) -> dict[int, ProcessEnd]:
    """Ends by rank → the same, read in the light of the first giving-up: who failed before it died by itself, whatever its
    code; who failed after it followed."""
    return {rank: _read(end, first) for rank, end in ends.items()}


def _read(end: ProcessEnd, first: GivingUp) -> ProcessEnd:
    order = first.order(end) if end.how in ("died", "failed") else None
    if end.how == "failed" and order == "before":
        return replace(end, how="died")
    return replace(end, how="followed") if order == "after" else end
