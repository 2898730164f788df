"""Which ranks run on each of several hosts, as a line, or lines below each other, list them: `{'n7': [0, 1, 2, 3], 'n2': [4, 5, 6, 7]}`.

    rank map: n7=0-3 n2=4-7          ranks 0..3 @ n7, ranks 4..7 @ n2          n7 hosts ranks 0, 1, 2, 3⏎n2 hosts ranks 4, 5, 6, 7

Lists of numbers that are together just 0 … N-1, each number once, of two hosts and more; the names are what differs in the words between them. The
word rank stands on the line, or above, and is of no group. Which place a rank has on its host is its place in the list.

What a remark says of many at once, names that are counted and as many ranks, both as far, is of each of them. Somebody's own words, so of a place in a
group (`dp rank`) they say nothing.

    one run per replica (dp0 .. dp3 = rank 0 .. 3)            w4-w7 are ranks 4-7            worker_0 to worker_3: global ranks 0 to 3
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from parsers.schema.labels import OF_GROUP
from parsers.schema.names import Told
from parsers.text.patterns import regex
from parsers.text.rank_list import RANKS

_NUMBER = r"\d{1,7}"
_LISTS = regex(
    rf"(?<![\w.+-])[\[({{]?(?P<first>{_NUMBER})\s?(?:-|\.\.\.?|…|–|~|to|至|到)\s?(?P<last>{_NUMBER})[\])}}]?(?![\w:-]|[.,]\d)"
    rf"|(?<![\w.+-])[\[({{]?(?P<listed>{_NUMBER}(?:(?:, ?| ){_NUMBER}){{1,4095}})[\])}}]?(?![\w:-]|[.]\d)"
    rf"|[\[({{](?P<only>{_NUMBER})[\])}}]"
)
_WORD = regex(r"[A-Za-z_][\w.-]*")
_RANKS = regex(r"(?i)(?P<before>[a-z]{0,12}[ _-]?)ranks?(?![a-z\d])")
_CHARACTERS, _FEWEST, _WORDS = 20_000, 2, 8
_TO = r" ?(?:\.{2,3}|…|-|–|to|through|bis|~|至|到) ?"
_RANGE = regex(
    rf"(?i)(?<![\w.-])(?P<stem>[a-z][a-z_-]{{0,30}})(?P<first>\d{{1,5}}){_TO}(?P=stem)(?P<last>\d{{1,5}})"
    rf" ?(?:=|:|->|→|are|is|means?|对应) ?(?:the )?(?:(?:global|world|torch) )?ranks? (?P<from>\d{{1,5}}){_TO}(?P<to>\d{{1,5}})(?![\w%]|\.\d)"
)


class _Listed(NamedTuple):
    """A list, and the words before it and behind it."""

    numbers: Sequence[int]
    before: Sequence[str]
    behind: Sequence[str]


def mapped_ranks(lines: Iterable[tuple[str, int, str]]) -> Iterator[Told]:
    """Lines, each with its file and number → the places of hosts with their ranks."""
    for file, own in groupby(lines, key=lambda one: one[0]):
        above = (0, False)
        block: list[tuple[int, _Listed]] = []
        is_of_ranks = False
        for _, number, text in own:
            says = "ank" in text.lower() and _says_ranks(text)
            may = says or bool(block) or (above[0] + 1 == number and above[1])
            listed = _listed(text[:_CHARACTERS]) if may else []
            if len(listed) > 1 and says:
                yield from _told(file, number, listed)
            one = listed[-1] if listed else None
            if one is not None and block and number <= block[-1][0] + 1 and _is_like(one, block[-1][1]):
                block.append((number, one))
                is_of_ranks |= says
            else:
                yield from _told_below(file, block) if is_of_ranks else ()
                block = [(number, one)] if one is not None else []
                is_of_ranks = says or (above[0] + 1 == number and above[1])
            above = number, says
        yield from _told_below(file, block) if is_of_ranks else ()


def _says_ranks(text: str) -> bool:
    said = [*_RANKS.finditer(text[:_CHARACTERS])]
    return bool(said) and not any(OF_GROUP.search(f"{one['before'].strip(' _-')}_") for one in said)


def _listed(text: str) -> list[_Listed]:
    found = [*_LISTS.finditer(text)]
    ends = [0, *(one.end() for one in found)]
    begins = [*(one.start() for one in found), len(text)]
    between = [_WORD.findall(text[end:begin]) for end, begin in zip(ends, begins, strict=True)]
    return [
        _Listed(_numbers(one), before[-_WORDS:], behind[:_WORDS])
        for one, before, behind in zip(found, between, between[1:], strict=False)
    ]


def _numbers(found: "re.Match[str]") -> Sequence[int]:
    if found["first"] is not None:
        first, last = int(found["first"]), int(found["last"])
        return range(first, last + 1) if first < last <= RANKS else ()
    return [*map(int, (found["listed"] or found["only"]).replace(",", " ").split())]


def _told(file: str, line: int, listed: Sequence[_Listed]) -> Iterator[Told]:
    """Of the lists of one line the last ones that are all ranks."""
    for at in range(len(listed) - 1):
        own = listed[at:]
        if _are_all([one.numbers for one in own]):
            behind = len(own[-1].before)
            named = _names([one.before[len(one.before) - behind :] for one in own])
            named = named or _names([one.behind[: len(own[-1].behind)] for one in own])
            yield from _places(file, [line] * len(own), own, named)
            return


def _told_below(file: str, block: Sequence[tuple[int, _Listed]]) -> Iterator[Told]:
    own = [one for _, one in block]
    if _are_all([one.numbers for one in own]):
        named = _names([one.before for one in own]) or _names([one.behind for one in own])
        yield from _places(file, [number for number, _ in block], own, named)


def _is_like(one: _Listed, other: _Listed) -> bool:
    return len(one.before) == len(other.before) and len(one.behind) == len(other.behind)


def _are_all(lists: Sequence[Sequence[int]]) -> bool:
    if sum(map(len, lists)) > RANKS:
        return False
    every = sorted(number for own in lists for number in own)
    return len(lists) >= _FEWEST and all(lists) and every == [*range(len(every))]


def _names(words: Sequence[Sequence[str]]) -> Sequence[str]:
    """The words at the only place where they differ, each from all others."""
    if not words or len({*map(len, words)}) > 1:
        return ()
    differing = [own for own in zip(*words, strict=True) if len({*own}) > 1]
    return differing[0] if len(differing) == 1 and len({*differing[0]}) == len(words) else ()


def _places(file: str, lines: Sequence[int], listed: Sequence[_Listed], names: Sequence[str]) -> Iterator[Told]:
    world = sum(len(one.numbers) for one in listed)
    for line, one, name in zip(lines, listed, names, strict=False):
        for local, rank in enumerate(one.numbers):
            yield Told(name, "place", file, line, rank=rank, local_rank=local, world=world)


def told_ranges(lines: Iterable[tuple[str, int, str]]) -> Iterator[Told]:
    """Lines, each with its file and number → each name with its rank."""
    for file, number, text in lines:
        if "ank" not in text:
            continue
        for found in _RANGE.finditer(text[:400]):
            first, last, begin, end = (int(found[name]) for name in ("first", "last", "from", "to"))
            if 0 < last - first == end - begin and end < RANKS:
                for at in range(last - first + 1):
                    yield Told(f"{found['stem']}{first + at}", "name", file, number, begin + at)
