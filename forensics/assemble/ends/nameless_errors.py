"""Whose error is it that a process prints without a name, before it ends by it?

An error of one's own ends a process by a code of its own or an abort: never by SIGKILL, nor by a signal that asks. ROCm's runtime aborts
its process. Who printed that it had lost others, or waited for them in vain, ended by that. Where one process alone is left of those
that print into a file and of whose end the file tells afterwards, the error is its own; of several each may be. What a job went on after
ended nobody.
"""

import polars as pl

from forensics.assemble.who.identity import given_rank
from parsers.schema.tables import TableName, Tables

_ABORTING = "hsa:"  # codes of what is followed by an abort
_ENDING = ("disk_full", "gpu_oom")  # what a process says of itself alone, whatever wrote it
_LOST = ("remote_error", "peer_closed", "collective_timeout", "store_timeout")
_BY_ITSELF = r"^(?:SIGABRT|[1-9]\d{0,2})$"  # codes that an error of one's own brings about
_ASKED = ("129", "130", "137", "143")  # a shell's numbers for SIGHUP, SIGINT, SIGKILL and SIGTERM
_PLACE = ["file"]


def with_nameless_errors(tables: Tables) -> dict[TableName, pl.DataFrame]:
    """Tables of one attempt, ranks global → the same, with rank and pid of such errors where one process ended by its own."""
    events = tables["events"]
    nameless = pl.all_horizontal(pl.col("rank", "local_rank", "pid").is_null()) & pl.col("line").is_not_null()
    aborting = (pl.col("kind") == "gpu_error") & pl.col("code").str.starts_with(_ABORTING).fill_null(False) & nameless
    ending = pl.col("kind").is_in(_ENDING) & pl.col("severity").is_in(["error", "fatal"]) & nameless
    if not events.filter(aborting | ending).height:
        return dict(tables)
    ended = _ended(events)
    aborted = _alone(ended.filter(pl.col("code") == "SIGABRT")).rename(lambda name: f"{name}_aborted")
    failed = _alone(ended).rename(lambda name: f"{name}_failed")
    worked = tables["steps"].group_by(_PLACE).agg(pl.col("line").max().alias("_worked"))
    joined = events.join(aborted, left_on=_PLACE, right_on="file_aborted", how="left", maintain_order="left")
    joined = joined.join(failed, left_on=_PLACE, right_on="file_failed", how="left", maintain_order="left")
    joined = joined.join(worked, on=_PLACE, how="left", maintain_order="left")
    is_last = (pl.col("line") > pl.col("_worked")).fill_null(True)
    aborting &= (pl.col("line") < pl.col("_end_aborted")).fill_null(False)
    ending &= (pl.col("line") < pl.col("_end_failed")).fill_null(False) & is_last
    rank = pl.when(aborting).then("_rank_aborted").when(ending).then("_rank_failed")
    pid = pl.when(aborting).then("_pid_aborted").when(ending).then("_pid_failed").otherwise("pid").alias("pid")
    return {**tables, "events": joined.with_columns(*given_rank(rank), pid).select(events.columns).cast(events.schema)}


def _ended(events: pl.DataFrame) -> pl.DataFrame:
    """file, code, line, pid, _named of processes that a launcher saw end, by what an error of their own may bring about."""
    named = pl.when(pl.col("rank_space") == "global").then("rank")
    is_own = pl.col("code").str.contains(_BY_ITSELF).fill_null(False) & ~pl.col("code").is_in(_ASKED)
    ended = events.filter((pl.col("kind") == "exit") & is_own).with_columns(named.alias("_named"))
    ended = ended.filter(pl.col("pid").is_not_null() | pl.col("_named").is_not_null())
    by_pid = pl.when(pl.col("pid").is_not_null()).then(pl.col("_named").max().over(*_PLACE, "pid"))
    ended = ended.with_columns(pl.coalesce("_named", by_pid).alias("_named"))
    lost = events.filter(pl.col("kind").is_in(_LOST) & (pl.col("rank_space") == "global")).select("file", "rank")
    return ended.join(lost.drop_nulls().unique(), left_on=["file", "_named"], right_on=["file", "rank"], how="anti")


def _alone(ended: pl.DataFrame) -> pl.DataFrame:
    """file, _rank, _pid, _end of the one process whose end a file tells."""
    process = pl.coalesce("_named", -1 - pl.col("pid"))  # who is told without a pid is told by its rank
    alone = ended.group_by(_PLACE).agg(
        process.n_unique().alias("_many"), pl.col("pid").drop_nulls().first().alias("_pid"), pl.col("line").max().alias("_end"),
        pl.col("_named").drop_nulls().unique().alias("_ranks"),
    )  # fmt: skip
    alone = alone.filter((pl.col("_many") == 1) & (pl.col("_ranks").list.len() == 1))
    return alone.select("file", pl.col("_ranks").list.first().alias("_rank"), "_pid", "_end")
