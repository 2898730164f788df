"""Failures of another day, which are none of this attempt: the launch began, or the job completed work, more than `DAY_NS` later, which no
zone explains.

A line without a stamp has the day that stands in it, as in lists of earlier attempts; else it is at most as old as the last stamp of its file, or, where
that has none, as the last day that is written in it, as in a ticket or a report. A day alone may be that of a beginning, so it is held
against the launch, or the first step, alone.

    attempt 1  2026-03-12 10:00 - 11:00  FAILED  rank 3 exit 137          # Postmortem 2026-01-12          2026-02-11,88001,3,gpu301,137
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from forensics.assemble.starts.apart import numbered_lines
from parsers.schema.tables import Tables
from parsers.text.patterns import regex
from parsers.text.stamps import DAY_NS, parse_time

_DAY = regex(r"(?<![\w./-])(20\d\d-[01]\d-[0-3]\d)(?=[T ,;|)\]]|$)")  # no part of a path or a name
_CLOCK = regex(r"(?<![\d:])([01]\d|2[0-3]):([0-5]\d)(?![\d])")
_MINUTE_NS = 60 * 10**9
_DAY_MINUTES = 24 * 60


def of_another_day(failed: pl.DataFrame, tables: Tables) -> pl.Series:
    """Failures with their number `_event`; tables of one attempt → the numbers of those of another day."""
    if not failed.height:
        return failed["_event"]
    failed = failed.join(tables["files"].select("file", pl.col("time_last_ns").alias("_last")), on="file", how="left")
    begun = tables["files"].filter(pl.col("attempt").is_not_null())["time_first_ns"].min()
    worked = tables["steps"].select(_stamp().alias("_at"))["_at"].max(), tables["operations"]["time_created_ns"].max()
    known = [time for time in (begun, *worked) if isinstance(time, int)]
    stamped = failed.filter(pl.coalesce(_stamp(), "_last") + DAY_NS < max(known, default=0))["_event"]
    first = begun if isinstance(begun, int) else tables["steps"].select(_stamp().alias("_at"))["_at"].min()
    if not isinstance(first, int):
        return stamped
    undated = failed.filter(_stamp().is_null())
    files = tables["files"].filter(pl.col("file").is_in(undated["file"].unique().implode()))
    lines = {row["file"]: dict(numbered_lines(row)) for row in files.iter_rows(named=True)}
    days = (_written(row, lines.get(row["file"], {})) for row in undated.iter_rows(named=True))
    older = [day is not None and day + DAY_NS < first for day in days]
    return pl.concat([stamped, undated.filter(pl.Series(older, dtype=pl.Boolean))["_event"]]).unique()


def _stamp() -> pl.Expr:
    """Time since 1970, in whatever zone."""
    return pl.when(pl.col("time_basis").is_in(["utc", "local"])).then("time_ns")


def _written(row: Mapping[str, Any], lines: Mapping[int, str]) -> int | None:
    """The day of a line without a stamp."""
    own = _days([lines.get(row["line"], row["text"] or "")])
    return max(own or (_days(lines.values()) if row["_last"] is None else []), default=None)


def _days(lines: Iterable[str]) -> Sequence[int]:
    """When the day ends that each line tells, or the last clock behind it."""
    told = ((day, line[day.end() :]) for line in lines for day in _DAY.finditer(line))
    begins = ((parse_time(f"{day[1]} 00:00:00")[0], rest) for day, rest in told)
    return [at + _MINUTE_NS * _minutes(rest) for at, rest in begins if at is not None]


def _minutes(text: str) -> int:
    clocks = _CLOCK.findall(text)
    return int(clocks[-1][0]) * 60 + int(clocks[-1][1]) if clocks else _DAY_MINUTES
