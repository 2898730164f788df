"""Records that tell their place and a number there, whatever that is called: `pod=lm-worker-1 lr=2 step=1200 …`.

The number is the one at the place where its column counts the records of each step and place: just 0 … p-1, or 1 … p where nothing hides
devices, where the place is known to have p
processes, of two places at least or of all. What is called a place in a group (`tp`, `stage`) is none, nor what is called a device where something
hides devices; where two columns count so and differ, none does.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import chain, islice
from typing import Any

from parsers.forms.counting import step_column
from parsers.forms.reading import whole
from parsers.schema.labels import OF_GROUP
from parsers.schema.names import Names
from parsers.text import vocabulary
from parsers.text.patterns import regex

_LEARNT = 2048  # records, the first
_FEWEST = 2
_MOSTLY = 0.8
_DEVICE = regex(r"(?i)(?:gpu|npu|dcu|cuda|device|card)(?:_?(?:id|index|no))?")
_OF_DEVICE = regex(r"(?i)(?:gpu|npu|dcu|cuda|device|dev|card)[ _:#-]?(?P<number>\d{1,3})")
_COUNTS = regex(r"(?i).*(?:layer|expert|stage|epoch|shard|bucket|chunk|micro|batch|iter|step|attempt|node)")
_NUMBERED = regex(r"(?i)_?(?:rank|id|idx|index|no|nr)\Z")
_TOLD = ("rank", "local_rank")
_HERE = "\0here"  # no name of a field: the place that the file is from
Said = Mapping[str, Any]
Told = tuple[int, str, Any]


def number_in(cell: Any) -> int | None:
    """The number that a cell holds, or that of the device which it names: `cuda:1`."""
    found = _OF_DEVICE.fullmatch(cell.strip()) if isinstance(cell, str) else None
    return whole(cell) if found is None else int(found["number"])


def seated(told: Iterator[Told], names: Names) -> Iterator[Told]:
    """Rows → the same with their rank, where they tell it so."""
    if not names.places:
        return told
    first = [*islice(told, _LEARNT)]
    records = [said for _, _, said in first if isinstance(said, dict) and said]
    columns = columns_of(records, names) or columns_here(records, names)
    every = chain(first, told)
    return every if columns is None else _ranked(every, *columns, _seats(columns[1], records, columns[0], names), names)


def _ranked(
    told: Iterator[Told], place: str, number: str, seats: Mapping[tuple[str, int], int], names: Names
) -> Iterator[Told]:
    for line, text, said in told:
        rank = None
        if isinstance(said, dict) and "rank" not in said:
            local = number_in(said.get(number))
            where = names.here if place == _HERE else said.get(place)
            rank = None if local is None else seats.get((str(where), local))
        if rank is None:
            yield line, text, said
        else:  # what it was called may be the name of a figure
            yield line, text, {name: cell for name, cell in said.items() if name != number} | {"rank": rank}


def _seats(name: str, records: Sequence[Said], place: str, names: Names) -> Mapping[tuple[str, int], int]:
    """(place, number) → rank, as a column of that name counts; of devices, where something hides others, by their numbers or in their order, whichever
    all records tell of."""
    seen = {(str(names.here if place == _HERE else one.get(place)), number_in(one.get(name))) for one in records}
    is_device = _DEVICE.fullmatch(name) is not None or any(_OF_DEVICE.fullmatch(str(one.get(name))) for one in records)
    is_alike = names.is_by_device or (is_device and names.devices == names.places)
    if is_alike and (counted := _from_one(seen, names.places)):
        return counted
    if names.is_by_device or not is_device:
        return names.places
    is_hidden = {host for host, _ in seen} <= {host for host, _ in names.devices}
    fitting = [seats for seats in (names.devices, names.places) if is_hidden and seen <= {*seats}]
    told = sorted((where, number) for where, number in seen if number is not None)
    ways = {tuple(seats[one] for one in told) for seats in fitting}  # where both tell the same, there is no doubt
    return fitting[0] if len(ways) == 1 else {}


def _from_one(seen: Set[tuple[str, int | None]], places: Mapping[tuple[str, int], int]) -> dict[tuple[str, int], int]:
    """The seats of places counted from 1 on, where that is how all that are seen are counted: each process of each place, and no 0."""
    known = {place for place, _ in places} & {place for place, _ in seen}
    counted = {(place, number + 1): rank for (place, number), rank in places.items() if place in known}
    told = {(place, number) for place, number in seen if place in known}
    return counted if counted and told == {*counted} else {}


def columns_here(records: Sequence[Said], names: Names) -> tuple[str, str] | None:
    """The same of records of one place, from where their file is."""
    placed = [{_HERE: names.here} | dict(one) for one in records] if names.here is not None else []
    return columns_of(placed, names, _FEWEST - 1) if placed else None


def columns_of(records: Sequence[Said], names: Names, fewest: int = _FEWEST) -> tuple[str, str] | None:
    """The names of the place and of the number there; of `fewest` places."""
    known: defaultdict[str, set[int]] = defaultdict(set)
    for place, local in names.places:
        known[place].add(local)
    every = tuple(records[0]) if records else ()
    hosts = vocabulary.columns(every).get("host", ())  # a word for a place, and nothing else, points nowhere
    cells = [name for name in every if name in hosts or not vocabulary.points_elsewhere(name)]
    if any(meaning in vocabulary.meanings(tuple(cells)) for meaning in _TOLD):
        return None
    most = max(_MOSTLY * len(records), 1)
    of_places = [name for name in cells if sum(str(one.get(name)) in known for one in records) >= most]
    steps = vocabulary.columns(tuple(cells)).get("step", ()) or [*filter(None, [step_column(records)])]
    if len(of_places) != 1 or not steps:
        return None
    [place] = of_places
    own = [one for one in records if str(one.get(place)) in known]
    others = [name for name in cells if name not in (place, steps[0])]
    seats = ((name, _seats(name, own, place, names)) for name in others)
    found = [name for name, of_it in seats if _counts(name, own, place, steps[0], of_it, fewest)]
    values = {tuple(number_in(one.get(name)) for one in own) for name in found}
    return (place, found[0]) if len(values) == 1 else None


def _counts(
    name: str, own: Sequence[Said], place: str, step: str, seats: Mapping[tuple[str, int], int], fewest: int
) -> bool:
    if OF_GROUP.search(f"{_NUMBERED.sub('', name)}_") or _COUNTS.fullmatch(name):
        return False
    known: defaultdict[str, set[int]] = defaultdict(set)
    for there, number in seats:
        known[there].add(number)
    seen: defaultdict[str, set[int]] = defaultdict(set)
    at: set[tuple[str, str, int]] = set()
    for one in own:
        of_one, where = number_in(one.get(name)), str(one[place])
        if of_one is None or of_one not in known[where] or (where, str(one.get(step)), of_one) in at:
            return False
        seen[where].add(of_one)
        at.add((where, str(one.get(step)), of_one))
    is_whole = all(numbers == known[where] and len(numbers) >= _FEWEST for where, numbers in seen.items())
    return is_whole and len(seen) >= fewest and len(at) >= _FEWEST * sum(map(len, seen.values()))
