"""Whose exception is it that stands in a log without a rank?

Python's logging prints a record and its traceback as one, but only the record has the fields that name the rank. Another
process may print its traceback right there, so the launcher must say so, too: this rank, and no other of the file, ended
with an exit code of its own. Or the record itself says that the exception was uncaught, and no other traceback of nobody stands in the file.

In the log of an agent that saw one of its processes fail, and stopped the others, the only traceback is of that one.
"""

from collections.abc import Mapping

import polars as pl

from forensics.assemble.who.identity import given_rank
from forensics.model.told import CONSEQUENCE
from parsers.schema.tables import TableName

_PLACE = ["file", "line"]
_SAYS_SO = r"(?i)\b(?:uncaught|unhandled)\b.{0,20}\b(?:exception|error)"
_OF_LAUNCHERS = ("exit", "first_failure", "closing_signal")
_BY_SIGNAL = r"^(?:SIG|0$|-)"  # codes of what was stopped, or ended well


def with_logged_errors(tables: Mapping[TableName, pl.DataFrame]) -> dict[TableName, pl.DataFrame]:
    """Tables of one attempt, ranks global → the same, with the rank of such exceptions, and of what their lines mean."""
    events = tables["events"]
    nobodys = (pl.col("kind") == "exception") & pl.col("rank").is_null() & pl.col("line").is_not_null()
    begun = pl.col("detail").str.extract(r'"from_line": (\d+)').cast(pl.Int64) - 1
    raised = events.filter(nobodys).select(*_PLACE, begun.alias("_record"))
    if not raised.height:
        return dict(tables)
    raised = raised.drop_nulls()
    own = (pl.col("kind") == "exit") & ~pl.col("code").fill_null("").str.contains(_BY_SIGNAL)
    failed = events.filter(own & pl.col("line").is_not_null())
    named = events.filter((pl.col("rank_space") == "global") & pl.col("rank").is_not_null())
    is_own = pl.col("severity").is_in(["error", "fatal"]) & ~pl.col("kind").is_in(_OF_LAUNCHERS)
    records = named.filter(is_own)
    records = records.select("file", pl.col("line").alias("_record"), pl.col("rank").alias("_rank")).unique()
    ended = named.filter(own).group_by("file").agg(pl.col("rank").unique().alias("_ended"))
    ended = ended.filter(pl.col("_ended").list.len() == 1).with_columns(pl.col("_ended").list.first())
    whose = raised.join(records, on=["file", "_record"]).join(ended, on="file")
    whose = whose.filter(pl.col("_rank") == pl.col("_ended")).select(*_PLACE, "_rank").unique(_PLACE, keep="none")
    said = named.filter(is_own & pl.col("text").str.contains(_SAYS_SO))
    said = said.select("file", pl.col("line").alias("_record"), pl.col("rank").alias("_rank")).unique()
    alone = raised.filter(pl.col("line").n_unique().over("file") == 1).join(said, on=["file", "_record"])
    whose = pl.concat([whose, alone.select(*_PLACE, "_rank")]).unique()
    found = pl.concat([whose, _only(events, failed)]).unique().unique(_PLACE, keep="none")
    return {**tables, "events": _given(events, found)}


def _only(events: pl.DataFrame, failed: pl.DataFrame) -> pl.DataFrame:
    """file, line, _rank of the one exception of nobody in a file in which an agent tells of one process by its place that failed, behind it."""
    placed = pl.col("rank").is_not_null() & (pl.col("rank_space") == "global") & pl.col("local_rank").is_not_null()
    ended = failed.group_by("file").agg(
        pl.col("rank").filter(placed).unique().alias("_rank"),
        pl.len().alias("_ends"),
        pl.col("line").max().alias("_end"),
    )
    ended = ended.filter((pl.col("_ends") == 1) & (pl.col("_rank").list.len() == 1))
    nobodys = pl.all_horizontal(pl.col(name).is_null() for name in ("rank", "local_rank", "pid"))
    raised = events.filter((pl.col("kind") == "exception") & nobodys & pl.col("line").is_not_null())
    alone = raised.join(ended, on="file").filter(pl.col("line") < pl.col("_end"))
    # An agent's own error says that a process failed, and is no process'.
    is_own = ~pl.col("detail").str.contains(CONSEQUENCE, literal=True).fill_null(False)
    alone = alone.filter((pl.col("line").n_unique().over("file") == 1) & is_own)
    return alone.select(*_PLACE, pl.col("_rank").list.first()).unique(_PLACE, keep="any")


def _given(events: pl.DataFrame, whose: pl.DataFrame) -> pl.DataFrame:
    """Events with the rank of what stands at these places."""
    joined = events.join(whose, on=_PLACE, how="left", maintain_order="left")
    is_own = pl.col("_rank").is_not_null() & pl.col("rank").is_null()
    filled = joined.with_columns(given_rank(pl.when(is_own).then("_rank")))
    return filled.select(events.columns).cast(events.schema)
