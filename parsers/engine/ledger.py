"""Every byte of a bundle: read, recognised, unrecognised, or unreadable and why.

One road: sources → units of work → per file the file parser that accepts it, else the scan for lines → the line parsers
→ merged tables. A unit is a few files or one large one; units may run anywhere, `map` decides.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from io import BytesIO
from itertools import chain
from typing import Any, BinaryIO

import msgspec
import polars as pl
from msgspec.structs import replace

from parsers.archive.archives import loss_of
from parsers.archive.bundle import Bundle, open_bundle
from parsers.archive.holes import over_holes
from parsers.archive.unfolded import unfolded, with_paths
from parsers.engine.ahead import Ahead, Seen
from parsers.engine.candidates import DEFECTS, Candidates, checked, failed, message, path_columns
from parsers.engine.dense import Dense, DenseReader
from parsers.engine.gathered import Scanned
from parsers.engine.scan import scan
from parsers.engine.secrets import mask, mask_tables
from parsers.engine.unknown import templates
from parsers.schema import years
from parsers.schema.evidence import BundleError, Evidence
from parsers.schema.limits import Budget, Limits
from parsers.schema.merging import lines_of, merge, taken
from parsers.schema.newest import Newest
from parsers.schema.parser import HEAD_BYTES, STREAM_ERRORS, FileParser, LineParser, Parser, Source
from parsers.schema.tables import TABLE_NAMES, TableName, Tables, size_of, spelled, table, tables_of
from parsers.text.encodings import in_utf8, is_page, is_text
from parsers.text.quantities import with_quantities
from parsers.text.stamps import NO_YEAR, Around
from parsers.who.learnt.known import Known
from parsers.who.lines import prefixes
from parsers.who.lines.collected import Habits
from parsers.who.speakers import speakers

UNIT_BYTES = (32 << 20, 512 << 20)  # at least, at most; between them an eighth of the bundle
UNIT_FILES = 1024
_BLANK = b" \t\r\n\xef\xbb\xbf"
_DOCUMENT = (b"{", b"<")
_BOOT = (pl.col("time_basis") == "boot").fill_null(False)
_NEVER = pl.lit(False)
_LAST_CHARACTERS = 300  # of a last line
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
Progress = Callable[[int, int], None]  # bytes read, bytes in all; first of all 0


def read_bundle(
    path: str,
    parsers: Sequence[Parser],
    forms: Sequence[Dense],
    progress: Progress | None,
    map_units: Map,
    limits: Limits | None = None,
    year: int | None = None,
) -> Evidence:
    """Read a whole bundle. Raises bundle.BundleError where there is nothing to read."""
    with ExitStack() as opened:
        own = {parser.name for parser in parsers}
        dense = tuple(form for form in forms if form.parser in own)
        ahead = Ahead(parsers, dense, (limits or Limits()).seconds)
        bundle = opened.enter_context(open_bundle(path, limits, ahead))
        sources, paths = unfolded(bundle.sources, bundle.folded)
        whole = sum(source.size for source in sources)
        if progress is not None:
            progress(0, whole)  # who speaks in them is learnt first, of many files for seconds
        known = _learnt(bundle, sources)
        units = list(_units([known.of(source) for source in sources]))
        around = years.of_bundle(sources, year)
        work = partial(read_unit, parsers=tuple(parsers), around=around, forms=dense, budget=bundle.budget)
        results = iter(map_units(work, units))
        opened.callback(getattr(results, "close", bool))
        read = Newest()
        done = made = 0
        for unit in units:
            if made > bundle.budget.most_tables:
                read.add(read_unit(unit, (), NO_YEAR, budget=replace(bundle.budget, tables=made)))
            else:
                read.add(next(results))
            made += size_of(read.parts[-1])
            done += sum(source.size for source in unit)
            if progress is not None:
                progress(done, whole)
        left_out = [*read.left_out()]
        told: Tables = tables_of(unread=bundle.unread, ranks=known.claims)
        tables = merge(chain([told], taken(read.parts), left_out))
        tables["devices"] = with_quantities(tables["devices"])
        tables = years.settled(tables) if around == NO_YEAR else tables
        if not _is_readable(tables):
            raise BundleError(f"nothing readable in the bundle: {_losses(tables)}")
        return Evidence(mask(bundle.name), mask_tables(with_paths(tables, paths)))


def _learnt(bundle: Bundle, sources: Sequence[Source]) -> Known:
    """Who speaks in the files; where learning that has a defect, they are read without it, and the bundle's row of `unread` says so."""
    try:
        return speakers(sources)
    except DEFECTS as error:
        bundle.unread.append({"file": ".", "bytes": None, "reason": f"who speaks was not learnt: {message(error)}"})
        return Known()


