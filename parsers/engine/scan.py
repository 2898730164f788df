"""The one pass over bytes: a text file → the lines that hold an anchor of a line parser.

The file is read in windows that end at a line end. Lines are counted by ``\\n``; a ``\\r`` inside a line (a progress
bar) ends a piece of it, and the piece with the anchor is the candidate. Invalid UTF-8 is
replaced. Limits, each with a row of `unread` where it bites: LINE_BYTES of a line; and of gathered.py
KEPT_HITS per anchor and file, KEPT_TEXT per parser and file. Beyond them the first and the last hits are kept: the end of a
log tells most.
"""

import time
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence, Set
from functools import lru_cache
from itertools import chain, pairwise
from math import inf
from operator import itemgetter, sub
from typing import BinaryIO

import msgspec
import polars as pl

from parsers.engine import beyond, gathered
from parsers.engine.anchors import Find, Hits, finder, occurring
from parsers.engine.dense import DenseReader
from parsers.engine.gathered import Found, Kept, Scanned
from parsers.engine.pieces import LineEnds, LineNumbers, Pieces, Segment, has_only_lines, is_cut, joined
from parsers.engine.windows import windows
from parsers.schema.parser import LineParser
from parsers.text.newlines import Lines, Newlines
from parsers.text.patterns import regex

LINE_BYTES = 1 << 20
STRETCHES, STRETCH = 8, 16  # stretches per sampled window, lines per stretch
STRETCH_BYTES = 1 << 14
ENDS = 24  # first and last lines kept for their time stamps
ENDS_BYTES = 1 << 16
PROBE = 1 << 16  # bytes that tell how many hits a window has

_RETURN = ord("\r")
_FIRST = itemgetter(0)
_BORDER = regex(rb"[$^]|\(\?[<=!]|\\[AZ]")  # of a pattern that asks where a line begins or ends


def scan(
    stream: BinaryIO, parsers: Sequence[LineParser] | None, dense: DenseReader | None = None, until: float = inf
) -> Scanned:
    """All candidate lines of one file; what `dense` takes is none. Without parsers (None) lines are counted alone, and no
    sample is taken. `until`: when to leave off, by time.monotonic(). Errors of the stream (OSError) go to the caller."""
    scanner = _Scanner(parsers, dense)
    for block, end in windows(stream):
        scanner.window(block, end)
        if time.monotonic() > until:
            scanner.leave_off()
            break
    return scanner.finish()


class _Following(msgspec.Struct):
    """Lines that a parser wants after a hit: up to which line, and where the next one begins in this window."""

    until: int = 0
    line: int = 0
    offset: int = 0


class _Wishes(msgspec.Struct, frozen=True):
    """What parsers ask for, the same for every file: `anchors`; `find`: where they occur; `wanted`: for each the
    numbers of the parsers that want it, `wants` the other way round; `skimmed`: whose following lines are told by one look; `around`: who wants lines beside a hit."""

    anchors: tuple[bytes, ...]
    find: Find
    wanted: list[list[int]]
    wants: list[frozenset[int]]
    skimmed: frozenset[int]
    around: frozenset[int]


@lru_cache(maxsize=8)
def _wishes(parsers: tuple[LineParser, ...]) -> _Wishes:
    wanted: dict[bytes, list[int]] = {}
    for number, parser in enumerate(parsers):
        for anchor in dict.fromkeys(parser.anchors):
            wanted.setdefault(anchor, []).append(number)
    anchors = tuple(sorted(wanted))
    number_of = {anchor: number for number, anchor in enumerate(anchors)}
    return _Wishes(
        anchors,
        finder(anchors),
        [wanted[anchor] for anchor in anchors],
        [frozenset(number_of[anchor] for anchor in parser.anchors) for parser in parsers],
        frozenset(n for n, one in enumerate(parsers) if one.follows and not _BORDER.search(one.follows.pattern)),
        frozenset(n for n, one in enumerate(parsers) if one.before or one.after),
    )


