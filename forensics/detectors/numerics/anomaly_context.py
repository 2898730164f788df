"""What surrounds a first anomaly: growth before it, births that repeat on one rank or module, hardware, checkpoints."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
import polars as pl

from forensics.case import Case
from forensics.detectors.numerics.anomaly_rows import Row, ref, where
from forensics.graph.numerics.births import Births
from forensics.graph.numerics.growth import Growth, chance, fastest, growth_of
from forensics.model.finding import Claim
from forensics.model.hosts import short_host
from forensics.model.incident import Action, Device, to_do
from forensics.model.ref import Ref
from forensics.model.said import Form, joined
from forensics.words import numerics as words

_NEAR_BITS = 3.0  # less headroom than this is worth saying
_GROWN = 4.0
_RARE = 1e-3  # a place that holds so many births by chance is suspect
_REPEATS = 3
_BEFORE_S, _AFTER_S = 1800.0, 5.0  # a hardware record counts from half an hour before to a moment after
# Xid that report the hardware; the others (13, 31, 43, 45, …) may be the program's doing.
_HARDWARE = frozenset(
    f"xid:{number}" for number in (46, 48, 61, 62, 63, 64, 74, 79, 92, 94, 95, 109, 110, 119, 120, 121, 140, 143, 149)
)
_DEVICE_KINDS = ("gpu_error", "gpu_lost", "memory_error", "pcie_error")


def growth_claims(births: Births, row: Row) -> Iterator[Claim]:
    """The series of the bad tensor, of what went into its operation, else of the rank's fastest growing output."""
    inside = births.rows.filter((pl.col("operation") == row["operation"]) & (pl.col("role") == "in"))
    found = [growth_of(births.history, row)]
    found += [growth_of(births.history, given) for given in inside.head(2).iter_rows(named=True)]
    telling = [growth for growth in found if growth is not None and _is_telling(growth)]
    if not telling and (other := fastest(births.history, row["rank"], row["place"])) is not None:
        telling.append(other)
    for growth in telling[:2]:
        figures = joined((words.AT_STEP(step=step, value=f"{value:.4g}") for step, value in growth.series), ", ")
        text, bits = words.GROWTH(where=where(growth.row), figures=figures), growth.headroom_bits
        if bits is not None:
            text = words.HEADROOM(growth=text, bits=f"{max(bits, 0):.1f}", dtype=growth.row["dtype"])
        yield Claim(text, "for", (ref(growth.row),))


def _is_telling(growth: Growth) -> bool:
    near = growth.headroom_bits is not None and growth.headroom_bits < _NEAR_BITS
    return near or growth.factor >= _GROWN


def repeat_claims(case: Case, births: Births) -> Iterator[Claim]:
    """How many steps had births, and how grave; and the rank, host, pipeline stage, module or operation that holds more of
    them than by chance. A rank or host speaks for a device, a module or operation for the numerics."""
    hosts = case.host_of_rank
    stages = {rank: place["pp"] for rank, place in case.coordinates.items() if "pp" in place}
    ended: dict[int, bool] = {}
    seen: set[tuple[int, int, Any, Any]] = set()
    for root in births.spread.roots:
        step, module, op = (births.ops[name][root.at] for name in ("step", "module", "op"))
        ended[step] = ended.get(step, True) and root.ended
        if root.rank is not None:
            seen.add((step, root.rank, module, op))
    if len(ended) > 1:
        minor, observed = sum(ended.values()), births.history["step"].n_unique()
        yield Claim(words.STEPS_WITH_BAD_VALUES(number=len(ended), observed=observed, minor=minor), "for")
    if len({step for step, *_ in seen}) < _REPEATS:
        return
    modules, ops = Counter(births.ops["module"].drop_nulls()), Counter(births.ops["op"].drop_nulls())
    ranks = births.ranks
    yield from _crowded(words.CROWDED_RANK, [rank for _, rank, _, _ in seen], dict.fromkeys(ranks, 1))
    places: tuple[tuple[Form, Mapping[int, Any]], ...] = ((words.CROWDED_HOST, hosts), (words.CROWDED_STAGE, stages))
    for form, place in places:
        yield from _crowded(form, [place.get(rank) for _, rank, _, _ in seen], Counter(map(place.get, ranks)))
    yield from _crowded(words.CROWDED_MODULE, [module for _, _, module, _ in seen], dict.fromkeys(modules, 1))
    yield from _crowded(words.CROWDED_OPERATION, [op for _, _, _, op in seen], ops)