def _is_readable(tables: Tables) -> bool:
    """Whether there is a line or a record anywhere, known or not, or a file that holds none and says so."""
    files = tables["files"]
    whole = files.filter(pl.col("bytes") > 0).join(tables["unread"], on="file", how="anti")
    rows = any(tables[name].height for name in TABLE_NAMES if name not in ("files", "unread"))
    return rows or bool(files["lines"].sum()) or whole.height > 0


def _losses(tables: Tables) -> str:
    """How many files say nothing, and why the first of them do not."""
    why = dict(tables["unread"].select("file", "reason").unique("file", keep="first", maintain_order=True).iter_rows())
    empty = tables["files"].filter(pl.col("bytes") == 0)["file"]
    some = tables["files"]["file"][:3]
    listed = [f"{file}: {'empty' if file in empty else why.get(file, 'nothing in it')}" for file in some]
    return f"{tables['files'].height} files ({'; '.join(listed)}, …)" if len(listed) > 2 else "; ".join(listed)


def read_unit(
    sources: tuple[Source, ...],
    parsers: tuple[Parser, ...],
    around: Around,
    forms: tuple[Dense, ...] = (),
    budget: Budget | None = None,
) -> Tables:
    """Some files → their tables, the rows of `files` included. `budget.tables`: what others have made before."""
    candidates = Candidates([parser for parser in parsers if isinstance(parser, LineParser)])
    owners = [parser for parser in parsers if isinstance(parser, FileParser)]
    by_magic = [(parser.magic, parser) for parser in owners if parser.magic is not None]
    reports, parts = _read_files(sources, _Reading(owners, by_magic, candidates, forms, around, budget or Budget()))
    parts.append({"unread": table("unread", [row for report in reports for row in report.lost])})
    for report in reports:
        parts.extend(taken(report.parts))
    tables = merge(taken(parts))
    lines = lines_of(tables)
    if by_columns := [report.by_columns for report in reports if report.by_columns]:
        tables = merge([tables, *by_columns])
    refused = [_still_refused(report, lines) for report in reports if not report.refused.is_empty()]
    tables["unread"] = pl.concat([tables["unread"], *refused])
    counts, sampled = _recognised(lines, reports)
    lost: dict[str, list[int | None]] = {}
    for file, line in tables["unread"].select("file", "line").iter_rows():
        lost.setdefault(file, []).append(line)
    rows = [
        _row(report, counts.get(path := report.source.path, 0), sampled.get(path, set()), lost.get(path, []))
        for report in reports
    ]
    tables["files"] = _with_times(table("files", rows), tables)
    read = Newest()
    read.add(tables)
    return read.parts[0]


def _read_files(sources: Sequence[Source], reading: "_Reading") -> tuple[list["_Report"], list[Tables]]:
    """A report per file, and what line parsers read in all of them."""
    reports: list[_Report] = []
    parts: list[Tables] = []
    recognisers: dict[str, set[str]] = {}
    made, most = reading.budget.tables, reading.budget.most_tables
    for source in sources:
        if made > most:
            reports.append(_Report(source))
            reports[-1].lose(f"not read: the tables take more than the limit of {most} bytes", bytes=source.size)
        else:
            reports.append(_read_file(source, reading))
            made += sum(map(size_of, reports[-1].parts)) + size_of(reports[-1].by_columns)
        if reading.candidates.is_full or source is sources[-1]:
            for name, found in reading.candidates.parse():
                made += size_of(found)
                parts.append(found)
                for file in _files(found):
                    recognisers.setdefault(file, set()).add(name)
        for owner, waiting in reading.waiting.items():
            if source is sources[-1] or len(waiting) == owner.at_once:
                made += sum(map(size_of, _parse_together(owner, waiting)))
                waiting.clear()
    for report in reports:
        report.parsers |= recognisers.get(report.source.path, set())
    return reports, parts


