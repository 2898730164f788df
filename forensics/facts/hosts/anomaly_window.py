"""Did a record of a host, a kernel or a device come before what ended the attempt, or is it of another time?

A hardware record counts only if it precedes the anomaly (contract, honesty 4). The anomaly begins when the first rank
began to wait in the call that was given up (its watchdog's line less how long the call ran), when the first operation
that never ended was made, or when the first process failed, whichever is first; failures that the job outlived by later
steps do not count. A rank may begin to wait up to a step before another one stops, so a wait allows for one step.

What the job outlived by work completed afterwards, what an anomaly precedes, and what is much older is `apart`. So is
what a boot of the host lies behind. Two clocks without known offset are taken as printed where they count alike; where
one has no zone, zones differ by half hours (few by quarters) up to 14 hours, and a record that fits only by such a shift, or whose
clock cannot be compared at all, is `unknown`: it may be told, but it proves nothing by its time.

Fooled by: hosts whose clocks are minutes apart in a bundle without anchors; a container in another zone than its host
whose stamps then read as within the hour. What a kernel says of a process of the job, by its number, may fit by such a
shift also where neither has a zone: a container keeps its own.
"""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, Literal

import msgspec
import polars as pl

from forensics.assemble.who.clocks import Clocks, nearest_zone_ns
from forensics.model.hosts import hosts_of_ranks, short_host
from forensics.model.taxonomy import EVENTS
from parsers.schema.tables import Tables
from parsers.text.stamps import SECOND_NS

When = Literal["before", "unknown", "apart"]
_FAILED = (
    "exception", "cuda_error", "gpu_oom", "exit", "peer_closed", "remote_error", "store_timeout", "first_failure",
)  # fmt: skip
_OF_KERNELS = frozenset(kind for kind, row in EVENTS.items() if row.printer == "kernel")
_MINUTE_NS = 60 * SECOND_NS
_HOUR_NS = 60 * _MINUTE_NS
_ZONES_NS = 14 * _HOUR_NS
_SHIFTED_NS = 2 * _MINUTE_NS  # how long before the anomaly a record may be that fits in another zone only
_FAILURE_NS = 2 * SECOND_NS  # stamps of whole seconds
_STEP_NS, _LONGEST_NS = 30 * SECOND_NS, 2 * _MINUTE_NS  # one step where its length is not known, and at most
_SHORTEST_NS = 5 * SECOND_NS
_OUTLIVED_NS = 10 * SECOND_NS  # lines of steps may be printed late


class Moment(msgspec.Struct, frozen=True):
    """A stamp of one clock. `slack_ns`: how much later a cause may be stamped, the errors of clocks aside. `is_zone_open`: it
    has no zone, and its printer may keep another one than all others."""

    time_ns: int
    host: str | None
    basis: str
    slack_ns: int = 0
    is_zone_open: bool = False


