"""Whose a record is by what a script makes of its fields.

    RANK=$((COMPLETION_INDEX * N + SLICE))      {completion-index: "5", job-index: "1", name: lm-slice-1-5-x7kq2, containerID: …}
    RANK=$((ALLOC_INDEX + 1)), RANK=0           5f3ce0b1-…  asr.worker[4]  c04  running        e1a2cfab-…  asr.lead[0]  c01  running

A name in a script is a column that is called so, a number in names, behind a word that is called so, or whatever is left. Of all ways to read
a record only those count that make all ranks of the job of its like, each once; of these those that call most columns as the script does; and if two of
them tell different ranks, nobody is told. How many of one thing each has, is as many as there are, where no file tells it.

Two records of one process are none, but that which is as those of the others in every column in which these are alike: an attempt before it is not.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import permutations
from types import MappingProxyType
from typing import NamedTuple

from parsers.text.patterns import regex
from parsers.text.unanimous import sole, unanimous
from parsers.text.vocabulary import of_process
from parsers.who.linked.numbered import likeness
from parsers.who.linked.relations import Relation, Row
from parsers.who.linked.tokens import Slot, meaning
from parsers.who.scripts.branches import summed
from parsers.who.scripts.formulas import RankSum

_FEWEST, _MOST, _COLUMNS, _NAMES = 2, 1 << 16, 12, 3
_COUNTS = ("number", "rank", "node_rank", "local_rank", "device")
_WORDS = regex(r"[A-Za-z0-9]+")
_NUMBERED = regex(r"(?P<word>[A-Za-z]+)(?P<number>\d{1,6})")
_NODE, _LABEL = "\0node", 32
_LAST = regex(r"(?P<word>[A-Za-z_]\w*)\W{0,8}\Z")
_WORD = regex(r"(?P<word>[A-Za-z_][\w.-]*)[^\w]{0,8}")

_Numbers = Mapping[int, int]  # row → number


class _Column(NamedTuple):
    """`name`: what it is called; `kind` of its slots; `is_part`: of names."""

    name: str
    kind: str
    is_part: bool


class Words(NamedTuple):
    """What is known of the names in scripts: `numbers`: of places; `nodes`: the names that mean such a number; `labels`: words that scripts put before
    the number of a process at its place; `are_devices`: its number is that of the device that it uses."""

    numbers: Mapping[str, int] = MappingProxyType({})
    nodes: frozenset[str] = frozenset()
    labels: frozenset[str] = frozenset()
    are_devices: bool = False


def with_computed(
    relations: Sequence[Relation], sums: Sequence[RankSum], fixed: Set[int], world: int | None, words: Words
) -> tuple[list[Relation], dict[tuple[str, int], int]]:
    """Relations, with the ranks of the rows of which a script tells them; and (name of a place, number there) → rank. `fixed`: the numbers that
    scripts give to ranks as they are."""
    made = [*dict.fromkeys((tuple(sorted(one.terms.items())), one.modulus) for one in sums if one.what == "rank")]
    products = [one for one in made if len(dict(one[0]).keys() - {()}) >= _FEWEST]
    made = products or made
    if len(made) != 1:
        return [*relations], {}
    [(terms, modulus)] = made
    told: list[tuple[tuple[str, int], int]] = []
    found = [_with_ranks(own, dict(terms), modulus, fixed, world, words, told) for own in relations]
    return found, unanimous(told)


def _with_ranks(
    own: Relation,
    terms: Mapping[tuple[str, ...], int],
    modulus: int | None,
    fixed: Set[int],
    world: int | None,
    words: Words,
    told: list[tuple[tuple[str, int], int]],
) -> Relation:
    names = sorted({name for key in terms for name in key})
    columns = _columns(own, words)
    if not 0 < len(names) <= _NAMES or not columns or len(columns) > _COLUMNS:
        return own
    found: defaultdict[int, list[tuple[dict[str, _Column], dict[int, int]]]] = defaultdict(list)
    for way in _ways(names, [*columns], terms):
        scores = [_alike(name, column, words) for name, column in way.items()]
        are_parts = all(column.is_part for column in way.values())
        is_named = max(scores) > 1 or (len(names) == 1 and world is not None and are_parts)
        if not is_named or any((name in words.nodes) != (column.name == _NODE) for name, column in way.items()):
            continue
        if words.nodes & way.keys() and not all(scores):  # a device, or a step, is no place on a node
            continue
        if ranks := _made(own, terms, modulus, {n: columns[c] for n, c in way.items()}, fixed, world):
            found[sum(scores)].append((way, ranks))
    best = found[max(found)] if found else []
    if not best or any(ranks != best[0][1] for _, ranks in best):
        return own
    way, ranks = best[0]
    locals_ = [column for name, column in way.items() if name not in words.nodes]
    if len(locals_) == 1 and words.nodes & way.keys():
        told += [
            ((name, columns[locals_[0]][at]), rank)
            for at, rank in ranks.items()
            for name in _names(own[at])
            if name in words.numbers
        ]
    return [row._replace(rank=ranks.get(at)) for at, row in enumerate(own)]


def _names(row: Row) -> set[str]:
    """What calls a place, or a process, in a row; and where it is from."""
    return {slot.value for slot in row.cells.values() if slot.kind in ("id", "name")} | (
        {row.place} if row.place else set()
    )


def _ways(
    names: Sequence[str], columns: Sequence[_Column], terms: Mapping[tuple[str, ...], int]
) -> Iterator[dict[str, _Column]]:
    """Names → columns: of all but one of those that are multiplied with each other, which is how many of one thing each has."""
    products = [key for key in terms if len(key) > 1]
    sizes = [name for key in products for name in key if (name,) not in terms] if products else [""]
    for size in sizes:
        called = [name for name in names if name != size]
        for chosen in permutations(columns, len(called)) if called else ():
            yield dict(zip(called, chosen, strict=True))


def _columns(own: Relation, words: Words) -> dict[_Column, _Numbers]:
    found: defaultdict[_Column, dict[int, int]] = defaultdict(dict)
    parts: defaultdict[str, dict[int, list[str]]] = defaultdict(dict)
    for at, row in enumerate(own):
        nodes = {words.numbers[name] for name in _names(row) if name in words.numbers} if words.numbers else set()
        if len(nodes) == 1:
            found[_Column(_NODE, "", False)][at] = min(nodes)
        for column, slot in row.cells.items():
            if slot.kind in _COUNTS and len(slot.value) < 6:
                found[_Column(_called(column, slot), slot.kind, False)][at] = int(slot.value)
            elif slot.kind == "name":
                parts[column][at] = _WORDS.findall(slot.value)
    for rows in parts.values():
        sizes = Counter(map(len, rows.values()))
        most = max(sizes, key=lambda size: (sizes[size], -size))
        stems: defaultdict[tuple[str, ...], dict[int, list[str]]] = defaultdict(dict)
        for at, split in rows.items():  # of another name, another script is
            if len(split) == most:
                stems[tuple(word for word in split[:-1] if word.isalpha())][at] = split
        for own_rows in stems.values():
            for place in range(most):
                counted = {at: _number(split[place]) for at, split in own_rows.items()}
                if len(own_rows) >= _FEWEST and all(number is not None for number in counted.values()):
                    first = next(iter(own_rows.values()))
                    inside = _NUMBERED.fullmatch(first[place])
                    before = inside["word"] if inside else first[place - 1] if place else ""
                    before = before if before.isalpha() else ""  # what is behind another number, that one counts
                    found[_Column(f"{before}:{place}", "", True)] = {
                        at: int(number or 0) for at, number in counted.items()
                    }
    return {
        column: rows
        for column, rows in found.items()
        if len({*rows.values()}) >= _FEWEST and max(rows.values()) < _MOST
    }


def _number(word: str) -> str | None:
    found = _NUMBERED.fullmatch(word)
    return found["number"] if found else word if word.isdecimal() and len(word) < 6 else None


def _called(column: str, slot: Slot) -> str:
    """What a column is called: in lines, by the word before its number."""
    if not column[-1:].isdigit() or slot.label == column:
        return slot.label
    word = _WORD.fullmatch(slot.label[-_LABEL:].split(" ")[-1]) or _LAST.search(slot.label)
    return f"{word['word'] if word else ''}:{column}"


def _alike(name: str, column: _Column, words: Words) -> int:
    """Is a column called as a name in a script: 2, does it count what is counted alike, 1, or neither, 0?"""
    if column.name == _NODE:
        return 2 if name in words.nodes else 0
    called = column.name.partition(":")[0] if column.name.count(":") == 1 else column.name
    is_there = name not in words.nodes and bool(words.nodes)
    kind = of_process(name) or meaning(name) or ""
    if likeness(name, called) or (is_there and called.lower() in words.labels) or (kind and kind == column.kind):
        return 2
    return 1 if is_there and words.are_devices and column.kind == "device" else 0


def _made(
    own: Relation,
    terms: Mapping[tuple[str, ...], int],
    modulus: int | None,
    read: Mapping[str, _Numbers],
    fixed: Set[int],
    world: int | None,
) -> dict[int, int]:
    """Row → its rank, where these are all of the job; else nothing."""
    rows = set.intersection(*({*column} for column in read.values()))
    values = {at: {name: column[at] for name, column in read.items()} for at in rows}
    free = {name for key in terms for name in key} - read.keys()
    sizes = [
        1 + max(one[name] for one in values.values())
        for (name,) in (key for key in terms if len(key) == 1)
        if name in read and values
    ]
    if free and len(sizes) != 1:
        return {}
    totals = {
        at: summed(terms, {**dict.fromkeys(free, max(sizes, default=0)), **one}) or 0 for at, one in values.items()
    }
    numbers = {at: total % modulus if modulus else total for at, total in totals.items()}
    told = {*numbers.values()}
    left = {*range(world)} - told if world else set()
    others = [at for at in range(len(own)) if at not in rows]
    if len(left) == len(others) == 1 and left <= fixed:
        numbers[others[0]] = min(left)
        told |= left
    if len(told) < _FEWEST or told != {*range(world or len(told))}:
        return {}
    found = _one_each(own, numbers)
    return found if world is not None or len(numbers) == len(own) else {}


def _one_each(own: Relation, numbers: Mapping[int, int]) -> dict[int, int]:
    """Without what two records tell of one process, but that which is as the others' are."""
    of_ranks: defaultdict[int, list[int]] = defaultdict(list)
    for at, rank in numbers.items():
        of_ranks[rank].append(at)
    single = [own[at] for rows in of_ranks.values() if len(rows) == 1 for at in rows]
    alike: dict[str, str] = {}
    for column in {column for row in single for column in row.cells} if len(single) >= _FEWEST else ():
        if (value := sole(_value(row, column) for row in single)) is not None:
            alike[column] = value
    found: dict[int, int] = {}
    for rank, rows in of_ranks.items():
        if len({_names_of(own[at]) for at in rows}) > 1:
            as_others = [at for at in rows if all(_value(own[at], column) == value for column, value in alike.items())]
            rows = as_others if len(as_others) == 1 else rows
        found |= dict.fromkeys(rows, rank)
    return found


def _value(row: Row, column: str) -> str:
    return row.cells[column].value if column in row.cells else ""


def _names_of(row: Row) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((column, slot.value) for column, slot in row.cells.items() if slot.kind in ("id", "name")))
