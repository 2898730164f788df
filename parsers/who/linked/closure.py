"""Which rank a name is, by chains of relations: a pid of a host, in the section of that pid a container, in a table the container's pod, of which
a document tells the rank.

A relation hands on ranks from one of its columns to another where both have, over all rows whose rank is known, one value for each rank and one
rank for each value, of two ranks at least. So a host of several processes hands on nothing, nor does a column of states. Where a row is known to
be two ranks, the relation speaks of others (a peer, a holder of a lock), and tells nothing at all.

Numbers mean something at a place only: the process 4711 of one host is not that of another. What a rank is called in two ways that contradict
each other is nobody's.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import NamedTuple

from parsers.text import vocabulary
from parsers.text.patterns import regex
from parsers.who.linked.relations import Relation, Row
from parsers.who.linked.tokens import LEAST, Slot, apart, of_others

_STEPS = 6  # of a chain, at most
_FEWEST = 2
_LAST = regex(r"(?P<name>[A-Za-z_][\w-]*)\W*\Z")
_SHORT, _LONG = 8, 24  # characters of what people call an id by, at least, and of one that they may cut anywhere
_AT_PLACE = {"pid": "pid", "number": "pid", "bus": "bus", "device": "device", "local_rank": "local"}


class Token(NamedTuple):
    """A name: of a process by itself (id, name, file), or at a place (pid, bus, device, local)."""

    kind: str
    place: str
    value: str


class Proof(NamedTuple):
    """The row that told the rank of a name."""

    rank: int
    file: str
    line: int | None


def by_chains(
    relations: Sequence[Relation],
    known: Mapping[Token, int],
    places: Mapping[str, str],
    world: int | None,
    *,
    fewest: int = _FEWEST,
) -> dict[Token, Proof]:
    """Relations, names whose ranks are known, and names of places → their one name → more names with their ranks. `fewest`: lines that hold a name."""
    whole = _whole_ids(
        slot.value for own in relations for row in own for slot in row.cells.values() if slot.kind == "id"
    )
    slots = [slot for own in relations for row in own for slot in row.cells.values()]
    pids = {slot.value for slot in slots if slot.kind == "pid"} | {
        token.value for token in known if token.kind == "pid"
    }
    columns = {slot.value: slot.value for slot in slots if slot.kind == "name" and _is_of_place(slot.label)}
    where = {row.place for own in relations for row in own} | {token.place for token in known}
    where |= {places.get(name, name) for name in columns}
    places = {name: place for name, place in (columns | dict(places)).items() if place in where}
    called = _places_called(relations, places)
    shared = where - _of_one(known)
    tables = [_Table(own, places, called, shared, whole, pids, world) for own in relations]
    told_in = [table.tokens() for table in tables]
    used = Counter(token for own in told_in for token in {token for token, *_ in own})
    lines = Counter(token for token, *_ in set().union(*told_in))
    ranks = dict(known)
    found: dict[Token, Proof] = {}
    refused: set[Token] = set()
    for _ in range(_STEPS):
        told: defaultdict[Token, dict[int, Row]] = defaultdict(dict)
        several = _of_several(ranks)
        for table in tables:
            for token, rank, row in table.told(ranks):
                if token.kind != "name" or places.get(token.value) not in several:
                    told[token].setdefault(rank, row)
        refused |= {token for token, own in told.items() if len(own) > 1}
        more = {
            token: next(iter(own.items())) for token, own in told.items() if token not in ranks and token not in refused
        }
        if not more:
            break
        ranks |= {token: rank for token, (rank, _) in more.items()}
        found |= {token: Proof(rank, row.file, row.line) for token, (rank, row) in more.items()}
    # A word that stands nowhere else names nobody there.
    return {
        token: one
        for token, one in found.items()
        if token not in refused and (token.kind != "name" or min(used[token], lines[token]) >= fewest)
    }


def _of_several(ranks: Mapping[Token, int]) -> Set[str]:
    """Places of which several processes are known: their names are nobody's."""
    own: defaultdict[str, set[int]] = defaultdict(set)
    for token, rank in ranks.items():
        own[token.place].add(rank)
    return {place for place, told in own.items() if place and len(told) > 1}


