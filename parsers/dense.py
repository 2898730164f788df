"""The way for files that are one line form a million times over: columns by expressions, no call per line.

The scan calls back for each anchored line, which suits lines that are rare. Where a window of a file is dense with one
form, `DenseReader.take` reads it with that form's expressions and gives back the window with the lines it took blanked:
line numbers stay as they are, and the scan goes over what is left. Of a file, at most ROWS rows are kept, the first and
the last half; what is lost has a row of `unread`.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

import msgspec
import polars as pl

from parsers import prefixes
from parsers.parser import LINES
from parsers.tables import TableName, Tables, conform, table

ROWS = 4_000_000
SAMPLE_BYTES = 1 << 20
NEAR_BYTES = 1 << 16
FEWEST = 500  # lines in the sample: less is no density
HEAD_LINES = 24

# Prefixes of lines (what stands before the form's own words), one per row → a frame of schema LINES, line = row number.
Decorate = Callable[[pl.Series], pl.DataFrame]


class DenseLines(Protocol):
    """Reads one form in one file; what repeats from line to line (prefixes) is read once and remembered."""

    def read(self, window: pl.DataFrame) -> tuple[pl.Series, pl.DataFrame]:
        """Columns line and text → (taken, kept): Boolean, one per line; and a narrow row per taken line."""

    def rows(self, kept: pl.DataFrame) -> pl.DataFrame:
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
        self._forms = [_Form(form, form.start(self._decorate)) for form in forms]

    def wants(self, block: bytes | bytearray, end: int) -> bool:
        """Whether the window `block[:end]` may be dense: a look at its beginning, far cheaper than `take`."""
        return any(block.find(form.dense.anchor, 0, min(end, NEAR_BYTES)) >= 0 for form in self._forms)

    def take(self, block: bytes, first_line: int) -> bytes:
        """A window that begins with line `first_line` → the window that is left for the scan, with as many lines."""
        if self._habits is None:
            first = (raw.decode("utf-8", "replace") for raw in block[: 64 * 1024].split(b"\n")[:HEAD_LINES])
            self._habits = prefixes.habits(first, self._year)
        for form in self._forms:
            if _is_dense(block, form.dense.anchor):
                block = form.take(block, first_line)
        return block

    def tables(self) -> Tables:
        """What was read, and what was lost."""
        made: dict[TableName, pl.DataFrame] = {}
        for form in self._forms:
            if form.head:
                rows = form.lines.rows(pl.concat([*form.head, *form.tail], rechunk=True))
                made[form.dense.name] = conform(form.dense.name, rows.with_columns(file=pl.lit(self._path["file"])))
            if form.lost:
                reason = f"{form.lost} lines of {form.dense.parser} beyond the limit of {ROWS} rows were not kept"
                made["unread"] = table("unread", [{"file": self._path["file"], "reason": reason}])
        return made

    def parsers(self) -> set[str]:
        """Names of the line parsers in whose place lines were read."""
        return {form.dense.parser for form in self._forms if form.head}

    def _decorate(self, heads: pl.Series) -> pl.DataFrame:
        habits = self._habits or prefixes.Habits()
        stripped = [prefixes.strip(head, habits) for head in heads.to_list()]
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

    def take(self, block: bytes, first_line: int) -> bytes:
        window = _lines(block).with_row_index("line", offset=first_line)
        taken, kept = self.lines.read(window)
        self._keep(kept)
        if not kept.height:
            return block
        if kept.height == window.height:
            return b"\n" * (kept.height - (not block.endswith(b"\n")))
        left = window.select(pl.when(~taken).then("text").otherwise(pl.lit("")).str.join("\n")).item()
        return str(left).encode() + (b"\n" if block.endswith(b"\n") else b"")

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


def _is_dense(block: bytes, anchor: bytes) -> bool:
    lines = block.count(b"\n", 0, SAMPLE_BYTES)
    return lines >= FEWEST and block.count(anchor, 0, SAMPLE_BYTES) * 2 >= lines


def _lines(block: bytes) -> pl.DataFrame:
    try:
        return pl.read_lines(block, name="text")
    except pl.exceptions.PolarsError:  # invalid UTF-8
        return pl.read_lines(block.decode("utf-8", "replace").encode(), name="text")
