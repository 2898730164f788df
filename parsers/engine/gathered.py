"""What the scan of one file gathers: its candidate lines as columns, and which of them each parser gets.

Objects for each of a million lines would be more than their bytes. Limits of one parser and file, beyond which the first and
the last lines are kept: KEPT_HITS of lines, KEPT_TEXT of bytes.
"""

import re
from array import array
from collections import deque
from collections.abc import Iterable, Mapping, Sequence, Set
from itertools import islice
from operator import lt

import msgspec

from parsers.text.patterns import regex

_HELD = regex(rb'"((?:[^"\\]|\\.)+)"\s*[,}]')  # the texts of a record in a line, its values
KEPT_HITS = 200_000
KEPT_TEXT = 128 << 20


def belongs(pattern: re.Pattern[bytes], text: bytes) -> bool:
    """Does it find something in a line, as it stands or in one of the texts that a collector's record of it holds?"""
    if pattern.search(text) is not None:
        return True
    held = _HELD.findall(text) if text[:1] == b"{" else ()
    return any(pattern.search(own.removesuffix(b"\\n")) for own in held)


class Found(msgspec.Struct):
    """Candidate lines, or pieces of lines."""

    lines: "array[int]" = msgspec.field(default_factory=lambda: array("q"))
    offsets: "array[int]" = msgspec.field(default_factory=lambda: array("q"))  # of their first bytes
    texts: list[bytes] = msgspec.field(default_factory=list)
    hits: bytearray = msgspec.field(default_factory=bytearray)  # 1: an anchor stands in it, 0: it came along

    def __len__(self) -> int:
        return len(self.texts)

    def add(self, line: int, offset: int, text: bytes, hit: int = 0) -> int:
        """A line, one that comes along if nothing else is said → its number here."""
        self.lines.append(line)
        self.offsets.append(offset)
        self.texts.append(text)
        self.hits.append(hit)
        return len(self.texts) - 1

    def of(self, chosen: Sequence[int]) -> "Found":
        """Some of them."""
        lines, offsets = (array("q", map(own.__getitem__, chosen)) for own in (self.lines, self.offsets))
        return Found(
            lines, offsets, list(map(self.texts.__getitem__, chosen)), bytearray(map(self.hits.__getitem__, chosen))
        )


class Kept(msgspec.Struct):
    """What one parser gets of them: the first ones, and a moving tail once a limit is reached."""

    head: list[int] = msgspec.field(default_factory=list)
    tail: deque[int] = msgspec.field(default_factory=deque)
    head_bytes: int = 0
    tail_bytes: int = 0
    lost: int = 0
    lost_bytes: int = 0
    put_off: deque[tuple[Found, int]] = msgspec.field(default_factory=deque)  # behind `tail`: parts and bytes

    @property
    def is_full(self) -> bool:
        """Whether nothing more is among the first: of many anchors, each of which is rare, there may be more than of one."""
        return len(self.head) >= KEPT_HITS or self.head_bytes >= KEPT_TEXT // 2

    def add(self, row: int, texts: Sequence[bytes], is_early: bool) -> None:
        if is_early and not self.is_full:
            self.head.append(row)
            self.head_bytes += len(texts[row])
            return
        self.tail.append(row)
        self.tail_bytes += len(texts[row])
        while len(self.tail) > KEPT_HITS // 2 or self.tail_bytes > KEPT_TEXT // 2:
            size = len(texts[self.tail.popleft()])
            self.tail_bytes -= size
            self.lost_bytes += size
            self.lost += 1

    def put_last(self, part: Found, more: int) -> None:
        """The last lines of a window, which come to the tail unless as many come after them; `more` before them are lost."""
        self.lost += more
        self.put_off.append((part, sum(map(len, part.texts))))
        rows, size = (sum(column) for column in zip(*((len(one), size) for one, size in self.put_off), strict=True))
        if rows >= KEPT_HITS // 2 or size > KEPT_TEXT // 2:
            self.lost += len(self.tail)
            self.lost_bytes += self.tail_bytes
            self.tail.clear()
            self.tail_bytes = 0
        for one, own in list(self.put_off)[:-1]:
            rows, size = rows - len(one), size - own
            if rows < KEPT_HITS // 2 and size <= KEPT_TEXT // 2:
                break
            self.lost += len(one)
            self.put_off.popleft()

    def settle(self, found: Found) -> None:
        """What was put off comes to the tail."""
        while self.put_off:
            part, _ = self.put_off.popleft()
            for place in zip(part.lines, part.offsets, part.texts, part.hits, strict=True):
                self.add(found.add(*place), found.texts, False)


