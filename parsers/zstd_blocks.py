"""What zstd is fed with. It unfolds all that it is given, and a kilobyte may unfold to 32 MB: so whole blocks, and few.

The headers of a frame and of its blocks say where they end (RFC 8878, 3.1.1); a block unfolds to 128 KiB at most.
"""

from collections.abc import Iterator
from typing import Protocol

ZSTD = b"\x28\xb5\x2f\xfd"  # how a frame begins
LONGEST_HEADER = 18  # bytes before the first block of a frame: fewer wait for those that follow
BLOCKS = 8  # at once
PIECE = 1 << 16  # bytes


class Folded(Protocol):
    def read(self, size: int, /) -> bytes: ...


def parts(source: Folded) -> Iterator[bytes]:
    """All folded bytes, in order, in parts of PIECE bytes and BLOCKS blocks at most. Of what is no zstd, any parts."""
    held, at = b"", 0  # `at`: where in `held` the next header begins
    sums: int | None = None  # bytes behind the last block of this frame; None: a frame begins here
    while data := source.read(PIECE):
        held = held + data if held else data
        begin = blocks = 0
        while at + LONGEST_HEADER <= len(held):
            if sums is None:
                sums, at = _frame(held, at)
                continue
            header = int.from_bytes(held[at : at + 3], "little")
            at += 3 + (1 if header >> 1 & 3 == 1 else header >> 3)  # of a block that repeats one byte, that byte
            if header & 1:
                at, sums = at + sums, None
            blocks += 1
            if blocks == BLOCKS:
                yield held[begin:at]
                begin, blocks = min(at, len(held)), 0
        cut = min(at, len(held))
        if cut > begin:
            yield held[begin:cut]
        held, at = held[cut:], at - cut
    if held:
        yield held


def _frame(data: bytes, at: int) -> tuple[int | None, int]:
    """(bytes of the sum behind the frame that begins here, where its first block begins); (None, its end) of one to skip."""
    if data[at : at + 4] != ZSTD:
        return None, at + 8 + int.from_bytes(data[at + 4 : at + 8], "little")
    said = data[at + 4]
    is_single = said >> 5 & 1
    sizes = (1 - is_single) + (0, 1, 2, 4)[said & 3] + (is_single, 2, 4, 8)[said >> 6]
    return 4 * (said >> 2 & 1), at + 5 + sizes
