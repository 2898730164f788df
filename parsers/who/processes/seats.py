"""Who is who by chains of one-to-one statements: the pid of a device, the device of a rank, the place of a pid.

    rank: 5: { host: h41n12; gpu: {0} }        0, 00000004:04:00.0, 88127        →  the process 88127 of h41n12 is rank 5

A **seat** is what tells a process at its place: its number there, its device, its pid. A row says of one process all that stands in it; two
rows that share a seat are of one. Where a seat gets two ranks, or a rank two seats of one sort at any place, these tell nothing.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from parsers.text.unanimous import sole
from parsers.who.places.families import Process

_STEPS = 3
_FEWEST = 2
Seat = tuple[str, str, int]  # place, sort, number


def seats_of(one: Process, local: int | None) -> list[Seat]:
    """What a row tells its process by."""
    if one.place is None:
        return []
    sorts = (("pid", one.pid), ("local", local), ("device", one.device))
    return [(one.place, sort, number) for sort, number in sorts if number is not None]


def ranked(rows: Sequence[tuple[Sequence[Seat], int | None]], starts: Mapping[str, range]) -> dict[Seat, int]:
    """Rows, each with its seats and its rank if it tells one, and where each place begins → seat → rank."""
    counted = [([(place, "local", local)], rank) for place, ranks in starts.items() for local, rank in enumerate(ranks)]
    known = _one_each([*rows, *counted])
    for _ in range(_STEPS):
        more = [(own, sole(known[one] for one in own if one in known) if rank is None else rank) for own, rank in rows]
        found = _one_each([*more, *counted])
        if found == known:
            break
        known = found
    return known


def in_order(found: Sequence[Process], world: int | None) -> list[Process]:
    """Of places whose ranks are all told, and nobody's number there: launchers count the processes of a place in the order of their ranks. All
    ranks of the world have one place each."""
    where: dict[int, Process] = {}
    for one in found:
        is_told = one.place is not None and one.rank is not None and one.is_word
        if is_told and where.setdefault(one.rank or 0, one).place != one.place:
            return []
    if any(one.local is not None for one in found) or world is None or sorted(where) != [*range(world)]:
        return []
    own: defaultdict[str | None, list[int]] = defaultdict(list)
    for rank in sorted(where):
        own[where[rank].place].append(rank)
    if len(own) < _FEWEST or all(len(ranks) < _FEWEST for ranks in own.values()):
        return []
    return [where[rank]._replace(pid=None, local=local) for ranks in own.values() for local, rank in enumerate(ranks)]


def _one_each(rows: Iterable[tuple[Iterable[Seat], int | None]]) -> dict[Seat, int]:
    """Seats with one rank, which no other seat of their sort has."""
    ranks: defaultdict[Seat, set[int]] = defaultdict(set)
    where: defaultdict[tuple[str, int], set[Seat]] = defaultdict(set)
    for seats, rank in rows:
        if rank is not None:
            for seat in seats:
                ranks[seat].add(rank)
                where[seat[1], rank].add(seat)
    return {seat: min(own) for seat, own in ranks.items() if len(own) == 1 and len(where[seat[1], min(own)]) == 1}
