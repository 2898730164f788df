"""Do ranks wait for each other in a circle?

Method: strongly connected components of the wait-for graph with AND nodes (Knapp 1987): such a component never resolves.
"""

from forensics.case import Case, Detector
from forensics.facts.progress import step_in_progress
from forensics.graph.hang.operations import Operation, anomaly_at, describe
from forensics.model.finding import Claim, Finding
from forensics.model.incident import BlastRadius
from forensics.model.texts import ranks_text


def _claims(operations: list[Operation], cycle: tuple[int, ...]) -> tuple[Claim, ...]:
    claims = []
    for operation in operations:
        inside = operation.members.get("in", ())
        missing = tuple(sorted((*operation.members.get("absent", ()), *operation.members.get("enqueued", ()))))
        code = next((call.code for call in operation.calls if call.code), None)
        text = f"{ranks_text(inside)} {'waits' if len(inside) == 1 else 'wait'} in {operation.label}" + (
            f" (called at {code})" if code else ""
        )
        claims.append(Claim(f"{text} for {ranks_text(missing)}", "for", operation.refs(2, cycle)))
    return tuple(claims)


def detect(case: Case) -> tuple[Finding, ...]:
    """Case → one finding per closed component (disjoint ones are several deadlocks)."""
    roots, states = case.roots, case.states
    findings = []
    for ranks, ops in roots.cycles:
        operations = sorted(describe(states, ops).values(), key=lambda op: op.op)
        only_p2p = all(op.op.startswith("p2p:") for op in operations)
        cycle = tuple(sorted(ranks))
        groups = sorted({op.group for op in operations})
        first = operations[0]
        stacks = (
            case.stacks.filter(case.stacks["rank"].is_in(cycle) & (case.stacks["site"] == "communication"))
            if case.stacks.height
            else None
        )
        claims = _claims(operations, cycle)
        if stacks is not None and stacks.height:
            claims += (Claim(f"the stacks of {ranks_text(stacks['rank'].to_list())} are in communication", "for"),)
        if only_p2p and not any(operation.members.get("absent") for operation in operations):
            findings.append(_undelivered(case, cycle, operations, claims))
            continue
        findings.append(
            Finding(
                detector=DETECTOR.name,
                cause="deadlock_cycle",
                cycle=cycle,
                domain="workload",
                claims=claims,
                first_anomaly=anomaly_at(
                    first, step_in_progress(case.tables["steps"], cycle[0]), "cycle:" + "/".join(groups)
                ),
                blast_radius=BlastRadius(ranks_waiting=len(roots.waiters), groups=groups),
                summary=f"Deadlock: {ranks_text(cycle)} wait for each other over "
                + (f"sends and receives of {', '.join(groups)}" if only_p2p else f"the groups {', '.join(groups)}")
                + "; the records do not show which side changed the order.",
            )
        )
    return tuple(findings)


def _undelivered(case: Case, cycle: tuple[int, ...], operations: list[Operation], claims: tuple[Claim, ...]) -> Finding:
    """Messages that both ends have issued, in batches that wait for each other: nobody missed a call or changed the
    order, so what lies between them is under suspicion as much as their devices."""
    groups = sorted({operation.group for operation in operations})
    ends = {(ranks[0], ranks[1]) for operation in operations if len(ranks := operation.all_ranks) == 2}
    return Finding(
        detector=DETECTOR.name,
        cause=None,
        suspect_ranks=cycle,
        links=tuple(sorted(ends)),
        undecided=("all_entered_no_counters",),
        claims=claims,
        first_anomaly=anomaly_at(
            operations[0], step_in_progress(case.tables["steps"], cycle[0]), "undelivered:" + "/".join(groups)
        ),
        blast_radius=BlastRadius(ranks_waiting=len(case.roots.waiters) if case.roots else 0, groups=groups),
        collect=("NCCL_DEBUG=INFO logs, adapter counters and stacks of both ends",),
        summary=f"Undecided: {ranks_text(cycle)} have issued the messages that they exchange over {', '.join(groups)}, "
        "and none arrives; a fault of the network and a fault of their GPUs look alike here.",
    )


DETECTOR = Detector("deadlock_cycle", ("operations",), detect, "waiting")
