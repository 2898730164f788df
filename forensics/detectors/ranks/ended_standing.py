"""Did whoever watches end all processes because nothing moved?

    09:01:27 ERROR watchdog: engine made no step for 60 s, sending SIGKILL to pids 25001 and 25008

That is a hang by the word of who watches; where they stood, no line shows, so all of them are suspects, and nobody is named. Where some were ended and others not,
or a wait was given up, other lines tell more. Nobody is suspected where each process says in its own log that nothing moves, all behind one step, and went on to no
other: what they wait for is in none of them that is seen. Not so where such a line tells what goes on meanwhile (an evaluation, a save), or a process is held. Fooled by: a watchdog whose limit is shorter than what the program does then (a long transfer, a checkpoint).
"""

from forensics.case import Case, Detector
from forensics.facts.ends.standing import ended_standing, stood_alike
from forensics.facts.rows.event_rows import refs, rows
from forensics.model.finding import Claim, Finding
from forensics.model.incident import BlastRadius, FirstAnomaly
from forensics.model.texts import ranks_text
from forensics.words import standing as words

_WAITED = ("collective_timeout", "barrier_missing", "missing_members", "store_timeout")


def detect(case: Case) -> tuple[Finding, ...]:
    """Case → at most one finding."""
    found = ended_standing(case.events, case.seen)
    if case.has_open_operations or rows(case.events, *_WAITED):
        return ()
    if found is None:
        return _alike(case)
    text = words.ENDED(who=ranks_text(found.ranks), seconds=found.seconds)
    return (
        Finding(
            suspect_ranks=found.ranks,
            undecided=("tied_explanations",),
            claims=(Claim(text, "for", refs(found.told)),),
            first_anomaly=FirstAnomaly(step=case.step_in_progress(), signature="ended_standing"),
            blast_radius=BlastRadius(ranks_waiting=len(found.ranks)),
            collect=(words.STACKS(who=ranks_text(found.ranks)),),
            summary=words.UNDECIDED(what=text),
        ),
    )


def _alike(case: Case) -> tuple[Finding, ...]:
    """All stand, and no process of the job failed or was ended."""
    job = case.expected if case.is_world_told else frozenset()
    if case.ends or not job:
        return ()
    stood = stood_alike(case.tables, case.events, job)
    if stood is None:
        return ()
    text = words.STAND_ALIKE(number=len(stood.ranks), seconds=stood.seconds, step=stood.step)
    return (
        Finding(
            undecided=("tied_explanations",),
            claims=(Claim(text, "for", refs(stood.told)),),
            first_anomaly=FirstAnomaly(step=case.step_in_progress(), signature="stood_alike"),
            blast_radius=BlastRadius(ranks_waiting=len(stood.ranks)),
            collect=(words.WHAT_THEY_SHARE,),
            summary=words.UNDECIDED(what=text),
        ),
    )


DETECTOR = Detector("ended_standing", ("events",), detect, "waiting")
