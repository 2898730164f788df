"""The rank of a process from its node and its place there: first rank of the node + local rank.

Launchers give ranks node by node (torchrun, DeepSpeed, Paddle, Accelerate, MPI by slots): a node begins where those before it
end. With equal nodes that is node rank × processes per node + local rank.
"""

from collections.abc import Iterable, Mapping

import msgspec

from parsers.text.rank_list import RANKS


class Layout(msgspec.Struct, frozen=True):
    """`processes`: of every node, null where they differ; `begins`: node rank → (its first rank, its processes), of nodes that
    were told."""

    processes: int | None = None
    begins: Mapping[int, tuple[int, int]] = msgspec.field(default_factory=dict)

    def ranks(self, node_rank: int) -> range:
        """Of the processes of a node, by local rank."""
        every = self.processes or 0
        first, many = self.begins.get(node_rank, (node_rank * every, every))
        return range(first, min(first + many, RANKS))

    def rank(self, node_rank: int, local_rank: int) -> int | None:
        """Null where the node has no such process, or is not told."""
        own = self.ranks(node_rank)
        return own[local_rank] if 0 <= local_rank < len(own) else None


def layout(told: Iterable[tuple[int, int | None]], world: int | None, nodes: int | None) -> Layout | None:
    """(node rank, its processes) as often as they were told, and the sizes of the job → where each node begins; null where they
    disagree or do not tell."""
    by_node: dict[int, set[int]] = {}
    for node, processes in told:
        by_node.setdefault(node, set()).update(() if processes is None else (processes,))
    counts = {count for own in by_node.values() for count in own}
    if any(len(own) > 1 for own in by_node.values()) or any(not 0 < count <= RANKS for count in counts):
        return None
    if not counts and world and nodes and world % nodes == 0:
        counts = {world // nodes}
    if nodes is not None and any(node >= nodes for node in by_node):
        return None
    if len(counts) == 1:
        [count] = counts
        is_whole = None in (world, nodes) or world == count * (nodes or 0)
        return Layout(count) if is_whole and (world is None or world % count == 0) else None
    if set(by_node) != set(range(len(by_node))) or any(not own for own in by_node.values()):
        return None
    begins, first = {}, 0
    for node in range(len(by_node)):
        [count] = by_node[node]
        begins[node] = (first, count)
        first += count
    return Layout(None, begins) if by_node and world in (None, first) else None
