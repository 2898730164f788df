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
from itertools import pairwise
from typing import NamedTuple, TypeGuard

from parsers.text import vocabulary
from parsers.text.patterns import regex
from parsers.text.unanimous import sole, unanimous
from parsers.who.linked.relations import CALLED, Relation, Row
from parsers.who.linked.tokens import LEAST, Slot, apart, of_others, within
from parsers.who.linked.twins import Twin
from parsers.who.told.tables import is_of_names

_COUNTED = ("rank", "number", "local_rank")
_STEPS = 6  # of a chain, at most
_FEWEST = 2
_LAST = regex(r"(?P<name>[A-Za-z_][\w-]*)\W*\Z")
_SHORT, _LONG = 8, 24  # characters of what people call an id by, at least, and of one that they may cut anywhere
_DIGITS = 4  # of a number that may be a process's, at least
_PARTS, _MOST_PARTS = regex(r"[A-Za-z0-9]+"), 12
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
    twins: Iterable[Twin] = (),
    *,
    fewest: int = _FEWEST,
    size: int | None = None,
    disputed: Set[Token] = frozenset(),
) -> dict[Token, Proof]:
    """Relations, names whose ranks are known, names of places → their one name, and who has two numbers → more names with their ranks.
    `fewest`: lines that hold a name; `size`: of the job, where no introduction tells its world; `disputed`: names that are told to be several ranks."""
    pids = {slot.value for own in relations for row in own for slot in row.cells.values() if slot.kind == "pid"}
    twins = [*twins]
    pids |= {one.outer for one in twins}
    relations = [own for own in relations if len(own) >= _FEWEST]
    slots = [slot for own in relations for row in own for slot in row.cells.values()]
    whole = _whole_ids(slot.value for slot in slots if slot.kind == "id")
    pids |= {token.value for token in known if token.kind == "pid"}
    pids |= {number for own in relations for number in _beside_pids(own, pids)}
    # numbers that nobody calls pids, as those of `ps` without its first line, may be a chain's inner links
    joints = {number for number, many in _numbers_of(relations).items() if many >= _FEWEST}
    columns = {slot.value: slot.value for slot in slots if slot.kind == "name" and _is_of_place(slot.label)}
    where = {row.place for own in relations for row in own} | {token.place for token in known}
    where |= {places.get(name, name) for name in columns}
    places = {name: place for name, place in (columns | dict(places)).items() if place in where}
    called = places_called(relations, places)
    shared = where - {place for place, own in ranks_at(known).items() if len(own) == 1}
    placed = [(row, row.place) for own in relations for row in own if row.place is not None]
    numbered = ((place, slot) for row, place in placed for slot in row.cells.values() if _is_pid(slot))
    here = {(places.get(place, place), slot.value) for place, slot in numbered}
    here |= {(token.place, token.value) for token in known if token.kind == "pid"}
    names = {token.value for token in known if token.kind == "name" and not token.value.isdigit()}
    parts = [_own_parts(own, names) for own in relations]
    cut_of: defaultdict[str, set[str]] = defaultdict(set)
    for own in parts:
        for (_, word), part in own.items():
            cut_of[part].add(word)
    words = {slot.value for slot in slots if slot.kind == "name"} | cut_of.keys()
    whole |= _whole_names(words - whole.keys(), cut_of)
    tables = [
        _Table(own, own_parts, places, called, shared, whole, _Pids(pids | joints, here), world, size)
        for own, own_parts in zip(relations, parts, strict=True)
    ]
    same = [*_same(twins, places, {part: called[one] for part, one in whole.items() if one in called} | called)]
    told_in = [table.tokens() for table in tables]
    used = Counter(token for own in told_in for token in {token for token, *_ in own})
    lines = Counter(token for token, *_ in set().union(*told_in))
    wholes = {*whole.values()}
    cut = {token for table in tables for token in table.cut(wholes)}
    ranks = dict(known)
    found: dict[Token, Proof] = {}
    refused = {*disputed}
    for _ in range(_STEPS):
        told: defaultdict[Token, dict[int, Row]] = defaultdict(dict)
        several = {place for place, own in ranks_at(ranks).items() if len(own) > 1}  # their names are nobody's
        for table in tables:
            for token, rank, row in table.told(ranks):
                if token.kind != "name" or places.get(token.value) not in several:
                    told[token].setdefault(rank, row)
        for one, pair in same:
            for token, other in (pair, pair[::-1]):
                if token in ranks:
                    told[other].setdefault(ranks[token], Row(one.place, {}, one.file, one.line))
        refused |= {token for token, own in told.items() if len(own) > 1}
        more = {
            token: Proof(rank, row.file, row.line)
            for token, own in told.items()
            if token not in ranks and token not in refused
            for rank, row in own.items()
        }
        if not more:
            break
        ranks |= {token: one.rank for token, one in more.items()}
        found |= more
    refused |= {
        Token("name", "", part) for part, own in cut_of.items() if any(("name", "", word) in refused for word in own)
    }
    # A word that stands nowhere else names nobody there.
    return {
        token: one
        for token, one in found.items()
        if token not in refused
        and (token.kind != "name" or min(used[token], lines[token]) >= fewest or token in cut)
        and (token.kind != "pid" or token.value in pids)
    }


