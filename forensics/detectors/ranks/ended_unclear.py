"""Processes ended by errors of which neither words nor form tell whose failure it was: who may it have been?

Method: facts/ends/failure_roles.py. Whoever raised an unknown error is a suspect, beside all ranks not shown to wait for others or to
have lost them: a stop shows a rank alive, not waiting. Where the last words quote another process's failure, its cause stands; the
number that they quote is a place in the printers' group, and names a rank only if they and the printers are all of the job, or if that rank's
own record shows the failure (then facts/ends/origins.py names it). Who raised it in a call of a group of two suspects the other as well.
Where the message says which two processes differ, either may be the wrong one. Of a job of which one rank alone left a log and nobody tells the size,
that one is not the only one who may have failed.
"""

from forensics.case import Case
from forensics.facts.ends.origins import few
from forensics.facts.ends.process_ends import ProcessEnd
from forensics.facts.ends.shared_complaints import complained_alike
from forensics.facts.ends.told_pairs import partner
from forensics.model.finding import Claim, Finding
from forensics.model.incident import BlastRadius, FirstAnomaly
from forensics.model.ref import Ref
from forensics.model.said import joined
from forensics.model.texts import ranks_text
from forensics.words import ended as words

_SHOWN = 3


def ended_unclear(case: Case) -> tuple[Finding, ...]:
    """Case → at most one finding, where nobody is known to have failed by itself."""
    if case.origins is not None:
        return ()
    quoted = {rank: end for rank, end in case.ends.items() if end.how == "quoted"}
    if quoted:
        return (_quoted(case, quoted),)
    unclear = {rank: end for rank, end in case.ends.items() if end.how == "unclear"}
    lost = {rank: end for rank, end in case.ends.items() if end.how == "lost"}
    if not unclear and not lost:
        return ()
    return (_unclear(case, unclear, lost),)


def _unclear(case: Case, unclear: dict[int, ProcessEnd], lost: dict[int, ProcessEnd]) -> Finding:
    job = case.expected or case.seen
    waited = {rank for rank, end in case.ends.items() if end.waited} | case.waited_ranks
    held = set(case.states.open["rank"].to_list())
    pairs = {
        other
        for rank, end in unclear.items()
        if case.failure_roles[rank].in_call and (other := partner(case.tables["groups"], end)) is not None
    }
    shared = complained_alike(case.tables, [*unclear.values()]) if unclear and not lost else ()
    rest = () if shared else _differing(case, unclear | lost) or few(set(unclear) | pairs | (job - waited - held), job)
    is_alone = len(rest) == 1 and job <= {*rest} and not case.is_world_told
    rest = () if is_alone else rest
    shown = sorted(unclear) or sorted(lost)
    reason = case.failure_roles[shown[0]].reason
    who, line = ranks_text(shown), (unclear or lost)[shown[0]].refs[0].text
    claims = [Claim(words.RAISED_UNKNOWN(who=who, line=line, reason=reason), "for", _places(unclear or lost))]
    if unclear and lost:
        claims.append(Claim(words.FAILED_ALIKE(who=ranks_text(lost)), "for", _places(lost)))
    claims += [Claim(words.ALL_COMPLAINED, "for", shared)] if shared else []
    text = words.WHOSE_IS_UNCLEAR(text=claims[0].text)
    one_of = (words.ONLY_ONE if len(rest) == 1 else words.ONE_OF)(who=ranks_text(rest)) if rest else words.ANYBODY
    one_of = words.ALL_COMPLAINED if shared else words.NO_OTHER_LOG if is_alone else one_of
    return Finding(
        suspect_ranks=rest,
        undecided=("tied_explanations",),
        claims=tuple(claims),
        first_anomaly=FirstAnomaly(step=case.step_in_progress(), signature="unclear_end"),
        blast_radius=BlastRadius(ranks_waiting=len(waited)),
        collect=(words.LAST_WORDS(who=ranks_text(rest or shown)),),
        summary=words.UNDECIDED(what=joined((text, one_of), "; ")),
    )


def _differing(case: Case, raised: dict[int, ProcessEnd]) -> tuple[int, ...]:
    """Who differs from whom, as the processes that ended say: those of whom all of them speak, where they are most of the job; else, as they may be
    the few that are wrong, all that any speaks of. Only where each counts itself by its rank, as a place in a group need not be one."""
    told = {rank: case.failure_roles[rank].between for rank in raised}
    if not told or not all(rank in between for rank, between in told.items()):
        return ()
    whole, shared = frozenset.union(*told.values()), frozenset.intersection(*told.values())
    job = (case.expected or case.seen) | (frozenset[int]() if case.is_world_told else whole)
    return few(((shared if 2 * len(told) > len(job) else None) or whole) & job, job)


def _quoted(case: Case, printers: dict[int, ProcessEnd]) -> Finding:
    first = printers[min(printers)]
    causes = {end.cause for end in printers.values()}
    place = first.refs[0]
    at = (case.events["file"] == place.file) & (case.events["line"] == place.line)
    told = {rank for row in case.events.filter(at).iter_rows(named=True) for rank in row["names_ranks"] or ()}
    number = told.pop() if len(told) == 1 else None
    job = case.job_told_of
    # Else who left a record may be a group of their own.
    is_told = case.is_world_told or job == frozenset(range(len(job)))
    is_whole = is_told and number in job and len(printers) > 1 and job <= printers.keys() | {number}
    named = (number,) if is_whole and number is not None else ()
    text = words.QUOTE(who=ranks_text(printers), number="?" if number is None else number, line=place.text)
    return Finding(
        cause=first.cause if len(causes) == 1 else None,
        ranks=named,
        suspect_ranks=() if named else few(printers, case.expected or case.seen),
        undecided=() if named else ("membership_unknown",),
        claims=(Claim(text, "for", _places(printers)),),
        first_anomaly=FirstAnomaly(
            rank=named[0] if named else None,
            step=case.step_in_progress(),
            signature=f"{first.cause}:{first.code}" if first.code else str(first.cause),
        ),
        collect=() if named else (words.MEMBERS_OF_ITS_GROUP,),
        summary=text if named else words.UNDECIDED(what=joined((text, words.PLACE_IN_A_GROUP), "; ")),
    )


def _places(ends: dict[int, ProcessEnd]) -> tuple[Ref, ...]:
    return tuple(ref for rank in sorted(ends)[:_SHOWN] for ref in ends[rank].refs[:1])
