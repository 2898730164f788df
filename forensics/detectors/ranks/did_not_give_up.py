"""Most ranks gave up their wait, in operations whose group is not named: who did not?

Whoever timed out, or lost a connection to somebody who had, was waiting. The few that never said so are what the others
waited for, or what these waited for; a log that is silent or lost proves no absence, so they are suspects. A rank that made
another call than all others gives up as well, and is not among them: both are said, and whoever gave up at another line
of the program than most is a suspect, too. Whom all of them called by its name, and who alone did not give up, is named; and so is the one whose
own records show it elsewhere in the program meanwhile (facts/waits/away_alone.py). Where the size of the job is not told, only ranks with a line of their own are
looked for. Where a line names the group, its members tell more.
"""

from itertools import chain

import polars as pl
from msgspec.structs import replace

from forensics.case import Case, Detector
from forensics.facts.rows.event_rows import of_kinds, own_rank, refs
from forensics.facts.waits.away_alone import away_alone
from forensics.facts.waits.rank_stacks import gave_up_elsewhere
from forensics.facts.waits.stacks import classify, to_frames
from forensics.graph.hang.waits import HOST_SITES
from forensics.model.finding import Claim, Finding
from forensics.model.incident import BlastRadius, Code, FirstAnomaly
from forensics.model.said import joined, sentence
from forensics.model.texts import ranks_text
from forensics.words import courses
from forensics.words import ranks as words


def detect(case: Case) -> tuple[Finding, ...]:
    """Case → at most one finding, only where no record of operations tells more."""
    waits = of_kinds(case.events, "collective_timeout")
    if case.has_open_operations or not waits.height or waits["group"].null_count() < waits.height:
        return ()
    if any(end.how == "died" for end in case.ends.values()):
        return ()
    job = case.job_told_of
    if (away := _away(case, job, waits)) is not None:
        return (away,)
    gave_up = (case.waited_ranks | {rank for rank, end in case.ends.items() if end.waited}) & job
    rest = tuple(sorted(job - gave_up))
    if not rest or len(rest) >= len(gave_up):
        return ()
    lost = sorted(set(rest) - case.seen)
    text = words.REPORTED_NEITHER(waited=ranks_text(gave_up), rest=ranks_text(rest))
    text = words.NOT_IN_BUNDLE(text=text, who=ranks_text(lost)) if lost else text
    odd = gave_up_elsewhere(case.stacks, gave_up)
    where = [words.RANK_AT(rank=rank, file=code.file, line=code.line) for rank, code in sorted(odd.items())[:3]]
    own_call = words.OWN_CALL
    if odd:
        own_call = words.GAVE_UP_ELSEWHERE(own_call=own_call, where=joined(where, "; "))
    asked = waits["names_ranks"].to_list()
    if len(rest) == 1 and all(asked) and {*chain.from_iterable(asked)} == {*rest} and not lost and not odd:
        called = words.CALLED_BY_NAME(waited=ranks_text(gave_up), who=ranks_text(rest))
        return (_named(case, rest[0], Claim(called, "for", refs(waits.iter_rows(named=True))), len(gave_up)),)
    doubt = words.STOPPED_OR(who=ranks_text(rest), other=own_call)
    return (
        Finding(
            suspect_ranks=tuple(sorted({*rest, *odd})),
            undecided=("culprit_among_missing", "tied_explanations"),
            claims=(Claim(text, "for", refs(waits.iter_rows(named=True))),),
            first_anomaly=FirstAnomaly(step=case.step_in_progress(), signature="did_not_give_up"),
            blast_radius=BlastRadius(ranks_waiting=len(gave_up)),
            collect=(words.LOG_STACK_RECORD(who=ranks_text(rest)),),
            summary=words.UNDECIDED(what=joined((text, doubt), ". ")),
        ),
    )


def _away(case: Case, job: frozenset[int], waits: pl.DataFrame) -> Finding | None:
    """The one rank of the job that did not time out, where its own records show that it was elsewhere in the program."""
    said = list(waits.iter_rows(named=True))
    timed_out = frozenset(rank for row in said if (rank := own_rank(row)) is not None)
    waited = timed_out | {rank for rank, end in case.ends.items() if end.waited}
    is_told = case.is_world_told or job == frozenset(range(len(job)))
    rest = job - waited or job - timed_out
    if not is_told or len(rest) != 1 or 2 * len(timed_out) < len(job) or gave_up_elsewhere(case.stacks, job - rest):
        return None
    (rank,) = rest
    away = away_alone(case.tables, said, rank, job - rest, HOST_SITES)
    if away is None:
        return None
    text = courses.AWAY[away.how](waited=ranks_text(job - rest), who=ranks_text(rest))
    found = _named(case, rank, Claim(text, "for", (*away.refs, *refs(said))), len(job) - 1)
    if away.row is None:
        return replace(found, site=away.site)
    site = classify(to_frames(away.row["frames"]))
    at = site.user or site.frame
    code = Code(file=at.file or None, line=at.line, function=at.function) if at else None
    return replace(found, site=site.site, code=code)


def _named(case: Case, rank: int, claim: Claim, waiting: int) -> Finding:
    return Finding(
        cause="rank_absent",
        ranks=(rank,),
        claims=(claim,),
        first_anomaly=FirstAnomaly(rank=rank, step=case.step_in_progress(rank), signature="called_by_name"),
        blast_radius=BlastRadius(ranks_waiting=waiting),
        collect=(words.LOG_STACK_RECORD(who=ranks_text((rank,))),),
        summary=sentence(claim.text),
    )


DETECTOR = Detector("did_not_give_up", ("events",), detect, "waiting")
