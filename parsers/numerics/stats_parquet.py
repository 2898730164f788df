"""Parquet files of tensor statistics: read whole, or in part where they are large, many files in one go.

Not a parser: the format, with its source, is in tensor_stats.py. One query over many files costs little more than one
over a single file, and uses all cores.
"""

import io
from collections.abc import Callable, Sequence
from functools import partial
from typing import IO, Any

import msgspec
import polars as pl

from parsers.numerics import stats_window
from parsers.numerics.stats_values import FIELDS, cast_text
from parsers.numerics.tensor_names import as_version_1
from parsers.schema.parser import Source
from parsers.schema.tables import SCHEMAS, Tables, empty
from parsers.timing import operation_rows

MAX_ROWS = 200_000_000  # a few bytes of Parquet can declare billions of equal rows
_AT_ONCE = 1 << 30
_ERRORS = (pl.exceptions.PolarsError, OSError, ValueError, pl.exceptions.PanicException)
_Unread = dict[str, Any]


class Read(msgspec.Struct):
    """What files gave: rows of `tensors`, for each the number of its file among `sources`, and what was not read."""

    sources: Sequence[Source]
    frame: pl.DataFrame
    nth: pl.Series
    unread: list[_Unread]
    others: Tables | None = None  # of a file that holds times of operations instead


class _File(msgspec.Struct):
    source: Source
    data: bytes
    rows: int
    schema: pl.Schema  # of the known columns; the rank may be the path's
    unknown: list[str]
    has_rank: bool
    is_timed: bool  # no statistics: times of operations

    def scan(self) -> pl.LazyFrame:
        lazy = _scanned(self.data)
        lazy = lazy if self.has_rank else lazy.with_columns(pl.lit(self.source.rank, pl.Int64).alias("rank"))
        return lazy.select(self.schema.names())


def read(sources: Sequence[Source], telling: Callable[[set[str]], bool]) -> list[Read]:
    """Rows of Parquet files. `telling`: whether a set of column names is that of statistics."""
    found: list[Read] = []
    large: dict[tuple[Any, ...], list[_File]] = {}
    for source in sources:
        with source.open() as stream:
            data = stream.read(min(source.size, _AT_ONCE))  # in one piece: nothing is put together
            data = data + more if (more := stream.read()) else data
        file = _open(source, data, telling)
        if isinstance(file, str):
            found.append(_unreadable(source, data, file))
        elif file.is_timed:
            found.append(_timed(file))
        elif file.rows > stats_window.ROWS and stats_window.can_reduce(file.schema):
            large.setdefault((file.has_rank, *file.schema.items()), []).append(file)
        else:
            found.append(_whole(file))
    for files in large.values():
        found += _part(files)
    return found


def _scanned(data: bytes) -> pl.LazyFrame:
    """The columns of a file, statistics by the names that the format gives them (`nan` is `nan_count`)."""
    lazy = pl.scan_parquet(io.BytesIO(data))
    return lazy.rename(as_version_1(lazy.collect_schema().names()))


def _open(source: Source, data: bytes, telling: Callable[[set[str]], bool]) -> _File | str:
    """What a file holds, or why it is not read."""
    try:
        lazy = _scanned(data)
        schema = lazy.collect_schema()
        if not telling(set(schema)) and not operation_rows.tells(schema):
            return "Parquet without step, tensor and statistics"
        rows = int(lazy.select(pl.len()).collect().item())
    except _ERRORS as error:
        return _reason(error)
    if rows > min(MAX_ROWS, 4000 * len(data)):
        return f"refused: {rows} rows in {len(data)} bytes"
    known = pl.Schema({name: schema[name] for name in FIELDS if name in schema})
    if "rank" not in known and source.rank is not None:
        known["rank"] = pl.Int64()
    unknown = sorted(set(schema) - SCHEMAS["tensors"].keys())
    return _File(source, data, rows, known, unknown, "rank" in schema, operation_rows.tells(schema))


def _reason(error: BaseException) -> str:
    return f"not readable as Parquet: {str(error).splitlines()[0][:200] if str(error) else type(error).__name__}"


def _unreadable(source: Source, data: bytes, reason: str) -> Read:
    unread = [{"file": source.path, "bytes": len(data), "reason": reason}]
    return Read([source], empty("tensors"), pl.Series([], dtype=pl.UInt32), unread)


def _timed(file: _File) -> Read:
    try:
        frame = pl.read_parquet(io.BytesIO(file.data))
        rows = pl.int_range(frame.height, eager=True).alias("record")
        told = operation_rows.of_frame(file.source, frame, rows)
    except _ERRORS as error:
        return _unreadable(file.source, file.data, _reason(error))
    return Read([file.source], empty("tensors"), pl.Series([], dtype=pl.UInt32), told["unread"].to_dicts(), told)


def _whole(file: _File) -> Read:
    try:
        frame = file.scan().with_row_index("record").with_columns(pl.col("record").cast(pl.Int64)).collect()
    except _ERRORS as error:
        return _unreadable(file.source, file.data, _reason(error))
    return _typed([file], frame, pl.repeat(0, frame.height, dtype=pl.UInt32, eager=True))


def _part(files: Sequence[_File]) -> list[Read]:
    """Of files with the same columns what an analysis needs. Where one of them cannot be read, each is read alone."""
    schema = files[0].schema
    try:
        kept = stats_window.reduced(partial(_scan, files), schema, [file.rows for file in files])
    except _ERRORS as error:
        if len(files) == 1:
            return [_unreadable(files[0].source, files[0].data, _reason(error))]
        return [found for file in files for found in _part([file])]
    read = _typed(files, kept.frame, kept.nth_file)
    read.unread += stats_window.left_out_rows(kept, [file.source.path for file in files])
    return [read]


def _scan(files: Sequence[_File]) -> pl.LazyFrame:
    if all(file.has_rank for file in files):
        streams: list[IO[bytes]] = [io.BytesIO(file.data) for file in files]
        return pl.scan_parquet(streams)
    return pl.concat([file.scan() for file in files])


def _typed(files: Sequence[_File], frame: pl.DataFrame, nth: pl.Series) -> Read:
    """With the types of `tensors`; cells that are lost by that are said of each file."""
    lost: list[_Unread] = []
    typed = cast_text(frame, lost)
    unread = [{"file": files[0].source.path, **row} for row in lost] if len(files) == 1 else []
    if lost and len(files) > 1:
        for number, file in enumerate(files):
            mine: list[_Unread] = []
            cast_text(frame.filter(nth == number), mine)
            unread += [{"file": file.source.path, **row} for row in mine]
    for file in files:
        if file.unknown:
            unread.append({"file": file.source.path, "reason": "columns not read: " + ", ".join(file.unknown[:50])})
    return Read([file.source for file in files], typed, nth, unread)
