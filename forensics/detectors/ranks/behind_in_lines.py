"""Where nothing that is known shows who waits for whom: whose log stops before a line that those of all others still print?

What the lines say is not asked, so it is a suspect and no more (facts/waits/courses.py), but where its host says of its process that it runs nothing any more, and
of no process that came further (facts/waits/held_processes.py): these two agree, and it is named. Asked only where something shows that the
job stood still. Ranks without a record may be further back still.
"""

from forensics.case import Case, Detector
from forensics.facts.waits.courses import behind
from forensics.facts.waits.held_processes import held_processes
from forensics.model.finding import Claim, Finding
from forensics.model.incident import BlastRadius, FirstAnomaly
from forensics.model.names import Reason
from forensics.model.said import joined, sentence
from forensics.model.texts import cut_middle, ranks_text
from forensics.words import courses as words

# Somebody says that the job, or a process of it, was ended.
_ENDS = ("scheduler", "exit", "first_failure", "closing_signal")
_SHOWN = 3  # ranks whose last words are cited


def detect(case: Case) -> tuple[Finding, ...]:
    """Case → at most one finding, only where no operation is recorded as open."""
    held = {} if case.states.open.height else held_processes(case.tables["stacks"], case.blocked)
    dead = {rank for rank, one in held.items() if one.how == "dead"}
    if case.states.open.height or not (case.hung or case.time_witness.stood or dead):
        return ()
    found = behind(case.tables["files"])
    if found is None or any(rank in case.ends and rank not in dead for rank in found.ranks):
        return ()
    missing = tuple(sorted(case.expected - case.seen))
    reasons: tuple[Reason, ...] = ("tied_explanations", "culprit_among_missing") if missing else ("tied_explanations",)
    # Others that lost it, or gave it up, print last words of that, too: then their ends tell more.
    is_over = bool(case.ends.keys() - dead) or bool(case.events["kind"].is_in(_ENDS).any())
    named = tuple(sorted(held)) if held.keys() <= {*found.ranks} else ()
    if found.is_by_last_words and is_over and not named:
        return ()
    first = named[0] if named else found.ranks[0]
    last = cut_middle(" ".join(found.last[first].text.split()), 120)
    stopped = words.STOPPED_AT(who=ranks_text(found.ranks), line=last)
    passed = words.ENDED_THAT if found.is_within else words.WENT_ON_TO
    went_on = passed(who=ranks_text(found.others), line=cut_middle(" ".join(found.further.text.split()), 120))
    claims = (
        Claim(stopped, "for", tuple(found.last[rank] for rank in found.ranks[:_SHOWN])),
        Claim(went_on, "for", (found.further,)),
        *(Claim(words.HELD[held[rank].how](who=ranks_text([rank])), "for", held[rank].refs) for rank in named[:_SHOWN]),
    )
    is_said = words.IS_WITHIN if found.is_within else words.IS_BEHIND
    behind_them = is_said(who=ranks_text(named or found.ranks), number=len(found.others))
    return (
        Finding(
            cause=("rank_died" if dead >= {*named} else "rank_absent") if named else None,
            ranks=named,
            suspect_ranks=() if named else tuple(sorted({*found.ranks, *missing})),
            undecided=() if named else reasons,
            claims=claims,
            first_anomaly=FirstAnomaly(
                rank=first if len(named or found.ranks) == 1 else None,
                step=case.step_in_progress(first),
                signature="behind_in_lines",
            ),
            blast_radius=BlastRadius(ranks_waiting=len(found.others)),
            collect=(words.STACKS_OF(who=ranks_text(found.ranks)),),
            summary=sentence(joined((claims[-1].text, behind_them), "; "))
            if named
            else words.UNDECIDED(what=behind_them),
        ),
    )


DETECTOR = Detector("behind_in_lines", ("files",), detect, "waiting")
