"""The windows that a text file is scanned in: each ends at a line end."""

from collections import defaultdict
from collections.abc import Iterator
from typing import BinaryIO

WINDOW = 16 << 20
_SMALL = 1 << 16
# By their size, to be used again: fresh memory costs as much as the scan.
_BUFFERS: defaultdict[int, list[bytearray]] = defaultdict(list)


def windows(stream: BinaryIO) -> Iterator[tuple[bytes | bytearray, int]]:
    """(block, end) again and again: the window is `block[:end]`, and gone with the next one."""
    small = min(_SMALL, max(WINDOW // 2, 256))
    head = stream.read(small)
    while len(head) < small and (more := stream.read(small - len(head))):
        head += more
    if len(head) < small:  # most files are: fresh memory for a window costs more than all else of them
        if head:
            yield head, len(head)
        return
    try:
        buffer = _BUFFERS[WINDOW].pop()
    except IndexError:  # of this thread the first, or another has it
        buffer = bytearray(WINDOW)
    try:
        buffer[: len(head)] = head
        yield from _filled(stream, buffer, len(head))
    finally:
        _BUFFERS[len(buffer)].append(buffer)


def let_go() -> None:
    """Where much else is to be done before the next window, what is kept for it takes no memory."""
    _BUFFERS.clear()


def _filled(stream: BinaryIO, buffer: bytearray, filled: int) -> Iterator[tuple[bytearray, int]]:
    while True:
        with memoryview(buffer) as view:
            got = stream.readinto(view[filled:])  # type: ignore[attr-defined]
        filled += got
        if not got:
            break
        cut = buffer.rfind(b"\n", 0, filled) + 1
        if not cut and filled == len(buffer):  # one line, longer than a window: perhaps a progress bar
            cut = (buffer.rfind(b"\r", 0, filled - 1) + 1) or filled
        if cut:
            yield buffer, cut
            rest = bytes(buffer[cut:filled])
            filled = len(rest)
            buffer[:filled] = rest
    if filled:
        yield buffer, filled
