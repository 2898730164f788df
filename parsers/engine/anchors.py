"""All anchors of all line parsers at once: where in a block of bytes do they occur?

Hyperscan where its wheel can be imported, else google-re2, else the standard library: the same answer, slower. To build a database of
thousands of anchors takes Hyperscan half of what a small bundle takes, so it is kept (kept.py).
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from hashlib import sha256
from importlib import import_module
from typing import Any

from parsers.text import kept

Hits = tuple[list[int], list[int]]  # where anchors end, in order; of each its index
Text = bytes | bytearray
Find = Callable[[Text, int], Hits]
ENGINES = ("hyperscan", "re2", "re")
MANY = 1000  # anchors whose database is kept
_BITS = 16  # of one number for a hit, those of the index: a pair for each is more, and sorted in thrice the time


@lru_cache(maxsize=8)
def finder(anchors: tuple[bytes, ...], engine: str | None = None) -> Find:
    """A function (block, end) → hits in `block[:end]`. `engine`: one of ENGINES; None takes the first that can be imported."""
    if not anchors:
        return lambda _block, _end: ([], [])
    if any(not anchor or b"\n" in anchor or b"\r" in anchor for anchor in anchors):
        raise ValueError("an anchor is empty or spans lines")
    if engine is not None:
        return _MAKERS[engine](anchors)
    for make in _MAKERS.values():
        with suppress(ImportError):
            return make(anchors)
    raise AssertionError("unreachable: re is always there")


def _hyperscan(anchors: tuple[bytes, ...]) -> Find:
    scan = _scan(anchors, 0)

    def find(block: Text, end: int) -> Hits:
        hits: list[int] = []
        add = hits.append

        def on_hit(anchor: int, _begin: int, stop: int, _flags: int, _context: object) -> None:
            add(stop << _BITS | anchor)

        scan(block, end, on_hit)
        return _sorted(hits)

    return find


def _scan(anchors: tuple[bytes, ...], flag: int) -> Callable[[Text, int, Callable[..., None]], None]:
    """(block, end, what to call at each hit)."""
    hyperscan = import_module("hyperscan")
    database = _database(hyperscan, anchors, flag)
    scratches: list[Any] = []  # a scan needs its own: threads share the database, not their scratch spaces

    def scan(block: Text, end: int, on_hit: Callable[..., None]) -> None:
        try:
            own = scratches.pop()
        except IndexError:
            own = hyperscan.Scratch(database)
        with memoryview(block) as view, view[:end] as part:
            database.scan(part, match_event_handler=on_hit, scratch=own)
        scratches.append(own)

    return scan


def _database(hyperscan: Any, anchors: Sequence[bytes], flag: int) -> Any:
    """The anchors as a database; of many the last one is kept."""
    if len(anchors) < MANY:
        return _built(hyperscan, anchors, flag)
    made_of = sha256(repr((hyperscan.__version__, flag, anchors)).encode()).digest()
    kept_at = kept.place(__file__, f"hyperscan{flag}")
    if found := kept.kept(kept_at, made_of):
        with suppress(hyperscan.HyperscanError):  # it is of another machine
            return hyperscan.loadb(found, hyperscan.HS_MODE_BLOCK)
    database = _built(hyperscan, anchors, flag)
    kept.keep(kept_at, made_of, hyperscan.dumpb(database))
    return database


def _built(hyperscan: Any, anchors: Sequence[bytes], flag: int) -> Any:
    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    numbers = list(range(len(anchors)))
    database.compile(expressions=list(anchors), ids=numbers, flags=[flag] * len(numbers), literal=True)
    return database


@lru_cache(maxsize=8)
def occurring(anchors: tuple[bytes, ...]) -> Callable[[Text, int], set[int]]:
    """A function (block, end) → the indices of the anchors that occur in `block[:end]`: where they are many, in a
    twentieth of the time."""
    try:
        scan = _scan(anchors, import_module("hyperscan").HS_FLAG_SINGLEMATCH)
    except ImportError:
        find_all = finder(anchors)
        return lambda block, end: set(find_all(block, end)[1])

    def find(block: Text, end: int) -> set[int]:
        found: set[int] = set()
        scan(block, end, lambda anchor, *_: found.add(anchor))
        return found

    return find


def _re2(anchors: tuple[bytes, ...]) -> Find:
    re2 = import_module("re2")
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    pattern = re2.compile(b"|".join(re.escape(anchor) for anchor in _shortest(anchors)), options)
    return lambda block, end: _complete(bytes(block[:end]), anchors, pattern)


def _re(anchors: tuple[bytes, ...]) -> Find:
    pattern = re.compile(b"|".join(re.escape(anchor) for anchor in _shortest(anchors)))
    return lambda block, end: _complete(bytes(block[:end]), anchors, pattern)


def _shortest(anchors: Sequence[bytes]) -> list[bytes]:
    """Anchors that hold no other: where one of the others is, one of these is."""
    return [anchor for anchor in set(anchors) if not any(other in anchor for other in anchors if other != anchor)]


def _complete(block: bytes, anchors: Sequence[bytes], pattern: Any) -> Hits:
    """An alternation finds hits that do not overlap; every line with one is searched again for all anchors."""
    hits: list[int] = []
    stop = 0
    for match in pattern.finditer(block):
        begin = match.start()
        if begin < stop:
            continue
        start = block.rfind(b"\n", 0, begin) + 1
        end = block.find(b"\n", begin)
        stop = len(block) if end < 0 else end
        for number, anchor in enumerate(anchors):
            hits += (at + len(anchor) << _BITS | number for at in _places(block, anchor, start, stop))
    return _sorted(hits)


def _sorted(hits: list[int]) -> Hits:
    hits.sort()
    last = (1 << _BITS) - 1
    return [hit >> _BITS for hit in hits], [hit & last for hit in hits]


def _places(block: Text, anchor: bytes, start: int, stop: int) -> Iterator[int]:
    """Where an anchor begins in `block[start:stop]`."""
    at = block.find(anchor, start, stop)
    while at >= 0:
        yield at
        at = block.find(anchor, at + 1, stop)


_MAKERS: dict[str, Callable[[tuple[bytes, ...]], Find]] = {"hyperscan": _hyperscan, "re2": _re2, "re": _re}