class _Reading(msgspec.Struct, frozen=True):
    """What all files of a unit are read with, and the lines of theirs that wait for line parsers."""

    owners: Sequence[FileParser]
    by_magic: Sequence[tuple[bytes, FileParser]]  # of them whose files alone begin so
    candidates: Candidates
    forms: tuple[Dense, ...]
    around: Around
    budget: Budget
    waiting: dict[FileParser, list["_Waiting"]] = msgspec.field(default_factory=dict)  # for FileParser.together


class _Report(msgspec.Struct):
    """What is known of one file while its unit is read."""

    source: Source
    parts: list[Tables] = msgspec.field(default_factory=list)
    by_columns: Tables = msgspec.field(default_factory=dict)  # of lines that nobody else has seen
    lost: list[dict[str, Any]] = msgspec.field(default_factory=list)  # rows of `unread`
    owner: FileParser | None = None
    is_alone: bool = False  # its owner answers for every line
    own_lines: pl.DataFrame | None = None  # which its owner has read, where line parsers get the others
    refused: pl.DataFrame = table("unread", [])  # and which it cannot read
    parsers: set[str] = msgspec.field(default_factory=set)
    scanned: Scanned | None = None
    time_first: int | None = None
    time_last: int | None = None

    def lose(self, reason: str, **more: Any) -> None:
        self.lost.append({"file": self.source.path, "reason": reason, **more})


class _Opened:
    """Opens a source, until its time is over, and remembers the streams, so that what they could not read is known
    afterwards."""

    def __init__(self, opener: Callable[[], BinaryIO], until: float) -> None:
        self._opener = opener
        self.until = until
        self._streams: list[BinaryIO] = []
        self._left_out: set[str] = set()

    def __call__(self) -> BinaryIO:
        if time.monotonic() > self.until:
            raise TimeoutError("the rest was not read: it took longer than the limit for one member")
        stream = self._opener()
        self._streams.append(stream)
        return stream

    def losses(self) -> set[str]:
        return {loss for stream in self._streams if (loss := loss_of(stream)) is not None} | self._left_out

    def lose(self, reason: str) -> None:
        """What a parser has left out of it."""
        self._left_out.add(reason)


def _read_file(source: Source, reading: _Reading) -> _Report:
    report = _Report(source)
    if isinstance(source.seen, Seen):
        around = source.seen.around
        _take_scan(report, source, reading, source.seen.scanned, source.seen.dense, lambda: around)
        if source.read_error:
            report.lose(source.read_error)
        return report
    opened = _Opened(source.open, time.monotonic() + reading.budget.limits.seconds)
    try:
        with opened() as stream:
            opener, head = in_utf8(opened, stream.read(HEAD_BYTES))
    except STREAM_ERRORS as error:
        report.lose(message(error), bytes=source.size)
        return report
    is_whole = len(head) < HEAD_BYTES and not opened.losses()
    source = replace(source, open=partial(BytesIO, head) if is_whole else opener, lose=opened.lose)
    owner = _owner(report, reading, head)
    waits = owner is not None and owner.together is not None
    if owner is not None:
        report.owner = owner
        report.is_alone = not owner.shared and (owner.whole or head.lstrip(_BLANK)[:1] in _DOCUMENT)
        report.parsers.add(owner.name)
    if owner is not None and waits:
        reading.waiting.setdefault(owner, []).append((report, source, opened))
    elif owner is not None:
        _parse_file(report, owner, source)
    if owner is None and is_page(head):
        report.lose("an HTML page: no process of a job prints one; save its text to have that read", bytes=source.size)
    elif is_text(head):
        seen = replace(source, open=partial(BytesIO, head)) if len(head) < HEAD_BYTES else source
        _scan_file(report, seen, reading, head, opened.until)
    elif owner is None:
        report.lose("binary, and no parser knows it", bytes=source.size)
    if not waits:
        _lose(report, source, opened)
    return report


