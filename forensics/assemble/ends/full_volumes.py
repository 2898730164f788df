"""Whose write failed for want of room, where its error does not say so: a library's own words for a write that came out short, and a table of
`df`, in the same bundle, that shows a volume without any.

Either alone proves nothing: such a write fails for other reasons as well, and a full volume may be nobody's. Where both tell their hosts,
these must be one.
"""

import polars as pl

from forensics.model.hosts import short_host
from parsers.kernel.volumes import CODE
from parsers.knowledge import meaning
from parsers.schema.tables import TableName, Tables


def with_full_volumes(tables: Tables) -> dict[TableName, pl.DataFrame]:
    """Tables → the same; beside each exception of such a write an event `disk_full`."""
    events = tables["events"]
    full = events.filter((pl.col("kind") == "other") & (pl.col("code") == CODE))
    if not full.height:
        return dict(tables)
    hosts = {short_host(host) if host else None for host in full["host"].to_list()}
    raised = events.filter((pl.col("kind") == "exception") & (pl.col("severity") == "error")).drop_nulls("text")
    is_short = [
        (said := meaning(text)) is not None and said.claim == "no_space" and bool(said.own)
        and (host is None or bool({None, short_host(host)} & hosts))
        for text, host in raised.select("text", "host").iter_rows()
    ]  # fmt: skip
    made = raised.filter(pl.Series(is_short, dtype=pl.Boolean))
    told = events.filter(pl.col("kind") == "disk_full").select("file", "line")
    made = made.join(told, on=["file", "line"], how="anti", nulls_equal=True)
    disk = [pl.lit("disk_full").alias("kind"), pl.lit(None).alias("code"), pl.lit("{}").alias("detail")]
    made = made.with_columns(disk).select(events.columns).cast(events.schema)
    return {**tables, "events": pl.concat([events, made])}
