"""The wait-for graph as the page draws it: classes of ranks and of operations."""

from collections.abc import Mapping
from typing import Any

from forensics.case import Case
from forensics.graph.hang.digraph import Digraph
from forensics.graph.hang.operations import Operation, describe
from forensics.model.drawn import GraphEdge, GraphNode
from forensics.model.finding import Finding
from forensics.model.names import RankState
from forensics.model.said import joined
from forensics.model.texts import ranges, ranks_text
from forensics.views.grid import state_of
from forensics.words import views as words

_NODES = 30
_FINE = 14  # classes that still read as a picture


def _base(label: str) -> str:
    return label.split(" (")[0]


def graph(case: Case, finding: Finding) -> tuple[list[GraphNode], list[GraphEdge], list[str]]:
    """Classes of ranks and of operations: operations alike in kind, group description and the roots that they need; where
    these would be many, in the states of the roots that they need."""
    if not case.states.open.height:
        return [], [], []
    graph = case.waits.graph
    states = {node[1]: state_of(case, finding, node[1]) for node in graph if node[0] == "rank"}
    operations = describe(case.states, case.states.open["op"].unique().to_list())
    for is_fine in (True, False):
        op_class = _op_classes(graph, finding, operations, states, is_fine=is_fine)
        rank_class = _rank_classes(graph, states, op_class)
        if len({*op_class.values(), *rank_class.values()}) <= _FINE:
            break
    classes: dict[str, list[Operation]] = {}
    for op, operation in sorted(operations.items()):
        classes.setdefault(op_class[op], []).append(operation)
    members: dict[str, list[int]] = {}
    for rank, key in rank_class.items():
        members.setdefault(key, []).append(rank)
    edges: dict[tuple[str, str], tuple[str, bool]] = {}
    for a, b in ((node, other) for node in graph for other in graph.successors(node)):
        source = rank_class[a[1]] if a[0] == "rank" else op_class[a[1]]
        target = rank_class[b[1]] if b[0] == "rank" else op_class[b[1]]
        said = graph.edges[a, b]
        label, certain = edges.get((source, target), (said["state"], True))
        edges[(source, target)] = (label, certain and said["certain"])
    nodes = [_rank_node(key, ranks) for key, ranks in sorted(members.items())]
    nodes += [_op_node(key, ops) for key, ops in sorted(classes.items())]
    notes: list[str] = [words.SHOWING_CLASSES(shown=_NODES, number=len(nodes))] if len(nodes) > _NODES else []
    first = ("culprit", "suspect", "dead")
    order = sorted(nodes, key=lambda node: (node.state not in first, node.kind, -len(node.ranks), node.id))
    kept = {node.id for node in order[:_NODES]}
    drawn = [
        GraphEdge(source=s, target=t, label=label, certain=certain)
        for (s, t), (label, certain) in sorted(edges.items())
        if s in kept and t in kept
    ]
    return [node for node in nodes if node.id in kept], drawn, notes


def _op_classes(
    graph: Digraph[Any],
    finding: Finding,
    operations: Mapping[str, Operation],
    states: Mapping[int, RankState],
    *,
    is_fine: bool,
) -> dict[str, str]:
    """Operation → its class. `is_fine`: by which roots it needs, else by what has become of them."""
    roots = {*finding.ranks, *finding.cycle, *finding.suspect_ranks}
    found = {}
    for op, operation in operations.items():
        needed = [rank for _, rank in graph.successors(("op", op)) if rank in roots]
        needs = ranges(needed) if is_fine else ",".join(sorted({states[rank] for rank in needed}))
        kind = "send/recv" if op.startswith("p2p:") else operation.kind
        found[op] = f"{kind} on {_base(operation.group)}|{needs if len(needs) < 60 else 'many'}"
    return found


def _rank_classes(graph: Digraph[Any], states: Mapping[int, RankState], op_class: Mapping[str, str]) -> dict[int, str]:
    """Rank → its class: its state and what holds it."""
    found = {}
    for node in graph:
        is_linked = graph.in_degree(node) or graph.out_degree(node)
        if node[0] == "rank" and (is_linked or states[node[1]] not in ("ok", "no_data")):
            held = ",".join(sorted({op_class[op] for _, op in graph.successors(node)}))
            found[node[1]] = f"{states[node[1]]}|{held}"
    return found


def _rank_node(key: str, ranks: list[int]) -> GraphNode:
    state = key.split("|")[0]
    number = words.RANKS(len(ranks))
    label = ranks_text(ranks) if len(ranks) == 1 else joined((number, ranges(ranks)), ": ")
    label = label if len(label) < 40 else number
    return GraphNode(id=key, kind="ranks", label=label, ranks=ranges(ranks), state=state, detail=state)


def _op_node(key: str, operations: list[Operation]) -> GraphNode:
    first = operations[0]
    mismatch = any(len({call.signature for call in op.calls}) > 1 for op in operations)
    many = f"{len(operations)} × {key.split('|')[0]}"
    return GraphNode(
        id=key,
        kind="operation",
        label=many if len(operations) > 1 else f"{first.kind} {first.group} #{first.seq}",
        ranks=ranges(rank for op in operations for rank in op.all_ranks),
        state="mismatch" if mismatch else "open",
        detail="; ".join(op.label for op in operations[:4]),
    )
