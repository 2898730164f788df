"""Windows of a log in which every anchor has been found too often before: of each parser only the last lines are kept.

Such a window is columns, as many rows as lines; lines become objects where they may be among the last ones. What comes of
it is what scan.py delivers hit by hit.
"""

import re
from collections.abc import Iterable
from typing import Self

import msgspec
import polars as pl

from parsers import gathered, lent
from parsers.gathered import Found
from parsers.newlines import Newlines
from parsers.parser import LineParser
from parsers.pieces import ends_lines_alone, may_be_cut

MOST = 40  # anchors of one window that are looked for one after another …
EACH = 10_000  # … or as many as the window before had times this many hits: one anchor costs as much as these


class Window(msgspec.Struct):
    """`block`, from line number `first` on: a row for each line, where it begins and ends (its line end excluded)."""

    block: bytes | bytearray
    first: int
    begins: pl.Series
    ends: pl.Series
    texts: pl.Series

    @classmethod
    def of(cls, block: bytes | bytearray, size: int, ends: Newlines, first: int, most: int) -> Self | None:
        """None, where pieces of lines and lines are not the same, or one is longer than `most` bytes."""
        if not ends_lines_alone(block, size) or may_be_cut(block, size):
            return None
        begins, stops = ends.all()
        if not len(begins) or int((stops - begins).max()) > most:  # type: ignore[arg-type]
            return None
        borders = pl.concat([begins, pl.Series([size], dtype=pl.Int64)]).cast(pl.UInt32)
        return cls(block, first, begins, stops, lent.texts(block, 0, borders, is_utf8=False))

    def holding(self, anchor: bytes) -> pl.Series:
        """For each line whether it holds the anchor."""
        return self.texts.bin.contains(anchor)

    def wanted(self, hits: pl.Series, parser: LineParser, until: int) -> tuple[pl.Series, int]:
        """Rows of the lines that a parser wants, whose `hits` are told for each line; lines up to number `until` follow a hit
        before the window. → they, and up to which line they follow the last hit."""
        own = hits.arg_true()
        if not (parser.before or parser.after):
            return own, until
        leads = own if parser.leads is None else self._with(own, parser.leads)
        numbers = pl.int_range(self.first, self.first + len(hits), eager=True)
        reach = pl.repeat(None, len(hits), dtype=pl.Int64, eager=True)
        if parser.after and len(leads):
            reach = reach.scatter(leads, numbers.gather(leads) + parser.after).forward_fill()
        last = reach[-1]
        reach = reach.shift(1).fill_null(until)
        beside = self._with((~hits & (numbers <= reach)).arg_true(), parser.follows)
        parts = [own, beside]
        if parser.before:
            before = (hits & (numbers > reach + 1)).arg_true().cast(pl.Int64) - 1
            parts.append(before.filter((before >= 0) & (self.ends.gather(before.clip(0)) > 0)).cast(own.dtype))
        return pl.concat(parts).sort(), until if last is None else int(last)

    def _with(self, rows: pl.Series, pattern: re.Pattern[bytes] | None) -> pl.Series:
        """Those in whose lines the pattern finds something."""
        if pattern is None:
            return rows
        texts = self._bytes(rows)
        told = {text: pattern.search(text) is not None for text in set(texts)}
        return rows.filter(pl.Series(map(told.__getitem__, texts), dtype=pl.Boolean))

    def last(self, rows: pl.Series, hits: pl.Series, base: int) -> Found:
        """The last of these lines that a parser may keep; the window begins at byte `base`."""
        rows = rows.tail(gathered.KEPT_HITS // 2)
        found = Found(texts=self._bytes(rows))
        found.lines.extend((rows.cast(pl.Int64) + self.first).to_list())
        found.offsets.extend((self.begins.gather(rows) + base).to_list())
        found.hits.extend(hits.gather(rows).to_list())
        return found

    def _bytes(self, rows: pl.Series) -> list[bytes]:
        places = zip(self.begins.gather(rows).to_list(), self.ends.gather(rows).to_list(), strict=True)
        with memoryview(self.block) as view:
            return [bytes(view[begin:end]).removesuffix(b"\r") for begin, end in places]


def any_of(parts: Iterable[pl.Series], count: int) -> pl.Series:
    """For each of `count` lines whether one of the parts says yes."""
    made = pl.repeat(False, count, dtype=pl.Boolean, eager=True)
    for part in parts:
        made |= part
    return made
