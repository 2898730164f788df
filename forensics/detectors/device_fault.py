"""Did a device of the job fail, by the driver's word?

A record counts if it is an error of the device (not of the program that ran on it), stands on a host of the job, precedes
the end, and is rarer than the fleet's base rate. "No Xid" clears nobody. A driver's record names host and device; the
rank where it is known to run there, and the device is dead or the rank never showed that it waited for others. Where the bundle holds kernel logs
alone, they are all there is to say.
"""

import polars as pl

from forensics.case import Case, Claim, Detector, Finding
from forensics.detectors.log_lines import (
    Row,
    has_open_operations,
    has_waited,
    host_of,
    is_only_about_hosts,
    job_hosts,
    own_rank,
    refs,
    rows,
)
from forensics.detectors.progress import step_in_progress
from forensics.graph.operations import ranks_text
from forensics.incident import Action, Device, FirstAnomaly

# What a program does to itself, or what only follows another fault: driver's catalogue, class "application".
_BY_PROGRAM = ("xid:13", "xid:31", "xid:43", "xid:45", "xid:68", "xid:69")
# After these the device computes nothing more: uncorrectable memory, links or controller down, off the bus.
_DEADLY = ("xid:48", "xid:62", "xid:74", "xid:79", "xid:95", "xid:119", "xid:120", "xid:140")
_COMMON = 0.3  # of the hosts with kernel logs
_HOUR_NS = 3_600_000_000_000
_MINUTE_NS = 60_000_000_000


def _is_fault(row: Row) -> bool:
    if row["code"] in _BY_PROGRAM:
        return False
    return bool(row["kind"] == "gpu_lost" or row["severity"] in ("error", "fatal"))


def _end_ns(case: Case) -> tuple[int, int] | None:
    """(when the first rank began to wait or failed, when the last failure line was printed)."""
    failed = case.tables["events"].filter(
        pl.col("kind").is_in(["collective_timeout", "exception", "cuda_error", "exit", "peer_closed"])
        & pl.col("time_ns").is_not_null()
        & (pl.col("time_basis") != "boot").fill_null(True)
    )
    if not failed.height:
        return None
    waited = pl.when(pl.col("kind") == "collective_timeout").then(pl.col("value").fill_null(0)).otherwise(0)
    begun = failed.select((pl.col("time_ns") - (waited * 1e6).cast(pl.Int64)).min()).item()
    return int(begun), int(failed["time_ns"].max())  # type: ignore[arg-type]


def _in_time(row: Row, window: tuple[int, int] | None) -> bool:
    if window is None or row["time_ns"] is None or row["time_basis"] in ("boot", "local"):
        return True  # clocks that cannot be compared exclude nothing
    begun, ended = window
    return bool(begun - _HOUR_NS <= row["time_ns"] <= ended + _MINUTE_NS)


def _is_common(case: Case, row: Row) -> bool:
    events = case.tables["events"].filter(pl.col("host").is_not_null())
    hosts = events["host"].n_unique()
    same = events.filter(pl.col("code").eq_missing(pl.lit(row["code"], pl.String)) & (pl.col("kind") == row["kind"]))[
        "host"
    ].n_unique()
    return hosts > 3 and same > _COMMON * hosts


def _device(row: Row, host: str | None) -> Device:
    return Device(host=host, pci=row["pci"], index=row["device_index"], uuid=None)


def _rank_at(case: Case, host: str | None, row: Row) -> int | None:
    """The rank that runs on the device: by the process the driver names, else by host and address or index."""
    if (rank := own_rank(row)) is not None:
        return rank
    if host is None or not case.identity.height:
        return None
    here = case.identity.filter(pl.col("host") == host)
    if row["pci"]:
        here = here.filter(pl.col("pci").str.replace(r"\.[0-9a-f]$", "").str.tail(7) == row["pci"].split(".")[0][-7:])
    elif row["device_index"] is not None:
        here = here.filter(pl.coalesce("device_index", "local_rank") == row["device_index"])
    else:
        return None
    return int(here["rank"][0]) if here.height == 1 else None


def _is_deadly(row: Row) -> bool:
    return row["code"] in _DEADLY or row["kind"] == "gpu_lost" or row["severity"] == "fatal"


def _accused_by_graph(case: Case) -> set[int]:
    """Ranks that the wait-for graph leads to."""
    if case.roots is None:
        return set()
    return {*case.roots.free, *case.roots.stuck}


def _hurt(case: Case, rank: int) -> bool:
    """Nothing shows that this rank waited for others or ended well."""
    end = case.outcomes.get(rank)
    return end is None or end.how in ("died", "failed")


def detect(case: Case) -> tuple[Finding, ...]:
    """Case → at most one finding over all devices."""
    window, alone, known = _end_ns(case), is_only_about_hosts(case), job_hosts(case)
    found = [row for row in rows(case, "gpu_error", "gpu_lost") if _is_fault(row) and _in_time(row, window)]
    found = [row for row in found if not _is_common(case, row)]
    placed = [(row, host_of(case, row)) for row in found]
    if not alone:
        placed = [(row, host) for row, host in placed if host is not None and host in known]
    if not placed:
        return ()
    failures = any(end.how not in ("ended",) for end in case.outcomes.values()) or has_waited(case)
    if not alone and not failures:
        return ()
    hosts = tuple(sorted({host for _, host in placed if host}))
    devices = tuple(sorted({_device(row, host) for row, host in placed}, key=str))
    at = {rank for row, host in placed if (rank := _rank_at(case, host, row)) is not None}
    lone = len(devices) == 1 and all(_is_deadly(row) for row, _ in placed)
    found_ranks = at if lone else {rank for rank in at if _hurt(case, rank)}
    if has_open_operations(case):
        # Records of operations tell who holds up whom; a device counts beside them only where both agree.
        found_ranks &= _accused_by_graph(case)
        if not found_ranks or not lone:
            return ()
    ranks = tuple(sorted(found_ranks)) if len(found_ranks) == len(devices) else ()
    claims = [Claim("the driver reported an error of the device", "for", "kernel", refs(row for row, _ in placed))]
    if ranks:
        claims.append(Claim(f"{ranks_text(ranks)} ran on it", "for", "identity"))
    return (
        Finding(
            detector=DETECTOR.name,
            kind="hang" if has_waited(case) else "crash",
            cause="gpu_fault",
            strong=bool(ranks) or alone,
            ranks=ranks,
            hosts=hosts,
            devices=devices,
            domain="infrastructure",
            claims=tuple(claims),
            first_anomaly=FirstAnomaly(
                rank=ranks[0] if ranks else None,
                host=hosts[0] if len(hosts) == 1 else None,
                step=step_in_progress(case),
                signature=f"device:{placed[0][0]['code']}",
            ),
            actions=(
                Action(
                    kind="inspect_hardware",
                    target=", ".join(hosts) or "the device",
                    command=None,
                    reason="its driver reported an error",
                ),
            ),
            summary=f"A device failed ({placed[0][0]['code']})"
            + (f" on {', '.join(hosts)}" if hosts else "")
            + (f"; {ranks_text(ranks)} ran on it." if ranks else "."),
        ),
    )


DETECTOR = Detector("device_fault", ("events",), detect)
