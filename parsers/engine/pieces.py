"""What a candidate line is in a window of bytes: a line, a piece of one between carriage returns, or several lines that
Kubernetes has cut one into; and where its lines end, and which numbers they have, for places that are asked for from left to right."""

from collections import defaultdict
from collections.abc import Iterable
from functools import partial

import msgspec

from parsers.text.newlines import FEW, Lines, Newlines
from parsers.text.patterns import regex

_PARTIAL = regex(rb" std(?:out|err) [PF] ")
_HEAD = 64  # bytes of a line that hold its header
_CRI = regex(rb"\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d) (stdout|stderr) ([PF]) ")


def has_only_lines(block: bytes | bytearray, size: int, lines: Lines) -> bool:
    """Whether a carriage return, where these lines of a window have any, stands at their end: no progress bar."""
    if len(lines.ends) > FEW and block.find(b"\r", 0, size) < 0:
        return True
    return not any(block.find(b"\r", begin, end - 1) >= 0 for begin, end in zip(lines.begins, lines.ends, strict=True))


def is_cut(block: bytes | bytearray, size: int, begins: Iterable[int]) -> bool:
    """Whether one of the lines that begin there is a piece of a line as Kubernetes cuts them."""
    return any(_PARTIAL.search(block, begin, min(begin + _HEAD, size)) for begin in begins)


def may_be_cut(block: bytes | bytearray, size: int) -> bool:
    """Whether anything in a window looks like a line that Kubernetes has cut."""
    return _PARTIAL.search(block, 0, size) is not None


class Segment(msgspec.Struct):
    """A candidate in a window; `text` and `last_line` where it was put together from several lines."""

    line: int
    begin: int
    end: int
    text: bytes | None = None
    last_line: int = 0

    def __post_init__(self) -> None:
        self.last_line = self.last_line or self.line


class Pieces(msgspec.Struct):
    """Lines of one window with anchors in them, or pieces of lines."""

    lines: list[int] = msgspec.field(default_factory=list)
    begins: list[int] = msgspec.field(default_factory=list)
    ends: list[int] = msgspec.field(default_factory=list)
    last_lines: list[int] = msgspec.field(default_factory=list)
    texts: dict[int, bytes] = msgspec.field(default_factory=dict)  # of those put together from several lines
    by_anchors: defaultdict[frozenset[int], list[int]] = msgspec.field(default_factory=partial(defaultdict, list))

    def add(self, segment: Segment) -> None:
        if segment.text is not None:
            self.texts[len(self.lines)] = segment.text
        self.lines.append(segment.line)
        self.begins.append(segment.begin)
        self.ends.append(segment.end)
        self.last_lines.append(segment.last_line)


def joined(block: bytes | bytearray, size: int, segment: Segment, most: int) -> Segment:
    """Kubernetes cuts long lines: pieces marked P, the last one F. They are one line of some `most` bytes, with the first
    one's header."""
    begin, line = segment.begin, segment.line
    own = _CRI.match(block, begin, segment.end) if _PARTIAL.search(block, begin, min(begin + _HEAD, size)) else None
    if own is None:
        return segment
    while begin and segment.end - begin < most:
        before = block.rfind(b"\n", 0, begin - 1) + 1
        head = _CRI.match(block, before, begin)
        if head is None or head[2] != b"P" or head[1] != own[1]:
            break
        begin, line = before, line - 1
    parts: list[bytes] = []
    at, last = begin, line - 1
    while at < size and at - begin < most:
        head = _CRI.match(block, at, min(size, at + 128))
        if head is None or head[1] != own[1]:
            break
        stop = block.find(b"\n", head.end(), size)
        stop = size if stop < 0 else stop
        parts.append(bytes(block[at if not parts else head.end() : stop]).rstrip(b"\r"))
        segment.end, at, last = stop, stop + 1, last + 1
        if head[2] == b"F":
            break
    return Segment(line, begin, segment.end, b"".join(parts), last)


class LineNumbers(msgspec.Struct):
    """Line numbers in one window, counted once from left to right."""

    ends: Newlines
    line: int
    at: int = 0

    def to(self, offset: int) -> int:
        """The number of the line that holds `offset`."""
        if offset < self.at:
            return self.line - self.ends.count(offset, self.at)
        self.line += self.ends.count(self.at, offset)
        self.at = offset
        return self.line


class LineEnds:
    """The line ends around places in one window that are asked for from left to right: each byte is looked at once,
    so that a line of a whole window with many hits costs what a window costs."""

    def __init__(self, block: bytes | bytearray, size: int) -> None:
        self._block, self._size = block, size
        self._asked = self._begin = self._from = 0
        self._end = -1

    def begin(self, at: int) -> int:
        """Where the line that holds `at` begins."""
        if at > self._asked:
            self._begin = (self._block.rfind(b"\n", self._asked, at) + 1) or self._begin
            self._asked = at
        return self._begin

    def end(self, at: int) -> int:
        """The line end at `at` or behind it, the window's size where there is none."""
        if not self._from <= at <= self._end:
            found = self._block.find(b"\n", at, self._size)
            self._from, self._end = at, self._size if found < 0 else found
        return self._end
