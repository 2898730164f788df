"""What XLA's coordination service tells every task alike: who did not come to a barrier. Whom it names prints it, too, and says
with it nothing of a wait of its own."""

import polars as pl

from parsers.schema.tables import TableName, Tables

_NEAR = 4  # lines of one message


def with_service_words(tables: Tables) -> dict[TableName, pl.DataFrame]:
    """Tables of one attempt, ranks global → the same, such words of those who are named without their rank."""
    events = tables["events"]
    of_barrier = (pl.col("kind") == "missing_members") & (pl.col("code") == "barrier") & pl.col("rank").is_not_null()
    own = events.filter(of_barrier & pl.col("names_ranks").list.contains(pl.col("rank")))
    if not own.height:
        return dict(tables)
    waits = pl.col("kind").is_in(["missing_members", "collective_timeout"])
    said = events.select("file", "line", waits.alias("_waits")).with_row_index("_at").filter("_waits")
    near = said.join(own.select("file", pl.col("line").alias("_line")), on="file")
    near = near.filter((pl.col("line") - pl.col("_line")).abs() <= _NEAR)
    is_near = pl.int_range(pl.len()).is_in(near["_at"].unique().cast(pl.Int64).implode())
    nobody = [pl.when(~is_near).then(name).alias(name) for name in ("rank", "rank_space")]
    return {**tables, "events": events.with_columns(nobody)}
