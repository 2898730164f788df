"""A stretch of whole lines, cut at their spaces all at once.

A text that repeats a form needs no search line by line: where its words begin are the places of its spaces and line ends,
and of lines of equally many words the n-th ones are every so many places apart.
"""

from collections.abc import Iterator
from functools import cached_property, lru_cache

import polars as pl

from parsers.text import lent
from parsers.text.lent import Block

# Where lines are cut: (number of a word, from 0; whether the part that it begins leaves out the space before it).
Cuts = tuple[tuple[int, bool], ...]
_SPACE, _END = ord(" "), ord("\n")
_PATTERN = 1 << 14  # lines that a pattern of cuts is laid out for at first


class Stretch:
    """`block[begin:end]`, which ends with a line end, and stays as it is meanwhile. Words are what spaces part."""

    def __init__(self, block: Block, begin: int, end: int) -> None:
        self.block, self.begin, self.end = block, begin, end
        self._bytes = lent.numbers(block, begin, end)
        is_end = self._bytes == _END
        self.lines = int(is_end.sum())
        self._marks = lent.places((self._bytes == _SPACE) | is_end)

    @cached_property
    def is_plain(self) -> bool:
        """Whether all is ASCII, and lines hold no control characters."""
        return int((self._bytes < _SPACE).sum()) == self.lines and bool(self._bytes.max() < 127)  # type: ignore[operator]

    @cached_property
    def alike(self) -> int | None:
        """How many words every line has; None where they differ."""
        each, rest = divmod(len(self._marks), self.lines or 1)
        if rest or not each:
            return None
        last = pl.lit(self._marks).gather_every(each, each - 1)
        return each if pl.select((pl.lit(self._bytes).gather(last) == _END).all()).item() else None

    @cached_property
    def _last(self) -> pl.Series:
        """Of each line, the place of its end among the marks."""
        if self.alike is not None:
            return pl.int_range(self.alike - 1, len(self._marks), self.alike, dtype=pl.UInt32, eager=True)
        return lent.places(self._bytes.gather(self._marks) == _END)

    @cached_property
    def begins(self) -> pl.Series:
        """Where lines begin, from the stretch's own begin, and where the last one ends."""
        return _after_zero(self._marks.gather(self._last) + 1)

    @property
    def words(self) -> pl.Series:
        """How many words each line has."""
        behind = self._last + 1
        return behind - behind.shift(1, fill_value=0)

    def having(self, literal: bytes, mask: pl.Series | None = None) -> pl.Series:
        """Whether each line, or each that is marked, holds it."""
        lines = lent.texts(self.block, self.begin, self.begins, is_utf8=False)
        return (lines if mask is None else lines.filter(mask)).bin.contains(literal)

    def first(self, most: int) -> Iterator[str]:
        """The first lines, without their ends."""
        at = self.begin
        while at < self.end and most:
            stop = self.block.find(b"\n", at, self.end)
            yield bytes(self.block[at:stop]).decode("utf-8", "replace")
            at, most = stop + 1, most - 1

    def only(self, mask: pl.Series) -> "Stretch":
        """The lines that are marked, in a block of their own."""
        chosen = lent.texts(self.block, self.begin, self.begins, is_utf8=False).filter(mask)
        block = b"".join(chosen.to_list())
        return Stretch(block, 0, len(block))

    def as_text(self) -> "Stretch":
        """The same lines as UTF-8, whatever they are."""
        if self.is_plain:
            return self
        block = bytes(self.block[self.begin : self.end]).decode("utf-8", "replace").encode()
        return Stretch(block, 0, len(block))

    def parts(self, cuts: Cuts) -> pl.DataFrame:
        """Lines that are alike and text, in parts (column `part`): of each line in turn what stands before the first cut, what
        behind it, and so on, the line end included."""
        each = self.alike or 0
        is_cut, skipped = _pattern(each, cuts, 1 << max(_PATTERN.bit_length() - 1, self.lines.bit_length()))
        begins = self._marks.filter(is_cut.slice(0, len(self._marks)))
        offsets = _after_zero(begins + skipped.slice(0, len(begins)))
        return lent.texts(self.block, self.begin, offsets, is_utf8=True).to_frame("part")


def _after_zero(places: pl.Series) -> pl.Series:
    return pl.concat([pl.Series([0], dtype=pl.UInt32), places], rechunk=True)


@lru_cache(maxsize=16)
def _pattern(each: int, cuts: Cuts, lines: int) -> tuple[pl.Series, pl.Series]:
    """Which marks of lines of `each` words are cuts (line ends are), and how far behind its mark each part begins."""
    marks = {word - 1: int(skips) for word, skips in cuts} | {each - 1: 1}
    is_cut = pl.Series([number in marks for number in range(each)])
    return _repeated(is_cut, lines), _repeated(pl.Series([marks[at] for at in sorted(marks)], dtype=pl.UInt32), lines)


def _repeated(values: pl.Series, times: int) -> pl.Series:
    for _ in range(times.bit_length() - 1):
        values = pl.concat([values, values], rechunk=True)
    return values
