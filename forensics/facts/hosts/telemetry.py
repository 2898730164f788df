"""Which device, port or host stands apart from its peers in what was measured of it, and whose traffic fell to zero.

Peers are devices of the same model, and of the same pipeline stage where the layout is known; what carries no rank of the
job (a spare host) is compared with its like. A device counts by its median over time, or over the later half, against the
median of its peers: beyond a distance that matters for that quantity, and far beyond their spread. Of counters the growth
counts, or the value where there is only one moment. What more than _COMMON of the peers show distinguishes nobody. Memory
that tells of rows that fail does so without peers, too.

Of whom a file tells neither host nor rank, only rows of one file, or with one UUID, are of one device: hosts have the same
PCI addresses. What is shown is a value of the device, or how much its count grew, at the median of its peers theirs.

Nobody is accused by this: devices differ, and one that works for others, or is placed at the hot end of its rack, stands
apart, too. `interval_s`: a scrape every so many seconds shows nothing that is shorter.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Literal

import msgspec
import polars as pl

from forensics.facts.durations.outliers import spread_of, spreads_apart
from forensics.facts.durations.roles import Roles
from forensics.facts.hosts.hardware import Devices
from forensics.model.hosts import short_host, short_hosts
from forensics.model.middle import lower_median, median
from forensics.model.ref import Ref
from forensics.model.said import Said
from forensics.model.told import told_by
from forensics.words import facts as words
from parsers.schema.tables import Tables
from parsers.text.quantities import QUANTITIES

Effect = Literal["slows", "idle", "fails", "link", "silent", "crowded", "shows"]

_PEERS = 4  # at least, the device included
_COMMON, _HOSTS = 0.3, 3
_QUIET = 0.01  # of its own earlier level: no traffic
_EARLIER = 2  # intervals before the others


class _Rule(msgspec.Struct, frozen=True):
    """`least`: the distance that matters; a share of the peers' median where `is_share`. `quiet`: no peers are believed to
    agree better than this, in the same measure. `sign`: which way."""

    least: float
    quiet: float
    sign: tuple[int, ...]
    effect: Effect
    is_share: bool = False


_GAUGES: Mapping[str, _Rule] = {
    "temperature_c": _Rule(12, 2, (1,), "shows"),
    "memory_temperature_c": _Rule(12, 2, (1,), "shows"),
    "sm_clock_mhz": _Rule(0.07, 0.01, (-1,), "slows", True),
    "power_w": _Rule(0.3, 0.04, (-1, 1), "shows", True),
    "power_limit_w": _Rule(0.05, 0.01, (-1,), "slows", True),
    "utilization_pct": _Rule(40, 5, (-1,), "idle"),
    "pcie_width": _Rule(0.4, 0.05, (-1,), "slows", True),
    "port_gbps": _Rule(0.3, 0.05, (-1,), "link", True),
    "nvlinks_active": _Rule(0.05, 0.01, (-1,), "link", True),
    "port_active": _Rule(0.5, 0.05, (-1,), "link"),
    "cpu_idle_pct": _Rule(40, 5, (-1,), "crowded"),
}
# Flags: the share of moments in which they are set. Counters: how much more than the busiest of the others, and at least.
_FLAGS: Mapping[str, Effect] = {
    "throttle_thermal": "slows", "throttle_hardware": "slows", "remap_failed": "fails", "remap_pending": "fails",
}  # fmt: skip
_COUNTS: Mapping[str, tuple[float, Effect]] = {
    "ecc_uncorrectable": (1, "fails"), "ecc_correctable": (1000, "shows"), "pcie_replays": (100, "link"),
    "nvlink_errors": (100, "link"), "port_errors": (10, "link"), "port_downs": (1, "link"),
}  # fmt: skip
_SPENT = 60  # retired pages of one device, of 64 that it can retire: NVIDIA has it replaced
_MORE = 10.0  # times the others
_OFTEN, _SELDOM = 0.5, 0.1  # of the moments: a flag of the one, of its peers
_THERMAL, _HARDWARE = 0x60, 0x88  # bits of NVML's clock event reasons
_DEVICE = ("host", "pci", "device_index", "part", "rank", "unit")  # columns of one device or port
_BYTES = ("port_bytes_received", "port_bytes_sent")


class Apart(msgspec.Struct, frozen=True):
    """One device or port that stands apart. `effect`: slows (its work takes longer), idle, fails, link (its connection),
    silent (its traffic fell to zero), crowded (the processors of the host are taken), shows (nothing by itself). `centre`: its peers' median; `peers`: how many. `since_ns`: the first moment
    at which it was as far away as later; `is_from_start`: as long as it was measured; `metric`: as its tool calls the quantity."""

    host: str | None
    pci: str | None
    index: int | None
    part: str | None
    rank: int | None
    quantity: str
    effect: Effect
    value: float
    centre: float
    peers: int
    moments: int
    interval_s: float | None
    since_ns: int | None
    is_from_start: bool
    refs: tuple[Ref, ...]
    unit: str | None = None
    metric: str | None = None

    @property
    def device(self) -> tuple[str | int | None, ...]:
        """The device, whatever its port."""
        return self.host, self.pci, self.index, self.unit

    @property
    def who(self) -> Said:
        """The device or port, in words."""
        device = self.pci or (str(self.index) if self.index is not None else None)
        port = words.PORT(port=self.part) if self.part else words.SOME_DEVICE
        thing = words.CPUS if self.effect == "crowded" else words.DEVICE(device=device) if device else port
        thing = words.OF_HOST(thing=thing, host=self.host) if self.host else thing
        return words.OF_RANK(thing=thing, rank=self.rank) if self.rank is not None else thing

    @property
    def word(self) -> Said:
        """The quantity in words."""
        return words.QUANTITY[self.quantity]

    @property
    def seen(self) -> Said:
        """What the sampling could show."""
        if self.moments < 2:
            return words.ONE_MOMENT
        return words.SAMPLED_EVERY(seconds=self.interval_s) if self.interval_s else words.SAMPLES(number=self.moments)

    @property
    def text(self) -> Said:
        """The statement, with figures, peers and the sampling."""
        unit = QUANTITIES.get(self.quantity, "")
        said = {"who": self.who, "peers": self.peers, "seen": self.seen, "quantity": self.word}
        if self.quantity == "traffic":
            return words.TRAFFIC_ENDED(**said)
        if self.quantity == "retired_pages":
            return words.PAGES_RETIRED(**said, value=self.value)
        if unit == "flag" and self.quantity != "port_active":
            return words.FLAG_SET(**said) if self.peers >= _PEERS - 1 else words.FLAG_SEEN(**said)
        if self.quantity in _COUNTS and self.moments > 1:
            return words.GROWTH_APART(**said, value=self.value, centre=self.centre)
        unit = "" if unit in ("count", "flag", "links", "code", "lanes") else f" {unit}"
        return words.VALUE_APART(**said, value=self.value, centre=self.centre, unit=unit)


@told_by("devices", nothing=tuple[Apart, ...])
def apart(tables: Tables, identity: pl.DataFrame, roles: Roles) -> tuple[Apart, ...]:
    """Rows of devices → who stands apart, by quantity and place."""
    rows = samples(tables, identity, roles)
    found: list[Apart] = []
    for (quantity, *_), part in rows.partition_by("quantity", "model", "stage", as_dict=True).items():
        found += _of_quantity(str(quantity), part)
    found += _silent(rows)
    idle = {one.device for one in found if one.quantity == "utilization_pct"}
    return tuple(one for one in found if one.quantity != "sm_clock_mhz" or one.device not in idle)


def samples(tables: Tables, identity: pl.DataFrame, roles: Roles) -> pl.DataFrame:
    """Measures with a quantity: host, pci, device_index, part, rank, unit (what tells devices of unknown hosts apart), model,
    stage, quantity, value, time_ns, place; bits of throttling are taken apart."""
    rows = tables["devices"].filter(pl.col("quantity").is_not_null() & pl.col("value").is_finite())
    nobodys = pl.col("host").is_null() & pl.col("rank").is_null()
    rows = rows.with_columns(short_hosts(), unit=pl.when(nobodys).then(pl.coalesce("uuid", "file")))
    bits = rows.filter(pl.col("quantity") == "throttle_reasons").with_columns(pl.col("value").cast(pl.Int64))
    taken = [
        bits.with_columns(quantity=pl.lit(name), value=((pl.col("value") & mask) > 0).cast(pl.Float64))
        for name, mask in (("throttle_thermal", _THERMAL), ("throttle_hardware", _HARDWARE))
    ]
    rows = pl.concat([rows, *taken])
    rows = rows.with_columns(there=pl.coalesce("host", "file"))
    keys = ["host", "pci", "device_index", "uuid", "rank", "there"]
    who = rows.select(keys).unique(maintain_order=True)
    devices = Devices(identity)
    uuids = dict(identity.select("uuid", "rank").drop_nulls().iter_rows()) if identity.height else {}
    models = _models(tables["settings"])
    placed = [
        (*one, uuids.get(one[3], devices.rank_at(one[0], one[1], one[2])) if one[4] is None else one[4], models.get((one[5], one[1]), ""))
        for one in who.iter_rows()
    ]  # fmt: skip
    stages = roles.stages([one[6] for one in placed if one[6] is not None])
    schema = {**who.schema, "_rank": pl.Int64(), "model": pl.String(), "stage": pl.Int64()}
    known = pl.DataFrame([(*one, stages.get(one[6], -1)) for one in placed], schema=schema, orient="row")
    joined = rows.join(known, on=keys, how="left", nulls_equal=True, maintain_order="left")
    joined = joined.with_columns(rank=pl.coalesce("rank", "_rank")).drop("_rank", "there")
    return joined.sort("time_ns", "file", "line", "record", nulls_last=True)


def _models(settings: pl.DataFrame) -> dict[tuple[str | None, str | None], str]:
    """(host, or file where it tells none; PCI address) → name of the device's model: hosts have the same addresses."""
    named = settings.filter((pl.col("name") == "gpu_name") & pl.col("scope").str.starts_with("gpu "))
    rows = named.select("host", "file", pl.col("scope").str.strip_prefix("gpu "), "value").drop_nulls("value")
    return {(short_host(host) if host else file, pci): value for host, file, pci, value in rows.iter_rows()}


