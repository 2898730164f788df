"""Records that call their process by the number that its host gave it, in a column of whatever name: `pid;step;module;absmax`.

The column is the one whose numbers are processes of the job at the place that the record tells, or else its file is from: two of them at least, or one
under a name that says so, and no more that are nobody's than are somebody's: these have no rank. What calls somebody else (`peer_pid`) is none.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any

from parsers.forms.reading import whole
from parsers.schema.names import Names
from parsers.text import vocabulary
from parsers.text.patterns import regex

_LEARNT = 2048  # records, the first
_FEWEST, _LEAST = 2, 100  # processes; the smallest number that is one
_WORD = regex(r"(?i)(?:.*[^a-z])?(?:(?:os|sys|host)?_?pid|proc(?:ess)?)")
Said = Mapping[str, Any]


def numbered(told: Iterator[tuple[int, str, Any]], names: Names) -> Iterator[tuple[int, str, Any]]:
    """Rows → the same with their rank, where they tell it so."""
    if not names.processes:
        return told
    first = [*islice(told, _LEARNT)]
    column = pid_column([said for _, _, said in first if isinstance(said, dict) and said], names)
    every = chain(first, told)
    return every if column is None else _ranked(every, column, names)


def _ranked(told: Iterator[tuple[int, str, Any]], column: str, names: Names) -> Iterator[tuple[int, str, Any]]:
    for line, text, said in told:
        is_open = isinstance(said, dict) and "rank" not in said
        rank = _rank(said, column, names) if is_open else None
        yield line, text, said if rank is None else said | {"rank": rank}


def pid_column(records: Sequence[Said], names: Names) -> str | None:
    """The one column of numbers of processes."""
    if not records or "rank" in vocabulary.meanings(records[0]):
        return None
    ranks: defaultdict[str, set[int]] = defaultdict(set)
    known: defaultdict[str, set[tuple[str, int]]] = defaultdict(set)
    others: defaultdict[str, set[tuple[str | None, int]]] = defaultdict(set)
    for said in records:
        place = _place(said, names)
        for name, cell in said.items():
            number = whole(cell)
            if number is None or number < _LEAST or not _is_own(name):
                others[name].add((place, -1))
            elif place is None or (rank := names.processes.get((place, number))) is None:
                others[name].add((place, number))
            else:
                ranks[name].add(rank)
                known[name].add((place, number))
    enough = [name for name, own in ranks.items() if len(own) >= (_FEWEST - 1 if _WORD.fullmatch(name) else _FEWEST)]
    mostly = [name for name in enough if len(others[name]) <= len(known[name])]
    found = [name for name in mostly if not any(number < 0 for _, number in others[name])]
    return found[0] if len(found) == 1 else None


def _is_own(name: str) -> bool:
    """Does it not call somebody else? A word for a place, and nothing else, points nowhere."""
    return name in vocabulary.columns((name,)).get("host", ()) or not vocabulary.points_elsewhere(name)


def _rank(said: Said, column: str, names: Names) -> int | None:
    place, number = _place(said, names), whole(said.get(column))
    return None if place is None or number is None else names.processes.get((place, number))


def _place(said: Said, names: Names) -> str | None:
    """The one place of processes that a record names, else that its file is from; none where it names two."""
    told = {cell for name, cell in said.items() if isinstance(cell, str) and cell in names.sites and _is_own(name)}
    return (told.pop() if len(told) == 1 else None) if told else names.here
