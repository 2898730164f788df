"""What does NCCL's RAS say of the members of a communicator?

A member that did not answer is gone. Numbers of launched operations that differ put the ones behind under suspicion: they
never launched what the others wait in. RAS lists a minority, which may as well be ahead; then, and where communicators
disagree, nobody is named. One report is a snapshot: without a time-out it may have caught a moving job, whose members are
suspects at most; and a rank that timed out itself waited for somebody, in this communicator or in another.
"""

from typing import Any

from forensics.case import Case, Detector
from forensics.facts.event_rows import Row, detail, is_missing, own_rank, refs, rows
from forensics.facts.progress import step_in_progress
from forensics.model.finding import Claim, Finding
from forensics.model.incident import BlastRadius, FirstAnomaly
from forensics.model.names import Cause, Reason
from forensics.model.texts import listed, ranks_text


def _behind(row: Row) -> bool | None:
    """Are the listed ranks behind the others? None where the counts do not tell."""
    counts = detail(row).get("counts") or []
    if len(counts) < 2 or not row["names_ranks"]:
        return None
    most = max(counts, key=lambda count: (count["ranks"], count["operation"]))
    few = [count for count in counts if count is not most]
    if 2 * sum(count["ranks"] for count in few) >= sum(count["ranks"] for count in counts):
        return None
    return all(count["operation"] < most["operation"] for count in few)


def detect(case: Case) -> tuple[Finding, ...]:
    """Case → at most one finding: missing members, else members behind."""
    gone = [row for row in rows(case.events, "missing_members") if is_missing(row)]
    if gone:
        return (_finding(case, gone, "rank_died", "did not answer RAS"),)
    differ = [row for row in rows(case.events, "ras_status") if row["code"] == "MISMATCH"]
    if not differ or case.has_open_operations:
        return ()
    return (_finding(case, differ, "rank_absent", "launched fewer operations than the other members"),)


def _named(case: Case, found: list[dict[str, Any]]) -> tuple[int, ...] | None:
    """Global ranks that every list agrees on; None where one of them cannot be mapped."""
    lists = []
    for row in found:
        known = case.memberships.to_global(row, row["names_ranks"] or ())
        if known is None or not row["names_ranks"]:
            return None
        lists.append(set(known.values()))
    return tuple(sorted(set.intersection(*lists)))


def _finding(case: Case, found: list[dict[str, Any]], cause: Cause, words: str) -> Finding:
    ranks = _named(case, found)
    behind = cause == "rank_died" or all(_behind(row) for row in found)
    absent = cause == "rank_absent"
    waiting = {own_rank(row) for row in rows(case.events, "collective_timeout")} & set(ranks or ()) if absent else set()
    sure = bool(ranks) and behind and not waiting and (case.has_waited or not absent)
    undecided: list[Reason] = []
    if ranks is None:
        undecided.append("membership_unknown")
    elif waiting:
        undecided.append("conflicting_evidence")
    elif not behind or not ranks:
        undecided.append("tied_explanations")
    if not case.has_waited:
        undecided.append("single_snapshot")
    numbers = sorted({rank for row in found for rank in row["names_ranks"] or ()})
    who = ranks_text(ranks) if ranks else f"ranks {listed(numbers)} of a communicator" if numbers else "some members"
    text = f"{who} {words}" if behind else "members launched different numbers of operations; the few may be ahead"
    return Finding(
        detector=DETECTOR.name,
        cause=cause if sure else None,
        ranks=(ranks or ()) if sure else (),
        hosts=(),
        suspect_ranks=() if sure else tuple(rank for rank in ranks or () if rank not in waiting),
        undecided=tuple(undecided),
        claims=(Claim(text, "for", refs(found)),),
        first_anomaly=FirstAnomaly(
            rank=ranks[0] if sure and ranks else None,
            step=step_in_progress(case.tables["steps"]),
            op=detail(found[0]).get("op"),
            group=found[0]["group"],
            signature=f"ras:{cause}",
        ),
        blast_radius=BlastRadius(ranks_waiting=0),
        collect=(f"log and py-spy dump of {who}",),
        summary=f"{text[:1].upper()}{text[1:]}, as RAS reports.",
    )


DETECTOR = Detector("ras_report", ("events",), detect, "waiting")