# --- one quantity among peers ----------------------------------------------------------------------------------------

_Who = tuple[str | None, str | None, int | None, str | None, int | None, str | None]
_Series = tuple[_Who, pl.DataFrame]


def _series(rows: pl.DataFrame) -> list[_Series]:
    """Device or port → its rows, in order of time."""
    listed = rows.with_columns(pl.col("part").fill_null("")).group_by(_DEVICE, maintain_order=True)
    return [((key[0], key[1], key[2], key[3] or None, key[4], key[5]), part) for key, part in listed]


def _of_quantity(quantity: str, rows: pl.DataFrame) -> Iterator[Apart]:
    last = _last(rows) if quantity == "last_xid" else []
    alone = _is_alone(last)
    if quantity == "last_xid" and not any(alone):
        return  # told without a frame for each of many devices
    series = _series(rows)
    # Memory that fails does so by itself.
    if len(series) < _PEERS and _FLAGS.get(quantity) != "fails" and quantity != "retired_pages":
        return
    if quantity in _GAUGES:
        yield from _gauge(quantity, series)
    elif quantity in _FLAGS:
        levels = [max(float((own["value"] > 0).sum()) / own.height for own in _by_metric(part)) for _, part in series]
        high = [level >= _OFTEN for level in levels]
        if len(series) < _PEERS or (median(levels) <= _SELDOM and _is_few(high, series)):
            yield from _told(quantity, _FLAGS[quantity], series, levels, high)
    elif quantity == "retired_pages":
        held = [float(sum(own["value"].to_list()[-1] for own in _by_metric(part))) for _, part in series]
        yield from _told(quantity, "fails", series, held, [pages >= _SPENT for pages in held])
    elif quantity in _COUNTS:
        least, effect = _COUNTS[quantity]
        grown = [sum(map(_growth, _by_metric(part))) for _, part in series]
        far = [value >= least and value > _MORE * median(grown) for value in grown]
        if _is_few(far, series):
            yield from _told(quantity, effect, series, grown, far)
    elif quantity == "last_xid":
        yield from _told(quantity, "fails", series, last, alone)


