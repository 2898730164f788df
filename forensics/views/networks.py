"""What the analysis reasons with, for a notebook: who waits for whom, and who is who, as graphs of networkx with their evidence."""

from typing import TYPE_CHECKING

from forensics.assemble.runs.register import register
from forensics.case import Case
from forensics.model.networks import Networks

if TYPE_CHECKING:
    import networkx as nx


def networks(case: Case) -> Networks:
    """The graphs of one attempt (model/networks.py says what their nodes and edges carry)."""
    return Networks(waits=_waits(case), names=_names(case))


def _waits(case: Case) -> "nx.DiGraph":
    import networkx as nx

    own, graph = case.waits.graph, nx.DiGraph()
    graph.add_nodes_from(own.nodes.items())
    graph.add_edges_from((source, target, dict(said)) for (source, target), said in own.edges.items())
    place = [name for name in ("file", "line", "record") if name in case.states.open.columns]
    for row in case.states.open.select("rank", "op", *place).iter_rows(named=True):
        edge = ("rank", row["rank"]), ("op", row["op"])
        if graph.has_edge(*edge):
            graph.edges[edge].update({name: row[name] for name in place})
    return graph


def _names(case: Case) -> "nx.MultiGraph":
    import networkx as nx

    graph = nx.MultiGraph()
    for row in register(case.tables).iter_rows(named=True):
        said = {name: row[name] for name in ("times", "how", "file", "line")}
        graph.add_edge(("rank", row["rank"]), (row["name"], row["value"]), **said)
    return graph
