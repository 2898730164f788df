"""The way for files that are one line form a million times over: columns by expressions, no call per line.

The scan calls back for each anchored line, which suits lines that are rare. Where a window of a file holds many lines of
one form, `DenseReader.take` reads them as columns, lines of as many words together (stretch.py), and gives back the window with
the lines it took blanked: line numbers stay as they are, and the scan goes over what is left. Of a file, at most ROWS rows are
kept, the first and the last half; what is lost has a row of `unread`.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import reduce
from operator import itemgetter, or_
from typing import Any, Protocol

import msgspec
import polars as pl

from parsers.engine.stretch import Cuts, Stretch
from parsers.schema.labels import NO_LABELS, Labels
from parsers.schema.literals import spread
from parsers.schema.parser import LINES
from parsers.schema.tables import SCHEMAS, TableName, Tables, table
from parsers.text import lent
from parsers.text.lent import Block
from parsers.text.stamps import Around
from parsers.who.lines import prefixes
from parsers.who.lines.collected import Habits, Line

ROWS = 4_000_000
SAMPLE_BYTES = 1 << 20
NEAR_BYTES = 1 << 16
FEWEST = 500  # lines of a form in the sample: less is no density
ALIKE = 64  # lines of a form with as many words, in a piece: fewer cost less one by one
PIECE = 4 << 20  # bytes that are columns at a time
HEAD_LINES = 24
_END = ord("\n")
_CUT_HERE = (b" stdout P ", b" stderr P ")  # in a piece of a line that is not its last
_MARKED = r"^[0-9T:.+Z-]{20,64} std(?:out|err) [PF] "
_TRIED = 8  # lines that may tell where lines like them are cut

# Prefixes of lines (what stands before the form's own words), one per row → a frame of schema LINES, line = row number.
Decorate = Callable[[pl.Series], pl.DataFrame]


class DenseLines(Protocol):
    """Reads one form in one file; what repeats from line to line (prefixes) is read once and remembered."""

    # Of lines that were taken: what the line parser must have seen, to read others as if it had all.
    beginnings: list[str]

    def cuts(self, line: str) -> Cuts | None:
        """Where lines like this one are cut; None: it is not of the form."""

    def read(self, parts: pl.DataFrame, is_plain: bool) -> tuple[pl.Series, pl.DataFrame]:
        """Stretch.parts → which lines are taken, and a narrow row for each of these. `is_plain`: as Stretch.is_plain."""

    def kept(self, rows: pl.DataFrame) -> None:
        """These narrow rows, all or some of the last ones read, are kept; their lines are taken."""

    def rows(self, kept: pl.DataFrame, tasks_are_ranks: bool) -> tuple[pl.DataFrame, pl.Series]:
        """Narrow rows → the different rows of the table that they are, and which of these each one is. What differs from
        row to row, `line` included, is a column of the narrow rows already, and `file` is added."""


class Dense(msgspec.Struct, frozen=True):
    """A line form: `parser` would read its lines one by one, `name` is its table."""

    parser: str
    name: TableName
    anchor: bytes
    words: int  # parted by spaces: no line of the form has fewer
    start: Callable[[Decorate], DenseLines]


class DenseReader:
    """Reads the dense windows of one file. `path`: columns file, path_rank, path_local_rank, path_host, attempt."""

    def __init__(
        self, forms: Iterable[Dense], path: Mapping[str, Any], around: Around | None = None, labels: Labels = NO_LABELS
    ) -> None:
        self._path = dict(path)
        self._around, self._labels = around, labels
        self._habits: Habits | None = None
        self._is_marked = False  # whether a line says that it is a piece of one, or the last
        self.heads: list[Line] = []  # distinct beginnings of lines that print a task (tasks.py)
        self._forms = [_Form(form, form.start(self._decorate), self._pieces_of_lines) for form in forms]

    def wants(self, block: bytes | bytearray, end: int) -> bool:
        """Whether the window `block[:end]` may be dense: a look at its beginning, far cheaper than `take`. Every window is asked
        for, and the first tells the habits of the file."""
        if self._habits is None:
            first = bytes(block[: min(end, NEAR_BYTES)]).split(b"\n", HEAD_LINES)[:HEAD_LINES]
            decoded = (raw.decode("utf-8", "replace") for raw in first)
            self._habits = prefixes.habits(decoded, self._around, self._labels)
        return any(block.find(form.dense.anchor, 0, min(end, NEAR_BYTES)) >= 0 for form in self._forms)

    def take(self, block: Block, end: int, first_line: int) -> tuple[Block, int]:
        """A window `block[:end]` that begins with line `first_line` → the window that is left for the scan, with as many
        lines."""
        forms = [form for form in self._forms if form.is_dense(block, end)]
        if not forms:
            return block, end
        left: list[Block | memoryview] = []
        for at, stop in _pieces(block, end):
            is_ended = block[stop - 1] == _END
            stretch = Stretch(block, at, stop) if is_ended else _ended(block, at, stop)
            left += _without(stretch, reduce(or_, [form.take(stretch, first_line) for form in forms]))
            if not is_ended:
                left[-1] = left[-1][:-1]
            first_line += stretch.lines
        window = b"".join(left)
        return window, len(window)

    def tables(self, tasks_are_ranks: bool = False) -> Tables:
        """What was read, and is held no longer, and what was lost. `tasks_are_ranks`: whether the file says so (parsers/who/learnt/tasks.py)."""
        made: dict[TableName, pl.DataFrame] = {}
        for form in self._forms:
            if form.head:
                kept = pl.concat([*form.head, *form.tail], rechunk=True)
                form.head.clear()
                form.tail.clear()
                different, which = form.lines.rows(kept, tasks_are_ranks)
                schema = SCHEMAS[form.dense.name]
                different = different.with_columns(file=pl.lit(self._path["file"]))
                own = kept.select(name for name in kept.columns if name in schema)
                made[form.dense.name] = spread(schema, different, which, own)
            if form.lost:
                reason = f"{form.lost} lines of {form.dense.parser} beyond the limit of {ROWS} rows were not kept"
                made["unread"] = table("unread", [{"file": self._path["file"], "reason": reason}])
        return made

    def memory(self) -> int:
        """Bytes that what was read takes."""
        return sum(int(rows.estimated_size()) for form in self._forms for rows in (*form.head, *form.tail))

    def parsers(self) -> set[str]:
        """Names of the line parsers in whose place lines were read."""
        return {form.dense.parser for form in self._forms if form.head_rows}

    def beginnings(self) -> dict[str, list[str]]:
        """By the name of a line parser what it must have seen of the lines that were taken in its place."""
        return {form.dense.parser: form.lines.beginnings for form in self._forms if form.lines.beginnings}

    def _pieces_of_lines(self, stretch: Stretch) -> pl.Series | None:
        """Which lines Kubernetes may have cut one into, so that only the scan can put them together; None: it cut none."""
        if not self._is_marked:
            return None
        before = stretch.block.rfind(b"\n", 0, max(stretch.begin - 1, 0)) + 1
        if not any(stretch.block.find(mark, before, stretch.end) >= 0 for mark in _CUT_HERE):
            return None
        is_cut = reduce(or_, map(stretch.having, _CUT_HERE))
        is_after = any(stretch.block.find(mark, before, stretch.begin) >= 0 for mark in _CUT_HERE)
        return is_cut | is_cut.shift(1, fill_value=is_after)

    def _decorate(self, heads: pl.Series) -> pl.DataFrame:
        habits = self._habits or Habits()
        stripped = [prefixes.strip(head, habits) for head in heads.to_list()]
        self._is_marked = self._is_marked or bool(heads.str.contains(_MARKED).any())
        self.heads += [line for line in stripped if line.task is not None]
        said = ("text", "rank", "local_rank", "task", "host", "process", "time_ns", "time_basis")
        columns: dict[str, Any] = {name: [getattr(line, name) for line in stripped] for name in said}
        columns |= {"line": range(len(stripped)), "raw": heads, "hit": [True] * len(stripped)}
        columns |= {name: [self._path.get(name)] * len(stripped) for name in LINES if name not in columns}
        return pl.DataFrame({name: columns[name] for name in LINES}, schema=dict(LINES))


class _Form(msgspec.Struct):
    """A form in one file, and its narrow rows: the first ones, and a moving tail once the limit is near."""

    dense: Dense
    lines: DenseLines
    pieces_of_lines: Callable[[Stretch], pl.Series | None]
    head: list[pl.DataFrame] = msgspec.field(default_factory=list)
    tail: deque[pl.DataFrame] = msgspec.field(default_factory=deque)
    head_rows: int = 0
    tail_rows: int = 0
    lost: int = 0

    def is_dense(self, block: Block, end: int) -> bool:
        """Whether a window holds many such lines; of what is left of a dense file, as many for its length."""
        sample = min(end, SAMPLE_BYTES)
        found = block.count(self.dense.anchor, 0, sample)
        return found >= FEWEST or (bool(self.head_rows) and found * SAMPLE_BYTES >= FEWEST * sample)

    def take(self, stretch: Stretch, first_line: int) -> pl.Series:
        """Which lines of a stretch that begins with line `first_line` were taken."""
        numbers = pl.int_range(first_line, first_line + stretch.lines, dtype=pl.UInt32, eager=True)
        if stretch.alike and (cuts := self._cuts(stretch)):
            return self._keep(stretch, first_line, *self._read(stretch, cuts, numbers))
        words = stretch.words
        is_long = words >= self.dense.words
        own = is_long.scatter(lent.places(is_long), stretch.having(self.dense.anchor, is_long))
        taken = pl.repeat(False, stretch.lines, eager=True)
        found: list[pl.DataFrame] = []
        counts = words.filter(own).value_counts().rows()
        for count, lines in sorted(counts, key=itemgetter(1, 0), reverse=True):
            mask = own & (words == count)
            some = stretch.only(mask) if lines >= ALIKE else None
            if some is not None and (cuts := self._cuts(some)):
                is_taken, rows = self._read(some, cuts, numbers.filter(mask))
                found.append(rows)
                taken = taken.scatter(lent.places(mask).filter(is_taken), True)
        if not found:
            return taken
        rows = pl.concat(found).sort("line") if len(found) > 1 else found[0]
        return self._keep(stretch, first_line, taken, rows)

    def _cuts(self, stretch: Stretch) -> Cuts | None:
        """Where the lines of a stretch are cut, as one of the first of them says."""
        return next(filter(None, map(self.lines.cuts, stretch.first(_TRIED))), None)

    def _read(self, stretch: Stretch, cuts: Cuts, numbers: pl.Series) -> tuple[pl.Series, pl.DataFrame]:
        text = stretch.as_text()  # whose bytes the parts are, as long as they are read
        taken, rows = self.lines.read(text.parts(cuts), stretch.is_plain)
        own = numbers if rows.height == len(numbers) else numbers.filter(taken)
        return taken, rows.insert_column(0, own.alias("line"))

    def _keep(self, stretch: Stretch, first_line: int, taken: pl.Series, rows: pl.DataFrame) -> pl.Series:
        """Keep what was read of a stretch → which of its lines were taken: no pieces of lines."""
        if rows.height and (pieces := self.pieces_of_lines(stretch)) is not None:
            rows = rows.filter(~pieces.gather(rows["line"] - first_line))
            taken &= ~pieces
        if rows.height:
            self.lines.kept(rows)
            self._add(rows)
        return taken

    def _add(self, rows: pl.DataFrame) -> None:
        if self.head_rows < ROWS // 2:
            self.head.append(rows)
            self.head_rows += rows.height
            return
        self.tail.append(rows)
        self.tail_rows += rows.height
        while self.tail_rows - self.tail[0].height > ROWS // 2:
            lost = self.tail.popleft().height
            self.tail_rows -= lost
            self.lost += lost


def _ended(block: Block, at: int, stop: int) -> Stretch:
    """The last lines of a file that ends without line end, as if it had one; the line before them stays before them."""
    before = block.rfind(b"\n", 0, max(at - 1, 0)) + 1
    return Stretch(bytes(block[before:stop]) + b"\n", at - before, stop - before + 1)


def _pieces(block: Block, size: int) -> Iterator[tuple[int, int]]:
    """A window in parts of whole lines: where each begins and ends."""
    at = 0
    while at < size:
        end = (block.rfind(b"\n", at, min(at + PIECE, size)) + 1) or (block.find(b"\n", at, size) + 1) or size
        end = end if end > at else size
        yield at, end
        at = end


def _without(stretch: Stretch, taken: pl.Series) -> list[Block | memoryview]:
    """A stretch in pieces, the lines that were taken blanked."""
    view = memoryview(stretch.block)[stretch.begin : stretch.end]
    if taken.all():
        return [b"\n" * stretch.lines]
    if not taken.any():
        return [view]
    # Where lines that were taken follow others, or the reverse.
    turns = lent.places((taken != taken.shift(1)).fill_null(True))
    borders = [*turns.to_list(), stretch.lines]
    places = stretch.begins.gather(borders).to_list()
    runs: list[Block | memoryview] = [b""] * len(turns)
    first = 0 if taken[0] else 1
    kept = zip(places[1 - first : -1 : 2], places[2 - first :: 2], strict=False)
    # Of views as many the collector would look at.
    runs[1 - first :: 2] = [view[begin:end].tobytes() for begin, end in kept]
    blank = zip(borders[first:-1:2], borders[first + 1 :: 2], strict=False)
    runs[first::2] = [b"\n" * (after - line) for line, after in blank]
    return runs
