"""Did a transport receive another size than its call expects?

gloo ends the process that receives the message (`op.preamble.length <= op.nbytes`); NCCL's socket transport says
"message truncated". A line without a rank is of the only rank that aborted, or of the only one that is not known to have
ended in another way. Two members call different operations then, but the one that notices may be either: nobody is named.
"""

from forensics.case import Case, Detector
from forensics.facts.rows.event_rows import refs, rows
from forensics.facts.waits.rank_stacks import gave_up_elsewhere
from forensics.model.finding import Claim, Finding
from forensics.model.incident import BlastRadius, FirstAnomaly
from forensics.model.texts import ranks_text
from forensics.words import ranks as words

_AT_THE_END = ("traceback", "faulthandler")  # what a process that ends by an error shows of itself


def detect(case: Case) -> tuple[Finding, ...]:
    """Case → at most one finding over all such lines."""
    found = rows(case.events, "size_mismatch")
    if not found:
        return ()
    noticed = tuple(sorted({row["rank"] for row in found if row["rank"] is not None and row["rank_space"] == "global"}))
    noticed = noticed or _aborted(case)
    who = ranks_text(noticed) if noticed else words.A_PROCESS
    # Where the tracebacks show who made another call than most, the line is in hand, and no other run is needed.
    elsewhere = gave_up_elsewhere(case.stacks, case.expected or case.seen, _AT_THE_END)
    code = next(iter(elsewhere.values())) if len({(one.file, one.line) for one in elsewhere.values()}) == 1 else None
    where = f"{code.function} ({code.file}:{code.line})" if code is not None else ""
    odd = [Claim(words.GAVE_UP_AT(who=ranks_text(sorted(elsewhere)), where=where), "for")] if code else []
    return (
        Finding(
            cause="collective_mismatch",
            suspect_ranks=noticed,
            domain="workload",
            undecided=("tied_explanations",),
            code=code,
            claims=(Claim(words.OTHER_SIZE(who=who), "for", refs(found)), *odd),
            first_anomaly=FirstAnomaly(step=case.step_in_progress(), signature="received_size"),
            blast_radius=BlastRadius(ranks_waiting=len(case.waited_ranks)),  # who lost a connection waited for nobody
            collect=() if code else (words.DUMPS_OR_DETAIL,),
            summary=words.OTHER_CALLS(who=who),
        ),
    )


def _aborted(case: Case) -> tuple[int, ...]:
    """The only rank that ended by SIGABRT, or of which no other end is told: nobody catches that error, and it ends its
    process so."""
    found = tuple(rank for rank, end in case.ends.items() if end.code == "SIGABRT")
    rest = tuple(case.expected - case.ends.keys()) if case.is_world_told and not found else ()
    return found if len(found) == 1 else rest if len(rest) == 1 else ()


DETECTOR = Detector("received_size", ("events",), detect, "ended")
