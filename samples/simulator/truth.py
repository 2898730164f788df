"""What a reader of the bundle should answer, given what the bundle still holds. Follows the rules of docs/contract."""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from samples.simulator.engine import NEVER, Engine, Op
from samples.simulator.faults import Plan
from samples.simulator.job import Job
from samples.simulator.program import Call
from samples.simulator.waits import cycle_ranks, wait_graph


@dataclass(frozen=True)
class Kept:
    """Which ranks' or hosts' files are readable in the bundle. `early`: ranks dumped before the end."""

    recorders: frozenset[int] = frozenset()
    stacks: frozenset[int] = frozenset()
    logs: frozenset[int] = frozenset()
    kernels: frozenset[str] = frozenset()
    launcher: bool = False
    early: frozenset[int] = field(default_factory=frozenset)


def truth(job: Job, plan: Plan, engine: Engine, kept: Kept) -> dict[str, Any]:
    """Keys as in the scorer's table: kinds, causes, ranks | ranks_any, cycle, hosts, site, steps; and beside them
    `suspects_must_include`, `undecided`, `culprit_dump_present`, `decidable`, `first_op`, `fault`."""
    base = blank(plan, kept)
    makers = {
        "none": _healthy, "store_timeout": _store, "rank_absent": _absent, "rank_died": _died,
        "collective_mismatch": _mismatch, "deadlock_cycle": _cycle, "kernel_stuck": _stuck, "gpu_fault": _stuck,
        "network_fault": _network, "all_entered": _all_entered, "slow": _slow,
    }  # fmt: skip
    base.update(makers[plan.fault.kind](job, plan, engine, kept))
    if plan.step is not None:
        base["steps"] = sorted({plan.step, plan.step + (plan.site in ("logging", "checkpoint_io"))})
    return base


def blank(plan: Plan, kept: Kept) -> dict[str, Any]:
    """An answer that names nobody and asks for nobody."""
    return {
        "fault": {"kind": plan.fault.kind, "how": plan.how, "culprits": list(plan.culprits), "hosts": list(plan.hosts)},
        "kinds": ["hang"], "causes": [], "ranks": [], "cycle": [], "hosts": [], "links": [], "site": [],
        "suspects_must_include": [], "undecided": [], "decidable": not kept.early,
        "culprit_dump_present": all(rank in kept.recorders for rank in plan.culprits), "first_op": None,
    }  # fmt: skip


def _unsure(ranks: Collection[int], *causes: str) -> dict[str, Any]:
    """The culprit may be named or not, but must not be missed."""
    return {
        "ranks_any": [[], sorted(ranks)], "causes": [None, *causes], "suspects_must_include": sorted(ranks),
        "decidable": False,
    }  # fmt: skip


def _missing(plan: Plan, *causes: str) -> dict[str, Any]:
    return {**_unsure(plan.culprits, *causes), "undecided": ["culprit_among_missing"]}


def _healthy(job: Job, plan: Plan, engine: Engine, kept: Kept) -> dict[str, Any]:
    return {"kinds": ["healthy"], "causes": [None], "decidable": bool(kept.recorders or kept.logs)}


def _store(job: Job, plan: Plan, engine: Engine, kept: Kept) -> dict[str, Any]:
    return {
        "kinds": ["launch", "hang"], "causes": ["store_timeout", "missing_ranks"],
        "ranks_any": [[], sorted(plan.culprits)],
        "suspects_must_include": sorted(plan.culprits), "decidable": bool(kept.logs - set(plan.culprits)),
    }  # fmt: skip


def _absent(job: Job, plan: Plan, engine: Engine, kept: Kept) -> dict[str, Any]:
    answer: dict[str, Any] = {"ranks": sorted(plan.culprits), "causes": ["rank_absent"], "site": _sites(plan, kept)}
    answer["first_op"] = awaited(job, engine, plan.culprits[0])
    if not all(rank in kept.recorders for rank in plan.culprits):
        answer |= _missing(plan, "rank_absent")
        answer["site"] = []
    return answer


def _sites(plan: Plan, kept: Kept) -> list[str | None]:
    if plan.site == "unresponsive":
        return ["unresponsive", "unknown", None]
    return [plan.site] if all(rank in kept.stacks for rank in plan.culprits) else []


def _died(job: Job, plan: Plan, engine: Engine, kept: Kept) -> dict[str, Any]:
    rank = plan.culprits[0]
    cause = {"sigkill": "killed", "host_oom": "host_oom", "exception": "exception"}[plan.how or "sigkill"]
    if cause == "host_oom" and job.host(rank) not in kept.kernels:
        cause = "killed"
    if not kept.launcher and not (cause == "exception" and rank in kept.logs) and cause != "host_oom":
        return _missing(plan, "rank_died", cause)
    return {"kinds": ["crash", "hang"], "causes": [cause, "rank_died"], "ranks": [rank]}


