"""Did somebody stop the job: by hand, by a time limit, by a preemption?

A stop explains that processes ended, and never a wait or slowness before it. It names nobody.
"""

from collections.abc import Mapping, Sequence

from forensics.case import Case, Detector
from forensics.facts.event_rows import Row, detail, own_rank, refs, rows
from forensics.facts.process_ends import stopped_launchers
from forensics.facts.taken_places import is_of_another
from forensics.model.finding import Claim, Finding
from forensics.model.incident import Action, FirstAnomaly
from forensics.model.names import Cause, Reason
from forensics.model.said import Said, joined, sentence
from forensics.model.signals import signal_of
from forensics.model.texts import ranks_text
from forensics.words import ranks as words

_PODS = {"Preempted": "preemption", "Preempting": "preemption"}  # reasons of Kubernetes' events
_STATES = {
    "timeout": "time_limit",
    "deadline": "time_limit",
    "preempted": "preemption",
}  # of sacct, whose rows are all of one job
_BY_SCHEDULER: dict[str, Cause] = {
    "time_limit": "time_limit",
    "preemption": "preempted",
    "cancelled": "stopped_by_hand",
}


def detect(case: Case) -> tuple[Finding, ...]:
    """Case → one finding: the scheduler's word, else that of a launcher which was told to stop, else Ctrl-C."""
    said = [row for row in rows(case.events, "scheduler") if not is_of_another(row, case.events, case.job_hosts)]
    jobs = {str(detail(row)["JobID"]).partition(".")[0] for row in said if "JobID" in detail(row)}
    codes = _PODS | (_STATES if len(jobs) == 1 else {})
    for code, cause in _BY_SCHEDULER.items():
        if told := [row for row in said if _code(row, codes) == code]:
            text = words.STOPPED_BY[code]
            return (_finding(cause, text, Claim(text, "for", refs(told))),)
    if told := stopped_launchers(case.events):
        return (_launcher(told),)
    interrupted = [row for row in rows(case.events, "exit") if signal_of(row["code"]) == "SIGINT"]
    if not interrupted:
        return ()
    ranks = {rank for row in interrupted if (rank := own_rank(row)) is not None}
    text = words.CTRL_C(who=ranks_text(ranks) if ranks else words.ITS_PROCESSES)
    return (_finding("stopped_by_hand", text, Claim(text, "for", refs(interrupted))),)


def _code(row: Row, codes: Mapping[str, str]) -> str | None:
    code = row["code"] or ""
    if code in _STATES and ("JobID" not in detail(row) or row["severity"] == "info"):
        return code
    return codes.get(code, code)


def _launcher(told: Sequence[Row]) -> Finding:
    """Its own line: an agent of another node, a scheduler without a word, or a person may have sent SIGTERM."""
    codes = sorted({row["code"] for row in told if row["code"]})
    text = next((words.STOPPED_BY[code] for code in codes if code in words.STOPPED_BY), None)
    claim = Claim(words.TOLD_TO_STOP(signals=joined(codes, ", ")), "for", refs(told[:1]))
    if text is None:
        unsaid = joined((claim.text, words.SENDER_NOT_RECORDED), "; ")
        return _finding("stopped_by_hand", unsaid, claim, ("tied_explanations",))
    return _finding("stopped_by_hand", text, claim)


def _finding(cause: Cause, text: Said, claim: Claim, undecided: tuple[Reason, ...] = ()) -> Finding:
    return Finding(
        detector=DETECTOR.name,
        cause=cause,
        undecided=undecided,
        claims=(claim,),
        first_anomaly=FirstAnomaly(signature=cause),
        actions=(Action(kind="ignore", target=words.THE_JOB, command=None, reason=words.FROM_OUTSIDE),),
        # Only a person stops a job because it hangs; a scheduler takes its nodes or its time, however it ran.
        collect=(words.BEFORE_STOPPING,) if cause == "stopped_by_hand" else (),
        summary=sentence(text, words.NO_FAULT_BEFORE),
    )


DETECTOR = Detector("stopped_from_outside", ("events",), detect, "ended")
