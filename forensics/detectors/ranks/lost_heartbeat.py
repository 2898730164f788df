"""Whom does a coordination service miss?

A task that stopped sending heartbeats died, was busy in a call that holds everything up, or lost the network: it is a
suspect, never named for that. Where most tasks are missed, the service itself or the way to it is the matter.
"""

from forensics.case import Case, Detector
from forensics.facts.event_rows import refs, rows
from forensics.facts.progress import step_in_progress
from forensics.model.finding import Claim, Finding
from forensics.model.incident import BlastRadius, FirstAnomaly
from forensics.model.texts import ranks_text


def detect(case: Case) -> tuple[Finding, ...]:
    """Case → at most one finding."""
    told = [row for row in rows(case.events, "heartbeat_lost") if row["names_rank_space"] == "global"]
    missed = tuple(sorted({rank for row in told for rank in row["names_ranks"] or ()}))
    known = len(case.expected | case.seen)
    if not missed or 2 * len(missed) > max(known, 2) or case.has_open_operations:
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


DETECTOR = Detector("lost_heartbeat", ("events",), detect, "waiting")
