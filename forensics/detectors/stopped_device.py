"""Has a device stopped inside an operation that all other members completed?

A host that runs on leaves a tail of enqueued operations behind the one that never finishes; only the first open
operation of a rank counts. All other members done: that rank is named, `gpu_fault` where a hardware record of its own
device agrees (M10), else `kernel_stuck`.
"""

import polars as pl

from forensics.case import Case, Detector
from forensics.detectors.progress import opened_utc, step_in_progress
from forensics.facts.process_ends import reference
from forensics.graph.operations import describe, ranks_text
from forensics.model.finding import Claim, Finding
from forensics.model.incident import BlastRadius, Device, FirstAnomaly, ranges


def device_records(case: Case, rank: int) -> pl.DataFrame:
    """Hardware events of the device of this rank (host and PCI address, or the rank itself), errors only, and none of
    another time than the anomaly."""
    events = case.events.filter(
        pl.col("kind").is_in(["gpu_error", "gpu_lost"]) & pl.col("severity").is_in(["error", "fatal"])
    )
    own = (pl.col("rank") == rank) & (pl.col("rank_space") == "global")
    who = case.identity.filter(pl.col("rank") == rank)
    if not who.height:
        return _of_this_time(case, events.filter(own))
    host, pci = who["host"][0], who["pci"][0] or usual_address(case, rank)
    short = pl.col("pci").str.replace(r"\.[0-9a-f]$", "").str.tail(7)
    same = (pl.col("host") == host) & (short == str(pci).split(".")[0][-7:]) if host and pci else pl.lit(False)
    return _of_this_time(case, events.filter(same | own))


def _of_this_time(case: Case, events: pl.DataFrame) -> pl.DataFrame:
    onset = case.anomaly_window
    kept = [onset.counts(row) for row in events.iter_rows(named=True)]
    return events.filter(pl.Series(kept, dtype=pl.Boolean))


def usual_address(case: Case, rank: int) -> str | None:
    """Where the device of a rank that printed no address must be: every rank with its local number, on two other hosts at
    least, has it there, and no other rank of its own host does."""
    known = case.identity.filter(pl.col("local_rank").is_not_null() & pl.col("host").is_not_null())
    own = known.filter(pl.col("rank") == rank)
    if not own.height:
        return None
    placed = known.filter(pl.col("pci").is_not_null())
    alike = placed.filter(pl.col("local_rank") == own["local_rank"][0])
    addresses = alike["pci"].unique().to_list()
    here = placed.filter(pl.col("host") == own["host"][0])["pci"].to_list()
    usual = len(addresses) == 1 and alike["host"].n_unique() > 1 and addresses[0] not in here
    return str(addresses[0]) if usual else None


def detect(case: Case) -> tuple[Finding, ...]:
    """Case → one finding for all such ranks."""
    roots, states = case.roots, case.states
    if roots is None or states is None or not roots.stuck:
        return ()
    operations = describe(states, roots.stuck.values())
    if any(not operations[op].members.get("done") for op in roots.stuck.values()):
        return ()  # alone in it because the other members are unknown
    named = tuple(roots.stuck)
    claims, devices, fault = [], [], False
    for rank, op in roots.stuck.items():
        operation = operations[op]
        text = f"{ranks_text(operation.members['done'])} completed {operation.label}; only rank {rank} did not"
        claims.append(Claim(text, "for", operation.refs(1)))
        if lost := operation.members.get("entered"):
            text = f"{ranks_text(lost)}: no usable flight record; nobody completes {operation.label} before all have entered it"
            claims.append(Claim(text, "unseen"))
        records = device_records(case, rank)
        who = case.identity.filter(pl.col("rank") == rank)
        if who.height and (who["host"][0] or who["pci"][0]):
            devices.append(
                Device(host=who["host"][0], pci=who["pci"][0], index=who["device_index"][0], uuid=who["uuid"][0])
            )
        if records.height:
            fault = True
            refs = tuple(reference(row) for row in records.head(2).iter_rows(named=True))
            claims.append(Claim(f"the device of rank {rank} reported an error", "for", refs))
    first = operations[roots.stuck[named[0]]]
    return (
        Finding(
            detector=DETECTOR.name,
            cause="gpu_fault" if fault else "kernel_stuck",
            ranks=named,
            devices=tuple(devices),
            domain="infrastructure" if fault else "unknown",
            claims=tuple(claims),
            first_anomaly=FirstAnomaly(
                time_utc=opened_utc(first),
                rank=named[0],
                step=step_in_progress(case, named[0]),
                op=first.kind,
                group=first.group,
                group_ranks=ranges(first.all_ranks),
                seq=first.seq,
                signature=f"stopped:{first.kind}:{first.group}",
            ),
            blast_radius=BlastRadius(ranks_waiting=len(roots.waiters), groups=[first.group]),
            summary=f"The device of {ranks_text(named)} never finished {first.label}, which all other {'members that left a record' if first.members.get('entered') else 'members'} completed.",
        ),
    )


DETECTOR = Detector("stopped_device", ("operations",), detect, "waiting")
