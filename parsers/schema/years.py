"""Which year it is in logs that print none.

The full stamps of a file's beginning tell the year of its other lines, those of the bundle's files, where most begin with some, that of files
without any. Where no beginning or few tell one (torch's glog, syslog and flight records in a pickle: an everyday bundle), stamps without a year
stand in 1972 until all is read, and go then where the times of all files are: records have theirs deep inside, and so has a log in
which a scheduler alone prints the year. Where there are
none at all, they stay in 1972: what came first is known, and that no year is, is seen.

Fooled by: logs without a year that are older than seven months, or go on for more than four after all other files.
"""

from calendar import timegm
from collections.abc import Iterable, Iterator, Sequence

import polars as pl

from parsers.schema.parser import STREAM_ERRORS, Source
from parsers.schema.tables import SCHEMAS, TableName, Tables
from parsers.text import stamps
from parsers.text.encodings import in_utf8
from parsers.text.stamps import NO_YEAR, NO_YEAR_NS, Around, agreed

_FILES = 200  # heads looked at
_FEW = 2  # fewer than half
_LOGGED: tuple[TableName, ...] = ("events", "steps")
_MONTHS = range(1, 13)
_TIMED: tuple[tuple[TableName, tuple[str, ...]], ...] = tuple(
    (name, columns)
    for name, schema in SCHEMAS.items()
    if (columns := tuple(column for column in schema if column.startswith("time_") and column.endswith("_ns")))
)


def of_bundle(sources: Sequence[Source], year: int | None) -> Around:
    """What the beginnings of files agree on, if they are not few; `year`, where they tell none; NO_YEAR where that is not given."""
    looked = sources[:: max(1, len(sources) // _FILES)]
    told = list(_told(looked))
    if year is None and _FEW * len(told) < len(looked):
        return NO_YEAR  # one file among many is of another time perhaps: all are asked when they are read
    return agreed(told) or (NO_YEAR if year is None else stamps.all_of(year))


def of_file(head: bytes, bundle: Around) -> Around:
    """What the beginning of a file tells, else its bundle."""
    return stamps.around(head[: stamps.YEAR_BYTES]) or bundle


def _told(sources: Iterable[Source]) -> Iterator[Around]:
    for source in sources:
        try:
            with source.open() as stream:
                told = stamps.around(in_utf8(source.open, stream.read(stamps.YEAR_BYTES))[1])
        except STREAM_ERRORS:
            continue
        if told is not None:
            yield told


def settled(tables: Tables) -> dict[TableName, pl.DataFrame]:
    """Evidence tables → the same, times without a year where those of all files are (each votes with its last)."""
    result = dict(tables)
    waiting = [
        (name, held)
        for name, columns in _TIMED
        if (held := [column for column in columns if _lacks_years(tables[name], column)])
    ]
    if not waiting:
        return result
    last = tables["files"]["time_last_ns"].drop_nulls()
    last = last.filter(last >= stamps.EARLIEST_NS).cast(pl.Datetime("ns"))
    around = _agreed(last) or _agreed(_full_stamps(tables))
    if around is None:
        return result
    moved = {month: _year_ns(around.year_of(month), month) - _year_ns(NO_YEAR.year, month) for month in _MONTHS}
    for name, columns in waiting:
        for column in columns:
            frame = result[name]
            time = pl.col(column)
            later = time + time.cast(pl.Datetime("ns")).dt.month().replace_strict(moved, return_dtype=pl.Int64)
            result[name] = frame.with_columns(pl.when(_is_without_year(frame, column)).then(later).otherwise(time))
    return result


def _agreed(times: pl.Series) -> Around | None:
    return agreed(map(Around._make, zip(times.dt.year().to_list(), times.dt.month().to_list(), strict=True)))


def _full_stamps(tables: Tables) -> pl.Series:
    """Stamps with a year of what logs tell: one deep inside a file whose last line has none."""
    told = [
        tables[name]
        .filter((pl.col("time_ns") >= stamps.EARLIEST_NS) & pl.col("time_basis").is_in(["utc", "local"]))["time_ns"]
        .cast(pl.Datetime("ns"))
        for name in _LOGGED
    ]
    return pl.concat(told)


def is_told(files: pl.DataFrame) -> bool:
    """Table `files` → whether each of its times has a year."""
    return not any(_lacks_years(files, column) for column in ("time_first_ns", "time_last_ns"))


def _lacks_years(frame: pl.DataFrame, column: str) -> bool:
    first = frame[column].min()
    return isinstance(first, int) and first < NO_YEAR_NS[1] and bool(_is_without_year(frame, column).any())


def _is_without_year(frame: pl.DataFrame, column: str) -> pl.Series:
    held = frame[column].is_between(*NO_YEAR_NS, closed="left").fill_null(False)
    return held & (frame["time_basis"] != "boot").fill_null(True) if "time_basis" in frame.columns else held


def _year_ns(year: int, month: int) -> int:
    """Where days of a month are counted from: leap years are so before March."""
    return timegm((year, 3 if month > 2 else 1, 1, 0, 0, 0)) * 1_000_000_000
