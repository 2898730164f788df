"""The windows that a text file is scanned in: each ends at a line end; UTF-16 with a byte order mark is decoded."""

import codecs
from collections import defaultdict
from collections.abc import Iterator
from typing import BinaryIO

WINDOW = 16 << 20
_SMALL = 1 << 16
_UTF16 = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_BUFFERS: defaultdict[int, list[bytearray]] = defaultdict(
    list
)  # by their size, to be used again: fresh memory costs as much as the scan


def encoding(head: bytes) -> str | None:
    """UTF-16 by its byte order mark, where the NULs of plain letters bear it out."""
    return _UTF16.get(head[:2]) if b"\x00" in head[2:256] else None


def windows(stream: BinaryIO) -> Iterator[tuple[bytes | bytearray, int]]:
    """(block, end) again and again: the window is `block[:end]`, and gone with the next one."""
    small = min(_SMALL, max(WINDOW // 2, 256))
    head = stream.read(small)
    while len(head) < small and (more := stream.read(small - len(head))):
        head += more
    if form := encoding(head):
        yield from _decoded(stream, head, form)
        return
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


def _decoded(stream: BinaryIO, head: bytes, form: str) -> Iterator[tuple[bytes, int]]:
    decoder = codecs.getincrementaldecoder(form)("replace")
    buffer = decoder.decode(head[2:]).encode()
    while chunk := stream.read(WINDOW):
        buffer += decoder.decode(chunk).encode()
        cut = (buffer.rfind(b"\n") + 1) or (len(buffer) if len(buffer) >= WINDOW else 0)
        if cut:
            yield buffer[:cut], cut
            buffer = buffer[cut:]
    if buffer:
        yield buffer, len(buffer)
