"""Who speaks in a file, where nobody has taught its form: learnt from the beginnings of files, once per shape of name (`beginnings.SHAPE`).

A **form** of labels (labels.py) is admitted whole or not at all:
- nothing that tells the processes of its lines apart otherwise (an introduction, a printed rank, a launcher's task or local rank, a pid) disagrees: one number each;
- two numbers at least, each on two lines with words behind it; introductions or printed ranks say the same numbers; or such processes, or files, have one each, and the numbers are just 0 … N-1 of a told world of N; or its word is "rank", in no group, and the numbers are such, or count from 0 where no world is told; so does a word of processes that speak at once (at_once.py).
So levels, layers, experts, steps and workers are none. A bare number is one, without introductions, only before nearly all lines, where nothing else does.

**Files**: what a file introduces itself as is its rank where files of one shape of name (digits aside) tell different ones, unless they are every k-th (logs of nodes, of which the first
process speaks). The number in such a name is the rank where it equals that of all that introduce themselves, or where these numbers are just 0 … N-1 of a told world of N and the files of
one process each; where files beside them introduce themselves otherwise, it counts something else, and they are of whom these are. A pid in a name is that of whoever introduced itself with it. Fooled by: processes that introduce themselves by the ranks of a group.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from functools import cached_property
from itertools import chain
from typing import Any

from msgspec.structs import replace

from parsers.schema.labels import NO_LABELS, Form, Join, Labels, are_pids, number_of, rank_of
from parsers.schema.names import Names
from parsers.schema.parser import Source
from parsers.text.patterns import regex
from parsers.text.rank_list import RANKS
from parsers.text.unanimous import sole, unanimous
from parsers.who.labels.head_pids import pids_at_heads
from parsers.who.labels.joins import DEVICES, Told, heads_in, joins, names_in, share_half, spoken
from parsers.who.learnt.at_once import are_at_once
from parsers.who.learnt.counts import (
    alone,
    are_of_pids,
    are_several,
    beginnings,
    by_pid,
    counted_by,
    is_of_nodes,
    is_one_to_one,
    launchers_of,
    marks,
    numbers,
    of_node,
    places,
    rank_of_pid,
    rolled,
    shared_ranks,
    sizes_of,
    sizes_of_rolls,
    stream,
    until,
    whole_beginnings,
    without_agents,
)
from parsers.who.learnt.known import Known
from parsers.who.learnt.tasks import LAUNCHER
from parsers.who.lines.beginnings import SHAPE, Begun, Said, with_speakers
from parsers.who.lines.introductions import PROCESS, called_pids
from parsers.who.places.job_table import Table
from parsers.who.told.documented import documented
from parsers.who.told.told_lines import Statement
from parsers.who.told.told_names import host_and_number
from parsers.who.told.told_pairs import merged, ranks_of_names

_RANK, _ROUNDS, _NUMBER = ("rank", "global_rank", "world_rank", "mpi_rank"), 2, regex(r"\d{1,10}")
Rows = Sequence[tuple[int, str, Said]]  # number, what is behind it, the line
_OF_ALL = ("dp", "ddp", "data", "replica", "global", "worker", *PROCESS)  # words before `5/8` of a world of 8


class Beginnings:
    """What the beginnings of files say, put together."""

    def __init__(
        self,
        shapes: Mapping[str, list[Source]],
        said: Mapping[str, list[Said]],
        stated: Sequence[Statement],
        table: Table,
    ) -> None:
        self._table = table
        self._shapes, self._said, self._stated = shapes, said, stated
        told = without_agents([one for own in said.values() for one in own if one.introduces])
        self._launchers = launchers_of(told)
        known = [replace(one.introduces, pid=self._pid(one)) for one in told if one.introduces]
        self.world, self._size = sizes_of(known, said)
        fits = [one for one in told if one.introduces and one.introduces.world in (None, self.world)]
        own = rank_of_pid(
            (self._pid(one), one.introduces.rank) for one in fits if one.introduces and one.introduces.world
        )
        fits = [one for one in fits if not self._is_counted_otherwise(one, own)]
        pids = [(self._pid(one), one.introduces.rank) for one in fits if one.introduces]
        shared, ranks = shared_ranks(((one, self._pid(one)) for one in fits), said)
        self.introduced = fits if 2 * shared <= ranks else []  # else they count within groups
        self.shared, _ = shared_ranks(((one, self._pid(one)) for one in told), said)
        self._pids = rank_of_pid([*pids, *table.of_pids({pid for pid, _ in pids})] if self.introduced else ())
        self._called = {*self._pids, *called_pids(one.line.text for own in said.values() for one in own)}

    def _is_counted_otherwise(self, one: Said, own: Mapping[int | None, int]) -> bool:
        """Does somebody else tell another number, without a world, of a process that has told its rank in one?"""
        said = one.introduces
        return said is not None and said.world is None and own.get(self._pid(one), said.rank) != said.rank

    def by(self, part: Callable[[str], str]) -> "list[Beginnings]":
        """Its parts by what is told of each path."""
        shapes: defaultdict[str, dict[str, list[Source]]] = defaultdict(dict)
        for shape, own in self._shapes.items():
            for source in own:
                shapes[part(source.path)].setdefault(shape, []).append(source)
        parts = []
        for own_shapes in shapes.values():
            paths = [source.path for own in own_shapes.values() for source in own]
            said = {path: self._said[path] for path in paths if path in self._said}
            parts.append(Beginnings(own_shapes, said, [one for one in self._stated if one.file in said], self._table))
        return parts

    def spaces(self) -> "list[Beginnings]":
        """Folders, or shapes of names, whose processes have the same ranks, or count themselves off by sizes of their own, are programs, each with its world."""
        if self.world is None and self.shared < 2:
            return [self]
        ways = (self.by(lambda path: path.partition("/")[0]), self.by(lambda path: SHAPE.sub("#", path)))
        if self.shared < 2:
            counts = [{counted_by(one._said, one._shapes) for one in own} - {None} for own in ways]
            return next((own for own, found in zip(ways, counts, strict=True) if len(found) > 1), [self])
        return next((parts for parts in ways if sum(bool(part.introduced) for part in parts) > 1), [self])

    @cached_property
    def _alone(self) -> dict[str, int]:
        """Path → the one rank that introduces itself in a file in which nobody else speaks."""
        spoken = {path: self.processes(path) for path in {one.file for one in self.introduced}}
        return {path: rank for path, own in spoken.items() if len(own) == 1 for rank in own if rank is not None}

    @cached_property
    def _beside(self) -> dict[str, int]:
        """Each beginning of a path that ends in a number, or with a folder → the one rank that introduces itself in the files that begin so: what the
        number counts (executors, runs of a logger) may be no rank."""
        return unanimous((begins, rank) for path, rank in self._alone.items() for begins in beginnings(path))

    @cached_property
    def _streams(self) -> dict[tuple[str, ...], int]:
        """Folder and numbers of a file's name → the one rank that introduces itself in it: another stream of the same number is its, too."""
        return unanimous((stream(path), rank) for path, rank in self._alone.items())

    def _by_beginning(self, ranks: Mapping[str, int]) -> dict[str, int]:
        """Path → rank of files in which nobody introduces himself, by how their paths begin, where as many as processes tell one."""
        begun_by = unanimous((begins, rank) for path, rank in ranks.items() for begins in beginnings(path))
        told = whole_beginnings(self._beside or begun_by, self.world or len({*ranks.values()}))
        found: dict[str, int] = {}
        for one in chain.from_iterable(self._shapes.values()) if told else ():
            known = [told[begins] for begins in beginnings(one.path) if begins in told][-1:]
            if known and one.rank is None and one.size and self.processes(one.path) <= {*known}:
                found[one.path] = known[0]
        return found

    def documented(self, names: Names) -> dict[str, int]:
        """Path → the rank that documents tell of it, of files in which nobody else speaks."""
        return documented([*chain.from_iterable(self._shapes.values())], names, self.processes, self._said)

    @cached_property
    def _of_introductions(self) -> dict[str, int]:
        """Path → rank, by who introduces himself in a file, or in those beside it."""
        ranks: dict[str, int] = {}
        for own in self._shapes.values():
            ranks |= self._of_files(own)
        for own in alone(self._shapes.values()):
            ranks |= self._of_job([one for one in own if self.processes(one.path)])
        paths = (one.path for one in chain.from_iterable(self._shapes.values()) if one.path not in ranks)
        ranks |= {path: rank for path in paths if (rank := by_pid(path, self._pids)) is not None}
        left = {
            path: rank for path, rank in self._alone.items() if path not in ranks
        }  # called otherwise than all others
        is_whole = self.world is not None and sorted([*ranks.values(), *left.values()]) == [*range(self.world)]
        ranks |= left if is_whole else {}
        return {**ranks, **self._by_beginning(ranks), **ranks}

    def files(self, documents: Set[str]) -> dict[str, int]:
        """Path → rank, of logs in which somebody says which of how many he is; what documents say of themselves, they tell."""
        own = {one.file for one in self.introduced if one.introduces and one.introduces.world is not None}
        return {path: rank for path, rank in self._of_introductions.items() if path in own - documents}

    def known(self, documents: Names) -> Known:
        ranks = dict(self._of_introductions)
        of_files = ranks | {one.path: one.rank for own in self._shapes.values() for one in own if one.rank is not None}
        labels: dict[str, Labels] = {}
        told = replace(self._told, documents=documents)
        for _ in range(_ROUNDS):  # what one file tells of a name, holds in the others
            for own in self._shapes.values():
                learnt = self._learn([one.path for one in own], of_files, told)
                if learnt != NO_LABELS:
                    labels |= {one.path: learnt for one in own}
                else:
                    labels |= self._of_each(own, of_files, told)
            everywhere = (own for path, own in labels.items() if not told.documents.inside(path))
            names = unanimous(pair for own in everywhere for pair in names_in(own.joins))
            if names.items() <= told.names.items():
                break
            told = replace(told, names={**names, **told.names})
        paths = [one.path for own in self._shapes.values() for one in own]
        pids = pids_at_heads(self._said, lambda one: self._spoken_by(one, ranks | of_files, labels), paths)
        sizes = sizes_of_rolls(self._said, self._shapes.values(), ranks)
        return Known(ranks, labels, [*self._introductions(), *_labelled(self._said, labels), *pids, *sizes])

    def _introductions(self) -> Iterator[dict[str, Any]]:
        for one in self.introduced:
            if (said := one.introduces) is not None:
                own = None if one.line.process in self._launchers else one.line.host  # it tells of other processes
                address = own if said.host else None  # what a launcher calls the host that says its name
                told = {"rank": said.rank, "host": said.host or own, "address": address, "pid": self._pid(one)}
                device = {"device_index": said.device, "pci": said.pci, "world_size": said.given or said.world}
                yield {**told, **device, "how": "introduction", "file": one.file, "line": one.number}

    def _spoken_by(self, one: Said, ranks: Mapping[str, int], labels: Mapping[str, Labels]) -> int | None:
        """Whose a line is, by what was learnt."""
        learnt = labels.get(one.file, NO_LABELS)
        label = number_of(one.labels, learnt.ranks)
        held = {slot: value for slot, (value, _) in spoken(one.line, one.heads, None, None).slots.items()}
        named = rank_of(held, learnt.joins) if label is None else label
        return self._known(one, ranks) if named is None else named

    def _pid(self, one: Said) -> int | None:
        """The pid that an introduction tells, else that before the line."""
        said, printed = one.introduces, one.line.process
        own = None if printed in self._launchers else printed
        return said.pid if said is not None and said.pid is not None else own

    def _rank(self, one: Said) -> int | None:
        """The rank that a line prints, or that its process has introduced itself with."""
        if one.line.rank is not None:
            return one.line.rank
        is_own = one.line.process is None or one.line.process not in self._launchers
        if is_own and one.introduces is not None and one.introduces.world in (None, self.world):
            return one.introduces.rank
        return self._pids.get(one.line.process) if one.line.process is not None else None

    def _of_files(self, siblings: Sequence[Source]) -> dict[str, int]:
        """Path → rank, of files of one shape of name; where their numbers come again beside another (a job's), for each of these."""
        own = [one for one in siblings if one.size]
        found = self._of_job(own)
        for place in range(places(own) if len(found) < len(own) else 0):
            parts: defaultdict[str, list[Source]] = defaultdict(list)
            for one in own:
                parts[_NUMBER.findall(one.path)[place]].append(one)
            if 1 < len(parts) < len(own):
                more = {path: rank for part in parts.values() for path, rank in self._of_job(part).items()}
                if found.items() <= more.items():
                    found = more
        return found

    def _of_job(self, own: Sequence[Source]) -> dict[str, int]:
        processes = {one.path: self.processes(one.path) for one in own}
        if len(own) < 2 or any(len(found) > 1 for found in processes.values()):
            return {}
        told = {path: next(iter(found)) for path, found in processes.items() if found}
        ranks = {path: rank for path, rank in told.items() if rank is not None}
        if len(set(ranks.values())) < len(ranks) or is_of_nodes(sorted(ranks.values()), len(own), self.world):
            return {}
        if not ranks and (roll := rolled(self._said, [*processes], self._told.world)):
            return roll
        for place in range(places(own)):
            if not (found := numbers(own, place)):
                continue
            every = {path: self._beside.get(until(path, place), self._streams.get(stream(path))) for path in found}
            beside = {path: rank for path, rank in every.items() if rank is not None}
            if not ranks and any(found[path] != rank for path, rank in beside.items()):
                return beside if len(set(beside.values())) == len(beside) else {}
            equal = [path for path, rank in ranks.items() if found[path] == rank]
            if node := of_node(found, ranks, {rank for path, rank in self._speaking if path not in found}):
                return node
            is_world = self.world is not None and sorted(found.values()) == list(range(self.world)) and not ranks
            is_world = is_world and are_of_pids(found, self._pids, self._said, self.world)
            if (len(equal) > 1 and len(equal) == len(ranks)) or (is_world and self.introduced):
                top = self.world if self.world is not None else 1 + max(ranks.values())
                return {path: number for path, number in found.items() if number < top}
        return ranks if len(ranks) > 1 else {}

    def processes(self, path: str) -> set[int | None]:
        """The ranks that speak in a file; None beside them where something else shows several processes."""
        said = self._said.get(path, [])
        ranks: set[int | None] = {rank for one in said if (rank := self._rank(one)) is not None}
        for several in ("task", "local_rank", "process"):
            if len({getattr(one.line, several) for one in said} - {None}) > 1:
                return ranks | {None, -1}
        if any(LAUNCHER.search(one.line.text) for one in said):
            return {None, -1}
        return ranks | {None, -1} if are_several(said) else ranks

    @cached_property
    def _speaking(self) -> set[tuple[str, int]]:
        """Who speaks in which file."""
        return {(path, rank) for path in self._said for rank in self.processes(path) if rank not in (None, -1)}

    @cached_property
    def _told(self) -> Told:
        """What lines tell of names and of the launch."""
        said = {path: with_speakers(own) for path, own in self._said.items()}
        told = [(one, one.launch) for own in self._said.values() for one in own if one.launch]
        worlds, each = ({number for _, own in told if (number := getattr(own, what))} for what in ("world", "each"))
        numbered = (
            (name, own.node)
            for one, own in told
            if own.node is not None
            for name in {one.line.host or "", *(head.value for head in one.heads)} - {""}
        )
        nodes = {name: node for name, node in unanimous(numbered).items() if node < RANKS}
        lines = (one.line.text for own in self._said.values() for one in own)
        world = self.world if self.world is not None else sole(worlds)
        names = merged(map(ranks_of_names, said.values()), world or self._table.size)
        are_others = self._table.is_computed or any(map(LAUNCHER.search, lines))
        tasks, every = self._table.each_task, sole(each)
        return Told(
            world, names, self._pids, nodes, every, are_others=are_others, each_task=tasks, counter=self._table.counter
        )

    def _learn(self, paths: Sequence[str], ranks: Mapping[str, int], told: Told) -> Labels:
        """The forms of labels in files of one shape of name."""
        said = [one for path in paths for one in self._said.get(path, ())]
        found: defaultdict[Form, list[tuple[int, str, Said]]] = defaultdict(list)
        for one in said:
            for form, number, behind in one.labels:
                found[form].append((number, behind, one))
        forms = {form for form, rows in found.items() if self._are_ranks(form, rows, ranks, len(said))}
        pids = {form for form, rows in found.items() if self._are_pids(form, rows, ranks)}
        labelled = [(one, rank) for form in forms for rank, _, one in found[form]]
        tasks = self._tasks_are_ranks(said, labelled)
        said_by = {form: [one for *_, one in found[form]] for form in forms}
        open_ = [form for form, own in said_by.items() if any(one.line.rank is None for one in own)]
        told_forms = {form for form in open_ if any(self._known(one, ranks) is not None for one in said_by[form])}
        learnt: tuple[Join, ...] = ()
        labelled_lines = sum(len(found[form]) for form in told_forms)
        if not tasks and 2 * labelled_lines < len(said):  # what a library labels is a part of it
            learnt = joins([spoken(one.line, one.heads, one.launch, self._known(one, ranks)) for one in said], told)
            learnt = tuple(one for one in learnt if not self._is_of_nodes(one))
        if learnt:  # where names are told, a number that nobody tells, nor the word before it, counts something else
            forms = {form for form in forms if form in told_forms or form.word.lower() in _RANK}
        return Labels(frozenset(forms), frozenset(pids), tasks, learnt, heads_in(learnt))

    def _is_of_nodes(self, one: Join) -> bool:
        """Are those it calls the first processes of nodes, for all of which these speak?"""
        return is_of_nodes(sorted({*one.ranks.values()}), len(one.ranks), self.world)

    def _of_each(self, own: Sequence[Source], ranks: Mapping[str, int], told: Told) -> dict[str, Labels]:
        """Path → what is learnt of a file alone, where others of its shape have the same names for others (logs of nodes)."""
        found: dict[str, Labels] = {}
        for path in (one.path for one in own if one.path not in ranks):
            here, within = self._table.here(path), told.documents.inside(path)
            if len(own) < 2 and not (here or within):
                continue
            lines = [spoken(one.line, one.heads, one.launch, self._rank(one)) for one in self._said.get(path, ())]
            documents = replace(told.documents, here=self._table.place(path))
            if learnt := joins(lines, replace(told, here=here, within=within, documents=documents), of_file=True):
                found[path] = Labels(joins=learnt, heads=heads_in(learnt))
        return found

    def _tasks_are_ranks(self, said: Sequence[Said], spoken: Sequence[tuple[Said, int]]) -> bool:
        """Are the tasks of a launcher ranks: as introductions and labels say?"""
        pairs = {(one.line.task, self._rank(one)) for one in said if one.line.task is not None}
        pairs |= {(one.line.task, rank) for one, rank in spoken if one.line.task is not None}
        tasks = {task for task, _ in pairs}
        known = {(task, rank) for task, rank in pairs if rank is not None}
        are_nodes = any(LAUNCHER.search(one.line.text) for one in said)
        if not tasks or are_nodes or any(task != rank for task, rank in known):
            return False
        return len(known) > 1 or (bool(known) and tasks == set(range(self.world or 0)))

    def _are_ranks(self, form: Form, rows: Rows, ranks: Mapping[str, int], lines: int) -> bool:
        if self._is_table(form, rows, lines):
            return True
        numbers = set(counts := Counter(number for number, *_ in rows))
        are_nodes = any(LAUNCHER.search(behind) for _, behind, _ in rows)
        if are_nodes or sum(count > 1 for count in counts.values()) < 2 or max(numbers) >= (self.world or RANKS):
            return False
        pairs = {(number, rank) for number, _, one in rows if (rank := self._known(one, ranks)) is not None}
        if any(number != rank for number, rank in pairs):
            return False
        told_by = {kind: marks(rows, kind) for kind in ("task", "local_rank", "process")}
        told_apart = {kind: found for kind, found in told_by.items() if len(found) > 1}
        if any(len(own) > 1 for found in told_apart.values() for own in found.values()):
            return False
        is_whole = numbers == set(range(self._size or 0))
        word = form.word.lower()
        if self.world is None and self._size:  # told by a layout alone
            is_of_all = word in (*_RANK, *_OF_ALL) and form.total in ("", f"/{self._size}")
            return is_whole and is_of_all and share_half([(number, behind) for number, behind, _ in rows])
        # Of the first ranks of a larger world it may be a device or a local rank: on the first host these are the same.
        is_theirs = is_whole or word in _RANK or form.total or self.world is None or max(numbers) >= DEVICES
        if len({number for number, _ in pairs}) > 1:
            return bool(is_theirs)
        files = marks(rows, "file")
        is_file = len(files) > 1 and all(len(own) == 1 for own in files.values())
        if is_whole and any(is_one_to_one(found) for found in (*told_apart.values(), files if is_file else {})):
            return True
        counted = is_whole or (self.world is None and numbers == set(range(len(numbers))))
        if form.total not in ("", f"/{len(numbers)}") or not share_half([(number, told) for number, told, _ in rows]):
            return False
        if word in _RANK or (self.world is None and are_at_once(word, rows, self._told.world, form.total)):
            return counted
        return not word and is_whole and not told_apart and len(files) < 2 and len(rows) > 0.8 * lines

    def _is_table(self, form: Form, rows: Rows, lines: int) -> bool:
        """Are these the lines of one file, a line of each process of the told world and nothing else (`process 3: exit status -9`)?"""
        numbers = sorted(number for number, *_ in rows)
        is_whole = numbers == [*range(self.world or 0)] and len(rows) == lines > 0
        return is_whole and form.word.lower() in PROCESS and form.opened == ""

    def _are_pids(self, form: Form, rows: Rows, ranks: Mapping[str, int]) -> bool:
        """Are the numbers pids, and of nobody else than who speaks there?"""
        if any(one.line.process for *_, one in rows) or not are_pids(form, (one[0] for one in rows), self._called):
            return False
        said = ((self._known(one, ranks), self._pids.get(pid)) for pid, _, one in rows)
        return all(None in pair or pair[0] == pair[1] for pair in said)

    def _known(self, one: Said, ranks: Mapping[str, int]) -> int | None:
        return ranks.get(one.file) if (rank := self._rank(one)) is None else rank


def _labelled(said: Begun, labels: Mapping[str, Labels]) -> Iterator[dict[str, Any]]:
    """The first line of each rank in each file whose labels tell it."""
    told: set[tuple[str, int]] = set()
    for file, own in labels.items():
        for one in said.get(file, ()):
            label = number_of(one.labels, own.ranks)
            rank = one.line.task if label is None and own.tasks else label
            who = spoken(one.line, one.heads, None, None)
            held = {slot: value for slot, (value, _) in who.slots.items()}
            rank = rank_of(held, own.joins) if rank is None else rank
            if rank is not None and (file, rank) not in told:
                told.add((file, rank))
                place = {"file": file, "line": one.number, "how": "label", "local_rank": one.line.local_rank}
                alone = (held.get(form) for (form,) in (join.key for join in own.joins if len(join.key) == 1))
                name = next((name for name in alone if name and not name.isdigit()), None)
                host, pid = host_and_number(name or "") or (one.line.host, who.pid)
                yield {"rank": rank, "host": host, "pid": pid, "name": name} | place
