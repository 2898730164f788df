"""Who waited for others by their own word, whose watchdog got stuck, and whether that speaks against blaming a host."""

from collections.abc import Collection
from typing import Any

import polars as pl

from forensics.facts.rows.event_rows import rows
from forensics.model.hosts import hosts_of_ranks
from forensics.model.told import values
from parsers.schema.event_kinds import STILL


def waited_ranks(events: pl.DataFrame) -> frozenset[int]:
    """Ranks whose own watchdog gave up on others."""
    said = events.select("kind", "rank", "rank_space").filter(
        (pl.col("kind") == "collective_timeout") & (pl.col("rank_space") == "global")
    )
    return frozenset(values(said["rank"]))


def is_silence_elsewhere(
    waited: frozenset[int], expected: frozenset[int], identity: pl.DataFrame, hosts: Collection[str]
) -> bool:
    """Are ranks silent, and all of them on other hosts than these, while most of the job timed out? Then they are what is
    waited for, not these hosts."""
    silent = expected - waited
    if not silent or len(waited) <= len(silent) or not identity.height:
        return False
    place = hosts_of_ranks(identity)
    return all(rank in place and place[rank] not in hosts for rank in silent)


def stuck_watchdogs(events: pl.DataFrame) -> list[dict[str, Any]]:
    """What monitors say of the watchdog of their own process: it made no progress, and the process will be aborted."""
    of_watchdogs = ~pl.col("code").eq_missing(pl.lit(STILL))
    said = rows(events.filter(pl.col("severity").is_in(["error", "fatal"]) & of_watchdogs), "heartbeat_lost")
    return [row for row in said if row["rank"] is not None and not row["names_ranks"]]
