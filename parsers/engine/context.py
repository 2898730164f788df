"""The lines of a bundle again, after it was read: those around a place, those that hold a text, those that nobody has read.

Secrets are masked as everywhere; a member that is no text has no lines. Each pass ends after BYTES or SECONDS and says so.
"""

import os
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Set
from typing import BinaryIO

import msgspec
import polars as pl

from parsers.archive.bundle import Bundle, open_bundle
from parsers.engine.secrets import mask, mask_paths
from parsers.engine.store import is_kept
from parsers.engine.unknown import template
from parsers.schema import years
from parsers.schema.evidence import BundleError
from parsers.schema.merging import lines_of
from parsers.schema.parser import HEAD_BYTES, STREAM_ERRORS, Source
from parsers.schema.tables import TableName, spelled
from parsers.text.encodings import in_utf8, is_page, is_text
from parsers.text.stamps import Around
from parsers.who.lines import prefixes
from parsers.who.lines.collected import Habits, Line
from parsers.who.speakers import speakers

BYTES, SECONDS = 1 << 30, 60.0
BRIEF_BYTES, BRIEF_SECONDS = 64 << 20, 3.0  # of a pass that nobody asked for by name
ARCHIVE_BYTES = 128 << 20  # a larger archive is not unpacked a second time for a few lines
_LINE = 65_536  # bytes of a line; the rest of a longer one is passed over
_TEXT = 500  # characters of a line as it is shown
_FORMS = 100_000  # of lines, that are told apart
UNREAD_SCHEMA = {
    "count": pl.Int64(),
    "rank": pl.List(pl.Int64()),  # who printed them, as far as line or file tells
    "files": pl.Int64(),
    "first_ns": pl.Int64(),  # null: no line of the form has a time
    "last_ns": pl.Int64(),
    "basis": pl.String(),
    "file": pl.String(),  # where it stands first
    "line": pl.Int64(),
    "template": pl.String(),  # digits as #
}


class Hit(msgspec.Struct, frozen=True):
    """A line that holds the text. `before`, `after`: lines around it as they stand."""

    file: str
    line: int
    text: str
    before: list[str]
    after: list[str]


class Search(msgspec.Struct, frozen=True):
    """What a search came to. `more`: hits beyond those listed; `ended`: why it did not go on to the end, else None."""

    hits: list[Hit]
    more: int
    ended: str | None


class Unread(msgspec.Struct, frozen=True):
    """Lines that nobody has read, by their form (UNREAD_SCHEMA)."""

    lines: pl.DataFrame
    ended: str | None


class _Pass:
    """One way through the lines of a bundle. `ended`: why it ended early."""

    def __init__(self, most: int | None = None, seconds: float | None = None) -> None:
        most, seconds = most or BYTES, seconds or SECONDS
        self._until, self._bytes, self._most, self._seconds = time.monotonic() + seconds, 0, most, seconds
        self.ended: str | None = None

    def lines(self, source: Source) -> Iterator[tuple[int, str]]:
        """(number, text without its end) of each line of a text; what cannot be read ends it."""
        try:
            with source.open() as stream:
                opener, head = in_utf8(source.open, stream.read(HEAD_BYTES))
            if not is_text(head) or is_page(head):
                return
            with opener() as stream:
                yield from self._of_stream(stream)
        except STREAM_ERRORS:
            return

    def _of_stream(self, stream: BinaryIO) -> Iterator[tuple[int, str]]:
        number, is_begin = 1, True
        while not self.ended and (raw := stream.readline(_LINE)):
            self._bytes += len(raw)
            if is_begin:
                yield number, raw.decode("utf-8", "replace").rstrip("\r\n")
            is_begin = raw.endswith(b"\n")
            number += is_begin
            if self._bytes > self._most:
                self.ended = f"after {self._most >> 20} MB"
            elif not number % 4096 and time.monotonic() > self._until:
                self.ended = f"after {self._seconds:.0f} s"


def _opened(bundle: str) -> Bundle:
    if is_kept(bundle):
        raise BundleError(f"{bundle}: kept tables hold no lines; ask the bundle that they were made of")
    return open_bundle(bundle)


def _by_name(bundle: Bundle) -> Mapping[str, Source]:
    """Members by the names that evidence calls them by."""
    names = mask_paths(source.path for source in bundle.sources)
    return {names[source.path]: source for source in bundle.sources}


def around(bundle: str, file: str, line: int, context: int) -> list[tuple[int, str]]:
    """(number, text) of that line and of `context` lines on each side; empty where the file has no such line, or no lines.
    Raises BundleError."""
    with _opened(bundle) as opened:
        source = _by_name(opened).get(file)
        found = []
        for number, text in _Pass().lines(source) if source else ():
            if number > line + context:
                break
            if number >= line - context:
                found.append((number, _shown(text)))
    return found if any(number == line for number, _ in found) else []


