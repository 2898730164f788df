"""Roots of the rank-dependency graph: what everything else waits for.

Strongly connected components are condensed; a sink that is one free rank is a culprit, a component of several ranks is
a deadlock cycle (every node is an AND node, so a cycle alone never resolves), an operation whose members have all
entered is a fault below the ranks. A lost rank is transparent: it may itself be a victim, so observed sinks count only
if they explain every observed waiter; else the smallest list that must hold the culprit is returned.
"""

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from forensics.graph.hang.digraph import Digraph
from forensics.graph.hang.waits import Waits


class Roots(msgspec.Struct, frozen=True):
    """waiters: observed ranks that wait. free: rank → how many waiters lead to it (culprit candidates that some open
    operation needs). cycles: (ranks, ops) of each deadlock. entered: operations whose members are all in. stuck: rank →
    the operation that all others completed. lost: lost ranks that observed waiters need and nothing observed explains.
    outside: ranks without a record that no observed operation needs, whose stack shows them outside communication.
    lonely: waiters whose own device may be what stopped, because the other members of their operation left no record.
    unexplained: waiters that reach no observed root."""

    waiters: frozenset[int]
    free: dict[int, int]
    cycles: tuple[tuple[frozenset[int], frozenset[str]], ...]
    entered: tuple[str, ...]
    stuck: dict[int, str]
    lost: frozenset[int]
    outside: frozenset[int]
    lonely: frozenset[int]
    unexplained: frozenset[int]


Node = tuple[str, object]


def walk(neighbours: Callable[[Node], Iterable[Node]], starts: Iterable[Node]) -> set[Node]:
    """Everything reachable from the starts, starts included, each node once."""
    seen = set(starts)
    stack = list(seen)
    while stack:
        for node in neighbours(stack.pop()):
            if node not in seen:
                seen.add(node)
                stack.append(node)
    return seen


def _hosts_in(graph: Digraph[Any], waits: Waits) -> tuple[dict[str, list[int]], list[Node], list[Node]]:
    """Members without a record whose host stands in communication: their device may be the one that stopped.

    (op → such members, of operations that need nobody else: all hosts have entered; all such members; those of them that may be
    in another group, of operations that need nobody else)."""
    alone: dict[str, list[int]] = {}
    unsure: set[Node] = set()
    elsewhere: set[Node] = set()
    for node in graph:
        if node[0] != "op":
            continue
        needed = [rank for _, rank in graph.successors(node)]
        unsaid = [rank for rank in needed if not graph.edges[node, ("rank", rank)]["certain"]]
        hosts = [rank for rank in unsaid if waits.status[rank] == "vague" and rank in waits.by_stack]
        unsure |= {("rank", rank) for rank in hosts}
        if hosts and len(hosts) == len(needed):
            here = {graph.nodes[node]["gid"]}
            if other := [rank for rank in hosts if not waits.possible.get(rank, frozenset()) <= here]:
                elsewhere |= {("rank", rank) for rank in other}
            else:
                alone[str(node[1])] = hosts
    return alone, sorted(unsure), sorted(elsewhere)


def _lonely(graph: Digraph[Any]) -> set[int]:
    """Ranks alone in a collective of devices whose other members left no record: the others may have completed it, and
    this rank's own device may be the one that stopped."""
    found: set[int] = set()
    for node, data in graph.nodes.items():
        if node[0] == "op" and not data["host_bound"] and not str(node[1]).startswith("p2p:"):
            inside = list(graph.predecessors(node))
            unknown = [graph.edges[node, rank]["certain"] for rank in graph.successors(node)]
            if len(inside) == 1 and unknown and not any(unknown):
                found.add(inside[0][1])
    return found