class _Scanner:
    def __init__(self, parsers: Sequence[LineParser] | None, dense: DenseReader | None) -> None:
        self._counts_alone = parsers is None
        self._parsers = parsers = parsers or ()
        self._dense = dense
        self._wishes = _wishes(tuple(parsers))
        self._readers: dict[frozenset[int], frozenset[int]] = {}
        self._counts = [0] * len(self._wishes.wanted)
        self._kept: defaultdict[int, Kept] = defaultdict(Kept)  # by the parser's number; most have nothing in a file
        self._following: dict[int, _Following] = {}  # likewise
        self._result = Scanned()
        self._found = Found()
        self._hits = 0  # of anchors in the window before, or at a guess in this one
        self._found_hits: Hits | None = None  # of this window, if they were asked for
        self._let_go = (0, 0)  # rows that were left, bytes that were lost, when `_found` was last rid of what is
        self._windows = 0
        self._base = 0
        self._line = 1  # number of the line that the window begins in
        self._inside = False  # the window begins inside a line that was too long for the one before
        self._unfinished = False
        self._tail = b""
        self._cut: set[int] = set()

    def window(self, block: bytes | bytearray, end: int) -> None:
        """One stretch of the file; ends at a line end, unless it is the last or a line is longer than a window."""
        size, last = end, block[end - 1 : end]
        self._look(block, end)
        if self._dense is not None and self._dense.wants(block, end):
            block, end = self._dense.take(block, end, self._line)
        begin = self._first_line(block, end)
        for following in self._following.values():
            following.offset, following.line = begin, self._line + self._inside
        lines = self._line + Newlines(block, end).count(0, end) if self._counts_alone else self._scan(block, end)
        for number, following in self._following.items():
            self._follow(block, end, number, following, lines + 1)
        self._let_lost_go()
        self._line = lines
        self._base += size
        self._windows += 1
        self._inside = last not in (b"\n", b"\r")
        self._unfinished = last != b"\n"

    def _first_line(self, block: bytes | bytearray, size: int) -> int:
        """Where the first line begins that begins in the window."""
        end = block.find(b"\n", 0, size) if self._inside else -1
        return size if self._inside and end < 0 else end + 1

    def _scan(self, block: bytes | bytearray, size: int) -> int:
        """Deliver the hits of a window, keep its sample → the number of the line that comes after it."""
        ends = Newlines(block, size)
        lines = self._line + ends.count(0, size)
        self._ends = LineEnds(block, size)
        if self._windows & (self._windows - 1) == 0:
            counter = LineNumbers(ends, self._line)
            for at in range(0, size, max(1, size // STRETCHES)):
                self._sample(block, size, max(0, at - 1), counter)
        if not self._by_columns(block, size, ends, lines):
            self._settle()
            self._deliver(block, size, self._pieces(block, size, ends))
        return lines

    def _by_columns(self, block: bytes | bytearray, size: int, ends: Newlines, after: int) -> bool:
        """Deliver a window in which many anchors stand; `after`: number of the line behind it. False: it is another one."""
        self._found_hits = None
        if not self._windows and size > PROBE:
            self._hits = len(self._wishes.find(block, PROBE)[0]) * size // PROBE
        if self._hits < beyond.MANY:
            self._found_hits = self._wishes.find(block, size)
            self._hits = len(self._found_hits[0])
        if self._inside or self._hits < beyond.MANY:
            return False
        window = beyond.Window.of(block, size, ends, self._line, LINE_BYTES)
        if window is None:
            return False
        held = self._held(window, block, size)
        self._hits = sum(map(len, held.values()))
        follow = {number for number, one in self._following.items() if one.until >= self._line}
        for number in sorted(follow | self._who_wants(frozenset(held))):
            following = self._following.get(number, _Following())
            own, kept = self._own(held, number), self._kept[number]
            until = window.deliver(self._parsers[number], own, following.until, kept, self._found, self._base)
            if self._parsers[number].after:
                following.until, following.line = until, after + 1  # nothing is left of this window
                self._following[number] = following
        for anchor, pieces in held.items():
            self._counts[anchor] += len(pieces)
        return True

    def _held(self, window: beyond.Window, block: bytes | bytearray, size: int) -> beyond.Held:
        """The pieces that hold each anchor: few anchors are looked for in turn, else every hit is told."""
        if self._found_hits is None:
            anchors = sorted(occurring(self._wishes.anchors)(block, size))
            if len(anchors) <= self._hits // beyond.EACH:
                return window.holding({anchor: self._wishes.anchors[anchor] for anchor in anchors})
        return window.held(*(self._found_hits or self._wishes.find(block, size)))

    def _own(self, held: beyond.Held, number: int) -> beyond.Own:
        """The pieces that a parser wants, and which of them are among the first with an anchor of its own."""
        own = {anchor: held[anchor] for anchor in sorted(self._wishes.wants[number] & held.keys())}
        left = {anchor: max(0, gathered.KEPT_HITS // 2 - self._counts[anchor]) for anchor in own}
        pieces = beyond.any_of(own.values())
        if all(left[anchor] >= len(one) for anchor, one in own.items()):
            return pieces, pl.repeat(True, len(pieces), dtype=pl.Boolean, eager=True)
        early = beyond.any_of(one.head(left[anchor]) for anchor, one in own.items() if left[anchor])
        return pieces, pieces.is_in(early.implode())

    def _settle(self) -> None:
        for kept in self._kept.values():
            kept.settle(self._found)

    def _pieces(self, block: bytes | bytearray, size: int, ends: Newlines) -> Pieces:
        """The pieces of lines in a window that hold anchors."""
        hits = self._found_hits or self._wishes.find(block, size)
        self._hits = len(hits[0])
        if hits[0] and not self._inside:
            lines = ends.lines(hits[0])
            is_short = max(map(sub, lines.ends, lines.begins)) <= LINE_BYTES
            if is_short and not is_cut(block, size, lines.begins) and has_only_lines(block, size, lines):
                return self._whole_lines(block, lines, hits[1])
        pieces = Pieces()
        counter = LineNumbers(ends, self._line)
        found: list[int] = []
        piece_end = left_out = 0  # left_out: up to where a piece of line is too long
        for end, anchor in zip(*hits, strict=True):
            if end <= piece_end:
                found.append(anchor)
            elif end > left_out:
                if found:
                    pieces.by_anchors[frozenset(found)].append(len(pieces.lines) - 1)
                found = [anchor]
                if segment := self._segment(block, size, end, counter):
                    piece_end = segment.end
                    pieces.add(segment)
                else:
                    found.clear()
                    left_out = self._ends.end(end)
                    carriage = block.find(b"\r", end, left_out)
                    left_out = left_out if carriage < 0 else carriage
        if found:
            pieces.by_anchors[frozenset(found)].append(len(pieces.lines) - 1)
        return pieces

    def _whole_lines(self, block: bytes | bytearray, lines: Lines, anchors: list[int]) -> Pieces:
        """Where pieces of lines and lines are the same."""
        numbers = [self._line + number for number in lines.numbers]
        ends = [end - (block[end - 1] == _RETURN) for end in lines.ends]
        pieces = Pieces(numbers, lines.begins, ends, numbers)
        for at, (begin, end) in enumerate(pairwise([*lines.first, len(anchors)])):
            pieces.by_anchors[frozenset(anchors[begin:end])].append(at)
        return pieces

    def _let_lost_go(self) -> None:
        """Candidates that nobody gets any more take no memory, as soon as they are many."""
        lost_bytes = sum(one.lost_bytes for one in self._kept.values())
        left, gone = self._let_go
        if len(self._found) - left >= gathered.KEPT_HITS or lost_bytes - gone >= gathered.KEPT_TEXT // 2:
            self._found = gathered.without_lost(self._found, self._kept)
            self._let_go = len(self._found), lost_bytes

    def leave_off(self) -> None:
        """The rest of the file stays unread."""
        reason = f"not read beyond byte {self._base}: it took longer than the limit for one member"
        self._result.unread.append({"reason": reason})

    def finish(self) -> Scanned:
        result = self._result
        result.lines = self._line - 1 + self._unfinished
        self._deliver_ends(result.lines)
        result.last = [_text(raw) for raw in self._tail.split(b"\n")[-ENDS:]]
        self._settle()
        result.take(self._found, self._kept)
        for number, kept in sorted(self._kept.items()):
            if kept.lost:
                reason = f"{kept.lost} candidate lines of {self._parsers[number].name} beyond the limit were not read"
                result.unread.append({"reason": reason})
        return result

    def _deliver_ends(self, lines: int) -> None:
        """Hand the last whole lines to who wants them."""
        wanted = [number for number, one in enumerate(self._parsers) if one.ends is not None]
        whole = self._base <= len(self._tail)  # else its first line is a part of one
        tail = self._tail if whole else self._tail[self._tail.find(b"\n") + 1 :]
        wanted = [number for number in wanted if self._parsers[number].ends(tail)]  # type: ignore[misc]
        if not wanted:
            return
        offset = self._base - len(tail)
        texts = tail.removesuffix(b"\n").split(b"\n")
        for line, text in enumerate(texts, lines - len(texts) + 1):
            row = self._found.add(line, offset, text.rstrip(b"\r"), 1)
            offset += len(text) + 1
            for number in wanted:
                self._kept[number].add(row, self._found.texts, True)

    def _begin(self, block: bytes | bytearray, at: int) -> int | None:
        """Where the piece of line that holds `at` begins; None: too far back."""
        low = max(0, at - LINE_BYTES)
        begin = self._ends.begin(at)
        begin = begin if begin > low else 0
        begin = (block.rfind(b"\r", begin or low, at) + 1) or begin
        if begin:
            return begin
        return None if low or self._inside else 0

    def _segment(self, block: bytes | bytearray, size: int, end: int, counter: LineNumbers) -> Segment | None:
        """The piece of line around a hit that ends at `end`; None, and a row of `unread`, where it is too long."""
        begin = self._begin(block, end - 1)
        high = end + LINE_BYTES if begin is None else begin + LINE_BYTES
        stop = min(self._ends.end(end), high)
        is_cut = stop == high < size
        carriage = block.find(b"\r", end, stop)
        line = counter.to(end - 1 if begin is None else begin)
        if begin is None or (is_cut and carriage < 0):
            self._long(line)
        if begin is None:
            return None
        segment = Segment(line, begin, stop if carriage < 0 else carriage)
        return joined(block, size, segment, LINE_BYTES)

    def _long(self, line: int) -> None:
        if line not in self._cut and len(self._cut) < 100:
            self._cut.add(line)
            self._result.unread.append({"line": line, "reason": f"a line longer than {LINE_BYTES} bytes was cut"})

    def _deliver(self, block: bytes | bytearray, size: int, pieces: Pieces) -> None:
        """Hand pieces to the parsers that want them, with the lines beside."""
        with memoryview(block) as view:
            texts = [bytes(view[begin:end]) for begin, end in zip(pieces.begins, pieces.ends, strict=True)]
        for at, text in pieces.texts.items():
            texts[at] = text
        late = self._late(pieces.by_anchors)
        parts: defaultdict[int, list[list[int]]] = defaultdict(list)
        for anchors, own in pieces.by_anchors.items():
            for number in self._who_wants(anchors):
                parts[number].append(own)
        wanted = {number: self._holding(number, sorted(chain(*own)), texts) for number, own in parts.items()}
        rows = self._add(pieces, texts, wanted.values())
        for number, own in wanted.items():
            late_ones = late.get(number, frozenset())
            if number in self._wishes.around:
                self._surround(block, size, pieces, own, rows, number, late_ones)
                continue
            add = self._kept[number].add
            for at in own:
                add(rows[at], self._found.texts, at not in late_ones)

    def _holding(self, number: int, own: list[int], texts: Sequence[bytes]) -> list[int]:
        """Those of a parser's own pieces that are hits."""
        holds = self._parsers[number].holds
        return own if holds is None else [at for at in own if holds.search(texts[at])]

    def _add(self, pieces: Pieces, texts: Sequence[bytes], wanted: Collection[list[int]]) -> Mapping[int, int]:
        """Keep the pieces that somebody wants → of each the row that it became."""
        found, first = self._found, len(self._found)
        chosen: Sequence[int] = range(len(texts))
        if not any(len(own) == len(texts) for own in wanted):
            chosen = sorted(set().union(*wanted))
        found.texts += [texts[at] for at in chosen]
        found.lines.extend(pieces.lines[at] for at in chosen)
        found.offsets.extend(self._base + pieces.begins[at] for at in chosen)
        found.hits.extend(b"\1" * len(chosen))
        return {at: row for row, at in enumerate(chosen, first)}

    def _late(self, by_anchors: Mapping[frozenset[int], list[int]]) -> Mapping[int, Set[int]]:
        """Count anchors → by the parser's number, the pieces in which all that it wants has been found too often before."""
        counts, most = self._counts, gathered.KEPT_HITS // 2
        new: Counter[int] = Counter()
        for anchors, own in by_anchors.items():
            new.update(dict.fromkeys(anchors, len(own)))
        late: defaultdict[int, set[int]] = defaultdict(set)
        is_over = all(counts[anchor] >= most for anchor in new)  # then no piece is early for anybody
        if is_over or all(counts[anchor] + count <= most for anchor, count in new.items()):
            for anchor, count in new.items():
                counts[anchor] += count
            for anchors, own in by_anchors.items() if is_over else ():
                for number in self._who_wants(anchors):
                    late[number].update(own)
            return late
        for at, anchors in sorted(((at, anchors) for anchors, own in by_anchors.items() for at in own), key=_FIRST):
            for anchor in anchors:
                counts[anchor] += 1
            early = self._who_wants(frozenset(anchor for anchor in anchors if counts[anchor] <= most))
            for number in self._who_wants(anchors) - early:
                late[number].add(at)
        return late

    def _surround(
        self,
        block: bytes | bytearray,
        size: int,
        pieces: Pieces,
        own: Sequence[int],
        rows: Mapping[int, int],
        number: int,
        late: Set[int],
    ) -> None:
        """Deliver hits with the line before and the lines after them, and remember which are wanted after the last one."""
        parser, kept, texts = self._parsers[number], self._kept[number], self._found.texts
        leads, follows = parser.leads, parser.follows if number in self._wishes.skimmed else None
        following = self._following.setdefault(number, _Following(line=self._line))
        last = 0
        for at in own:
            line, begin = pieces.lines[at], pieces.begins[at]
            is_lead = leads is None or gathered.belongs(leads, texts[rows[at]])
            is_followed = parser.after and (is_lead or following.line <= following.until)
            # Whether nothing between two hits follows the first is told by one look, where the parser wants it all.
            if is_followed and (
                follows is None or line > following.until + 1 or follows.search(block, following.offset, begin)
            ):
                self._follow(block, size, number, following, line)
            if parser.before and line != last:
                self._precede(block, line, begin, number, at not in late)
            last = line
            if is_followed:
                following.line = pieces.last_lines[at] + 1
                following.until = following.line - 1 + parser.after if is_lead else following.until
                following.offset = min(self._ends.end(pieces.ends[at]) + 1, size)
            kept.add(rows[at], texts, at not in late)

    def _who_wants(self, anchors: frozenset[int]) -> frozenset[int]:
        """Numbers of the parsers of which a line with these anchors is a hit."""
        if anchors not in self._readers:
            self._readers[anchors] = frozenset(number for anchor in anchors for number in self._wishes.wanted[anchor])
        return self._readers[anchors]

    def _precede(self, block: bytes | bytearray, line: int, at: int, number: int, early: bool) -> None:
        """Deliver the line before a hit, unless it comes as one that follows the hit before."""
        stop = block.rfind(b"\n", 0, at)
        following = self._following.get(number)
        if stop <= 0 or (following is not None and line <= following.until + 1):
            return
        begin = block.rfind(b"\n", 0, stop) + 1
        text = bytes(block[begin : min(stop, begin + LINE_BYTES)]).rstrip(b"\r")
        row = self._found.add(line - 1, self._base + begin, text)
        self._kept[number].add(row, self._found.texts, early)

    def _follow(self, block: bytes | bytearray, size: int, number: int, following: _Following, before: int) -> None:
        """Deliver the lines after the last hit, up to the line `before`."""
        if following.line > following.until:
            return
        early = len(self._kept[number].head) < gathered.KEPT_HITS // 2
        belongs = self._parsers[number].follows
        while following.line <= min(following.until, before - 1) and following.offset < size:
            stop = block.find(b"\n", following.offset, size)
            stop = size if stop < 0 else stop
            text = bytes(block[following.offset : min(stop, following.offset + LINE_BYTES)]).rstrip(b"\r")
            if belongs is None or gathered.belongs(belongs, text):
                row = self._found.add(following.line, self._base + following.offset, text)
                self._kept[number].add(row, self._found.texts, early)
            following.line, following.offset = following.line + 1, stop + 1

    def _look(self, block: bytes | bytearray, end: int) -> None:
        """First and last lines."""
        if not self._windows:
            head = bytes(block[: min(end, ENDS_BYTES)])
            self._result.first = [_text(raw) for raw in head.split(b"\n", ENDS)[:ENDS]]
        self._tail = (self._tail + bytes(block[max(0, end - ENDS_BYTES) : end]))[-ENDS_BYTES:]

    def _sample(self, block: bytes | bytearray, size: int, at: int, counter: LineNumbers) -> None:
        """A stretch of lines for the templates."""
        begin = block.find(b"\n", at, size) + 1 if at else 0
        if at and not begin:
            return
        line = counter.to(begin)
        for raw in bytes(block[begin : min(size, begin + STRETCH_BYTES)]).split(b"\n", STRETCH)[:STRETCH]:
            if raw:
                self._result.sample[line] = _text(raw)
            line += 1


def _text(raw: bytes) -> str:
    return raw[:4096].decode("utf-8", "replace").rstrip("\r")