def _lose(report: _Report, source: Source, opened: _Opened) -> None:
    for loss in sorted(opened.losses() | ({source.read_error} if source.read_error else set())):
        report.lose(loss)


_Waiting = tuple[_Report, Source, _Opened]


def _parse_together(owner: FileParser, waiting: Sequence[_Waiting]) -> list[Tables]:
    """Files whose owner reads several at once → the tables made of them. Where it fails they are read one by one, so that
    one costs only itself."""
    try:
        if waiting and owner.together is not None:
            waiting[0][0].parts.append(checked(owner.together([source for _, source, _ in waiting])))
    except DEFECTS:
        for report, source, _ in waiting:
            _parse_file(report, owner, source)
    for report, source, opened in waiting:
        _lose(report, source, opened)
    return [part for report, _, _ in waiting for part in report.parts]


def _owner(report: _Report, reading: _Reading, head: bytes) -> FileParser | None:
    certain = [parser for magic, parser in reading.by_magic if head.startswith(magic)]
    for parser in certain or reading.owners:
        try:
            if parser.accepts(report.source.path, head):
                return parser
        except DEFECTS as error:  # a defect of one parser must not cost the bundle
            report.lose(failed(parser.name, error))
    return None


def _parse_file(report: _Report, owner: FileParser, source: Source) -> None:
    try:
        found = dict(checked(owner.parse(source)))
    except DEFECTS as error:
        report.lose(failed(owner.name, error), bytes=source.size)
        return
    if not report.is_alone and not owner.shared:
        report.own_lines = lines_of(found)
        report.refused = found.pop("unread", report.refused)
        if report.refused["line"].count() > report.own_lines.height:  # a log behind a table: they are no broken rows
            report.refused = report.refused.filter(pl.col("line").is_null())
    report.parts.append(found)


def _scan_file(report: _Report, source: Source, reading: _Reading, head: bytes, until: float) -> None:
    is_whole = len(head) < HEAD_BYTES  # then what is not there is nowhere
    forms = [form for form in reading.forms if not report.is_alone and (not is_whole or form.anchor in head)]
    around = partial(years.of_file, head, reading.around)
    dense = DenseReader(forms, path_columns(source), around(), source.labels) if forms else None
    try:
        with source.open() as stream, over_holes(stream, source.lose) as text:
            scanned = scan(text, None if report.is_alone else reading.candidates.parsers, dense, until)
    except STREAM_ERRORS as error:
        report.lose(message(error), bytes=source.size)
        return
    _take_scan(report, source, reading, scanned, dense, around)


def _take_scan(
    report: _Report,
    source: Source,
    reading: _Reading,
    scanned: Scanned,
    dense: DenseReader | None,
    around: Callable[[], Around],
) -> None:
    """What the scan of a file gave; `around`: what tells the year of its stamps that print none."""
    report.scanned = scanned
    for row in scanned.unread:
        report.lose(**row)  # type: ignore[arg-type]
    first, last = (list(filter(_may_be_stamped, lines)) for lines in (scanned.first, reversed(scanned.last)))
    asked = scanned.rows or first or last
    habits = prefixes.habits(scanned.first, around(), source.labels) if asked else Habits()
    report.time_first, report.time_last = _first_time(first, habits), _first_time(last, habits)
    if report.own_lines is not None and scanned.rows:
        candidates = pl.Series(scanned.found.lines, dtype=pl.Int64)
        scanned.drop(set(report.own_lines["line"].filter(report.own_lines["line"].is_in(candidates.implode()))))
    heads = dense.heads if dense is not None else []
    if dense is not None and (beginnings := dense.beginnings()):
        for number, parser in enumerate(reading.candidates.parsers):
            scanned.tell(number, beginnings.get(parser.name, ()))
    tasks_are_ranks = bool(scanned.rows) and reading.candidates.add(source, scanned, habits, heads)
    if dense is not None:
        read = checked(dense.tables(tasks_are_ranks))
        if report.own_lines is None:
            report.by_columns = read
        else:
            report.parts.append(read)
        report.parsers |= dense.parsers()


