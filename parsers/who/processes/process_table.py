"""The processes of a job, put together from all that the bundle says of places, numbers and orders: place, pid, place there, rank.

What is known comes from
- families of lines (families.py), introductions, what torchrun prints before lines (`[default2]:[rank6]:`), lists of a node's ranks;
- numbers of nodes (by a word, or as a file of a place gives them to the name that a formula uses), with as many processes each as are told;
- lists of places in order (orders.py), where the counts beside them add up to the world, or a formula counts along them;
- the rest: where all places but one are known, and all have as many processes, what is left is that one's.

The rank of a process is that of the first of its place + its place there. Each of these is asked against what processes say of themselves: one that
contradicts it is dropped, and two of one kind that contradict each other are both. A rank that two places would have, is nobody's.

Fooled by: a list of places in another order than their ranks whose counts add up to the world, and nobody who says his rank.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations

from msgspec.structs import replace

from parsers.schema.calls import Script
from parsers.schema.names import DATED, Told, stands_beside
from parsers.text.patterns import regex
from parsers.text.unanimous import sole, unanimous
from parsers.text.vocabulary import of_process
from parsers.who.labels.seat_labels import words_of_scripts
from parsers.who.lines.beginnings import Begun
from parsers.who.lines.introductions import PID, Introduction
from parsers.who.linked.numbered import node_numbers
from parsers.who.places.contexts import OF_RECORD, Places, host_called
from parsers.who.places.devices import Devices, shown_devices, used_devices, with_users
from parsers.who.places.families import Process, processes
from parsers.who.places.file_templates import consistent, written
from parsers.who.places.host_names import launched_hosts
from parsers.who.places.job_table import HOW, Table
from parsers.who.places.orders import blocks, in_order_of_ranks
from parsers.who.places.own_addresses import join_addresses
from parsers.who.places.regrouped import standing_rows
from parsers.who.places.slurm_tasks import HOW as GIVEN
from parsers.who.processes.documented_places import documented_places, given, join_items, of_nodes
from parsers.who.processes.place_files import counted_files, of_places
from parsers.who.processes.seat_names import Called, names_of_devices
from parsers.who.processes.seat_names import called as called_seats
from parsers.who.processes.seats import Seat, in_order, ranked, seats_of
from parsers.who.processes.starts import Starts
from parsers.who.processes.told_places import join_told
from parsers.who.scripts.formulas import Scripts, called, scripts_of
from parsers.who.scripts.loops import hosts_in_turn
from parsers.who.told.computed_names import computed_names
from parsers.who.told.told_lines import Statement
from parsers.who.told.told_names import PROCESS, Document

_FEWEST = 2
_LISTS = 64  # of places, that are held against each other
_LIST = regex(r"\b(?P<kind>local|global)_?ranks?[\"']? {0,2}[=:] {0,2}\[(?P<numbers>\d{1,7}(?:, ?\d{1,7}){0,63})\]")
_NUMBER, _WORD = regex(r"\d{1,10}"), regex(r"[\w.-]+")
_LAUNCHER = regex(r"\b(?:torchrun|torch\.distributed\.(?:run|launch)|accelerate launch|deepspeed) ")


_SIZE = regex(
    r"(?i)\b(?:(?:dist_)?world[ _]?size|global_world_sizes|nranks|num_processes|process_count|\w*trainers_num)[\"']?(?: {0,2}[=:] {0,2}| {1,3})[\"'(\[]{0,2}(\d{1,7})\b"
)


def process_table(
    said: Begun,
    paths: Sequence[str],
    world: int | None,
    stated: Iterable[Statement],
    told: Sequence[Told],
    documents: Sequence[Document],
) -> Table:
    """The lines of files, the paths of all files, the world that introductions tell, what lines and blocks of settings state, documents → the
    processes."""
    placed = (one for one in told if {one.local_rank, one.node_rank, one.device} != {None})
    turns = {name for own in said.values() for name in hosts_in_turn(own)} | launched_hosts(said)
    hosts = {one.name.rpartition(":")[0] for one in told if one.kind == PROCESS} - {""}
    hosts |= {one.name for one in told if one.kind == "host" or (one.kind == "file" and one.node_rank is not None)}
    places = Places(said, paths, {one.name for one in placed} | hosts | turns, hosts)
    join_addresses(said, (one.leaves for one in documents), places)
    join_items(told, places)
    join_told(told, said, paths, places)
    launched = frozenset(own for lines in said.values() for one in lines if one.launch and (own := one.launch.world))
    stated = [*stated]
    sizes_told = launched | {one.facts["world_size"] for one in stated if "world_size" in one.facts} | worlds_told(said)
    scripts = scripts_of(said)
    made = [one for one in scripts.formulas if one.what == "rank"]
    devices = used_devices(said, {one.local for one in made if one.local is not None})
    is_of_tasks = any(one.node is not None and of_process(one.node) == "rank" for one in made)
    plain = [one for one in made if one.counter and of_process(one.counter) == "rank"]
    is_counted = bool(plain) and all(one.is_plain for one in plain)
    sizes = launched | ({world} if world else frozenset())
    families = processes(said, places, sizes, called(made), counts_tasks=not scripts.is_computed)
    if sizes_told and any(one.node is not None for one in made):  # what counts fewer than all are, counts nodes
        families = [own for own in families if any(one.is_word or one.world in sizes_told | {None} for one in own)]
    families = [with_users(own, devices, sizes_told | {world}) for own in _not_told_otherwise(families, said, told)]
    found = standing_rows([one for own in families for one in own], said)
    introduced = {
        (one.file, one.line or 0): who
        for own in _whole(families)
        for one, who in _introductions(own)
        if world is None
        and (not sizes_told or who.world in sizes_told)  # fewer are the survivors, who speak of the rest
    }
    numbers, nodes = node_numbers(said, documents, [one.name for one in told], scripts.sums, places)
    found = [*found, *documented_places(told, places), *given(said, places, devices)]
    if nodes:  # what else counts nodes, counts them before a script does
        found = [one._replace(node=None) for one in found]
        found += of_nodes(numbers, places)
    only = sole(sizes_told)
    table = _Resolved(
        said,
        places,
        paths,
        found,
        world if world is not None else only,
        launched,
        stated,
        devices,
        scripts,
        documents,
        are_tasks=not is_of_tasks,
        is_counted=is_counted,
    ).table()
    size = table.world if table.world is not None else only
    fixed = frozenset(one.number for one in scripts.given if of_process(one.name) == "rank")
    table = replace(table, introductions=introduced, size=size, ranked=called(made).ranks)
    return replace(table, sums=scripts.sums, fixed=fixed, numbers=numbers, nodes=nodes)


def _not_told_otherwise(
    families: Iterable[Sequence[Process]], said: Begun, told: Iterable[Told]
) -> Iterator[Sequence[Process]]:
    """Without families whose numbers only count like ranks (`trainer-3`) where documents give their names other ranks."""
    alone = (one for one in told if one.local_rank is one.device is None and not one.name.isdecimal())
    names = unanimous((one.name, one.rank) for one in alone if one.rank is not None)
    texts = {(path, one.number): one.raw for path, own in said.items() for one in own} if names else {}
    for own in families:
        counted = ((one.rank, texts.get((one.file, one.line or 0), "")) for one in own if not one.is_word)
        if not any(names.get(word, rank) != rank for rank, text in counted if names for word in _WORD.findall(text)):
            yield own


def worlds_told(said: Begun) -> frozenset[int]:
    """The sizes of the world that lines tell by that name."""
    named = (_SIZE.search(one.line.text) for lines in said.values() for one in lines)
    return frozenset(int(found[1]) for found in named if found is not None)


def _whole(families: Sequence[list[Process]]) -> list[list[Process]]:
    """Families that may be all processes of the job: not what lines alike say of the ranks of one place, where others speak of more. Those
    that call their numbers ranks, each of other processes, are one."""
    said = [one for own in families if all(one.is_word and one.pid is not None for one in own) for one in own]
    top = max((one.rank for one in said if one.rank is not None), default=-1)
    found = [own for own in families if own and max(one.rank if one.rank is not None else -1 for one in own) >= top]
    by_who = {(one.rank, one.pid): one for one in reversed(said)}
    is_each = len({rank for rank, _ in by_who}) == len(by_who) > 1
    return [*found, [*by_who.values()]] if is_each else found


def _introductions(family: Sequence[Process]) -> Iterator[tuple[Process, Introduction]]:
    """Lines of all processes of a world, each of which says its rank, in whatever words."""
    size = len(family)
    if sorted(one.rank if one.rank is not None else -1 for one in family) == [*range(size)]:
        for one in family:
            host, pid = host_called(one.place, one.file, {}), None if one.is_port else one.pid
            yield one, Introduction(one.rank or 0, size, pid, host)


def _without_opposed(found: Sequence[Process]) -> list[Process]:
    """Without lists of the same places that put ranks elsewhere: one may be of another attempt, or tell whom each sends to."""
    lists: defaultdict[str, dict[int, str]] = defaultdict(dict)
    for one in found:
        if one.rank is not None and one.place not in (None, one.file) and one.pid is one.local is None:
            lists[one.file][one.rank] = one.place or ""
    opposed: set[str] = set()
    for (file, own), (other, told) in combinations(lists.items(), 2) if len(lists) <= _LISTS else ():
        differ = sum(told.get(rank, place) != place for rank, place in own.items())
        if differ >= _FEWEST and {*own.values()} == {*told.values()}:
            opposed |= {file, other}
    return [one for one in found if one.file not in opposed or one.pid is not None or one.local is not None]


def _placed(found: Sequence[Process]) -> list[Process]:
    """Without what is told once more of a process whose place another line tells: a file that tells of several places is none."""
    where: defaultdict[tuple[int | None, int | None], set[str]] = defaultdict(set)
    inside: defaultdict[str, set[str]] = defaultdict(set)
    for one in found:
        if one.place is not None:
            where[one.pid, one.rank].add(one.place)
            inside[one.file].add(one.place)
    several = {file for file, places in inside.items() if len(places - {file}) >= _FEWEST}
    kept = [one for one in found if one.place != one.file or one.file not in several]
    return [one for one in kept if one.place is not None or not where[one.pid, one.rank]]


def _of_pids(stated: Sequence[Statement]) -> Iterator[Statement]:
    """Blocks below the pids of several processes of one file, each of another rank."""
    files: defaultdict[str, dict[tuple[str | None, int | None], Statement]] = defaultdict(dict)
    for one in stated:
        files[one.file][one.host, one.pid] = one
    for own in files.values():
        if len(own) >= _FEWEST and len({one.facts["rank"] for one in own.values()}) == len(own):
            yield from own.values()


class _Resolved:
    def __init__(
        self,
        said: Begun,
        places: Places,
        paths: Sequence[str],
        found: list[Process],
        world: int | None,
        launched: frozenset[int],
        stated: Iterable[Statement],
        devices: Devices,
        scripts: Scripts,
        documents: Sequence[Document],
        *,
        are_tasks: bool,
        is_counted: bool,
    ) -> None:
        # below these a task is a node's launcher, or a script computes the ranks
        is_launcher = scripts.is_computed or any(_LAUNCHER.search(one.raw) for own in said.values() for one in own)
        said_ranks = [one for one in stated if "rank" in one.facts]
        self._stated = [one for one in said_ranks if one.pid is None and "local_rank" in one.facts]
        self._stated += _of_pids(
            [one for one in said_ranks if one.pid is not None and (one.host is None or places.is_place(one.host))]
        )
        self._said, self._places, self._paths, self._devices = said, places, paths, devices
        self._documents = documents
        self._shown = shown_devices(said, places)
        self._written = [] if is_launcher or not are_tasks else [*written(said, paths, world)]
        found = _placed([*_without_opposed(found), *self._spoken(), *self._of_templates()])
        is_larger = max(launched, default=0) > 1  # a world of one is of another program
        self._found = [one for one in found if one.world != 1 or not is_larger]
        self._written = consistent(self._written, self._found)
        self._given = {one.place for one in self._found if one.how == GIVEN}  # its processes see these devices alone
        worlds = {one.world for one in self._found if one.world is not None and one.rank is not None}
        sizes = worlds or launched
        self.world = world if world is not None else sole(sizes)
        if not sizes and self.world is None and is_counted:  # each task is a process, and each has its files
            self.world = len({one.task for one in self._written}) or None
        self._found = [*self._found, *([] if is_launcher else in_order(self._found, self.world))]
        self._locals = self._unanimous("local")
        self._ranks = self._unanimous("rank")
        known = (self._found, self.world, self._ranks, self._locals)
        self._begin = Starts(said, places, paths, *known, scripts, documents)

    def table(self) -> Table:
        starts = self._begin.starts()
        told = [(one, *self._numbers(one)) for one in self._found]
        locals_ = {place: {*range(len(ranks))} for place, ranks in starts.items()}
        for one, local, _ in told:
            locals_.setdefault(one.place or "", set()).update(() if local is None else (local,))
        shown = {place: own for place, own in self._shown.items() if locals_.get(place) == {*range(len(own))}}
        names = [*called_seats(self._said, self._places)]
        more = [self._seats_called(one, shown.get(one.place, ())) for one in names]
        seats = ranked([*((seats_of(one, local), rank) for one, local, rank in told), *more], starts)
        rows: dict[tuple[str, str, int], Process] = {}
        for one in self._found:
            if one.place is None and one.rank is None:
                continue
            place, (local, rank) = one.place, self._numbers(one)
            if rank is None:
                rank = sole(seats[seat] for seat in seats_of(one, local) if seat in seats)
            if rank is not None and (one.pid is not None or local is not None):
                mark = ("pid", place or "", one.pid) if one.pid is not None else ("local", place or "", local or 0)
                rows.setdefault(mark, one._replace(local=local, rank=rank, how=HOW))
        of_locals = {(row.place, row.local) for row in rows.values()}
        spoken: defaultdict[str, set[int | None]] = defaultdict(set)
        for one in self._found:
            spoken[one.file].add(one.rank)
        for place, ranks in starts.items():  # of a file that is one process's, nobody else is told
            own_rows = (one for one in self._found if one.place == place)
            open_ = (one for one in own_rows if None in spoken[one.file] or len(spoken[one.file]) > 1)
            where = next(open_, Process(place))
            for local, rank in enumerate(ranks):
                if (place, local) not in of_locals:
                    own = Process(place, None, local, rank, file=where.file, line=where.line, how=HOW)
                    rows["local", place, local] = own
        kept = self._one_each([*rows.values()])
        kept = [
            row._replace(device=shown[row.place][row.local])
            if row.place in shown and row.local is not None and row.local < len(shown[row.place])
            else row
            for row in kept
        ]
        uuids = (
            Told(name, "uuid", one.file, one.line, rank=seats.get((one.place, one.sort, one.number)), world=self.world)
            for one, name in names_of_devices(names)
        )
        begin = self._begin
        counted = counted_files(self._paths, begin.formulas, self.world)
        at = {path: place for path in counted if (place := self._places.of_file(path)) in starts}
        files = {path: rank for path, rank in counted.items() if path not in at or rank in starts[at[path]]}
        for path in self._paths:
            place = self._places.of_file(path)
            name = DATED.sub(" ", path.rpartition("/")[2])
            here = self._places.named(name)
            pids = {
                int(one[0])
                for one in _NUMBER.finditer(name)
                if one[0][0] != "0" and (not here or any(stands_beside(host, one) for host in here))
            }
            of_pid = (row.rank for row in kept if row.place == place is not None and row.pid in pids)
            if (rank := sole(rank for rank in of_pid if rank is not None)) is not None:
                files[path] = rank
        files |= {one.path: one.task for one in self._written}
        files = {**files, **of_places(self._said, self._places, self._paths, starts, begin.formulas), **files}
        kept += self._of_names(files)
        kept += self._alone(starts, kept)
        placed = {row.place for row in kept} | starts.keys()
        hosts = {path: place for path in self._paths if (place := self._places.of_file(path) or path) in placed}
        computed_too = computed_names(
            self._said, self._paths, begin.all_formulas, self.world, begin.each(), self._documents
        )
        return Table(
            kept,
            starts,
            files,
            hosts,
            self._places.aliases(),
            self._places.apart(self._paths),
            self.world,
            self._is_by_device(),
            scripts=self._scripts(),
            counter=begin.counter(),
            each_task=begin.each_task(),
            computed=[
                *(one for one in computed_too if one.node_rank is None or not starts),
                *(one for one in uuids if one.rank is not None),
            ],
            buses={
                (one.place, one.bus): rank
                for one in names
                if one.bus is not None and (rank := seats.get((one.place, one.bus, 0))) is not None
            },
            where=self._places,
            is_open=begin.is_open,
            is_computed=begin.is_computed,
            labels=words_of_scripts(self._said, begin.formulas),
        )

    def _seats_called(self, one: Called, shown: Sequence[int]) -> tuple[list[Seat], int | None]:
        """A device, its address, and whoever uses it. `shown`: the devices that the processes of its place see."""
        seats: list[Seat] = [] if one.sort == "rank" else [(one.place, one.sort, one.number)]
        if one.bus is not None:
            seats.append((one.place, one.bus, 0))
        if one.sort == "rank":
            return seats, one.number
        user = self._devices.user(one.number) if self._devices.what == "local_rank" else None
        user = shown.index(one.number) if one.number in shown else None if shown else user
        if user is not None and one.place not in self._given:
            seats.append((one.place, "local", user))
        return seats, None

    def _numbers(self, one: Process) -> tuple[int | None, int | None]:
        """The place there and the rank of a row; of a pid, what all that tell of it agree on."""
        if one.pid is None:
            return one.local, one.rank
        key = (one.place or "", one.pid)
        return self._locals.get(key), self._ranks.get(key)

    def _scripts(self) -> dict[str, Script]:
        """Name of a script that computes its rank from one of its arguments → how."""
        own = [one for one in self._begin.formulas if one.what == "rank"]
        return unanimous(
            (one.file.rpartition("/")[2], Script(one.argument, one.offset, one.modulus))
            for one in own
            if one.argument is not None
        )

    def _is_by_device(self) -> bool:
        """Does nothing hide devices, or what a script lets a process see is the one of its own number?"""
        is_of_script = any(one.local is not None for one in self._begin.formulas) and self._devices == Devices()
        return is_of_script or not any("VISIBLE_DEVICES" in one.raw for own in self._said.values() for one in own)

    def _one_each(self, rows: Sequence[Process]) -> list[Process]:
        """Without ranks that two places have, and those beyond the world."""
        where: defaultdict[int, set[str | None]] = defaultdict(set)
        pids: defaultdict[tuple[str | None, int], set[int]] = defaultdict(set)
        for row in rows:
            if row.rank is not None:
                where[row.rank].add(row.place)
                if row.pid is not None:
                    pids[row.place, row.rank].add(row.pid)
        return [
            row for row in rows
            if row.rank is not None and len(where[row.rank]) == 1 and len(pids[row.place, row.rank]) < _FEWEST
            and (self.world is None or row.rank < self.world)
        ]  # fmt: skip

    def _unanimous(self, what: str) -> dict[tuple[str, int], int]:
        """(place, pid) → number; what a word calls a rank counts before what only counts like one."""
        said = [one for one in self._found if one.pid is not None and getattr(one, what) is not None]
        words = {(one.place, one.pid) for one in said if one.is_word} if what == "rank" else set()
        said = [one for one in said if one.is_word or (one.place, one.pid) not in words]
        return unanimous(((one.place or "", one.pid or -1), getattr(one, what)) for one in said)

    def _spoken(self) -> Iterator[Process]:
        """What lines say of their own processes in known words."""
        for path, own in self._said.items():
            from_, asked = self._places.of_file(path), None
            whole = path if len(self._said) > 1 else None
            process = partial(Process, file=path, is_word=True)
            listed: dict[str, list[int]] = {}
            is_of_tasks = len({one.line.task for one in own}) > 1  # each with its own lists
            for one in own:
                host = one.line.host
                asked = self._places.typed(one.raw) or asked
                here = from_ or asked or whole
                place = self._places.called(host) if host else here
                if (who := one.introduces) is not None:
                    if place is None and (record := OF_RECORD.match(one.line.text)):
                        place = self._places.called(record["name"])
                    at = self._places.called(who.host) or (place if place != path else None)
                    pid = who.pid if who.pid is not None else one.line.process
                    yield process(at, pid, None, who.rank, world=who.world, line=one.number)
                if place not in (None, path) and one.line.local_rank is not None and one.line.rank is not None:
                    yield process(place, None, one.line.local_rank, one.line.rank, line=one.number)
                is_placed = place is not None and (host is not None or not is_of_tasks)
                for found in _LIST.finditer(one.line.text) if is_placed and "anks" in one.line.text else ():
                    listed[found["kind"]] = [int(number) for number in found["numbers"].split(",")]
                    if len(listed) == _FEWEST and len(listed["local"]) == len(listed["global"]):
                        for local, rank in zip(listed["local"], listed["global"], strict=True):
                            yield process(place, None, local, rank, line=one.number)
                        listed = {}
        of_pids = {one.file for one in self._stated if one.pid is not None}
        headings = {path: self._places.headings(self._said.get(path, ())) for path in of_pids}
        for told in self._stated:
            headed = headings[told.file].get(told.line) if told.pid is not None else None
            named = self._places.called(told.host) or headed
            at = named or self._places.of_file(told.file) or (told.file if len(self._said) > 1 else None)
            at = at if told.pid is None or at != told.file else None  # a file that tells of pids is no process's
            if at is not None or told.pid is not None:
                world = told.facts.get("world_size") if told.pid is not None else None
                yield Process(
                    at, told.pid, told.facts.get("local_rank"), told.facts["rank"], world=world,
                    each=told.facts.get("processes_per_node"), file=told.file, line=told.line, is_word=True,
                )  # fmt: skip
        for item in in_order_of_ranks(self._said, self._places):
            process = partial(Process, file=item.file, line=item.line, is_word=True)
            yield process(item.place, item.pid, None, item.rank, world=item.world)
        for block in blocks(self._said, self._places):
            process = partial(Process, file=block.file, line=block.line, is_word=True)
            yield from (process(block.place, None, local, rank) for local, rank in enumerate(block.ranks))

    def _of_templates(self) -> Iterator[Process]:
        """Processes of which a file's name tells the number and the host, as the launch explains it."""
        for one in self._written:
            if one.pid is not None and one.host is not None and self._places.is_place(one.host):
                yield Process(self._places.of(one.host), one.pid, None, one.task, file=one.path, is_word=True)

    def _of_names(self, files: Mapping[str, int]) -> Iterator[Process]:
        """Processes that are told with a name that is their file's (`spawned: 'tts_06' with pid 7720`)."""
        named = unanimous((path.rpartition("/")[2].partition(".")[0], rank) for path, rank in files.items())
        for one in self._found:
            if one.pid is not None and one.rank is None and one.place in named:
                yield Process(None, one.pid, None, named[one.place], file=one.file, line=one.line, how=HOW)

    def _alone(self, starts: Mapping[str, range], kept: Iterable[Process]) -> list[Process]:
        """The pids of places that have one process each: the one pid before the lines of a file, or that they tell, in files of one form of all of
        them."""
        known = {row.place for row in kept if row.pid is not None}
        found: defaultdict[str, list[Process]] = defaultdict(list)
        for path, own in self._said.items():
            place = self._places.of_file(path)
            if place is None or place in known or len(starts.get(place, ())) != 1:
                continue
            said = [(one.number, pid) for one in own if (pid := one.line.process) is not None]
            said = said or [(one.number, int(pid)) for one in own for pid in PID.findall(one.line.text)]
            if len({pid for _, pid in said}) == 1:
                line, pid = said[0]
                one = Process(place, pid, None, starts[place].start, file=path, line=line, how=HOW)
                found[_NUMBER.sub("#", path)].append(one)
        whole = starts.keys() - known
        many = [own for own in found.values() if {one.place for one in own} == whole and len(own) == len(whole)]
        return many[0] if len(many) == 1 else []
