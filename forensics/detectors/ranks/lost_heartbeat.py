"""Whom does a coordination service miss, and whose own watchdog got stuck?

A task that stopped sending heartbeats died, was busy in a call that holds everything up, or lost the network: it is a
suspect, never named for that. Where most tasks are missed, the service itself or the way to it is the matter.
Where a process' own monitor saw its watchdog stuck, a call to the device or a lock held it: that may be a collective whose
peer never came, so its printer is no suspect for that. Of DLRover's timers most of which show a kernel that does not end,
those that show none are of ranks that never launched it, or are past it: suspects.
"""

import polars as pl

from forensics.case import Case, Detector
from forensics.facts.event_rows import own_rank, refs, rows
from forensics.facts.progress import step_in_progress
from forensics.facts.waiting import stuck_watchdogs
from forensics.model.finding import Claim, Finding
from forensics.model.incident import BlastRadius, FirstAnomaly
from forensics.model.texts import ranks_text

_GAUGE = "XPU_TIMER_COMMON_HANG"


def detect(case: Case) -> tuple[Finding, ...]:
    """Case → at most one finding."""
    told = [row for row in rows(case.events, "heartbeat_lost") if row["names_rank_space"] == "global"]
    missed = tuple(sorted({rank for row in told for rank in row["names_ranks"] or ()}))
    known = len(case.expected | case.seen)
    if not missed:
        return _stuck(case)
    if 2 * len(missed) > max(known, 2) or case.has_open_operations:
        return ()
    text = f"{ranks_text(missed)} stopped sending heartbeats"
    return (
        Finding(
            detector=DETECTOR.name,
            suspect_ranks=missed,
            undecided=("tied_explanations",),
            claims=(Claim(text, "for", refs(told)),),
            first_anomaly=FirstAnomaly(step=step_in_progress(case.tables["steps"]), signature="lost_heartbeat"),
            blast_radius=BlastRadius(ranks_waiting=max(known - len(missed), 0)),
            collect=(f"the log, the stack and the kernel log of the host of {ranks_text(missed)}",),
            summary=f"Undecided: {text}: dead, held up in a call, or cut off from the network.",
        ),
    )


def _stuck(case: Case) -> tuple[Finding, ...]:
    """Watchdogs that got stuck, where nothing tells of the wait itself."""
    told = stuck_watchdogs(case.events)
    if not told or case.has_waited:
        return ()
    printers = {rank for row in told if (rank := own_rank(row)) is not None}
    who = ranks_text(printers) if printers else "a rank of a group"
    text = f"the watchdog of {who} made no progress: a collective, a call to the device or a lock held it"
    free = _without_hang(case, printers)
    if free:
        text += f"; that of {ranks_text(free)} shows nothing that does not end"
    return (
        Finding(
            detector=DETECTOR.name,
            suspect_ranks=free,
            undecided=("tied_explanations",),
            claims=(Claim(text, "for", refs(told)),),
            first_anomaly=FirstAnomaly(step=step_in_progress(case.tables["steps"]), signature="stuck_watchdog"),
            blast_radius=BlastRadius(ranks_waiting=len(printers)),
            collect=("Flight Recorder dumps and py-spy dumps of all ranks",),
            summary=f"Undecided: {text}.",
        ),
    )


def _without_hang(case: Case, hung: set[int]) -> tuple[int, ...]:
    """Ranks whose gauge of a hang stands at zero, where it does not for most."""
    gauges = case.tables["devices"].filter(
        pl.col("metric").str.starts_with(_GAUGE).fill_null(False)
        & pl.col("rank").is_not_null()
        & (pl.col("value") == 0)
    )
    free = set(gauges["rank"].to_list()) - hung
    return tuple(sorted(free)) if 2 * len(free) < len(free | hung) else ()


DETECTOR = Detector("lost_heartbeat", ("events",), detect, "waiting")
