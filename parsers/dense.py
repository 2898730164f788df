"""The way for files that are one line form a million times over: columns by expressions, no call per line.

The scan calls back for each anchored line, which suits lines that are rare. Where a window of a file holds many lines of
one form, `DenseReader.take` reads them with that form's expressions and gives back the window with the lines it took blanked:
line numbers stay as they are, and the scan goes over what is left. Of a file, at most ROWS rows are kept, the first and
the last half; what is lost has a row of `unread`.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Protocol

import msgspec
import polars as pl

from parsers import prefixes
from parsers.parser import LINES
from parsers.tables import TableName, Tables, conform, table

ROWS = 4_000_000
SAMPLE_BYTES = 1 << 20
NEAR_BYTES = 1 << 16
FEWEST = 500  # lines of a form in the sample: less is no density
PIECE = 4 << 20  # bytes that are columns at a time
HEAD_LINES = 24

# Prefixes of lines (what stands before the form's own words), one per row → a frame of schema LINES, line = row number.
Decorate = Callable[[pl.Series], pl.DataFrame]


class DenseLines(Protocol):
    """Reads one form in one file; what repeats from line to line (prefixes) is read once and remembered."""

    def read(self, window: pl.DataFrame) -> pl.DataFrame:
        """Columns line and text → a narrow row, `line` in it, per line that is taken, in order."""

    def rows(self, kept: pl.DataFrame, tasks_are_ranks: bool) -> pl.DataFrame:
        """Narrow rows → rows of the table, without `file`."""


class Dense(msgspec.Struct, frozen=True):
    """A line form: `parser` would read its lines one by one, `name` is its table."""

    parser: str
    name: TableName
    anchor: bytes
    start: Callable[[Decorate], DenseLines]


class DenseReader:
    """Reads the dense windows of one file. `path`: columns file, path_rank, path_local_rank, path_host, attempt."""

    def __init__(self, forms: Iterable[Dense], path: Mapping[str, Any], year: int | None = None) -> None:
        self._path = dict(path)
        self._year = year
        self._habits: prefixes.Habits | None = None
        self.heads: list[prefixes.Line] = []  # distinct beginnings of lines that print a task (tasks.py)
        self._forms = [_Form(form, form.start(self._decorate)) for form in forms]

    def wants(self, block: bytes | bytearray, end: int) -> bool:
        """Whether the window `block[:end]` may be dense: a look at its beginning, far cheaper than `take`."""
        return any(block.find(form.dense.anchor, 0, min(end, NEAR_BYTES)) >= 0 for form in self._forms)

    def take(self, block: bytes, first_line: int) -> bytes:
        """A window that begins with line `first_line` → the window that is left for the scan, with as many lines."""
        if self._habits is None:
            first = (raw.decode("utf-8", "replace") for raw in block[: 64 * 1024].split(b"\n")[:HEAD_LINES])
            self._habits = prefixes.habits(first, self._year)
        forms = [form for form in self._forms if block.count(form.dense.anchor, 0, SAMPLE_BYTES) >= FEWEST]
        left = [block]
        if forms:
            left.clear()
            for piece in _pieces(block):
                window = lines_of(piece).with_row_index("line", offset=first_line)
                left.append(_without(piece, window, pl.concat([form.take(window) for form in forms]) - first_line))
                first_line += window.height
        return b"".join(left)

    def tables(self, tasks_are_ranks: bool = False) -> Tables:
        """What was read, and what was lost. `tasks_are_ranks`: whether the file says so (parsers/tasks.py)."""
        made: dict[TableName, pl.DataFrame] = {}
        for form in self._forms:
            if form.head:
                rows = form.lines.rows(pl.concat([*form.head, *form.tail], rechunk=True), tasks_are_ranks)
                made[form.dense.name] = conform(form.dense.name, rows.with_columns(file=pl.lit(self._path["file"])))
            if form.lost:
                reason = f"{form.lost} lines of {form.dense.parser} beyond the limit of {ROWS} rows were not kept"
                made["unread"] = table("unread", [{"file": self._path["file"], "reason": reason}])
        return made

    def memory(self) -> int:
        """Bytes that what was read takes."""
        return sum(int(rows.estimated_size()) for form in self._forms for rows in (*form.head, *form.tail))

    def parsers(self) -> set[str]:
        """Names of the line parsers in whose place lines were read."""
        return {form.dense.parser for form in self._forms if form.head}

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

    def take(self, window: pl.DataFrame) -> pl.Series:
        """Columns line and text → the lines that were taken."""
        has_anchor = window["text"].str.contains(self.dense.anchor.decode(), literal=True)
        kept = self.lines.read(window if has_anchor.all() else window.filter(has_anchor))
        self._keep(kept)
        return kept["line"]

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


def _pieces(block: bytes) -> Iterator[bytes]:
    """A window in parts of whole lines."""
    at = 0
    while at < len(block):
        end = (block.rfind(b"\n", at, at + PIECE) + 1) or (block.find(b"\n", at) + 1) or len(block)
        yield block[at:end]
        at = end


def _without(piece: bytes, window: pl.DataFrame, taken: pl.Series) -> bytes:
    """A part of a window with the rows `taken` of its lines blanked."""
    last = b"\n" if piece.endswith(b"\n") else b""
    if taken.is_empty():
        return piece
    if taken.len() == window.height:
        return b"\n" * (window.height - 1) + last
    is_taken = pl.repeat(False, window.height, eager=True).scatter(taken, True)
    left = window.select(pl.when(~is_taken).then("text").otherwise(pl.lit("")).str.join("\n")).item()
    return str(left).encode() + last


def lines_of(block: bytes) -> pl.DataFrame:
    """The lines of a block as the column `text`, invalid bytes replaced."""
    try:
        return pl.read_lines(block, name="text")
    except pl.exceptions.PolarsError:  # invalid UTF-8
        return pl.read_lines(block.decode("utf-8", "replace").encode(), name="text")
