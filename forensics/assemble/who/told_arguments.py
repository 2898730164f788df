"""Ranks that the arguments of processes tell (parsers/who/scripts/arguments.py): which of them are ranks at all.

Two numbers at least, below the world if one is told, each of one process, and each process of one number: what is alike in several processes of a job (`--rank 16` of
an adapter) tells none of them apart. Samplers print the same process again and again.
"""

import polars as pl

from parsers.schema.tables import TableName, Tables
from parsers.who.scripts.arguments import HOW

_LEAST = 2


def with_told_arguments(tables: Tables) -> dict[TableName, pl.DataFrame]:
    """Tables of one attempt → the same, without claims of arguments that are no ranks."""
    claims = tables["ranks"]
    told = claims.filter(pl.col("how") == HOW)
    if not told.height or _are_ranks(told, claims["world_size"].max()):
        return dict(tables)
    return {**tables, "ranks": claims.filter(pl.col("how").ne_missing(HOW))}


def _are_ranks(told: pl.DataFrame, world: object) -> bool:
    alike = told.group_by("rank").agg(pl.col("pid").n_unique())
    of_pids = told.group_by("host", "pid").agg(pl.col("rank").n_unique())
    below = world is None or bool((alike["rank"] < world).all())
    return below and alike.height >= _LEAST and bool((alike["pid"] == 1).all()) and bool((of_pids["rank"] == 1).all())