class Scanned(msgspec.Struct):
    """What one file gave. `rows`: of each parser, by its number, which of `found` it gets, in order; `hits`: 1 where these are
    hits of its own."""

    lines: int = 0
    found: Found = msgspec.field(default_factory=Found)  # each place once, in order
    rows: dict[int, Sequence[int]] = msgspec.field(default_factory=dict)
    hits: dict[int, bytes] = msgspec.field(default_factory=dict)
    sample: dict[int, str] = msgspec.field(default_factory=dict)  # line → text
    first: list[str] = msgspec.field(default_factory=list)
    last: list[str] = msgspec.field(default_factory=list)
    unread: list[dict[str, object]] = msgspec.field(default_factory=list)  # rows of `unread`, without the file

    def take(self, found: Found, kept: Mapping[int, Kept]) -> None:
        """Hand out what was gathered."""
        rows = {number: [*one.head, *one.tail] for number, one in sorted(kept.items()) if one.head or one.tail}
        if all(map(lt, found.lines, islice(found.lines, 1, None))) and not any(one.lost for one in kept.values()):
            self.rows = {number: array("I", sorted(own)) for number, own in rows.items()}
            self.hits = {number: bytes(map(found.hits.__getitem__, own)) for number, own in self.rows.items()}
            self.found = found
            return
        places = [
            *zip(found.lines, found.offsets, strict=True)
        ]  # of a window that gave lines away, offsets are its own
        rows = {number: sorted(own, key=places.__getitem__) for number, own in rows.items()}
        self.hits = {number: bytes(map(found.hits.__getitem__, own)) for number, own in rows.items()}
        best = {places[row]: row for own in rows.values() for row in own}
        order = sorted(best)
        moved = dict(zip(order, range(len(order)), strict=True))
        self.found = found.of([best[place] for place in order])
        self.rows = {number: array("I", [moved[places[row]] for row in own]) for number, own in rows.items()}

    def tell(self, number: int, texts: Iterable[str]) -> None:
        """Give a parser texts that are no lines of their own, beside its hits."""
        rows = [self.found.add(0, 0, text.encode()) for text in texts]
        if rows:
            self.rows[number] = array("I", [*self.rows.get(number, ()), *rows])
            self.hits[number] = self.hits.get(number, b"") + bytes(len(rows))

    def drop(self, lines: Set[int]) -> None:
        """Deliver nothing of these lines: somebody else has read them."""
        if not lines:  # nothing would change
            return
        own = self.found.lines
        kept = {
            number: [at for at, row in enumerate(rows) if own[row] not in lines] for number, rows in self.rows.items()
        }
        self.hits = {number: bytes(self.hits[number][at] for at in left) for number, left in kept.items() if left}
        self.rows = {number: [self.rows[number][at] for at in left] for number, left in kept.items() if left}
        self.found, rows = _only(self.found, self.rows.values())
        self.rows = dict(zip(self.rows, rows, strict=True))


def without_lost(found: Found, kept: Mapping[int, Kept]) -> Found:
    """What somebody still gets; the rows of `kept` are counted in it from now on."""
    left, rows = _only(found, [part for one in kept.values() for part in (one.head, one.tail)])
    for one, head, tail in zip(kept.values(), rows[::2], rows[1::2], strict=True):
        one.head, one.tail = head, deque(tail)
    return left


def _only(found: Found, rows: Iterable[Iterable[int]]) -> tuple[Found, list[list[int]]]:
    """What these rows point at, and the rows counted in that."""
    listed = list(rows)
    left = sorted(set().union(*listed))
    moved = dict(zip(left, range(len(left)), strict=True))
    return found.of(left), [[moved[row] for row in own] for own in listed]
