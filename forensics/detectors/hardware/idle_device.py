"""Which device is idle while all others are busy?

A device that waits inside a collective spins, and shows itself busy; the one that everybody waits for often shows nothing
(FLARE, Falcon). Metrics are scraped every 15 to 60 s and mean other things on other vendors' devices, so this is a
hypothesis at best, and one moment alone accuses nobody.
"""

import re
from collections import defaultdict
from typing import Any

import polars as pl

from forensics.assemble.identity import short_host
from forensics.case import Case, Detector
from forensics.facts.progress import step_in_progress
from forensics.model.finding import Claim, Finding
from forensics.model.incident import BlastRadius, Device, FirstAnomaly
from forensics.model.names import Reason
from forensics.model.ref import Ref
from forensics.model.texts import ranks_text

_METRIC = re.compile(
    r"(?i)^(?:utilization(?:\.gpu)?(?: \[%\])?|dcgm/gputl|dcgm_fi_dev_gpu_util(?:\{.*\})?|gpu_util(?:ization)?)$"
)
_IDLE, _BUSY = 5.0, 90.0  # per cent
_LEAST = 8  # devices
_Device = tuple[int | None, str | None, str | None, int | None]  # rank, host, pci, index


def _loads(case: Case) -> dict[_Device, list[dict[str, Any]]]:
    """Device → its rows of utilisation, by place."""
    found: dict[_Device, list[dict[str, Any]]] = defaultdict(list)
    measured = case.tables["devices"].filter(pl.col("value").is_not_null() & pl.col("metric").is_not_null())
    for row in measured.sort("time_ns", "file", "line", "record", nulls_last=True).iter_rows(named=True):
        if _METRIC.match(row["metric"]):
            host = short_host(row["host"]) if row["host"] else None
            found[row["rank"], host, row["pci"], row["device_index"]].append(row)
    return found


def _rank_of(case: Case, device: _Device) -> int | None:
    rank, host, pci, index = device
    if rank is not None or host is None or not case.identity.height:
        return rank
    here = case.identity.filter(pl.col("host") == host)
    if pci:
        here = here.filter(pl.col("pci").str.replace(r"\.[0-9a-f]$", "").str.tail(7) == pci.split(".")[0][-7:])
    else:
        here = here.filter(pl.coalesce("device_index", "local_rank") == index)
    return int(here["rank"][0]) if here.height == 1 else None


def detect(case: Case) -> tuple[Finding, ...]:
    """Case → at most one finding, where one device alone is idle and no record of operations tells more."""
    loads = _loads(case)
    if len(loads) < _LEAST or case.has_open_operations or any(end.how == "ended" for end in case.ends.values()):
        return ()
    idle = [device for device, rows in loads.items() if all(row["value"] <= _IDLE for row in rows)]
    busy = [device for device, rows in loads.items() if all(row["value"] >= _BUSY for row in rows)]
    if len(idle) != 1 or len(busy) != len(loads) - 1:
        return ()
    rank = _rank_of(case, idle[0])
    if rank is not None and case.waits is not None and case.waits.status.get(rank) in ("held", "vague"):
        return ()
    return (_finding(case, idle[0], rank, loads[idle[0]], len(busy)),)


def _finding(case: Case, device: _Device, rank: int | None, rows: list[dict[str, Any]], busy: int) -> Finding:
    _, host, pci, index = device
    repeated = len({row["time_ns"] for row in rows}) > 1
    sure = repeated or case.has_waited
    ranks = () if rank is None else (rank,)
    who = ranks_text(ranks) if ranks else f"device {pci or index} of {host or 'a host'}"
    text = (
        f"the device of {who} is idle while {busy} others are busy"
        if ranks
        else f"{who} is idle, {busy} others are not"
    )
    refs = tuple(
        Ref(file=row["file"], line=row["record"] if row["line"] is None else row["line"],
            text=f"{row['metric']} {row['text'] or row['value']}")
        for row in rows[-2:]
    )  # fmt: skip
    reasons: tuple[Reason, ...] = () if repeated else ("single_snapshot",)
    return Finding(
        detector=DETECTOR.name,
        ranks=ranks if sure else (),
        suspect_ranks=() if sure else ranks,
        devices=(Device(host=host, pci=pci, index=index, uuid=None),) if sure and (host or pci) else (),
        undecided=reasons,
        claims=(Claim(text, "for", refs),),
        first_anomaly=FirstAnomaly(
            rank=rank, host=host, step=step_in_progress(case.tables["steps"], rank), signature="idle_device"
        ),
        blast_radius=BlastRadius(ranks_waiting=busy),
        collect=(f"stack, log and kernel log of {who}", "Flight Recorder dumps of all ranks"),
        summary=f"{text[:1].upper()}{text[1:]}.",
    )


DETECTOR = Detector("idle_device", ("devices",), detect, "waiting")
