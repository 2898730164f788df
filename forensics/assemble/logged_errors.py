"""Whose exception is it that a logger printed below a record of a rank?

Python's logging prints a record and its traceback as one, but only the record has the fields that name the rank. Another
process may print its traceback right there, so the launcher must say so, too: this rank, and no other of the file, ended
with an exit code of its own.
"""

from collections.abc import Mapping

import polars as pl

from parsers.schema.tables import TableName

_PLACE = ["file", "line"]
_BY_SIGNAL = r"^(?:SIG|0$|-)"  # codes of what was stopped, or ended well


def with_logged_errors(tables: Mapping[TableName, pl.DataFrame]) -> dict[TableName, pl.DataFrame]:
    """Tables of one attempt, ranks global → the same, with the rank of such exceptions, and of what their lines mean."""
    events = tables["events"]
    detail = pl.col("detail").fill_null("")
    logged = events.filter((pl.col("kind") == "exception") & pl.col("rank").is_null() & pl.col("line").is_not_null())
    logged = logged.filter(detail.str.contains('"introduced": "(?:ERROR|CRITICAL|FATAL)"'))
    if not logged.height:
        return dict(tables)
    begun = detail.str.extract(r'"from_line": (\d+)').cast(pl.Int64) - 1
    logged = logged.select(*_PLACE, begun.alias("_record")).drop_nulls()
    named = events.filter((pl.col("rank_space") == "global") & pl.col("rank").is_not_null())
    records = named.filter(pl.col("severity").is_in(["error", "fatal"]))
    records = records.select("file", pl.col("line").alias("_record"), pl.col("rank").alias("_rank")).unique()
    own = (pl.col("kind") == "exit") & ~pl.col("code").fill_null("0").str.contains(_BY_SIGNAL)
    ended = named.filter(own).group_by("file").agg(pl.col("rank").unique().alias("_ended"))
    ended = ended.filter(pl.col("_ended").list.len() == 1).with_columns(pl.col("_ended").list.first())
    whose = logged.join(records, on=["file", "_record"]).join(ended, on="file")
    whose = whose.filter(pl.col("_rank") == pl.col("_ended")).select(*_PLACE, "_rank").unique(_PLACE, keep="none")
    joined = events.join(whose, on=_PLACE, how="left", maintain_order="left")
    is_own = pl.col("_rank").is_not_null() & pl.col("rank").is_null()
    filled = joined.with_columns(
        pl.when(is_own).then(pl.lit("global")).otherwise("rank_space").alias("rank_space"),
        pl.coalesce("rank", "_rank").alias("rank"),
    )
    return {**tables, "events": filled.select(events.columns).cast(events.schema)}
