"""Everything that the bundle says, record by record and in order of time; of one rank, group or host, or of a stretch of time."""

from collections.abc import Mapping
from datetime import UTC, datetime, time
from typing import NamedTuple

import polars as pl

from forensics.case import Case
from forensics.facts.waits.stacks import main_stacks
from forensics.model.errors import NoSuch
from forensics.model.told import values
from parsers.schema.event_kinds import EVENT_KINDS
from parsers.schema.tables import TableName
from parsers.text.patterns import regex

_TOLD: tuple[TableName, ...] = ("events", "steps", "operations", "stacks")
LEVELS = ("info", "warning", "error", "fatal")
_SCHEMA = {
    "time_ns": pl.Int64(), "basis": pl.String(), "rank": pl.Int64(), "host": pl.String(),
    "source": pl.String(), "level": pl.String(), "group": pl.String(), "what": pl.String(), "file": pl.String(),
    "line": pl.Int64(),
}  # fmt: skip
SHOWN = ("time", "rank", "host", "source", "level", "where", "what")
_CLOSED: Mapping[str, tuple[str, ...]] = {  # of the table `events`
    "severity": LEVELS, "kind": tuple(EVENT_KINDS), "time_basis": ("utc", "local", "boot"), "rank_space": ("global", "group", "node"),
}  # fmt: skip
_CLOCK = regex(r"(\d{1,2}):(\d\d)(?::(\d\d))?")
_DAY_NS = 86_400 * 1_000_000_000


class Wanted(NamedTuple):
    """Which records: all of them where nothing is said. `since`, `until`: ISO 8601, or HH:MM[:SS] of any day, in UTC (of a
    record without zone: as printed). `source`: a word of the source or of the parser that read the file. `level`: at least.
    `last`: so many of the end."""

    rank: int | None = None
    host: str | None = None
    group: str | None = None
    since: str | None = None
    until: str | None = None
    source: str | None = None
    level: str | None = None
    last: int | None = None


def records(case: Case, rank: int | None = None) -> pl.DataFrame:
    """Columns of _SCHEMA: events, training steps, operations and stacks, each once; those with a time first and in order,
    then the others by file and line. `rank`: of it alone, which spares the words of millions of calls."""
    tables = case.tables
    if rank is not None:
        tables = {**tables, **{name: tables[name].filter(pl.col("rank") == rank) for name in _TOLD}}
    events, steps, operations = tables["events"], tables["steps"], tables["operations"]
    stacks = case.stacks if rank is None else main_stacks(tables)
    parts = [_events(events), _steps(steps), _operations(operations)]
    if stacks.height:
        parts.append(_stacks(stacks))
    whole = pl.concat([part.select(pl.col(name).cast(kind) for name, kind in _SCHEMA.items()) for part in parts])
    whole = whole.unique(["time_ns", "rank", "host", "what"], keep="first", maintain_order=True)
    return whole.sort("time_ns", "file", "line", nulls_last=True)


def timed(frame: pl.DataFrame) -> pl.DataFrame:
    """Rows with `time` and `basis` before them. `time`: Datetime without a zone, as `basis` has it: "utc", or "local", as printed,
    of an unknown zone; null where seconds since the host's start are all that is told ("boot"), or no time at all."""
    moment = pl.when(pl.col("basis") != "boot").then(pl.from_epoch("time_ns", time_unit="ns"))
    return frame.select(moment.alias("time"), "basis", pl.all().exclude("basis"))


def stamped(frame: pl.DataFrame) -> pl.DataFrame:
    """Rows of `records` as texts to be shown: `time`, with a "Z" where it is UTC, seconds since the host's start as "+12.5 s";
    and `where`, file:line."""
    where = pl.concat_str("file", pl.format(":{}", "line").fill_null(""))
    return frame.with_columns(time=stamp("time_ns", 6), where=where)


def stamp(column: str, digits: int) -> pl.Expr:
    """A time as its clock has it: with "Z" where that is UTC, "+12.5 s" where it counts from the host's start."""
    seconds = pl.format("+{} s", (pl.col(column) / 1e9).round(3))
    moment = pl.from_epoch(column, time_unit="ns").dt.strftime(f"%Y-%m-%dT%H:%M:%S%.{digits}f")
    zone = pl.when(pl.col("basis") == "utc").then(pl.lit("Z")).otherwise(pl.lit(""))
    return pl.when(pl.col("basis") == "boot").then(seconds).otherwise(pl.concat_str(moment, zone))


