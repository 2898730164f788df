"""Has a device stopped inside an operation that all other members completed?

A host that runs on leaves a tail of enqueued operations behind the one that never finishes; only the first open
operation of a rank counts. All other members done: that rank is named, `gpu_fault` where a hardware record of its own
device agrees (M10), else `kernel_stuck`.
"""

import polars as pl

from forensics.case import Case, Detector
from forensics.detectors.progress import opened_utc, step_in_progress
from forensics.facts.hardware import Record
from forensics.facts.process_ends import reference
from forensics.graph.operations import describe, ranks_text
from forensics.model.finding import Claim, Finding
from forensics.model.incident import BlastRadius, Device, FirstAnomaly, ranges


def device_records(case: Case, rank: int) -> list[Record]:
    """Errors of the device of this rank, and none of another time than the anomaly."""
    return [one for one in case.hardware if one.rank == rank and one.counts and one.severity in ("error", "fatal")]


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
        if records:
            fault = True
            refs = tuple(reference(one.row) for one in records[:2])
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
