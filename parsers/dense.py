"""The way for files that are one line form a million times over: columns by expressions, no call per line.

The scan calls back for each anchored line, which suits lines that are rare. Where a window of a file holds many lines of
one form, `DenseReader.take` reads them as columns, lines of as many words together (stretch.py), and gives back the window with
the lines it took blanked: line numbers stay as they are, and the scan goes over what is left. Of a file, at most ROWS rows are
kept, the first and the last half; what is lost has a row of `unread`.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import reduce
from itertools import pairwise
from operator import or_
from typing import Any, Protocol

import msgspec
import polars as pl

from parsers import lent, prefixes
from parsers.lent import Block
from parsers.literals import spread
from parsers.parser import LINES
from parsers.stamps import Around
from parsers.stretch import Cuts, Stretch
from parsers.tables import SCHEMAS, TableName, Tables, table

ROWS = 4_000_000
SAMPLE_BYTES = 1 << 20
NEAR_BYTES = 1 << 16
FEWEST = 500  # lines of a form in the sample: less is no density
ALIKE = 64  # lines of a form with as many words, in a piece: fewer cost less one by one
PIECE = 4 << 20  # bytes that are columns at a time
HEAD_LINES = 24
_END = ord("\n")
_TRIED = 8  # lines that may tell where lines like them are cut

# Prefixes of lines (what stands before the form's own words), one per row → a frame of schema LINES, line = row number.
Decorate = Callable[[pl.Series], pl.DataFrame]


class DenseLines(Protocol):
    """Reads one form in one file; what repeats from line to line (prefixes) is read once and remembered."""

    def cuts(self, line: str) -> Cuts | None:
        """Where lines like this one are cut; None: it is not of the form."""

    def read(self, parts: pl.DataFrame, is_plain: bool) -> tuple[pl.Series, pl.DataFrame]:
        """Stretch.parts → which lines are taken, and a narrow row for each of these. `is_plain`: as Stretch.is_plain."""

    def rows(self, kept: pl.DataFrame, tasks_are_ranks: bool) -> tuple[pl.DataFrame, pl.Series]:
        """Narrow rows → the different rows of the table that they are, and which of these each one is. What differs from
        row to row, `line` included, is a column of the narrow rows already, and `file` is added."""


class Dense(msgspec.Struct, frozen=True):
    """A line form: `parser` would read its lines one by one, `name` is its table."""

    parser: str
    name: TableName
    anchor: bytes
    start: Callable[[Decorate], DenseLines]


class DenseReader:
    """Reads the dense windows of one file. `path`: columns file, path_rank, path_local_rank, path_host, attempt."""

    def __init__(self, forms: Iterable[Dense], path: Mapping[str, Any], around: Around | None = None) -> None:
        self._path = dict(path)
        self._around = around
        self._habits: prefixes.Habits | None = None
        self.heads: list[prefixes.Line] = []  # distinct beginnings of lines that print a task (tasks.py)
        self._forms = [_Form(form, form.start(self._decorate)) for form in forms]

    def wants(self, block: bytes | bytearray, end: int) -> bool:
        """Whether the window `block[:end]` may be dense: a look at its beginning, far cheaper than `take`."""
        return any(block.find(form.dense.anchor, 0, min(end, NEAR_BYTES)) >= 0 for form in self._forms)

    def take(self, block: Block, end: int, first_line: int) -> tuple[Block, int]:
        """A window `block[:end]` that begins with line `first_line` → the window that is left for the scan, with as many
        lines."""
        if self._habits is None:
            first = (raw.decode("utf-8", "replace") for raw in block[: min(end, NEAR_BYTES)].split(b"\n")[:HEAD_LINES])
            self._habits = prefixes.habits(first, self._around)
        forms = [form for form in self._forms if form.is_dense(block, end)]
        if not forms:
            return block, end
        left: list[Block | memoryview] = []
        for at, stop in _pieces(block, end):
            is_ended = block[stop - 1] == _END
            stretch = Stretch(block, at, stop) if is_ended else Stretch(bytes(block[at:stop]) + b"\n", 0, stop - at + 1)
            left += _without(stretch, reduce(or_, [form.take(stretch, first_line) for form in forms]))
            if not is_ended:
                left[-1] = left[-1][:-1]
            first_line += stretch.lines
        window = b"".join(left)
        return window, len(window)

    def tables(self, tasks_are_ranks: bool = False) -> Tables:
        """What was read, and is held no longer, and what was lost. `tasks_are_ranks`: whether the file says so (parsers/tasks.py)."""
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

    def _decorate(self, heads: pl.Series) -> pl.DataFrame:
        habits = self._habits or prefixes.Habits()
        stripped = [prefixes.strip(head, habits) for head in heads.to_list()]
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
            taken, rows = self._read(stretch, cuts, numbers)
            self._keep(rows)
            return taken
        own, words = stretch.having(self.dense.anchor), stretch.words
        taken = pl.repeat(False, stretch.lines, eager=True)
        found: list[pl.DataFrame] = []
        for count, lines in words.filter(own).value_counts().iter_rows():
            mask = own & (words == count)
            some = stretch.only(mask) if lines >= ALIKE else None
            if some is not None and (cuts := self._cuts(some)):
                is_taken, rows = self._read(some, cuts, numbers.filter(mask))
                found.append(rows)
                taken = taken.scatter(lent.places(mask).filter(is_taken), True)
        if found:
            self._keep(pl.concat(found).sort("line") if len(found) > 1 else found[0])
        return taken

    def _cuts(self, stretch: Stretch) -> Cuts | None:
        """Where the lines of a stretch are cut, as one of the first of them says."""
        return next(filter(None, map(self.lines.cuts, stretch.first(_TRIED))), None)

    def _read(self, stretch: Stretch, cuts: Cuts, numbers: pl.Series) -> tuple[pl.Series, pl.DataFrame]:
        text = stretch.as_text()  # whose bytes the parts are, as long as they are read
        taken, rows = self.lines.read(text.parts(cuts), stretch.is_plain)
        own = numbers if rows.height == len(numbers) else numbers.filter(taken)
        return taken, rows.insert_column(0, own.alias("line"))

    def _keep(self, rows: pl.DataFrame) -> None:
        if not rows.height:
            return
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
    turns = lent.places(
        (taken != taken.shift(1)).fill_null(True)
    )  # where lines that were taken follow others, or the reverse
    borders = [*turns.to_list(), stretch.lines]
    places = stretch.begins.gather(borders).to_list()
    runs: list[Block | memoryview] = [view[begin:end] for begin, end in pairwise(places)]
    first = 0 if taken[0] else 1
    runs[first::2] = [b"\n" * (after - line) for line, after in pairwise(borders)][first::2]
    return runs
