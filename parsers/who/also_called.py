"""Other names of processes by tables that tell two names in a row: of a container its id and its name, of a pane its number and its command.

    CONTAINER ID   IMAGE       STATUS          NAMES                %12,4711,sampler-b
    4f0c11ab77de   reg/x:1.2   Up 3 hours      run7-sampler-b-1     %14,4713,sampler-a
    sampler-b  2e9c82b1-478c-481d-a87c-966c377b9aa2  containerd://71caedc6…

A column is of processes where cells of it are names with a rank, or hold one between marks (compose puts the project before the name of a service, and
a number behind it), each of another rank, two at least. Then a column of names that has another word in each of these rows names the same processes;
what they run on, or use, is none.

In lines without names of columns an id of a pod or a container, as long as they are, is of the process that the line names.

Fooled by: a table that pairs processes with something else, one each, that is called as somebody who speaks.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from parsers.schema.names import Told
from parsers.text.patterns import regex
from parsers.text.unanimous import unanimous
from parsers.who.beginnings import Said
from parsers.who.tables import table_rows

CALLED = "called"  # sort of name
_FEWEST, _LINES, _CHARACTERS = 2, 400, 2000
_NAMES = regex(
    r"(?i)(?<![a-z])(?:id|name|uid|uuid|ip|address|container|pod|task|pane|unit|alloc(?:ation)?|actor|worker|service|called)s?\Z"
)
_OF_OTHERS = regex(
    r"(?i)node|host|machine|server|image|volume|network|device|gpu|card|nic|port|parent|peer|master|gateway|remote|next|prev"
)
_ID = regex(
    r"(?i)(?<![0-9a-f-])(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{64})(?![0-9a-f-])"
)  # of a pod, a container
_SCHEME = regex(r"[a-z]{2,20}://")  # containerd://71caedc6…
_WORD = regex(r"(?:[a-z]{2,20}://)?(?=[^\s]{0,127}[A-Za-z%])[\w.:@%-]{2,128}|\d{1,3}(?:\.\d{1,3}){3}")
_Row = tuple[str, int, Mapping[str, str]]  # file, line, cells


def also_called(told: Iterable[Told], said: Mapping[str, Sequence[Said]]) -> list[Told]:
    """What documents tell of names, and the lines of files → the other names of the same processes."""
    ranks: defaultdict[str, set[int]] = defaultdict(set)
    for one in told:
        if one.rank is not None and one.local_rank is None and one.device is None and one.kind not in ("pid", "folder"):
            ranks[one.name].add(one.rank)
    return _named({name: min(own) for name, own in ranks.items() if len(own) == 1}, said)


def also_named(
    claims: Iterable[Mapping[str, Any]], files: Mapping[str, int], said: Mapping[str, Sequence[Said]]
) -> list[dict[str, Any]]:
    """The same of whom their own lines tell, as rows of `ranks`; `files`: path → the rank of who writes it."""
    pairs = [
        (name, row.get("rank")) for row in claims for name in (row.get("name"), row.get("host")) if name is not None
    ]
    pairs += [(path.rpartition("/")[2].partition(".")[0], rank) for path, rank in files.items()]
    known = unanimous((name, rank) for name, rank in pairs if rank is not None)
    found = _named(known, said)
    return [
        {"rank": one.rank, "name": one.name, "how": "document", "file": one.file, "line": one.line} for one in found
    ]


def _named(known: Mapping[str, int], said: Mapping[str, Sequence[Said]]) -> list[Told]:
    known = {name: rank for name, rank in known.items() if any(map(str.isalpha, name))}
    if len({*known.values()}) < _FEWEST:
        return []
    alike: defaultdict[frozenset[str], list[_Row]] = defaultdict(list)
    for path, own in said.items():
        for number, cells in table_rows(own):
            alike[frozenset(cells)].append((path, number, cells))
    held = re.compile(
        "|".join(rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])" for name in sorted(known, key=len, reverse=True))
    )
    told = [one for columns, rows in alike.items() for one in _of_table(sorted(columns), rows, known, held)]
    return told + [one for path, own in said.items() for one in _of_ids(path, own, known, held)]


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
                yield from (
                    Told(_SCHEME.sub("", row[2][other]), CALLED, row[0], row[1], rank=rank) for row, rank in whose
                )


def _of_ids(path: str, own: Sequence[Said], known: Mapping[str, int], held: "re.Pattern[str]") -> Iterator[Told]:
    """Lines that each hold the name of one process and as many ids, no id twice: rows of a table without names of columns."""
    alike: defaultdict[int, list[tuple[int, int, list[str]]]] = defaultdict(list)
    for one in own[:_LINES]:
        text = one.raw[:_CHARACTERS]
        if (ids := _ID.findall(text)) and len(ranks := {known[name] for name in held.findall(_ID.sub(" ", text))}) == 1:
            alike[len(ids)].append((one.number, ranks.pop(), ids))
    for rows in alike.values():
        every = [one for *_, ids in rows for one in ids]
        if len(rows) >= _FEWEST and len({*every}) == len(every) and len({rank for _, rank, _ in rows}) == len(rows):
            yield from (Told(one, CALLED, path, number, rank=rank) for number, rank, ids in rows for one in ids)


def is_of_names(column: str) -> bool:
    """Does a column call processes, and not what they run on or use?"""
    return _NAMES.search(column) is not None and _OF_OTHERS.search(column) is None
