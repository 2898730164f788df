"""Lists of places in the order of their ranks, wherever they stand: in a launch line, a script, a file of nodes, a list of endpoints.

    horovodrun -np 8 -H trx2:2,trx5:4,trx9:2 …            $nodes = @("WINGPU02","WINGPU01")        for n in cn17 cn14; do
    10.1.1.8:6170,10.1.1.8:6171,10.1.1.5:6170,10.1.1.5:6171        SLURM_JOB_NODELIST=dgx[08,02]
    tx11:7741,tx12:88427,tx11:7745        processes, in the order of ranks where a line beside them says so
    gn07⏎gn07⏎gn03⏎gn03        a file whose lines are names           global_rank_mapping={'n3': [0, 1, 2], 'n1': [3, 4, 5, 6]}

A list is two names of places at least with nothing but marks between them, each place once or in one run. How many processes each has may stand
beside it; which list is that of the ranks, is for processes.py to say.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise, takewhile
from typing import NamedTuple

from parsers.text.host_list import host_list
from parsers.text.patterns import regex
from parsers.who.lines.beginnings import Begun, Said
from parsers.who.places.contexts import Places

_LINES = 400
_CHARACTERS = 4000
_FEWEST = 2
_WORD = r"[A-Za-z0-9][A-Za-z0-9_]*(?:[.-][A-Za-z0-9_]+)*"
_NAME = regex(_WORD)
_ITEM = regex(
    rf"(?P<name>{_WORD})(?P<range>\[[\d,-]+\])?(?:(?P<is>[:*]|\s{{1,4}}slots=)(?P<number>\d{{1,5}})(?![\w.]))?"
)
_SHORT = regex(r"[A-Za-z0-9_]\[\d[\d,-]*\]")  # names that differ in a number
_SHOWS = regex(r"[$#%>]\s{1,4}(?:cat|more|type) (?:[^\s|;]*/)?(?P<file>[\w.-]+)\s*\Z")
_BETWEEN = regex(r"[\s,;\"'|]{1,8}")
_BLOCK = regex(r"[\"'](?P<name>[A-Za-z0-9][\w.-]{0,252})[\"']: ?\[(?P<ranks>\d{1,7}(?:, ?\d{1,7}){0,63})\]")
_PORTS = 1024
_PROCESS = regex(r"(?<![\w.:/-])(?P<name>[A-Za-z0-9][\w.-]{0,252})[:/@](?P<pid>\d{2,10})(?![\w.:/-])")
_BY_RANK = regex(r"(?i)\b(?:in|by)(?: order of)?(?: the)? (?:tasks?|ranks?)\b|\b(?:task|rank)[ -]order|\bhostpids\b")
_BESIDE = 2  # lines above a list, or one below it, that say so


class Order(NamedTuple):
    """`counts`: processes of each place, where the list tells them. `is_file`: a file that is such a list and nothing else."""

    file: str
    line: int
    places: tuple[str, ...]
    counts: tuple[int, ...] | None
    is_file: bool
    is_ports: bool  # of endpoints, a process each


class Block(NamedTuple):
    """The ranks of a place, in order."""

    file: str
    line: int
    place: str
    ranks: tuple[int, ...]


def orders(said: Begun, places: Places) -> list[Order]:
    """All lists, in the order of the files."""
    found: list[Order] = []
    for path, own in said.items():
        if (whole := _of_file(path, own, places)) is not None:
            found.append(whole)
            continue
        found += _shown(own, places)
        for one in own[:_LINES]:
            text = one.raw[:_CHARACTERS]
            if ("," in text or " in " in text or "(" in text or "[" in text) and _may_list(text, places):
                for items in _lists(text, places):
                    if (counted := _counted(items)) is not None:
                        are_ports = {number for _, number in items} == {-1}
                        found.append(Order(path, one.number, *counted, False, are_ports))
    return list(dict.fromkeys(found))


def _may_list(text: str, places: Places) -> bool:
    """Does a line hold two places, or a short form of several?"""
    return _SHORT.search(text) is not None or sum(map(places.is_place, _NAME.findall(text))) >= _FEWEST


def blocks(said: Begun, places: Places) -> list[Block]:
    """What mappings of places to lists of ranks tell, where these are just 0 … N-1: those that say so, or else those in the order of the places, for a
    launcher lists their devices as well."""
    told: list[tuple[bool, Block]] = []
    for path, own in said.items():
        for one in own[:_LINES]:
            pairs = [*mapped(text := one.raw[:_CHARACTERS], places)]
            ranks = [rank for _, own_ranks in pairs for rank in own_ranks]
            says = "rank" in text.lower()
            if len(pairs) >= _FEWEST and (sorted(ranks) if says else ranks) == [*range(len(ranks))]:
                told += [(says, Block(path, one.number, place, own_ranks)) for place, own_ranks in pairs]
    is_said = any(says for says, _ in told)
    return [block for says, block in told if says or not is_said]


def mapped(text: str, places: Places) -> Iterator[tuple[str, tuple[int, ...]]]:
    """The places of a mapping, each with its list of numbers."""
    for found in _BLOCK.finditer(text):
        if places.is_place(found["name"]):
            yield places.of(found["name"]), tuple(map(int, found["ranks"].split(",")))


class Counted(NamedTuple):
    """A process in a list of all of them, `rank` others before it."""

    file: str
    line: int
    place: str
    pid: int
    rank: int
    world: int


def in_order_of_ranks(said: Begun, places: Places) -> Iterator[Counted]:
    """What lists of places with process numbers tell (`n3:4411,n1:902,n3:4409`), where a line beside them says that they are in the order of ranks."""
    for path, own in said.items():
        for at, one in enumerate(own[:_LINES]):
            found = [*_PROCESS.finditer(one.raw[:_CHARACTERS])]
            pairs = [(places.of(item["name"]), int(item["pid"])) for item in found if places.is_place(item["name"])]
            gaps = ((last.end(), item.start()) for last, item in pairwise(found))
            is_each = len({*pairs}) >= max(_FEWEST, len(found))
            is_list = is_each and all(_BETWEEN.fullmatch(one.raw, *gap) for gap in gaps)
            beside = (line.raw[:_CHARACTERS] for line in own[max(0, at - _BESIDE) : at + _BESIDE])
            if is_list and any(map(_BY_RANK.search, beside)):
                yield from (Counted(path, one.number, *pair, rank, len(pairs)) for rank, pair in enumerate(pairs))


def _of_file(path: str, own: Sequence[Said], places: Places) -> Order | None:
    lines = [line for one in own if (line := one.raw.partition("#")[0].strip())]
    items = [_ITEM.fullmatch(line) for line in lines]
    if len(lines) < _FEWEST or not all(item is not None and places.is_place(item["name"]) for item in items):
        return None
    pairs = [(places.of(item["name"]), _number(item["is"], item["number"])) for item in items if item is not None]
    counted = _counted(pairs)
    return None if counted is None else Order(path, 1, *counted, True, False)


def _shown(own: Sequence[Said], places: Places) -> Iterator[Order]:
    """Files of names that a command shows, by the names of these files: `$ cat hosts`, and the lines below it."""
    for at, one in enumerate(own[:_LINES]):
        if (shows := _SHOWS.search(one.raw[:_CHARACTERS])) is None:
            continue
        below = [line for line in own[at + 1 : at + 1 + _LINES] if line.number - own[at].number <= _LINES]
        names = [*takewhile(lambda line: _ITEM.fullmatch(line.raw.strip()) or line.raw.lstrip()[:1] == "#", below)]
        is_whole = [line.number for line in names] == [*range(one.number + 1, one.number + 1 + len(names))]
        if is_whole and (whole := _of_file(shows["file"], names, places)) is not None:
            yield whole._replace(line=one.number)


def _lists(text: str, places: Places) -> Iterator[list[tuple[str, int | None]]]:
    """Runs of names with nothing but marks between them."""
    run: list[tuple[str, int | None]] = []
    last = -1
    for found in _ITEM.finditer(text):
        if run and not _BETWEEN.fullmatch(text, last, found.start()):
            yield run
            run = []
        last = found.end()
        listed = host_list(found["name"] + found["range"], 4096) if found["range"] else [found["name"]]
        if all(map(places.is_place, listed)):
            run += [(places.of(name), _number(found["is"], found["number"])) for name in listed]
        else:
            yield run
            run = []
    yield run


def _number(mark: str | None, number: str | None) -> int | None:
    """A count, or a port (1024 and more, told as negative)."""
    if mark is None or number is None:
        return None
    return int(number) if int(number) < _PORTS else -1


def _counted(items: Sequence[tuple[str, int | None]]) -> tuple[tuple[str, ...], tuple[int, ...] | None] | None:
    """(places, counts) of a list; None where a place comes again after another, or there are not two."""
    runs = [(place, [number for _, number in own]) for place, own in groupby(items, key=lambda item: item[0])]
    names = tuple(place for place, _ in runs)
    if len(names) < _FEWEST or len(set(names)) < len(names):
        return None
    numbers = [number for _, number in items]
    if None not in numbers and all(number is not None and number > 0 for number in numbers):
        return names, tuple(sum(number or 0 for number in own) for _, own in runs)
    is_listed_each = len(items) > len(names) or set(numbers) == {-1}
    return names, tuple(len(own) for _, own in runs) if is_listed_each else None


def starts_of(places: Sequence[str], counts: Sequence[int]) -> dict[str, range]:
    """Place → its ranks."""
    found: dict[str, range] = {}
    first = 0
    for place, count in zip(places, counts, strict=True):
        found[place] = range(first, first + count)
        first += count
    return found


def by_file(found: Sequence[Order]) -> dict[str, list[Order]]:
    """File → its lists."""
    own: defaultdict[str, list[Order]] = defaultdict(list)
    for one in found:
        own[one.file].append(one)
    return dict(own)
