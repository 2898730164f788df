"""What torchrun's agent says of all its workers, as words about ranks.

"worker group successfully finished" means that every process that this agent started returned 0. These are the ranks that
speak in its log, where all of them run on one host: a log into which several agents print tells of no rank.
"""

import polars as pl

from forensics.model.hosts import short_hosts
from parsers.schema.event_kinds import WORKERS
from parsers.schema.tables import TableName, Tables


def with_group_ends(tables: Tables) -> dict[TableName, pl.DataFrame]:
    """Tables of one attempt → the same, with a row of kind job_end for each rank whose agent says that its workers ended
    well."""
    events = tables["events"]
    told = events.filter((pl.col("kind") == "job_end") & (pl.col("code") == WORKERS) & pl.col("rank").is_null())
    if not told.height:
        return dict(tables)
    claims = tables["ranks"].filter(pl.col("rank").is_not_null() & (pl.col("how") != "elastic failure table"))
    claims = claims.select("file", "rank", short_hosts()).join(told.select("file").unique(), on="file", how="semi")
    ranks = claims.group_by("file").agg(pl.col("rank").unique().sort(), pl.col("host").drop_nulls().n_unique())
    ranks = ranks.filter(pl.col("host") == 1).select("file", pl.col("rank").alias("_rank")).explode("_rank")
    made = told.unique("file", keep="last", maintain_order=True).join(ranks, on="file", maintain_order="left_right")
    made = made.with_columns(pl.col("_rank").alias("rank"), pl.lit("global").alias("rank_space")).drop("_rank")
    return {**tables, "events": pl.concat([events, made.cast(events.schema)])}
