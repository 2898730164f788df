"""Records of hardware: the only door to them, so that nobody forgets a gate.

Each record comes with what decides whether it counts: is it on a host of the job, did it come before the first trouble of
this attempt (anomaly_window.py), is it an error of the device and not of the program on it (the driver's catalogue), is it
rarer than on the other hosts that left a log, and which rank runs on the device. "No record" clears nobody.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec
import polars as pl
from msgspec.structs import replace

from forensics.assemble.who.identity import names_a_place
from forensics.facts.hosts.anomaly_window import AnomalyWindow, When
from forensics.facts.hosts.pods import ids_in, labelled_pods, pod_of_node, pods_of, pods_of_ids
from forensics.facts.rows.event_rows import Row, detail, of_kinds, rows_to_keep
from forensics.model.hosts import short_host
from forensics.model.taxonomy import EVENTS
from forensics.model.told import values
from parsers.catalogues import described
from parsers.schema.tables import Tables

KINDS = tuple(kind for kind, row in EVENTS.items() if "hardware" in row.roles or "recovery" in row.roles)
_BY_PROGRAM = ("device-side assert triggered", "invalid device ordinal", "invalid argument")
_COMMON = 0.3  # of the hosts that left a log
_FEWEST = 3
_RESET = "reset"  # code of parsers/kernel/amdgpu.py
_TOGETHER_NS = 120 * 10**9


class Record(msgspec.Struct, frozen=True):
    """`row`: of `events`. `host`: where, first label. `on_job`: whether processes of the job spoke from that host; null where
    the job's hosts are not known. `when`: before the trouble, of another time, or not to be told. `counts`: nothing shows
    that it is of another time; what is said of a rank's own device counts until the first rank gave up. `rank`: who runs on the device. `common`: as frequent on other hosts. `victims`: other devices of
    the host that reported what the catalogue calls a consequence, at the same time; 0 of a record that is one itself. `is_its`: by the id in its control
    group, or its number, the process is one of the job's."""

    row: Mapping[str, Any]
    host: str | None
    on_job: bool | None
    when: When
    counts: bool
    rank: int | None
    common: bool
    victims: int = 0
    is_its: bool = False

    @property
    def origin(self) -> str | None:
        """The code of the error that it follows from by its own words ("caused by previous Xid 94"), else its own."""
        told = detail(self.row).get("caused_by") if self.kind == "gpu_error" else None
        return str(told) if told else self.row["code"]

    @property
    def is_consequence(self) -> bool:
        """Does it follow from an error of another device, or from an earlier one of its own, by the catalogue or its own words?"""
        if self.origin != self.row["code"]:
            return described(self.origin).is_consequence
        told = detail(self.row)
        return bool(told.get("consequence")) or told.get("is_consequence_of_other") == "yes"

    @property
    def follows(self) -> bool:
        """Does it only follow from an error: as a consequence, or as the reset by which a driver answers an error, of all
        devices that are linked to the one that had it?"""
        return self.is_consequence or self.row["code"] == _RESET

    @property
    def kind(self) -> str:
        return str(self.row["kind"])

    @property
    def severity(self) -> str | None:
        """By the catalogue, else as the driver or its parser says."""
        told = self.row["severity"]
        if self.origin != self.row["code"]:
            return described(self.origin).severity or "error"
        return str(described(self.row["code"]).severity or told) if told != "info" else "info"

    @property
    def is_complaint_of_host(self) -> bool:
        """Is it an error that somebody else than a process of the job tells of a host of it, and that counts?"""
        is_of_process = "library" in detail(self.row)
        return self.counts and self.on_job is not False and not is_of_process and self.severity in ("error", "fatal")

    @property
    def is_device_error(self) -> bool:
        """Is it an error of the device itself? Not what a program does to itself, nor what only follows."""
        if described(self.origin).category in ("application", "informational"):
            return False
        return self.kind == "gpu_lost" or (self.kind == "gpu_error" and self.severity in ("error", "fatal"))

    @property
    def ends_device(self) -> bool:
        """After it the device computes nothing more."""
        return self.kind == "gpu_lost" or (self.kind == "gpu_error" and self.severity == "fatal")


