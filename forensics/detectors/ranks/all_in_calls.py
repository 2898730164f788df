"""Without records of operations: does every process of the job stand in a call that waits for others?

Then somebody waits for a call that its peers do not make, or a call hangs in all of them: which, a stack does not tell, for it names
neither group nor count. That it hangs, and in which calls who stands, is all that is said; it is asked only where something shows that
the job stood still.
"""

from forensics.case import Case, Detector
from forensics.facts.progress import step_in_progress
from forensics.facts.rank_stacks import stack_ref
from forensics.graph.hang.outside import places
from forensics.model.finding import Claim, Finding
from forensics.model.incident import BlastRadius, FirstAnomaly
from forensics.model.said import joined
from forensics.model.texts import ranks_text
from forensics.words import ranks as words


def detect(case: Case) -> tuple[Finding, ...]:
    """Case → at most one finding, only where no operation is recorded as open."""
    if case.states.open.height or not (case.hung or case.time_witness.stood):
        return ()
    live = places(case.stacks, case.waited_ranks, case.expected).live
    standing = live.filter(live["site"] == "communication") if live.height else live
    ranks = frozenset(standing["rank"].drop_nulls().to_list()) if standing.height else frozenset()
    if standing.height < live.height or len(ranks) < 2 or standing["rank"].null_count() or not case.expected <= ranks:
        return ()
    by_call: dict[str, list[int]] = {}
    for op, rank in standing.sort("rank").select("op", "rank").iter_rows():
        by_call.setdefault(op or str(words.KIND_UNKNOWN), []).append(rank)
    alike = [words.STAND_IN(who=ranks_text(own), op=op) for op, own in by_call.items()]
    refs = tuple(
        stack_ref(row)
        for row in standing.sort("rank").unique("op", keep="first", maintain_order=True).iter_rows(named=True)
    )
    return (
        Finding(
            detector=DETECTOR.name,
            cause=None,
            claims=(Claim(joined(alike, "; "), "for", refs),),
            undecided=("membership_unknown",),
            first_anomaly=FirstAnomaly(
                step=step_in_progress(case.tables["steps"]), op="/".join(sorted(by_call)), signature="all_in_calls"
            ),
            blast_radius=BlastRadius(ranks_waiting=len(ranks)),
            collect=(words.DUMPS,),
            summary=words.UNDECIDED(what=words.ALL_IN_CALLS(number=len(ranks), ops=joined(list(by_call), ", "))),
        ),
    )


DETECTOR = Detector("all_in_calls", ("stacks",), detect, "waiting")
