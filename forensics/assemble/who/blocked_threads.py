"""Which rank's thread does a kernel call blocked?

A kernel counts threads as it counts processes: `task python:41485 blocked`. Stacks tell the numbers of the threads of each process; one
that is a thread of one rank alone is that rank's, if that rank is known to run there, or no second host speaks.
"""

import polars as pl

from forensics.assemble.who.identity import given_rank
from forensics.model.hosts import hosts_of_ranks, short_host
from forensics.model.told import has_kind
from parsers.schema.tables import TableName, Tables

_KIND = "hung_task"


def with_blocked_threads(tables: Tables, identity: pl.DataFrame) -> dict[TableName, pl.DataFrame]:
    """Tables of one attempt, ranks global → the same; `events` hung_task of a rank's thread get that rank."""
    events = tables["events"]
    threads = tables["stacks"].filter(pl.col("thread").str.contains(r"^\d{1,10}$") & pl.col("rank").is_not_null())
    if not has_kind(events, _KIND) or not threads.height:
        return dict(tables)
    told = threads.group_by(pl.col("thread").cast(pl.Int64)).agg(pl.col("rank").unique())
    owner = {thread: ranks[0] for thread, ranks in told.iter_rows() if len(ranks) == 1}
    hosts = {rank: short_host(host) for rank, host in hosts_of_ranks(identity).items()}
    speaking = {short_host(host) for host in events.filter(pl.col("kind") == _KIND)["host"].drop_nulls().unique()}
    is_one = len(speaking | set(hosts.values())) == 1
    blocked = events.with_row_index("_at").filter((pl.col("kind") == _KIND) & pl.col("rank").is_null())
    found: dict[int, int] = {}
    for at, pid, host in blocked.select("_at", "pid", "host").iter_rows():
        rank, there = owner.get(pid), short_host(host or "")
        if rank is not None and there and hosts.get(rank, there if is_one else "") == there:
            found[at] = rank
    if not found:
        return dict(tables)
    rank = pl.int_range(pl.len()).replace_strict(found, default=None, return_dtype=pl.Int64)
    return {**tables, "events": events.with_columns(given_rank(rank)).cast(events.schema)}
