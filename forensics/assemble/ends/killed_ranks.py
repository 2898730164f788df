"""Whose process did a kernel kill whose numbers are not those of the container that the process runs in?

Where a launcher tells both numbers of a process that it starts (`launched RANK=6 as pid 70 (on node: 193027)`), the second stands as a
name in `ranks`. A kernel's kill of that number is of the rank, if the number is of one rank alone, the rank is known to have ended by
SIGKILL, and no process of the job is known by it as its own.
"""

from collections.abc import Mapping

import polars as pl

from forensics.assemble.who.identity import given_rank
from forensics.model.signals import signal_of
from forensics.model.told import values
from parsers.schema.tables import TableName
from parsers.text.unanimous import unanimous


def with_killed_ranks(tables: Mapping[TableName, pl.DataFrame]) -> dict[TableName, pl.DataFrame]:
    """Tables of one attempt, ranks global → the same; `events` host_oom of such a kill get the rank."""
    events, claims = tables["events"], tables["ranks"]
    kills = (pl.col("kind") == "host_oom") & pl.col("rank").is_null() & pl.col("pid").is_not_null()
    if not events.select(kills.any()).item():
        return dict(tables)
    numbers = claims.filter(pl.col("name").str.contains(r"^\d{4,10}$").fill_null(False)).select("name", "rank")
    own = values(claims["pid"])
    exits = events.filter(pl.col("kind").is_in(["exit", "first_failure"]) & (pl.col("rank_space") == "global"))
    killed = {rank for rank, code in exits.select("rank", "code").iter_rows() if signal_of(code) == "SIGKILL"}
    told: dict[str, int] = unanimous(numbers.drop_nulls().iter_rows())
    ranks = {int(name): rank for name, rank in told.items() if rank in killed and int(name) not in own}
    if not ranks:
        return dict(tables)
    rank = pl.when(kills).then(pl.col("pid").replace_strict(ranks, default=None, return_dtype=pl.Int64))
    return {**tables, "events": events.with_columns(given_rank(rank)).cast(events.schema)}
