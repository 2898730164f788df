"""Who had gone on, if some ranks had come to what they are missing from: the waits replayed without their fault.

An operation ends when all come that it still needs. Who was held by it goes on, and comes to what it is needed for in turn. An
operation that all have entered does not end by that: its fault lies below the ranks.
"""

from collections import defaultdict
from collections.abc import Iterable

from forensics.graph.hang.waits import Waits


def held_ranks(waits: Waits) -> frozenset[int]:
    """Ranks that an operation holds which needs somebody."""
    return frozenset(rank for op in _needing(waits) for _, rank in waits.graph.predecessors(op))


def freed(waits: Waits, came: Iterable[int]) -> frozenset[int]:
    """Held ranks that go on, if these ranks had come. Linear in nodes and edges."""
    graph = waits.graph
    missing = {op: {rank for _, rank in graph.successors(op)} for op in _needing(waits)}
    needed_by: dict[int, list[tuple[str, str]]] = defaultdict(list)
    for op, ranks in missing.items():
        for rank in ranks:
            needed_by[rank].append(op)
    found: set[int] = set()
    coming, seen = list(came), set(came)
    while coming:
        one = coming.pop()
        for op in needed_by[one]:
            missing[op].discard(one)
            if missing[op]:
                continue
            for _, rank in graph.predecessors(op):
                if all(not missing.get(other) for other in graph.successors(("rank", rank)) if other in missing):
                    found.add(rank)
                    if rank not in seen:
                        seen.add(rank)
                        coming.append(rank)
    return frozenset(found)


def _needing(waits: Waits) -> list[tuple[str, str]]:
    return [node for node in waits.graph if node[0] == "op" and waits.graph.out_degree(node)]