def _files(found: Tables) -> set[str]:
    return {file for name, frame in found.items() if name != "unread" for file in frame["file"].unique()}


def _still_refused(report: _Report, lines: pl.DataFrame) -> pl.DataFrame:
    """The lines that neither the file's owner nor a line parser could read."""
    if report.own_lines is None:
        return report.refused
    others = spelled(lines.join(report.own_lines, on=["file", "line"], how="anti"))
    return report.refused.join(others, on=["file", "line"], how="anti", maintain_order="left")


def _recognised(lines: pl.DataFrame, reports: Sequence[_Report]) -> tuple[dict[str, int], dict[str, set[int]]]:
    """How many lines of each file have a row of their own or are claimed, and which of its sampled lines."""
    if lines.is_empty():
        return {}, {}
    sample = [(report.source.path, line) for report in reports if report.scanned for line in report.scanned.sample]
    looked_at = pl.DataFrame(sample, schema={"file": pl.Categorical, "line": pl.Int64}, orient="row")
    known = looked_at.join(lines, on=["file", "line"], how="semi").group_by("file").agg("line")
    counts = dict(lines.group_by("file").len().iter_rows())
    return counts, {file: set(numbers) for file, numbers in known.iter_rows()}


def _row(report: _Report, known: int, sampled: set[int], lost: list[int | None]) -> dict[str, Any]:
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
    known += sum(frame.height for name, frame in report.by_columns.items() if name != "unread")
    if report.is_alone and None not in lost:
        known = max(known, scanned.lines - len(set(lost)))  # its owner read all of it but these
    return row | {
        "lines": scanned.lines,
        "recognised": min(known, scanned.lines),
        "templates": [] if report.is_alone else templates(scanned.sample, sampled),
        "last_lines": [] if report.is_alone else _last_lines(scanned.last),
    }


def _last_lines(last: Sequence[str]) -> list[str]:
    """As they are kept: what stands behind the last line end, if nothing does, is no line."""
    return [text[:_LAST_CHARACTERS] for text in (last[:-1] if last and not last[-1] else last)]


def _with_times(files: pl.DataFrame, tables: Tables) -> pl.DataFrame:
    """The time range of files whose lines show none (dumps): that of their records."""
    parts = [
        spelled(tables[name].filter(~boot).group_by("file").agg(first=pl.col(column).min(), last=pl.col(column).max()))
        for name, column, boot in _TIMES
        if tables[name].height
    ]
    if not parts:
        return files
    spans = pl.concat(parts).group_by("file").agg(pl.col("first").min(), pl.col("last").max())
    first, last = pl.coalesce("time_first_ns", "first"), pl.coalesce("time_last_ns", "last")
    joined = files.join(spans, on="file", how="left", maintain_order="left")
    return joined.with_columns(time_first_ns=first, time_last_ns=last).drop("first", "last")


def _units(sources: Sequence[Source]) -> Iterator[tuple[Source, ...]]:
    """Neighbours together, until they are many or large; first a few, whose cost tells that of the rest. Files stay in their
    order: then so do the rows of tables, which need not be sorted."""
    unit: list[Source] = []
    size, (enough, most) = 0, UNIT_BYTES
    share = sum(source.left for source in sources) // 8
    for source in sources:
        if unit and (size + source.left > enough or len(unit) >= UNIT_FILES):
            yield tuple(unit)
            unit, size, enough = [], 0, min(max(share, enough), most)
        unit.append(source)
        size += source.left
    if unit:
        yield tuple(unit)


def _may_be_stamped(line: str) -> bool:
    """A clock shows two colons; what else tells a time is a record of a collector."""
    return line.count(":") > 1 or "{" in line


def _first_time(lines: Iterable[str], habits: Habits) -> int | None:
    for raw in lines:
        line = prefixes.strip(raw[:2000], habits)
        if line.time_ns is not None and line.time_basis != "boot":
            return line.time_ns
    return None
