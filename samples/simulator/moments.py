"""A job at a moment of its run: where its hosts are, and how many collectives they have launched."""

from collections import Counter
from itertools import pairwise

from samples.simulator.engine import Engine
from samples.simulator.program import Action, Call, Host, Sync
from samples.simulator.run import Run
from samples.simulator.stacks import FINISHED, Frame, blocked_frames, outer, site_frames

_SITES = {"load": "data_loading", "compute": "compute", "log": "logging", "checkpoint": "checkpoint_io"}


def action_at(engine: Engine, number: int, ms: float) -> Action | None:
    """What the rank's host is at; None before its first action and after its last one. Work of the host that is not
    interrupted ends when the next call is enqueued, so times are counted backwards from there."""
    rank = engine.ranks[number]
    place = next((at for at, op in enumerate(rank.ops) if op.enqueued > ms), len(rank.ops))
    first = rank.ops[place - 1].index + 1 if place else 0
    last = rank.ops[place].index if place < len(rank.ops) else rank.at
    end = rank.ops[place].enqueued if place < len(rank.ops) else rank.clock
    slow = engine.faults.slow.get(number, 0.0)
    between = rank.program[first:last]
    for at, action in enumerate(between):
        left = sum(one.ms + slow for one in between[at + 1 :] if isinstance(one, Host))
        if isinstance(action, Host | Sync) and ms < end - left:
            return action
    return rank.program[last] if last < len(rank.program) else None


def frames_at(run: Run, rank: int, ms: float) -> tuple[Frame, ...]:
    """Frames of the main thread, innermost first."""
    action = action_at(run.engine, rank, ms)
    if action is None:
        return FINISHED
    if isinstance(action, Host):
        return site_frames(_SITES[action.site], action.where) if action.site in _SITES else outer(action.where)
    return blocked_frames(action)


def busy_moment(run: Run, rank: int, site: str) -> float | None:
    """The middle of the last of the rank's host actions of the kind, ms; None where there is none in its program."""
    engine, found = run.engine, None
    state = engine.ranks[rank]
    for before, after in pairwise(state.ops):
        between = state.program[before.index + 1 : after.index]
        for at, action in enumerate(between):
            if isinstance(action, Host) and action.site == site:
                left = sum(one.ms for one in between[at + 1 :] if isinstance(one, Host))
                found = after.enqueued - left - action.ms / 2
    return found


def launched(run: Run, rank: int, ms: float) -> dict[int, Counter[str]]:
    """Group index → kind of collective → how many the rank has launched since the start of the job."""
    job, groups = run.job, run.job.groups_of[rank]
    found: dict[int, Counter[str]] = {index: Counter() for index in groups.values()}
    for action in run.plan.originals[rank]:
        if isinstance(action, Call) and action.where.step == job.first_step and action.where.phase != "checkpoint":
            found[groups[action.role]][action.kind] += job.first_step * (not action.transfers)
    for op in run.engine.ranks[rank].ops:
        if isinstance(op.call, Call) and not op.call.transfers and op.enqueued <= ms:
            found[op.group][op.call.kind] += 1
    return found
