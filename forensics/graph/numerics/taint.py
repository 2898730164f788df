"""Which bad value was born where, and which came from elsewhere: a simulation of the spread of NaN and Inf.

Each rank walks through its program order; a call fires when all members that are present have reached it, and its
receivers take the union of the senders' taints. A birth on a rank without taint is a root, with taint an echo. The
gradient-norm all_reduce that precedes every optimizer step spreads taint to every rank, seen or not; so does what gathers
sharded parameters after a step whose update was bad. Cost: linear in memberships of calls that hold anything but
observed clean values; clean calls are dropped before.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from functools import reduce
from operator import or_
from typing import Any, Literal

import msgspec
import polars as pl

from forensics.graph.numerics.calls import Call, match, rank_set
from forensics.graph.numerics.tensor_rules import EQUAL_OUTPUTS, LARGEST, STATES, SUMS

Birth = Literal["op", "state", "input", "window", "comm", "overflow", "missing"]


class Root(msgspec.Struct):
    """A birth without a cause in sight.

    `birth`: op = born in an operation whose inputs were clean; state = parameter or optimizer state bad on arrival;
    input = first input of the forward pass; window = somewhere after the last clean row; comm, overflow = within a
    call whose inputs were all clean; missing = in a member without record. `rank` None: no single rank can be told.
    `at`: index of the operation with the first bad row. `suspects`: whom the birth may belong to.
    """

    birth: Birth
    rank: int | None
    at: int
    suspects: frozenset[int]
    order: int
    assumed: bool = False  # rests on a group that no row states
    links: tuple[tuple[int, int], ...] = ()
    ended: bool = False  # the taint was gone after a step boundary


class Spread(msgspec.Struct):
    """`first`: rank → (index of its first bad operation, bits of the roots that it came from; own root included)."""

    roots: list[Root] = msgspec.field(default_factory=list)
    first: dict[int, tuple[int, int]] = msgspec.field(default_factory=dict)
    mismatch: bool = False  # calls did not line up; the order is doubtful there
    conflicts: bool = False  # ranks state different members of one group


class _Item(msgspec.Struct):
    """A station on a rank's way: a birth, a call, what all ranks exchange in a step (the gradient norm; sharded
    parameters), or a boundary that ends taint."""

    what: Literal["birth", "call", "sync", "gather", "clean"]
    at: int = -1  # index of the operation
    call: int = -1  # index of the call


class Clean(msgspec.Struct, frozen=True):
    """(rank, step) after which the rank's parameters were seen clean: by its own update, on arrival in the next step."""

    updated: frozenset[tuple[int, int]]
    arrived: frozenset[tuple[int, int]]

    def __contains__(self, key: tuple[int, int]) -> bool:
        return key in self.updated or key in self.arrived


def spread(ops: pl.DataFrame, clean: Clean, expected: frozenset[int]) -> Spread:
    """`ops`: operations of one launch (tensor_ops.operations), cut to the steps that matter, in program order.

    `expected`: ranks of the job, if known.
    """
    return _Simulation(ops, clean, expected).run()


def _union(taints: Iterable[int]) -> int:
    return reduce(or_, taints, 0)