def _of_one(ranks: Mapping[Token, int]) -> Set[str]:
    """Places of which one process alone is known."""
    own: defaultdict[str, set[int]] = defaultdict(set)
    for token, rank in ranks.items():
        own[token.place].add(rank)
    return {place for place, told in own.items() if place and len(told) == 1}


def _is_of_place(label: str) -> bool:
    """Does a column, or a field, call a host, or a pod?"""
    found = _LAST.search(label)
    said = vocabulary.meaning_of(found["name"]) if found is not None else None
    return said is not None and said.meaning in ("host", "pod")


def _places_called(relations: Sequence[Relation], places: Mapping[str, str]) -> dict[str, str]:
    """Ids of which each stands beside one place, and each place beside one of them: `node_id=cfb6… ip=10.3.0.14` → their places."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for own in relations:
        for column in {column for row in own for column, slot in row.cells.items() if slot.kind == "id"}:
            beside: defaultdict[str, set[str]] = defaultdict(set)
            of_place: defaultdict[str, set[str]] = defaultdict(set)
            for row in own:
                where = {
                    places[slot.value] for slot in row.cells.values() if slot.kind == "name" and slot.value in places
                }
                if column in row.cells and len(where) == 1:
                    beside[row.cells[column].value] |= where
                    of_place[where.pop()].add(row.cells[column].value)
            if len(of_place) >= _FEWEST and all(len(one) == 1 for one in (*beside.values(), *of_place.values())):
                for name, where in beside.items():
                    found[name] |= where
    return {name: where.pop() for name, where in found.items() if len(where) == 1}


def _whole_ids(ids: Iterable[str]) -> dict[str, str]:
    """Part of an id by which it is called (`5f3ce0b1`, `91cd9e41`) → the one id that has it: at its begin, or anywhere in a long one."""
    every = sorted({*ids})
    begins: defaultdict[str, list[str]] = defaultdict(list)
    for one in every:
        for at in range(len(one) - _SHORT + 1 if len(one) >= _LONG else 1):
            begins[one[at : at + _SHORT]].append(one)
    found: dict[str, str] = {}
    for short in every:
        whole = {one for one in begins[short[:_SHORT]] if len(one) > len(short) and short in one}
        if len(whole) == 1:
            found[short] = whole.pop()
    return found


class _Table:
    """A relation, with the names that its cells hold."""

    def __init__(
        self,
        rows: Relation,
        places: Mapping[str, str],
        called: Mapping[str, str],
        shared: Set[str | None],
        whole: Mapping[str, str],
        pids: Set[str],
        world: int | None,
    ) -> None:
        self._is_refused = False
        own = _own_parts(rows)
        column = _rank_column(rows, world)
        self._rows: list[tuple[Row, int | None, dict[str, list[Token]]]] = []
        named = _place_columns(rows, places, called)
        for at_row, row in enumerate(rows):
            where = {own_places[at_row] for own_places in named if at_row in own_places}
            own_place = {places.get(row.place, row.place)} if row.place else set()
            # A place of one process is a name of it: where it runs, the file tells.
            at = sorted((where & shared) or own_place or where)[:_FEWEST]
            slot = row.cells.get(column)
            rank = int(slot.value) if slot is not None and slot.kind == "rank" else row.rank
            tokens = {
                column: [*_tokens(column, slot, at, whole, own)]
                for column, slot in row.cells.items()
                if _may(slot, pids)
            }
            self._rows.append((row, rank, tokens))

    def tokens(self) -> Set[tuple[Token, str, int | None]]:
        """All names, each with the line that it stands in: one that two relations read is one."""
        return {
            (token, row.file, row.line) for row, _, tokens in self._rows for own in tokens.values() for token in own
        }

    def told(self, ranks: Mapping[Token, int]) -> Iterator[tuple[Token, int, Row]]:
        """Names of this relation with their ranks, by those that are known."""
        if self._is_refused:
            return
        rows: list[tuple[Row, int | None, dict[str, list[Token]]]] = []
        for row, said, tokens in self._rows:
            whose = {ranks[token] for own in tokens.values() for token in own if token in ranks}
            whose |= {said} if said is not None else set()
            if len(whose) > 1:
                self._is_refused = True
                return
            rows.append((row, whose.pop() if whose else None, tokens))
        if len({rank for _, rank, _ in rows} - {None}) < _FEWEST:
            return
        for column in {column for *_, tokens in rows for column in tokens}:
            of_names: defaultdict[Token, dict[int | None, Row]] = defaultdict(dict)
            names: defaultdict[int, set[frozenset[Token]]] = defaultdict(set)
            for row, rank, tokens in rows:
                for token in tokens.get(column, ()):
                    of_names[token].setdefault(rank, row)
                if column in tokens and rank is not None:
                    names[rank].add(frozenset(tokens[column]))
            known = {token: own for token, own in of_names.items() if own.keys() != {None}}
            is_each = all(len(own) == 1 for own in (*known.values(), *names.values()))
            if is_each and len(names) >= _FEWEST:
                for token, own in known.items():
                    yield from ((token, rank, row) for rank, row in own.items() if rank is not None)


def _place_columns(rows: Relation, places: Mapping[str, str], called: Mapping[str, str]) -> list[dict[int, str]]:
    """Columns that name places: row → place. One that is alike in all rows where others differ is of who prints them."""
    columns: defaultdict[str, dict[int, str]] = defaultdict(dict)
    for at, row in enumerate(rows):
        for column, slot in row.cells.items():
            if (place := (places if slot.kind == "name" else called).get(slot.value)) is not None:
                columns[column][at] = place
    differing = [own for own in columns.values() if len({*own.values()}) > 1]
    return differing or [*columns.values()]


def _rank_column(rows: Relation, world: int | None) -> str:
    """The one column that a word calls a rank, of no group, and that has all ranks of the world, or counts from 0 where none is told, each in
    a row of its own."""
    columns: defaultdict[str, list[str]] = defaultdict(list)
    for row in rows:
        for column, slot in row.cells.items():
            if slot.kind == "rank":
                columns[column].append(slot.value)
    whole = {
        column
        for column, values in columns.items()
        if len(values) == len({*values}) and {*values} == {*map(str, range(world or max(_FEWEST, len(values))))}
    }
    return whole.pop() if len(whole) == len(columns) == 1 else ""


def _may(slot: Slot, pids: Set[str]) -> bool:
    """May it be a name? A number by itself is one of a process only where another record calls it so, and a peer is somebody else."""
    called = _LAST.search(slot.label)
    if called is not None and of_others(called["name"]):
        return False
    return slot.kind not in ("pid", "number") or (int(slot.value) >= LEAST and slot.value in pids)


def _own_parts(rows: Relation) -> dict[tuple[str, str], str]:
    """(column, name) → the part of it that differs from the others of its column."""
    columns: defaultdict[str, list[str]] = defaultdict(list)
    for row in rows:
        for column, slot in row.cells.items():
            if slot.kind == "name" and slot.value not in columns[column]:
                columns[column].append(slot.value)
    return {
        (column, word): part
        for column, words in columns.items()
        if len(words) >= _FEWEST
        for word, part in zip(words, apart(words), strict=True)
        if part != word and len(part) > 1 and any(map(str.isalpha, part))
    }


def _tokens(
    column: str, slot: Slot, places: Sequence[str], whole: Mapping[str, str], own: Mapping[tuple[str, str], str]
) -> Iterator[Token]:
    if slot.kind == "id":
        yield Token("id", "", whole.get(slot.value, slot.value))
    elif slot.kind in ("name", "file"):
        yield Token(slot.kind, "", slot.value)
        if (column, slot.value) in own:
            yield Token("name", "", own[column, slot.value])
    elif (kind := _AT_PLACE.get(slot.kind)) is not None:
        yield from (Token(kind, place, slot.value) for place in places)
