"""Looks at processes that lists of them tell (parsers/who/places/gone_processes.py), as rows of `stacks`: who is there, and who is gone."""

import polars as pl

from parsers.schema.tables import TableName, Tables, table
from parsers.who.places.gone_processes import GONE, THERE


def with_told_gone(tables: Tables) -> dict[TableName, pl.DataFrame]:
    """Tables of one attempt → the same, with a look for each process that such a list names."""
    told = tables["ranks"].filter(pl.col("how").is_in([GONE, THERE]))
    if not told.height:
        return dict(tables)
    rows = [
        {
            "rank": row["rank"], "is_main": True, "snapshot": 0, "status": "dead" if row["how"] == GONE else "sleeping", "frames": [],
            "source": "ps", "file": row["file"], "line": row["line"],
        }
        for row in told.iter_rows(named=True)
    ]  # fmt: skip
    return {**tables, "stacks": pl.concat([tables["stacks"], table("stacks", rows)])}
