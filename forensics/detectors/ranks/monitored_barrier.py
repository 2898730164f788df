"""Which ranks does a monitored barrier miss?

Rank 0 of the group collects the answers, so only its list counts: where others print one, each blames whom it happened
to wait for. A list of half the group and more is no proof: rank 0 may have made one call too many.
"""

from forensics.case import Case, Detector
from forensics.facts.event_rows import Row, refs, rows
from forensics.facts.memberships import is_default
from forensics.facts.progress import step_in_progress
from forensics.facts.rank_stacks import codes, sites, stack_claims
from forensics.model.finding import Claim, Finding
from forensics.model.incident import BlastRadius, FirstAnomaly
from forensics.model.texts import listed, ranks_text


def _by_leader(case: Case, row: Row) -> bool:
    """Was it rank 0 of the group, or a rank that is not known, that printed this list?"""
    if row["rank"] is None or (row["rank"] == 0):
        return True
    group, desc = case.memberships.group_of(row)
    members = case.memberships.members_of(group, desc)
    return bool(members) and not is_default(group, desc) and row["rank"] == members[0]


def detect(case: Case) -> tuple[Finding, ...]:
    """Case → at most one finding over the lists of rank 0."""
    found = [row for row in rows(case.events, "barrier_missing") if row["names_ranks"]]
    lists = [row for row in found if _by_leader(case, row)]
    if not lists:
        return ()
    known = [case.memberships.to_global(row, row["names_ranks"], assume=True) for row in lists]
    named = tuple(sorted({rank for mapping in known if mapping for rank in mapping.values()}))
    if not named:
        return (_unmapped(lists),)
    group, desc = case.memberships.group_of(lists[0])
    size = len(case.memberships.members_of(group, desc)) or max(len(case.expected), len(case.seen))
    tied = bool(size) and 2 * len(named) >= size
    where = sites(case.stacks, named)
    text = f"rank 0 waited in a monitored barrier for {ranks_text(named)}"
    return (
        Finding(
            detector=DETECTOR.name,
            cause=None if tied else "rank_absent",
            ranks=() if tied else named,
            suspect_ranks=tuple(sorted({*named, 0})) if tied else (),
            site=None if tied else where.get(named[0]),
            code=None if tied else codes(case.stacks, named).get(named[0]),
            undecided=(("two_member_mismatch" if size == 2 else "tied_explanations"),) if tied else (),
            claims=(Claim(text, "for", refs(lists)), *stack_claims(case.stacks, named)),
            first_anomaly=FirstAnomaly(
                rank=None if tied else named[0],
                step=step_in_progress(case.tables["steps"], named[0]),
                op="barrier",
                group=desc or group,
                signature="monitored_barrier",
            ),
            blast_radius=BlastRadius(ranks_waiting=max(size - len(named), 0)),
            collect=(f"py-spy dump of {ranks_text(named)}",),
            summary=f"{ranks_text(named).capitalize()} did not come to a monitored barrier"
            + ("; they are half of the group and more, so rank 0 may be the one out of step." if tied else "."),
        ),
    )


def _unmapped(lists: list[dict[str, object]]) -> Finding:
    numbers = sorted({rank for row in lists for rank in row["names_ranks"]})  # type: ignore[attr-defined]
    text = f"a monitored barrier missed {listed(numbers)}, counted within a group whose members are not known"
    return Finding(
        detector=DETECTOR.name,
        undecided=("membership_unknown",),
        claims=(Claim(text, "for", refs(lists)),),
        collect=("flight-recorder dumps, which hold the members of every group",),
        summary=f"Undecided: {text}.",
    )


DETECTOR = Detector("monitored_barrier", ("events",), detect, "waiting")
