"""Which process ended by itself, and by what?

Five questions of the same statements (facts/ends/process_ends.py), from what proves most to what proves least: a rank that died
of a cause of its own; one that ended by an error of unclear origin; a failure whose rank is not told; exits of which nothing but
the launcher's word is known; a log that ends within a traceback.
"""

from forensics.case import Case, Detector
from forensics.detectors.ranks.cut_off import ended_cut_off
from forensics.detectors.ranks.ended_ranks import ended_ranks
from forensics.detectors.ranks.ended_unclear import ended_unclear
from forensics.detectors.ranks.ended_unexplained import ended_unexplained
from forensics.detectors.ranks.ended_unplaced import ended_unplaced
from forensics.model.finding import Finding


def detect(case: Case) -> tuple[Finding, ...]:
    """Case → a finding for each of the five that has an answer."""
    told = (*ended_ranks(case), *ended_unclear(case), *ended_unplaced(case), *ended_unexplained(case))
    return told or ended_cut_off(case)


DETECTOR = Detector("process_ended", ("events",), detect, "ended")
