"""Where a launcher counts more than the program: `mpirun -np 1 monitor : -np 12 train` calls trainer 10 its process 11.

mpirun tells the number and the pid of who ended; the processes of the program have told their ranks with their pids
(parsers/who/speakers.py). Where every such pair differs by the same offset, what mpirun counts is put into the program's ranks; who is
none of these has no rank in it. Where a script computes the ranks (parsers/scheduling/rank_formula.py), nobody has one by what mpirun counts.
"""

import polars as pl

from parsers.scheduling.rank_formula import NAME as RANK
from parsers.schema.tables import TableName, Tables

_BY_MPI = '"by": "mpi"'
_INTRODUCED = "introduction"  # `how` of claims that speakers.py makes


def with_program_ranks(tables: Tables) -> dict[TableName, pl.DataFrame]:
    """Tables of one attempt → the same, with the ranks of `events` that mpirun printed as the program counts them."""
    events, claims = tables["events"], tables["ranks"]
    printed = pl.col("detail").fill_null("").str.contains(_BY_MPI, literal=True) & pl.col("rank").is_not_null()
    is_computed = tables["settings"].filter((pl.col("name") == RANK) & (pl.col("scope") == "script")).height > 0
    if is_computed:  # the line may have been taken for an introduction
        claims = claims.join(events.filter(printed).select("file", "line").unique(), on=["file", "line"], how="anti")
    told = events.filter(printed).select("pid", pl.col("rank").alias("_printed")).drop_nulls().unique()
    if not is_computed and not told.height:
        return dict(tables)
    own = claims.filter((pl.col("how") == _INTRODUCED) & pl.col("world_size").is_not_null())
    own = own.select("pid", "rank").drop_nulls().unique().unique("pid", keep="none")
    by = own.join(told, on="pid").select(by=pl.col("rank") - pl.col("_printed"))
    offsets = by["by"].unique().to_list()
    if not is_computed and (len(offsets) != 1 or offsets[0] == 0):
        return dict(tables)
    rank = pl.col("rank") + (offsets[0] if len(offsets) == 1 else 0)
    is_one = rank.is_in(sorted(own["rank"].to_list())) & pl.lit(len(offsets) == 1)
    recounted = events.with_columns(
        pl.when(printed).then(pl.when(is_one).then(rank)).otherwise("rank").alias("rank"),
        pl.when(printed & ~is_one).then(pl.lit(None, pl.String)).otherwise("rank_space").alias("rank_space"),
    )
    return {**tables, "events": recounted.cast(events.schema), "ranks": claims}
