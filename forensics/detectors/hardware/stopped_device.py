"""Has a device stopped inside an operation that all other members completed, or have started without it?

A host that runs on leaves a tail of enqueued operations behind the one that never finishes; only the first open operation
of a rank counts. All other members done: that rank is named. So is it where the records hold start times, all other members
have started the operation, and this one alone has not: its device is still busy with something before. `gpu_fault` where a
hardware record of its own device agrees (M10), else `kernel_stuck`.
"""

from collections.abc import Iterator

import polars as pl

from forensics.case import Case, Detector
from forensics.facts.hosts.hardware import device_records
from forensics.facts.rows.event_rows import reference
from forensics.facts.waits.records import UNRECORDED_P2P
from forensics.graph.hang.operations import Operation, anomaly_at, describe
from forensics.model.finding import Claim, Finding
from forensics.model.incident import BlastRadius, Device
from forensics.model.said import Said
from forensics.model.texts import ranks_text
from forensics.words import hardware as words


def detect(case: Case) -> tuple[Finding, ...]:
    """Case → one finding for all such ranks."""
    stuck = dict(case.roots.stuck) or _not_started(case)
    operations = describe(case.states, stuck.values())
    if any(one.backend in UNRECORDED_P2P for one in operations.values()):
        return ()  # gloo runs on hosts: no device to stop
    done = {op: bool(one.members.get("done")) for op, one in operations.items()}
    if not stuck or (case.roots.stuck and not all(done.values())):
        return ()  # alone in it because the other members are unknown
    named = tuple(sorted(stuck))
    claims = [claim for rank in named for claim in _claims(rank, operations[stuck[rank]])]
    records = {rank: found for rank in named if (found := device_records(case.hardware, rank))}
    for rank, found in records.items():
        refs = tuple(reference(one.row) for one in found[:2])
        claims.append(Claim(words.DEVICE_REPORTED(rank=rank), "for", refs))
    first = operations[stuck[named[0]]]
    return (
        Finding(
            cause="gpu_fault" if records else "kernel_stuck",
            ranks=named,
            devices=tuple(_devices(case, named)),
            domain="infrastructure" if records else "unknown",
            claims=tuple(claims),
            first_anomaly=anomaly_at(
                first, case.step_in_progress(named[0]), f"stopped:{first.kind}:{first.group}", named[0]
            ),
            blast_radius=BlastRadius(ranks_waiting=len(case.roots.waiters - {*named}), groups=[first.group]),
            summary=_summary(named, first),
        ),
    )


def _not_started(case: Case) -> dict[int, str]:
    """rank → the operation that all its members are in and that its device alone has not begun, by records of start times."""
    opened = case.states.open.filter(pl.col("op").is_in(list(case.roots.entered)) & ~pl.col("is_p2p"))
    begun = pl.col("state") == "started"
    lonely = opened.filter(
        pl.col("timed").any().over("op") & ((~begun).sum().over("op") == 1) & (begun.sum().over("op") > 0) & ~begun
    )
    return dict(lonely.select("rank", "op").sort("rank").iter_rows())


def _claims(rank: int, operation: Operation) -> Iterator[Claim]:
    others = operation.members.get("done")
    own = tuple(call.ref(operation.label) for call in operation.calls if call.rank == rank)
    call, who = operation.label, ranks_text([rank])
    if others:
        yield Claim(words.ONLY_ONE_DID_NOT(others=ranks_text(others), call=call, who=who), "for", own)
    else:
        inside = [call for call in operation.calls if call.rank != rank]
        text = words.DEVICE_DID_NOT_START(others=ranks_text(one.rank for one in inside), call=call, who=who)
        yield Claim(text, "for", (*own, *(one.ref(call) for one in inside[:2])))
    if lost := operation.members.get("entered"):
        yield Claim(words.NO_RECORD_BUT_ENTERED(who=ranks_text(lost), call=call), "unseen")


def _devices(case: Case, ranks: tuple[int, ...]) -> Iterator[Device]:
    for rank in ranks:
        who = case.identity.filter(pl.col("rank") == rank)
        if who.height and (who["host"][0] or who["pci"][0]):
            yield Device(host=who["host"][0], pci=who["pci"][0], index=who["device_index"][0], uuid=who["uuid"][0])


def _summary(named: tuple[int, ...], first: Operation) -> Said:
    who, call = ranks_text(named), first.label
    if not first.members.get("done"):
        return words.NEVER_BEGAN(who=who, call=call)
    members = words.RECORDED_MEMBERS if first.members.get("entered") else words.MEMBERS
    return words.NEVER_FINISHED(who=who, call=call, members=members)


DETECTOR = Detector("stopped_device", ("operations",), detect, "waiting")
