"""Logs that are scanned while their archive goes by, in place of being kept until somebody reads them.

A compressed tar can be read only forward, and the bundle must be listed before the first file is read: what its year is,
and who reads which files. Of a log that no file parser accepts and whose beginning tells its year, the scan needs nothing
of that. What it gives is some thousandth of the log; where it is more, up to KEPT_BYTES in all, the logs behind are kept.
"""

import time
from collections.abc import Sequence
from typing import BinaryIO, cast

import msgspec

from parsers.archive.members import Passing
from parsers.engine.candidates import DEFECTS, path_columns
from parsers.engine.dense import Dense, DenseReader
from parsers.engine.gathered import Scanned
from parsers.engine.scan import scan
from parsers.schema.parser import HEAD_BYTES, FileParser, LineParser, Parser, Source
from parsers.text import stamps
from parsers.text.encodings import is_page, is_text

KEPT_BYTES = 64 << 20
LEAST_BYTES = 256 << 10  # of a log: of a smaller one, what the scan gives takes as much memory
CANDIDATE_BYTES = 256  # of memory, beside the text


class Seen(msgspec.Struct, frozen=True):
    """What stands for the bytes of a log that has gone by. `size`: bytes of memory."""

    scanned: Scanned
    dense: DenseReader | None
    around: stamps.Around  # what tells the year of its stamps that print none
    size: int


class Ahead:
    """Scans the logs of a bundle that need not be kept. `seconds`: for one of them, as in limits.Limits; `least`: bytes of a
    log that may be seen."""

    least = LEAST_BYTES

    def __init__(self, parsers: Sequence[Parser], forms: Sequence[Dense], seconds: int) -> None:
        self._lines = tuple(parser for parser in parsers if isinstance(parser, LineParser))
        self._owners = [parser for parser in parsers if isinstance(parser, FileParser)]
        self._forms, self._seconds = forms, seconds
        self._kept = 0

    def see(self, source: Source, stream: Passing) -> Seen | None:
        """Scan a member as far as its time allows; None, and nothing is read, where it must be kept."""
        head = stream.peek(HEAD_BYTES)
        around = stamps.around(head[: stamps.YEAR_BYTES])
        if self._kept > KEPT_BYTES or around is None or not is_text(head) or is_page(head):
            return None
        if self._is_owned(source.path, head):
            return None
        dense = DenseReader(self._forms, path_columns(source), around) if self._forms else None
        scanned = scan(cast(BinaryIO, stream), self._lines, dense, time.monotonic() + self._seconds)
        size = _memory(scanned) + (dense.memory() if dense is not None else 0)
        self._kept += size
        return Seen(scanned, dense, around, size)

    def _is_owned(self, path: str, head: bytes) -> bool:
        try:
            return any(parser.accepts(path, head) for parser in self._owners)
        except DEFECTS:  # whoever reads it will say so
            return True


def _memory(scanned: Scanned) -> int:
    """Bytes of memory that this takes, about."""
    candidates = scanned.found.texts
    others = sum(map(len, (*scanned.first, *scanned.last, *scanned.sample.values())))
    return sum(map(len, candidates)) + CANDIDATE_BYTES * len(candidates) + others
