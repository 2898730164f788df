"""A process may say two ranks: that of the job, and its place in a group or in an engine that it is part of as well.

`[trainer] rank 3 of 4 pid 15925` and `(WorkerDict pid=15925) … rank 1 in world size 2 is assigned as …`: where every process that tells a
rank of a smaller world tells one of a larger world, too, there each its own, while two of them share one in the smaller, the smaller
world is that of several groups, and its numbers are no ranks of the job.
"""

import polars as pl

from parsers.schema.tables import TableName, Tables

_PAIRS = ["pid", "rank"]


def without_group_counts(tables: Tables) -> dict[TableName, pl.DataFrame]:
    """Tables of one attempt → the same, without claims of `ranks` that count within groups."""
    claims = tables["ranks"]
    if not claims["world_size"].count():
        return dict(tables)
    told = claims.select(*_PAIRS, "world_size").drop_nulls().unique()
    sizes = sorted(told["world_size"].unique().to_list())
    groups = [
        size
        for at, size in enumerate(sizes)
        if any(_is_within(told.filter(pl.col("world_size") == size), told, larger) for larger in sizes[at + 1 :])
    ]
    if not groups:
        return dict(tables)
    is_told = pl.col("pid").is_not_null() & pl.col("rank").is_not_null()
    is_place = is_told & pl.col("world_size").is_in(groups).fill_null(False)
    return {**tables, "ranks": claims.filter(~is_place)}


def _is_within(part: pl.DataFrame, told: pl.DataFrame, larger: int) -> bool:
    whole = told.filter(pl.col("world_size") == larger)
    is_each = not (whole["pid"].is_duplicated().any() or whole["rank"].is_duplicated().any())
    pids = set(part["pid"].to_list())
    shares = part.unique(_PAIRS)["rank"].is_duplicated().any()
    return is_each and bool(shares) and pids <= set(whole["pid"].to_list())