def with_times(tables: Mapping[TableName, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """The tables with `time` and its `time_basis` before the others, as `timed` has them, and closed sets of words
    as pl.Enum: severities are in order, so that `pl.col("severity") >= "error"` holds."""
    stamps: dict[str, pl.DataFrame] = {str(name): frame for name, frame in tables.items()}
    for name, frame in tables.items():
        if {"time_ns", "time_basis"} <= set(frame.columns):
            stamps[name] = timed(frame.rename({"time_basis": "basis"})).rename({"basis": "time_basis"})
    events = stamps["events"]  # a column that holds another word stays a text: nothing that was read is lost
    known = {name: words for name, words in _CLOSED.items() if events[name].drop_nulls().is_in(list(words)).all()}
    return stamps | {"events": events.with_columns(pl.col(name).cast(pl.Enum(words)) for name, words in known.items())}


def of_parsers(files: pl.DataFrame) -> Mapping[str, frozenset[str]]:
    """File → the parsers that read it, for `narrowed`."""
    return {file: frozenset(parsers or ()) for file, parsers in files.select("file", "parsers").iter_rows()}


def narrowed(frame: pl.DataFrame, wanted: Wanted, parsers: Mapping[str, frozenset[str]]) -> pl.DataFrame:
    """The wanted rows of `records` or of any table with these columns. Raises NoSuch."""
    told = values(frame["source"]) if "source" in frame.columns else set()
    for name in ("rank", "host", "group"):
        value = getattr(wanted, name)
        frame = frame if value is None else frame.filter(pl.col(name) == value)
    if wanted.source is not None:
        read = [file for file, names in parsers.items() if any(wanted.source in name for name in names)]
        own = pl.col("source").str.contains(wanted.source, literal=True) if "source" in frame.columns else pl.lit(False)
        known = told.union(*parsers.values())
        if not any(wanted.source in name for name in known):
            raise NoSuch(f"no source is called {wanted.source!r}; this bundle has {', '.join(sorted(known)) or 'none'}")
        frame = frame.filter(own | pl.col("file").is_in(read))
    if wanted.level is not None:
        column = "level" if "level" in frame.columns else "severity"
        frame = frame.filter(pl.col(column).fill_null("info").is_in(LEVELS[LEVELS.index(wanted.level) :]))
    if wanted.since is not None:
        frame = frame.filter(nanoseconds(wanted.since) <= _clock(wanted.since))
    if wanted.until is not None:
        frame = frame.filter(nanoseconds(wanted.until) >= _clock(wanted.until))
    return frame if wanted.last is None else frame.filter(pl.col("time_ns").is_not_null()).tail(wanted.last)


def _clock(text: str) -> pl.Expr:
    """The times of the rows as `text` counts them: since 1970, or since midnight."""
    at = pl.col("time_ns")
    return at % _DAY_NS if _CLOCK.fullmatch(text) else at


def nanoseconds(text: str) -> int:
    """Of a time that a person writes: since midnight of "10:05[:30]", else since 1970. Raises NoSuch."""
    try:
        if found := _CLOCK.fullmatch(text):
            hours, minutes, seconds = (int(part or 0) for part in found.groups())
            clock = time(hours, minutes, seconds)
            return (clock.hour * 3600 + clock.minute * 60 + clock.second) * 1_000_000_000
        moment = datetime.fromisoformat(text)
        return round((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1e9)
    except (ValueError, OverflowError) as error:
        raise NoSuch(f"{text!r} is no time: HH:MM, HH:MM:SS, or as 2026-11-20T10:05:00") from error


def _events(events: pl.DataFrame) -> pl.DataFrame:
    words = pl.when(pl.col("text").is_null() | (pl.col("text") == "")).then(pl.col("code")).otherwise(pl.col("text"))
    is_global = pl.col("rank_space") == "global"
    return events.with_columns(
        pl.col("time_basis").alias("basis"),
        pl.when(is_global).then(pl.col("rank")).alias("rank"),
        pl.lit("log").alias("source"),
        pl.col("severity").alias("level"),
        pl.concat_str([pl.col("kind").str.replace_all("_", " "), pl.lit(": "), words.fill_null("")]).str.replace_all(r"\s+", " ").str.strip_chars(": ").alias("what"),
        pl.coalesce("line", "record").alias("line"),
    )  # fmt: skip


def _steps(steps: pl.DataFrame) -> pl.DataFrame:
    loss = pl.format(", loss {}", "loss").fill_null("")
    return steps.with_columns(
        pl.col("time_basis").alias("basis"),
        pl.lit(None).alias("host"),
        pl.lit("training log").alias("source"),
        pl.lit("info").alias("level"),
        pl.lit(None).alias("group"),
        pl.concat_str([pl.lit("step "), pl.col("step").cast(pl.String).fill_null("?"), loss]).alias("what"),
        pl.coalesce("line", "record").alias("line"),
    )


def _operations(operations: pl.DataFrame) -> pl.DataFrame:
    """Calls of the flight recorder. A call that ended says how long it took."""
    took = (pl.col("time_completed_ns") - pl.col("time_created_ns")) / 1e9
    ended = pl.format(" after {} s", took.round(3)).fill_null("")
    group = pl.coalesce("desc", "group")
    return operations.with_columns(
        pl.col("time_created_ns").alias("time_ns"),
        pl.lit("utc").alias("basis"),
        pl.lit("flight record").alias("source"),
        pl.lit("info").alias("level"),
        group.alias("group"),
        pl.format("{} #{} of {}: {}{}", "kind", pl.col("seq").cast(pl.String).fill_null("?"), group.fill_null("?"),
                  pl.col("state").fill_null("state not recorded"), ended).alias("what"),
        pl.coalesce("line", "record").alias("line"),
    )  # fmt: skip


def _stacks(stacks: pl.DataFrame) -> pl.DataFrame:
    return stacks.with_columns(
        pl.lit(None).alias("time_ns"),
        pl.lit(None).alias("basis"),
        pl.lit("stack").alias("source"),
        pl.lit("info").alias("level"),
        pl.lit(None).alias("group"),
        pl.format("main thread: {}{}", pl.col("site").str.replace_all("_", " "), pl.format(" ({})", "op").fill_null("")).alias("what"),
        pl.coalesce("line", "record").alias("line"),
    )  # fmt: skip
