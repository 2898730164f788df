"""What a parser is. A parser turns bytes into evidence tables (see tables.py) and knows nothing of verdicts.

A parser never raises on content: what it claims becomes rows, `claimed` lines, or an `unread` row with a reason.
"""

import re
import zipfile
from collections.abc import Callable, Sequence
from typing import BinaryIO, Protocol

import msgspec
import polars as pl

from parsers.schema.labels import NO_LABELS, Labels
from parsers.schema.tables import Tables

HEAD_BYTES = 64 * 1024
# What opening or reading a member may raise.
STREAM_ERRORS = (OSError, EOFError, zipfile.BadZipFile, RuntimeError, NotImplementedError, ValueError)
PATH = 4096  # characters, as Linux has it: in a longer name nobody is looked for, as all its beginnings are its square

# Candidate lines that a LineParser gets, sorted by file and line. `text` is the line without the decoration that
# launchers and collectors put before it (prefixes.py); what the decoration said is in the columns between.
LINES: dict[str, pl.DataType] = {
    "file": pl.String(),
    "line": pl.Int64(),  # 1-based
    "raw": pl.String(),  # the whole line, invalid bytes replaced, no line end
    "text": pl.String(),
    "rank": pl.Int64(),  # global rank: from `[rank3]:`
    "local_rank": pl.Int64(),  # from torchrun's `[default3]:`
    "task": pl.Int64(),  # from srun -l `3: ` or mpirun `[1,3]<stdout>:`; a rank too where tasks.py proves it
    "host": pl.String(),  # from pdsh, syslog, Kubernetes, docker compose, …
    "process": pl.Int64(),  # number of the printer's process: from syslog's tag, Ray
    "time_ns": pl.Int64(),
    "time_basis": pl.String(),  # utc | local | boot
    "path_rank": pl.Int64(),  # what the file's path says, see Source
    "path_local_rank": pl.Int64(),
    "path_host": pl.String(),
    "attempt": pl.Int64(),
    "hit": pl.Boolean(),  # False: delivered only because `LineParser.after` asked for lines after a hit
}


def _nobody(reason: str) -> None:
    """Nobody wants to know."""


class Passed(Protocol):
    """What stands for the bytes of a log that has gone by (parsers/engine/ahead.py). `size`: bytes of memory."""

    @property
    def size(self) -> int: ...


class Source(msgspec.Struct, frozen=True):
    """One member of the bundle, and what its path tells (a hint: content outranks it). `lose` is told, as a reason for a
        row of `unread`, what whoever reads it leaves out; once is enough. `labels`: who speaks in its lines (speakers.py). `seen`: a log that was scanned when it went by; `open` gives
    its first bytes alone."""

    path: str  # relative to the bundle, "/" between parts
    size: int
    open: Callable[[], BinaryIO]
    rank: int | None = None
    local_rank: int | None = None
    host: str | None = None
    attempt: int | None = None
    launch: str | None = None
    read_error: str | None = None
    labels: Labels = NO_LABELS
    lose: Callable[[str], None] = _nobody
    seen: Passed | None = None

    @property
    def left(self) -> int:
        """Bytes that are still to be read."""
        return self.size if self.seen is None else self.seen.size


class LineParser(msgspec.Struct, frozen=True, eq=False):
    """Reads single lines, or short blocks that begin with a line that holds an anchor.

    `parse` gets all candidate lines of many files at once, as a frame of schema LINES.
    `holds`: of the anchored lines, only those that it finds something in are hits; for anchors that stand in common words.
    `after`: how many lines that follow an anchored line come along (same file), for blocks such as tracebacks.
    `leads`: of the anchored lines, only those that it finds something in have lines after them.
    `follows`: of these, only the ones that it finds something in; for long blocks whose lines have a form.
    `before`: whether the line before an anchored line comes along, too.
    `leftover`: it gets only the lines of which no other parser has made a row or a claim.
    `of_host`: what it reads, a host says of itself: in a file that people pasted together it is of the host whose prompt or heading stands above it.
    `ends`: where it finds something in the last bytes of a file, whole lines of it, all of these lines come, as hits; to one that is
    `leftover` those that others have read come beside the hits.
    """

    name: str
    anchors: tuple[bytes, ...]
    parse: Callable[[pl.DataFrame], Tables]
    after: int = 0
    leads: re.Pattern[bytes] | None = None
    follows: re.Pattern[bytes] | None = None
    before: bool = False
    leftover: bool = False
    ends: Callable[[bytes], bool] | None = None
    of_host: bool = False
    holds: re.Pattern[bytes] | None = None


class FileParser(msgspec.Struct, frozen=True, eq=False):
    """Reads the files that it accepts; the first that accepts one is its only FileParser.

    A file that begins with a table may go on as the log of a job, so line parsers see every line that the owner has
    neither a row nor a claim for: a reader of a text format claims only what has the form of its own lines.
    `shared`: line parsers see all lines (a report that embeds logs). `whole`: they see none: a document, or a format
    that is accepted only where most lines are its own. JSON and XML are documents whoever owns them.
    `together`: as `parse` for several files at once, where that is much faster; the rows must be the same. `at_once`: for how
    many at most, where their tables are large. `magic`: what its files begin with, if no other parser's do: it is asked first.
    """

    name: str
    accepts: Callable[[str, bytes], bool]  # path, first HEAD_BYTES; content decides, the name hints
    parse: Callable[[Source], Tables]
    shared: bool = False
    whole: bool = False
    together: Callable[[Sequence[Source]], Tables] | None = None
    at_once: int | None = None
    magic: bytes | None = None


Parser = LineParser | FileParser