def _crowded(form: Form, places: Sequence[Any], sizes: Mapping[Any, int]) -> Iterator[Claim]:
    """The place with most births, if it holds more than its size lets expect; nothing where places are not known."""
    if None in places or None in sizes or len(sizes) < 2:
        return
    name, hits = max(Counter(places).items(), key=lambda item: (item[1], str(item[0])))
    odds = chance(hits, len(places), sizes.get(name, 0) / sum(sizes.values()))
    if hits >= _REPEATS and 0 < odds < _RARE:
        where = form(name=name)
        yield Claim(words.HOLDS_MANY(place=where, hits=hits, number=len(places), odds=f"{1 / odds:.2g}"), "for")


class Hardware(msgspec.Struct, frozen=True):
    """Records of the devices or hosts that the named ranks run on."""

    claims: tuple[Claim, ...] = ()
    devices: tuple[Device, ...] = ()
    actions: tuple[Action, ...] = ()


def hardware_near(case: Case, rows: Sequence[Row]) -> Hardware:
    """Errors of the device or host of every rank in `rows` (their first bad rows), shortly before the anomaly.

    They count only if each of the ranks has one, on its device where the record tells it and the rank's is known.
    """
    found = [_records(case, row) for row in rows]
    if not found or not all(found):
        return Hardware()
    unique = {(record["file"], record["line"], record["record"]): record for records in found for record in records}
    records = list(unique.values())
    hosts = sorted({short_host(record["host"]) for record in records})
    claims = [
        Claim(words.SHORTLY_BEFORE(host=record["host"], code=record["code"] or record["kind"]), "for",
              (Ref(file=record["file"], line=record["line"], text=record["text"] or ""),))
        for record in records[:5]
    ]  # fmt: skip
    actions = [to_do("drain_node", host, words.ERROR_SHORTLY_BEFORE) for host in hosts]
    devices = {Device(host=record["host"], pci=record["pci"], index=record["device_index"]) for record in records}
    return Hardware(tuple(claims), tuple(sorted(devices, key=str)), tuple(actions))


def _records(case: Case, row: Row) -> list[Row]:
    host, pci, when = _place(case, row)
    if host is None or when is None:
        return []
    events = case.events
    fatal = pl.col("kind").is_in(["gpu_lost", "pcie_error"]) | pl.col("code").is_in([*_HARDWARE, "uncorrectable"])
    timed = pl.col("time_ns").is_not_null() & (pl.col("time_basis").fill_null("utc") != "boot")
    near = (pl.col("time_ns") / 1e9 - when).is_between(-_BEFORE_S, _AFTER_S)
    mine = events.filter(pl.col("kind").is_in(_DEVICE_KINDS) & fatal & timed & near & pl.col("host").is_not_null())
    return [
        record
        for record in mine.sort("time_ns", "file", "line").iter_rows(named=True)
        if short_host(record["host"]) == short_host(host) and _is_same(pci, record["pci"])
    ]


def _is_same(own: str | None, told: str | None) -> bool:
    """Addresses are printed with and without domain and function."""
    if own is None or told is None:
        return True
    return own.lower().split(".")[0][-5:] == told.lower().split(".")[0][-5:]


def _place(case: Case, row: Row) -> tuple[str | None, str | None, float | None]:
    """(host, PCI address, seconds by the host's clock)."""
    host, pci = row["host"], None
    if case.identity.height:
        known = case.identity.filter(pl.col("rank") == row["rank"])
        if known.height:
            host, pci = host or known["host"][0], known["pci"][0]
    return host, pci, row["timestamp"]


def step_claims(case: Case, births: Births, row: Row) -> Iterator[Claim]:
    """The last step in which nothing bad was seen, and checkpoints that may hold the bad value."""
    before = [step for step in births.history["step"].unique().to_list() if step < row["step"]]
    if before:
        yield Claim(words.LAST_STEP_BEFORE(step=max(before)), "for")
    later = next((one for one in case.checkpoints.complete if one.step >= row["step"]), None)
    if later is not None:
        reference = () if later.ref is None else (later.ref,)
        yield Claim(words.CHECKPOINTS_MAY_HOLD_IT(step=later.step), "for", reference)
