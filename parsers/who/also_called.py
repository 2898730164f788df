"""Other names of processes by tables that tell two names in a row: of a container its id and its name, of a pane its number and its command.

    CONTAINER ID   IMAGE       STATUS          NAMES                %12,4711,sampler-b
    4f0c11ab77de   reg/x:1.2   Up 3 hours      run7-sampler-b-1     %14,4713,sampler-a

A column is of processes where cells of it are names with a rank, or hold one between marks (compose puts the project before the name of a service, and
a number behind it), each of another rank, two at least. Then a column of names that has another word in each of these rows names the same processes;
what they run on, or use, is none.

Fooled by: a table that pairs processes with something else, one each, that is called as somebody who speaks.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from parsers.schema.names import Told
from parsers.text.patterns import regex
from parsers.who.beginnings import Said

CALLED = "called"  # sort of name
_FEWEST, _ABOVE, _LINES, _CHARACTERS = 2, 8, 400, 2000
_NAME = r"[A-Za-z_#%][^\d\s,;|│]{0,60}(?: [^\d\s,;|│]{1,60}){0,6}"  # of a column
_HEADER = regex(rf"[|│ ]{{0,4}}{_NAME}(?:(?: [ ]+|\t|[,;] ?| ?[|│] ?){_NAME}){{1,30}}[|│ ]{{0,4}}")
_COLUMN = regex(r"[^\s](?:[^\s]| (?=[^\s]))*")
_MARKS = regex(r"\t|[,;|│]")
_RULE = regex(r"[\s|+:=─┼│-]*")
_NAMES = regex(
    r"(?i)(?<![a-z])(?:id|name|uid|uuid|ip|address|container|pod|task|pane|unit|alloc(?:ation)?|actor|worker|service|called)s?\Z"
)
_OF_OTHERS = regex(
    r"(?i)node|host|machine|server|image|volume|network|device|gpu|card|nic|port|parent|peer|master|gateway|remote|next|prev"
)
_WORD = regex(r"(?=[^\s]{0,127}[A-Za-z%])[\w.:@%-]{2,128}|\d{1,3}(?:\.\d{1,3}){3}")
_Row = tuple[str, int, Mapping[str, str]]  # file, line, cells


def also_called(told: Iterable[Told], said: Mapping[str, Sequence[Said]]) -> list[Told]:
    """What documents tell of names, and the lines of files → the other names of the same processes."""
    ranks: defaultdict[str, set[int]] = defaultdict(set)
    for one in told:
        if one.rank is not None and one.local_rank is None and one.device is None and one.kind not in ("pid", "folder"):
            ranks[one.name].add(one.rank)
    known = {name: min(own) for name, own in ranks.items() if len(own) == 1 and any(map(str.isalpha, name))}
    if len(known) < _FEWEST:
        return []
    alike: defaultdict[frozenset[str], list[_Row]] = defaultdict(list)
    for path, own in said.items():
        for row in table_rows(path, own):
            alike[frozenset(row[2])].append(row)
    held = re.compile(
        "|".join(rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])" for name in sorted(known, key=len, reverse=True))
    )
    return [one for columns, rows in alike.items() for one in _of_table(columns, rows, known, held)]


def _of_table(
    columns: Iterable[str], rows: Sequence[_Row], known: Mapping[str, int], held: "re.Pattern[str]"
) -> Iterator[Told]:
    for column in columns:
        found = [(row, {known[name] for name in held.findall(row[2].get(column, ""))}) for row in rows]
        whose = [(row, min(own)) for row, own in found if len(own) == 1 and _WORD.fullmatch(row[2][column])]
        if len(whose) < _FEWEST or len({rank for _, rank in whose}) < len(whose):
            continue
        for other in filter(is_of_names, columns):
            cells = [row[2].get(other, "") for row, _ in whose]
            if len({*cells}) == len(cells) and all(map(_WORD.fullmatch, cells)) and not {*cells} <= known.keys():
                yield from (Told(row[2][other], CALLED, row[0], row[1], rank=rank) for row, rank in whose)


def is_of_names(column: str) -> bool:
    """Does a column call processes, and not what they run on or use?"""
    return _NAMES.search(column) is not None and _OF_OTHERS.search(column) is None


def table_rows(path: str, own: Sequence[Said]) -> Iterator[_Row]:
    """The rows of the first table in a file: below names, in columns that begin where these do, or between marks."""
    head = next((at for at, one in enumerate(own[:_ABOVE]) if _HEADER.fullmatch(one.raw.rstrip())), None)
    if head is None:
        return
    names = own[head].raw.rstrip()
    begins = [found.start() for found in _COLUMN.finditer(names)]
    is_marked = _MARKS.search(names) is not None
    columns = _cells(names, begins, is_marked=is_marked)
    for one in own[head + 1 : head + _LINES]:
        if _RULE.fullmatch(one.raw):
            continue
        cells = _cells(one.raw[:_CHARACTERS], begins, is_marked=is_marked)
        if len(cells) != len(columns) or len(columns) < _FEWEST:
            return
        yield path, one.number, dict(zip(columns, cells, strict=True))


def _cells(text: str, begins: Sequence[int], *, is_marked: bool) -> list[str]:
    if is_marked:
        return [cell.strip() for cell in _MARKS.split(text.strip().strip("|│"))]
    ends = [*begins[1:], len(text) + 1]
    is_apart = all(at >= len(text) or not at or text[at - 1] == " " for at in begins)
    return [text[begin:end].strip() for begin, end in zip(begins, ends, strict=True)] if is_apart else []
