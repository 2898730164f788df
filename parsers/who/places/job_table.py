"""What the processes of a job amount to (process_table.py): rows of them, where each place begins, files and names with their ranks."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import chain
from typing import Any

import msgspec
from msgspec.structs import replace

from parsers.schema.calls import Script
from parsers.schema.names import Names, Told
from parsers.text.unanimous import unanimous
from parsers.who.lines.introductions import Introduction
from parsers.who.places.alike_paths import ADDRESS
from parsers.who.places.contexts import Places, host_called
from parsers.who.places.families import Process
from parsers.who.scripts.formulas import RankSum
from parsers.who.told.told_names import PROCESS

HOW = "process table"
ALIAS = "another name of a host"


class Table(msgspec.Struct, frozen=True):
    """`rows`: one of each process or place on a host, with its rank. `starts`: place → its ranks. `files`: path → rank, by what a formula
    computes from the number in its name. `aliases`: place → all its names."""

    rows: Sequence[Process] = ()
    starts: Mapping[str, range] = msgspec.field(default_factory=dict)
    files: Mapping[str, int] = msgspec.field(default_factory=dict)
    hosts: Mapping[str, str] = msgspec.field(default_factory=dict)
    aliases: Mapping[str, Sequence[str]] = msgspec.field(default_factory=dict)
    apart: Mapping[str, str] = msgspec.field(default_factory=dict)  # file → place, of files alike of several places
    world: int | None = None
    is_by_device: bool = False  # nothing hides devices from processes: the first of a place uses the first
    introductions: Mapping[tuple[str, int], Introduction] = msgspec.field(default_factory=dict)  # by file and line
    scripts: Mapping[str, Script] = msgspec.field(default_factory=dict)  # called with a number
    # what a script adds to a number, the modulus, whether a launcher counts it
    counter: tuple[int, int | None, bool] | None = None
    each_task: int | None = None  # processes of each task of a launcher, whose number a script counts ranks by
    computed: Sequence[Told] = ()  # names that a script makes ranks of
    buses: Mapping[tuple[str, str], int] = msgspec.field(default_factory=dict)  # (place, address of its device) → rank
    size: int | None = None  # of the world, or else the number that lines tell by that name
    labels: frozenset[str] = frozenset()  # words that scripts put before the number of a process at its place
    is_open: bool = False  # a script computes the ranks in a way that is not read: no number of a node tells them
    ranked: frozenset[str] = frozenset()  # words by which scripts call what they give to ranks: `partition`
    where: Places | None = None  # whose names `aliases` are
    sums: Sequence[RankSum] = ()  # what scripts make ranks of, as it stands there
    numbers: Mapping[str, int] = msgspec.field(default_factory=dict)  # of nodes, by all their names
    nodes: frozenset[str] = frozenset()  # what scripts call these
    fixed: frozenset[int] = frozenset()  # the numbers that they give to ranks
    is_computed: bool = False  # a script computes the ranks: what a launcher counts is none

    def told(self) -> Iterator[Told]:
        """Places by all their names, with the ranks of their processes, and those of their devices, where no device has another process's number."""
        seen: defaultdict[str, dict[int, int]] = defaultdict(dict)
        for row in self.rows:
            if row.local is not None and row.place is not None and row.device is not None:
                seen[row.place][row.local] = row.device
        numbered = {
            place
            for place, own in seen.items()
            if {*own} != {*own.values()} or all(one == at for at, one in own.items())
        }
        for row in self.rows:
            if row.local is not None and row.place is not None:
                for name in self.called(row.place):
                    told = Told(name, "place", row.file, row.line, rank=row.rank, world=self.world)
                    yield replace(told, local_rank=row.local)
                    yield from [replace(told, device=row.device)] if row.place in numbered else ()
        yield from self.computed

    def called(self, place: str) -> Sequence[str]:
        """All names of a place, that by which a person would call it first."""
        return self.aliases.get(place, (place,))

    def place(self, path: str) -> str | None:
        """Whose processes a file tells of by their numbers."""
        return self.hosts.get(path) or self.apart.get(path)

    def processes(self, told: Iterable[Told] = ()) -> dict[tuple[str, int], int]:
        """(name of a place, pid) → rank; of those that documents of several places list, `told`, one for each rank."""
        listed: defaultdict[int, set[tuple[str, int]]] = defaultdict(set)
        for one in told:
            if one.kind == "pid" and one.rank is not None and one.name.isdecimal() and one.file in self.apart:
                listed[one.rank].add((self.apart[one.file], int(one.name)))
            elif one.kind == PROCESS and one.rank is not None:
                host, _, pid = one.name.rpartition(":")
                listed[one.rank].add((host, int(pid)))
        documented = ((pair, rank) for rank, own in listed.items() if len(own) == 1 for pair in own)
        in_table = (
            ((name, row.pid), row.rank)
            for row in self.rows
            if row.pid is not None and row.place is not None and row.rank is not None
            for name in self.called(row.place)
        )
        return unanimous(chain(documented, in_table))  # who is told to be two ranks is neither

    def of_pids(self, pids: Set[int | None]) -> Iterator[tuple[int, int]]:
        """What hosts count of these, with the ranks: two hosts may give one number to different processes."""
        rows = ((row.pid, row.rank) for row in self.rows if row.pid in pids)
        return ((pid, rank) for pid, rank in rows if pid is not None and rank is not None)

    def named(self, names: Names, told: Iterable[Told]) -> Names:
        """Names with what the table tells of processes."""
        return replace(
            names,
            processes=self.processes(told),
            is_by_device=self.is_by_device,
            scripts=self.scripts,
            labels=self.labels,
            buses={(name, bus): rank for (at, bus), rank in self.buses.items() for name in self.called(at)},
        )

    def claims(self) -> Iterator[dict[str, Any]]:
        """Rows of `ranks`: the process, at the name that a person would call its place by; another name of it in a row of its own."""
        is_placed = any(row.place is not None for row in self.rows)
        ranks = {row.rank for row in self.rows} | {*self.files.values()}
        size = self.size if self.world is None and ranks == {*range(self.size or 0)} else self.world
        for row in self.rows:
            if row.place is None and is_placed and not self.files:  # the same number may be another process's elsewhere
                continue
            names = self.called(row.place) if row.place is not None else (None,)
            pid = None if row.is_port else row.pid
            said = {"rank": row.rank, "pid": pid, "local_rank": row.local, "world_size": size}
            said |= {"device_index": row.device} if row.pid is None and row.local is not None else {}
            host = host_called(names[0], row.file, self.hosts)
            yield said | {"host": host, "how": row.how, "file": row.file, "line": row.line}
        for (place, bus), rank in self.buses.items():
            host = host_called(self.called(place)[0], "", self.hosts)
            yield {"rank": rank, "host": host, "pci": bus, "how": HOW, "file": ""}
        for path, rank in self.files.items():
            name = path.rpartition("/")[2].partition(".")[0]
            yield {"rank": rank, "name": name, "world_size": size, "how": HOW, "file": path}
        for place in dict.fromkeys((*self.starts, *filter(self._has_address, self.aliases))):
            first, *others = self.called(place)
            yield from ({"host": other, "name": first, "how": ALIAS, "file": ""} for other in others)

    def _has_address(self, place: str) -> bool:
        """Is one of its names an address, and all others go on from the first: one host's, and not two that a document takes for one?"""
        names = [name for name in self.called(place) if not ADDRESS.fullmatch(name)]
        is_one = all(one.startswith(names[0].partition(".")[0]) for one in names)
        return is_one and len(self.called(place)) > len(names) > 0

    def here(self, path: str) -> dict[int, int]:
        """Local rank → rank, of the place that a file is from; of two, none."""
        place = self.hosts.get(path)
        own = [row for row in self.rows if row.place == place is not None and row.local is not None]
        return unanimous((row.local, row.rank) for row in own if row.local is not None and row.rank is not None)
