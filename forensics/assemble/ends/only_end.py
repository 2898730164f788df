"""Whose the only uncaught error is, where its lines do not say: the only rank that is told to have ended as an uncaught error ends a process.

    KeyError: 'stage-3b'                                                        a traceback in a log of all tasks, without a label
    {"name": "shell.task-exit", "context": {"rank": 9, "exitcode": 1}}          one task ended, by code 1; no other ended by itself

Errors that were printed as one, each from the one before, are one. Python ends by code 1 on an error that nobody catches; MPI tells who called MPI_Abort. Where another rank ended by a code of its own or by one
that is not told, or raised, or there are two tracebacks, or the error is of another host or only says that somebody else failed, nobody is told.
"""

import json
from itertools import pairwise

import polars as pl

from forensics.assemble.who.identity import given_rank
from forensics.model.signals import signal_of
from forensics.model.told import CONSEQUENCE
from parsers.schema.tables import TableName, Tables

_UNCAUGHT = ("1", "MPI_ABORT")  # which a process calls itself
_FAILED = ("exception", "gpu_oom", "gpu_error", "segfault", "host_oom", "first_failure")


def of_the_only_end(tables: Tables) -> dict[TableName, pl.DataFrame]:
    """Tables of one attempt, ranks global → the same; an error of nobody is that rank's."""
    events = tables["events"]
    is_open = ((pl.col("kind") == "exception") & pl.col("rank").is_null()).fill_null(False)
    open_ = events.filter(is_open).sort("line")
    if not _are_one(open_) or any(CONSEQUENCE in (told or "") for told in open_["detail"]):
        return dict(tables)
    own = events.filter(pl.col("rank").is_not_null() & (pl.col("rank_space") == "global"))
    exits = own.filter(pl.col("kind") == "exit").select("rank", "code", "host").rows()
    ended = {(rank, code) for rank, code, _ in exits if code != "0" and signal_of(code) is None}
    hosts = {host for _, code, host in exits if code in _UNCAUGHT} | {*open_["host"]}
    if len(ended) != 1 or len(hosts - {None}) > 1:
        return dict(tables)
    [(rank, code)] = ended
    # A launcher may say that this one failed first, as it ended.
    is_told_so = (pl.col("kind") == "first_failure") & (pl.col("rank") == rank) & pl.col("code").is_in(_UNCAUGHT)
    if code not in _UNCAUGHT or own.filter(pl.col("kind").is_in(_FAILED) & ~is_told_so).height:
        return dict(tables)
    # what else the same line tells is of the same process
    is_there = (pl.col("file") == open_["file"][0]) & pl.col("line").is_in(open_["line"].implode())
    is_open = is_open | (pl.col("rank").is_null() & is_there).fill_null(False)
    made = events.with_columns(*given_rank(pl.when(is_open).then(pl.lit(rank))))
    return {**tables, "events": made.cast(events.schema)}


def _are_one(raised: pl.DataFrame) -> bool:
    """One error, or several of one print, of which each goes on from the one before."""
    heads = [(row["file"], row["line"], json.loads(row["detail"] or "{}")) for row in raised.iter_rows(named=True)]
    return bool(heads) and all(
        file == before
        and after.get("continues_line") is not None
        and after["continues_line"] == told.get("from_line", line)
        for (before, line, told), (file, _, after) in pairwise(heads)
    )
