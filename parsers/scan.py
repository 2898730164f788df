"""The one pass over bytes: a text file → the lines that hold an anchor of a line parser.

The file is read in windows that end at a line end. Lines are counted by ``\\n``; a ``\\r`` inside a line (a progress
bar) ends a piece of it, and the piece with the anchor is the candidate. UTF-16 with a byte order mark is decoded,
invalid UTF-8 replaced. Limits, each with a row of `unread` where it bites: LINE_BYTES of a line, KEPT_HITS per anchor
and file, KEPT_TEXT per parser and file. Beyond them the first and the last hits are kept: the end of a log tells most.
"""

import codecs
import time
from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Sequence, Set
from functools import lru_cache
from math import inf
from operator import itemgetter
from typing import BinaryIO

import msgspec

from parsers.anchors import Find, finder
from parsers.dense import DenseReader
from parsers.newlines import Newlines
from parsers.parser import LineParser
from parsers.patterns import regex
from parsers.pieces import Segment, has_only_lines, joined
from parsers.prefixes import strip
from parsers.secrets import mask

WINDOW = 16 << 20
_SMALL = 1 << 16
LINE_BYTES = 1 << 20
KEPT_HITS = 200_000
KEPT_TEXT = 128 << 20
STRETCHES, STRETCH = 8, 16  # stretches per sampled window, lines per stretch
STRETCH_BYTES = 1 << 14
ENDS = 24  # first and last lines kept for their time stamps
ENDS_BYTES = 1 << 16
_FEW_LINES = 200

_CONTROL = bytes({*range(0x20)} - {*b"\a\b\t\n\v\f\r\x1b"})
_UTF16 = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_RETURN = ord("\r")
_SAMPLE = -1  # in a list of hits: not an anchor but a place to take a sample
_BUFFERS: list[bytearray] = []  # of size WINDOW, to be used again: fresh memory costs as much as the scan
_BORDER = regex(rb"[$^]|\(\?[<=!]|\\[AZ]")  # of a pattern that asks where a line begins or ends
_DIGITS = regex(r"\d+")
_PAGE = regex(rb"(?i)[\s\xef\xbb\xbf]*(?:<!--.{0,2000}?-->\s*){0,3}<(?:!doctype html|html)\b")

Place = tuple[int, int]  # line, byte offset: a line may hold several pieces
Candidate = tuple[Place, bytes, bool]  # bool: is a hit


class Scanned(msgspec.Struct):
    """What one file gave."""

    lines: int = 0
    candidates: dict[int, list[Candidate]] = msgspec.field(default_factory=dict)  # by the parser's number, in order
    sample: dict[int, str] = msgspec.field(default_factory=dict)  # line → text
    first: list[str] = msgspec.field(default_factory=list)
    last: list[str] = msgspec.field(default_factory=list)
    unread: list[dict[str, object]] = msgspec.field(default_factory=list)  # rows of `unread`, without the file

    @property
    def texts(self) -> dict[Place, bytes]:
        """Every candidate once."""
        return {place: text for own in self.candidates.values() for place, text, _ in own}

    def drop(self, lines: Set[int]) -> None:
        """Deliver nothing of these lines: somebody else has read them."""
        if lines:  # else nothing would change
            left = {number: [one for one in own if one[0][0] not in lines] for number, own in self.candidates.items()}
            self.candidates = {number: own for number, own in left.items() if own}


def is_text(head: bytes) -> bool:
    """Whether the first bytes of a file look like lines. A hole of NULs before them (a truncated log) or behind them (a host
    that went down before it wrote) is allowed, and that a line or two hold a few control characters."""
    if _encoding(head):
        return True
    whole = head.lstrip(b"\x00")
    written = whole.rstrip(b"\x00")
    body = (written if b"\n" in written else whole)[:8192]
    most = len(body) if b"\x00" in body else max(len(body), _FEW_LINES)
    return (len(body) - len(body.translate(None, _CONTROL))) * 50 <= most


def is_page(head: bytes) -> bool:
    """Whether a file begins as an HTML page does: no process of a job prints one, it quotes what others printed."""
    return _PAGE.match(head) is not None


