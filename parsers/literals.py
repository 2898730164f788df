"""Columns of one value as literals, which take no memory, also where such tables are put together."""

from typing import Any

import polars as pl


def only_values(frame: pl.DataFrame) -> dict[str, Any]:
    """Column → the one value that all rows have, null included; lists and structures aside."""
    if frame.height < 2:  # nothing to be saved
        return {}
    flat = [name for name, kind in frame.schema.items() if not kind.is_nested()]
    first = frame.row(0, named=True)
    same = frame.select(pl.col(flat).eq_missing(pl.col(flat).first()).all()).row(0, named=True)
    return {name: first[name] for name in flat if same[name]}


def slim(frame: pl.DataFrame) -> pl.DataFrame:
    """The same rows where they come from outside: a column of one value as a literal again."""
    return frame.with_columns(
        pl.lit(value, dtype=frame.schema[name]).alias(name) for name, value in only_values(frame).items()
    )
