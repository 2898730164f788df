"""What documents and lines tell of nodes, of places and of processes on them, for the table of processes (process_table.py)."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial

from parsers.schema.names import Told
from parsers.text.unanimous import unanimous
from parsers.who.lines.beginnings import Begun
from parsers.who.places.contexts import Places
from parsers.who.places.devices import Devices
from parsers.who.places.families import PID as LEAST
from parsers.who.places.families import Process
from parsers.who.places.job_table import HOW
from parsers.who.places.slurm_tasks import given_devices
from parsers.who.told.told_names import PROCESS


def join_items(told: Iterable[Told], places: Places) -> None:
    """What one item of a document calls its node by is one place: a pod, and the host that it runs on."""
    items: defaultdict[tuple[str, int | None, int], set[str]] = defaultdict(set)
    for one in told:
        if one.node_rank is not None and places.is_place(one.name):
            items[one.file, one.line, one.node_rank].add(one.name)
    for first, *others in map(sorted, items.values()):
        for other in others:
            places.join(first, other)


def _of_numbered_paths(told: Sequence[Told], places: Places) -> Iterator[Process]:
    """What files tell of their processes whose paths hold the numbers of these (`n1/4711/environ`): of each rank another one, and one alone."""
    numbered = [one for one in told if one.kind == "file" and one.rank is not None and one.name.isdecimal()]
    numbered = [one for one in numbered if one.name[0] != "0" and int(one.name) >= LEAST]
    ranks, numbers = defaultdict[str, set[int | None]](set), defaultdict[int | None, set[str]](set)
    for one in numbered:
        ranks[one.name].add(one.rank)
    alone = [one for one in numbered if len(ranks[one.name]) == 1]
    for one in alone:
        numbers[one.rank].add(one.name)
    is_each = len(numbers) > 1 and all(len(own) == 1 for own in numbers.values())
    locals_ = unanimous((one.file, one.local_rank) for one in told if one.local_rank is not None)
    for one in alone if is_each else ():
        where, local = places.of_file(one.file), locals_.get(one.file)
        yield Process(where, int(one.name), local, one.rank, file=one.file, line=one.line, how=HOW, is_word=True)


def given(said: Begun, places: Places, devices: Devices) -> Iterator[Process]:
    """Which device of its node a process uses that sees only those that its job was given."""
    for one in given_devices(said, places):
        if one.local is not None and devices.what == "local_rank" and (user := devices.user(one.local)) is not None:
            yield one._replace(local=user)


def documented_places(told: Sequence[Told], places: Places) -> Iterator[Process]:
    """What documents and lines tell of nodes, and of places on them."""
    yield from _of_numbered_paths(told, places)
    for one in told:
        process = partial(Process, file=one.file, line=one.line, how=HOW)
        if one.kind == PROCESS:
            host, _, pid = one.name.rpartition(":")
            yield process(places.called(host), int(pid), None, one.rank, is_word=True)
            continue
        if one.kind == "pid" and one.name.isdecimal() and (place := places.of_file(one.file)) is not None:
            yield process(place, int(one.name), None, one.rank, is_word=True)
        if not places.is_place(one.name):
            continue
        at = process(places.of(one.name))
        if one.node_rank is not None:
            yield at._replace(node=one.node_rank, each=one.processes or None, nodes=one.nodes)
        elif one.rank is not None and one.device is not None:
            yield at._replace(rank=one.rank, device=one.device)
        elif one.rank is not None and one.local_rank is not None:
            yield at._replace(local=one.local_rank, rank=one.rank, is_word=True)


def of_nodes(numbers: Mapping[str, int], places: Places) -> list[Process]:
    """Names of nodes, with their numbers: those of one number are one place."""
    named: defaultdict[int, list[str]] = defaultdict(list)
    for name, at in numbers.items():
        if places.is_place(name):
            named[at].append(name)
    for first, *others in named.values():
        for other in others:
            places.join(first, other)
    return [Process(places.of(own[0]), node=at) for at, own in named.items()]
