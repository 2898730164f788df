"""Candidate lines of many files, without their decoration → the frames that line parsers read.

A call of a parser costs the same for one line as for a thousand, so files share it. Where a parser fails, each file is
tried alone, then each half of its lines, and so on: only the lines that it fails on are lost.
"""

from array import array
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import polars as pl
from msgspec.structs import astuple

from parsers.engine import windows
from parsers.engine.gathered import Found, Scanned
from parsers.schema.bounds import bounded
from parsers.schema.literals import slim
from parsers.schema.merging import compact, files_of, places
from parsers.schema.parser import LINES, LineParser, Source
from parsers.schema.tables import SCHEMAS, Tables, table
from parsers.who.learnt import tasks
from parsers.who.lines import prefixes
from parsers.who.lines.collected import Habits, Line

LINES_AT_MOST = 200_000  # then it is time to parse
TEXT_AT_MOST = 32 << 20
_PLACES = 64  # at which texts begin in their lines
AT_ONCE = 8192  # lines that are objects at a time; then they are rows of a frame
FAILURES = 50  # lines looked for one by one on which a parser fails; beyond these, a stretch is lost whole
# What a parser with a defect raises; the panic of a library below polars is no Exception.
DEFECTS: tuple[type[BaseException], ...] = (Exception, pl.exceptions.PanicException)

_LINES = [name for name in LINES if name != "hit"]
_REST = "rest"  # of the text, behind a label that was learnt; null where there is none
_ABOVE = "above"  # the host whose section of the file a line is in; null where it has none
_COLUMNS = {**LINES, _REST: pl.String(), _ABOVE: pl.String()}
_SAID = Line.__struct_fields__[:8]  # up to time_basis


class Candidates:
    """The lines that wait for the line parsers."""

    def __init__(self, parsers: Sequence[LineParser]) -> None:
        self.parsers = tuple(parsers)
        self._clear()

    def _clear(self) -> None:
        self._frames: list[pl.DataFrame] = []
        # Of different lines.
        self._columns: dict[str, list[Any]] = {name: [] for name in (*_LINES, _REST, _ABOVE) if name != "line"}
        self._which: list[int] = []  # of them each line is,
        self._numbers: list[int] = []  # and its number in its file
        self._rows = [array("I") for _ in self.parsers]
        self._hits = [bytearray() for _ in self.parsers]
        self._lines = self._bytes = 0

    def add(self, source: Source, scanned: Scanned, habits: Habits, others: Sequence[Line] = ()) -> bool:
        """Take the candidates of a file; `scanned` no longer holds them afterwards. → whether the tasks that its lines
        name, those of `others` that were read elsewhere included, are ranks."""
        for number, rows in scanned.rows.items():
            self._rows[number].extend(map(self._lines.__add__, rows))
            self._hits[number].extend(scanned.hits[number])
        found, scanned.found = scanned.found, Found()
        self._lines += len(found)
        self._bytes += sum(map(len, found.texts))
        with_task: list[Line] = []
        for at in range(0, len(found), AT_ONCE):
            some = slice(at, at + AT_ONCE)
            with_task += self._take(source, found.lines[some], found.texts[some], habits)
            found.texts[some] = [b""] * len(found.texts[some])  # its rows are elsewhere now
        tasks_are_ranks = source.rank is None and tasks.are_ranks([*with_task, *others])
        if tasks_are_ranks:
            self._rank_by_task(source)
        return tasks_are_ranks

    def _take(self, source: Source, lines: Sequence[int], texts: Sequence[bytes], habits: Habits) -> list[Line]:
        """Some lines of a file, their numbers and contents, become rows → those that print a task. What is said again is
        stripped once."""
        columns = self._columns
        first = len(columns["raw"])
        own = source.labels
        above = [own.host_at(line) for line in lines] if own.sections else [None] * len(texts)
        said_at = [*zip(texts, above, strict=True)]
        numbers = {one: number for number, one in enumerate(dict.fromkeys(said_at), first)}
        raws = [text.decode("utf-8", "replace") for text, _ in numbers]
        stripped = [prefixes.strip(raw, habits) for raw in raws]
        for name, said in zip(_SAID, zip(*map(astuple, stripped), strict=True), strict=False):
            columns[name].extend(said)
        columns["raw"].extend(raws)
        columns[_ABOVE].extend(host for _, host in numbers)
        columns[_REST].extend(line.rest for line in stripped)
        for name, value in path_columns(source).items():
            columns[name].extend([value] * len(raws))
        which = [numbers[one] for one in said_at]
        self._which.extend(which)
        self._numbers.extend(lines)
        if len(self._which) >= AT_ONCE:
            self._flush()
        return [line for at in which if (line := stripped[at - first]).task is not None]

    def _flush(self) -> None:
        """Rows become a frame, which takes a fourth of their memory, and less where they are many."""
        raws, texts = self._columns["raw"], self._columns["text"]
        raw = pl.Series(raws, dtype=pl.String)
        made = {name: pl.Series(own, dtype=_COLUMNS[name]) for name, own in self._columns.items() if own is not texts}
        frame = pl.DataFrame(made | {"raw": raw, "text": _cut(raw, raws, texts)})
        if len(self._which) > frame.height:
            frame = frame[self._which]
        numbered = frame.with_columns(line=pl.Series(self._numbers, dtype=LINES["line"]))
        self._frames.append(slim(numbered.select(*_LINES, _REST, _ABOVE)))
        for values in (*self._columns.values(), self._which, self._numbers):
            values.clear()

    def _rank_by_task(self, source: Source) -> None:
        """The task of each line of a file is its rank, where it prints none."""
        self._flush()
        own = pl.col("file") == source.path
        rank = pl.when(own).then(pl.coalesce("rank", "task")).otherwise("rank").alias("rank")
        self._frames = [frame.with_columns(rank) for frame in self._frames]

    @property
    def is_full(self) -> bool:
        """Whether it is time to parse."""
        return self._lines > LINES_AT_MOST or self._bytes > TEXT_AT_MOST

    def parse(self) -> Iterator[tuple[str, Tables]]:
        """(name of the parser, what it read), and no line is left."""
        if not self._lines:
            return
        if self._lines > AT_ONCE:
            windows.let_go()
        self._flush()
        whole = pl.concat(self._frames, rechunk=True)
        rows, hits = self._rows, self._hits
        self._clear()
        files, known = files_of(whole), [pl.Series(dtype=pl.Int64)]  # places that somebody has read
        rest = whole[_REST]
        has_rest = rest.count() > 0
        # What no parser has read with a label before it, is read without; and what none knows, is read by form, either way.
        ways = (False, True) if has_rest else (False,)
        where, numbers = places(whole, files), range(len(self.parsers))
        known_ones = [(number, way) for way in ways for number in numbers if not self.parsers[number].leftover]
        leftover = [(number, way) for way in reversed(ways) for number in numbers if self.parsers[number].leftover]
        for number, is_rest in (*known_ones, *leftover):
            parser, own = self.parsers[number], rows[number]
            if 1 not in hits[number]:  # what comes along with others' hits tells nothing alone
                continue
            chosen = pl.DataFrame({"at": own, "hit": hits[number]}, schema={"at": pl.UInt32, "hit": pl.UInt8})
            if is_rest:
                chosen = chosen.filter(rest[chosen["at"]].is_not_null())
            if is_rest or parser.leftover:
                is_new = ~where[chosen["at"]].is_in(pl.concat(known).implode())
                # Who compares the last lines of a file needs them all, and reads but what is new.
                chosen = chosen.with_columns(pl.col("hit") * is_new) if parser.ends else chosen.filter(is_new)
            if not chosen["hit"].max():
                continue
            told = {"hit": chosen["hit"].cast(pl.Boolean)} | ({"text": pl.col(_REST)} if is_rest else {})
            told |= {"path_host": pl.coalesce(_ABOVE, "path_host")} if parser.of_host else {}
            frame = whole[chosen["at"]].with_columns(**told).select(list(LINES))
            lost: list[dict[str, Any]] = []
            for found in _parse(parser, frame, lost):
                known += [places(part, files).drop_nulls() for part in found.values() if part.height]
                yield parser.name, found
            if lost:
                yield parser.name, {"unread": table("unread", lost)}


