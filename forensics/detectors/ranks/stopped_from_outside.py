"""Did somebody stop the job: by hand, by a time limit, by a preemption?

A stop explains that processes ended, and never a wait or slowness before it. It names nobody.
"""

from forensics.case import Case, Detector
from forensics.facts.event_rows import own_rank, refs, rows
from forensics.model.finding import Claim, Finding
from forensics.model.incident import Action, FirstAnomaly
from forensics.model.names import Cause
from forensics.model.signals import signal_of
from forensics.model.texts import ranks_text

_PODS = {"Preempted": "preemption", "Preempting": "preemption"}  # reasons of Kubernetes' events
_BY_SCHEDULER: dict[str, tuple[Cause, str]] = {
    "time_limit": ("time_limit", "the scheduler ended the job at its time limit"),
    "preemption": ("preempted", "the scheduler took the job's nodes for another job"),
    "cancelled": ("stopped_by_hand", "somebody cancelled the job"),
}


def detect(case: Case) -> tuple[Finding, ...]:
    """Case → one finding: the scheduler's word, else Ctrl-C."""
    said = rows(case.events, "scheduler")
    for code, (cause, text) in _BY_SCHEDULER.items():
        if told := [row for row in said if _PODS.get(row["code"] or "", row["code"]) == code]:
            return (_finding(cause, text, Claim(text, "for", refs(told))),)
    interrupted = [row for row in rows(case.events, "exit") if signal_of(row["code"]) == "SIGINT"]
    if not interrupted:
        return ()
    ranks = {rank for row in interrupted if (rank := own_rank(row)) is not None}
    who = ranks_text(ranks) if ranks else "processes of it"
    text = f"somebody stopped the job with Ctrl-C ({who} ended by KeyboardInterrupt)"
    return (_finding("stopped_by_hand", text, Claim(text, "for", refs(interrupted))),)


def _finding(cause: Cause, text: str, claim: Claim) -> Finding:
    return Finding(
        detector=DETECTOR.name,
        cause=cause,
        claims=(claim,),
        first_anomaly=FirstAnomaly(signature=cause),
        actions=(Action(kind="ignore", target="job", command=None, reason="it was stopped from outside"),),
        collect=("where a job hangs: stacks and flight-recorder dumps of all ranks before it is stopped",),
        summary=f"{text[:1].upper()}{text[1:]}; no line shows a fault before that.",
    )


DETECTOR = Detector("stopped_from_outside", ("events",), detect, "ended")
