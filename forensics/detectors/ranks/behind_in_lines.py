"""Where nothing that is known shows who waits for whom: whose log stops before a line that those of all others still print?

What the lines say is not asked, so it is a suspect and no more (facts/courses.py). Asked only where something shows that the
job stood still. Ranks without a record may be further back still.
"""

from forensics.case import Case, Detector
from forensics.facts.courses import behind
from forensics.facts.progress import step_in_progress
from forensics.model.finding import Claim, Finding
from forensics.model.incident import BlastRadius, FirstAnomaly
from forensics.model.names import Reason
from forensics.model.texts import cut_middle, ranks_text
from forensics.words import courses as words

_SHOWN = 3  # ranks whose last words are cited


def detect(case: Case) -> tuple[Finding, ...]:
    """Case → at most one finding, only where no operation is recorded as open."""
    if case.states.open.height or not (case.hung or case.time_witness.stood):
        return ()
    found = behind(case.tables["files"])
    if found is None or any(rank in case.ends for rank in found.ranks):
        return ()
    missing = tuple(sorted(case.expected - case.seen))
    reasons: tuple[Reason, ...] = ("tied_explanations", "culprit_among_missing") if missing else ("tied_explanations",)
    first = found.ranks[0]
    stopped = words.STOPPED_AT(
        who=ranks_text(found.ranks), line=cut_middle(" ".join(found.last[first].text.split()), 120)
    )
    went_on = words.WENT_ON_TO(who=ranks_text(found.others), line=cut_middle(" ".join(found.further.text.split()), 120))
    claims = (
        Claim(stopped, "for", tuple(found.last[rank] for rank in found.ranks[:_SHOWN])),
        Claim(went_on, "for", (found.further,)),
    )
    return (
        Finding(
            detector=DETECTOR.name,
            suspect_ranks=tuple(sorted({*found.ranks, *missing})),
            undecided=reasons,
            claims=claims,
            first_anomaly=FirstAnomaly(
                rank=first if len(found.ranks) == 1 else None,
                step=step_in_progress(case.tables["steps"], first),
                signature="behind_in_lines",
            ),
            blast_radius=BlastRadius(ranks_waiting=len(found.others)),
            collect=(words.STACKS_OF(who=ranks_text(found.ranks)),),
            summary=words.UNDECIDED(what=words.IS_BEHIND(who=ranks_text(found.ranks), number=len(found.others))),
        ),
    )


DETECTOR = Detector("behind_in_lines", ("files",), detect, "waiting")