def opposed(
    relations: Iterable[Relation], known: Mapping[str, int], world: int | None
) -> Iterator[tuple[str, str, int]]:
    """(file, name, rank) of relations that give names other ranks than are known, each of them: a list of another attempt, or of whom each is beside."""
    for rows in relations:
        column = _rank_column(rows, world)
        told = {
            (row.file, slot.value, int(row.cells[column].value)): known[slot.value]
            for row in rows
            for slot in row.cells.values()
            if column in row.cells and slot.value in known
            if not any(map(_is_of_others, (slot, row.cells[column])))
        }
        if len(told) >= _FEWEST and all(rank != own for (_, _, rank), own in told.items()):
            yield from told


def _same(
    twins: Iterable[Twin], places: Mapping[str, str], ids: Mapping[str, str]
) -> Iterator[tuple[Twin, tuple[Token, Token]]]:
    """The numbers of processes outside and inside, each of one other; none whose control group is of another place. `ids`: those that call places."""
    pairs: defaultdict[Token, dict[Token, Twin]] = defaultdict(dict)
    for one in twins:
        place = places.get(one.place, one.place)
        inside, outside = Token("pid", place, one.inner), Token("pid", place, one.outer)
        pairs[inside][outside] = one
        pairs[outside][inside] = one
    for token, own in pairs.items():
        other, one = next(iter(own.items()))
        whose = {ids[group] for group in one.groups if group in ids}
        is_here = whose == {token.place} or not (one.groups and ids)
        if len(own) == len(pairs[other]) == 1 and token.value == one.inner and is_here:
            yield one, (token, other)


def _is_pid(slot: Slot) -> bool:
    return slot.kind == "pid" and "hread" not in slot.label and "LWP" not in slot.label


def ranks_at(ranks: Mapping[Token, int]) -> dict[str, set[int]]:
    """Place → the ranks that are known of it."""
    own: defaultdict[str, set[int]] = defaultdict(set)
    for token, rank in ranks.items():
        if token.place:
            own[token.place].add(rank)
    return own


def _is_of_place(label: str) -> bool:
    """Does a column, or a field, call a host, or a pod?"""
    found = _LAST.search(label)
    said = vocabulary.meaning_of(found["name"]) if found is not None else None
    return said is not None and said.meaning in ("host", "pod")


def places_called(relations: Sequence[Relation], places: Mapping[str, str]) -> dict[str, str]:
    """Ids of which each stands beside one place, and each place beside one of them: `node_id=cfb6… ip=10.3.0.14` → their places."""
    found: list[tuple[str, str]] = []
    for own in relations:
        for column in {column for row in own for column, slot in row.cells.items() if slot.kind == "id"}:
            beside: defaultdict[str, set[str]] = defaultdict(set)
            of_place: defaultdict[str, set[str]] = defaultdict(set)
            for row in own:
                named = (slot.value for slot in row.cells.values() if slot.kind == "name")
                where = sole(places[name] for name in named if name in places)
                if column in row.cells and where is not None:
                    beside[row.cells[column].value].add(where)
                    of_place[where].add(row.cells[column].value)
            if len(of_place) >= _FEWEST and all(len(one) == 1 for one in (*beside.values(), *of_place.values())):
                found += [(name, min(own_places)) for name, own_places in beside.items()]
    return unanimous(found)


def _whole_ids(ids: Iterable[str]) -> dict[str, str]:
    """Part of an id by which it is called (`5f3ce0b1`, `91cd9e41`) → the one id that has it: at its begin, or anywhere in a long one."""
    every = sorted({*ids})
    begins: defaultdict[str, list[str]] = defaultdict(list)
    for one in every:
        for at in range(len(one) - _SHORT + 1 if len(one) >= _LONG else 1):
            begins[one[at : at + _SHORT]].append(one)
    longer = ((short, one) for short in every for one in begins[short[:_SHORT]] if len(one) > len(short))
    return unanimous((short, one) for short, one in longer if short in one)