def _mismatch(job: Job, plan: Plan, engine: Engine, kept: Kept) -> dict[str, Any]:
    ranks = set(plan.culprits)
    meeting = next((m for m in engine.meetings.values() if not m.agree and ranks & {op.rank for op in m.ops}), None)
    if meeting is None:
        return _unsure(ranks, "collective_mismatch", "deadlock_cycle", "rank_absent")
    members = job.groups[meeting.ops[0].group].members
    if len(members) == 2:
        return {
            "ranks": [], "causes": ["collective_mismatch"], "suspects_must_include": sorted(members),
            "undecided": ["two_member_mismatch"], "decidable": all(rank in kept.recorders for rank in members),
        }  # fmt: skip
    if not ranks <= kept.recorders:
        return _missing(plan, "collective_mismatch", "rank_absent")
    agreeing = [rank for rank in members if rank in kept.recorders and rank not in ranks]
    if len(agreeing) * 2 <= len(members):
        return _unsure(ranks, "collective_mismatch")
    return {"ranks": sorted(ranks), "causes": ["collective_mismatch"]}


def _cycle(job: Job, plan: Plan, engine: Engine, kept: Kept) -> dict[str, Any]:
    cycle = cycle_ranks(wait_graph(engine))
    if set(cycle) <= kept.recorders:
        return {"causes": ["deadlock_cycle"], "cycle": cycle, "ranks_any": [[], sorted(plan.culprits)]}
    # The recorded part of the circle may be shown.
    return {**_unsure(plan.culprits, "deadlock_cycle"), "suspects_must_include": [], "cycle_may_include": cycle}


def _stuck(job: Job, plan: Plan, engine: Engine, kept: Kept) -> dict[str, Any]:
    rank, index = plan.places[0]
    xid = plan.fault.kind == "gpu_fault" and job.host(rank) in kept.kernels
    if plan.how == "before":
        return _unsure([rank], "gpu_fault", "kernel_stuck")
    op = next(op for op in engine.ranks[rank].ops if op.index == index)
    others = set(job.groups[op.group].members) - {rank}
    if rank not in kept.recorders:
        return _missing(plan, "gpu_fault", "kernel_stuck")
    if not others <= kept.recorders:
        return _unsure([rank], "gpu_fault", "kernel_stuck")
    return {"ranks": [rank], "causes": ["gpu_fault" if xid else "kernel_stuck"], "first_op": describe(job, op)}


def _network(job: Job, plan: Plan, engine: Engine, kept: Kept) -> dict[str, Any]:
    if kept.logs:
        return {"causes": ["network_fault"], "hosts": list(plan.hosts)}
    return {"causes": [None], "undecided": ["all_entered_no_counters"], "decidable": False}


def _all_entered(job: Job, plan: Plan, engine: Engine, kept: Kept) -> dict[str, Any]:
    rank, index = plan.places[0]
    op = next(op for op in engine.ranks[rank].ops if op.index == index)
    members = job.groups[op.group].members
    return {
        # With a member's record lost, nobody can know that all have entered.
        "causes": [None], "undecided": ["all_entered_no_counters"],
        "suspects_must_include": sorted(members) if set(members) <= kept.recorders else [],
        "decidable": set(members) <= kept.recorders, "first_op": describe(job, op),
    }  # fmt: skip


def _slow(job: Job, plan: Plan, engine: Engine, kept: Kept) -> dict[str, Any]:
    return {
        "kinds": ["slow", "unknown", "healthy"], "causes": [None, "straggler_host"],
        "ranks_any": [[], list(plan.culprits)],
    }  # fmt: skip


def describe(job: Job, op: Op) -> dict[str, Any]:
    assert isinstance(op.call, Call)
    group = job.groups[op.group]
    where = op.call.where
    return {
        "group": group.name, "members": list(group.members), "op": op.call.kind, "step": where.step,
        "phase": where.phase, "microbatch": where.microbatch, "ordinal": op.ordinal,
    }  # fmt: skip


def awaited(job: Job, engine: Engine, rank: int) -> dict[str, Any] | None:
    """The operation, first in the rank's program, that others are in and the rank has not enqueued."""
    state, groups = engine.ranks[rank], job.groups_of[rank]
    counts = dict(state.counts)
    transfers = dict(state.transfers)
    for action in state.program[state.at :]:
        if not isinstance(action, Call):
            continue
        group = groups[action.role]
        if action.transfers:
            for way, stage in action.transfers:
                peer = job.groups[group].members[stage]
                number = transfers.get((group, peer, way), 0)
                transfers[group, peer, way] = number + 1
                pair = (rank, peer) if way == "send" else (peer, rank)
                meeting = engine.meetings.get((group, *pair, number))
                if meeting and any(op.completed == NEVER for op in meeting.ops):
                    return describe(job, meeting.ops[0])
            continue
        ordinal = counts.get((group, False), 0)
        counts[group, False] = ordinal + 1
        meeting = engine.meetings.get((group, ordinal))
        if meeting and meeting.ops:
            return describe(job, meeting.ops[0])
    return None
