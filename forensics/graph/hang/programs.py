"""What would a lost rank have called, and in which order? Its twins tell.

Ranks of one communicator may run the same program up to the groups that each uses: tensor-parallel mates, replicas of a
stage. Whether they do is read from the records: the calls of observed members are laid side by side, from the first
collective that both recorded on. A lost rank's program is the record of the observed rank of such a group that has come
furthest, with the groups of the same description that the lost rank is in. Host run-ahead helps: what a twin's host has
enqueued behind its first open call is part of the program.

Transfers have no number that both ends share. They are told apart by the last collective that both ends have called
before, and by their place behind it.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

import msgspec
import polars as pl

from forensics.facts.waits.states import SENDS, States

_LOOK_BACK = 600  # newest entries of a record
_PAIRS = 9  # of ranks that are compared to learn whether groups of one description share a program
_OVERLAP = 8  # calls that two records must have in common
TransferKey = tuple[int, int, int, int, int]  # gid and number of the last shared collective; sender, receiver; ordinal


class Call(NamedTuple):
    """One call of a rank. `gid`: None where the lost rank's own group is not known. `peer`: global rank. `waited`: the
    rank goes on only behind it; a single send runs beside what follows."""

    gid: int | None
    seq: int
    is_p2p: bool
    sends: bool
    peer: int | None
    done: bool
    role: str | None
    waited: bool


class Program(msgspec.Struct, frozen=True):
    """calls: in order. at: (gid, seq) of a collective → its place. Both are shared by nobody else."""

    calls: tuple[Call, ...]
    at: Mapping[tuple[int, int], int]


def _unseen_groups(
    members: Mapping[int, list[int]], role: Mapping[int, str | None], lost: frozenset[int]
) -> Iterator[tuple[str | None, list[int]]]:
    """Groups that no observed rank is in. Where all known groups of one description are one pattern, shifted, a lost rank
    without a group belongs to the one shifted pattern that holds lost ranks without a group alone."""
    known: dict[str | None, list[list[int]]] = {}
    for gid, ranks in members.items():
        known.setdefault(role[gid], []).append(ranks)
    for name, groups in known.items():
        patterns = {tuple(rank - ranks[0] for rank in ranks) for ranks in groups if ranks}
        if len(patterns) != 1 or len(groups) < 2 or name is None:
            continue
        (pattern,) = patterns
        free = lost.difference(*groups)
        for rank in sorted(free):
            fitting = {rank - at for at in pattern if all(rank - at + other in free for other in pattern)}
            if len(fitting) == 1 and rank == (first := fitting.pop()):
                yield name, [first + other for other in pattern]


class Programs:
    """Records of observed ranks, and the programs of lost ones, each made when it is asked for."""

    def __init__(self, states: States, lost: frozenset[int]) -> None:
        self._lost = lost
        whole = states.groups.filter("whole")
        self.members: dict[int, list[int]] = {gid: list(r) for gid, r in whole.select("gid", "members").iter_rows()}
        self.role: dict[int, str | None] = dict(whole.select("gid", "desc").iter_rows())
        for role, ranks in _unseen_groups(self.members, self.role, lost):
            gid = min(self.members) - 1 if len(self.members) > whole.height else -1
            self.members[gid], self.role[gid] = ranks, role
        self.groups_of: dict[int, list[int]] = {}
        for gid, ranks in self.members.items():
            for rank in ranks:
                self.groups_of.setdefault(rank, []).append(gid)
        told = states.entries.filter(pl.col("gid").is_not_null())
        self._rows = told.select("gid", "seq", "is_p2p", "kind", "peer", "done", "superseded")
        spans = told.with_row_index("place").group_by("rank").agg(pl.col("place").min(), pl.len())
        self._spans = {rank: (start, length) for rank, start, length in spans.iter_rows()}
        gone = states.counters.group_by("rank").agg(pl.col("enqueued").sum())
        self._progress: dict[int, int] = dict(gone.iter_rows())
        self._sources = frozenset(self._spans) - lost - states.partial
        self.record = lru_cache(maxsize=None)(self._record)
        self._same_program = lru_cache(maxsize=None)(self._runs_one_program)
        self._furthest = lru_cache(maxsize=None)(self._furthest_member)

    def _record(self, rank: int) -> tuple[Call, ...]:
        """The newest calls of an observed rank, oldest first."""
        start, length = self._spans.get(rank, (0, 0))
        cut = max(0, length - _LOOK_BACK)
        rows = self._rows.slice(start + cut, length - cut).rows()
        batches = {(gid, seq) for gid, seq, _, kind, *_ in rows if kind == "coalesced"}
        # Beside a single send others go on. What follows it proves it done only where no record of transfers ever says so.
        telling = any(done and is_p2p and (gid, seq) not in batches for gid, seq, is_p2p, _, _, done, _ in rows)
        calls = []
        for gid, seq, is_p2p, kind, peer, done, superseded in rows:
            if kind != "coalesced":
                sends, to = kind in SENDS, self._peer(gid, peer) if is_p2p else None
                waited = not (is_p2p and sends) or (gid, seq) in batches
                ended = done or (superseded and not telling)
                calls.append(Call(gid, seq, is_p2p, sends, to, ended, self.role.get(gid), waited))
        return tuple(calls)

    def _peer(self, gid: int, place: int | None) -> int | None:
        members = self.members.get(gid, ())
        return members[place] if place is not None and 0 <= place < len(members) else None

    # --- twins ---------------------------------------------------------------------------------------------------------

    def _runs_one_program(self, role: str | None) -> bool:
        """Do the observed members of groups of this description make the same calls, up to groups?"""
        pairs = self._pairs(role)
        told = [same for one, two in islice(pairs, _PAIRS) if (same := self._alike(one, two)) is not None]
        return 2 * sum(told) > len(told)

    def _pairs(self, role: str | None) -> Iterator[tuple[int, int]]:
        for gid, members in self.members.items():
            if self.role[gid] == role:
                seen = [rank for rank in members if rank in self._sources]
                if len(seen) > 1:
                    yield seen[0], seen[-1]

    def _alike(self, one: int, two: int) -> bool | None:
        """None where the records have too little in common to tell."""
        first, second = self.record(one), self.record(two)
        there = {(call.gid, call.seq): place for place, call in enumerate(second) if not call.is_p2p}
        for place, call in enumerate(first):
            if not call.is_p2p and (other := there.get((call.gid, call.seq))) is not None:
                pairs = list(zip(first[place:], second[other:], strict=False))
                return all(self._form(a) == self._form(b) for a, b in pairs) if len(pairs) >= _OVERLAP else None
        return None

    def _form(self, call: Call) -> tuple[object, ...]:
        """What twins have in common in a call."""
        members = self.members.get(call.gid, ()) if call.gid is not None else ()
        place = members.index(call.peer) if call.peer is not None and call.peer in members else None
        return (call.role, call.is_p2p, call.sends, place)

    def _furthest_member(self, gid: int) -> int | None:
        return self._first_of(rank for rank in self.members[gid] if rank in self._sources)

    def _first_of(self, ranks: Iterable[int]) -> int | None:
        """Who of these called most; of equals the lowest."""
        return max(ranks, key=lambda rank: (self._progress.get(rank, 0), -rank), default=None)

    # --- the program of a lost rank ------------------------------------------------------------------------------------

    def of(self, lost: int) -> Program | None:
        """None where no observed rank shows its program."""
        mates = [self._furthest(gid) for gid in self.groups_of.get(lost, ()) if self._same_program(self.role[gid])]
        twin = self._first_of(rank for rank in mates if rank is not None)
        if twin is None:
            return None
        groups = {gid: self._counterpart(gid, twin, lost) for gid in self.groups_of[twin]}
        calls = tuple(self._translated(call, groups, twin, lost) for call in self.record(twin))
        collectives = ((at, call) for at, call in enumerate(calls) if not call.is_p2p)
        return Program(calls, {(call.gid, call.seq): at for at, call in collectives if call.gid is not None})

    def _counterpart(self, gid: int, twin: int, lost: int) -> int | None:
        """The group of the lost rank that plays the part of this one of its twin."""
        if lost in self.members[gid]:
            return gid
        role = self.role[gid]
        twins = [one for one in self.groups_of[twin] if self.role[one] == role]
        own = [one for one in self.groups_of.get(lost, ()) if self.role[one] == role]
        alike = len(twins) == len(own) == 1 and len(self.members[own[0]]) == len(self.members[gid])
        return own[0] if alike else None

    def _translated(self, call: Call, groups: Mapping[int, int | None], twin: int, lost: int) -> Call:
        """The twin's call as the lost rank makes it. Its peers follow from equal places in the group, else nothing does."""
        gid = None if call.gid is None else groups.get(call.gid)
        if not call.is_p2p or call.gid is None or gid is None:
            return call._replace(gid=gid, peer=None, done=False)
        theirs, own = self.members[call.gid], self.members[gid]
        if call.peer is None or theirs.index(twin) != own.index(lost):
            return call._replace(peer=None, done=False)
        return call._replace(gid=gid, peer=own[theirs.index(call.peer)], done=False)

    # --- transfers -----------------------------------------------------------------------------------------------------

    def transfers(self, calls: tuple[Call, ...], own: int, peer: int) -> Iterator[tuple[int, TransferKey]]:
        """(place, key) of each transfer between a rank, whose calls these are, and a peer. Those before the first
        collective of both are left out."""
        sync: tuple[int, int] | None = None
        counts = {True: 0, False: 0}
        for place, call in enumerate(calls):
            if call.gid is None:
                continue
            if not call.is_p2p and peer in self.members.get(call.gid, ()):
                sync = (call.gid, call.seq)
                counts = {True: 0, False: 0}
            elif call.is_p2p and call.peer == peer and sync is not None:
                ends = (own, peer) if call.sends else (peer, own)
                yield place, (*sync, *ends, counts[call.sends])
                counts[call.sends] += 1
