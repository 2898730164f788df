"""Holes of sparse files: bytes that nobody wrote, and that read as zeros. A log has one where it was truncated under its
writer, or where somebody asks a reader for the days that a petabyte takes which lies on one block.

A scan goes over a long one without reading it (lseek(2), SEEK_HOLE and SEEK_DATA) and says how many bytes these were. Some of its
zeros come all the same: more than a line may have, so that what stands on both sides stays apart.
"""

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import BinaryIO, cast

from parsers.archive.archives import Raw
from parsers.archive.members import Hole, Plain

KEPT = 2 << 20  # zeros of a hole that come
_BUFFER = 1 << 16


@contextmanager
def over_holes(stream: BinaryIO, lose: Callable[[str], None]) -> Iterator[BinaryIO]:
    """The stream of a plain file without the long holes of that, any other as it is; `lose` is told, at the end, what was not
    read."""
    plain = getattr(stream, "raw", None)
    first = plain.next_hole(0) if isinstance(plain, Plain) else None
    if first is None:
        yield stream
        return
    over = _OverHoles(stream, cast(Plain, plain), first)
    yield cast(BinaryIO, io.BufferedReader(over, _BUFFER))
    if over.left_out:
        lose(f"{over.left_out} bytes not read: a hole in the file from byte {first.begin} on, where nobody wrote")


class _OverHoles(Raw):
    """`left_out`: bytes of holes that were gone over."""

    def __init__(self, stream: BinaryIO, plain: Plain, first: Hole) -> None:
        super().__init__()
        self._stream, self._plain = stream, plain
        self._next: Hole | None = first
        self.left_out = 0

    def readinto(self, buffer: "memoryview | bytearray") -> int:  # type: ignore[override]
        while self._next is not None and self._stream.tell() >= self._next.begin + KEPT:
            self._go_over(self._next)
        most = len(buffer) if self._next is None else self._next.begin + KEPT - self._stream.tell()
        with memoryview(buffer) as view:
            return int(self._stream.readinto(view[:most]))  # type: ignore[attr-defined]

    def _go_over(self, hole: Hole) -> None:
        self.left_out += hole.end - self._stream.tell()
        self._stream.seek(hole.end)
        self._next = self._plain.next_hole(hole.end)
