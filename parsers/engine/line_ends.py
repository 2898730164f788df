"""Where lines of a window end and which numbers they have, for places that are asked for from left to right."""

import msgspec

from parsers.text.newlines import Newlines


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
