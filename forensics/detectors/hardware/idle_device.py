"""Which device is idle while all others are busy, or draws another power than all others while the job stands still?

A device that waits inside a collective spins, and shows itself busy; the one that everybody waits for often shows nothing
(FLARE, Falcon), or draws little where the others draw much, or works where the others wait. Metrics are scraped every 15 to
60 s and mean other things on other vendors' devices, so this is a hypothesis at best, and one moment alone accuses nobody.
"""

from collections import defaultdict
from typing import Any

import polars as pl

from forensics.case import Case, Detector
from forensics.facts.hosts.hardware import Devices
from forensics.model.finding import Claim, Finding
from forensics.model.hosts import short_host
from forensics.model.incident import BlastRadius, Device, FirstAnomaly
from forensics.model.names import Reason
from forensics.model.ref import Ref
from forensics.model.said import Said, sentence
from forensics.model.texts import ranks_text
from forensics.words import hardware as words

_IDLE, _BUSY = 5.0, 90.0  # per cent
_LEAST = 8  # devices
_OTHER_POWER = 0.4  # of the peers' median, less or more
_Device = tuple[int | None, str | None, str | None, int | None]  # rank, host, pci, index
_Unit = tuple[int | None, str | None, str | None, int | None, str | None]


def _loads(case: Case) -> dict[_Unit, list[dict[str, Any]]]:
    """Device → its rows of utilisation, in order of time; where neither host nor rank is told, the UUID or the file tells
    devices of several hosts apart."""
    found: dict[_Unit, list[dict[str, Any]]] = defaultdict(list)
    measured = case.tables["devices"].filter((pl.col("quantity") == "utilization_pct") & pl.col("value").is_not_null())
    for row in measured.sort("time_ns", "file", "line", "record", nulls_last=True).iter_rows(named=True):
        host = short_host(row["host"]) if row["host"] else None
        unit = (row["uuid"] or row["file"]) if host is None and row["rank"] is None else None
        found[row["rank"], host, row["pci"], row["device_index"], unit].append(row)
    return found


def detect(case: Case) -> tuple[Finding, ...]:
    """Case → at most one finding, where one device alone is odd and no record of operations tells more."""
    if case.has_open_operations or any(end.how == "ended" for end in case.ends.values()):
        return ()
    loads = _loads(case)
    idle = [device for device, rows in loads.items() if all(row["value"] <= _IDLE for row in rows)]
    busy = [device for device, rows in loads.items() if all(row["value"] >= _BUSY for row in rows)]
    if len(loads) >= _LEAST and len(idle) == 1 and len(busy) == len(loads) - 1:
        rank, host, pci, index, _ = idle[0]
        rank = rank if rank is not None else Devices(case.identity).rank_at(host, pci, index)
        rows = loads[idle[0]]
        refs = tuple(
            Ref(file=row["file"], line=row["record"] if row["line"] is None else row["line"],
                text=f"{row['metric']} {row['text'] or row['value']}")
            for row in rows[-2:]
        )  # fmt: skip
        odd = (words.IDLE_OTHERS_BUSY(number=len(busy)), words.IDLE_OTHERS_NOT(number=len(busy)))
        moments = len({row["time_ns"] for row in rows})
        return _finding(case, (rank, host, pci, index), odd, refs, moments, len(busy))
    return _by_power(case) if not idle else ()


def _by_power(case: Case) -> tuple[Finding, ...]:
    """The only device that draws far less, or far more, than all others."""
    odd = [one for one in case.apart if one.quantity == "power_w" and one.peers + 1 >= _LEAST]
    odd = [one for one in odd if abs(one.value - one.centre) >= _OTHER_POWER * one.centre]
    if len(odd) != 1:
        return ()
    one = odd[0]
    text = words.DRAWS(watts=one.value, peers=one.peers, centre=one.centre, seen=one.seen)
    return _finding(case, (one.rank, one.host, one.pci, one.index), (text, text), one.refs, one.moments, one.peers)


def _finding(
    case: Case, device: _Device, odd: tuple[Said, Said], refs: tuple[Ref, ...], moments: int, others: int
) -> tuple[Finding, ...]:
    """`odd`: what is odd about the device of a rank, and about one whose rank is not known."""
    rank, host, pci, index = device
    if rank is not None and case.waits.status.get(rank) in ("held", "vague"):
        return ()
    sure = moments > 1 or case.has_waited
    ranks = () if rank is None else (rank,)
    who = ranks_text(ranks) if ranks else words.DEVICE_OF_HOST(device=pci or index, host=host or words.A_HOST)
    text = words.DEVICE_OF_RANK(who=who, odd=odd[0]) if ranks else words.DEVICE_IS(device=who, odd=odd[1])
    reasons: tuple[Reason, ...] = () if moments > 1 else ("single_snapshot",)
    return (
        Finding(
            ranks=ranks if sure else (),
            suspect_ranks=() if sure else ranks,
            devices=(Device(host=host, pci=pci, index=index, uuid=None),) if sure and (host or pci) else (),
            undecided=reasons,
            claims=(Claim(text, "for", refs),),
            first_anomaly=FirstAnomaly(rank=rank, host=host, step=case.step_in_progress(rank), signature="idle_device"),
            blast_radius=BlastRadius(ranks_waiting=others),
            collect=(words.STACK_LOG_KERNEL(who=who), words.ALL_DUMPS),
            summary=sentence(text),
        ),
    )


DETECTOR = Detector("idle_device", ("devices",), detect, "waiting")
