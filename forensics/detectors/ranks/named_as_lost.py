"""Whom do lost connections name who himself names nobody?

Where one process goes, its neighbours lose it, and theirs lose them: each names the one that left before it. Whoever is named and
names nobody, and is not known to have lost or awaited anybody in another way, is where that began, as far as lines tell: a
suspect, for a link may have broken, and a silent log proves nothing.
"""

from forensics.case import Case, Detector
from forensics.facts.ends.origins import few
from forensics.facts.rows.event_rows import own_rank, refs, rows
from forensics.model.finding import Claim, Finding
from forensics.model.incident import BlastRadius, FirstAnomaly
from forensics.model.said import joined
from forensics.model.texts import ranks_text
from forensics.words import ranks as words

_SPACES = ("global", None)


def detect(case: Case) -> tuple[Finding, ...]:
    """Case → at most one finding, only where no process is known to have failed by itself."""
    if case.origins is not None or case.has_open_operations:
        return ()
    lost = [row for row in rows(case.events, "peer_closed", "remote_error") if row["names_ranks"]]
    told = [row for row in lost if row["names_rank_space"] in _SPACES and own_rank(row) is not None]
    named = {rank for row in told for rank in row["names_ranks"]}
    waited = {rank for row in told if (rank := own_rank(row)) is not None} | case.waited_ranks
    waited |= {rank for rank, end in case.ends.items() if end.how == "gave_up"}
    suspects = few(named - waited, case.expected or case.seen)
    if not suspects:
        return ()
    text = words.LOST_BY_OTHERS(who=ranks_text(suspects), others=ranks_text(waited))
    return (
        Finding(
            suspect_ranks=suspects,
            undecided=("culprit_among_missing",),
            claims=(Claim(text, "for", refs(row for row in told if {*row["names_ranks"]} & {*suspects})),),
            first_anomaly=FirstAnomaly(step=case.step_in_progress(), signature="named_as_lost"),
            blast_radius=BlastRadius(ranks_waiting=len(waited)),
            collect=(words.LOG_STACK_RECORD(who=ranks_text(suspects)),),
            summary=words.UNDECIDED(what=joined((text, words.ITSELF_OR_ITS_LINK), "; ")),
        ),
    )


DETECTOR = Detector("named_as_lost", ("events",), detect, "waiting")
