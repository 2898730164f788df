"""Ranks of lines that have a local rank alone, by the agent in whose log they stand.

    agent_n2.log: Rendezvous complete for workers … local_ranks=[0, 1] global_ranks=[4, 5]        [default1]: RuntimeError: … is rank 5's

An agent says it anew after each restart, and may be told other ranks: what holds is what it said in this attempt. Only where the agents of the attempt have a log
each, and tell all ranks of the job between them: in a log of several hosts a local rank is of any of them.
"""

import polars as pl

from forensics.assemble.who.identity import RANKED, beside, given_rank
from parsers.schema.event_kinds import RENDEZVOUS
from parsers.schema.tables import TableName, Tables


def with_ranks_of_agents(tables: Tables) -> dict[TableName, pl.DataFrame]:
    """Tables of one attempt → the same, such rows with their ranks."""
    said = tables["ranks"].filter((pl.col("how") == RENDEZVOUS) & pl.col("rank").is_not_null())
    told = said.select("file", "local_rank", "rank", "world_size").drop_nulls().unique()
    ranks, sizes = told["rank"].sort().to_list(), told["world_size"].unique().to_list()
    if len(sizes) != 1 or ranks != [*range(sizes[0])] or told.select("file", "local_rank").is_duplicated().any():
        return dict(tables)
    own = told.select("file", "local_rank", pl.col("rank").alias("_agent"))
    result = dict(tables)
    for name in RANKED:
        frame = tables[name]
        if frame.height and {"rank", "local_rank", "file"} <= {*frame.columns}:
            joined = beside(frame, own, "file", "local_rank")
            rank = pl.when(pl.col("rank").is_null()).then("_agent")
            filled = given_rank(rank) if name == "events" else pl.coalesce("rank", rank).alias("rank")
            result[name] = joined.with_columns(filled).drop("_agent").cast(frame.schema)
    return result
