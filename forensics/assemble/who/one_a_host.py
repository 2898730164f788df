"""Processes that a library numbers by their host, in a job that has one rank on each: they are these ranks.

    n2:21274:21274 [0] NCCL INFO Bootstrap : Using eth1:10.0.0.2<0>        and a launcher's map: rank 4 runs on n2, and nobody else

Where all ranks of a job of known size are placed, each on a host of its own, the one process of it that tells an address of a host is its rank's.
"""

from collections.abc import Mapping

import polars as pl

from forensics.assemble.who.identity import short_hosts
from parsers.schema.tables import TableName, table

HOW = "the one process of its host"
_FEWEST = 2  # ranks


def with_one_a_host(tables: Mapping[TableName, pl.DataFrame]) -> dict[TableName, pl.DataFrame]:
    """Tables of one attempt → the same, with a row of `ranks` for each such process."""
    claims = tables["ranks"]
    nobody = claims.filter(pl.col("rank").is_null()).drop_nulls(["host", "pid", "address"]).with_columns(short_hosts())
    world = claims["world_size"].max()
    if not nobody.height or not isinstance(world, int) or world < _FEWEST:
        return dict(tables)
    placed = claims.with_columns(short_hosts()).select("rank", "host").drop_nulls().unique()
    are_apart = placed["rank"].n_unique() == placed["host"].n_unique() == placed.height == world
    if not are_apart or placed["rank"].max() != world - 1 or set(nobody["pid"]) & set(claims.drop_nulls("rank")["pid"]):
        return dict(tables)
    first = nobody.sort("file", "line").unique(["host", "pid"], keep="first", maintain_order=True)
    alone = first.filter(pl.len().over("host") == 1).drop("rank").join(placed, on="host", maintain_order="left")
    rows = alone.select("rank", "host", "pid", "file", "line", how=pl.lit(HOW)).to_dicts()
    return {**tables, "ranks": pl.concat([claims, table("ranks", rows)])}