def _beside_pids(rows: Relation, pids: Set[str]) -> Iterator[str]:
    """The numbers of a column most of which are called processes elsewhere: one that is not, is of a process that nobody sees any more."""
    for column in {column for row in rows for column, slot in row.cells.items() if slot.kind == "number"}:
        slots = [slot for row in rows if (slot := row.cells.get(column)) is not None]
        own = {slot.value for slot in slots}
        may = len(own) == len(slots) and all(slot.kind == "number" and len(slot.value) >= _DIGITS for slot in slots)
        if may and _FEWEST <= len(own & pids) < len(own) < 2 * len(own & pids):
            yield from own


class _Pids(NamedTuple):
    """Numbers that somebody calls a process's, and those of each place."""

    numbers: Set[str]
    here: Set[tuple[str | None, str]]


def _numbers_of(relations: Sequence[Relation]) -> Counter[str]:
    """Numbers that may be of processes → how many relations hold them."""
    own = ({slot.value for row in one for slot in row.cells.values() if slot.kind == "number"} for one in relations)
    return Counter(number for numbers in own for number in numbers if len(number) >= _DIGITS)


def _whole_names(words: Iterable[str], cut_of: Mapping[str, Set[str]]) -> dict[str, str]:
    """The end of a name by which it is called, whatever its marks (`12_38241` of 10.66.4.12:38241) → the one name that has it. One part alone is none,
    unless it is a long number. `cut_of`: parts of names → these names."""
    parts = {word: tuple(_PARTS.findall(word)) for word in words}
    ends: defaultdict[tuple[str, ...], set[str]] = defaultdict(set)
    for word, own in parts.items():
        if any(map(str.isdigit, own)) and len(own) <= _MOST_PARTS:
            for at in range(1, len(own)):
                ends[own[at:]].add(word)
    found: dict[str, str] = {}
    for word, own in sorted(parts.items(), key=lambda item: (-len(item[1]), item[0])):
        wholes = {found.get(one, one) for one in ends.get(own, ()) if one not in cut_of.get(word, ())}
        if len(wholes) == 1 and own[-1].isdecimal() and (len(own) > 1 or len(own[0]) > _FEWEST + 1):
            found[word] = min(wholes)
    return found


class _Table:
    """A relation, with the names that its cells hold. `places`: kind → what is called so → the place."""

    def __init__(
        self,
        rows: Relation,
        own: Mapping[tuple[str, str], str],
        places: Mapping[str, str],
        called: Mapping[str, str],
        shared: Set[str | None],
        whole: Mapping[str, str],
        pids: _Pids,
        world: int | None,
        size: int | None,
    ) -> None:
        self._is_refused = False
        column = _rank_column(rows, world) or local_column(rows, world or size)
        small = _small(rows, places, pids.here)
        self._rows: list[tuple[Row, int | None, dict[str, list[Token]]]] = []
        named = _place_columns(rows, places, called)
        for at_row, row in enumerate(rows):
            where = {own_places[at_row] for own_places in named if at_row in own_places}
            own_place = {places.get(row.place, row.place)} if row.place is not None else set()
            # A place of one process is a name of it: where it runs, the file tells.
            at = sorted((where & own_place) or (where & shared) or own_place or where)[:_FEWEST]
            slot = row.cells.get(column)
            rank = int(slot.value) if slot is not None and slot.kind in _COUNTED else row.rank
            tokens = {
                column: [*_tokens(column, slot, at, whole, own)]
                for column, slot in row.cells.items()
                if column in small or _may(slot, pids.numbers)
            }
            self._rows.append((row, rank, tokens))

    def tokens(self) -> Set[tuple[Token, str, int | None]]:
        """All names, each with the line that it stands in: one that two relations read is one."""
        return {
            (token, row.file, row.line) for row, _, tokens in self._rows for own in tokens.values() for token in own
        }

    def cut(self, wholes: Set[str]) -> Set[Token]:
        """Names that are the ends of others, which their cells mean; and what columns tell that call processes."""
        cells = ((row.cells[at].label, own) for row, _, tokens in self._rows for at, own in tokens.items() if own)
        return {own[0] for label, own in cells if (len(own) > 1 and own[-1].value in wholes) or is_of_names(label)}

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
        for column in dict.fromkeys(column for *_, tokens in rows for column in tokens):
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
    computed: set[str] = set()
    for row in rows:
        for column, slot in row.cells.items():
            if slot.kind == "rank":
                columns[column].append(slot.value)
                computed |= {column} if slot.label == CALLED else set()
    if len(computed) == 1:  # that of the script, which some rows alone may tell, and several that come again
        [own] = computed
        return own if world is None or all(int(value) < world for value in columns[own]) else ""
    whole = {
        column
        for column, values in columns.items()
        if len(values) == len({*values}) and {*values} == {*map(str, range(world or max(_FEWEST, len(values))))}
    }
    return whole.pop() if len(whole) == len(columns) == 1 else "" if columns else _of_size(rows, world)