def _last(rows: pl.DataFrame) -> list[float]:
    """The last value of each device or port, in the order of `_series`."""
    keys = [pl.col(key).fill_null("") if key == "part" else pl.col(key) for key in _DEVICE]
    return [float(value) for value in rows.group_by(keys, maintain_order=True).agg(pl.col("value").last())["value"]]


def _is_alone(values: list[float]) -> list[bool]:
    """Which of them are not zero, and few others say."""
    counts = Counter(values)
    return [value > 0 and counts[value] <= _COMMON * len(values) for value in values]


def _is_few(far: list[bool], series: list[_Series]) -> bool:
    """So few that they are odd: a small share of the peers, or one host of several."""
    hosts = {one[0][0] for one, is_far in zip(series, far, strict=True) if is_far}
    all_hosts = {one[0][0] for one in series}
    return sum(far) <= max(1, _COMMON * len(series)) or (len(hosts) == 1 and len(all_hosts) >= _HOSTS)


def _by_metric(rows: pl.DataFrame) -> list[pl.DataFrame]:
    """Rows of each metric that is of this quantity: memories have counters of their own, slowdowns several reasons."""
    return rows.partition_by("metric")


def _growth(rows: pl.DataFrame) -> float:
    """Of a count: how much it grew; a fall means that it began anew. One moment alone: its value. Files without times may
    stand in any order."""
    values = rows["value"].to_list()
    if len(values) == 1:
        return float(values[0])
    if rows["time_ns"].null_count():
        return float(max(values) - min(values))
    return float(sum(later - earlier if later >= earlier else later for earlier, later in pairwise(values)))