def _encoding(head: bytes) -> str | None:
    """UTF-16 by its byte order mark, where the NULs of plain letters bear it out."""
    return _UTF16.get(head[:2]) if b"\x00" in head[2:256] else None


def scan(
    stream: BinaryIO, parsers: Sequence[LineParser] | None, dense: DenseReader | None = None, until: float = inf
) -> Scanned:
    """All candidate lines of one file; what `dense` takes is none. Without parsers (None) lines are counted alone, and no
    sample is taken. `until`: when to leave off, by time.monotonic(). Errors of the stream (OSError) go to the caller."""
    scanner = _Scanner(parsers, dense)
    for block, end in _windows(stream):
        scanner.window(block, end)
        if time.monotonic() > until:
            scanner.leave_off()
            break
    return scanner.finish()


def _windows(stream: BinaryIO) -> Iterator[tuple[bytes | bytearray, int]]:
    """(block, end) again and again: the window is `block[:end]`, and gone with the next one."""
    small = min(_SMALL, max(WINDOW // 2, 256))
    head = stream.read(small)
    while len(head) < small and (more := stream.read(small - len(head))):
        head += more
    if encoding := _encoding(head):
        yield from _decoded(stream, head, encoding)
        return
    if len(head) < small:  # most files are: fresh memory for a window costs more than all else of them
        if head:
            yield head, len(head)
        return
    buffer = _BUFFERS.pop() if _BUFFERS and len(_BUFFERS[-1]) == WINDOW else bytearray(WINDOW)
    try:
        buffer[: len(head)] = head
        yield from _filled(stream, buffer, len(head))
    finally:
        if len(buffer) == WINDOW:
            _BUFFERS.append(buffer)


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


def _decoded(stream: BinaryIO, head: bytes, encoding: str) -> Iterator[tuple[bytes, int]]:
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    buffer = decoder.decode(head[2:]).encode()
    while chunk := stream.read(WINDOW):
        buffer += decoder.decode(chunk).encode()
        cut = (buffer.rfind(b"\n") + 1) or (len(buffer) if len(buffer) >= WINDOW else 0)
        if cut:
            yield buffer[:cut], cut
            buffer = buffer[cut:]
    if buffer:
        yield buffer, len(buffer)


def templates(sample: dict[int, str], recognised: set[int], most: int = 5) -> list[str]:
    """The commonest unrecognised lines of the sample without decoration, digits as #, as "count × template"."""
    masked_lines = [(_DIGITS.sub("#", text[:400]), text) for line, text in sample.items() if line not in recognised]
    raws = Counter(masked for masked, _ in masked_lines)
    example = dict(masked_lines)
    counts: Counter[str] = Counter()
    for masked, count in sorted(raws.items(), key=lambda item: (-item[1], item[0]))[: 6 * most]:
        if text := mask(strip(example[masked]).text.strip()):  # before its digits go: a form of secrets has them
            counts[_DIGITS.sub("#", text)[:200]] += count
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [f"{count} × {template}" for template, count in ordered[:most]]


class _Kept(msgspec.Struct):
    """The candidates of one parser in one file: the first ones, and a moving tail once a limit is reached."""

    head: list[Candidate] = msgspec.field(default_factory=list)
    tail: deque[Candidate] = msgspec.field(default_factory=deque)
    head_bytes: int = 0
    tail_bytes: int = 0
    lost: int = 0

    def add(self, row: Candidate, is_early: bool) -> None:
        if is_early and self.head_bytes < KEPT_TEXT // 2:
            self.head.append(row)
            self.head_bytes += len(row[1])
            return
        self.tail.append(row)
        self.tail_bytes += len(row[1])
        while len(self.tail) > KEPT_HITS // 2 or self.tail_bytes > KEPT_TEXT // 2:
            self.tail_bytes -= len(self.tail.popleft()[1])
            self.lost += 1


class _Following(msgspec.Struct):
    """Lines that a parser wants after a hit: up to which line, and where the next one begins in this window."""

    until: int = 0
    line: int = 0
    offset: int = 0


class _Counter(msgspec.Struct):
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


class _LineEnds:
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


class _Wishes(msgspec.Struct, frozen=True):
    """What parsers ask for, the same for every file: `find`: where all anchors occur; `wanted`: for each the numbers of the
    parsers that want it; `skimmed`: whose following lines are told by one look; `around`: who wants lines beside a hit."""

    find: Find
    wanted: list[list[int]]
    skimmed: frozenset[int]
    around: frozenset[int]


@lru_cache(maxsize=8)
def _wishes(parsers: tuple[LineParser, ...]) -> _Wishes:
    wanted: dict[bytes, list[int]] = {}
    for number, parser in enumerate(parsers):
        for anchor in dict.fromkeys(parser.anchors):
            wanted.setdefault(anchor, []).append(number)
    anchors = tuple(sorted(wanted))
    return _Wishes(
        finder(anchors),
        [wanted[anchor] for anchor in anchors],
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
        self._kept: defaultdict[int, _Kept] = defaultdict(_Kept)  # by the parser's number; most have nothing in a file
        self._following: dict[int, _Following] = {}  # likewise
        self._result = Scanned()
        self._are_whole = False  # the lines of this window, as far as they have a right length
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
            block = self._dense.take(bytes(memoryview(block)[:end]), self._line)
            end = len(block)
        for following in self._following.values():
            following.offset, following.line = 0, self._line
        lines = self._line + Newlines(block, end).count(0, end) if self._counts_alone else self._scan(block, end)
        for number, following in self._following.items():
            self._follow(block, end, number, following, lines + 1)
        self._line = lines
        self._base += size
        self._windows += 1
        self._inside = last not in (b"\n", b"\r")
        self._unfinished = last != b"\n"

    def _scan(self, block: bytes | bytearray, size: int) -> int:
        """Deliver the hits of a window, keep its sample → the number of the line that comes after it."""
        counter = _Counter(Newlines(block, size), self._line)
        self._ends = _LineEnds(block, size)
        self._are_whole = not self._inside and has_only_lines(block, size)
        hits = self._wishes.find(block, size)
        if self._windows & (self._windows - 1) == 0:
            hits += [(at or 1, _SAMPLE) for at in range(0, size, max(1, size // STRETCHES))]
            hits.sort()
        segment: Segment | None = None
        found: set[int] = set()
        left_out = 0  # up to where a piece of line is too long
        for end, anchor in hits:
            if anchor == _SAMPLE:
                self._sample(block, size, end - 1, counter)
            elif segment is not None and end <= segment.end:
                found.add(anchor)
            elif end > left_out:
                if segment is not None:
                    self._deliver(block, size, segment, found)
                segment, found = self._segment(block, size, end, counter), {anchor}
                if segment is None:
                    line_end = self._ends.end(end)
                    carriage = block.find(b"\r", end, line_end)
                    left_out = line_end if carriage < 0 else carriage
        if segment is not None:
            self._deliver(block, size, segment, found)
        return counter.to(size)

    def leave_off(self) -> None:
        """The rest of the file stays unread."""
        reason = f"not read beyond byte {self._base}: it took longer than the limit for one member"
        self._result.unread.append({"reason": reason})

    def finish(self) -> Scanned:
        result = self._result
        result.lines = self._line - 1 + self._unfinished
        result.last = [_text(raw) for raw in self._tail.split(b"\n")[-ENDS:]]
        for number, kept in sorted(self._kept.items()):
            if rows := sorted((*kept.head, *kept.tail), key=itemgetter(0)):
                result.candidates[number] = rows
            if kept.lost:
                reason = f"{kept.lost} candidate lines of {self._parsers[number].name} beyond the limit were not read"
                result.unread.append({"reason": reason})
        return result

    def _begin(self, block: bytes | bytearray, at: int) -> int | None:
        """Where the piece of line that holds `at` begins; None: too far back."""
        low = max(0, at - LINE_BYTES)
        begin = self._ends.begin(at)
        begin = begin if begin > low else 0
        begin = (block.rfind(b"\r", begin or low, at) + 1) or begin
        if begin:
            return begin
        return None if low or self._inside else 0

    def _segment(self, block: bytes | bytearray, size: int, end: int, counter: _Counter) -> Segment | None:
        """The piece of line around a hit that ends at `end`; None, and a row of `unread`, where it is too long."""
        if self._are_whole:  # pieces of lines and lines are the same here
            whole, stop = self._ends.begin(end - 1), self._ends.end(end)
            if stop - whole <= LINE_BYTES:
                return Segment(counter.to(whole), whole, stop - (block[stop - 1] == _RETURN))
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

    def _deliver(self, block: bytes | bytearray, size: int, segment: Segment, anchors: set[int]) -> None:
        text = bytes(block[segment.begin : segment.end]) if segment.text is None else segment.text
        is_early = True
        for anchor in anchors:
            self._counts[anchor] += 1
            is_early = is_early and self._counts[anchor] <= KEPT_HITS // 2
        row = ((segment.line, self._base + segment.begin), text, True)
        wanted = early = self._who_wants(frozenset(anchors))
        if not is_early:
            early = self._who_wants(frozenset(one for one in anchors if self._counts[one] <= KEPT_HITS // 2))
        for number in wanted:
            if number in self._wishes.around:
                self._surround(block, size, segment, text, number, number in early)
            self._kept[number].add(row, number in early)

    def _surround(
        self, block: bytes | bytearray, size: int, segment: Segment, text: bytes, number: int, early: bool
    ) -> None:
        """Deliver the line before a hit and those after the hit before, and remember which are wanted after this one."""
        parser = self._parsers[number]
        if parser.before:
            self._precede(block, segment, number, early)
        if not parser.after:
            return
        following = self._following.setdefault(number, _Following(line=self._line))
        leads = parser.leads is None or parser.leads.search(text) is not None
        if leads or following.line <= following.until:
            if not self._is_foreign(block, number, following, segment):
                self._follow(block, size, number, following, segment.line)
            following.until = segment.last_line + parser.after if leads else following.until
            following.line = segment.last_line + 1
            following.offset = min(self._ends.end(segment.end) + 1, size)

    def _is_foreign(self, block: bytes | bytearray, number: int, following: _Following, segment: Segment) -> bool:
        """Whether nothing between two hits follows the first: told by one look at all of it, where the parser wants it all."""
        follows = self._parsers[number].follows if number in self._wishes.skimmed else None
        if follows is None or segment.line > following.until + 1:
            return False
        return follows.search(block, following.offset, segment.begin) is None

    def _who_wants(self, anchors: frozenset[int]) -> frozenset[int]:
        """Numbers of the parsers of which a line with these anchors is a hit."""
        if anchors not in self._readers:
            self._readers[anchors] = frozenset(number for anchor in anchors for number in self._wishes.wanted[anchor])
        return self._readers[anchors]

    def _precede(self, block: bytes | bytearray, segment: Segment, number: int, early: bool) -> None:
        """Deliver the line before a hit, unless it comes as one that follows the hit before."""
        stop = block.rfind(b"\n", 0, segment.begin)
        following = self._following.get(number)
        if stop <= 0 or (following is not None and segment.line <= following.until + 1):
            return
        begin = block.rfind(b"\n", max(0, stop - LINE_BYTES), stop) + 1
        text = bytes(block[begin:stop]).rstrip(b"\r")
        self._kept[number].add(((segment.line - 1, self._base + begin), text, False), early)

    def _follow(self, block: bytes | bytearray, size: int, number: int, following: _Following, before: int) -> None:
        """Deliver the lines after the last hit, up to the line `before`."""
        if following.line > following.until:
            return
        early = len(self._kept[number].head) < KEPT_HITS // 2
        belongs = self._parsers[number].follows
        while following.line <= min(following.until, before - 1) and following.offset < size:
            stop = block.find(b"\n", following.offset, size)
            stop = size if stop < 0 else stop
            text = bytes(block[following.offset : min(stop, following.offset + LINE_BYTES)]).rstrip(b"\r")
            if belongs is None or belongs.search(text):
                self._kept[number].add(((following.line, self._base + following.offset), text, False), early)
            following.line, following.offset = following.line + 1, stop + 1

    def _look(self, block: bytes | bytearray, end: int) -> None:
        """First and last lines."""
        if not self._windows:
            head = bytes(block[: min(end, ENDS_BYTES)])
            self._result.first = [_text(raw) for raw in head.split(b"\n", ENDS)[:ENDS]]
        self._tail = bytes(block[max(0, end - ENDS_BYTES) : end])

    def _sample(self, block: bytes | bytearray, size: int, at: int, counter: _Counter) -> None:
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
