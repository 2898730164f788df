"""Which ranks can be the one that holds all others up?

The walk from a waiting rank over all that may hold it up (graph/hang/replay.py) ends at the ranks that may be the cause; one
rank that is to explain every waiter lies on the walk of each.
"""

from collections.abc import Iterable, Mapping

from forensics.facts.waits.states import States
from forensics.graph.hang.digraph import Digraph
from forensics.graph.hang.logged import Waiting
from forensics.graph.hang.replay import ANY, END, Node, Replay
from forensics.graph.hang.roots import Roots
from forensics.graph.hang.waits import Waits


def unrecorded(waits: Waits, states: States) -> frozenset[int]:
    """Ranks whose own record does not tell what holds them."""
    told = frozenset(states.open["rank"].to_list()) | states.blind
    by_stack = {rank for rank in waits.by_stack if waits.status[rank] in ("vague", "free")}
    return frozenset({rank for rank, status in waits.status.items() if status == "lost"} | by_stack) - told


def possible_culprits(states: States, waits: Waits, roots: Roots, logged: Mapping[int, Waiting]) -> frozenset[int]:
    """Ranks of which one must hold all unexplained waiters up, if it is one: lost ones, and observed ones that are alone
    in a call whose other members are lost. `logged`: in which call a lost rank waits by its log. Where no single rank
    can be it, all lost ones that are needed."""
    lost = unrecorded(waits, states)
    replay = Replay(states, waits, lost, logged)
    waiting_by_log = {rank for rank in replay.held if not replay.may_have_stopped(rank)}
    reached = _reached(replay, roots.unexplained - lost, lost - waiting_by_log | _alone(replay, roots.lonely))
    common = frozenset.intersection(*reached.values()) if reached else frozenset()
    return common or roots.lost | roots.outside | roots.lonely


def unaccounted(states: States, waits: Waits, roots: Roots, logged: Mapping[int, Waiting]) -> frozenset[int]:
    """Lost ranks that unexplained waiters need, without those that wait by their log: what may be a culprit beside others."""
    replay = Replay(states, waits, unrecorded(waits, states), logged)
    return roots.lost - {rank for rank in replay.held if not replay.may_have_stopped(rank)}


def _alone(replay: Replay, lonely: frozenset[int]) -> frozenset[int]:
    """Of the ranks that are alone in a call, those of which all other members may have ended it."""
    found = set()
    for rank in lonely:
        for _, op in replay.waits.graph.successors(("rank", rank)):
            others = [other for _, other in replay.waits.graph.successors(("op", op))]
            places = [(replay.places.get(other), replay.limit(op, other, rank)) for other in others]
            if all(place is None or place.before > limit or limit == END for place, limit in places):
                found.add(rank)
    return frozenset(found)


def _reached(replay: Replay, waiting: Iterable[int], wanted: frozenset[int]) -> dict[int, frozenset[int]]:
    """Waiting rank → which of the wanted ranks may hold it up. Those whose call is not known are left out."""
    ranks = [rank for rank in waiting if replay.waits.graph.out_degree(("rank", rank))]
    starts: list[Node] = [("rank", rank, None) for rank in ranks]
    graph: Digraph[Node] = Digraph()
    for start in starts:
        graph.add_node(start)
    todo = list(starts)
    while todo:
        node = todo.pop()
        for other in replay.next(node):
            if other not in graph:
                todo.append(other)
            graph.add_edge(node, other)
    bits = {rank: 1 << place for place, rank in enumerate(sorted(wanted))}
    masks: dict[Node, int] = {}
    for part in graph.components():
        mask = 0
        for node in part:
            if node == ANY:
                mask |= (1 << len(bits)) - 1
            elif node[0] == "rank" and isinstance(node[1], int):
                mask |= bits.get(node[1], 0)
            for later in graph.successors(node):
                mask |= masks.get(later, 0)
        masks.update(dict.fromkeys(part, mask))
    some = {masks[start] for start in starts}
    sets = {mask: frozenset(rank for rank, bit in bits.items() if mask & bit) for mask in some}
    return {rank: sets[masks[start]] for rank, start in zip(ranks, starts, strict=True)}
