"""Do the members of one collective call different operations, sizes or types at the same number?

The minority is named if more than half of all members agree on the other call (members without a record count as
unknown; a stack that stands in the operation's own call counts as a record), or if its own history shows the change:
the place in the code that it calls from differs from the one that it shared with the others before. In a group of two
nobody is named.
"""

from collections import Counter

import polars as pl

from forensics.case import Case, Detector
from forensics.facts.progress import step_in_progress
from forensics.graph.hang.operations import Call, Operation, describe, opened_utc
from forensics.model.finding import Claim, Finding
from forensics.model.incident import BlastRadius, Code, FirstAnomaly
from forensics.model.names import Reason
from forensics.model.texts import ranges, ranks_text


def _disagreeing(case: Case) -> list[Operation]:
    """Open collectives whose members recorded more than one signature."""
    assert case.states is not None
    collectives = case.states.open.filter(~pl.col("is_p2p"))
    ops = (
        collectives.group_by("op")
        .agg(pl.struct("kind", "dtype", "root", "numel").n_unique().alias("kinds"))
        .filter(pl.col("kinds") > 1)["op"]
        .to_list()
    )
    found = [op for op in describe(case.states, ops).values() if len({call.signature for call in op.calls}) > 1]
    return sorted(found, key=lambda op: (min((c.time_created_ns or 0 for c in op.calls), default=0), op.op))


def _by_stack(case: Case, operation: Operation) -> Counter[str]:
    """kind → how many members without a usable record stand in that call by their stack."""
    unknown = set(operation.members.get("unknown", ()))
    rows = case.stacks.filter(pl.col("rank").is_in(sorted(unknown)) & pl.col("op").is_not_null())
    return Counter(rows["op"].to_list())


def _sides(case: Case, operation: Operation) -> tuple[tuple[Call, ...], tuple[Call, ...], bool]:
    """(minority, majority, decided)."""
    counts = Counter(call.signature for call in operation.calls)
    order = sorted(counts, key=lambda signature: (-counts[signature], str(signature)))
    best = order[0]
    majority = tuple(call for call in operation.calls if call.signature == best)
    minority = tuple(call for call in operation.calls if call.signature != best)
    votes = len(majority) + _by_stack(case, operation).get(str(best[0]), 0)
    return minority, majority, operation.size > 2 and 2 * votes > operation.size


def _words(call: Call) -> str:
    parts = [str(call.kind)]
    if call.numel is not None:
        parts.append(f"of {call.numel} elements")
    if call.dtype:
        parts.append(call.dtype)
    if call.root is not None:
        parts.append(f"root {call.root}")
    return " ".join(parts) + (f" at {call.code}" if call.code else "")


def _claims(operation: Operation, minority: tuple[Call, ...], majority: tuple[Call, ...]) -> tuple[Claim, ...]:
    def side(calls: tuple[Call, ...]) -> Claim:
        text = f"{ranks_text(call.rank for call in calls)} call {_words(calls[0])} as number {operation.seq} on group {operation.group}"
        return Claim(text, "for", tuple(call.ref(operation.label) for call in calls[:2]))

    return (side(minority), side(majority))


def _code(call: Call) -> Code | None:
    if not call.code:
        return None
    file, _, line = call.code.rpartition(":")
    return Code(file=file, line=int(line) if line.isdigit() else None, function=None)


def detect(case: Case) -> tuple[Finding, ...]:
    """Case → one finding for the earliest disagreement."""
    if case.states is None or case.waits is None:
        return ()
    found = _disagreeing(case)
    if not found:
        return ()
    operation = found[0]
    minority, majority, decided = _sides(case, operation)
    claims = _claims(operation, minority, majority)
    named = tuple(call.rank for call in minority) if decided else ()
    suspects = (
        () if decided else tuple(sorted({*(c.rank for c in operation.calls), *operation.members.get("unknown", ())}))
    )
    reason: tuple[Reason, ...] = ()
    if not decided:
        reason = ("two_member_mismatch",) if operation.size == 2 else ("tied_explanations",)
    waiting = len(case.roots.waiters) if case.roots else len(operation.calls)
    says = f"{ranks_text(c.rank for c in minority)} calls {_words(minority[0])} where {ranks_text(c.rank for c in majority)} calls {_words(majority[0])}"
    stack_votes = sum(_by_stack(case, operation).values())
    if stack_votes:
        claims += (
            Claim(
                f"{stack_votes} members without a usable record stand in {majority[0].kind} by their stack",
                "for",
            ),
        )
    first = minority[0]
    return (
        Finding(
            detector=DETECTOR.name,
            cause="collective_mismatch",
            ranks=named,
            suspect_ranks=suspects,
            undecided=reason,
            code=_code(first) if decided else None,
            domain="workload",
            claims=claims,
            first_anomaly=FirstAnomaly(
                time_utc=opened_utc(operation),
                rank=first.rank if decided else None,
                step=step_in_progress(case.tables["steps"], first.rank),
                op=f"{first.kind} / {majority[0].kind}",
                group=operation.group,
                group_ranks=ranges(operation.all_ranks),
                seq=operation.seq,
                signature=f"mismatch:{operation.group}:{first.kind}/{majority[0].kind}",
            ),
            blast_radius=BlastRadius(ranks_waiting=waiting, groups=[operation.group]),
            collect=() if decided else ("TORCH_DISTRIBUTED_DEBUG=DETAIL and the stack of every member",),
            summary=f"Collective mismatch at number {operation.seq} on group {operation.group}: {says}."
            + ("" if decided else " No majority of the group decides which side is wrong."),
        ),
    )


DETECTOR = Detector("mismatched_call", ("operations",), detect, "waiting")
