"""Flight Recorder dumps of the simulated ranks, as the library writes them (see parsers/pytorch/flight_recorder).

An operation of a batch of point-to-point calls is recorded on its own and never leaves `scheduled`; the batch is one
more record, `coalesced`, that carries the state. With timing off nothing ever shows `started`. Counters of
point-to-point calls are those of the rank, not of the pair.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from samples.simulator.engine import Engine, Op
from samples.simulator.faults import Plan
from samples.simulator.job import DESCRIPTIONS, Job, Role
from samples.simulator.program import Call, Program
from samples.simulator.stacks import call_frames

START_NS = 1_763_000_000_000_000_000
NS_PER_MS = 100_000_000  # a simulated millisecond stands for 0.1 s, so that steps take seconds
WATCHDOG_NS = 83_000_000  # how long after the fact the watchdog notices


@dataclass(frozen=True, slots=True)
class Settings:
    """How dumps are made: `ring` entries at most, `timing` on or off, `active` ones only, `frames` or not."""

    ring: int = 2000
    timing: bool = False
    active: bool = False
    frames: bool = True


@dataclass(frozen=True, slots=True)
class Record:
    """One entry. `seq` is the collective count, `p2p` the count of point-to-point launches, both of this rank."""

    op: Op
    number: int
    group: int
    seq: int
    p2p: int
    op_id: int
    name: str
    inputs: tuple[tuple[int, ...], ...]
    outputs: tuple[tuple[int, ...], ...]
    dtype: str
    is_p2p: bool
    state: str


def local_ids(job: Job, rank: int) -> dict[int, int]:
    """Group index → the rank's own running number of it."""
    return {index: number for number, index in enumerate(sorted(job.groups_of[rank].values()))}


class History:
    """How many calls each class of ranks made in the steps before the simulated ones."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self._per_step: dict[int, tuple[dict[tuple[Role, bool], int], dict[Role, int], int]] = {}

    def before(self, program: Program) -> tuple[dict[tuple[Role, bool], int], dict[Role, int], int]:
        """(launches by role and kind, logical operations by role, entries)."""
        if (known := self._per_step.get(id(program))) is None:
            launches: dict[tuple[Role, bool], int] = {}
            logical: dict[Role, int] = {}
            entries = 0
            for action in program:
                if isinstance(action, Call) and action.where.step == self.job.first_step:
                    if action.where.phase == "checkpoint":
                        continue
                    key = (action.role, bool(action.transfers))
                    launches[key] = launches.get(key, 0) + self.job.first_step
                    parts = len(action.transfers) if action.batched else 1
                    logical[action.role] = logical.get(action.role, 0) + parts * self.job.first_step
                    entries += (parts + action.batched) * self.job.first_step
            known = self._per_step[id(program)] = (launches, logical, entries)
        return known


def records(
    job: Job, engine: Engine, plan: Plan, rank: int, history: History, settings: Settings, until: float
) -> list[Record]:
    """What the rank's recorder holds at the time `until` (ms), newest last."""
    launches, logical, entries = history.before(plan.originals[rank])
    counts, ids = dict(launches), dict(logical)
    groups = job.groups_of[rank]
    made: list[Record] = []
    number = entries
    for op in engine.ranks[rank].ops:
        call = op.call
        if not isinstance(call, Call) or op.enqueued > until:
            continue
        role, is_p2p = call.role, bool(call.transfers)
        counts[role, is_p2p] = counts.get((role, is_p2p), 0) + 1
        seq, p2p = counts.get((role, False), 0), counts.get((role, True), 0)
        state = _state(op, settings.timing, until)
        me = job.groups[groups[role]].members.index(rank) if is_p2p else 0
        for name, part in _entries(call, me):
            if part:
                ids[role] = ids.get(role, 0) + 1
            bare = call.batched and part
            one, two = ((call.sizes[0],), (call.sizes[1],)) if part else ((), ())
            shown = "scheduled" if bare else state
            made.append(
                Record(op, number, groups[role], seq, p2p, ids[role], name, one, two, call.dtype, is_p2p, shown)
            )
            number += 1
    made = made[-settings.ring :]
    return [one for one in made if one.state != "completed"] if settings.active else made


def _state(op: Op, timing: bool, until: float) -> str:
    if op.completed <= until:
        return "completed"
    return "started" if timing and op.started <= until else "scheduled"


def sequence(history: History, plan: Plan, op: Op) -> int:
    """The call's number on its group, as the recorder and the watchdog count it."""
    assert isinstance(op.call, Call)
    launches = history.before(plan.originals[op.rank])[0]
    return launches.get((op.call.role, bool(op.call.transfers)), 0) + op.ordinal + 1


