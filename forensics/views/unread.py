"""The lines that nobody has read, the odd ones first: what a person would look at who knows none of their words."""

from collections.abc import Set

import polars as pl

from forensics.model.texts import ranges
from forensics.views.records import stamp

SCHEMA = {
    "count": pl.Int64(),
    "ranks": pl.String(),  # ranges
    "files": pl.Int64(),
    "first": pl.String(),
    "last": pl.String(),
    "where": pl.String(),  # file:line of the first
    "template": pl.String(),  # digits as #
}


def unread(lines: pl.DataFrame, ranks: Set[int]) -> pl.DataFrame:
    """Rows of parsers.engine.context.Unread → columns of SCHEMA. First what at most half of `ranks` printed, by fewest ranks; then what
    all have, or nobody is known for; the rarest first in each."""
    who = pl.col("rank").list.len()
    is_odd = (who > 0) & (2 * who <= len(ranks))
    ordered = lines.sort(~is_odd, pl.when(is_odd).then(who).otherwise(0), "count", "file", "line")
    return ordered.with_columns(
        stamp("first_ns", 3).alias("first"),
        stamp("last_ns", 3).alias("last"),
        pl.col("rank").map_elements(lambda own: ranges(own), pl.String, skip_nulls=False).alias("ranks"),
        pl.format("{}:{}", "file", "line").alias("where"),
    ).select(*SCHEMA)
