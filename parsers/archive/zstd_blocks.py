"""zstd, and what it is fed with. It unfolds all that it is given, and a kilobyte may unfold to 32 MB: so whole blocks, and few.

The headers of a frame and of its blocks say where they end (RFC 8878, 3.1.1); a block unfolds to 128 KiB at most.
"""

from collections.abc import Iterator
from typing import BinaryIO, Protocol, cast

import zstandard

ZSTD = b"\x28\xb5\x2f\xfd"  # how a frame begins
LONGEST_HEADER = 18  # bytes before the first block of a frame: fewer wait for those that follow
BLOCKS = 8  # at once
PIECE = 1 << 16  # bytes


class Folded(Protocol):
    def read(self, size: int, /) -> bytes: ...


class Parts:
    """All folded bytes, in order, in parts of PIECE bytes and BLOCKS blocks at most. Of what is no zstd, any parts."""

    def __init__(self, source: Folded) -> None:
        self._parts = self._cut(source)
        self.is_whole = False  # all was given, and it ends where a frame does

    def __iter__(self) -> Iterator[bytes]:
        return self._parts

    def read(self, _size: int) -> bytes:
        """The next part, for a library that wants a stream."""
        return next(self._parts, b"")

    def _cut(self, source: Folded) -> Iterator[bytes]:
        held, at = b"", 0  # `at`: where in `held` the next header begins
        sums: int | None = None  # bytes behind the last block of this frame; None: a frame begins here
        while data := source.read(PIECE):
            held = held + data if held else data
            begin = blocks = 0
            while at + LONGEST_HEADER <= len(held):
                if sums is None:
                    sums, at = _frame(held, at)
                    continue
                sums, at = _block(held, at, sums)
                blocks += 1
                if blocks == BLOCKS:
                    yield held[begin:at]
                    begin, blocks = min(at, len(held)), 0
            cut = min(at, len(held))
            if cut > begin:
                yield held[begin:cut]
            held, at = held[cut:], at - cut
        padded = held + bytes(LONGEST_HEADER)
        while at < len(held):
            sums, at = _frame(padded, at) if sums is None else _block(padded, at, sums)
        self.is_whole = sums is None and at == len(held)
        if held:
            yield held


class Straight:
    """zstd, unfolded into the memory of whoever asks; a copy less than by pieces of its own."""

    def __init__(self, source: Folded) -> None:
        self._parts = Parts(source)
        self._reader = engine().stream_reader(cast(BinaryIO, self._parts), read_across_frames=True, closefd=False)

    def readinto(self, view: memoryview) -> int:
        """EOFError where the end is missing. `view` is large: of small ones the library says that it makes no progress."""
        got = self._reader.readinto(view)
        if not got and not self._parts.is_whole:
            raise EOFError("the end is missing")
        return got


def engine() -> zstandard.ZstdDecompressor:
    # 128 MiB: the largest window that `zstd --long` asks for by default; more would be memory in a stranger's hand
    return zstandard.ZstdDecompressor(max_window_size=1 << 27)


def _block(data: bytes, at: int, sums: int) -> tuple[int | None, int]:
    """(as given, or None behind the last block of a frame; where what follows the block begins)."""
    header = int.from_bytes(data[at : at + 3], "little")
    at += 3 + (1 if header >> 1 & 3 == 1 else header >> 3)  # of a block that repeats one byte, that byte
    return (None, at + sums) if header & 1 else (sums, at)


def _frame(data: bytes, at: int) -> tuple[int | None, int]:
    """(bytes of the sum behind the frame that begins here, where its first block begins); (None, its end) of one to skip."""
    if data[at : at + 4] != ZSTD:
        return None, at + 8 + int.from_bytes(data[at + 4 : at + 8], "little")
    said = data[at + 4]
    is_single = said >> 5 & 1
    sizes = (1 - is_single) + (0, 1, 2, 4)[said & 3] + (is_single, 2, 4, 8)[said >> 6]
    return 4 * (said >> 2 & 1), at + 5 + sizes
