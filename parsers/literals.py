"""Columns of one value as literals, which take no memory, also where such tables are put together."""

from typing import Any, NamedTuple

import polars as pl


def only_values(frame: pl.DataFrame) -> dict[str, Any]:
    """Column → the one value that all rows have, null included; lists and structures aside."""
    if frame.height < 2:  # nothing to be saved
        return {}
    flat = [name for name, kind in frame.schema.items() if not kind.is_nested()]
    first = frame.row(0, named=True)
    same = frame.select(pl.col(flat).eq_missing(pl.col(flat).first()).all()).row(0, named=True)
    return {name: first[name] for name in flat if same[name]}


class Packed(NamedTuple):
    """A frame as it travels to another process: columns of one value would be written out on the way."""

    frame: pl.DataFrame
    only: dict[str, Any]
    schema: pl.Schema


def packed(frame: pl.DataFrame) -> Packed:
    only = only_values(frame)
    kept = [name for name in frame.columns if name not in only] or frame.columns[:1]  # without columns it has no rows
    return Packed(frame.select(kept), only, frame.schema)


def unpacked(packed: Packed) -> pl.DataFrame:
    """The frame, a column of one value as a literal again."""
    told = [pl.lit(value, dtype=packed.schema[name]).alias(name) for name, value in packed.only.items()]
    return packed.frame.with_columns(told).select(packed.schema.names())


def slim(frame: pl.DataFrame) -> pl.DataFrame:
    """The same rows where they come from outside: a column of one value as a literal again."""
    only = only_values(frame)
    told = [pl.lit(value, dtype=frame.schema[name]).alias(name) for name, value in only.items()]
    return frame.with_columns(told) if told else frame
