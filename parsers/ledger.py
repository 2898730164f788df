"""Every byte of a bundle: read, recognised, unrecognised, or unreadable and why.

One road: sources → units of work → per file the file parser that accepts it, else the scan for lines → the line parsers
→ merged tables. A unit is a few files or one large one; units may run anywhere, `map` decides.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, BinaryIO
from zipfile import BadZipFile

import polars as pl

from parsers import prefixes, stamps
from parsers.bundle import open_bundle
from parsers.evidence import Evidence
from parsers.parser import HEAD_BYTES, LINES, FileParser, LineParser, Parser, Source
from parsers.scan import Scanned, is_text, scan, templates
from parsers.tables import SCHEMAS, TABLE_NAMES, TableName, Tables, merge, table

UNIT_BYTES = 32 << 20
UNIT_FILES = 128
YEAR_FILES = 200  # heads looked at for the year of stamps that print none
STREAM_ERRORS = (OSError, EOFError, BadZipFile, RuntimeError, NotImplementedError, ValueError)
_ROW_TABLES = tuple(name for name in TABLE_NAMES if name not in ("files", "unread") and "line" in SCHEMAS[name])
_BOOT = (pl.col("time_basis") == "boot").fill_null(False)
_NEVER = pl.lit(False)
_TIMES: tuple[tuple[TableName, str, pl.Expr], ...] = (
    ("operations", "time_created_ns", _NEVER),
    ("progress", "time_ns", _NEVER),
    ("stacks", "time_ns", _NEVER),
    ("timings", "time_ns", _NEVER),
    ("devices", "time_ns", _NEVER),
    ("events", "time_ns", _BOOT),
    ("steps", "time_ns", _BOOT),
)

Map = Callable[[Callable[[tuple[Source, ...]], Tables], Iterable[tuple[Source, ...]]], Iterable[Tables]]
Progress = Callable[[int, int], None]  # bytes read, bytes in all


def read_bundle(path: str, parsers: Sequence[Parser], progress: Progress | None, map_units: Map) -> Evidence:
    """Read a whole bundle. Raises bundle.BundleError where there is nothing to read."""
    with open_bundle(path) as bundle:
        units = list(_units(bundle.sources))
        work = partial(read_unit, parsers=tuple(parsers), year=_year(bundle.sources))
        whole = sum(source.size for source in bundle.sources)
        parts: list[Tables] = [{"unread": table("unread", bundle.unread)}]
        done = 0
        for unit, part in zip(units, map_units(work, units), strict=True):
            parts.append(part)
            done += sum(source.size for source in unit)
            if progress is not None:
                progress(done, whole)
        return Evidence(bundle.name, merge(parts))


def read_unit(sources: tuple[Source, ...], parsers: tuple[Parser, ...], year: int | None) -> Tables:
    """Some files → their tables, the rows of `files` included."""
    lines = tuple(parser for parser in parsers if isinstance(parser, LineParser))
    reports = [_read_file(source, parsers, lines, year) for source in sources]
    parts: list[Tables] = [part for report in reports for part in report.parts]
    for number, parser in enumerate(lines):
        parts.extend(_parse_lines(parser, number, reports))
    tables = merge(parts)
    recognised = _recognised(tables)
    lost: dict[str, list[int | None]] = {}
    for file, line in tables["unread"].select("file", "line").iter_rows():
        lost.setdefault(file, []).append(line)
    rows = [_row(report, recognised.get(path := report.source.path, set()), lost.get(path, [])) for report in reports]
    tables["files"] = _with_times(table("files", rows), tables)
    return tables


@dataclass(slots=True)
class _Report:
    """What is known of one file while its unit is read."""

    source: Source
    parts: list[Tables] = field(default_factory=list)
    owner: FileParser | None = None
    parsers: set[str] = field(default_factory=set)
    scanned: Scanned | None = None
    decorated: pl.DataFrame | None = None  # LINES without `hit`, one row per candidate
    index: dict[tuple[int, int], int] = field(default_factory=dict)  # place → row of `decorated`
    time_first: int | None = None
    time_last: int | None = None

    def lose(self, reason: str, **more: Any) -> None:
        self.parts.append({"unread": table("unread", [{"file": self.source.path, "reason": reason, **more}])})


class _Opened:
    """Opens a source and remembers the streams, so that what they could not read is known afterwards."""

    def __init__(self, opener: Callable[[], BinaryIO]) -> None:
        self._opener = opener
        self._streams: list[BinaryIO] = []

    def __call__(self) -> BinaryIO:
        stream = self._opener()
        self._streams.append(stream)
        return stream

    def losses(self) -> set[str]:
        raws = (getattr(stream, "raw", None) for stream in self._streams)
        return {loss for raw in raws if (loss := getattr(raw, "loss", None)) is not None}


def _read_file(source: Source, parsers: tuple[Parser, ...], lines: tuple[LineParser, ...], year: int | None) -> _Report:
    report = _Report(source)
    opened = _Opened(source.open)
    source = replace(source, open=opened)
    try:
        with opened() as stream:
            head = stream.read(HEAD_BYTES)
    except STREAM_ERRORS as error:
        report.lose(_message(error), bytes=source.size)
        return report
    owner = _owner(report, parsers, head)
    if owner is not None:
        _parse_file(report, owner, source)
    if is_text(head):
        _scan_file(report, source, () if owner is not None and not owner.shared else lines, _own_year(head, year))
    elif owner is None:
        report.lose("binary, and no parser knows it", bytes=source.size)
    for loss in sorted(opened.losses() | ({source.read_error} if source.read_error else set())):
        report.lose(loss)
    return report


def _owner(report: _Report, parsers: tuple[Parser, ...], head: bytes) -> FileParser | None:
    for parser in parsers:
        if isinstance(parser, FileParser):
            try:
                if parser.accepts(report.source.path, head):
                    return parser
            except Exception as error:  # a defect of one parser must not cost the bundle
                report.lose(_failed(parser.name, error))
    return None


def _parse_file(report: _Report, owner: FileParser, source: Source) -> None:
    report.owner = owner
    report.parsers.add(owner.name)
    try:
        report.parts.append(_checked(owner.parse(source)))
    except Exception as error:
        report.lose(_failed(owner.name, error), bytes=source.size)


def _scan_file(report: _Report, source: Source, lines: tuple[LineParser, ...], year: int | None) -> None:
    try:
        with source.open() as stream:
            scanned = scan(stream, lines)
    except STREAM_ERRORS as error:
        report.lose(_message(error), bytes=source.size)
        return
    report.scanned = scanned
    for row in scanned.unread:
        report.lose(**row)  # type: ignore[arg-type]
    habits = prefixes.habits(scanned.first, year)
    report.time_first = _first_time(scanned.first, habits)
    report.time_last = _first_time(reversed(scanned.last), habits)
    if scanned.texts:
        report.index = {place: row for row, place in enumerate(sorted(scanned.texts))}
        report.decorated = _decorate(report, habits)


def _decorate(report: _Report, habits: prefixes.Habits) -> pl.DataFrame:
    """All candidate lines of a file without their decoration, once for all parsers."""
    assert report.scanned is not None
    texts, source = report.scanned.texts, report.source
    raws = [texts[place].decode("utf-8", "replace") for place in report.index]
    stripped = [prefixes.strip(raw, habits) for raw in raws]
    said = ("text", "rank", "local_rank", "task", "host", "time_ns", "time_basis")
    columns: dict[str, Any] = {name: [getattr(line, name) for line in stripped] for name in said}
    columns |= {"line": [line for line, _ in report.index], "raw": raws}
    path = {"file": source.path, "path_rank": source.rank, "path_local_rank": source.local_rank}
    path |= {"path_host": source.host, "attempt": source.attempt}
    frame = pl.DataFrame(columns, schema={name: LINES[name] for name in columns})
    return frame.with_columns(pl.lit(value, dtype=LINES[name]).alias(name) for name, value in path.items())


def _parse_lines(parser: LineParser, number: int, reports: Sequence[_Report]) -> Iterator[Tables]:
    """One line parser over the candidates of many files; a failure costs only the file that it is about."""
    having = [report for report in reports if _candidates(report, number)]
    if not having:
        return
    try:
        found = _checked(parser.parse(pl.concat([_frame(report, number) for report in having])))
    except Exception as error:
        if len(having) > 1:
            for report in having:
                yield from _parse_lines(parser, number, [report])
        else:
            row = {"file": having[0].source.path, "reason": _failed(parser.name, error)}
            yield {"unread": table("unread", [row])}
        return
    _credit(parser.name, found, having)
    yield found


def _candidates(report: _Report, number: int) -> list[tuple[tuple[int, int], bool]]:
    candidates = report.scanned.candidates if report.scanned is not None else []
    return candidates[number] if number < len(candidates) else []


def _frame(report: _Report, number: int) -> pl.DataFrame:
    assert report.decorated is not None
    candidates = _candidates(report, number)
    rows = report.decorated[[report.index[place] for place, _ in candidates]]
    return rows.with_columns(pl.Series("hit", [is_hit for _, is_hit in candidates], dtype=pl.Boolean)).select(
        list(LINES)
    )


def _credit(name: str, found: Tables, reports: Sequence[_Report]) -> None:
    """Who recognised what: the column files.parsers."""
    files = {file for key, frame in found.items() if key != "unread" for file in frame["file"].unique()}
    for report in reports:
        if report.source.path in files:
            report.parsers.add(name)


def _checked(tables: Tables) -> Tables:
    for name, frame in tables.items():
        if dict(frame.schema) != dict(SCHEMAS[name]):
            raise TypeError(f"table {name} has not the declared columns")
    return tables


def _recognised(tables: Tables) -> dict[str, set[int]]:
    """File → lines with a row of their own, or claimed."""
    places = [tables[name].select("file", "line").drop_nulls() for name in _ROW_TABLES if tables[name].height]
    if not places:
        return {}
    lines = pl.concat(places).unique().group_by("file").agg("line")
    return {file: set(numbers) for file, numbers in lines.iter_rows()}


def _row(report: _Report, recognised: set[int], lost: list[int | None]) -> dict[str, Any]:
    source, scanned = report.source, report.scanned
    row = {
        "file": source.path,
        "bytes": source.size,
        "parsers": sorted(report.parsers),
        "rank": source.rank,
        "local_rank": source.local_rank,
        "host": source.host,
        "attempt": source.attempt,
        "launch": source.launch,
        "time_first_ns": report.time_first,
        "time_last_ns": report.time_last,
    }
    if scanned is None:
        return row
    known = len(recognised)
    is_alone = report.owner is not None and not report.owner.shared
    if is_alone and None not in lost:
        known = max(known, scanned.lines - len(set(lost)))  # its owner read all of it but these
    return row | {
        "lines": scanned.lines,
        "recognised": min(known, scanned.lines),
        "templates": [] if is_alone else templates(scanned.sample, recognised),
    }


def _with_times(files: pl.DataFrame, tables: Tables) -> pl.DataFrame:
    """The time range of files whose lines show none (dumps): that of their records."""
    parts = [
        tables[name].filter(~boot).select("file", pl.col(column).alias("time"))
        for name, column, boot in _TIMES
        if tables[name].height
    ]
    if not parts:
        return files
    spans = pl.concat(parts).group_by("file").agg(first=pl.col("time").min(), last=pl.col("time").max())
    return (
        files.join(spans, on="file", how="left", maintain_order="left")
        .with_columns(
            pl.coalesce("time_first_ns", "first").alias("time_first_ns"),
            pl.coalesce("time_last_ns", "last").alias("time_last_ns"),
        )
        .drop("first", "last")
    )


def _units(sources: Sequence[Source]) -> Iterator[tuple[Source, ...]]:
    """Neighbours together, until they are many or large."""
    unit: list[Source] = []
    size = 0
    for source in sources:
        if unit and (size + source.size > UNIT_BYTES or len(unit) >= UNIT_FILES):
            yield tuple(unit)
            unit, size = [], 0
        unit.append(source)
        size += source.size
    if unit:
        yield tuple(unit)


def _year(sources: Sequence[Source]) -> int | None:
    """The one year that full stamps in the bundle show; None where they show none or several."""
    found: set[int] = set()
    for source in sources[:: max(1, len(sources) // YEAR_FILES)]:
        try:
            with source.open() as stream:
                found |= stamps.years(stream.read(8192))
        except STREAM_ERRORS:
            continue
    return found.pop() if len(found) == 1 else None


def _own_year(head: bytes, year: int | None) -> int | None:
    own = stamps.years(head)
    return own.pop() if len(own) == 1 else (None if own else year)


def _first_time(lines: Iterable[str], habits: prefixes.Habits) -> int | None:
    for raw in lines:
        line = prefixes.strip(raw[:2000], habits)
        if line.time_ns is not None and line.time_basis != "boot":
            return line.time_ns
    return None


def _failed(name: str, error: Exception) -> str:
    return f"parser {name} failed: {_message(error)}"


def _message(error: Exception) -> str:
    return (f"{type(error).__name__}: {error}".splitlines() or [""])[0][:300]