class _Simulation:
    def __init__(self, ops: pl.DataFrame, clean: Clean, expected: frozenset[int]) -> None:
        self.rank: list[int] = ops["rank"].to_list()
        self.step: list[int] = ops["step"].to_list()
        self.phase: list[str | None] = ops["phase"].to_list()
        self.inputs: list[bool | None] = ops["in_bad"].to_list()
        self.state: list[bool | None] = ops["state_bad"].to_list()
        self.outputs: list[bool | None] = ops["out_bad"].to_list()
        self.ins: list[int] = ops["ins"].to_list()
        self.first_bad: list[int | None] = ops["first_bad"].to_list()
        self.place: list[int] = ops["place"].to_list()
        self.prev_ok: list[int | None] = ops["prev_ok"].to_list()
        self.kind: list[str | None] = ops["kind"].to_list()
        self.ops = ops
        # Where inputs are recorded: hooks of the forward pass alone tell nothing of what came into the backward pass.
        self.fed = {(rank, phase) for rank, phase, ins in zip(self.rank, self.phase, self.ins, strict=True) if ins}
        self.present = frozenset(self.rank)
        self.known = expected >= self.present
        self.expected = expected | frozenset(range(max(self.present) + 1))  # ranks are numbered without holes
        self.out = Spread()
        self.calls, self.callers = self._doubtful(match(ops))
        self.call_of = {at: number for number, call in enumerate(self.calls) for at in call.rows.values()}
        self.taint: dict[int, int] = dict.fromkeys(self.present, 0)
        self.unseen = self.expected - self.present
        self.ghost: dict[int, int] = {}  # what ranks got in calls of theirs that no row shows
        self.ghosts: dict[frozenset[int], int] = {}  # likewise, of ranks without any row: they got it together
        self._alike: dict[frozenset[int], frozenset[int]] = {}  # of equal suspects one set
        self._parts: dict[frozenset[int], tuple[frozenset[int], frozenset[int]]] = {}
        self.clock: dict[int, int] = dict.fromkeys(self.present, 0)
        self.posted: dict[int, tuple[int, int]] = {}  # message → what its sender gave, and when
        self.ways = self._ways(clean)

    # --- preparation ---------------------------------------------------------------------------------------------

    def _doubtful(self, calls: list[Call]) -> tuple[list[Call], dict[tuple[Any, ...], set[int]]]:
        """Calls that may carry taint, and who ever makes the call of a module and phase (for assumed groups)."""
        callers: dict[tuple[Any, ...], set[int]] = {}
        kept = []
        for call in calls:
            callers.setdefault((call.kind, *call.site), set()).update(call.rows)
            self.out.conflicts |= call.conflict
            if any(self._of(at) is not False or self.outputs[at] is not False for at in call.rows.values()):
                kept.append(call)
        return kept, callers

    def _of(self, at: int) -> bool | None:
        """What a member gives to a call: its inputs, and the parameter that a sharded gather sends."""
        if self.inputs[at] is None and not self.ins[at]:
            return self.state[at]
        return True if self.state[at] else self.inputs[at]

    def _ways(self, clean: Clean) -> dict[int, list[_Item]]:
        """Rank → its stations in program order."""
        call_of = self.call_of
        ways: dict[int, list[_Item]] = {rank: [] for rank in self.present}
        synced: set[tuple[int, int]] = set()
        born: set[tuple[int, int]] = set()
        last: dict[int, int] = {}
        spoiled = self._bad_updates()
        for at, rank in enumerate(self.rank):
            way, before = ways[rank], last.get(rank)
            if before is not None and self.step[before] != self.step[at]:
                self._end_step(way, before, synced, spoiled, clean)
            key = (rank, self.step[at])
            if self.phase[at] == "optimizer" and key not in synced:
                synced.add(key)
                way.append(_Item("sync", at))
            if self.first_bad[at] is not None and key not in born:
                born.add(key)
                if at not in call_of or self._of(at):
                    way.append(_Item("birth", at))
            if at in call_of:
                way.append(_Item("call", at, call_of[at]))
            last[rank] = at
        for rank, at in last.items():
            self._end_step(ways[rank], at, synced, spoiled, clean)
        return ways

    def _bad_updates(self) -> set[int]:
        """Steps in which the first bad row of some rank is its optimizer's."""
        first: dict[tuple[int, int], int] = {}
        for at, rank in enumerate(self.rank):
            if self.first_bad[at] is not None:
                first.setdefault((rank, self.step[at]), at)
        return {step for (_, step), at in first.items() if self.phase[at] == "optimizer" and self.kind[at] is None}

    def _end_step(
        self, way: list[_Item], at: int, synced: set[tuple[int, int]], spoiled: set[int], clean: Clean
    ) -> None:
        """`at`: the rank's last operation of the step. `spoiled`: steps whose parameters may be gathered in a bad state."""
        key = (self.rank[at], self.step[at])
        if key not in synced:
            synced.add(key)
            way.append(_Item("sync", at))
        if key in clean:
            way.append(_Item("clean", at))
        if key[1] in spoiled:
            way.append(_Item("gather", at))
            if key in clean.arrived:
                way.append(_Item("clean", at))

    # --- the walk ------------------------------------------------------------------------------------------------

    def run(self) -> Spread:
        cursor = dict.fromkeys(self.present, 0)
        waiting: dict[object, set[int]] = {}
        ready = deque(sorted(self.present))
        fired: set[object] = set()
        syncs: dict[object, set[int]] = {}
        for rank, way in self.ways.items():
            for item in way:
                if item.what in ("sync", "gather"):
                    syncs.setdefault((item.what, self.step[item.at]), set()).add(rank)
        while ready or waiting:
            if not ready:
                self._unblock(waiting, fired, ready, cursor)
                continue
            rank = ready.popleft()
            way = self.ways[rank]
            while cursor[rank] < len(way):
                item = way[cursor[rank]]
                if item.what == "birth":
                    self._birth(rank, item.at)
                elif item.what == "clean":
                    self.taint[rank] = 0
                elif item.what == "call" and self.calls[item.call].kind == "send" and item.call not in fired:
                    if not self._message(item.call, rank, waiting, fired, ready):
                        break
                else:
                    key: object = item.call if item.what == "call" else (item.what, self.step[item.at])
                    if key not in fired:
                        here = waiting.setdefault(key, set())
                        here.add(rank)
                        members = self.calls[item.call].rows if item.what == "call" else syncs[key]
                        if len(here) < len(members):  # none but members wait here
                            break
                        self._go(key, waiting, fired, ready, rank)
                cursor[rank] += 1
        self._close()
        return self.out

    def _message(
        self, number: int, rank: int, waiting: dict[object, set[int]], fired: set[object], ready: deque[int]
    ) -> bool:
        """A sender never waits, its receiver waits until it has sent. Returns whether the rank may walk on."""
        call = self.calls[number]
        sends = rank == call.root
        if sends:
            self.posted[number] = (self.taint[rank] if self._of(call.rows[rank]) is not False else 0, self.clock[rank])
        if sends and len(call.rows) > 1:
            ready.extend(sorted(waiting.pop(number, set())))
            return True
        unposted = call.root in call.rows and number not in self.posted
        if not sends and (unposted or call.root is None):  # who sent it cannot be told: last of all
            waiting.setdefault(number, set()).add(rank)
            return False
        fired.add(number)
        self._fire(call, number)
        return True

    def _go(
        self, key: object, waiting: dict[object, set[int]], fired: set[object], ready: deque[int], now: int
    ) -> None:
        """Fires a call or a sync; all who waited, but `now`, walk on."""
        here = waiting.pop(key)
        fired.add(key)
        if isinstance(key, int):
            self._fire(self.calls[key], key)
        else:
            self.taint |= dict.fromkeys(here, _union(self.taint[rank] for rank in here))
        ready.extend(sorted(here - {now}))

    def _unblock(
        self, waiting: dict[object, set[int]], fired: set[object], ready: deque[int], cursor: dict[int, int]
    ) -> None:
        """Nobody can walk: call sequences differ. The earliest call goes without those who do not come."""
        self.out.mismatch = True

        def when(key: object) -> tuple[int, int, int]:
            rank = min(waiting[key])
            at = self.ways[rank][cursor[rank]].at
            return self.step[at], self.clock[rank], at

        self._go(min(waiting, key=when), waiting, fired, ready, -1)

    def _birth(self, rank: int, at: int) -> None:
        if self.taint[rank]:
            self.out.first.setdefault(rank, (at, self.taint[rank]))
            return
        birth, suspects = self._kind_of_birth(rank, at)
        self.taint[rank] = self._root(Root(birth, rank, at, suspects, self.clock[rank]))
        self.out.first.setdefault(rank, (at, self.taint[rank]))

    def _root(self, root: Root) -> int:
        self.out.roots.append(root)
        return 1 << (len(self.out.roots) - 1)

    def _kind_of_birth(self, rank: int, at: int) -> tuple[Birth, frozenset[int]]:
        own = frozenset({rank})
        role = self.ops["first_role"][at]
        if role == "state" or (role == "out" and self.state[at]) or self.ops["first_base"][at] in STATES:
            return "state", own
        none = not self.ins[at] and (rank, self.phase[at]) in self.fed and self.phase[at] != "optimizer"
        if role == "out" and (self.inputs[at] is False or none) and self.kind[at] is None:
            return "op", own  # the rows of one operation are complete: without an input row it has no such input
        if role == "in" and self.ops["opens"][at]:
            return "input", own
        return "window", own | self._window(rank, at)

    def _window(self, rank: int, at: int) -> frozenset[int]:
        """Members of the calls between the last clean row and `at` whose own part in them was not seen clean."""
        found: set[int] = set()
        before, start = at - 1, self.prev_ok[at]
        while before >= 0 and self.rank[before] == rank and (start is None or self.place[before] > start):
            if before in self.call_of:
                call = self.calls[self.call_of[before]]
                seen = {member for member, row in call.rows.items() if self._of(row) is False}
                found |= self._members(call) - seen
            before -= 1
        return frozenset(found)

    # --- calls ---------------------------------------------------------------------------------------------------

    def _members(self, call: Call) -> frozenset[int]:
        if call.members is None:
            return self.unseen.union(self.callers[(call.kind, *call.site)], call.rows)
        members = rank_set(call.members)
        more = (call.rows.keys() - members) | (frozenset() if call.stated else self.unseen - members)
        return members | more if more else members

    def _halves(self, ranks: frozenset[int]) -> tuple[frozenset[int], frozenset[int]]:
        """Ranks that have rows, and those that have none."""
        if ranks not in self._parts:
            self._parts[ranks] = (ranks & self.present, ranks - self.present)
        return self._parts[ranks]

    def _haunted(self, ranks: frozenset[int]) -> int:
        """What any of these ranks, which have no row, got."""
        found = 0
        for some, bits in self.ghosts.items():
            if bits & ~found and not some.isdisjoint(ranks):
                found |= bits
        return found

    def _senders(self, call: Call, members: frozenset[int]) -> frozenset[int]:
        if call.kind == "send":
            return frozenset({call.root}) if call.root is not None else members.difference(call.rows)
        if call.kind in ("broadcast", "scatter") and call.root is not None:
            return frozenset({call.root})
        return members

    def _receivers(self, call: Call) -> list[int]:
        if call.kind == "send":
            return [rank for rank in call.rows if rank != call.root]
        if call.kind in ("reduce", "gather") and call.root is not None:
            return [rank for rank in call.rows if rank == call.root]
        if call.kind in ("broadcast", "scatter"):
            return [rank for rank in call.rows if rank != call.root]
        return list(call.rows)

    def _fire(self, call: Call, number: int) -> None:
        members = self._members(call)
        senders = self._senders(call, members)
        near, far = self._halves(senders)
        given: dict[int, int] = {}
        for rank in near:
            row = call.rows.get(rank)
            if row is None:
                given[rank] = self.ghost.get(rank, 0) | (self.taint[rank] if call.root is None else 0)
            elif self._of(row) is not False:
                given[rank] = self.taint[rank]
        clocks = {rank: self.clock[rank] for rank in call.rows}
        if number in self.posted and call.root is not None:
            given[call.root], clocks[call.root] = self.posted[number]
        time = 1 + max(clocks.values())
        receivers = self._receivers(call)
        union = _union(given.values()) | (self._haunted(far) if far else 0)
        born = 0
        if not union and any(self.outputs[call.rows[rank]] for rank in receivers):
            union = born = self._origin(call, members, senders, receivers, time)
        if union:
            self._haunt(call, members, union)
        for rank in receivers:
            at = call.rows[rank]
            if self.outputs[at] is False or not union:
                continue
            got = self._from_slices(call, at, given, far, born) or union
            if self.outputs[at]:
                self.out.first.setdefault(rank, (at, got | self.taint[rank]))
            self.taint[rank] |= got
        for rank in receivers if call.kind == "send" else call.rows:
            self.clock[rank] = time

    def _haunt(self, call: Call, members: frozenset[int], bits: int) -> None:
        """Members whose part no row shows got it as well."""
        near, far = self._halves(members - {call.root} if call.kind == "send" else members)
        for rank in near - call.rows.keys():
            self.ghost[rank] = self.ghost.get(rank, 0) | bits
        if far:
            self.ghosts[far] = self.ghosts.get(far, 0) | bits

    def _from_slices(self, call: Call, at: int, given: dict[int, int], far: frozenset[int], born: int) -> int:
        """What came in the slices that are bad: slice i of a gather or an exchange is member i's; `born`: of each."""
        if call.kind not in ("all_gather", "all_to_all", "gather") or not call.members:
            return 0
        bits = 0
        for name in self.ops["bad_outputs"][at].to_list():
            slot = name.split(".")[1] if "." in name else ""
            if slot.isdigit() and int(slot) < len(call.members):
                member = call.members[int(slot)]
                bits |= born or given.get(member, 0) or (self._haunted(frozenset({member})) if member in far else 0)
        return bits

    def _origin(
        self, call: Call, members: frozenset[int], senders: frozenset[int], receivers: Sequence[int], time: int
    ) -> int:
        """A bad output though no sender is known to be tainted → the bit of a new root."""
        bad = [rank for rank in receivers if self.outputs[call.rows[rank]]]
        fine = [rank for rank in call.rows if self.outputs[call.rows[rank]] is False]
        at = call.rows[min(bad, key=lambda rank: self.place[call.rows[rank]])]
        unseen = senders - call.rows.keys()
        blind = {rank for rank in senders & call.rows.keys() if self._of(call.rows[rank]) is None}
        if not blind and self._overflows(call):
            return self._root(Root("overflow", None, at, frozenset(members), time, not call.stated))
        # where all outputs must be equal, a clean one shows that what went in was clean, seen or not
        cleared = call.kind in EQUAL_OUTPUTS and bool(set(fine) & set(receivers))
        if (unseen or blind) and not cleared:
            birth: Birth = "missing" if unseen and not blind else "window"
            suspects = frozenset(unseen | blind)
            suspects = self._alike.setdefault(suspects, suspects)
            return self._root(Root(birth, None, at, suspects, time, not call.stated))
        if not call.stated and not self._whole(members):
            return self._root(Root("missing", None, at, frozenset(members), time, True))
        if call.kind == "send":
            link = tuple(call.members or ())
            links = ((link[0], link[1]),) if len(link) == 2 else ()
            return self._root(Root("comm", None, at, frozenset(members), time, links=links))
        if len(bad) == 1 and set(fine) & set(receivers):
            named = None if unseen or blind else bad[0]
            return self._root(Root("comm", named, at, frozenset(bad), time, not call.stated))
        suspects = frozenset(bad) if fine and len(bad) + len(fine) == len(call.rows) else frozenset(members)
        return self._root(Root("comm", None, at, suspects, time, not call.stated))

    def _whole(self, members: frozenset[int]) -> bool:
        """An assumed group is complete where every rank that the job is known to have shows the call."""
        return self.known and members >= self.expected and self.expected == self.present

    def _overflows(self, call: Call) -> bool:
        if call.kind not in SUMS:
            return False
        rows = list(call.rows.values())
        peaks = [self.ops["peak"][at] for at in rows]
        limit = LARGEST.get(str(self.ops["dtype"][rows[0]]).removeprefix("torch.").lower())
        wanted = str(self.ops["reduce_op"][rows[0]] or "sum").lower()
        if limit is None or any(peak is None for peak in peaks) or not any(word in wanted for word in ("sum", "avg")):
            return False
        return bool(sum(peaks) > limit)

    def _close(self) -> None:
        left = _union(self.taint.values())
        for number, root in enumerate(self.out.roots):
            root.ended = not left >> number & 1
