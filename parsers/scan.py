"""The one pass over bytes: a text file → the lines that hold an anchor of a line parser.

The file is read in windows that end at a line end. Lines are counted by ``\\n``; a ``\\r`` inside a line (a progress
bar) ends a piece of it, and the piece with the anchor is the candidate. UTF-16 with a byte order mark is decoded,
invalid UTF-8 replaced. Limits, each with a row of `unread` where it bites: LINE_BYTES of a line, KEPT_HITS per anchor
and file, KEPT_TEXT per parser and file. Beyond them the first and the last hits are kept: the end of a log tells most.
"""

import codecs
import re
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO

from parsers.anchors import finder
from parsers.parser import LineParser
from parsers.prefixes import strip

WINDOW = 16 << 20
LINE_BYTES = 1 << 20
KEPT_HITS = 200_000
KEPT_TEXT = 128 << 20
SAMPLE = 256  # lines per sampled window
ENDS = 24  # first and last lines kept for their time stamps

_CONTROL = re.compile(rb"[\x00-\x06\x0e-\x1a\x1c-\x1f]")
_UTF16 = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_DIGITS = re.compile(r"\d+")

Place = tuple[int, int]  # line, byte offset: a line may hold several pieces


@dataclass(slots=True)
class Scanned:
    """What one file gave."""

    lines: int = 0
    texts: dict[Place, bytes] = field(default_factory=dict)  # every candidate once
    candidates: list[list[tuple[Place, bool]]] = field(default_factory=list)  # per parser; bool: is a hit
    sample: dict[int, str] = field(default_factory=dict)  # line → text
    first: list[str] = field(default_factory=list)
    last: list[str] = field(default_factory=list)
    unread: list[dict[str, object]] = field(default_factory=list)  # rows of `unread`, without the file


def is_text(head: bytes) -> bool:
    """Whether the first bytes of a file look like lines. A hole of NULs before them (a truncated log) is allowed."""
    if _encoding(head):
        return True
    body = head.lstrip(b"\x00")[:8192]
    return len(_CONTROL.findall(body)) * 50 <= len(body)


def _encoding(head: bytes) -> str | None:
    """UTF-16 by its byte order mark, where the NULs of plain letters bear it out."""
    return _UTF16.get(head[:2]) if b"\x00" in head[2:256] else None


def scan(stream: BinaryIO, parsers: Sequence[LineParser]) -> Scanned:
    """All candidate lines of one file. Errors of the stream (OSError) go to the caller."""
    scanner = _Scanner(parsers)
    head = stream.read(256)
    encoding = _encoding(head)
    decoder = codecs.getincrementaldecoder(encoding)("replace") if encoding else None
    buffer = decoder.decode(head[2:]).encode() if decoder else head
    while chunk := stream.read(WINDOW):
        buffer += decoder.decode(chunk).encode() if decoder else chunk
        cut = buffer.rfind(b"\n") + 1
        if not cut and len(buffer) >= WINDOW:  # one line, longer than a window: perhaps a progress bar
            cut = (buffer.rfind(b"\r", 0, len(buffer) - 1) + 1) or len(buffer)
        if cut:
            scanner.window(buffer[:cut])
            buffer = buffer[cut:]
    if buffer:
        scanner.window(buffer)
    return scanner.finish()


def templates(sample: dict[int, str], recognised: set[int], most: int = 5) -> list[str]:
    """The commonest unrecognised lines of the sample without decoration, digits as #, as "count × template"."""
    counts = Counter(
        _DIGITS.sub("#", text)[:200]
        for line, raw in sample.items()
        if line not in recognised and (text := strip(raw).text.strip())
    )
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [f"{count} × {template}" for template, count in ordered[:most]]


@dataclass(slots=True)
class _Kept:
    """The candidates of one parser in one file: the first ones, and a moving tail once a limit is reached."""

    head: list[tuple[Place, bytes, bool]] = field(default_factory=list)
    tail: "deque[tuple[Place, bytes, bool]]" = field(default_factory=deque)
    head_bytes: int = 0
    tail_bytes: int = 0
    lost: int = 0

    def add(self, row: tuple[Place, bytes, bool], is_early: bool) -> None:
        if is_early and self.head_bytes < KEPT_TEXT // 2:
            self.head.append(row)
            self.head_bytes += len(row[1])
            return
        self.tail.append(row)
        self.tail_bytes += len(row[1])
        while len(self.tail) > KEPT_HITS // 2 or self.tail_bytes > KEPT_TEXT // 2:
            self.tail_bytes -= len(self.tail.popleft()[1])
            self.lost += 1


@dataclass(slots=True)
class _Following:
    """Lines that a parser wants after a hit: up to which line, and where the next one begins in this window."""

    until: int = 0
    line: int = 0
    offset: int = 0


