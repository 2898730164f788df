"""Who speaks in a file, where nobody has taught its form: learnt from the beginnings of files, once per shape of name.

A **form** of labels (labels.py) is admitted whole or not at all:
- nothing that tells the processes of its lines apart otherwise (an introduction, a printed rank, a launcher's task or local
  rank, a pid) disagrees: one number each;
- two numbers at least, each on two lines with words behind it;
- introductions or printed ranks say the same numbers; or such processes, or files, have one each, and the numbers are just
  0 … N-1 of a told world of N; or its word is "rank", in no group, and the numbers are such, or count from 0 where no world is told.
So levels, layers, experts, steps and workers are none. A bare number is one, without introductions, only before nearly all lines,
where nothing else tells processes apart, and where the numbers share half of what the poorest of them prints.

**Files**: what a file introduces itself as is its rank where files of one shape of name (digits aside) tell different ones, unless
they are every k-th (logs of nodes, of which the first process speaks). The number in such a name is the rank where it equals
that of all that introduce themselves, or where these numbers are just 0 … N-1 of a told world of N and the files of one process
each; where files beside them introduce themselves otherwise, it counts something else, and they are of whom these are. A pid in a name is that of whoever introduced itself with it.

Fooled by: processes that introduce themselves by the ranks of a group, and nobody by that of the whole job.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import msgspec
from msgspec.structs import replace

from parsers import prefixes, stamps
from parsers.bundle import STREAM_ERRORS
from parsers.encodings import in_utf8, is_page, is_text, without_prefix
from parsers.introductions import PROCESS, Introduction, introduction
from parsers.labels import NO_LABELS, Form, Labels, labels_of, number_of
from parsers.parser import Source
from parsers.patterns import regex
from parsers.rank_list import RANKS

SIBLINGS = 8  # files of one shape of name in which forms are learnt, by as much of their beginnings
WINDOW, LINES, LEAST = 128 << 10, 8_000, 160  # bytes at most, lines of all together, lines of each if they are many
FILES = 512  # so many at most, and as many others, by as much of their beginnings
BEGINNING, HEAD_LINES = 4096, 24  # bytes, lines; so many tell a file's habits, too
LINE = 2000  # characters of a line
DEVICES = 16  # of a host, hardly more
PID = 1000  # from where on a number in a name may be a pid
_NUMBER = regex(r"\d{1,10}")
_SHAPE = regex(r"(?=[0-9a-f]{0,7}\d)[0-9a-f]{8,}|\d+")
_TEMPLATE = regex(r"[0-9a-f]*\d[0-9a-f.]*")
_LAUNCHER = regex(r"torch\.distributed\.(?:elastic|run|launcher)|\btorchrun\b|torchelastic")
_STRUCTURED = regex(rb"\s*(?:\{|\[\s*\{|<[?!])")
_RANK, _GROUP_OF_WORLD = ("rank", "global_rank", "world_rank", "mpi_rank"), "tp"


class _Said(msgspec.Struct, frozen=True):
    """A line and its place."""

    file: str
    number: int
    line: prefixes.Line
    introduces: Introduction | None
    labels: list[tuple[Form, int, str]]


class Known(msgspec.Struct, frozen=True):
    """`ranks`, `labels`, `collectors`: by path; the last is what a collector has put before all lines. `claims`: rows of the table
    `ranks`."""

    ranks: Mapping[str, int] = msgspec.field(default_factory=dict)
    labels: Mapping[str, Labels] = msgspec.field(default_factory=dict)
    claims: Sequence[dict[str, Any]] = ()
    collectors: Mapping[str, str] = msgspec.field(default_factory=dict)

    def of(self, source: Source) -> Source:
        """The file with what was learnt of it; what its path tells in words stands."""
        is_told = source.rank is not None or source.path not in self.ranks
        rank = source.rank if is_told else self.ranks[source.path]
        before = self.collectors.get(source.path, "").encode()
        opener = partial(without_prefix, source.open, before) if before else source.open
        return replace(source, open=opener, rank=rank, labels=self.labels.get(source.path, NO_LABELS))


def speakers(sources: Sequence[Source]) -> Known:
    """The files of a bundle → who speaks in them."""
    shapes: defaultdict[str, list[Source]] = defaultdict(list)
    for source in sources:
        shapes[_SHAPE.sub("#", source.path)].append(source)
    listed = [[one for one in own if one.seen is None and one.size] for own in shapes.values()]
    sampled = [source for own in listed for source in own[:: len(own) // SIBLINGS + 1]][:FILES]
    paths = {source.path for source in sampled}
    others = [source for own in listed for source in own if source.rank is None and source.path not in paths][:FILES]
    share = max(LEAST, LINES // max(1, len(sampled)))
    asked = [*((one, WINDOW, share) for one in sampled), *((one, BEGINNING, HEAD_LINES) for one in others)]
    read = {one.path: found for one, size, most in asked if (found := _beginning(one, size, most))}
    collectors = _collectors(read)
    said = {path: _said(path, found, collectors.get(path, "")) for path, found in read.items()}
    learnt = [one.known() for one in _spaces(_Bundle(shapes, said))]
    ranks = {path: rank for one in learnt for path, rank in one.ranks.items()}
    labels = {path: own for one in learnt for path, own in one.labels.items()}
    return Known(ranks, labels, [row for one in learnt for row in one.claims], collectors)


def _spaces(whole: "_Bundle") -> "list[_Bundle]":
    """Folders whose processes have the same ranks are programs, each with a world of its own."""
    if whole.shared < 2:
        return [whole]
    parts = whole.by_folder()
    return parts if sum(bool(part.introduced) for part in parts) > 1 else [whole]


class _Beginning(msgspec.Struct, frozen=True):
    """The first lines of a file, and what tells the year of their stamps."""

    lines: list[str]
    around: stamps.Around | None


def _beginning(source: Source, size: int, most: int) -> _Beginning | None:
    """Of a log; None for what is another kind of file."""
    try:
        with source.open() as stream:
            _, data = in_utf8(source.open, stream.read(size))
    except STREAM_ERRORS:
        return None
    if not is_text(data) or is_page(data) or _STRUCTURED.match(data):
        return None
    lines = [raw[:LINE].decode("utf-8", "replace") for raw in data.split(b"\n", most)[:most]]
    return _Beginning(lines, stamps.around(data[: stamps.YEAR_BYTES]))


def _collectors(read: Mapping[str, _Beginning]) -> dict[str, str]:
    """Path → what a collector nobody knows has put before all lines; a file too short to tell has that of another."""
    own = {path: prefixes.collector(found.lines) for path, found in read.items()}
    known = sorted({before for before in own.values() if before})
    for path, found in read.items() if known else ():
        filled = [line for line in found.lines if line and not line.isspace()]
        fitting = (before for before in known if all(line.startswith(before) for line in filled))
        own[path] = own[path] or next(fitting, "")
    return {path: before for path, before in own.items() if before}


def _said(path: str, found: _Beginning, collector: str) -> list[_Said]:
    lines = [line.removeprefix(collector) for line in found.lines]
    habits = prefixes.habits(lines[:HEAD_LINES], found.around)
    said = []
    for number, raw in enumerate(lines, 1):
        if raw and not raw.isspace():
            line = prefixes.strip(raw, habits)
            said.append(_Said(path, number, line, introduction(line.text), list(labels_of(line.text))))
    return said


class _Bundle:
    """What the beginnings of files say, put together."""

    def __init__(self, shapes: Mapping[str, list[Source]], said: Mapping[str, list[_Said]]) -> None:
        self._shapes, self._said = shapes, said
        told = [one for own in said.values() for one in own if one.introduces]
        worlds = {one.introduces.world for one in told if one.introduces} - {None}
        self.world = max((world for world in worlds if world is not None), default=None)
        fits = [one for one in told if one.introduces and one.introduces.world in (None, self.world)]
        self._launchers = _launchers(told)
        pids = [(self._pid(one), one.introduces.rank) for one in fits if one.introduces]
        shared, ranks = _shared(pids)
        self.introduced = fits if 2 * shared <= ranks else []  # else they count within groups
        self.shared, _ = _shared((self._pid(one), one.introduces.rank) for one in told if one.introduces)
        self._pids = _unanimous(pids if self.introduced else ())

    def by_folder(self) -> "list[_Bundle]":
        """Its parts by the outermost folder."""
        shapes: defaultdict[str, dict[str, list[Source]]] = defaultdict(dict)
        for shape, own in self._shapes.items():
            for source in own:
                shapes[source.path.partition("/")[0]].setdefault(shape, []).append(source)
        parts = []
        for own_shapes in shapes.values():
            paths = [source.path for own in own_shapes.values() for source in own]
            said = {path: self._said[path] for path in paths if path in self._said}
            parts.append(_Bundle(own_shapes, said))
        return parts

    @cached_property
    def _beside(self) -> dict[str, int]:
        """Each beginning of a path that ends in a number → the one rank that introduces itself in the files that begin so: what the
        number counts (executors, runs of a logger) may be no rank."""
        told: defaultdict[str, set[int]] = defaultdict(set)
        for path in {one.file for one in self.introduced}:
            spoken = self._processes(path)
            for place in range(len(_NUMBER.findall(path)) if len(spoken) == 1 else 0):
                told[_until(path, place)] |= {rank for rank in spoken if rank is not None}
        return {begins: own.pop() for begins, own in told.items() if len(own) == 1}

    def known(self) -> Known:
        ranks: dict[str, int] = {}
        for own in self._shapes.values():
            ranks |= self._of_files(own)
        for own in self._shapes.values():
            ranks |= {
                one.path: rank for one in own if one.path not in ranks and (rank := self._by_pid(one)) is not None
            }
        labels: dict[str, Labels] = {}
        for own in self._shapes.values():
            learnt = self._learn(
                [one.path for one in own], ranks | {one.path: one.rank for one in own if one.rank is not None}
            )
            if learnt != NO_LABELS:
                labels |= {one.path: learnt for one in own}
        return Known(ranks, labels, [*self._introductions(), *self._labelled(labels)])

    def _introductions(self) -> Iterator[dict[str, Any]]:
        for one in self.introduced:
            if (said := one.introduces) is not None:
                told = {
                    "rank": said.rank,
                    "host": said.host or one.line.host,
                    "pid": self._pid(one),
                    "world_size": said.world,
                }
                yield told | {"how": "introduction", "file": one.file, "line": one.number}

    def _labelled(self, labels: Mapping[str, Labels]) -> Iterator[dict[str, Any]]:
        """The first line of each rank in each file whose labels tell it."""
        told: set[tuple[str, int]] = set()
        for file, own in labels.items():
            for one in self._said.get(file, ()):
                label = number_of(one.labels, own.ranks)
                rank = one.line.task if label is None and own.tasks else label
                if rank is not None and (file, rank) not in told:
                    told.add((file, rank))
                    place = {"file": file, "line": one.number, "how": "label"}
                    yield {"rank": rank, "host": one.line.host, "pid": one.line.process} | place

    def _pid(self, one: _Said) -> int | None:
        """The pid that an introduction tells, else that before the line."""
        said, printed = one.introduces, one.line.process
        own = None if printed in self._launchers else printed
        return said.pid if said is not None and said.pid is not None else own

    def _rank(self, one: _Said) -> int | None:
        """The rank that a line prints, or that its process has introduced itself with."""
        if one.line.rank is not None:
            return one.line.rank
        is_own = one.line.process is None or one.line.process not in self._launchers
        if is_own and one.introduces is not None and one.introduces.world in (None, self.world):
            return one.introduces.rank
        return self._pids.get(one.line.process) if one.line.process is not None else None

    def _of_files(self, siblings: Sequence[Source]) -> dict[str, int]:
        """Path → rank, of files of one shape of name."""
        own = [one for one in siblings if one.size]
        processes = {one.path: self._processes(one.path) for one in own}
        if len(own) < 2 or any(len(found) > 1 for found in processes.values()):
            return {}
        told = {path: next(iter(found)) for path, found in processes.items() if found}
        ranks = {path: rank for path, rank in told.items() if rank is not None}
        if len(set(ranks.values())) < len(ranks) or _is_of_nodes(sorted(ranks.values()), len(own), self.world):
            return {}
        for place in range(_places(own)):
            if not (found := _numbers(own, place)):
                continue
            beside = {one.path: rank for one in own if (rank := self._beside.get(_until(one.path, place))) is not None}
            if not ranks and any(found[path] != rank for path, rank in beside.items()):
                return beside
            equal = [path for path, rank in ranks.items() if found[path] == rank]
            is_world = self.world is not None and sorted(found.values()) == list(range(self.world)) and not ranks
            if (len(equal) > 1 and len(equal) == len(ranks)) or (is_world and self.introduced):
                top = self.world if self.world is not None else 1 + max(ranks.values())
                return {path: number for path, number in found.items() if number < top}
        return ranks if len(ranks) > 1 else {}

    def _processes(self, path: str) -> set[int | None]:
        """The ranks that speak in a file; None beside them where something else shows several processes."""
        said = self._said.get(path, [])
        ranks: set[int | None] = {rank for one in said if (rank := self._rank(one)) is not None}
        for several in ("task", "local_rank", "process"):
            if len({getattr(one.line, several) for one in said} - {None}) > 1:
                return ranks | {None, -1}
        if any(_LAUNCHER.search(one.line.text) for one in said):
            return {None, -1}
        pids = {one.introduces.pid for one in said if one.introduces} - {None}
        return ranks | {None, -1} if len(pids) > 1 else ranks

    def _by_pid(self, source: Source) -> int | None:
        name = source.path.rsplit("/", 1)[-1]
        found = {self._pids.get(int(number)) for number in _NUMBER.findall(name) if int(number) >= PID} - {None}
        return found.pop() if len(found) == 1 else None

    def _learn(self, paths: Sequence[str], ranks: Mapping[str, int]) -> Labels:
        """The forms of labels in files of one shape of name."""
        said = [one for path in paths for one in self._said.get(path, ())]
        found: defaultdict[Form, list[tuple[int, str, _Said]]] = defaultdict(list)
        for one in said:
            for form, number, behind in one.labels:
                found[form].append((number, behind, one))
        forms = {form for form, rows in found.items() if self._are_ranks(form, rows, ranks, len(said))}
        pids = {form for form, rows in found.items() if self._are_pids(rows, ranks)}
        spoken = [(one, rank) for form in forms for rank, _, one in found[form]]
        return Labels(frozenset(forms), frozenset(pids), self._tasks_are_ranks(said, spoken))

    def _tasks_are_ranks(self, said: Sequence[_Said], spoken: Sequence[tuple[_Said, int]]) -> bool:
        """Are the tasks of a launcher ranks: as introductions and labels say?"""
        pairs = {(one.line.task, self._rank(one)) for one in said if one.line.task is not None}
        pairs |= {(one.line.task, rank) for one, rank in spoken if one.line.task is not None}
        tasks = {task for task, _ in pairs}
        known = {(task, rank) for task, rank in pairs if rank is not None}
        if (
            not tasks
            or any(task != rank for task, rank in known)
            or any(_LAUNCHER.search(one.line.text) for one in said)
        ):
            return False
        return len(known) > 1 or (bool(known) and tasks == set(range(self.world or 0)))

    def _are_ranks(
        self, form: Form, rows: Sequence[tuple[int, str, _Said]], ranks: Mapping[str, int], lines: int
    ) -> bool:
        counts = Counter(number for number, *_ in rows)
        numbers = set(counts)
        if self._is_table(form, rows, lines):
            return True
        if sum(count > 1 for count in counts.values()) < 2 or max(numbers) >= (self.world or RANKS):
            return False
        pairs = {(number, rank) for number, _, one in rows if (rank := self._known(one, ranks)) is not None}
        if any(number != rank for number, rank in pairs):
            return False
        marks = {kind: _marks(rows, kind) for kind in ("task", "local_rank", "process")}
        told_apart = {kind: found for kind, found in marks.items() if len(found) > 1}
        if any(len(own) > 1 for found in told_apart.values() for own in found.values()):
            return False
        is_whole = numbers == set(range(self.world)) if self.world is not None else False
        word = form.word.lower()
        # Of the first ranks of a larger world it may be a device or a local rank: on the first host these are the same.
        is_theirs = is_whole or word in _RANK or form.total or self.world is None or max(numbers) >= DEVICES
        if len({number for number, _ in pairs}) > 1:
            return bool(is_theirs)
        files = _marks(rows, "file")
        is_file = len(files) > 1 and all(len(own) == 1 for own in files.values())
        if is_whole and any(_is_one_to_one(found) for found in (*told_apart.values(), files if is_file else {})):
            return True
        counted = is_whole or (self.world is None and numbers == set(range(len(numbers))))
        if form.total or not _share(rows):
            return False
        if word in _RANK or (word == _GROUP_OF_WORLD and self.world is None):
            return counted
        return not word and is_whole and not told_apart and len(files) < 2 and len(rows) > 0.8 * lines

    def _is_table(self, form: Form, rows: Sequence[tuple[int, str, _Said]], lines: int) -> bool:
        """Are these the lines of one file, a line of each process of the told world and nothing else (`process 3: exit status -9`)?"""
        numbers = sorted(number for number, *_ in rows)
        is_whole = self.world is not None and numbers == list(range(self.world)) and len(rows) == lines
        return is_whole and form.word.lower() in PROCESS and form.opened == ""

    def _are_pids(self, rows: Sequence[tuple[int, str, _Said]], ranks: Mapping[str, int]) -> bool:
        """Are the numbers pids that were introduced, each on two lines, and of nobody else than who speaks there?"""
        counts = Counter(number for number, *_ in rows)
        if counts.keys() - self._pids.keys() or min(counts.values()) < 2 or any(one.line.process for *_, one in rows):
            return False
        return all(self._known(one, ranks) in (None, self._pids[number]) for number, _, one in rows)

    def _known(self, one: _Said, ranks: Mapping[str, int]) -> int | None:
        rank = self._rank(one)
        return ranks.get(one.file) if rank is None else rank


def _launchers(told: Iterable[_Said]) -> frozenset[int]:
    """Pids before lines that tell the ranks of other pids, or of several processes: their text gives themselves none."""
    ranks: defaultdict[int, set[int]] = defaultdict(set)
    others: set[int] = set()
    for one in told:
        if one.line.process is not None and one.introduces is not None:
            ranks[one.line.process].add(one.introduces.rank)
            if one.introduces.pid not in (None, one.line.process):
                others.add(one.line.process)
    return frozenset(others | {pid for pid, own in ranks.items() if len(own) > 1})


def _unanimous(pairs: Iterable[tuple[int | None, int]]) -> dict[int | None, int]:
    """Pid → rank; a pid with two ranks is nobody's."""
    ranks: defaultdict[int | None, set[int]] = defaultdict(set)
    for pid, rank in pairs:
        ranks[pid].add(rank)
    return {pid: own.pop() for pid, own in ranks.items() if pid is not None and len(own) == 1}


