"""What may hold up a rank that left no record? Replays what the positions of observed ranks allow.

A lost rank has entered every collective that an observed member has completed, every transfer that its peer has, and
whatever stands before these in its program (graph/hang/programs.py); it has not entered an operation that waits for it alone.
Between the two it may be held by a call of which another member may be missing, and so be a mere victim of that member.
What the records do not tell (no twin, an unknown group, a peer without a common number) leads to every lost rank.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache

import msgspec
import polars as pl

from forensics.facts.waits.states import States
from forensics.graph.hang.logged import Waiting
from forensics.graph.hang.programs import Call, Program, Programs, TransferKey
from forensics.graph.hang.waits import Waits

END = 1 << 30
# ("rank", r, limit): before that place in its program. ("op", id, None). ("call", gid, seq). ("role", desc, None): a
# member of some group of this description that no record knows. ANY: whoever left no record.
Node = tuple[str, object, object]
ANY: Node = ("any", None, None)


class _Place(msgspec.Struct, frozen=True):
    """Where a lost rank may be. `after`: the last place in its program that it has surely entered. `before`: the first
    that it has surely not."""

    program: Program
    after: int
    before: int = END


class Replay:
    """What each lost rank may be held by. `held`: those whose log tells it."""

    def __init__(self, states: States, waits: Waits, lost: frozenset[int], logged: Mapping[int, Waiting]) -> None:
        self.states, self.waits, self.lost = states, waits, lost
        self.held = {rank: waiting for rank, waiting in logged.items() if rank in lost}
        self.programs = Programs(states, lost)
        counted = states.counters.filter(~pl.col("rank").is_in(sorted(lost)) & pl.col("completed").is_not_null())
        self._done: dict[int, int] = dict(counted.group_by("gid").agg(pl.col("completed").max()).iter_rows())
        first = states.open.filter(~pl.col("is_p2p")).select("rank", "gid", "seq")
        in_log = {(rank, call.gid, call.seq) for rank, call in self.held.items() if not call.is_p2p}
        self._inside = frozenset(first.iter_rows()) | in_log
        self._launch = dict(states.open.filter("is_p2p").select("rank", pl.struct("gid", "seq")).iter_rows())
        self._overlapping = self._roles_that_overlap()
        self.transfers_of = lru_cache(maxsize=None)(self._transfers_of)
        self.places: dict[int, _Place] = {}
        for rank in sorted(lost):
            if program := self.programs.of(rank):
                self.places[rank] = _Place(program, max(self._entered(rank, program), self._logged(rank, program)))
        self._spread()
        self._bind()

    def _roles_that_overlap(self) -> frozenset[str | None]:
        """Groups whose calls run beside others: somebody has a later call of another kind behind an open one."""
        rows = self.states.entries.filter(~pl.col("rank").is_in(sorted(self.lost)))
        last = pl.col("record").filter("done").max().over("rank")
        open_before = rows.filter(~pl.col("is_p2p") & ~pl.col("done") & (pl.col("record") < last))
        return frozenset(self.programs.role.get(gid) for gid in open_before["gid"].drop_nulls().unique())

    # --- what a lost rank has surely entered -------------------------------------------------------------------------

    def _transfers_of(self, rank: int, peer: int) -> Mapping[TransferKey, int]:
        """Key → place in the rank's program or record."""
        place = self.places.get(rank)
        calls = place.program.calls if place else () if rank in self.lost else self.programs.record(rank)
        return {key: at for at, key in self.programs.transfers(calls, rank, peer)}

    def _received(self, key: TransferKey, rank: int, peer: int) -> bool:
        """Has the observed peer ended this transfer?"""
        at = self.transfers_of(peer, rank).get(key)
        return at is not None and self.programs.record(peer)[at].done

    def _entered(self, rank: int, program: Program) -> int:
        calls = program.calls
        peers = {call.peer for call in calls if call.peer is not None and call.peer not in self.lost}
        keys = {at: (key, peer) for peer in sorted(peers) for at, key in self.programs.transfers(calls, rank, peer)}
        for at in range(len(calls) - 1, -1, -1):
            call = calls[at]
            if call.is_p2p:
                if at in keys and self._received(keys[at][0], rank, keys[at][1]):
                    return self._start_of_launch(program, at) - 1
            elif call.gid is not None and self._done.get(call.gid, -1) >= call.seq:
                return at
        return -1

    def _logged(self, rank: int, program: Program) -> int:
        """The last place that it has entered by its log."""
        if rank not in self.held:
            return -1
        gid, seq, is_p2p, _ = self.held[rank]
        if not is_p2p:
            return program.at.get((gid, seq), -1)
        transfers = ((at, call) for at, call in enumerate(program.calls) if call.is_p2p)
        return next((at - 1 for at, call in transfers if (call.gid, call.seq) == (gid, seq)), -1)

    def may_have_stopped(self, rank: int) -> bool:
        """Is this rank in a call that its log names because its own device never finished it?"""
        gid, seq, is_p2p, _ = self.held[rank]
        if is_p2p:
            return False
        mates = [other for other in self.programs.members[gid] if other != rank]
        alone = not any((other, gid, seq) in self._inside for other in mates)
        others = [self.places.get(other) for other in mates if other in self.lost]
        observed = len(mates) - len(others)
        behind = all(place is None or place.before > place.program.at.get((gid, seq), -1) for place in others)
        return self._done.get(gid, -1) >= seq or (alone and not observed and behind)

    @staticmethod
    def _start_of_launch(program: Program, at: int) -> int:
        """Transfers of one batch are one kernel: its parts end together."""
        call = program.calls[at]
        while at and (before := program.calls[at - 1]).is_p2p and (before.gid, before.seq) == (call.gid, call.seq):
            at -= 1
        return at

    def _spread(self) -> None:
        """What a lost rank has surely completed, the lost members of that call have surely entered."""
        todo = list(self.places)
        while todo:
            rank = todo.pop()
            place = self.places[rank]
            newest = {
                call.gid: call.seq
                for call in place.program.calls[: max(place.after, 0)]
                if not call.is_p2p and call.gid is not None and call.role not in self._overlapping
            }
            going_on = {gid: seq for gid, seq in newest.items() if self._done.get(gid, -1) < seq}
            for gid, seq in going_on.items():
                for other in self.lost.intersection(self.programs.members[gid]):
                    its = self.places.get(other)
                    at = its.program.at.get((gid, seq), -1) if its else -1
                    if its and at > its.after:
                        self.places[other] = _Place(its.program, at)
                        todo.append(other)

    def _bind(self) -> None:
        """A lost rank that an operation waits for alone has not entered it. One member alone in a collective may itself
        be what stopped, after the other was through."""
        graph = self.waits.graph
        for op in (node for node in graph if node[0] == "op" and graph.out_degree(node) == 1):
            inside = [rank for _, rank in graph.predecessors(op)]
            ((_, rank),) = graph.successors(op)
            place = self.places.get(rank)
            if place and (len(inside) > 1 or op[1].startswith("p2p:")):
                limit = self.limit(op[1], rank, min(inside))
                if place.after < limit < place.before:
                    self.places[rank] = _Place(place.program, place.after, limit)

    def limit(self, op: str, rank: int, inside: int) -> int:
        """Place of an operation, or of the batch that it is part of, in a lost rank's program; far behind its end if not known."""
        place = self.places.get(rank)
        if place is None:
            return END
        if not op.startswith("p2p:"):
            gid, _, seq = op.partition(":")
            return place.program.at.get((int(gid), int(seq)), END)
        theirs, record = self.transfers_of(inside, rank), self.programs.record(inside)
        sender = op.rpartition(":")[2].partition(">")[0] == str(inside)
        waiting = [key for key, at in theirs.items() if not record[at].done and record[at].sends == sender]
        at = self.transfers_of(rank, inside).get(waiting[0], END) if waiting else END
        return at if at == END else self._start_of_launch(place.program, at)

    def has_entered(self, rank: int, gid: int, seq: int) -> bool:
        """Whether a member, lost or not, has surely called this collective."""
        if self._done.get(gid, -1) >= seq or (rank, gid, seq) in self._inside:
            return True
        place = self.places.get(rank)
        return place is not None and place.program.at.get((gid, seq), END) <= place.after

    # --- what may hold whom -------------------------------------------------------------------------------------------

    def next(self, node: Node) -> Iterator[Node]:
        """All that may hold this one up."""
        kind, one, two = node
        if kind == "rank" and isinstance(one, int):
            yield from self._holding_lost(one, two) if one in self.lost else self._holding_observed(one)
        elif kind == "op":
            yield from self._missing(str(one))
        elif kind == "call" and isinstance(one, int) and isinstance(two, int):
            for member in self.programs.members[one]:
                if not self.has_entered(member, one, two):
                    yield self._rank(member, (one, two))
        elif kind == "role":
            for rank in sorted(self.lost):
                if all(self.programs.role[gid] != one for gid in self.programs.groups_of.get(rank, ())):
                    yield ("rank", rank, END)

    def _rank(self, rank: int, call: tuple[int, int] | None = None, limit: int = END) -> Node:
        place = self.places.get(rank)
        if place is None:
            return ("rank", rank, None)
        at = place.program.at.get(call, END) if call else limit
        return ("rank", rank, min(at, place.before))

    def _holding_observed(self, rank: int) -> Iterator[Node]:
        if rank in self.states.blind:
            yield ANY
        if ("rank", rank) in self.waits.graph:
            yield from (("op", op, None) for _, op in self.waits.graph.successors(("rank", rank)))

    def _missing(self, op: str) -> Iterator[Node]:
        graph = self.waits.graph
        inside = min(rank for _, rank in graph.predecessors(("op", op)))
        for _, rank in graph.successors(("op", op)):
            if rank not in self.lost:
                yield ("rank", rank, None)
            elif op.startswith("p2p:") or not self.has_entered(rank, *map(int, op.split(":"))):
                yield self._rank(rank, limit=self.limit(op, rank, inside))

    def _holding_lost(self, rank: int, limit: object) -> Iterator[Node]:
        place = self.places.get(rank)
        logged = self.held.get(rank)
        if logged and not (logged.is_p2p and place is None):
            yield from self._holding_logged(rank, logged)
            return
        if place is None or not isinstance(limit, int):
            yield ANY
            return
        calls = place.program.calls
        if limit > len(calls):
            yield ANY  # behind what its twin has enqueued
        for at, call in enumerate(calls[:limit]):
            if at > place.after or not call.waited or call.role in self._overlapping:
                yield from self._holding_at(rank, at, call)

    def _holding_logged(self, rank: int, call: Waiting) -> Iterator[Node]:
        """Who may be missing in the call that the rank's log names."""
        if not call.is_p2p:
            if self._done.get(call.gid, -1) < call.seq:
                yield ("call", call.gid, call.seq)
            return
        for at, one in enumerate(self.places[rank].program.calls):
            if one.is_p2p and (one.gid, one.seq) == (call.gid, call.seq):
                yield from self._holding_at(rank, at, one)

    def _holding_at(self, rank: int, at: int, call: Call) -> Iterator[Node]:
        """Who may be missing in this call of a lost rank."""
        if call.gid is None:
            yield ("role", call.role, None)  # a group of lost ranks alone
        elif not call.is_p2p:
            if self._done.get(call.gid, -1) < call.seq:
                yield ("call", call.gid, call.seq)
        elif call.peer is None:
            yield ANY
        else:
            yield from self._other_end(rank, call.peer, at)

    def _other_end(self, rank: int, peer: int, at: int) -> Iterator[Node]:
        key = next((key for key, place in self.transfers_of(rank, peer).items() if place == at), None)
        its = None if key is None else self.transfers_of(peer, rank).get(key)
        if peer in self.lost:
            place = self.places.get(peer)
            if place is None or its is None:
                yield self._rank(peer)
            elif its > place.after:
                yield self._rank(peer, limit=self._start_of_launch(place.program, its))
            return
        call = None if its is None else self.programs.record(peer)[its]
        if call is None or not (call.done or self._launch.get(peer) == {"gid": call.gid, "seq": call.seq}):
            yield ("rank", peer, None)
