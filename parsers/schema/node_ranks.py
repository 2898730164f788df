"""The rank of a process from its node and its place there: first rank of the node + local rank.

Launchers give ranks node by node (torchrun, DeepSpeed, Paddle, Accelerate, MPI by slots): a node begins where those before it
end. With equal nodes that is node rank × processes per node + local rank.
"""

from collections.abc import Iterable, Mapping, Sequence

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


def with_node(told: Mapping[str, int]) -> dict[str, int]:
    """A rank beside several processes of each of several nodes, and no larger world, is the node's."""
    facts = dict(told)
    world, nodes = facts.get("world_size"), facts.get("nodes")
    is_of_nodes = nodes is not None and facts.get("processes_per_node", 1) > 1 and world in (None, nodes)
    if is_of_nodes and "rank" in facts and not facts.keys() & {"node_rank", "local_rank"}:
        facts["node_rank"] = facts.pop("rank")
        facts.pop("world_size", None)
    if "node_rank" in facts and "processes_per_node" not in facts and world and nodes and world % nodes == 0:
        facts["processes_per_node"] = world // nodes
    return facts


def placed(told: Sequence[Mapping[str, int]]) -> list[Mapping[str, int]]:
    """What each of several processes is told, with its rank, where each is told its node and its place there and no rank, and together they are
    all of the world. A node whose place is not told may run several."""
    own = [one for one in told if "node_rank" in one]
    each = max((one["local_rank"] for one in own if "local_rank" in one), default=0) + 1
    whole = {(node, local) for node in range(len(own) // each) for local in range(each)}
    is_whole = len(whole) == len(own) and {(one["node_rank"], one.get("local_rank")) for one in own} == whole
    is_told = all(one.get("world_size") == len(own) and one.get("processes_per_node", each) == each for one in own)
    if not is_whole or not is_told or any("rank" in one for one in told):
        return list(told)
    return [{**one, "rank": one["node_rank"] * each + one["local_rank"]} if "node_rank" in one else one for one in told]
