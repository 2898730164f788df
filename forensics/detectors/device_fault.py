"""Did a device of the job fail, by the driver's word?

A record counts if it is an error of the device (not of the program that ran on it), stands on a host of the job, precedes
the anomaly (facts/anomaly_window.py), and is rarer than the fleet's base rate. "No Xid" clears nobody. A driver's record names host and
device; the rank only where it is known to run there and nothing of its own shows that it waited for others. Where ranks of
other hosts alone are silent while all of this host wait, only a dead device just before the wait still speaks against the
host. Where the bundle holds kernel logs alone, they are all there is to say.
"""

import re

import polars as pl

from forensics.case import Case, Detector
from forensics.detectors.common_wait import all_entered, is_silence_elsewhere, waited_ranks
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
from forensics.model.finding import Claim, Finding
from forensics.model.incident import Action, Device, FirstAnomaly

# What a program does to itself, or what only follows another fault: driver's catalogue, class "application".
_BY_PROGRAM = ("xid:13", "xid:31", "xid:43", "xid:45", "xid:68", "xid:69")
# After these the device computes nothing more: uncorrectable memory, links or controller down, off the bus.
_DEADLY = ("xid:48", "xid:62", "xid:74", "xid:79", "xid:95", "xid:119", "xid:120", "xid:140")
_BEFORE_WORDS = re.compile(r"^.*?\bS?Xid \([^)]*\): \d+, (?:pid=[^,]*, )?(?:name=[^,]*, )?")
_WORDS = 100
_COMMON = 0.3  # of the hosts with kernel logs


def _is_fault(row: Row) -> bool:
    if row["code"] in _BY_PROGRAM:
        return False
    return bool(row["kind"] == "gpu_lost" or row["severity"] in ("error", "fatal"))


def _is_common(case: Case, row: Row) -> bool:
    events = case.events.filter(pl.col("host").is_not_null())
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
    end = case.ends.get(rank)
    held = case.waits is not None and case.waits.status.get(rank) in ("held", "vague")
    return (end is None or end.how in ("died", "failed")) and not held


def _placed(case: Case, alone: bool) -> tuple[list[tuple[Row, str | None]], bool]:
    """((record, its host) of all faults that count, whether each stands just before the anomaly)."""
    known, onset = job_hosts(case), case.anomaly_window
    found: list[Row] = [
        row for row in rows(case, "gpu_error", "gpu_lost") if _is_fault(row) and not _is_common(case, row)
    ]
    placed = [(row, host_of(case, row)) for row in found]
    if alone:
        return placed, False
    if known:
        placed = [(row, host) for row, host in placed if host in known]
    timed = [(row, host, onset.when(row)) for row, host in placed if onset.counts(row)]
    # A log of a host that nothing says to be of the job counts by its time, and only if no other host says the same.
    timed = [(row, host, when) for row, host, when in timed if when == "before" or known]
    if not known and len({host for _, host, _ in timed}) > 1:
        return [], False
    return [(row, host) for row, host, _ in timed if host], bool(timed) and all(when == "before" for *_, when in timed)


def detect(case: Case) -> tuple[Finding, ...]:
    """Case → at most one finding over all devices."""
    alone = is_only_about_hosts(case)
    placed, timed = _placed(case, alone)
    if not placed:
        return ()
    failures = any(end.how not in ("ended",) for end in case.ends.values()) or has_waited(case)
    if not alone and not failures:
        return ()
    hosts = tuple(sorted({host for _, host in placed if host}))
    devices = tuple(sorted({_device(row, host) for row, host in placed}, key=str))
    at = {rank for row, host in placed if (rank := _rank_at(case, host, row)) is not None}
    dead = all(_is_deadly(row) for row, _ in placed)
    one = len({device.pci or device.index for device in devices}) == 1 and len(hosts) < 2
    found_ranks = {rank for rank in at if _hurt(case, rank)}
    if has_open_operations(case):
        # Records of operations tell who holds up whom; a device counts beside them only where both agree.
        found_ranks = at & _accused_by_graph(case)
        if not (one and dead and (found_ranks or (timed and all_entered(case)))):
            return ()
    elsewhere = not alone and not found_ranks and is_silence_elsewhere(case, hosts)
    if elsewhere and not (timed and dead):
        return ()
    ranks = tuple(sorted(found_ranks)) if len(found_ranks) == len(devices) else ()
    strong = alone or bool(ranks) or (timed and dead and one and not elsewhere and bool(job_hosts(case)))
    # Where all members of a call entered it, those on the device may be what stopped, though their records show them in it.
    suspects = () if ranks else found_ranks or (at if has_open_operations(case) else ())
    return (_finding(case, placed, ranks, tuple(sorted(suspects)), hosts, devices, strong),)


def _words(row: Row) -> str:
    """What the driver calls it: its line without what stands before the words, at most _WORDS characters."""
    text = _BEFORE_WORDS.sub("", row["text"] or "").strip().rstrip(".")
    return text if len(text) <= _WORDS else text[:_WORDS].rsplit(" ", 1)[0] + " …"


def _finding(
    case: Case,
    placed: list[tuple[Row, str | None]],
    ranks: tuple[int, ...],
    suspects: tuple[int, ...],
    hosts: tuple[str, ...],
    devices: tuple[Device, ...],
    strong: bool,
) -> Finding:
    code, words = placed[0][0]["code"], _words(placed[0][0])
    said = (
        f"the driver reported an error of the device: {words}"
        if words
        else "the driver reported an error of the device"
    )
    claims = [Claim(said, "for", refs(row for row, _ in placed))]
    if ranks:
        claims.append(Claim(f"{ranks_text(ranks)} ran on it", "for"))
    if ranks and set(ranks) <= _accused_by_graph(case):
        claims.append(Claim(f"the records of operations lead to {ranks_text(ranks)}", "for"))
    waited = waited_ranks(case)
    if ranks and waited and not waited & set(ranks):
        rest = [row for row in rows(case, "collective_timeout") if own_rank(row) in waited]
        claims.append(Claim(f"{ranks_text(waited)} timed out, {ranks_text(ranks)} did not", "for", refs(rest)))
    return Finding(
        detector=DETECTOR.name,
        cause="gpu_fault",
        ranks=ranks,
        suspect_ranks=suspects,
        hosts=hosts,
        devices=devices,
        domain="infrastructure",
        claims=tuple(claims),
        first_anomaly=FirstAnomaly(
            rank=ranks[0] if ranks else None,
            host=hosts[0] if len(hosts) == 1 else None,
            step=step_in_progress(case),
            signature=f"device:{code}",
        ),
        actions=(
            Action(
                kind="inspect_hardware",
                target=", ".join(hosts) or "the device",
                command=None,
                reason="its driver reported an error",
            ),
        ),
        summary=f"A device failed ({', '.join(part for part in (code, words) if part)})"
        + (f" on {', '.join(hosts)}" if hosts else "")
        + (f"; {ranks_text(ranks)} ran on it." if ranks else "."),
    )


DETECTOR = Detector("device_fault", ("events",), detect, "ended")
