"""Whose error is it that a runtime prints without a name, and aborts its process for?

ROCm's runtime prints a fault of a device into the process that met it, and aborts that process. Where one process alone of
those that print into a file ended by SIGABRT afterwards, the fault is its own; of several aborts each may be.
"""

from collections.abc import Mapping

import polars as pl

from parsers.schema.tables import TableName

_ABORTING = "hsa:"  # codes of what is followed by an abort
_PLACE = ["file"]


def with_aborted(tables: Mapping[TableName, pl.DataFrame]) -> dict[TableName, pl.DataFrame]:
    """Tables of one attempt, ranks global → the same, with rank and pid of such errors where one process aborted."""
    events = tables["events"]
    nameless = pl.col("rank").is_null() & pl.col("pid").is_null() & pl.col("line").is_not_null()
    fault = (pl.col("kind") == "gpu_error") & pl.col("code").str.starts_with(_ABORTING).fill_null(False) & nameless
    if not events.filter(fault).height:
        return dict(tables)
    named = pl.when(pl.col("rank_space") == "global").then("rank")
    ended = events.filter((pl.col("kind") == "exit") & (pl.col("code") == "SIGABRT")).with_columns(
        named.alias("_named")
    )
    ended = ended.filter(pl.col("pid").is_not_null() | pl.col("_named").is_not_null())
    by_pid = pl.when(pl.col("pid").is_not_null()).then(pl.col("_named").max().over(*_PLACE, "pid"))
    ended = ended.with_columns(pl.coalesce("_named", by_pid).alias("_named"))
    process = pl.coalesce("_named", -1 - pl.col("pid"))  # who is told without a pid is told by its rank
    alone = ended.group_by(_PLACE).agg(
        process.n_unique().alias("_many"), pl.col("pid").drop_nulls().first().alias("_pid"), pl.col("line").max().alias("_end"),
        pl.col("_named").drop_nulls().unique().alias("_ranks"),
    )  # fmt: skip
    alone = alone.filter((pl.col("_many") == 1) & (pl.col("_ranks").list.len() == 1))
    joined = events.join(alone, on=_PLACE, how="left", maintain_order="left")
    own = fault & (pl.col("line") < pl.col("_end")).fill_null(False)
    filled = joined.with_columns(
        pl.when(own).then(pl.col("_ranks").list.first()).otherwise("rank").alias("rank"),
        pl.when(own).then("_pid").otherwise("pid").alias("pid"),
        pl.when(own).then(pl.lit("global")).otherwise("rank_space").alias("rank_space"),
    )
    return {**tables, "events": filled.select(events.columns).cast(events.schema)}
