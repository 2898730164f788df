"""When is when: how far the hosts' clocks are apart, how well that is known, and which of two events came first.

A clock is a host together with what its stamps count (utc, local, boot). Anchors are moments that all members of a group
share: a collective that ends, a communicator that is ready, a step that is done. Per clock, offset = the median over
anchors of (its time − the median of all clocks), bound = 3 · 1.48 · MAD + transport + the resolution of its stamps. Fewer than
FEWEST anchors give no bound, and without a bound nothing is ordered across clocks. Stamps without zone differ by
whole half hours, or by the quarters of a few zones; that part of an offset is reported apart. A kernel's seconds since boot are tied to the wall clock by
the setting boot_time_ns of its host.

Fooled by: anchors that end apart by nature (broadcast, send), which are not taken; a clock that is set during the run,
which widens MAD and so the bound.
"""

from collections.abc import Iterator, Mapping
from functools import partial

import msgspec
import polars as pl

from forensics.model.hosts import hosts_of_ranks, short_host
from forensics.model.told import told_by
from parsers.schema.tables import Tables
from parsers.text.stamps import SECOND_NS

FEWEST = 3
_no_anchor = partial(pl.DataFrame, schema={"key": pl.String(), "clock": pl.String(), "time": pl.Int64()})
TRANSPORT_NS = 1_000_000
_SPREAD = 3 * 1.48  # three standard deviations, from the median of the absolute differences
BOOT_BOUND_NS = 1_000_000_000  # a log prints the time of boot to the second
_ZONE_NS = 1800 * SECOND_NS
# The offsets of the tz database (2025b) that are no half hours: Nepal, Eucla, Chatham and its summer.
_QUARTERS_NS = tuple(sign * minutes * 60 * SECOND_NS for minutes in (345, 525, 765, 825) for sign in (1, -1))
_NEAR_ZONE_NS = 300 * SECOND_NS
_ROWS = 500_000  # operations that are looked at, spread over their numbers
_ENDS_TOGETHER = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "barrier")
_MOMENT = ["key", "clock"]


class Clock(msgspec.Struct, frozen=True):
    """One clock. `offset_ns`: how far it is ahead of the others, `zone_ns` of it the difference of time zones;
    `bound_ns`: the error that remains, None = unknown."""

    host: str | None
    basis: str
    offset_ns: int | None = None
    bound_ns: int | None = None
    zone_ns: int = 0
    anchors: int = 0


class Clocks(msgspec.Struct, frozen=True):
    """All clocks of a case, by (host, basis)."""

    known: Mapping[tuple[str | None, str], Clock] = msgspec.field(default_factory=dict)

    @property
    def skew_bound_s(self) -> float | None:
        """The largest error between any two wall clocks; None where it is unknown for one of several."""
        bounds = [clock.bound_ns for clock in self.known.values() if clock.basis != "boot"]
        if len(bounds) == 1:
            return 0.0
        stated = [bound for bound in bounds if bound is not None]
        return max(stated) / SECOND_NS if stated and len(stated) == len(bounds) else None

    def aligned(self, time_ns: int, host: str | None, basis: str | None = "utc") -> tuple[int, int | None]:
        """(the time by the common clock, its error; None = unknown, the time is as printed)."""
        clock = self.known.get(_name(host, basis))
        if clock is None or clock.offset_ns is None:
            return time_ns, None
        return time_ns - clock.offset_ns, clock.bound_ns

    def precedes(
        self,
        a_ns: int,
        host_a: str | None,
        b_ns: int,
        host_b: str | None,
        *,
        basis_a: str | None = "utc",
        basis_b: str | None = "utc",
    ) -> bool | None:
        """Did a happen before b? None = the clocks cannot tell."""
        first, second = _name(host_a, basis_a), _name(host_b, basis_b)
        if first == second and first[0] is not None:  # the same clock
            return None if a_ns == b_ns else a_ns < b_ns
        (a, error_a), (b, error_b) = self.aligned(a_ns, host_a, basis_a), self.aligned(b_ns, host_b, basis_b)
        if error_a is None or error_b is None or abs(a - b) <= error_a + error_b:
            return None
        return a < b


def _name(host: str | None, basis: str | None) -> tuple[str | None, str]:
    return (short_host(host) if host else None, basis or "utc")