def _gauge(quantity: str, series: list[_Series]) -> Iterator[Apart]:
    rule = _GAUGES[quantity]
    later = [lower_median(part["value"].slice(part.height // 2)) for _, part in series]
    whole = [lower_median(part["value"]) for _, part in series]
    far_later, far_whole = _far(later, rule), _far(whole, rule)
    shown = [a if is_later else b for a, b, is_later in zip(later, whole, far_later, strict=True)]
    far = [a or b for a, b in zip(far_later, far_whole, strict=True)]
    if _is_few(far, series):
        yield from _told(quantity, rule.effect, series, shown, far)


def _far(values: list[float], rule: _Rule) -> list[bool]:
    centre = median(values)
    size = abs(centre) if rule.is_share else 1.0
    if not size:
        return [False] * len(values)
    spread = max(spread_of(values) / size, rule.quiet)
    limit = max(rule.least, spreads_apart(len(values)) * spread)
    return [any(sign * (value - centre) / size >= limit for sign in rule.sign) for value in values]


def _told(
    quantity: str, effect: Effect, series: list[_Series], values: list[float], far: Iterable[bool]
) -> Iterator[Apart]:
    for number, is_far in enumerate(far):
        if is_far:
            others = [value for at, value in enumerate(values) if at != number]
            centre = lower_median(others) if others else 0.0
            yield _one(quantity, effect, series[number], values[number], centre, len(others))


def _one(quantity: str, effect: Effect, one: _Series, value: float, centre: float, peers: int) -> Apart:
    (host, pci, index, part, rank, unit), rows = one
    unlike = pl.concat([rows.head(1), rows.tail(1)]).unique(maintain_order=True)
    refs = tuple(
        Ref(file=row["file"], line=row["record"] if row["line"] is None else row["line"], text=f"{row['metric']} {row['text'] or row['value']}")
        for row in unlike.iter_rows(named=True)
    )  # fmt: skip
    moments, interval_s = _sampling(rows)
    since_ns, is_from_start = _since(rows, value, centre)
    return Apart(
        host, pci, index, part, rank, quantity, effect, value, centre, peers, moments, interval_s, since_ns, is_from_start, refs, unit, rows["metric"][0]
    )  # fmt: skip


def _since(rows: pl.DataFrame, value: float, centre: float) -> tuple[int | None, bool]:
    """The first moment at which a device was more than half as far from its peers as later; whether that is the first of all."""
    halfway = (value + centre) / 2
    far = rows["value"] >= halfway if value > centre else rows["value"] <= halfway
    first = far.to_list().index(True) if far.any() else 0
    return rows["time_ns"][first], first == 0


def _sampling(rows: pl.DataFrame) -> tuple[int, float | None]:
    """Moments, and the distance of two of them at the median."""
    times = rows["time_ns"].drop_nulls().unique().sort()
    gaps = times.diff().drop_nulls()
    return max(len(times), rows.height if not len(times) else 0), float(gaps.median()) / 1e9 if len(gaps) else None  # type: ignore[arg-type]


# --- traffic ---------------------------------------------------------------------------------------------------------


def _silent(rows: pl.DataFrame) -> Iterator[Apart]:
    """Ports whose traffic fell to zero and stayed there while most others went on, for two intervals at least."""
    ends: dict[int, float] = {}
    told: list[tuple[_Series, float, float]] = []
    is_traffic = pl.col("quantity").is_in([*_BYTES, *(f"{name}_per_s" for name in _BYTES)])
    moving = rows.filter(is_traffic).drop_nulls("time_ns")
    for who, part in _series(moving):
        points = _rates(part)
        if len(points) < 3:
            continue
        level = median(rate for _, rate in points)
        level = max(level, median(rate for _, rate in points[: max(1, len(points) // 3)]))
        if level <= 0:
            continue
        last = max((time for time, rate in points if rate > _QUIET * level), default=None)
        if last is not None:
            ends[len(told)] = points[-1][0] - last
            told.append(((who, part), level, points[1][0] - points[0][0]))
    quiet = [number for number, silence in ends.items() if silence >= _EARLIER * told[number][2] > 0]
    if len(told) >= _PEERS and quiet:
        usual = median(ends.values())
        early = [number for number in quiet if ends[number] - usual >= _EARLIER * told[number][2]]
        if len(early) <= _COMMON * len(told):
            for number in early:
                one, level, _ = told[number]
                yield _one("traffic", "silent", one, 0.0, level, len(told) - len(early))


def _rates(rows: pl.DataFrame) -> list[tuple[float, float]]:
    """(seconds, bytes per second), both directions added; of a counter the difference to the moment before."""
    found: dict[float, float] = {}
    for part in rows.partition_by("quantity", "metric"):
        times = [time / 1e9 for time in part["time_ns"].to_list()]
        values = part["value"].to_list()
        if str(part["quantity"][0]).endswith("_per_s"):
            points = list(zip(times, values, strict=True))
        else:
            steps = zip(times, times[1:], values, values[1:], strict=False)
            points = [(b, max(v - u, 0.0) / (b - a)) for a, b, u, v in steps if b > a]
        for time, rate in points:
            found[time] = found.get(time, 0.0) + rate
    return sorted(found.items())
