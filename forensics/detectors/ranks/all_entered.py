"""Are all members in the same operation, and none done?

Then link, adapter, switch and kernel cannot be told apart without counters from inside the operation: no rank is named.
Where several such operations share a host, that host explains them all (graph/hang/overlap.py).
"""

from collections.abc import Iterable

from forensics.case import Case, Detector
from forensics.graph.hang.operations import Operation, anomaly_at, describe
from forensics.graph.hang.overlap import Overlap, overlap
from forensics.model.finding import Claim, Finding
from forensics.model.incident import BlastRadius, to_do
from forensics.model.names import Reason
from forensics.model.said import joined
from forensics.model.texts import ranks_text
from forensics.words import ranks as words


def _is_told_apart(operation: Operation) -> bool:
    """Do the members bring different calls? The two ends of a message do by their nature."""
    return not _is_message(operation) and len({call.signature for call in operation.calls}) > 1


def _is_message(operation: Operation) -> bool:
    return operation.op.startswith("p2p:")


def _links(operations: Iterable[Operation]) -> tuple[tuple[int | str, int | str], ...]:
    """Both ends of every message: the way between them is under suspicion, not a stage."""
    ends = {op.members["in"] for op in operations if _is_message(op) and len(op.members["in"]) == 2}
    return tuple((pair[0], pair[1]) for pair in sorted(ends))


def _overlap(case: Case, operations: list[Operation]) -> Overlap | None:
    """Only where every member's record shows it in: one that is not may have stopped, and so stall the others' calls."""
    if not case.identity.height or case.roots.lost:
        return None
    if any(operation.members.get("unknown") for operation in operations):
        return None
    return overlap([operation.all_ranks for operation in operations], case.host_of_rank)


def _shared_claims(operations: list[Operation], shared: Overlap | None) -> tuple[Claim, ...]:
    """That its hosts explain all of them."""
    if shared is None:
        return ()
    refs = tuple(ref for operation in operations[:3] for ref in operation.refs(1))
    hosts = joined((joined(cover, " and ") for cover in shared.covers[:6]), " or ")
    text = words.TOUCH_ALL[bool(shared.named)](hosts=hosts, number=len(operations))
    return (Claim(text, "for", refs),)


def detect(case: Case) -> tuple[Finding, ...]:
    """Case → one finding over all such operations, where no other root exists."""
    roots, states = case.roots, case.states
    if not roots.entered or roots.free or roots.cycles or roots.stuck:
        return ()
    operations = [op for op in describe(states, roots.entered).values() if not _is_told_apart(op)]
    if not operations:
        return ()
    main = max(operations, key=lambda op: (len(op.members.get("in", ())), op.op))
    suspects = {rank for op in operations for state in ("in", "unknown") for rank in op.members.get(state, ())}
    shared = _overlap(case, operations)
    reasons: tuple[Reason, ...] = ("all_entered_no_counters",)
    if shared and not shared.named:
        reasons = ("all_entered_no_counters", "tied_explanations")
    unknown = main.members.get("unknown")
    text = words.ALL_IN(call=main.label, who=ranks_text(main.members["in"]))
    text = joined((text, words.BY_STACK_ALONE(who=ranks_text(unknown)) if unknown else ""), "; ")
    entered = words.ENTERED_NONE_FINISHED(call=main.label, alike=words.LOOK_ALIKE)
    of_hosts = _shared_claims(operations, shared)
    return (
        Finding(
            hosts=shared.named if shared else (),
            suspect_ranks=shared.ranks if shared else tuple(sorted(suspects)),
            suspect_hosts=shared.hosts if shared and not shared.named else (),
            links=_links(operations),
            undecided=reasons,
            claims=(Claim(text, "for", main.refs(3)), *of_hosts),
            first_anomaly=anomaly_at(main, case.step_in_progress(), f"all_entered:{main.kind}:{main.group}"),
            blast_radius=BlastRadius(ranks_waiting=len(roots.waiters), groups=sorted({op.group for op in operations})),
            actions=tuple(
                to_do("inspect_network", host, words.GROUPS_PASS) for host in (shared.hosts[:8] if shared else ())
            ),
            collect=(words.INSIDE_OF_MEMBERS,),
            summary=words.UNDECIDED(what=joined((entered, *(claim.text for claim in of_hosts)), ". ")),
        ),
    )


DETECTOR = Detector("all_entered", ("operations",), detect, "waiting")