def hardware(
    events: pl.DataFrame, tables: Tables, identity: pl.DataFrame, window: AnomalyWindow, job_hosts: frozenset[str]
) -> tuple[Record, ...]:
    """Every record of hardware, by place."""
    found = of_kinds(events, *KINDS)
    if not found.height:
        return ()
    same = found.group_by("kind", "code").agg(pl.col("host").drop_nulls().n_unique().alias("hosts"))
    hosts = {(kind, code): count for kind, code, count in same.iter_rows()}
    rows = rows_to_keep(found)
    del found  # of a row for each device of each host, a second copy of them all
    logged = _hosts_with_logs(tables)
    devices = Devices(identity)
    pods = pod_of_node(events, job_hosts)
    shown = list(_with_only_host(rows, devices, job_hosts if {*logged, *job_hosts} == job_hosts else frozenset()))
    failures = _only_failures(events, devices)
    inside = _in_pods(shown, events, tables, job_hosts) | _of_processes(shown, events)
    told = _records(shown, hosts, devices, window, job_hosts, len(logged), failures, pods)
    known = (
        replace(one, on_job=inside[key], is_its=inside[key] is True) if (key := _process(one.row)) in inside else one
        for one in told
    )
    return _with_victims(_of_an_unnamed_host(tuple(known), events))


def _process(row: Row) -> tuple[Any, Any]:
    return row["file"], row["pid"]


def _of_an_unnamed_host(found: tuple[Record, ...], events: pl.DataFrame) -> tuple[Record, ...]:
    """The same; what the only log of a kernel says of the only device that was gone before is of the one process, of no known rank, that met an error of its
    own device: the log does not say where it is from."""
    gone = [one for one in found if one.ends_device and one.counts and one.when == "before"]
    alike = all(one.host is None and is_same_device(one.row["pci"], gone[0].row["pci"]) for one in gone)
    met = events.filter((pl.col("kind") == "cuda_error") & pl.col("rank").is_null())
    if not gone or not alike or len({one.row["file"] for one in gone}) > 1 or met["host"].n_unique() != 1:
        return found
    return tuple(replace(one, on_job=True, is_its=True) if one in gone else one for one in found)


def _of_processes(rows: Iterable[Row], events: pl.DataFrame) -> dict[tuple[Any, Any], bool | None]:
    """Processes (file, pid) of records that tell no host, by numbers that a launcher tells of the ends of its own."""
    ended = values(events.filter((pl.col("kind") == "exit") & pl.col("pid").is_not_null())["pid"])
    return {_process(row): True for row in rows if row["host"] is None and row["rank"] is None and row["pid"] in ended}


def _in_pods(
    rows: Iterable[Row], events: pl.DataFrame, tables: Tables, job_hosts: frozenset[str]
) -> dict[tuple[Any, Any], bool | None]:
    """Processes that a kernel ended in a control group with an id (file, pid) → whether it is that of a pod or a container of the job. Where nobody tells whose id
    it is, and all that is known of the job's hosts are names of pods, whether one of these is on that kernel's node is not told."""
    inside: dict[tuple[Any, Any], frozenset[str]] = {}
    for row in rows:
        if row["pid"] is not None and row["rank"] is None and "memcg" in (row["detail"] or ""):
            inside[_process(row)] = inside.get(_process(row), frozenset()) | ids_in(row["detail"])
    inside = {one: ids for one, ids in inside.items() if ids}
    if not inside or not job_hosts:
        return {}
    whose = pods_of_ids(tables["ranks"])
    names = {*pods_of(events), *labelled_pods(tables["files"]["last_lines"], pl.Series(sorted(job_hosts)))}
    are_pods = job_hosts <= {*names, *whose.values()}
    found: dict[tuple[Any, Any], bool | None] = {}
    for one, ids in inside.items():
        told = {whose[own] in job_hosts for own in ids if own in whose}
        if told or are_pods:
            found[one] = (True in told) if told else None
    return found


