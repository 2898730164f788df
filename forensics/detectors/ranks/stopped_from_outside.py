"""Did somebody stop the job: by hand, by a time limit, by a preemption?

A stop explains that processes ended, and never a wait or slowness before it. It names nobody.
"""

from collections.abc import Sequence

from forensics.case import Case, Detector
from forensics.facts.event_rows import Row, own_rank, refs, rows
from forensics.facts.process_ends import stopped_launchers
from forensics.model.finding import Claim, Finding
from forensics.model.incident import Action, FirstAnomaly
from forensics.model.names import Cause, Reason
from forensics.model.signals import signal_of
from forensics.model.texts import ranks_text

_PODS = {"Preempted": "preemption", "Preempting": "preemption"}  # reasons of Kubernetes' events
_BY_SCHEDULER: dict[str, tuple[Cause, str]] = {
    "time_limit": ("time_limit", "the scheduler ended the job at its time limit"),
    "preemption": ("preempted", "the scheduler took the job's nodes for another job"),
    "cancelled": ("stopped_by_hand", "somebody cancelled the job"),
}

_SENT = {
    "SIGINT": "somebody stopped the launcher with Ctrl-C (SIGINT)",
    "SIGHUP": "the terminal or the session that the launcher ran in was closed (SIGHUP)",
}


def detect(case: Case) -> tuple[Finding, ...]:
    """Case → one finding: the scheduler's word, else that of a launcher which was told to stop, else Ctrl-C."""
    said = rows(case.events, "scheduler")
    for code, (cause, text) in _BY_SCHEDULER.items():
        if told := [row for row in said if _PODS.get(row["code"] or "", row["code"]) == code]:
            return (_finding(cause, text, Claim(text, "for", refs(told))),)
    if told := stopped_launchers(case.events):
        return (_launcher(told),)
    interrupted = [row for row in rows(case.events, "exit") if signal_of(row["code"]) == "SIGINT"]
    if not interrupted:
        return ()
    ranks = {rank for row in interrupted if (rank := own_rank(row)) is not None}
    who = ranks_text(ranks) if ranks else "processes of it"
    text = f"somebody stopped the job with Ctrl-C ({who} ended by KeyboardInterrupt)"
    return (_finding("stopped_by_hand", text, Claim(text, "for", refs(interrupted))),)


def _launcher(told: Sequence[Row]) -> Finding:
    """Its own line: an agent of another node, a scheduler without a word, or a person may have sent SIGTERM."""
    codes = sorted({row["code"] for row in told if row["code"]})
    text = next((_SENT[code] for code in codes if code in _SENT), None)
    claim = Claim(f"the launcher was told to stop ({', '.join(codes)})", "for", refs(told[:1]))
    if text is None:
        words = f"the launcher was told to stop ({', '.join(codes)}); who told it is not recorded"
        return _finding("stopped_by_hand", words, claim, ("tied_explanations",))
    return _finding("stopped_by_hand", text, claim)


def _finding(cause: Cause, text: str, claim: Claim, undecided: tuple[Reason, ...] = ()) -> Finding:
    return Finding(
        detector=DETECTOR.name,
        cause=cause,
        undecided=undecided,
        claims=(claim,),
        first_anomaly=FirstAnomaly(signature=cause),
        actions=(Action(kind="ignore", target="job", command=None, reason="the job was stopped from outside"),),
        collect=("stacks and Flight Recorder dumps of all ranks before you stop the job, if it hangs",),
        summary=f"{text[:1].upper()}{text[1:]}; no line shows a fault before that.",
    )


DETECTOR = Detector("stopped_from_outside", ("events",), detect, "ended")
