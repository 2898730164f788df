"""A directed graph of few kinds of questions: who comes after a node, who before, and which nodes reach each other.

Nodes and edges keep the order in which they came and carry words of their own.
"""

from collections.abc import Hashable, Iterator
from typing import Any, Generic, TypeVar

N = TypeVar("N", bound=Hashable)
Words = dict[str, Any]


class Digraph(Generic[N]):
    """node → its successors, in both directions, and what is said of nodes and edges."""

    def __init__(self) -> None:
        self.nodes: dict[N, Words] = {}
        self.edges: dict[tuple[N, N], Words] = {}
        self._after: dict[N, dict[N, None]] = {}
        self._before: dict[N, dict[N, None]] = {}

    def add_node(self, node: N, **words: Any) -> None:
        """Add it, or say more of it."""
        if node not in self.nodes:
            self.nodes[node], self._after[node], self._before[node] = {}, {}, {}
        self.nodes[node].update(words)

    def add_edge(self, source: N, target: N, **words: Any) -> None:
        """Add it, and its nodes where they are new, or say more of it."""
        self.add_node(source)
        self.add_node(target)
        self._after[source][target] = self._before[target][source] = None
        self.edges.setdefault((source, target), {}).update(words)

    def remove_edge(self, source: N, target: N) -> None:
        """Take it away, and leave its nodes."""
        del self.edges[source, target], self._after[source][target], self._before[target][source]

    def __iter__(self) -> Iterator[N]:
        return iter(self.nodes)

    def __contains__(self, node: object) -> bool:
        return node in self.nodes

    def successors(self, node: N) -> Iterator[N]:
        """Where its edges lead."""
        return iter(self._after[node])

    def predecessors(self, node: N) -> Iterator[N]:
        """From where edges lead to it."""
        return iter(self._before[node])

    def out_degree(self, node: N) -> int:
        """How many edges begin there."""
        return len(self._after[node])

    def in_degree(self, node: N) -> int:
        """How many edges end there."""
        return len(self._before[node])

    def components(self) -> Iterator[list[N]]:
        """Nodes that reach each other, together (strongly connected components); a component comes after all that it
        leads to.

        Method: Tarjan's (1972), with a stack of its own in place of recursion."""
        low: dict[N, int] = {}
        inside: dict[N, None] = {}  # the stack of nodes that no component has yet
        for start in self.nodes:
            if start in low:
                continue
            low[start] = len(low)
            inside[start] = None
            walk = [(start, low[start], self.successors(start))]
            while walk:
                node, number, later = walk[-1]
                for other in later:
                    if other not in low:
                        low[other] = len(low)
                        inside[other] = None
                        walk.append((other, low[other], self.successors(other)))
                        break
                    if other in inside:
                        low[node] = min(low[node], low[other])
                else:
                    walk.pop()
                    if walk:
                        low[walk[-1][0]] = min(low[walk[-1][0]], low[node])
                    if low[node] == number:
                        part = [inside.popitem()[0]]
                        while part[-1] != node:
                            part.append(inside.popitem()[0])
                        yield part