def _with_only_host(rows: Iterable[Row], devices: "Devices", shown: frozenset[str]) -> Iterator[Row]:
    """Rows without a host, of a device that a rank of the job's only host says to have: of that host, if the bundle shows no other
    (`shown`: all hosts, or none), nor does the path name one that nothing else names."""
    only = next(iter(shown)) if len(shown) == 1 else None
    for row in rows:
        is_open = row["host"] is None and row["rank"] is None and not names_a_place(row["file"] or "")
        its = devices.rank_at(only, row["pci"], row["device_index"]) if only is not None and is_open else None
        yield {**row, "host": only} if its is not None else row


def _with_victims(found: tuple[Record, ...]) -> tuple[Record, ...]:
    """Records with the number of other devices of their host that suffered at the same time."""
    victims: dict[str, list[tuple[str, int | None]]] = defaultdict(list)
    for one in found:
        if one.host and one.row["pci"] and one.kind == "gpu_error" and one.is_consequence:
            victims[one.host].append((one.row["pci"], one.row["time_ns"]))

    def counted(one: Record) -> Record:
        suffered = victims.get(one.host or "") if one.kind == "gpu_error" and one.row["pci"] else None
        if not suffered or one.severity != "fatal" or one.is_consequence:
            return one
        others = {
            pci for pci, time in suffered
            if not is_same_device(pci, one.row["pci"])
            and (time is None or one.row["time_ns"] is None or abs(time - one.row["time_ns"]) <= _TOGETHER_NS)
        }  # fmt: skip
        return replace(one, victims=len(others))

    return tuple(counted(one) for one in found)


def _only_failures(events: pl.DataFrame, devices: "Devices") -> dict[str, int]:
    """Host → the one rank there that met an error of its device which its program need not have brought about, where one device at most was
    lost. Where one rank alone did, and does not tell where it ran, it was on the one host on which, as the launcher says, a process failed."""
    raised = events.filter((pl.col("kind") == "cuda_error") & (pl.col("rank_space") == "global"))
    ranks = values(raised.filter(~pl.col("code").is_in(_BY_PROGRAM).fill_null(False))["rank"])
    ends = pl.col("kind").is_in(["exit", "first_failure"]) & pl.col("severity").is_in(["error", "fatal"])
    hosts = {short_host(host) for host in events.filter(ends)["host"].drop_nulls()}
    met: dict[str, list[int]] = defaultdict(list)
    for rank in sorted(ranks):
        if (host := devices.host_of(rank)) is not None:
            met[host].append(rank)
    lost: dict[str, set[tuple[str, str]]] = defaultdict(set)
    gone = events.filter(pl.col("kind").is_in(["gpu_lost", "gpu_error"]) & (pl.col("severity") == "fatal"))
    for host, pci in gone.select("host", "pci").drop_nulls().unique().iter_rows():
        lost[short_host(host)].add(_whole(pci))
    found = {host: own[0] for host, own in met.items() if len(own) == 1 and len(lost[host]) <= 1}
    if len(ranks) == 1 and len(hosts) == 1 and devices.host_of(min(ranks)) is None:
        found[hosts.pop()] = min(ranks)
    return found


