"""What a text file is written in: UTF-8, or UTF-16 or UTF-32 in either order of bytes, with a byte order mark or without;
parsers get all of them in UTF-8.

Without a mark the form tells: a letter, a digit, a blank or a line end of ASCII leaves zeros in the same places of each unit
(RFC 4627, section 3, tells JSON's encoding so), and logs are full of them. That the text holds hardly a control character
bears it out, so no table of small numbers is taken for one.
"""

import codecs
import io
from collections.abc import Callable
from functools import partial
from typing import Any, BinaryIO

from parsers.text.patterns import regex

_HEAD = 8192
_CHUNK = 1 << 16
_FEW_LINES = 200
_MARKS = {  # the longer ones first: one begins as that of UTF-16 does
    codecs.BOM_UTF32_LE: "utf-32-le",
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
_ZEROS = {  # by encoding, which bytes of a unit are zero where it is a letter of ASCII
    "utf-32-le": (False, True, True, True),
    "utf-32-be": (True, True, True, False),
    "utf-16-le": (False, True),
    "utf-16-be": (True, False),
}
_CONTROL = bytes({*range(0x20)} - {*b"\a\b\t\n\v\f\r\x1b"})
_PAGE = regex(rb"(?i)[\s\xef\xbb\xbf]*(?:<!--.{0,2000}?-->\s*){0,3}<(?:!doctype html|html)\b")


def is_text(head: bytes) -> bool:
    """Whether the first bytes of a file look like lines. A hole of NULs before them (a truncated log) or behind them (a host
    that went down before it wrote) is allowed, and that a line or two hold a few control characters."""
    return wide(head) is not None or _is_plain(head)


def is_page(head: bytes) -> bool:
    """Whether a file begins as an HTML page does: no process of a job prints one, it quotes what others printed."""
    return _PAGE.match(head) is not None


def wide(head: bytes) -> str | None:
    """The encoding of a text whose units are wider than a byte, by the first bytes of the file; None for any other file."""
    if b"\x00" not in head[:_HEAD]:
        return None
    for mark, encoding in _MARKS.items():
        if head.startswith(mark) and b"\x00" in head[2:256]:
            return encoding
    return next((encoding for encoding in _ZEROS if _has_form(head[:_HEAD], encoding)), None)


def in_utf8(open_file: Callable[[], BinaryIO], head: bytes) -> tuple[Callable[[], BinaryIO], bytes]:
    """(opener, first bytes) of a file → the same of its text in UTF-8, which all parsers read; as they are where it is that."""
    encoding = wide(head)
    if encoding is None:
        return open_file, head
    opener = partial(_opened, open_file, encoding)
    with opener() as stream:
        return opener, stream.read(len(head))


def _opened(open_file: Callable[[], BinaryIO], encoding: str) -> BinaryIO:
    return io.BufferedReader(_Utf8(open_file(), encoding), _CHUNK)


class _Made(io.RawIOBase):
    """A stream that is made of another, piece by piece."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream, self._left, self._is_over = stream, b"", False

    def _next(self) -> bytes:
        """What the next piece becomes; `_is_over` is set where there is none."""
        raise NotImplementedError

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer)
        while not self._left and not self._is_over:
            self._left = self._next()
        size = min(len(view), len(self._left))
        view[:size], self._left = self._left[:size], self._left[size:]
        return size

    def close(self) -> None:
        self._stream.close()
        super().close()


class _Utf8(_Made):
    """The text of a stream in UTF-8, without its mark; half a unit at the end of a cut file is a replacement character."""

    def __init__(self, stream: BinaryIO, encoding: str) -> None:
        super().__init__(stream)
        self._decoder = codecs.getincrementaldecoder(encoding)("replace")
        self._left = self._decoder.decode(stream.read(4)).removeprefix("\ufeff").encode()

    def _next(self) -> bytes:
        chunk = self._stream.read(_CHUNK)
        self._is_over = not chunk
        return self._decoder.decode(chunk, final=self._is_over).encode()


def _has_form(head: bytes, encoding: str) -> bool:
    """Whether a quarter of its units or more are of ASCII in that encoding, and the whole is lines."""
    zeros = _ZEROS[encoding]
    units = len(head) // len(zeros)
    places = [head[at : units * len(zeros) : len(zeros)].count(0) for at in range(len(zeros))]
    told = zip(zeros, places, strict=True)
    if units < 2 or any(count * 4 < units if is_zero else count * 16 > units for is_zero, count in told):
        return False
    return _is_plain(head[: units * len(zeros)].decode(encoding, "replace").encode())


def _is_plain(head: bytes) -> bool:
    whole = head.lstrip(b"\x00")
    written = whole.rstrip(b"\x00")
    body = (written if b"\n" in written else whole)[:_HEAD]
    most = len(body) if b"\x00" in body else max(len(body), _FEW_LINES)
    return (len(body) - len(body.translate(None, _CONTROL))) * 50 <= most


def without_prefix(open_file: Callable[[], BinaryIO], before: bytes) -> BinaryIO:
    """A file without what stands before each of its lines, to the byte."""
    return io.BufferedReader(_Without(open_file(), before), _CHUNK)


class _Without(_Made):
    def __init__(self, stream: BinaryIO, before: bytes) -> None:
        super().__init__(stream)
        self._before, self._is_start = before, True

    def _next(self) -> bytes:
        piece = self._stream.readline(_CHUNK)
        found = piece.removeprefix(self._before) if self._is_start else piece
        self._is_over, self._is_start = not piece, piece.endswith(b"\n")
        return found
