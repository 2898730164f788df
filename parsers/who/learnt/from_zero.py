"""What introductions amount to, once all are there: ranks are counted from 0, and of one job."""

from collections import Counter, defaultdict
from itertools import chain

from msgspec.structs import replace

from parsers.text.patterns import regex
from parsers.text.unanimous import sole, unanimous
from parsers.who.lines.beginnings import Begun, Said
from parsers.who.lines.introductions import Introduction

_NUMBER = regex(r"\d{1,10}")
_TOTAL = regex(r"(?<![\w.:-])0{0,6}(\d{1,7})(?: of | out of | ?/ ?)(\d{1,7})(?![\w])")
_SERVES = regex(
    r"(?i)\branks? ?[=:#]? ?0\b[^\d]{1,40}\branks? ?[=:]? ?[\[(]?1(?: ?(?:\.\.\.?|-|–|to|:) ?)(?P<last>\d{1,6})(?![\w.])"
)
_FEW = 3  # at most one in three may be of another size
_CHARACTERS, _HEADS = 400, 2


def from_zero(said: Begun) -> dict[str, list[Said]]:
    """Lines by path → the same, where introductions count ranks from 0: a form of line in which somebody is the last by number, `16 of 16`, and nobody
    is 0, counts from 1. Who is N of N beside a 0 tells no rank, unless a process of another sort is 0 (a server) and calls these 1 to N."""
    said = _served(said)
    forms: defaultdict[tuple[int, str], set[int]] = defaultdict(set)
    for one in chain.from_iterable(said.values()):
        if (own := one.introduces) is not None and own.world is not None:
            forms[own.world, _until_rank(one, own)].add(own.rank)
    return {path: [_from_zero(one, forms) for one in own] for path, own in said.items()}


def _served(said: Begun) -> Begun:
    """`server rank 0, trainers ranks 1..3` at a file's head, and `trainer rank 2 of 3` by each of those: who serves is none of them."""
    heads = (one.raw[:_CHARACTERS] for own in said.values() for one in own[:_HEADS] if one.introduces is None)
    size = sole(int(found["last"]) for head in heads if (found := _SERVES.search(head)) is not None) or 0
    ranks = {(who.rank, who.world) for own in said.values() for one in own if (who := one.introduces) is not None}
    if not size or ranks != {(rank, size) for rank in range(1, size + 1)}:
        return said
    return {path: [replace(one, introduces=_alone(one.introduces)) for one in own] for path, own in said.items()}


def _alone(who: Introduction | None) -> Introduction | None:
    return None if who is None else replace(who, world=None)


def _from_zero(one: Said, forms: "defaultdict[tuple[int, str], set[int]]") -> Said:
    if (own := one.introduces) is None or own.world is None:
        return one
    ranks = forms[own.world, _until_rank(one, own)]
    if own.world in ranks and 0 not in ranks:
        return replace(one, introduces=replace(own, rank=own.rank - 1))
    return one if own.rank < own.world else replace(one, introduces=None)


def of_one_size(said: Begun) -> dict[str, list[Said]]:
    """Lines by path → the same, where introductions that tell 0 … N-1, each once, tell all but a few the size N: whoever tells another one was given
    that by mistake, and is of the same job. `Introduction.given` keeps it."""
    introduced = (one.introduces for one in chain.from_iterable(said.values()) if one.introduces is not None)
    told = [(own.rank, own.world) for own in introduced if own.world is not None]
    sizes = unanimous(told)
    ranks, counts = {rank for rank, _ in told}, Counter(sizes.values())
    size, times = counts.most_common(1)[0] if counts else (0, 0)
    is_whole = len(sizes) == size and ranks == {*range(size)}
    if not is_whole or len(counts) == 1 or _FEW * (size - times) > size:
        return {path: [*own] for path, own in said.items()}
    return {path: [_of_size(one, size) for one in own] for path, own in said.items()}


def _of_size(one: Said, size: int) -> Said:
    if (own := one.introduces) is None or own.world in (None, size):
        return one
    return replace(one, introduces=replace(own, world=size, given=own.world))


def _until_rank(one: Said, own: Introduction) -> str:
    """The words up to the rank, without their numbers: the one that stands before the size, where one does."""
    text = one.line.text
    totals = (
        found.start() for found in _TOTAL.finditer(text) if found[1] == str(own.rank) and found[2] == str(own.world)
    )
    at = next(totals, text.find(str(own.rank)))
    return _NUMBER.sub("#", text[: max(at, 0)])
