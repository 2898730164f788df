"""Tables of processes that a launcher logs among its other lines, as the documents that they would be in a file of their own.

    [launch] rank  host  gpu          10:04:11 gang: | global rank | node | device |
    [launch] 0     px-a  0            10:04:11 gang: |-------------|------|--------|
    [launch] 3     px-b  0            10:04:11 gang: | 3           | px-b | 0      |

A line of names, one of which says rank, and below it, behind the same prefix, rows of as many cells, each of another rank. What counts steps is none.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from parsers.text import vocabulary
from parsers.text.outlines import Leaf
from parsers.text.patterns import regex
from parsers.text.unanimous import begin_alike
from parsers.who.told.told_items import Item, items_of

_FEWEST, _MOST, _CHARACTERS = 2, 4096, 400
_CLOCK = regex(r"\A\[?\d{1,2}:\d\d:\d\d(?:[.,]\d{1,9})?\]?\s{1,8}")
_PREFIX = regex(
    r"\s{0,8}(?:\[[^\]]{1,40}\]|\([^)]{1,40}\)|[\w.@/-]{1,40}:)(?:\s{1,4}(?:\[[^\]]{1,40}\]|[\w.@/-]{1,40}:))?\s{1,8}"
)
_MARKS = regex(r"[│┃|\t,]| {2,}")
_NAME = regex(r"[A-Za-z_#][\w ./#()-]{0,40}")
_LETTER = regex(r"\w")


def logged_tables(said: Iterable[tuple[str, int, str]]) -> Iterator[list[Item]]:
    """(file, line, text) of lines, file by file → what each table in them tells."""
    for file, own in groupby(said, key=lambda one: one[0]):
        lines = [(number, _CLOCK.sub("", text[:_CHARACTERS], count=1)) for _, number, text in own]
        for at, (_, text) in enumerate(lines[:-_FEWEST]):
            if "rank" in text.lower() and (leaves := _table(lines[at : at + _MOST])):
                yield [item for item in items_of(file, leaves) if item.names]


def _table(lines: Sequence[tuple[int, str]]) -> list[Leaf]:
    prefix = _shared([text for _, text in lines[: _FEWEST + 1]])
    first = lines[0][1][len(prefix) :]
    is_marked = len(_MARKS.split(first.strip())) > _FEWEST
    names = _cells(first, is_marked=is_marked)
    meant = [vocabulary.of_process(name) for name in names]
    is_head = len({*names}) == len(names) >= _FEWEST and meant.count("rank") == 1 and all(map(_NAME.fullmatch, names))
    if not is_head or "step" in vocabulary.meanings(names):
        return []
    place = meant.index("rank")
    rows: list[tuple[int, list[str]]] = []
    for number, text in lines[1:]:
        cells = _cells(text[len(prefix) :], is_marked=is_marked) if text.startswith(prefix) else []
        if text.startswith(prefix) and not _LETTER.search(text[len(prefix) :]) and text.strip():
            continue  # a rule
        if len(cells) != len(names) or not (cells[place].isascii() and cells[place].isdecimal()):
            break
        rows.append((number, cells))
    if len(rows) < _FEWEST or len({cells[place] for _, cells in rows}) < len(rows):
        return []
    called = ["rank" if at == place else name for at, name in enumerate(names)]
    return [
        Leaf((0, at, name), cell, number)
        for at, (number, cells) in enumerate(rows)
        for name, cell in zip(called, cells, strict=True)
    ]


def _shared(texts: Sequence[str]) -> str:
    """What these lines begin with alike, as a logger does: whole words of it, whatever they are, where none is the first of the names."""
    found = _PREFIX.match(texts[0])
    if found is not None and all(text.startswith(found[0]) for text in texts):
        return found[0]
    alike = texts[0][: begin_alike(*texts)]
    return alike[: max(map(alike.rfind, " \t|")) + 1] if _LETTER.search(alike) else ""


def _cells(text: str, *, is_marked: bool) -> list[str]:
    if not is_marked:
        return text.split()
    cells = [cell.strip() for cell in _MARKS.split(text.strip().strip("│┃|"))]
    return [cell for cell in cells if cell]
