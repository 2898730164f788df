"""Columns of one value as literals, which take no memory, also where such tables are put together."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import polars as pl

CHUNK = 1 << 15  # rows
Schema = Mapping[str, pl.DataType]


def only_values(frame: pl.DataFrame) -> dict[str, Any]:
    """Column → the one value that all rows have, null included; lists and structures aside."""
    flat = [name for name, kind in frame.schema.items() if not kind.is_nested()]
    if frame.height < 2 or not flat:  # nothing to be saved
        return {}
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


def spread(schema: Schema, few: pl.DataFrame, which: pl.Series, own: pl.DataFrame) -> pl.DataFrame:
    """A frame with the columns of `schema`, a row for each of `which` and of `own`: those of `own` as they are, the others from
    that row of `few`, null where it lacks them.

    A long frame is in chunks. So a column of one value takes one chunk, however many rows it has, and also where frames with
    other values follow; a literal would then be written out."""
    columns = {name: own[name].cast(schema[name]) for name in own.columns}
    only = only_values(few) if few.height > 1 else few.row(0, named=True)
    literals = []
    for name in schema.keys() - columns.keys():
        is_one = name in only or name not in few.columns
        if is_one and (len(which) <= CHUNK or only.get(name) is None):
            literals.append(pl.lit(only.get(name), dtype=schema[name]).alias(name))
        else:
            said = few[name].cast(schema[name])
            columns[name] = said.new_from_index(0, CHUNK) if is_one else said.gather(which)
    chunked = [_chunked(column.alias(name), len(which)) for name, column in columns.items()]
    return pl.DataFrame(chunked).with_columns(literals).select(*schema)


def _chunked(column: pl.Series, rows: int) -> pl.Series:
    """A column in chunks; a chunk is all of them."""
    if rows <= CHUNK:
        return column
    begins = range(0, rows, CHUNK)
    return pl.concat([column.slice(at if len(column) == rows else 0, min(CHUNK, rows - at)) for at in begins])
