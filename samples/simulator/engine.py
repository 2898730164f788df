"""Runs the programs of all ranks until nothing moves.

The job is a network of queues: what happens does not depend on the order of evaluation, and every time follows from
the times before it. So no event queue is needed: a list of ranks whose host may go on and of calls whose kernel may
start suffices. A host enqueues calls in program order; each call runs on the stream of its communicator after the
call before it there and after what the compute stream had waited for; a collective ends when the kernels of all
members run and agree; a transfer when both ends run.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from samples.simulator.job import Job
from samples.simulator.program import Call, Host, Join, Kernel, Program, Sync

HOST_MS, KERNEL_MS, NEVER = 0.02, 0.3, float("inf")


class Op:
    """One call on one rank. Times in ms since the start; `NEVER` where it did not happen."""

    __slots__ = (
        "after", "call", "completed", "enqueued", "group", "index", "latest", "open_transfers", "ordinal", "pending",
        "rank", "started",
    )  # fmt: skip

    def __init__(self, rank: int, index: int, call: Call | Kernel, group: int, ordinal: int, enqueued: float) -> None:
        self.rank = rank
        self.index = index  # place in the program
        self.call = call
        self.group = group  # -1: a local kernel
        self.ordinal = ordinal  # the how-maniest call of this rank on its group, collectives and transfers apart
        self.enqueued = enqueued
        self.started = enqueued  # while `pending`: not before this
        self.completed = NEVER
        self.latest = 0.0  # end of its latest transfer
        self.pending = 0  # calls that it still waits for before its kernel runs
        self.open_transfers = len(call.transfers) if isinstance(call, Call) else 0
        self.after: list[Op] | None = None


@dataclass(frozen=True)
class Faults:
    """What goes wrong, by (rank, index in the program)."""

    stops: Mapping[int, int] = field(default_factory=dict)  # rank → the action that its host never leaves
    hung_here: frozenset[tuple[int, int]] = frozenset()  # this rank's kernel never ends, the others' do
    hung_all: frozenset[tuple[int, int]] = frozenset()  # the operation ends on nobody
    dead_hosts: frozenset[int] = frozenset()  # hosts whose network is dead …
    dead_from: Mapping[int, int] = field(default_factory=dict)  # … from this action of each of their ranks on
    slow: Mapping[int, float] = field(default_factory=dict)  # rank → ms added to each host action


@dataclass
class Rank:
    """A host and its streams."""

    program: Program
    at: int = 0
    clock: float = 0.0
    finished: bool = False
    blocked_on: Op | None = None
    ops: list[Op] = field(default_factory=list)
    joined: list[Op] = field(default_factory=list)  # those the compute stream waits for; they limit the run-ahead
    streams: dict[Any, Op] = field(default_factory=dict)
    frontier: list[Op] = field(default_factory=list)  # what the compute stream waits for
    counts: dict[tuple[int, bool], int] = field(default_factory=dict)
    transfers: dict[tuple[int, int, str], int] = field(default_factory=dict)


@dataclass
class Meeting:
    """A collective, or one transfer: who has come."""

    first: Call
    ops: list[Op] = field(default_factory=list)
    agree: bool = True
    hung: bool = False


class Engine:
    """`run()` fills `ranks`; afterwards the state is quiescent."""

    def __init__(self, job: Job, programs: Sequence[Program], faults: Faults) -> None:
        self.job = job
        self.faults = faults
        self.ranks = [Rank(program) for program in programs]
        self._sizes = [len(group.members) for group in job.groups]
        self._crossing = [len({job.host_index(rank) for rank in group.members}) > 1 for group in job.groups]
        self.meetings: dict[Any, Meeting] = {}
        self._hosts_waiting: dict[int, set[int]] = {}
        self._runnable = list(range(job.world - 1, -1, -1))
        self._startable: list[Op] = []

    def run(self) -> "Engine":
        while self._runnable or self._startable:
            while self._startable:
                self._start(self._startable.pop())
            if self._runnable:
                self._advance(self._runnable.pop())
        for rank in self.ranks:
            for op in rank.ops:
                if op.pending:
                    op.started = NEVER
        return self

    # --- the host --------------------------------------------------------------------------------------------------

    def _advance(self, number: int) -> None:
        rank = self.ranks[number]
        program, joined, ahead = rank.program, rank.joined, self.job.run_ahead
        stop = self.faults.stops.get(number, -1)
        slow = self.faults.slow.get(number, 0.0)
        groups = self.job.groups_of[number]
        rank.blocked_on = None
        while rank.at < len(program):
            if rank.at == stop:
                return
            action = program[rank.at]
            if isinstance(action, Call):
                if len(joined) >= ahead and self._blocks(rank, joined[-ahead], number):
                    return
                self._enqueue(rank, number, action, groups[action.role])
            elif isinstance(action, Host):
                rank.clock += action.ms + slow
            elif isinstance(action, Sync):
                if any(self._blocks(rank, op, number) for op in rank.frontier):
                    return
                rank.frontier.clear()
            elif isinstance(action, Join):
                rank.frontier += [op for key, op in rank.streams.items() if key[0] == action.role]
            else:
                self._enqueue(rank, number, action, -1)
            rank.at += 1
        rank.finished = True

    def _blocks(self, rank: Rank, op: Op, number: int) -> bool:
        if op.completed == NEVER:
            rank.blocked_on = op
            self._hosts_waiting.setdefault(id(op), set()).add(number)
            return True
        rank.clock = max(rank.clock, op.completed)
        return False

    def _enqueue(self, rank: Rank, number: int, call: Call | Kernel, group: int) -> None:
        rank.clock += HOST_MS
        if isinstance(call, Call):
            counter = (group, bool(call.transfers))
            ordinal = rank.counts.get(counter, 0)
            rank.counts[counter] = ordinal + 1
            stream, joined = call.stream, call.joined
        else:
            ordinal, stream, joined = 0, ("compute",), True
        op = Op(number, rank.at, call, group, ordinal, rank.clock)
        before = rank.streams.get(stream)
        for other in rank.frontier if before is None or before in rank.frontier else (before, *rank.frontier):
            if other.completed == NEVER:
                self._follow(other, op)
            elif other.completed > op.started:
                op.started = other.completed
        rank.streams[stream] = op
        if joined:
            rank.frontier = [op]
            rank.joined.append(op)
        rank.ops.append(op)
        if not op.pending:
            self._startable.append(op)

    @staticmethod
    def _follow(before: Op, op: Op) -> None:
        op.pending += 1
        if before.after is None:
            before.after = []
        before.after.append(op)

    # --- the GPU ---------------------------------------------------------------------------------------------------

    def _start(self, op: Op) -> None:
        call = op.call
        if isinstance(call, Kernel):
            if (op.rank, op.index) not in self.faults.hung_here:
                self._complete(op, op.started + KERNEL_MS)
            return
        if not call.transfers:
            self._meet((op.group, op.ordinal), op, call, self._sizes[op.group])
            return
        members = self.job.groups[op.group].members
        for way, stage in call.transfers:
            peer = members[stage]
            pair = (op.rank, peer) if way == "send" else (peer, op.rank)
            transfers, end = self.ranks[op.rank].transfers, (op.group, peer, way)
            number = transfers.get(end, 0)
            transfers[end] = number + 1
            self._meet((op.group, *pair, number), op, call, 2)

    def _meet(self, key: Any, op: Op, call: Call, size: int) -> None:
        meeting = self.meetings.get(key)
        if meeting is None:
            meeting = self.meetings[key] = Meeting(call)
        meeting.ops.append(op)
        if not call.transfers and call is not meeting.first:
            first = meeting.first
            meeting.agree &= first.kind == call.kind and first.sizes == call.sizes and first.dtype == call.dtype
        if len(meeting.ops) < size or not meeting.agree:
            return
        if self._hung(meeting, op.group):
            meeting.hung = True
            return
        time = max(member.started for member in meeting.ops) + KERNEL_MS
        for member in meeting.ops:
            member.latest = max(member.latest, time)
            if member.open_transfers > 1:
                member.open_transfers -= 1
            elif (member.rank, member.index) not in self.faults.hung_here:
                self._complete(member, member.latest)

    def _hung(self, meeting: Meeting, group: int) -> bool:
        faults = self.faults
        if faults.hung_all and any((op.rank, op.index) in faults.hung_all for op in meeting.ops):
            return True
        if not faults.dead_hosts or not self._crossing[group]:
            return False
        hosts = {self.job.host_index(op.rank) for op in meeting.ops}
        return len(hosts) > 1 and any(op.index >= faults.dead_from.get(op.rank, 1 << 60) for op in meeting.ops)

    def _complete(self, op: Op, time: float) -> None:
        op.completed = time
        for later in op.after or ():
            later.pending -= 1
            if time > later.started:
                later.started = time
            if not later.pending:
                self._startable.append(later)
        op.after = None
        if waiting := self._hosts_waiting.pop(id(op), None):
            self._runnable.extend(sorted(waiting, reverse=True))