def _shared(pids: Iterable[tuple[int | None, int]]) -> tuple[int, int]:
    """How many ranks several processes say they are, and how many ranks there are."""
    processes: defaultdict[int, set[int]] = defaultdict(set)
    for pid, rank in pids:
        if pid is not None:
            processes[rank].add(pid)
    return sum(len(own) > 1 for own in processes.values()), len(processes)


def _is_of_nodes(ranks: Sequence[int], files: int, world: int | None) -> bool:
    """Every k-th rank, in as many files as make the world: of each node the first process speaks."""
    steps = {second - first for first, second in pairwise(ranks)}
    return len(steps) == 1 and (step := steps.pop()) > 1 and files * step == world


def _places(own: Sequence[Source]) -> int:
    return min((len(_NUMBER.findall(one.path)) for one in own), default=0)


def _until(path: str, place: int) -> str:
    """The path up to the end of its number at this place."""
    return path[: [found.end() for found in _NUMBER.finditer(path)][place]]


def _numbers(own: Sequence[Source], place: int) -> dict[str, int]:
    """Path → the number at this place in it, where no two files have the same."""
    found = {one.path: int(_NUMBER.findall(one.path)[place]) for one in own}
    return found if len(set(found.values())) == len(found) else {}


def _marks(rows: Iterable[tuple[int, str, _Said]], kind: str) -> dict[Any, Set[int]]:
    """What tells processes apart → the numbers of its lines."""
    marks: defaultdict[Any, set[int]] = defaultdict(set)
    for number, _, one in rows:
        mark = one.file if kind == "file" else getattr(one.line, kind)
        if mark is not None:
            marks[mark if kind != "local_rank" else (one.file, mark)].add(number)
    return dict(marks)


def _is_one_to_one(marks: Mapping[Any, Set[int]]) -> bool:
    numbers = [number for own in marks.values() for number in own]
    return len(numbers) == len(set(numbers)) == len(marks)


def _share(rows: Iterable[tuple[int, str, _Said]]) -> bool:
    """Do all numbers print half of what the poorest of them prints, figures aside?"""
    printed: defaultdict[int, set[str]] = defaultdict(set)
    for number, behind, _ in rows:
        printed[number].add(_TEMPLATE.sub("#", behind[:120]))
    core = set.intersection(*printed.values())
    return 2 * len(core) >= min(map(len, printed.values()))
