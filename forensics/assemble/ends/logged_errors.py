"""Whose exception is it that stands in a log without a rank?

Python's logging prints a record and its traceback as one, but only the record has the fields that name the rank. Another
process may print its traceback right there, so the launcher must say so, too: this rank, and no other of the file, ended
with an exit code of its own. Or the record itself says that the exception was uncaught, and no other traceback of nobody stands in the file.

Where several stand in one file, each right below a line of another rank in the same words without a figure (`uncaught exception`), which all others
print no more often, these lines announce them, unless a launcher tells that somebody else failed.

In the log of an agent that saw one of its processes fail, and stopped the others, the only traceback is of that one.
"""

import polars as pl

from forensics.assemble.who.identity import with_ranks
from forensics.model.told import CONSEQUENCE, counted
from parsers.pytorch.announced import ANNOUNCES
from parsers.schema.tables import TableName, Tables

_PLACE = ["file", "line"]
_SAYS_SO = r"(?i)\b(?:uncaught|unhandled)\b.{0,20}\b(?:exception|error)"
_OF_LAUNCHERS = ("exit", "first_failure", "closing_signal")
_FIGURE = r"(?:^|[\s=(\[])[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?%?(?:$|[\s,;)\]])"  # in a record of the work, no stamp and no line of a source
_BY_SIGNAL = r"^(?:SIG|0$|-)"  # codes of what was stopped, or ended well


def with_logged_errors(tables: Tables) -> dict[TableName, pl.DataFrame]:
    """Tables of one attempt, ranks global → the same, with the rank of such exceptions, and of what their lines mean."""
    told = tables["events"]
    events = told.filter(pl.col("code").ne_missing(ANNOUNCES))
    nobodys = (pl.col("kind") == "exception") & pl.col("rank").is_null() & pl.col("line").is_not_null()
    begun = pl.col("detail").str.extract(r'"from_line": (\d+)').cast(pl.Int64) - 1
    raised = events.filter(nobodys).select(*_PLACE, begun.alias("_record"))
    if not raised.height:
        return {**tables, "events": events}
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
    found = pl.concat([whose, _only(events, failed), _announced(told, events.filter(nobodys), failed, tables)])
    found = found.unique().unique(_PLACE, keep="none")
    return {**tables, "events": with_ranks(events, found, _PLACE, pl.col("rank").is_null())}


def _announced(events: pl.DataFrame, raised: pl.DataFrame, failed: pl.DataFrame, tables: Tables) -> pl.DataFrame:
    """file, line, _rank of exceptions of nobody that lines of ranks announce: all of their file, each by another rank in the same words, which stand
    nowhere else among the commonest lines of the file. Who is told to have `failed` is among them."""
    told = events.filter((pl.col("code") == ANNOUNCES) & (pl.col("rank_space") == "global"))
    told = told.select("file", _head="line", _rank="rank", _words="text")
    told = told.filter(~pl.col("_words").str.contains(_FIGURE))
    told = told.with_columns(pl.col("_words").str.replace_all(r"\d+", "#"))
    raised = raised.filter(~pl.col("detail").str.contains('"continues_line"|"thread"').fill_null(False))
    head = pl.col("detail").str.extract(r'"from_line": (\d+)').cast(pl.Int64).alias("_head")
    raised = raised.select(*_PLACE, head).join(told, on=["file", "_head"], how="left")
    among = raised.group_by("file").agg(
        pl.len().alias("_many"), pl.col("_rank").n_unique().alias("_ranks"), pl.col("_rank").null_count().alias("_none"),
        pl.col("_words").n_unique().alias("_ways"), pl.col("_words").first(),
    )  # fmt: skip
    is_told = (pl.col("_many") > 1) & (pl.col("_ranks") == pl.col("_many")) & (pl.col("_none") == 0)
    is_told &= (pl.col("_ways") == 1) & pl.col("_words").str.contains(r"\pL")
    among = among.filter(is_told)
    if not among.height:
        return raised.select(*_PLACE, "_rank").clear()
    common = {file: counted(own or ()) for file, own in tables["files"].select("file", "templates").iter_rows()}
    alone = [
        file for file, words, many in among.select("file", "_words", "_many").iter_rows()
        if not any(text.endswith(words) and count > many for text, count in common.get(file, {}).items())
    ]  # fmt: skip
    whose = raised.filter(pl.col("file").cast(pl.String).is_in(alone)).select(*_PLACE, "_rank")
    others = failed.filter(pl.col("rank_space") == "global")["rank"].drop_nulls()
    return whose if others.is_in(whose["_rank"].implode()).all() else whose.clear()


def _only(events: pl.DataFrame, failed: pl.DataFrame) -> pl.DataFrame:
    """file, line, _rank of the one exception of nobody in a file in which an agent tells of one process by its place that failed, behind it."""
    placed = pl.col("rank").is_not_null() & (pl.col("rank_space") == "global") & pl.col("local_rank").is_not_null()
    whose = pl.col("rank").filter(placed).unique()
    ended = failed.group_by("file").agg(_rank=whose, _ends=pl.len(), _end=pl.col("line").max())
    ended = ended.filter((pl.col("_ends") == 1) & (pl.col("_rank").list.len() == 1))
    nobodys = pl.all_horizontal(pl.col(name).is_null() for name in ("rank", "local_rank", "pid"))
    raised = events.filter((pl.col("kind") == "exception") & nobodys & pl.col("line").is_not_null())
    alone = raised.join(ended, on="file").filter(pl.col("line") < pl.col("_end"))
    # An agent's own error says that a process failed, and is no process'.
    is_own = ~pl.col("detail").str.contains(CONSEQUENCE, literal=True).fill_null(False)
    alone = alone.filter((pl.col("line").n_unique().over("file") == 1) & is_own)
    return alone.select(*_PLACE, pl.col("_rank").list.first()).unique(_PLACE, keep="any")