def clocks_of(tables: Tables, identity: pl.DataFrame) -> Clocks:
    """Evidence tables of one attempt, ranks made global → its clocks."""
    hosts = hosts_of_ranks(identity)
    found = {name: Clock(*name) for name in _seen(tables, hosts)}
    anchors = pl.concat([_operations(tables, hosts), _inits(tables, hosts), _steps(tables, hosts)])
    found |= {name: clock for name, clock in _estimate(anchors).items() if name[0] is not None}
    found |= dict(_boots(tables, found))
    return Clocks(dict(sorted(found.items(), key=lambda item: (str(item[0][0]), item[0][1]))))


def _clock(frame: pl.DataFrame, hosts: Mapping[int, str]) -> pl.DataFrame:
    """The column `clock` as "basis host", for rows that say or imply a host."""
    implied = pl.col("rank").replace_strict(hosts, default=None, return_dtype=pl.String)
    said = pl.coalesce("host", implied) if "host" in frame.columns else implied
    basis = pl.col("time_basis").fill_null("utc") if "time_basis" in frame.columns else pl.lit("utc")
    names = frame.with_columns(said.alias("_host"), basis.alias("_basis"))
    short = names.select(pl.col("_host").unique().drop_nulls())["_host"].to_list()
    firsts = pl.col("_host").replace_strict({name: short_host(name) for name in short}, return_dtype=pl.String)
    return names.drop_nulls("_host").with_columns(pl.concat_str("_basis", pl.lit(" "), firsts).alias("clock"))


def _seen(tables: Tables, hosts: Mapping[int, str]) -> Iterator[tuple[str | None, str]]:
    """Clocks that events are stamped by."""
    stamped = tables["events"].select("host", "rank", "time_basis", "time_ns").drop_nulls("time_ns")
    if stamped.height:
        for text in _clock(stamped, hosts)["clock"].unique().to_list():
            yield _split(text)


def _split(text: str) -> tuple[str, str]:
    basis, _, host = text.partition(" ")
    return host, basis


