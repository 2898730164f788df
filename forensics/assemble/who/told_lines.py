"""Rows of `ranks` that are lines somebody found, and of no process: taken out before anything counts processes, and whose each line is."""

from collections.abc import Callable

import polars as pl

from forensics.assemble.who.identity import rank_of_file
from parsers.schema.tables import TableName, Tables


def without_lines(tables: Tables, *how: str) -> tuple[dict[TableName, pl.DataFrame], pl.DataFrame]:
    """Tables of one attempt → the same without rows of `ranks` that are told so, and these."""
    ranks = tables["ranks"]
    is_told = pl.col("how").is_in(how).fill_null(False)
    told = ranks.filter(is_told)
    return {**tables, "ranks": ranks.filter(~is_told)} if told.height else dict(tables), told


def speaker_of(tables: Tables) -> Callable[[str, int | None, int | None], int | None]:
    """Tables of one attempt, ranks global → (file, line, the rank that the line itself tells) → whose line it is."""
    files: dict[str, int] = dict(rank_of_file(tables).iter_rows())
    claims = tables["ranks"].select("file", "line", "rank").drop_nulls().unique()
    lines = {(file, line): rank for file, line, rank in claims.iter_rows()}
    return lambda file, line, rank: rank if rank is not None else lines.get((file, line), files.get(file))
