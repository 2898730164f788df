"""Files of records each of which says which of how many it is: `"ctx": {"dp": "2/4"}`, `member,…⏎2/4,…`, `proc=2 of 4`, or before most lines `[2/4]`.

    {"event": "start", "process": 1, "process_count": 4}     {"learner": 2, "n_learners": 4, …}     the number and the size in fields of their own
    step,worker,loss⏎0,2,3.1                                  the number alone, where the size is told elsewhere, or the field is called after a process

The same in all records of a file that tell it, another one in each of the files, as many as it says, and just 0 … N-1 or 1 … N. Of a world that the records themselves
tell, a few files may be lost. What is within a model or a step, or on a host, by its name, is none; a share of a progress is not as large as there are files, and goes on.

Fooled by: files of a folder that number themselves as parts of it in their records.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from parsers.forms import framings
from parsers.forms.reading import text_lines, whole
from parsers.schema.names import share_of
from parsers.schema.parser import STREAM_ERRORS, Source
from parsers.text import vocabulary
from parsers.text.patterns import regex
from parsers.text.rank_list import RANKS
from parsers.who.told.counted_columns import NUMBERED, WITHIN, first_records, is_of_process

_MAY = regex(rb"[\"=:,\t \[<(]\d{1,6} ?(?:/| of ) ?\d{1,6}[\"\s,}\])>]")
_HEADED = regex(r"[\[<(](\d{1,6}/\d{1,6})[\])>]")
_HEAD, _RECORDS, _FEWEST, _DEPTH = 4096, 64, 2, 4
_SIZES = frozenset(("num", "n", "nr", "number", "count", "total", "size"))  # beside the word of what is counted


class _Share(NamedTuple):
    """`size` is None where the records tell the number alone; `is_world`: they call it that of the job."""

    number: int
    size: int | None
    is_world: bool = False


def with_shares(
    sources: Iterable[Source], world: int | None, ranks: Mapping[str, int], claims: Sequence[dict[str, Any]]
) -> tuple[dict[str, int], list[dict[str, Any]]]:
    """Members of which nobody knows whose they are, the size of the job, path → rank, rows of the table `ranks` → these with what the members say."""
    found = told_shares([one for one in sources if one.rank is None], world)
    rows = [
        {"rank": rank, "file": path, "world_size": size, "how": "roll", "line": None}
        for path, (rank, size) in found.items()
    ]
    return {**ranks, **{path: rank for path, (rank, _) in found.items()}}, [*claims, *rows]


def told_shares(sources: Iterable[Source], world: int | None) -> dict[str, tuple[int, int]]:
    """Members, and the size of the job where it is known → path → its rank and of how many."""
    told: defaultdict[tuple[bool, str], dict[str, _Share]] = defaultdict(dict)
    for source in sources:
        for name, share in _shares(source).items():
            told[share.size is None, name][source.path] = share
    for is_alone in (False, True):  # what tells its size goes before what does not
        own = [(name, shares) for (alone, name), shares in told.items() if alone is is_alone]
        if found := [ranks for name, shares in own if (ranks := _roll(name, shares, world))]:
            return found[0] if all(one == found[0] for one in found) else {}
    return {}


def _roll(name: str, own: Mapping[str, _Share], world: int | None) -> dict[str, tuple[int, int]]:
    sizes = {one.size for one in own.values()}
    numbers = sorted(one.number for one in own.values())
    if len(sizes) != 1 or len(own) < _FEWEST or len({*numbers}) < len(numbers):
        return {}
    if (size := sizes.pop()) is None:  # of a few of a larger world it may be a place on a host
        size = len(own) if world is not None or is_of_process(name) else 0
    base = numbers[0]
    is_whole = base in (0, 1) and numbers == [*range(base, base + size)]
    is_most = not base and numbers[-1] < size < 2 * len(own) and all(one.is_world for one in own.values())
    fits = world in (None, size) and (is_whole or is_most)
    return {path: (one.number - base, size) for path, one in own.items()} if fits else {}


def _shares(source: Source) -> dict[str, _Share]:
    """Name → the one share that the first records of a member tell under it; none where they tell a rank."""
    if not source.size:
        return {}
    try:
        with source.open() as stream:
            head = stream.read(_HEAD)
        if b"\0" in head or not (_MAY.search(head) or framings.framing(source.path, head)):
            return {}
        records = [*islice(first_records(source), _RECORDS)]
        lines = [text for _, text in islice(text_lines(source), _RECORDS if not records else 0)]
    except STREAM_ERRORS:  # whoever reads it will say so
        return {}
    told: defaultdict[str, set[tuple[int, int]]] = defaultdict(set)
    cells: defaultdict[str, set[int | None]] = defaultdict(set)
    for said in records:
        if whole(vocabulary.told(said).get("rank")) is not None:
            return {}
        for name, cell in _inner("", said, 0):
            is_within = not WITHIN.isdisjoint(vocabulary.words_of(name))
            if not is_within and (share := share_of(cell)) is not None:
                told[name].add(share)
            elif not is_within or vocabulary.axis_of(_last(name)) is not None:
                cells[name].add(whole(cell))
    headed = [share for text in lines if (found := _HEADED.match(text)) and (share := share_of(found[1])) is not None]
    told["["] |= {*headed} if 2 * len(headed) > len(lines) else set()
    shares = {name: _Share(*next(iter(own))) for name, own in told.items() if len(own) == 1}
    return {**_numbers(cells), **shares}


def _numbers(cells: Mapping[str, set[int | None]]) -> dict[str, _Share]:
    """Name → the one number that all records of a file tell under it, and the size that any tells beside it."""
    alone = {name: number for name, own in cells.items() if len(own) == 1 and (number := next(iter(own))) is not None}
    worlds = {number for name, number in alone.items() if vocabulary.of_process(_last(name)) == "world_size"}
    made: dict[str, _Share] = {}
    axes = {axis for name in cells if (axis := vocabulary.axis_of(_last(name))) is not None}
    for name, number in alone.items():
        is_along = len(axes) > 1 and vocabulary.axis_of(_last(name)) is not None  # one of several axes of a layout
        if is_along or vocabulary.points_elsewhere(name) or not _may_number(_last(name), number):
            continue
        sizes = worlds or {size for other, size in alone.items() if _counts(_last(other), _last(name))}
        size = next(iter(sizes)) if len(sizes) == 1 else None
        made[name] = _Share(number, size, bool(worlds) and is_of_process(name))
    return made


def _may_number(name: str, number: int) -> bool:
    """Is nothing known of a name but that it may be a process's, and is its number one?"""
    said = vocabulary.meaning_of(name)
    is_open = said is None or said.meaning == "process_name"
    is_outer = WITHIN.isdisjoint(vocabulary.words_of(name)) and vocabulary.of_process(name) in (None, "rank")
    return is_open and is_outer and 0 <= number <= RANKS


def _counts(size: str, name: str) -> bool:
    """`n_learners` of `learner`, `worker_count` of `worker_id`: a word of a count, and the same word as the number has, of one or of many."""
    counted = [word for word in vocabulary.words_of(size) if word not in _SIZES]
    of = [word for word in vocabulary.words_of(name) if word not in NUMBERED]
    return len(counted) == len(of) == 1 != len(vocabulary.words_of(size)) and counted[0] in (
        of[0],
        f"{of[0]}s",
        f"{of[0]}es",
    )


def _last(name: str) -> str:
    return name.rpartition("/")[2]


def _inner(before: str, said: Mapping[str, Any], depth: int) -> Iterable[tuple[str, Any]]:
    for name, cell in said.items():
        if isinstance(cell, dict) and depth < _DEPTH:
            yield from _inner(f"{before}{name}/", cell, depth + 1)
        else:
            yield f"{before}{name}", cell
