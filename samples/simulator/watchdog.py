"""What ProcessGroupNCCL prints of a job that stands still: time-outs, counters, signals to dump, members of groups.

Words and heads by version: 1.12 tells no sequence number, 2.1 no group and no global rank, 2.7 all of it.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from math import prod

from samples.simulator.engine import NEVER, Op
from samples.simulator.job import DESCRIPTIONS, Job
from samples.simulator.lines import KINDS, SECOND, Line, path
from samples.simulator.program import Call
from samples.simulator.recorder import at_ns, sequence
from samples.simulator.run import Run

ABORT_WITHIN_S = 60  # after the first watchdog has fired, the others get this long
NOTICED_NS = 90_000_000  # how long after a time-out its line is printed
SIGNAL_NS = 1_300_000_000  # how long after the first time-out the others see the signal to dump
_OPS = {
    "all_reduce": "ALLREDUCE",
    "all_reduce_barrier": "BARRIER",
    "_all_gather_base": "_ALLGATHER_BASE",
    "_reduce_scatter_base": "_REDUCE_SCATTER_BASE",
    "all_to_all": "ALLTOALL_BASE",
    "broadcast": "BROADCAST",
    "coalesced": "COALESCED",
    "send": "SEND",
    "recv": "RECV",
}


def timeouts(run: Run) -> dict[int, Op]:
    """Ranks whose watchdog fires, with the operation that it tells of: their first open one."""
    if run.plan.fault.kind in ("none", "slow", "store_timeout"):
        return {}
    job, found = run.job, {}
    dead = set(run.plan.culprits) if run.plan.fault.kind == "rank_died" else set()
    for number, rank in enumerate(run.engine.ranks):
        op = next((op for op in rank.ops if op.completed == NEVER and isinstance(op.call, Call)), None)
        if op is not None and number not in dead:
            found[number] = op
    if not found:
        return {}
    first = min(fires_ns(job, op) for op in found.values())
    return {rank: op for rank, op in found.items() if fires_ns(job, op) <= first + ABORT_WITHIN_S * SECOND}


def fires_ns(job: Job, op: Op) -> int:
    return at_ns(op.enqueued) + job.timeout_ms(job.groups[op.group].role) * 1_000_000


def numel(op: Op) -> tuple[int, int]:
    """Elements that go in and come out."""
    assert isinstance(op.call, Call)
    return prod(op.call.sizes[0]), prod(op.call.sizes[1])


def signalled(run: Run, fired: dict[int, Op]) -> list[int]:
    """Ranks that live and see the signal of the first that gave up."""
    if not fired or not run.noise.form.signals or run.noise.form.torch != "2.7":
        return []
    gone = set(run.plan.culprits) if run.plan.fault.kind == "rank_died" or run.plan.site == "unresponsive" else set()
    return [rank for rank in range(run.job.world) if rank not in gone and rank != first_of(run.job, fired)]


def first_of(job: Job, fired: dict[int, Op]) -> int:
    """Whose watchdog fires first."""
    return min(fired, key=lambda rank: (fires_ns(job, fired[rank]), rank))


def lines(run: Run, rank: int, fired: dict[int, Op]) -> Iterator[Line]:
    """What one rank's process groups print, in its order."""
    if run.noise.form.told == "groups" and run.noise.form.torch == "2.7":
        yield from _members(run, rank)
    if rank in signalled(run, fired):
        yield _signal(run, rank, fired)
    if rank in fired:
        yield _timeout(run, rank, fired[rank])
        if run.noise.form.counters and run.noise.form.torch == "2.7":
            yield _counters(run, rank, fired[rank])