def _records(
    rows: Iterable[Row],
    hosts: Mapping[tuple[str, str | None], int],
    devices: "Devices",
    window: AnomalyWindow,
    job_hosts: frozenset[str],
    logged: int,
    failures: Mapping[str, int],
    pods: Mapping[str, str],
) -> Iterator[Record]:
    """`hosts`: how many hosts have records of a kind and code."""
    for row in rows:
        own = row["rank"] if row["rank_space"] == "global" else None
        host = short_host(row["host"]) if row["host"] else devices.host_of(own)
        there = pods.get(host, host) if host is not None else None
        on_job = (there in job_hosts) if job_hosts and there is not None else None if not job_hosts else False
        on_job = True if own is not None else on_job  # whose process it tells of is one of the job
        rank = own if own is not None else devices.rank_at(there, row["pci"], row["device_index"])
        common = logged > _FEWEST and hosts[row["kind"], row["code"]] > _COMMON * logged
        counts = window.counts(row) or (rank is not None and window.is_during(row))
        one = Record(row, host, on_job, window.when(row), counts, rank, common)
        met = failures.get(there or "") if rank is None and one.ends_device and counts else None
        if met is not None and devices.may_use(met, row["pci"]):
            one = replace(one, rank=met)
        yield one


def _hosts_with_logs(tables: Tables) -> frozenset[str]:
    told = (host for name in ("files", "events") for host in tables[name]["host"].drop_nulls().unique())
    return frozenset(short_host(host) for host in told)


class Devices:
    """Which rank runs on which device of which host."""

    def __init__(self, identity: pl.DataFrame) -> None:
        rows = list(identity.iter_rows(named=True)) if identity.height else []
        self._host = {row["rank"]: row["host"] for row in rows}
        usual = _usual_addresses(rows)
        self._address = {row["rank"]: row["pci"] or usual.get(row["rank"]) for row in rows}
        self._on: dict[str, list[tuple[int, str | None, int | None]]] = defaultdict(list)
        for row in rows:
            if row["host"] is not None:
                index = row["device_index"] if row["device_index"] is not None else row["local_rank"]
                self._on[row["host"]].append((row["rank"], row["pci"] or usual.get(row["rank"]), index))

    def host_of(self, rank: int | None) -> str | None:
        return self._host.get(rank) if rank is not None else None

    def may_use(self, rank: int, pci: str | None) -> bool:
        """Does nothing that the rank printed of its device speak against this address?"""
        own = self._address.get(rank)
        return own is None or pci is None or is_same_device(own, pci)

    def rank_at(self, host: str | None, pci: str | None, index: int | None) -> int | None:
        """The only rank on this device; addresses are compared whole, the function aside."""
        here = self._on.get(host, []) if host is not None else []
        if pci:
            found = [rank for rank, own, _ in here if is_same_device(pci, own)]
        else:
            found = [rank for rank, _, own_index in here if index is not None and index == own_index]
        return found[0] if len(found) == 1 else None


def _usual_addresses(rows: list[dict[str, Any]]) -> dict[int, str]:
    """Where the device of a rank that printed no address must be: every rank with its local number, on two other hosts at
    least, has it there, and no other rank of its own host does."""
    at: dict[int, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    taken: dict[str, set[str]] = defaultdict(set)
    placed = [row for row in rows if row["local_rank"] is not None and row["host"] is not None]
    for row in placed:
        if row["pci"] is not None:
            at[row["local_rank"]][row["pci"]].add(row["host"])
            taken[row["host"]].add(row["pci"])
    found = {}
    for row in placed:
        addresses = at.get(row["local_rank"], {})
        if row["pci"] is None and len(addresses) == 1:
            ((address, hosts),) = addresses.items()
            if len(hosts) > 1 and address not in taken[row["host"]]:
                found[row["rank"]] = address
    return found


def is_same_device(one: str | None, other: str | None) -> bool:
    """The same PCI address: domain, bus and slot; a domain that is not printed is 0, the function does not count."""
    return one is not None and other is not None and _whole(one) == _whole(other)


def _whole(pci: str) -> tuple[str, str]:
    domain, _, rest = pci.lower().rpartition(":")
    domain, _, bus = domain.rpartition(":")
    return domain.lstrip("0"), f"{bus}:{rest.split('.')[0]}"


def device_records(records: Iterable[Record], rank: int) -> list[Record]:
    """Errors of the device of this rank, and none of another time than the anomaly."""
    return [one for one in records if one.rank == rank and one.counts and one.severity in ("error", "fatal")]