def passages(
    bundle: str, places: Iterable[tuple[str, int]], context: int
) -> dict[tuple[str, int], list[tuple[int, str]]]:
    """(file, line) → (number, text) of that line and of `context` lines on each side, in one pass that ends early rather than be
    noticed. A place that was not reached is left out, and so is every place of what cannot be read twice, or only dearly:
    standard input, a URL, kept tables, a large archive."""
    wanted: dict[str, set[int]] = {}
    for file, line in places:
        wanted.setdefault(file, set()).add(line)
    if not wanted or not _is_at_hand(bundle):
        return {}
    going, found = _Pass(BRIEF_BYTES, BRIEF_SECONDS), dict[tuple[str, int], list[tuple[int, str]]]()
    try:
        with _opened(bundle) as opened:
            members = _by_name(opened)
            for file, lines in wanted.items():
                last, near = max(lines) + context, dict[int, str]()
                for number, text in going.lines(members[file]) if file in members else ():
                    if number > last:
                        break
                    if any(abs(number - line) <= context for line in lines):
                        near[number] = _shown(text)
                for line in lines & near.keys():
                    found[file, line] = [(at, near[at]) for at in sorted(near) if abs(at - line) <= context]
    except BundleError:
        return {}
    return found


def _is_at_hand(bundle: str) -> bool:
    """A folder, or a file that is soon unpacked."""
    return os.path.isdir(bundle) or (os.path.isfile(bundle) and os.path.getsize(bundle) <= ARCHIVE_BYTES)


def search(bundle: str, text: str, *, files: str = "", context: int = 0, most: int = 20) -> Search:
    """Lines that hold `text`, whatever their case, in members whose name holds `files`. Raises BundleError."""
    asked, hits, more, going = text.lower(), list[Hit](), 0, _Pass()
    with _opened(bundle) as opened:
        for name, source in sorted(_by_name(opened).items()):
            if files not in name:
                continue
            before: deque[str] = deque(maxlen=context)
            open_hits: list[Hit] = []
            for number, line in going.lines(source):
                for hit in open_hits:
                    hit.after.append(_shown(line))
                open_hits = [hit for hit in open_hits if len(hit.after) < context]
                if asked in line.lower():
                    if len(hits) < most:
                        hits.append(Hit(name, number, _shown(line), [*map(_shown, before)], []))
                        open_hits += hits[-1:] if context else []
                    else:
                        more += 1
                before.append(line)
    return Search(hits, more, going.ended)


def unread(bundle: str, tables: Mapping[TableName, pl.DataFrame]) -> Unread:
    """What nobody has read of the bundle that these tables were made of. A line is read if a row is of it, or a parser claims
    it. Raises BundleError."""
    known = {
        str(file): frozenset(lines)
        for file, lines in spelled(lines_of(dict(tables))).group_by("file").agg("line").iter_rows()
    }
    whole = dict(tables["files"].filter(pl.col("lines") == pl.col("recognised")).select("file", "lines").iter_rows())
    going, forms = _Pass(), dict[str, _Form]()
    with _opened(bundle) as opened:
        told, year = speakers(opened.sources), years.of_bundle(opened.sources, None)
        for name, source in sorted(_by_name(opened).items()):
            if name not in whole:
                _gather(forms, name, told.of(source), year, known.get(name, frozenset()), going)
    rows = [{"template": form, **found.row()} for form, found in forms.items()]
    return Unread(pl.DataFrame(rows, schema_overrides=UNREAD_SCHEMA, schema=list(UNREAD_SCHEMA)), going.ended)


class _Form:
    """Lines alike but for their digits."""

    def __init__(self, file: str, line: int) -> None:
        self.file, self.line, self.count = file, line, 0
        self.ranks: set[int] = set()
        self.files: set[str] = set()
        self.times: dict[str, tuple[int, int]] = {}  # by their basis: first, last

    def add(self, file: str, line: Line, rank: int | None) -> None:
        self.count += 1
        self.files.add(file)
        rank = rank if line.rank is None else line.rank
        self.ranks |= {rank} if rank is not None else set()
        if line.time_ns is not None and line.time_basis is not None:
            first, last = self.times.get(line.time_basis, (line.time_ns, line.time_ns))
            self.times[line.time_basis] = min(first, line.time_ns), max(last, line.time_ns)

    def row(self) -> dict[str, object]:
        basis, (first, last) = next(iter(self.times.items()), (None, (None, None)))
        return {
            "count": self.count, "rank": sorted(self.ranks), "files": len(self.files), "first_ns": first, "last_ns": last,
            "basis": basis, "file": self.file, "line": self.line,
        }  # fmt: skip


def _gather(forms: dict[str, _Form], name: str, source: Source, year: Around, known: Set[int], going: _Pass) -> None:
    habits = Habits(year, labels=source.labels)
    for number, text in going.lines(source):
        if number in known or not text.strip():
            continue
        looked = prefixes.strip(text, habits)
        form = template(looked.text)
        found = forms.get(form)
        if found is None:
            if len(forms) >= _FORMS:
                going.ended = f"after {_FORMS:,} forms of lines"
                return
            found = forms[form] = _Form(name, number)
        found.add(name, looked, source.rank)


def _shown(text: str) -> str:
    whole = mask(text)
    return whole if len(whole) <= _TEXT else f"{whole[: _TEXT * 2 // 5]} … {whole[-_TEXT * 3 // 5 :]}"
