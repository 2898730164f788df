"""Which rank a process is that never told its number: the one that is left of its host's, in their order.

    stderr of ranks 16-20, 22, 23: E0819 … 2210 …] watchdog: time-out        stacks of the host: 2210 2211 … 2217        rank 21 is 2215

Who waited prints its number in the end; who is waited for does not. The processes that one tool shows of a host are as many as its ranks, all known numbers of
them rise with their ranks, and more than half are known: then the others have their places between those. At either end of the row the steps between all
known ones must be alike, as nothing else says that it is no helper.

Fooled by: a helper that began between two workers, where just one worker is gone.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import polars as pl

from parsers.schema.tables import TableName, Tables, table
from parsers.text.unanimous import unanimous

HOW = "place among the processes of its host"
_FEWEST = 3  # processes of a host
_KEY = ("file", "host", "source", "program", "parent_pid")


def with_left_pids(tables: Tables) -> dict[TableName, pl.DataFrame]:
    """Tables of one attempt → the same, with a row of `ranks` for each such process."""
    stacks, told = tables["stacks"], tables["ranks"].filter(pl.col("rank").is_not_null())
    shown = stacks.filter(pl.col("rank").is_null() & pl.col("pid").is_not_null() & pl.col("is_main").fill_null(True))
    known = told.select("pid", "rank").drop_nulls().unique()
    if not shown.height or not known.height:
        return dict(tables)
    hosts: dict[int, str] = unanimous(told.select("rank", "host").drop_nulls().unique().iter_rows())
    ranks: dict[int, int] = unanimous(known.iter_rows())
    taken = set(ranks.values())
    found: set[tuple[int, int, str | None, str]] = set()
    for (file, *_), own in shown.group_by(_KEY, maintain_order=True):
        pids = sorted(set(own["pid"].to_list()))
        for rank, pid in _left(pids, {pid: ranks[pid] for pid in pids if pid in ranks}, hosts):
            if rank not in taken and pid not in known["pid"]:
                found.add((rank, pid, hosts.get(rank), str(file)))
    once = [one[0] for one in {row[:2] for row in found}]
    rows: list[dict[str, Any]] = [
        {"rank": rank, "pid": pid, "host": host, "how": HOW, "file": file}
        for rank, pid, host, file in sorted(found, key=lambda row: (row[0], row[3]))
        if once.count(rank) == 1
    ]
    return {**tables, "ranks": pl.concat([tables["ranks"], table("ranks", rows)])} if rows else dict(tables)


def _left(pids: Sequence[int], known: Mapping[int, int], hosts: Mapping[int, str]) -> Iterator[tuple[int, int]]:
    """The numbers that are shown of a host, those of known ranks, where each rank is → rank, number of the others."""
    own = {hosts.get(rank) for rank in known.values()}
    if len(pids) < _FEWEST or 2 * len(known) <= len(pids) or len(known) == len(pids) or len(own) != 1:
        return
    host = own.pop()
    between = range(min(known.values()), max(known.values()) + 1)
    there = [rank for rank, at in hosts.items() if at == host] if host else between
    ranks = dict(zip(pids, sorted(there), strict=False))
    if len(there) != len(pids) or any(ranks[pid] != rank for pid, rank in known.items()):
        return
    steps = {later - pid for pid, later in pairwise(sorted(known)) if ranks[later] - ranks[pid] == 1}
    for at, pid in enumerate(pids):
        if pid in known:
            continue
        is_between = min(known) < pid < max(known)
        beside = [abs(other - pid) for other in pids[max(0, at - 1) : at + 2] if other != pid]
        if is_between or (len(steps) == 1 and steps.issuperset(beside)):
            yield ranks[pid], pid
