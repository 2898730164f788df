"""Windows in which many anchors stand: columns, a row for each hit, and an object only for what a parser may keep.

What comes of such a window is what scan.py delivers hit by hit. A piece is what stands between line ends and carriage returns,
if that is anything; lines that come along are whole.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Self

import msgspec
import polars as pl

from parsers.engine import gathered
from parsers.engine.gathered import Found, Kept
from parsers.engine.pieces import may_be_cut
from parsers.schema.parser import LineParser
from parsers.text import lent
from parsers.text.newlines import Newlines

MANY = 20_000  # hits in a window
EACH = 20_000  # to look for one anchor costs as much as so many hits
_RETURN = ord("\r")
_NO_GAP = pl.lit(None, dtype=pl.Int64)

Held = Mapping[int, pl.Series]  # number of an anchor → the pieces that hold it, in order
Own = tuple[pl.Series, pl.Series]  # pieces that a parser wants, in order, and whether each is among the first ones


class Window(msgspec.Struct):
    """`block`, from line number `first` on: where pieces begin and end, and lines (their line ends excluded), and the line
    of each piece, counted from 0. Of a line, `most` bytes are looked at."""

    first: int
    most: int
    begins: pl.Series
    ends: pl.Series
    line: pl.Series
    line_begins: pl.Series
    line_ends: pl.Series
    texts: pl.Series  # of pieces, then of lines, with what parts them from the next one
    known: dict[int, bytes] = {}  # those that a parser has

    @classmethod
    def of(cls, block: bytes | bytearray, size: int, ends: Newlines, first: int, most: int) -> Self | None:
        """None, where a piece is as long as `most` bytes, or may be a part of a line that Kubernetes has cut."""
        if may_be_cut(block, size):
            return None
        line_begins, line_ends = ends.all()
        returns = lent.places(lent.numbers(block, 0, size) == _RETURN).cast(pl.Int64)
        stops = pl.concat([line_ends, returns]).sort() if len(returns) else line_ends
        begins = (stops + 1).shift(1, fill_value=0)
        is_any = stops > begins
        begins, stops = begins.filter(is_any), stops.filter(is_any)
        if not len(begins) or int((stops - begins).max()) >= most:  # type: ignore[arg-type]
            return None
        line = line_ends.search_sorted(begins, side="left") if len(returns) else lent.places(is_any)
        texts = pl.concat([_texts(block, size, one) for one in (begins, line_begins)])
        return cls(first, most, begins, stops, line.cast(pl.Int64), line_begins, line_ends, texts)

    def holding(self, anchors: Mapping[int, bytes]) -> Held:
        """Looks for each of the anchors in turn."""
        texts = self.texts.head(len(self.begins))
        return {number: lent.places(texts.bin.contains(anchor)) for number, anchor in anchors.items()}

    def held(self, ends: Sequence[int], anchors: Sequence[int]) -> Held:
        """The same of hits: where they end, in order, and the numbers of their anchors."""
        pieces = self.ends.search_sorted(pl.Series(ends, dtype=pl.Int64), side="left")
        hits = pl.DataFrame({"piece": pieces, "anchor": pl.Series(anchors, dtype=pl.UInt16)})
        parts = hits.group_by("anchor", maintain_order=True)
        return {int(number): own["piece"].filter(_is_new(own["piece"])) for (number,), own in parts}

    def deliver(self, parser: LineParser, own: Own, until: int, kept: Kept, found: Found, base: int) -> int:
        """What of the window, which begins at byte `base`, a parser may keep of its own pieces and of what comes along, which
        lines up to number `until` do after a hit before → up to which line they follow the last hit."""
        rows, until = self._rows(parser, own, until)
        rows = _in_turn(rows, len(kept.head))
        is_early = rows["early"]
        early = rows.filter(is_early)
        before = early["size"].cum_sum() - early["size"] + kept.head_bytes
        room = int((before < gathered.KEPT_TEXT // 2).head(max(0, gathered.KEPT_HITS - len(kept.head))).sum())
        kept.head_bytes += int(early["size"].head(room).sum())
        kept.head += range(len(found), len(found) + room)
        self._take(early.head(room), base, found)
        rest = rows.filter(~is_early | (is_early.cum_sum() > room))
        last, part = rest.tail(gathered.KEPT_HITS // 2), Found()
        self._take(last, base, part)
        if len(part):
            kept.put_last(part, rest.height - last.height)
        return until

    def _rows(self, parser: LineParser, own: Own, until: int) -> tuple[pl.DataFrame, int]:
        """A row for each piece that a parser wants and for each line that comes along; `early` is null where it hangs on the
        rows before, which those of a `gap` between two hits have in common."""
        pieces, early = own
        begin = self.begins.gather(pieces)
        places = {"line": self.line.gather(pieces), "begin": begin, "size": self.ends.gather(pieces) - begin}
        rows = pl.DataFrame({**places, "early": early, "text": pieces.cast(pl.Int64)})
        rows = rows.filter(self._has(rows, parser.holds)).with_columns(hit=pl.lit(True), gap=_NO_GAP)
        if not (parser.before or parser.after):
            return rows, until
        hit = rows.select("line", "early").filter(_is_new(rows["line"]))
        reach = pl.repeat(until, hit.height, dtype=pl.Int64, eager=True)
        if parser.after:
            leads = rows["line"].filter(self._has(rows, parser.leads)).unique()
            led = hit.select(
                pl.when(pl.col("line").is_in(leads.implode())).then(pl.col("line") + self.first + parser.after)
            )
            reach = led.to_series().forward_fill().fill_null(until)
        parts = [rows, self._between(hit["line"], reach, until, parser.follows)]
        if parser.before:
            is_apart = hit["line"] + self.first > reach.shift(1, fill_value=until) + 1
            lead = hit.filter(is_apart & (hit["line"] > 0)).with_columns(line=pl.col("line") - 1)
            lead = lead.filter(self.line_ends.gather(lead["line"]) > 0)
            parts.append(self._lines(lead["line"], lead["early"], _NO_GAP))
        return pl.concat(parts), int(reach[-1]) if len(reach) else until

    def _between(self, hit: pl.Series, reach: pl.Series, until: int, follows: re.Pattern[bytes] | None) -> pl.DataFrame:
        """The lines that follow a hit, each up to the next one: `hit` are the lines of hits, `reach` up to which number theirs go."""
        own = {"begin": pl.concat([pl.Series([-1], dtype=pl.Int64), hit]) + 1}
        own["next"] = pl.concat([hit, pl.Series([len(self.line_ends)], dtype=pl.Int64)])
        own["stop"] = pl.concat([pl.Series([until], dtype=pl.Int64), reach]) - self.first + 1
        gaps = pl.DataFrame(own).with_row_index("gap").with_columns(stop=pl.min_horizontal("next", "stop"))
        gaps = gaps.filter(pl.col("stop") > pl.col("begin"))
        lines = gaps.select("gap", line=pl.int_ranges("begin", "stop")).explode("line")
        rows = self._lines(lines["line"], pl.lit(None, dtype=pl.Boolean), lines["gap"].cast(pl.Int64))
        return rows.filter(self._has(rows, follows))

    def _lines(self, line: pl.Series, early: pl.Series | pl.Expr, gap: pl.Expr | pl.Series) -> pl.DataFrame:
        """Rows for whole lines, without the carriage returns at their ends."""
        begin, stop = self.line_begins.gather(line), self.line_ends.gather(line)
        # The last piece in the line, or before it.
        last = self.begins.search_sorted(stop, side="left").cast(pl.Int64) - 1
        own = pl.DataFrame({"line": line, "begin": begin, "end": self.ends.gather(last.clip(0)), "stop": stop})
        size = (pl.min_horizontal("end", "stop") - pl.col("begin")).clip(0, self.most)
        own = own.select("line", "begin", size=size, early=early, text=pl.col("line") + len(self.begins))
        return own.with_columns(hit=pl.lit(False), gap=gap)

    def _has(self, rows: pl.DataFrame, pattern: re.Pattern[bytes] | None) -> pl.Series:
        """In which of these the pattern finds something."""
        if pattern is None:
            return pl.repeat(True, rows.height, dtype=pl.Boolean, eager=True)
        texts = self._texts(rows)
        told = {text: gathered.belongs(pattern, text) for text in set(texts)}
        return pl.Series(map(told.__getitem__, texts), dtype=pl.Boolean)

    def _take(self, rows: pl.DataFrame, base: int, found: Found) -> None:
        """Append these rows."""
        found.texts += map(self.known.setdefault, rows["text"].to_list(), self._texts(rows))
        found.lines.extend((rows["line"] + self.first).to_list())
        found.offsets.extend((rows["begin"] + base).to_list())
        found.hits.extend(rows["hit"].to_list())

    def _texts(self, rows: pl.DataFrame) -> list[bytes]:
        texts = [text.rstrip(b"\r\n") for text in self.texts.gather(rows["text"]).to_list()]
        if not (rows["size"] == self.most).any():
            return texts
        return [text[: self.most].rstrip(b"\r") for text in texts]


def _texts(block: bytes | bytearray, size: int, begins: pl.Series) -> pl.Series:
    """From each of these places to the next one, and to the end of the window."""
    borders = pl.concat([begins, pl.Series([size], dtype=pl.Int64)]).cast(pl.UInt32)
    return lent.texts(block, 0, borders, is_utf8=False)


def _is_new(values: pl.Series) -> pl.Series:
    """Of values in order, whether each is another one than that before."""
    return (values != values.shift(1)).fill_null(True)


def _in_turn(rows: pl.DataFrame, head: int) -> pl.DataFrame:
    """Rows as they come hit by hit. What follows a hit is early as long as less than half of what is kept is in the `head`
    when its gap begins: up to there all of it is."""
    if rows["hit"].all():
        return rows
    rows = rows.sort("line", ~pl.col("hit"), "begin")
    early = pl.col("early").fill_null(True)
    rows = rows.with_columns(before=early.cum_sum() - early + head)
    is_early = pl.col("before").first().over("gap") < gathered.KEPT_HITS // 2
    return rows.with_columns(early=pl.coalesce("early", is_early))


def any_of(parts: Iterable[pl.Series]) -> pl.Series:
    """The pieces in any of these, in order."""
    listed = [part for part in parts if len(part)]
    if len(listed) < 2:
        return listed[0] if listed else pl.Series(dtype=pl.UInt32)
    return pl.concat(listed).unique().sort()
