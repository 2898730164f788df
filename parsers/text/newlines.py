"""Line ends in a block, counted and looked up by vector operations: `bytes.count` stops at each of them, and takes eight times
as long. The bytes stay where they lie (lent.py); what polars makes of them is a bit per byte.
"""

from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from parsers.text import lent

SHORT = 1 << 14  # bytes that `bytes.count` counts sooner than a vector operation begins

FEW = 300  # lines that are looked up one by one sooner


class Lines(NamedTuple):
    """Lines of a block: how many line ends are before each, where it begins and ends (its line end excluded), and the
    first of the places in it that were asked for."""

    numbers: list[int]
    begins: list[int]
    ends: list[int]
    first: list[int]


class Newlines:
    """Of `block[:size]`, which stays as it is meanwhile."""

    def __init__(self, block: bytes | bytearray, size: int) -> None:
        self._block, self._size = block, size
        self._known: pl.Series | None = None

    def _are_ends(self) -> pl.Series:
        if self._known is None:
            self._known = lent.numbers(self._block, 0, self._size) == ord("\n")
        return self._known

    def count(self, begin: int, end: int) -> int:
        """How many line ends `block[begin:end]` holds."""
        if end - begin < SHORT:
            return self._block.count(b"\n", begin, end)
        return int(self._are_ends().slice(begin, end - begin).sum())

    def lines(self, places: Sequence[int]) -> Lines:
        """The lines that end at or behind these places, which are sorted and not 0."""
        if len(places) < FEW:
            return self._one_by_one(places)
        ends = self._ends()
        of_places = ends.search_sorted(pl.Series(places, dtype=pl.Int64), side="left")
        first = (of_places != of_places.shift(1)).fill_null(True).arg_true()
        numbers = of_places.gather(first)
        begins = (ends + 1).shift(1, fill_value=0).gather(numbers)
        return Lines(numbers.to_list(), begins.to_list(), ends.gather(numbers).to_list(), first.to_list())

    def _ends(self) -> pl.Series:
        """All line ends, and the end of the block."""
        return pl.concat([lent.places(self._are_ends()).cast(pl.Int64), pl.Series([self._size], dtype=pl.Int64)])

    def all(self) -> tuple[pl.Series, pl.Series]:
        """Where each line begins and ends, its line end excluded."""
        ends = self._ends()
        begins = (ends + 1).shift(1, fill_value=0)
        is_line = begins < self._size  # none comes after the last line end
        return begins.filter(is_line), ends.filter(is_line)

    def _one_by_one(self, places: Sequence[int]) -> Lines:
        lines = Lines([], [], [], [])
        block, size = self._block, self._size
        end = number = counted = 0
        for at, place in enumerate(places):
            if at and place <= end:
                continue
            begin, end = block.rfind(b"\n", end, place) + 1, block.find(b"\n", place, size)
            end = size if end < 0 else end
            number, counted = number + self.count(counted, begin), begin
            for column, value in zip(lines, (number, begin, end, at), strict=True):
                column.append(value)
        return lines
