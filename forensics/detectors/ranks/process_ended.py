"""Which process ended by itself, and by what?

Five questions of the same statements (facts/ends/process_ends.py), from what proves most to what proves least: a rank that died
of a cause of its own; one that ended by an error of unclear origin; a failure whose rank is not told; exits of which nothing but
the launcher's word is known; a log that ends within a traceback.
"""

from forensics.case import Case, Detector
from forensics.detectors.ranks.ended_ranks import ended_ranks
from forensics.detectors.ranks.ended_unclear import ended_unclear
from forensics.detectors.ranks.ended_unexplained import ended_unexplained
from forensics.detectors.ranks.ended_unplaced import ended_unplaced
from forensics.facts.ends.cut_off import cut_off
from forensics.facts.rows.error_words import users_code
from forensics.facts.rows.event_rows import detail, refs
from forensics.model.finding import Claim, Finding
from forensics.model.incident import FirstAnomaly
from forensics.model.told import has_kind
from forensics.words import ended as words
from parsers.knowledge import waits

_BEFORE_IT_RAN = ("connect_failed", "store_timeout", "missing_members")  # what did not come about, the traceback is of


def detect(case: Case) -> tuple[Finding, ...]:
    """Case → a finding for each of the five that has an answer."""
    told = (*ended_ranks(case), *ended_unclear(case), *ended_unplaced(case), *ended_unexplained(case))
    return told or _cut_off(case)


def _cut_off(case: Case) -> tuple[Finding, ...]:
    """Does a log end within a traceback, and is nothing else told of how the job ended? Then a process raised an exception, in a call
    that waits for others perhaps for theirs; what it was and who failed first is cut off."""
    rows = [] if case.ends or case.has_waited else cut_off(case.events, case.tables["files"])
    if not rows or (not case.has_begun and has_kind(case.events, *_BEFORE_IT_RAN)):
        return ()
    code, frames = users_code(rows[0]), [(file, function or "") for function, file, _ in detail(rows[0])["frames"]]
    text = words.CUT_IN_TRACEBACK(file=rows[0]["file"])
    shown = (Claim(words.SHOWN_UP_TO(file=code.file, line=code.line), "for", refs(rows, most=1)),) if code else ()
    return (
        Finding(
            cause=None if any(waits(*frame) not in (None, "wrapper") for frame in frames) else "exception",
            undecided=("tied_explanations",),
            claims=(Claim(text, "for", refs(rows)), *shown),
            first_anomaly=FirstAnomaly(step=case.step_in_progress(), signature="cut_off"),
            collect=(words.REST_OF_LOG(file=rows[0]["file"]),),
            summary=words.UNDECIDED(what=text),
        ),
    )


DETECTOR = Detector("process_ended", ("events",), detect, "ended")