def _closed_by(waits: Waits, ranks: frozenset[int], ops: frozenset[str]) -> frozenset[int]:
    """The ranks of a cycle with those that it waits for and whose stack stands in a collective, if they wait for the cycle
    whichever of their groups it is in: some member of each, that is not in there with them, is of the cycle or waits for it.

    Hosts that take part themselves: elsewhere a host in a call says nothing of its device."""
    graph, status = waits.graph, waits.status
    around = [("rank", rank) for rank in sorted(ranks)]
    stuck = {rank for kind, rank in walk(graph.predecessors, around) if kind == "rank"}
    inside: dict[int, set[int]] = {}
    for node in graph:
        if node[0] == "op" and not str(node[1]).startswith("p2p:"):
            there = inside.setdefault(graph.nodes[node]["gid"], set())
            there |= {rank for _, rank in graph.predecessors(node)}
    needed = {rank for op in ops for _, rank in graph.successors(("op", op)) if graph.nodes["op", op]["host_bound"]}
    found = {
        rank
        for rank in needed & waits.possible.keys()
        if status[rank] == "vague" and waits.possible[rank]
        and all((waits.members[gid] - inside.get(gid, set()) - {rank}) & stuck for gid in waits.possible[rank])
    }  # fmt: skip
    return ranks | found


def _held_by_batch(graph: Digraph[Any], message: Node) -> bool:
    """Does an end of this message belong to a batch that waits for somebody else, too? Its messages end together."""
    if not str(message[1]).startswith("p2p:"):
        return False
    return any(graph.out_degree(op) for rank in graph.predecessors(message) for op in graph.successors(rank))


def find(waits: Waits) -> Roots:
    """Waits → Roots. Linear in nodes and edges, plus one walk per named rank."""
    graph, status = waits.graph, waits.status
    waiters = frozenset(rank for rank, value in status.items() if value in ("held", "vague"))
    needed = {node for node in graph if node[0] == "rank" and graph.in_degree(node)}
    free = sorted(node for node in needed if status[node[1]] in ("free", "dead"))
    cycles = []
    for component in graph.components():
        if len(component) > 1:
            ops = frozenset(value for kind, value in component if kind == "op")
            ranks = frozenset(value for kind, value in component if kind == "rank")
            cycles.append((_closed_by(waits, ranks, ops), ops))
    entered, stuck = [], {}
    for node in graph:
        if node[0] == "op" and not graph.out_degree(node):
            inside = [rank for _, rank in graph.predecessors(node)]
            if len(inside) == 1 and not str(node[1]).startswith("p2p:"):
                stuck[inside[0]] = str(node[1])
            elif inside and not _held_by_batch(graph, node):
                entered.append(str(node[1]))
    lost = sorted(node for node in needed if status[node[1]] == "lost")
    alone, unsure, elsewhere = _hosts_in(graph, waits)
    outside = frozenset(rank for rank in waits.by_stack if status[rank] == "free" and ("rank", rank) not in needed)
    outside = outside if (alone or elsewhere) and not free else frozenset()
    if not lost and not outside:
        entered += list(alone)
        unsure = elsewhere
    in_cycles = (("rank", rank) for ranks, _ in cycles for rank in ranks)
    roots = [*free, *(("op", op) for op in (*entered, *stuck.values())), *in_cycles]
    explained = walk(graph.predecessors, roots)
    unexplained = frozenset(rank for rank in waiters if ("rank", rank) not in explained)
    reach = walk(graph.successors, [("rank", rank) for rank in sorted(unexplained)])
    lonely = frozenset(rank for rank in _lonely(graph) if ("rank", rank) in reach)
    needed_lost = frozenset(rank for kind, rank in (*lost, *unsure) if (kind, rank) in reach)
    shares = dict.fromkeys((rank for _, rank in free), 0)
    for node in free[:64]:
        led = {rank for kind, rank in walk(graph.predecessors, [node]) if kind == "rank"}
        shares[node[1]] = len(led & waiters - {node[1]})
    return Roots(
        waiters, shares, tuple(sorted(cycles, key=lambda pair: sorted(pair[0]))), tuple(sorted(entered)), dict(sorted(stuck.items())),
        needed_lost, outside, lonely if needed_lost else frozenset(), unexplained,
    )  # fmt: skip


def all_entered(roots: Roots) -> bool:
    """Do the records show every member in the calls that never ended, and nobody to blame for it?"""
    return bool(roots.entered) and not (roots.free or roots.cycles or roots.stuck or roots.lost)