def local_column(rows: Relation, size: int | None) -> str:
    """The one column of places of processes on a node that has as many as the whole job: then one node runs all of it, and they are the ranks."""
    columns: defaultdict[str, list[str]] = defaultdict(list)
    sizes: set[int] = set()
    for row in rows:
        for column, slot in row.cells.items():
            if slot.kind == "local_rank":
                columns[column].append(slot.value)
            elif slot.kind == "rank":
                return ""
            elif slot.kind == "number" and (called := _LAST.search(slot.label)) is not None:
                sizes |= {int(slot.value)} if vocabulary.of_process(called["name"]) == "world_size" else set()
    size = sizes.pop() if len(sizes) == 1 and size is None else size
    whole = [
        own for own, values in columns.items() if size is not None and sorted(values) == sorted(map(str, range(size)))
    ]
    return whole[0] if len(whole) == len(columns) == 1 else ""


def _of_size(rows: Relation, world: int | None) -> str:
    """The one column of bare numbers that are all ranks, in another order than that of the rows, before one that is the size in every row: `(5, 8)`."""
    size = str(len(rows))
    if world not in (None, len(rows)) or len(rows) < _FEWEST:
        return ""
    found = []
    for column, after in pairwise(rows[0].cells):
        slots = [(row.cells.get(column), row.cells.get(after)) for row in rows]
        numbers = [int(one.value) for one, other in slots if _is_bare(one) and _is_bare(other) and other.value == size]
        if sorted(numbers) == [*range(len(rows))] != numbers:
            found.append(column)
    return found[0] if len(found) == 1 else ""


def _is_bare(slot: Slot | None) -> TypeGuard[Slot]:
    """A number that no word before it counts, nor a field's name."""
    if slot is None or slot.kind != "number":
        return False
    return slot.label.rstrip()[-1:] not in (":", "=") and not any(map(str.isalpha, slot.label[-_FEWEST:]))


def _small(rows: Relation, places: Mapping[str, str], here: Set[tuple[str | None, str]]) -> set[str]:
    """The columns whose numbers, small as those in containers are, are all called processes of their places elsewhere."""

    def is_there(row: Row, column: str) -> bool:
        slot, place = row.cells.get(column), places.get(row.place or "", row.place)
        return slot is not None and slot.kind in ("pid", "number") and (place, slot.value) in here

    return {column for row in rows[:1] for column in row.cells if all(is_there(one, column) for one in rows)}


def _is_of_others(slot: Slot) -> bool:
    called = _LAST.search(slot.label)
    return called is not None and of_others(called["name"])


def _may(slot: Slot, pids: Set[str]) -> bool:
    """May it be a name? A number by itself is one of a process only where another record calls it so, and a peer is somebody else."""
    if _is_of_others(slot):
        return False
    return slot.kind not in ("pid", "number") or (int(slot.value) >= LEAST and slot.value in pids)


def _own_parts(rows: Relation, names: Set[str]) -> dict[tuple[str, str], str]:
    """(column, name) → the name in it whose rank is known (`run7-sampler-b-1`), or the part of it that differs from the others of its column."""
    columns: defaultdict[str, list[str]] = defaultdict(list)
    for row in rows:
        for column, slot in row.cells.items():
            if slot.kind == "name" and slot.value not in columns[column]:
                columns[column].append(slot.value)
    found: dict[tuple[str, str], str] = {}
    for column, words in columns.items():
        for word, differing in zip(words, apart(words), strict=True) if len(words) >= _FEWEST else ():
            held = within(word, names)
            part = held if held is not None and held != word else differing
            if part != word and len(part) > 1:
                found[column, word] = part
    return found


def _tokens(
    column: str, slot: Slot, places: Sequence[str], whole: Mapping[str, str], own: Mapping[tuple[str, str], str]
) -> Iterator[Token]:
    if slot.kind == "id":
        yield Token("id", "", whole.get(slot.value, slot.value))
    elif slot.kind in ("name", "file"):
        yield Token(slot.kind, "", slot.value)
        part = own.get((column, slot.value), "")
        if any(map(str.isalpha, part)):  # a number is a name of nobody
            yield Token("name", "", part)
        yield from (Token("name", "", whole[one]) for one in (slot.value, part) if slot.kind == "name" and one in whole)
    elif (kind := _AT_PLACE.get(slot.kind)) is not None:
        yield from (Token(kind, place, slot.value) for place in places)
