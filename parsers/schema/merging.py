"""Tables put together, in order of place.

A table of a large log is most of what a bundle takes in memory. To sort it takes as much again: so its columns are put in
order one after another, and of the parts that it came from nothing is kept.
"""

from collections.abc import Iterable, Iterator

import polars as pl

from parsers.schema.literals import slim
from parsers.schema.order import out_of_order
from parsers.schema.tables import SCHEMAS, TABLE_NAMES, TableName, Tables, empty

_ROW = "_row"
_LINES_OF_FILE = 1 << 31  # more than any has
_OF_LINES = tuple(name for name in TABLE_NAMES if name not in ("files", "unread") and "line" in SCHEMAS[name])
_MANY = 10_000  # rows: to look for columns of one value pays


def merge(parts: Iterable[Tables]) -> dict[TableName, pl.DataFrame]:
    """All tables of all parts, each sorted by place so that the order of files never matters. Where nobody else holds the
    parts, a table is in memory once, but for a column."""
    found: dict[TableName, list[pl.DataFrame]] = {name: [] for name in TABLE_NAMES}
    for part in parts:
        for name, frame in part.items():
            if frame.height:
                found[name].append(frame)
    part = {}
    return {name: _by_place(name, found.pop(name)) for name in TABLE_NAMES}


def taken(parts: list[Tables]) -> Iterator[Tables]:
    """Each of them in turn, until none is left."""
    parts.reverse()
    while parts:
        yield parts.pop()


def compact(frame: pl.DataFrame) -> pl.DataFrame:
    """The same rows in one piece, columns of one value as literals, where they are many: else each choice of some of the
    columns puts the pieces of all together."""
    if frame.height <= _MANY:
        return frame
    columns = [slim(frame.get_column(name).rechunk().to_frame()) for name in frame.columns]
    return pl.concat(columns, how="horizontal")


def _by_place(name: TableName, frames: list[pl.DataFrame]) -> pl.DataFrame:
    """The rows of `frames`, of which nothing is left."""
    if not frames:
        return empty(name)
    places = [key for key in ("file", "line", "record") if key in SCHEMAS[name]]
    keys = pl.DataFrame([pl.concat([frame[key] for frame in frames]) for key in places])
    if not (names := out_of_order(keys, places)):
        return pl.concat(frames)
    order = keys.with_row_index(_ROW).sort(names, maintain_order=True, nulls_last=True)[_ROW]
    if keys.height <= _MANY:
        return pl.concat(frames, rechunk=True)[order]
    del keys
    for at, frame in enumerate(frames):
        frames[at] = compact(frame)
    columns = [[frame.select(column) for frame in frames] for column in SCHEMAS[name]]
    frames.clear()
    del frame
    # Of texts in several pieces each would be copied.
    sorted_columns = [pl.concat(columns.pop(0)).rechunk()[order] for _ in SCHEMAS[name]]
    return pl.concat(sorted_columns, how="horizontal")


def lines_of(tables: Tables) -> pl.DataFrame:
    """File, as a category, and line of what has a row of its own or is claimed, each once."""
    file = pl.col("file").cast(pl.Categorical)
    filled = (tables[name] for name in _OF_LINES if name in tables and tables[name].height)
    found = [frame.select(file, "line").drop_nulls() for frame in filled]
    whole = pl.concat(found or [empty("claimed").select(file, "line")])
    return whole.filter(places(whole, files_of(whole)).is_first_distinct())


def files_of(frame: pl.DataFrame) -> pl.Enum:
    """The files in it, numbered. (A category's number is its own only as long as somebody holds the category.)"""
    return pl.Enum(frame["file"].unique().drop_nulls().cast(pl.String))


def places(frame: pl.DataFrame, files: pl.Enum) -> pl.Series:
    """File and line of each row as one number, in a quarter of their memory; null where a row has none, or another file."""
    file = pl.col("file").cast(files, strict=False).to_physical().cast(pl.Int64)
    return frame.select(file * _LINES_OF_FILE + pl.col("line")).to_series()
