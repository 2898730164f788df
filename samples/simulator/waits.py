"""Who waits for whom in the final state, with full knowledge: the ground of truths and of the simulator's own tests.

Nodes: ("host", rank), ("op", rank, index in its program), ("meeting", key). A node without edges is a root: a host
that stopped or ended, a kernel that hangs, a meeting where all came.
"""

from collections.abc import Iterator
from typing import Any

import networkx as nx

from samples.simulator.engine import NEVER, Engine, Op
from samples.simulator.program import Call

Node = tuple[Any, ...]


def wait_graph(engine: Engine) -> nx.DiGraph:
    graph = nx.DiGraph()
    open_ops = {
        (op.rank, op.group, op.ordinal, bool(op.call.transfers)): op
        for rank in engine.ranks
        for op in rank.ops
        if op.completed == NEVER and isinstance(op.call, Call)
    }
    for number, rank in enumerate(engine.ranks):
        graph.add_node(("host", number))
        if rank.blocked_on is not None and not rank.finished:
            graph.add_edge(("host", number), node(rank.blocked_on))
        for op in rank.ops:
            for later in op.after or ():
                graph.add_edge(node(later), node(op))
            if op.completed == NEVER:
                graph.add_node(node(op))
    for key, meeting in engine.meetings.items():
        for op in meeting.ops:
            if op.completed != NEVER:
                continue
            if len(meeting.ops) == _size(engine, op) and not (meeting.hung or not meeting.agree):
                continue  # this transfer has happened, or only this rank's kernel hangs
            graph.add_edge(node(op), ("meeting", *key))
        if ("meeting", *key) in graph:
            for absent in _absent(engine, key, open_ops):
                graph.add_edge(("meeting", *key), absent)
    return graph


def node(op: Op) -> Node:
    return ("op", op.rank, op.index)


def _size(engine: Engine, op: Op) -> int:
    assert isinstance(op.call, Call)
    return 2 if op.call.transfers else len(engine.job.groups[op.group].members)


def _absent(engine: Engine, key: tuple[int, ...], open_ops: dict[tuple[int, int, int, bool], Op]) -> Iterator[Node]:
    """For each end that has not come: its call, if it is enqueued, else its host."""
    come = {op.rank for op in engine.meetings[key].ops}
    if len(key) == 2:
        for rank in engine.job.groups[key[0]].members:
            if rank not in come:
                op = open_ops.get((rank, key[0], key[1], False))
                yield node(op) if op else ("host", rank)
        return
    group, source, target, number = key
    for rank, peer, way in ((source, target, "send"), (target, source, "recv")):
        if rank not in come:
            op = _transfer(engine, rank, group, (way, engine.job.groups[group].members.index(peer)), number)
            yield node(op) if op else ("host", rank)


def _transfer(engine: Engine, rank: int, group: int, wanted: tuple[str, int], number: int) -> Op | None:
    for op in engine.ranks[rank].ops:
        if op.group == group and isinstance(op.call, Call) and wanted in op.call.transfers:
            if number == 0:
                return op
            number -= 1
    return None


def cycle_ranks(graph: nx.DiGraph) -> list[int]:
    """Ranks of the strongly connected components that nothing leaves."""
    ranks: set[int] = set()
    for part in nx.strongly_connected_components(graph):
        if len(part) > 1 and all(other in part for one in part for other in graph.successors(one)):
            ranks |= {one[1] for one in part if one[0] in ("op", "host")}
    return sorted(ranks)


def waiting_ranks(engine: Engine) -> set[int]:
    """Ranks whose host or GPU waits for something."""
    return {
        number
        for number, rank in enumerate(engine.ranks)
        if rank.blocked_on is not None or any(op.completed == NEVER for op in rank.ops[-64:])
    }
