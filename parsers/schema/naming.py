"""Statements of who is called how → the names that have one rank."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from msgspec.structs import replace

from parsers.schema.names import BY_NAME, Names, Told
from parsers.schema.node_ranks import layout
from parsers.schema.sites import sites_of

_Key = TypeVar("_Key")


def aliased(told: Iterable[Told], places: Iterable[Sequence[str]]) -> Iterator[Told]:
    """Statements, and those of a device's host once more under each other name of that place."""
    others = {name: own for own in places for name in own if len(own) > 1}
    for one in told:
        yield one
        if one.device is not None:
            yield from (replace(one, name=name) for name in others.get(one.name, ()) if name != one.name)


def names_of(told: Iterable[Told], world: int | None = None) -> Names:
    """Statements → the names that have one rank. `world`: of the job, if introductions tell it."""
    told = list(told)
    ranks: defaultdict[str, set[int]] = defaultdict(set)
    folders: defaultdict[str, set[int]] = defaultdict(set)
    places: defaultdict[tuple[str, int], set[int]] = defaultdict(set)
    devices: defaultdict[tuple[str, int], set[int]] = defaultdict(set)
    nodes: defaultdict[str, set[int]] = defaultdict(set)
    pids: defaultdict[str, set[int]] = defaultdict(set)  # counted by each host on its own: no names
    worlds = {one.world for one in told if one.world is not None} | ({world} if world is not None else set())
    size = worlds.pop() if len(worlds) == 1 else world
    for one in told:
        if one.device is not None and one.rank is not None:
            devices[one.name, one.device].add(one.rank)
        elif one.node_rank is not None:
            nodes[one.name].add(one.node_rank)
        elif one.rank is not None and one.local_rank is not None:
            places[one.name, one.local_rank].add(one.rank)
        elif one.rank is not None:
            {"folder": folders, "pid": pids}.get(one.kind, ranks)[one.name].add(one.rank)
    of_nodes = [one for one in told if one.node_rank is not None]
    counts = ((one.node_rank, one.processes) for one in of_nodes if one.node_rank is not None)
    sizes = {one.nodes for one in of_nodes if one.nodes is not None}
    made = layout(counts, size, min(sizes) if len(sizes) == 1 else None) if len(sizes) < 2 and of_nodes else None
    for name, own in nodes.items():
        for local, rank in enumerate(made.ranks(min(own)) if made is not None and len(own) == 1 else ()):
            places[name, local].add(rank)
    single = {name for name, _ in places if (name, 1) not in places and nodes.get(name)}
    for name in single:
        ranks[name] |= places[name, 0]
    for (name, _), found in places.items():  # a place of several processes is none of them
        if name in ranks:
            ranks[name] |= found

    def one_each(said: Mapping[_Key, set[int]]) -> dict[_Key, int]:
        found = {key: min(own) for key, own in said.items() if len(own) == 1}
        return {key: rank for key, rank in found.items() if size is None or rank < size}

    placed = one_each(places)
    of_one, whole = {local: rank for (_, local), rank in placed.items()}, len(set(placed.values()))
    is_whole = len(of_one) == whole == size if size else sorted(of_one.values()) == [*range(whole)]
    by_local = of_one if is_whole else {}
    hosts = frozenset(one.name for one in told if one.kind == "host")
    several = frozenset(name for name, own in ranks.items() if len(own) > 1)
    return Names(
        one_each(ranks), placed, one_each(folders), made, by_local,
        hosts=hosts, devices=one_each(devices), within=one_each(_within(told, several)), disputed=several,
    )  # fmt: skip


def _within(told: Sequence[Told], several: Collection[str]) -> dict[tuple[str, str], set[int]]:
    """(folder, name) → ranks, of names that mean several in all, where no two folders tell of one rank: their hosts call processes alike. Documents of one
    folder are told apart by what differs in their names: (`box-a`, name)."""
    own: defaultdict[tuple[str, str], set[int]] = defaultdict(set)
    places: defaultdict[int, set[str]] = defaultdict(set)
    told = [one for one in told if one.rank is not None and one.kind in BY_NAME]
    at = sites_of({one.file for one in told if one.device is None})
    for one in told:
        if one.rank is not None and one.device is None:
            places[one.rank].add(at[one.file])
            own[at[one.file], one.name].add(one.rank)
    is_apart = "" not in set[str].union(set(), *places.values()) and all(len(found) == 1 for found in places.values())
    return {key: found for key, found in own.items() if is_apart and key[1] in several}
