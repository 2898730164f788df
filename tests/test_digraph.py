"""The small directed graph of the wait-for graph, beside networkx."""

from random import Random

import networkx as nx
import pytest

from forensics.graph.hang.digraph import Digraph


@pytest.mark.parametrize("seed", range(50))
def test_components_are_those_of_networkx_and_come_behind_all_that_they_lead_to(seed: int) -> None:
    random = Random(seed)
    nodes = range(random.randint(1, 12))
    edges = [(random.choice(nodes), random.choice(nodes)) for _ in range(random.randint(0, 25))]
    own, other = Digraph[int](), nx.DiGraph(edges)
    for node in nodes:
        own.add_node(node)
        other.add_node(node)
    for edge in edges:
        own.add_edge(*edge)
    found = list(own.components())
    assert {frozenset(part) for part in found} == {frozenset(part) for part in nx.strongly_connected_components(other)}
    seen: set[int] = set()
    for part in found:
        seen |= set(part)
        assert all(later in seen for node in part for later in own.successors(node))


def test_words_of_nodes_and_edges_stay_and_both_directions_are_known() -> None:
    graph = Digraph[str]()
    graph.add_edge("a", "b", state="in")
    graph.add_edge("a", "b", certain=True)
    graph.add_edge("c", "b")
    graph.add_node("a", status="held")
    graph.remove_edge("c", "b")
    assert (list(graph), list(graph.successors("a")), list(graph.predecessors("b"))) == (["a", "b", "c"], ["b"], ["a"])
    assert (graph.out_degree("a"), graph.in_degree("b"), "c" in graph, "d" in graph) == (1, 1, True, False)
    assert graph.edges == {("a", "b"): {"state": "in", "certain": True}} and graph.nodes["a"] == {"status": "held"}