class _Scanner:
    def __init__(self, parsers: Sequence[LineParser]) -> None:
        self._parsers = parsers
        self._anchors = tuple(sorted({anchor for parser in parsers for anchor in parser.anchors}))
        self._find = finder(self._anchors)
        self._wanted = [
            [number for number, parser in enumerate(parsers) if anchor in parser.anchors] for anchor in self._anchors
        ]
        self._counts = [0] * len(self._anchors)
        self._kept = [_Kept() for _ in parsers]
        self._following = {number: _Following() for number, parser in enumerate(parsers) if parser.after}
        self._result = Scanned()
        self._windows = 0
        self._base = 0
        self._line = 1  # number of the line that the window begins in
        self._inside = False  # the window begins inside a line that was too long for the one before
        self._unfinished = False
        self._cut: set[int] = set()

    def window(self, block: bytes) -> None:
        """One stretch of the file; ends at a line end, unless it is the last or a line is longer than a window."""
        newlines = block.count(b"\n")
        for following in self._following.values():
            following.offset, following.line = 0, self._line
        segment: tuple[int, int, int] | None = None  # line, begin, end
        found: set[int] = set()
        line, counted = self._line, 0
        for end, anchor in self._find(block):
            if segment is not None and end <= segment[2]:
                found.add(anchor)
                continue
            if segment is not None:
                self._deliver(block, segment, found)
            begin = self._begin(block, end - 1)
            if begin is not None:
                line += block.count(b"\n", counted, begin)
                counted = begin
            segment, found = self._segment(block, line, begin, end), {anchor}
        if segment is not None:
            self._deliver(block, segment, found)
        for number, following in self._following.items():
            self._follow(block, number, following, self._line + newlines + 1)
        self._look(block, newlines)
        self._line += newlines
        self._base += len(block)
        self._windows += 1
        self._inside = block[-1:] not in (b"\n", b"\r")
        self._unfinished = block[-1:] != b"\n"

    def finish(self) -> Scanned:
        result = self._result
        result.lines = self._line - 1 + self._unfinished
        for number, kept in enumerate(self._kept):
            rows = sorted((*kept.head, *kept.tail), key=lambda row: row[0])
            result.texts.update({place: text for place, text, _ in rows})
            result.candidates.append([(place, is_hit) for place, _, is_hit in rows])
            if kept.lost:
                reason = f"{kept.lost} candidate lines of {self._parsers[number].name} beyond the limit were not read"
                result.unread.append({"reason": reason})
        return result

    def _begin(self, block: bytes, at: int) -> int | None:
        """Where the piece of line that holds `at` begins; None: too far back."""
        low = max(0, at - LINE_BYTES)
        begin = block.rfind(b"\n", low, at) + 1
        begin = (block.rfind(b"\r", begin or low, at) + 1) or begin
        if begin:
            return begin
        return None if low or self._inside else 0

    def _segment(self, block: bytes, line: int, begin: int | None, end: int) -> tuple[int, int, int] | None:
        """The piece of line around a hit; None, and a row of `unread`, where the line is too long."""
        high = end + LINE_BYTES if begin is None else begin + LINE_BYTES
        stop = block.find(b"\n", end, high)
        is_cut = stop < 0 and high < len(block)
        stop = min(high, len(block)) if stop < 0 else stop
        carriage = block.find(b"\r", end, stop)
        if begin is None or (is_cut and carriage < 0):
            self._long(line, begin)
        return None if begin is None else (line, begin, stop if carriage < 0 else carriage)

    def _long(self, line: int, begin: int | None) -> None:
        if line not in self._cut and len(self._cut) < 100:
            self._cut.add(line)
            self._result.unread.append({"line": line, "reason": f"a line longer than {LINE_BYTES} bytes was cut"})

    def _deliver(self, block: bytes, segment: tuple[int, int, int], anchors: set[int]) -> None:
        line, begin, end = segment
        text = block[begin:end]
        is_early: dict[int, bool] = {}
        for anchor in anchors:
            self._counts[anchor] += 1
            for number in self._wanted[anchor]:
                is_early[number] = is_early.get(number, False) or self._counts[anchor] <= KEPT_HITS // 2
        for number, early in is_early.items():
            following = self._following.get(number)
            if following is not None:
                self._follow(block, number, following, line)
                following.until, following.line = line + self._parsers[number].after, line + 1
                following.offset = block.find(b"\n", end) + 1 or len(block)
            self._kept[number].add(((line, self._base + begin), text, True), early)

    def _follow(self, block: bytes, number: int, following: _Following, before: int) -> None:
        """Deliver the lines after the last hit, up to the line `before`."""
        early = len(self._kept[number].head) < KEPT_HITS // 2
        while following.line <= min(following.until, before - 1) and following.offset < len(block):
            stop = block.find(b"\n", following.offset)
            stop = len(block) if stop < 0 else stop
            text = block[following.offset : min(stop, following.offset + LINE_BYTES)].rstrip(b"\r")
            self._kept[number].add(((following.line, self._base + following.offset), text, False), early)
            following.line, following.offset = following.line + 1, stop + 1

    def _look(self, block: bytes, newlines: int) -> None:
        """First and last lines, and a sample for the templates: of windows 0, 1, 2, 4, 8, …"""
        result = self._result
        if not self._windows:
            result.first = [text for _, text in _some(block[: 64 * 1024], 1, ENDS)]
        result.last = [_text(raw) for raw in block[-64 * 1024 :].split(b"\n")[-ENDS:]]
        if self._windows & (self._windows - 1) == 0:
            step = max(1, len(block) // SAMPLE) if newlines > SAMPLE else 1
            result.sample.update(_some(block, self._line, SAMPLE) if step == 1 else _spread(block, self._line, step))


def _some(block: bytes, line: int, most: int) -> Iterator[tuple[int, str]]:
    """The first lines."""
    for number, raw in enumerate(block.split(b"\n", most)[:most]):
        yield line + number, _text(raw)


def _spread(block: bytes, line: int, step: int) -> Iterator[tuple[int, str]]:
    """Lines spread evenly over the block."""
    counted = 0
    for at in range(0, len(block), step):
        begin = block.find(b"\n", at) + 1
        if not begin or begin < counted:
            continue
        line += block.count(b"\n", counted, begin)
        counted = begin
        yield line, _text(block[begin : (block.find(b"\n", begin) + 1 or len(block) + 1) - 1])


def _text(raw: bytes) -> str:
    return raw[:4096].decode("utf-8", "replace").rstrip("\r")