@told_by("operations", nothing=_no_anchor)
def _operations(tables: Tables, hosts: Mapping[int, str]) -> pl.DataFrame:
    columns = ("rank", "host", "group", "desc", "seq", "kind", "is_p2p", "time_completed_ns")
    recorded = tables["operations"].select(columns)
    is_end = pl.col("time_completed_ns").is_not_null() & ~pl.col("is_p2p") & pl.col("kind").is_in(_ENDS_TOGETHER)
    count = recorded.select(is_end.sum()).item()
    ended = recorded.filter(is_end & (pl.col("seq") % max(1, count // _ROWS) == 0))
    key = pl.concat_str(pl.lit("op"), "group", "desc", "seq", separator="\x00", ignore_nulls=True)
    return _clock(ended, hosts).select(key.alias("key"), "clock", pl.col("time_completed_ns").alias("time"))


@told_by("events", kinds=("comm_init_complete",), nothing=_no_anchor)
def _inits(tables: Tables, hosts: Mapping[int, str]) -> pl.DataFrame:
    is_ready = (pl.col("kind") == "comm_init_complete") & pl.col("time_basis").ne_missing("boot")
    ready = tables["events"].filter(is_ready).with_columns(_comm=pl.col("detail").str.extract(r'"comm_id": ?"([^"]+)"'))
    ready = ready.drop_nulls(["time_ns", "_comm"])
    key = pl.concat_str(pl.lit("init"), "_comm", separator="\x00")
    return _clock(ready, hosts).select(key.alias("key"), "clock", pl.col("time_ns").alias("time"))


@told_by("steps", nothing=_no_anchor)
def _steps(tables: Tables, hosts: Mapping[int, str]) -> pl.DataFrame:
    done = tables["steps"].drop_nulls(["step", "time_ns"]).unique(["rank", "file", "phase", "step"], keep="none")
    key = pl.concat_str(pl.lit("step"), "phase", "framework", "step", separator="\x00", ignore_nulls=True)
    return _clock(done, hosts).select(key.alias("key"), "clock", pl.col("time_ns").alias("time"))


def _estimate(anchors: pl.DataFrame) -> dict[tuple[str | None, str], Clock]:
    """Offsets and bounds from moments that clocks share."""
    if not anchors.height:
        return {}
    moments = anchors.group_by(_MOMENT).agg(pl.col("time").median().cast(pl.Int64))
    moments = moments.filter(pl.len().over("key") > 1).sort(_MOMENT)
    if not moments.height:
        return {}
    offsets = _coarse(moments)
    known = moments.join(offsets, on="clock")
    for _ in range(2):  # the median of all is the common time, once the large differences are gone
        centre = (pl.col("time") - pl.col("offset")).median().over("key")
        known = known.with_columns((pl.col("time") - pl.col("offset") - centre).alias("rest"))
        nearer = pl.col("offset") + pl.col("rest").median().over("clock")
        known = known.with_columns(nearer.cast(pl.Int64).alias("offset"))
    centres = known.group_by("key").agg((pl.col("time") - pl.col("offset")).median().alias("centre"))
    counts = known.group_by("clock").agg(pl.col("offset").first(), pl.len().alias("count"))
    rest = (pl.col("time") - pl.col("offset") - pl.col("centre")).abs().median()  # of each printer, not of its host
    rows = (
        anchors.join(centres, on="key")
        .join(counts, on="clock")
        .group_by("clock", "offset", "count")
        .agg(rest.alias("mad"), _resolution(pl.col("time")).alias("step"))
        .select("clock", "offset", "mad", "count", "step")
    )
    return {_split(text): _made(text, *rest) for text, *rest in rows.sort("clock").iter_rows()}


def _resolution(time: pl.Expr) -> pl.Expr:
    """What the last digit of all stamps is worth, if that is much."""
    whole, milli = (time % SECOND_NS == 0).all(), (time % 1_000_000 == 0).all()
    return pl.when(whole).then(SECOND_NS).when(milli).then(1_000_000).otherwise(0)


def nearest_zone_ns(difference_ns: int) -> int:
    """The difference from UTC of a time zone that comes nearest to a difference of two clocks."""
    half = round(difference_ns / _ZONE_NS) * _ZONE_NS
    return min((half, *_QUARTERS_NS), key=lambda zone: abs(difference_ns - zone))


def _made(text: str, offset: int, mad: float, count: int, resolution: int) -> Clock:
    host, basis = _split(text)
    zone = nearest_zone_ns(offset) if basis == "local" else 0
    if abs(offset - zone) > _NEAR_ZONE_NS:
        zone = 0
    bound = round(_SPREAD * mad) + TRANSPORT_NS + resolution if count >= FEWEST else None
    return Clock(host, basis, offset, bound, zone, count)


def _coarse(moments: pl.DataFrame) -> pl.DataFrame:
    """Each clock's offset from the one with most moments, through others where they share none; those out of reach are
    left out."""
    counted = moments.group_by("clock").len().with_columns(pl.col("clock").str.starts_with("utc ").alias("utc"))
    reference = counted.sort("utc", "len", "clock", descending=[True, True, False])["clock"][0]
    offsets = pl.DataFrame({"clock": [reference], "offset": [0]}, schema={"clock": pl.String, "offset": pl.Int64})
    while True:
        reached = moments.join(offsets, on="clock")
        truth = reached.group_by("key").agg((pl.col("time") - pl.col("offset")).median().alias("truth"))
        others = moments.join(offsets, on="clock", how="anti").join(truth, on="key")
        if not others.height:
            return offsets
        new = others.group_by("clock").agg((pl.col("time") - pl.col("truth")).median().cast(pl.Int64).alias("offset"))
        offsets = pl.concat([offsets, new.sort("clock")])


def _boots(
    tables: Tables, found: Mapping[tuple[str | None, str], Clock]
) -> Iterator[tuple[tuple[str | None, str], Clock]]:
    """A kernel's clock, from when its host booted by the wall clock of that host."""
    if not tables["settings"].height:
        return
    told = tables["settings"].filter(pl.col("name").is_in(["boot_time_ns", "boot_time_local_ns"]))
    told = told.drop_nulls("host").sort("name", "host", "file").select("name", "host", "value")
    for name, host, value in told.rows():
        basis = "utc" if name == "boot_time_ns" else "local"
        wall = found.get(_name(host, basis))
        offset, bound = (wall.offset_ns, wall.bound_ns) if wall is not None else (None, None)
        whole = None if bound is None else bound + BOOT_BOUND_NS
        yield _name(host, "boot"), Clock(short_host(host), "boot", (offset or 0) - int(value), whole)
