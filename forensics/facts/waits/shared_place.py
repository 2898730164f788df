"""Do all ranks of one host, and no other rank, stand at one line? Then what they share there holds them up: a loader that one
process runs for the host, its storage, a lock. What processes of that host that are no ranks were doing then would tell which.
"""

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import polars as pl

from forensics.facts.waits.rank_stacks import codes
from forensics.model.incident import Code

_FEWEST = 2  # ranks of the host


class SharedPlace(NamedTuple):
    """`stacks`: of its ranks. `others`: of processes of that host that are no ranks."""

    host: str
    code: Code
    stacks: tuple[Mapping[str, Any], ...]
    others: tuple[Mapping[str, Any], ...]


def shared_place(stacks: pl.DataFrame, ranks: Collection[int], host_of_rank: Mapping[int, str]) -> SharedPlace | None:
    """Main stacks, ranks in question, rank → host → the place that they share as one host."""
    hosts = {host_of_rank.get(rank) for rank in ranks}
    host = hosts.pop() if len(hosts) == 1 else None
    there = {rank for rank, where in host_of_rank.items() if where == host}
    if host is None or there != set(ranks) or len(there) < _FEWEST or len(host_of_rank) == len(there):
        return None
    own = codes(stacks, there)
    at = set(own.values())
    if len(at) != 1 or own.keys() != there or at & set(codes(stacks, host_of_rank.keys() - there).values()):
        return None
    live = stacks.filter(pl.col("source") != "traceback").sort("rank", "pid", "file", "line")
    others = live.filter(pl.col("rank").is_null() & (pl.col("host") == host))
    shown = live.filter(pl.col("rank").is_in(sorted(there)))
    return SharedPlace(host, at.pop(), tuple(shown.iter_rows(named=True)), tuple(others.iter_rows(named=True)))