def _cut(raw: pl.Series, raws: Sequence[str], texts: Sequence[str]) -> pl.Series:
    """`texts` as a column that shares its bytes with `raw`, the column of `raws`: most begin at one of a few places, and of
    those that are cut at one place polars makes a slice."""
    by_place: defaultdict[int, list[int]] = defaultdict(list)
    for at, (whole, text) in enumerate(zip(raws, texts, strict=True)):
        by_place[len(whole) - len(text) if whole.endswith(text) else -1].append(at)
    if len(by_place) > _PLACES or -1 in by_place:
        return pl.Series(texts, dtype=pl.String)
    parts = [raw.gather(own).str.slice(place) for place, own in by_place.items()]
    return pl.concat(parts).gather(pl.Series(chain(*by_place.values())).arg_sort()) if parts else raw


def _parse(parser: LineParser, frame: pl.DataFrame, lost: list[dict[str, Any]]) -> Iterator[Tables]:
    """What the parser reads; the lines on which it fails go to `lost`, as rows of `unread`."""
    try:
        yield checked({name: compact(found) for name, found in parser.parse(frame).items()})
    except DEFECTS as error:
        parts = frame.partition_by("file", maintain_order=True)
        if len(parts) == 1 and frame.height > 1 and len(lost) < FAILURES and not isinstance(error, WrongTable):
            parts = [frame[: frame.height // 2], frame[frame.height // 2 :]]
        if len(parts) > 1:
            for part in parts:
                yield from _parse(parser, part, lost)
        else:
            line = frame["line"][0] if frame.height == 1 else None
            lost.append({"file": frame["file"][0], "line": line, "reason": failed(parser.name, error)})


class WrongTable(TypeError):
    """A table without the declared columns: a defect, whatever the lines."""


def path_columns(source: Source) -> dict[str, Any]:
    """What the path of a file tells, as columns of LINES."""
    path = {"file": source.path, "path_rank": source.rank, "path_local_rank": source.local_rank}
    return path | {"path_host": source.host, "attempt": source.attempt}


def checked(tables: Tables) -> Tables:
    """The tables of a parser, without what is impossible, if they have the declared columns; else WrongTable."""
    for name, frame in tables.items():
        if dict(frame.schema) != dict(SCHEMAS[name]):
            raise WrongTable(f"table {name} has not the declared columns")
    return bounded(tables)


def failed(name: str, error: BaseException) -> str:
    """Why a file is `unread` where a parser has a defect."""
    return f"parser {name} failed: {message(error)}"


def message(error: BaseException) -> str:
    """An error in one line."""
    return (f"{type(error).__name__}: {error}".splitlines() or [""])[0][:300]