class AnomalyWindow:
    """When the anomaly of a case began, for comparing any number of records with it."""

    def __init__(
        self,
        events: pl.DataFrame,
        tables: Tables,
        identity: pl.DataFrame,
        clocks: Clocks,
        opened: pl.DataFrame | None = None,
    ) -> None:
        """`events`: without recovered errors. `opened`: the operations that flight records show as open."""
        self._events, self._tables, self._identity = events, tables, identity
        self._clocks, self._opened = clocks, opened
        self._known: dict[Moment, When] = {}

    def when(self, row: Mapping[str, Any]) -> When:
        """A row of `events` → before the anomaly and near it, of another time, or not to be told."""
        if row["time_ns"] is None:
            return "unknown"
        moment = Moment(row["time_ns"], row["host"], row["time_basis"] or "utc", is_zone_open=_is_of_number(row))
        if moment not in self._known:
            self._known[moment] = self._when(moment)
        return self._known[moment]

    def _when(self, moment: Moment) -> When:
        if self._is_outlived(moment) or self._is_before_launch(moment):
            return "apart"
        said = {self._against(moment, begun) for begun in self._begun}
        if "late" in said or self._has_booted_since(moment):
            return "apart"
        return "before" if "before" in said else "apart" if "old" in said else "unknown"

    def is_during(self, row: Mapping[str, Any]) -> bool:
        """Did it come while ranks already waited, and before the first of them gave up? A device that stops inside a call is
        often reported only then."""
        if row["time_ns"] is None or not self._gave_up:
            return False
        moment = Moment(row["time_ns"], row["host"], row["time_basis"] or "utc")
        if self._is_outlived(moment) or self._has_booted_since(moment):
            return False
        ends = {self._against(moment, end) for end in self._gave_up}
        return "before" in ends and "late" not in ends

    @cached_property
    def _gave_up(self) -> list[Moment]:
        """Per clock the first time-out."""
        return list(self._first(self._events.filter(pl.col("kind") == "collective_timeout"), 0))

    def counts(self, row: Mapping[str, Any]) -> bool:
        """Whether nothing shows that a record is of another time. What a process of the job says itself counts whenever it
        notices it: often only after its wait was given up."""
        is_own = row["rank"] is not None and row["rank_space"] == "global" and row["pid"] is None
        return is_own or self.when(row) != "apart"

    @cached_property
    def _begun(self) -> list[Moment]:
        """Per clock the first wait, the first open operation and the first failure that no later step outlived."""
        found = [*self._waits(), *self._failures(), *self._open()]
        return [moment for moment in found if not self._is_outlived(moment)]

    @cached_property
    def _step_ns(self) -> int:
        """How long a step takes: the median of its lines' distances."""
        steps = self._tables["steps"].drop_nulls(["time_ns", "step"]).sort("file", "rank", "time_ns")
        apart = steps.select(pl.col("time_ns").diff().over("file", "rank").alias("ns")).filter(pl.col("ns") > 0)["ns"]
        median = apart.median()
        return min(max(int(median), _SHORTEST_NS), _LONGEST_NS) if isinstance(median, float) else _STEP_NS

    @cached_property
    def _progress(self) -> list[Moment]:
        """Per clock the last completed work."""
        steps = self._tables["steps"].drop_nulls(["time_ns"])
        last = steps.group_by("time_basis").agg(pl.col("time_ns").max()).sort("time_basis")
        found = [Moment(time, None, basis or "utc") for basis, time in last.iter_rows()]
        done = self._tables["operations"]["time_completed_ns"].max()
        return [*found, Moment(done, None, "utc")] if isinstance(done, int) else found

    def _waits(self) -> Iterator[Moment]:
        ran = (pl.col("value").fill_null(0) * 1e6).cast(pl.Int64)
        rows = self._events.filter(pl.col("kind") == "collective_timeout")
        yield from self._first(rows.with_columns((pl.col("time_ns") - ran).alias("time_ns")), self._step_ns)

    def _failures(self) -> Iterator[Moment]:
        rows = self._events.filter(pl.col("kind").is_in(_FAILED) & (pl.col("code").is_null() | (pl.col("code") != "0")))
        yield from self._first(rows, _FAILURE_NS)

    def _open(self) -> Iterator[Moment]:
        opened = self._opened
        if opened is not None and opened.height and "time_created_ns" in opened.columns:
            first = opened["time_created_ns"].min()
            if isinstance(first, int):
                yield Moment(first, None, "utc", self._step_ns)

    def _first(self, rows: pl.DataFrame, slack: int) -> Iterator[Moment]:
        rows = rows.drop_nulls("time_ns").with_columns(pl.col("time_basis").fill_null("utc"))
        hosts = hosts_of_ranks(self._identity)
        implied = pl.col("rank").replace_strict(hosts, default=None, return_dtype=pl.String)
        rows = rows.with_columns(pl.coalesce("host", implied).alias("_host"))
        first = rows.group_by("_host", "time_basis").agg(pl.col("time_ns").min())
        for host, basis, time in first.sort("_host", "time_basis", nulls_last=True).iter_rows():
            yield Moment(time, host, basis, slack)

    def _is_outlived(self, moment: Moment) -> bool:
        """Was work completed long enough after it, by clocks that count alike?"""
        for last in self._progress:
            ns, sure = self._distance(moment, last)
            if ns is None or ns >= -max(_OUTLIVED_NS, 2 * self._step_ns):
                continue
            if sure or ns >= -_HOUR_NS or ns < -_ZONES_NS:
                return True
        return False

    def _is_before_launch(self, moment: Moment) -> bool:
        """Is it older than all that the launcher's processes printed by more than any zone?"""
        printed = self._first_printed_ns
        return moment.basis != "boot" and printed is not None and moment.time_ns < printed - _ZONES_NS - _HOUR_NS

    @cached_property
    def _first_printed_ns(self) -> int | None:
        """When the launcher's processes first printed."""
        printed = self._tables["files"].filter(pl.col("attempt").is_not_null())["time_first_ns"].min()
        return printed if isinstance(printed, int) else None

    def _against(self, moment: Moment, begun: Moment) -> Literal["before", "unknown", "old", "late"]:
        ns, sure = self._distance(moment, begun)
        if ns is None:
            return "unknown"
        if sure or abs(ns) <= _HOUR_NS:
            old = ns < -_HOUR_NS and not self._is_last(moment)
            return "late" if ns > begun.slack_ns else "old" if old else "before"
        shifted = ns - nearest_zone_ns(ns)
        if abs(ns) <= _ZONES_NS + _SHIFTED_NS and -_SHIFTED_NS <= shifted <= begun.slack_ns:
            return "unknown"
        return "late" if ns > 0 else "old"

    def _is_last(self, moment: Moment) -> bool:
        """Was no work completed after it, by a clock that tells?"""
        apart = [self._distance(moment, last) for last in self._progress]
        return bool(apart) and all(sure for _, sure in apart)

    def _distance(self, one: Moment, other: Moment) -> tuple[int | None, bool]:
        """(one − other, whether both clocks count alike); None where they cannot be compared."""
        first, second = self._offset(one), self._offset(other)
        if one.basis == other.basis and (one.basis != "boot" or _host(one) == _host(other)):
            known = first is not None and second is not None
            sure = known or not (one.is_zone_open and one.basis == "local")
            return one.time_ns - other.time_ns - ((first or 0) - (second or 0) if known else 0), sure
        if first is not None and second is not None:
            return (one.time_ns - first) - (other.time_ns - second), True
        if (one.basis == "boot" and first is None) or (other.basis == "boot" and second is None):
            return None, False
        boots = [offset or 0 if moment.basis == "boot" else 0 for moment, offset in ((one, first), (other, second))]
        return (one.time_ns - boots[0]) - (other.time_ns - boots[1]), False

    def _offset(self, moment: Moment) -> int | None:
        clock = self._clocks.known.get((_host(moment), moment.basis))
        return clock.offset_ns if clock is not None else None

    @cached_property
    def _boots(self) -> list[Moment]:
        """When hosts booted, as far as it was not after the anomaly: an operator boots them then."""
        told = self._tables["settings"].filter(pl.col("name").is_in(["boot_time_ns", "boot_time_local_ns"]))
        found = [
            Moment(int(value), host, "utc" if name == "boot_time_ns" else "local")
            for name, host, value in told.select("name", "host", "value").drop_nulls().iter_rows()
        ]
        return [boot for boot in found if any(self._against(boot, begun) == "before" for begun in self._begun)]

    def _has_booted_since(self, moment: Moment) -> bool:
        return any(
            boot.time_ns > moment.time_ns and (_host(boot), boot.basis) == (_host(moment), moment.basis)
            for boot in self._boots
        )


def _is_of_number(row: Mapping[str, Any]) -> bool:
    """Does a kernel name a process that is a rank's by its number on that host?"""
    if row.get("kind") not in _OF_KERNELS or row["pid"] is None:
        return False
    return row["rank"] is not None and row["rank_space"] == "global"


def _host(moment: Moment) -> str | None:
    return short_host(moment.host) if moment.host else None
