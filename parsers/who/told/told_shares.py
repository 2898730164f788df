"""Files of records each of which says which of how many it is: `"ctx": {"dp": "2/4"}`, `member,…⏎2/4,…`, `proc=2 of 4`, or before most lines `[2/4]`.

The same in all records of a file that tell it, another one in each of the files, as many as it says, and just 0 … N-1 or 1 … N. What is within a model or a
step, or on a host, by its name, is none; a share of a progress is not as large as there are files, and goes on.

Fooled by: files of a folder that number themselves as parts of it in their records.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from parsers.forms.reading import text_lines, whole
from parsers.schema.names import share_of
from parsers.schema.parser import STREAM_ERRORS, Source
from parsers.text import vocabulary
from parsers.text.patterns import regex
from parsers.text.unanimous import unanimous
from parsers.who.lines.beginnings import Begun
from parsers.who.lines.introductions import Introduction
from parsers.who.told.counted_columns import WITHIN, first_records

_MAY = regex(rb"[\"=:,\t \[<(]\d{1,6} ?(?:/| of ) ?\d{1,6}[\"\s,}\])>]")
_HEADED = regex(r"[\[<(](\d{1,6}/\d{1,6})[\])>]")
_BEGINS = regex(r"\W{0,4}(?:(?:rank|process|proc|member) )?(\d{1,6}) ?(?:/|of) ?(\d{1,6})\b")
_HEAD, _RECORDS, _FEWEST, _DEPTH = 4096, 64, 2, 4


def with_shares(
    sources: Iterable[Source], world: int | None, ranks: Mapping[str, int], claims: Sequence[dict[str, Any]]
) -> tuple[dict[str, int], list[dict[str, Any]]]:
    """Members of which nobody knows whose they are, the size of the job, path → rank, rows of the table `ranks` → these with what the members say."""
    found = told_shares([one for one in sources if one.rank is None], world)
    how = {"how": "roll", "line": None}
    rows = [{"rank": rank, "file": path, "world_size": size} | how for path, (rank, size) in found.items()]
    return {**ranks, **{path: rank for path, (rank, _) in found.items()}}, [*claims, *rows]


def told_shares(sources: Iterable[Source], world: int | None) -> dict[str, tuple[int, int]]:
    """Members, and the size of the job where it is known → path → its rank and of how many."""
    told: defaultdict[str, dict[str, tuple[int, int]]] = defaultdict(dict)
    for source in sources:
        for name, share in _shares(source).items():
            told[name][source.path] = share
    found = [ranks for own in told.values() if (ranks := _roll(own, world))]
    return found[0] if found and all(one == found[0] for one in found) else {}


def introductions_of(said: Begun) -> dict[tuple[str, int], Introduction]:
    """Lines of speakers that each say once which of how many they are, as many as speak: `[stdout:4] 1 of 8 n1 41164` → who they are."""
    found: dict[tuple[str, int], Introduction] = {}
    for path, own in said.items():
        forms: defaultdict[str, list[tuple[str, int, int, int]]] = defaultdict(list)
        for one in own:
            for head in one.heads:
                if (share := _BEGINS.match(head.behind)) is not None:
                    forms[head.form].append((head.value, one.number, int(share[1]), int(share[2])))
        for told in forms.values():
            names, lines, numbers, sizes = zip(*told, strict=True)
            is_each = len({*names}) == len(names) >= _FEWEST and {*numbers} == {*range(len(names))}
            if is_each and {*sizes} == {len(names)}:
                rolls = zip(lines, numbers, strict=True)
                found |= {(path, line): Introduction(number, len(names)) for line, number in rolls}
    return found


def _roll(own: Mapping[str, tuple[int, int]], world: int | None) -> dict[str, tuple[int, int]]:
    sizes = {size for _, size in own.values()}
    numbers = sorted(number for number, _ in own.values())
    if len(sizes) != 1 or len(own) < _FEWEST or world not in (None, size := sizes.pop()):
        return {}
    base = numbers[0]
    is_whole = base in (0, 1) and numbers == [*range(base, base + size)]
    return {path: (number - base, size) for path, (number, _) in own.items()} if is_whole else {}


def _shares(source: Source) -> dict[str, tuple[int, int]]:
    """Name → the one share that the first records of a member tell under it; none where they tell a rank."""
    if not source.size:
        return {}
    try:
        with source.open() as stream:
            head = stream.read(_HEAD)
        if not _MAY.search(head) or b"\0" in head:
            return {}
        records = [*islice(first_records(source), _RECORDS)]
        lines = [text for _, text in islice(text_lines(source), _RECORDS if not records else 0)]
    except STREAM_ERRORS:  # whoever reads it will say so
        return {}
    told: list[tuple[str, tuple[int, int]]] = []
    for said in records:
        if whole(vocabulary.told(said).get("rank")) is not None:
            return {}
        for name, cell in _inner("", said, 0):
            if (share := share_of(cell)) is not None and not WITHIN.intersection(vocabulary.words_of(name)):
                told.append((name, share))
    headed = [share for text in lines if (found := _HEADED.match(text)) and (share := share_of(found[1])) is not None]
    return unanimous([*told, *(("[", share) for share in headed if 2 * len(headed) > len(lines))])


def _inner(before: str, said: Mapping[str, Any], depth: int) -> Iterable[tuple[str, Any]]:
    for name, cell in said.items():
        if isinstance(cell, dict) and depth < _DEPTH:
            yield from _inner(f"{before}{name}/", cell, depth + 1)
        else:
            yield f"{before}{name}", cell
