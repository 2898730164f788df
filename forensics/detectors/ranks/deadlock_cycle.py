"""Do ranks wait for each other in a circle?

Method: strongly connected components of the wait-for graph with AND nodes (Knapp 1987): such a component never resolves.
"""

import polars as pl

from forensics.case import Case, Detector
from forensics.graph.hang.operations import Operation, anomaly_at, describe
from forensics.model.finding import Claim, Finding
from forensics.model.incident import BlastRadius, Code
from forensics.model.said import joined
from forensics.model.texts import ranks_text
from forensics.words import ranks as words


def _claims(operations: list[Operation], cycle: tuple[int, ...]) -> tuple[Claim, ...]:
    claims = []
    for operation in operations:
        inside = operation.members.get("in", ())
        missing = tuple(sorted((*operation.members.get("absent", ()), *operation.members.get("enqueued", ()))))
        code = next((call.code for call in operation.calls if call.code), None)
        call = words.CALL_AT(call=operation.label, code=code) if code else operation.label
        waits = words.WAIT_IN_FOR[len(inside) == 1]
        text = waits(who=ranks_text(inside), call=call, missing=ranks_text(missing))
        claims.append(Claim(text, "for", operation.refs(2, cycle)))
    return tuple(claims)


def _code(operations: list[Operation]) -> Code | None:
    """The line of the first of these calls that tells where it was made; one is enough to find the order in its program."""
    at = next((call.code for operation in operations for call in operation.calls if call.code), None)
    file, _, line = (at or "").rpartition(":")
    return Code(file=file, line=int(line), function=None) if file and line.isdigit() else None


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
        claims = _claims(operations, cycle)
        if case.stacks.height:
            stacks = case.stacks.filter(pl.col("rank").is_in(cycle) & (pl.col("site") == "communication"))
            said = words.STACKS_COMMUNICATE(who=ranks_text(stacks["rank"].to_list()))
            claims += (Claim(said, "for"),) if stacks.height else ()
        if only_p2p and not any(operation.members.get("absent") for operation in operations):
            findings.append(_undelivered(case, cycle, operations, claims))
            continue
        findings.append(
            Finding(
                cause="deadlock_cycle",
                cycle=cycle,
                code=_code(operations),
                domain="workload",
                claims=claims,
                first_anomaly=anomaly_at(first, case.step_in_progress(cycle[0]), "cycle:" + "/".join(groups)),
                blast_radius=BlastRadius(ranks_waiting=len(roots.waiters), groups=groups),
                summary=words.DEADLOCK(
                    who=ranks_text(cycle),
                    what=(words.MESSAGES_OF if only_p2p else words.THE_GROUPS)(groups=joined(groups, ", ")),
                ),
            )
        )
    return tuple(findings)


def _undelivered(case: Case, cycle: tuple[int, ...], operations: list[Operation], claims: tuple[Claim, ...]) -> Finding:
    """Messages that both ends have issued, in batches that wait for each other: nobody missed a call or changed the
    order, so what lies between them is under suspicion as much as their devices."""
    groups = sorted({operation.group for operation in operations})
    ends = {(ranks[0], ranks[1]) for operation in operations if len(ranks := operation.all_ranks) == 2}
    return Finding(
        suspect_ranks=cycle,
        links=tuple(sorted(ends)),
        undecided=("all_entered_no_counters",),
        claims=claims,
        first_anomaly=anomaly_at(operations[0], case.step_in_progress(cycle[0]), "undelivered:" + "/".join(groups)),
        blast_radius=BlastRadius(ranks_waiting=len(case.roots.waiters), groups=groups),
        collect=(words.LOGS_OF_BOTH_ENDS,),
        summary=words.UNDECIDED(what=words.UNDELIVERED(who=ranks_text(cycle), groups=joined(groups, ", "))),
    )


DETECTOR = Detector("deadlock_cycle", ("operations",), detect, "waiting")
