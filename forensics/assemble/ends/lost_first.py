"""Who lost others first did not wait until a time-out: what a watchdog says of the collective afterwards is how it was given up.

    [rank2]:[E… ProcessGroupNCCL.cpp:552] [Rank 2] Collective WorkNCCL(SeqNum=9012, …) raised the following async exception: NCCL error: remote process exited …
    [rank2]:[E… ProcessGroupNCCL.cpp:1785] [PG ID 0 …] Exception (either an error or timeout) detected by watchdog at work: 9012, …
    [rank2]:[E… ProcessGroupNCCL.cpp:1834] [PG ID 0 …] Timeout at NCCL work: 9012, …

So such a line is an error of a lost peer, too: it witnesses no time that passed, and whoever ended after it did not follow a time-out.
"""

import polars as pl

from parsers.schema.tables import TableName, Tables

_LOST = ("remote_error", "peer_closed")
_SOON_NS = 60 * 10**9
_LINES = 200  # of those that print no time
_WHO = ["file", "rank"]


def with_lost_first(tables: Tables) -> dict[TableName, pl.DataFrame]:
    """Tables of one attempt, ranks global → the same; time-outs of a rank that lost others right before, in the same file, are of the kind
    of that."""
    events = tables["events"]
    is_own = pl.col("rank").is_not_null() & (pl.col("rank_space") == "global") & pl.col("line").is_not_null()
    lost = events.filter(pl.col("kind").is_in(_LOST) & is_own)
    timed_out = events.with_row_index("_row").filter((pl.col("kind") == "collective_timeout") & is_own)
    if not lost.height or not timed_out.height:
        return dict(tables)
    before = lost.select(*_WHO, "line", pl.col("kind").alias("_kind"), pl.col("time_ns").alias("_then")).sort("line")
    found = timed_out.select("_row", *_WHO, "line", "time_ns").sort("line")
    joined = found.join_asof(before, on="line", by=_WHO, strategy="backward", check_sortedness=False, coalesce=False)
    passed = pl.col("time_ns") - pl.col("_then")
    is_soon = (passed <= _SOON_NS).fill_null(pl.col("line") - pl.col("line_right") <= _LINES)
    told = joined.filter(pl.col("_kind").is_not_null() & is_soon).select("_row", "_kind")
    if not told.height:
        return dict(tables)
    changed = events.with_row_index("_row").join(told, on="_row", how="left", maintain_order="left")
    kind = pl.coalesce(pl.col("_kind").cast(events.schema["kind"]), "kind").alias("kind")
    return {**tables, "events": changed.with_columns(kind).select(events.columns)}