def _head(run: Run, rank: int, group: int, ns: int, place: str) -> str:
    """Up to the message; `place`: level and line of the source, as E:685."""
    job, (level, line) = run.job, place.split(":")
    members = job.groups[group].members
    if run.noise.form.torch != "2.7":
        return f"[{level} ProcessGroupNCCL.cpp:{line}] [Rank {members.index(rank)}]"
    ns += run.draw.skew_ns[job.host(rank)]
    when = datetime.fromtimestamp(ns // SECOND, UTC)
    local = sorted(job.groups_of[rank].values()).index(group)
    name = f"{job.groups[group].name}({DESCRIPTIONS[job.groups[group].role]})"
    stamp = f"{level}{when.month}{when:%d %H:%M:%S}.{ns % SECOND:09d}"
    return (
        f"[rank{rank}]:[{stamp} ProcessGroupNCCL.cpp:{line}] [PG ID {local} PG GUID {name} Rank {members.index(rank)}]"
    )


def _timeout(run: Run, rank: int, op: Op) -> Line:
    job, call, torch = run.job, op.call, run.noise.form.torch
    assert isinstance(call, Call)
    group, timeout = job.groups[op.group], job.timeout_ms(call.role)
    ns = fires_ns(job, op) + NOTICED_NS
    seq = sequence(run.history, run.plan, op)
    went_in, came_out = numel(op)
    counted = f"SeqNum={seq}, " if torch != "1.12" else ""
    sizes = f", NumelIn={went_in}, NumelOut={came_out}" if torch != "1.12" else ""
    work = f"WorkNCCL({counted}OpType={_OPS[call.kind]}{sizes}, Timeout(ms)={timeout})"
    head = _head(run, rank, op.group, ns, {"1.12": "E:587", "2.1": "E:475", "2.7": "E:685"}[torch])
    said = (
        f"Watchdog caught collective operation timeout: {work} ran for {timeout + 90} milliseconds before timing out."
    )
    text = f"{head} {said}"
    row = {
        "kind": "collective_timeout", "severity": "error", "rank": rank, "rank_space": "global", "group": group.name,
        "seq": seq, "op": KINDS.get(call.kind, call.kind), "time_ns": ns + run.draw.skew_ns[job.host(rank)],
        "time_basis": "local", "text": text,
    }  # fmt: skip
    return Line(path(job, rank, "stderr"), text, row=row if torch == "2.7" else None, ns=ns)


def _counters(run: Run, rank: int, op: Op) -> Line:
    ns = fires_ns(run.job, op) + NOTICED_NS + 200_000
    enqueued, _, completed = run.status(rank)[op.group]
    status = f"PG status: last enqueued work: {enqueued}, last completed work: {completed}"
    seq = sequence(run.history, run.plan, op)
    said = f" failure detected by watchdog at work sequence id: {seq} {status}"
    return Line(path(run.job, rank, "stderr"), f"{_head(run, rank, op.group, ns, 'E:2241')} {said}", ns=ns)


def _signal(run: Run, rank: int, fired: dict[int, Op]) -> Line:
    first = first_of(run.job, fired)
    ns = fires_ns(run.job, fired[first]) + SIGNAL_NS
    world = run.job.groups_of[rank]["world"]
    enqueued, _, completed = run.status(rank).get(world, [-1, -1, -1])
    why = f"Received a dump signal due to a collective timeout from  rank {first} and we will try our best to dump the"
    counts = f"Last enqueued NCCL work: {enqueued}, last completed NCCL work: {completed}."
    text = f"{_head(run, rank, world, ns, 'E:1555')} {why} debug info. {counts}"
    return Line(path(run.job, rank, "stderr"), text, ns=ns)


def _members(run: Run, rank: int) -> Iterator[Line]:
    """As each group is made: its size, and who the rank is in it."""
    for role, group in run.job.groups_of[rank].items():
        head = _head(run, rank, group, at_ns(-900.0), "I:968")
        said = (
            f"size: {len(run.job.groups[group].members)}, global rank: {rank}, TIMEOUT(ms): {run.job.timeout_ms(role)}"
        )
        text = f"{head} ProcessGroupNCCL initialization options: {said}, USE_HIGH_PRIORITY_STREAM: 0, SPLIT_FROM: 0"
        yield Line(path(run.job, rank, "stderr"), text)
