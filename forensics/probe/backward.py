"""Gradients of one call of a module, seen at the nodes of the graph that its forward pass made.

Nothing is put into the graph, so outputs may be changed in place afterwards; and the gradient of an input is what this
call gave, not what all users of that input gave together.
"""

from collections.abc import Callable, Sequence
from typing import Any

Slots = Sequence[tuple[str, Any]]  # (path in nested inputs or outputs, tensor)
Note = Callable[[str, Any], None]  # (label, gradient)
_NODES = 512  # of one call, at most: a module that holds others may have more


class Call:
    """From before a forward pass until its backward pass has gone by."""

    def __init__(self, torch: Any, inputs: Slots) -> None:
        self._torch = torch
        self._first = torch.autograd._get_sequence_nr()
        self._edges = {edge: slot for slot, edge in self._gradient_edges(inputs)}

    def attach(self, outputs: Slots, begin: Callable[[], tuple[Note, Callable[[], None]]]) -> None:
        """After the forward pass. `begin`: called when the first gradient comes, gives how to note one and how to end."""
        made = self._gradient_edges(outputs)
        nodes: dict[Any, list[tuple[str, int]]] = {}
        for slot, (node, at) in made:
            if (node, at) not in self._edges:  # an output that is an input has nothing between
                nodes.setdefault(node, []).append((slot, at))
        ends = self._ends(list(nodes))
        state = _State(begin, len(nodes) + len(ends))
        for node, slots in nodes.items():
            node.register_prehook(state.given(slots))
        for node, slots in ends.items():
            node.register_hook(state.made(slots))

    def _gradient_edges(self, tensors: Slots) -> list[tuple[str, tuple[Any, int]]]:
        edge_of = self._torch.autograd.graph.get_gradient_edge
        edges = []
        for slot, tensor in tensors:
            if self._torch.is_tensor(tensor) and tensor.requires_grad:
                edge = edge_of(tensor)
                edges.append((slot, (edge.node, edge.output_nr)))
        return edges

    def _ends(self, nodes: list[Any]) -> dict[Any, list[tuple[str, int]]]:
        """Nodes of this call that hand a gradient to one of its inputs, with the places of these gradients."""
        found: dict[Any, list[tuple[str, int]]] = {}
        seen = set(nodes)
        while nodes and len(seen) < _NODES:
            node = nodes.pop()
            for at, edge in enumerate(node.next_functions):
                if edge in self._edges:
                    found.setdefault(node, []).append((self._edges[edge], at))
                elif edge[0] is not None and edge[0] not in seen and edge[0]._sequence_nr() >= self._first:
                    seen.add(edge[0])
                    nodes.append(edge[0])
        return found


class _State:
    """One backward pass through a call: it begins with the first gradient and ends when all nodes were passed."""

    def __init__(self, begin: Callable[[], tuple[Note, Callable[[], None]]], nodes: int) -> None:
        self._begin, self._nodes, self._left = begin, nodes, 0
        self._note: Note = lambda label, gradient: None
        self._end: Callable[[], None] = lambda: None

    def given(self, slots: list[tuple[str, int]]) -> Callable[[Any], None]:
        """The hook before a node that made outputs: gradients of these outputs."""
        return lambda gradients: self._pass("grad_output", slots, gradients)

    def made(self, slots: list[tuple[str, int]]) -> Callable[[Any, Any], None]:
        """The hook after a node that took inputs: gradients of these inputs."""
        return lambda gradients, _: self._pass("grad_input", slots, gradients)

    def _pass(self, label: str, slots: list[tuple[str, int]], gradients: Any) -> None:
        if not self._left:
            self._left = self._nodes
            self._note, self._end = self._begin()
        for slot, at in slots:
            self._note(f"{label}{slot}", gradients[at])
        self._left -= 1
        if not self._left:
            self._end()