@lru_cache(maxsize=4096)
def _entries(call: Call, me: int) -> tuple[tuple[str, bool], ...]:
    return tuple(_names(call, me))


def _names(call: Call, me: int) -> Iterator[tuple[str, bool]]:
    """(profiling name, is an operation of its own) for each entry of a call."""
    for way, stage in call.transfers:
        yield (f"nccl:send {me}->{stage}" if way == "send" else f"nccl:recv {me}<-{stage}"), True
    if call.batched:
        yield "nccl:coalesced", False
    elif not call.transfers:
        yield f"nccl:{call.kind}", True


def status(
    job: Job, engine: Engine, plan: Plan, rank: int, history: History, timing: bool, until: float
) -> dict[int, list[int]]:
    """Group index → [last enqueued, last started, last completed]; collectives and transfers in one count each."""
    counts = dict(history.before(plan.originals[rank])[0])
    groups = job.groups_of[rank]
    found: dict[int, list[int]] = {}
    for (role, _), count in sorted(counts.items(), key=lambda item: item[0][1]):
        found[groups[role]] = [count, count if timing else -1, count]
    for op in engine.ranks[rank].ops:
        call = op.call
        if not isinstance(call, Call) or op.enqueued > until:
            continue
        key = (call.role, bool(call.transfers))
        seq = counts[key] = counts.get(key, 0) + 1
        row = found.setdefault(op.group, [-1, -1, -1])
        row[0] = seq
        if timing and op.started <= until:
            row[1] = seq
        if op.completed <= until:
            row[2] = seq
    return found


@lru_cache(maxsize=4096)
def _lists(shapes: tuple[tuple[int, ...], ...]) -> list[list[int]]:
    return [list(shape) for shape in shapes]


def dump(
    job: Job, rank: int, entries: list[Record], pg_status: dict[int, list[int]], settings: Settings, shift_ns: int
) -> dict[str, Any]:
    """The object that the library pickles."""
    ids = local_ids(job, rank)
    config = {}
    for index in ids:
        group = job.groups[index]
        config[group.name] = {"name": group.name, "desc": DESCRIPTIONS[group.role], "ranks": str(list(group.members))}
    keys = ("last_enqueued_collective", "last_started_collective", "last_completed_collective")
    return {
        "version": "2.9",
        "pg_config": config,
        "nccl_version": "2.27.3",
        "pg_status": {str(ids[index]): dict(zip(keys, row, strict=True)) for index, row in sorted(pg_status.items())},
        "entries": [_entry(job, one, ids, settings, shift_ns) for one in entries],
    }


def _entry(job: Job, one: Record, ids: dict[int, int], settings: Settings, shift_ns: int) -> dict[str, Any]:
    op, group = one.op, job.groups[one.group]
    completed = one.state == "completed"
    entry: dict[str, Any] = {
        "record_id": one.number,
        "pg_id": ids[one.group],
        "process_group": (group.name, DESCRIPTIONS[group.role]),
        "thread_name": "python3",
        "thread_id": str(139_700_000_000_000 + op.rank),
        "collective_seq_id": one.seq,
        "p2p_seq_id": one.p2p,
        "op_id": one.op_id,
        "profiling_name": one.name,
        "time_created_ns": at_ns(op.enqueued, shift_ns),
        "input_sizes": _lists(one.inputs),
        "input_dtypes": [one.dtype] * len(one.inputs),
        "output_sizes": _lists(one.outputs),
        "output_dtypes": [one.dtype] * len(one.outputs),
        "state": one.state,
        "time_discovered_started_ns": started_ns(one, settings.timing, shift_ns),
        "time_discovered_completed_ns": at_ns(op.completed, shift_ns) + WATCHDOG_NS if completed else None,
        "retired": completed,
        "timeout_ms": job.timeout_ms(group.role),
        "is_p2p": one.is_p2p,
    }
    if completed and settings.timing:
        entry["duration_ms"] = duration_ms(op)
    if settings.frames and isinstance(op.call, Call):
        entry["frames"] = [{"name": name, "filename": file, "line": line} for name, file, line in call_frames(op.call)]
    return entry


def at_ns(ms: float, shift_ns: int = 0) -> int:
    """Simulated milliseconds → the host's clock, nanoseconds since 1970."""
    return START_NS + int(ms * NS_PER_MS) + shift_ns


def started_ns(one: Record, timing: bool, shift_ns: int) -> int | None:
    return at_ns(one.op.started, shift_ns) + WATCHDOG_NS if timing and one.state != "scheduled" else None


def duration_ms(op: Op) -> float:
    return round((op.completed - op.started) * NS_PER_MS / 1e6, 3)
