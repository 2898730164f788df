"""Lines that differ only in numbers and in names of places: what each column of them counts, whatever the words are.

    进程 140 绑定到 GPU 2，全局编号 6，共 12 个进程                 h41n07 77209  NS_SIZE=12 NS_RANK=9 NS_LOCAL_RANK=3
    joined gang node=2 nodes=4 slots=4                            spawned worker pid=4124 slot=3
    |    3   N/A  N/A       7002      C   /opt/bin/python  |       WINGPU01 12060   2

A **family** is such lines, of all files together. Of a number in it is asked, over its rows:
- is it another one in each row, and just 0 … N-1, where N is as many as the rows are and is told (by another column, or elsewhere), and are the rows
  different processes (by pid, by file, by place on a host): the **rank**. Rows that lack some are believed only where the word says rank;
- does it come again at each place, 0 … p-1: the **local rank**;
- is it one at each place, and 0 … n-1 over all places, and the word says so, or n is told: the **number of the node**;
- is it large, another one in each row of a place, no part of a total, and used elsewhere as well (before lines, in names of files, as the number of a
  stack), or called pid: the **pid**; but no size, seed or place in data by the word before it, nor how many of the things behind it.

Rows of a table that counts steps are none: each tells of a moment, and what is large in them is a size.
The word before a number only excludes (part, step, layer, expert), unless it counts all of a launch in the order of their pids, or breaks ties: two columns that may be ranks and differ are none unless one alone is
called so.

Fooled by: processes that are each given a part, as many as they are, in words that are not known to give, and say their number nowhere.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from parsers.schema.labels import OF_GROUP
from parsers.text.path_hints import hints
from parsers.text.patterns import regex
from parsers.text.rank_list import RANKS
from parsers.text.vocabulary import meaning_of, of_process, words_of
from parsers.who.labels.joins import counts_others
from parsers.who.lines.beginnings import Begun
from parsers.who.lines.introductions import PROCESS
from parsers.who.places.contexts import Places
from parsers.who.places.rows_alike import Row, families_of, go_on, headed, leave_out, may_count_arrivals, speakers
from parsers.who.scripts.formulas import Called

PID = 100  # a container counts its processes from 1; below this they are not told from other counts
_FEWEST = 2
_LABEL = regex(
    r"(?P<word>[A-Za-z_][\w-]*(?: (?:id|index|rank|number|size))?)(?:\(\))?[\"']?\s{0,3}(?P<is>[=:#(]|is)?[\s\"'\[(]{0,4}\Z"
)
_GIVEN = regex(
    r"(?i)(?:part(?:ition)?|split|fold|chunk|slice|bucket|file|segment|block|tile|batch|port|layer|head|sample|page|row)[ _#:=-]{0,3}\Z"
)
_MEASURED = regex(
    r"(?i)(?<![a-z])(?:size|length|len|count|n|num|numel|total|sum|hash|seed|offset|index|idx|pos(?:ition)?|cursor|fd|uid|gid|job|gen|nonce|listening on|bound to|begins at|starts at)[ _#:=-]{0,3}\Z"
)
_THINGS = regex(
    r" ?(?!(?:i|wa|ha|a|exit|start|die|join|run|begin|end|stop|report|say|serve)s\b)(?i:[a-z]{2,24}[^\Wsu]s)\b"
)  # so many of them, behind a number
_OF_PROCESS = regex(r"(?i)(?:rank|process|proc|id|index|number)[\"']?[ _#:=-]{0,3}\Z")
_OF_TOTAL = regex(
    rf"(?<![A-Za-z])(?:{'|'.join(PROCESS)})[-_.]?(?P<number>\d{{1,7}})[-_.]?of[-_.]?(?P<total>\d{{1,7}})(?!\d)"
)
_OF_PROCESSES = regex(rf"(?<![A-Za-z])(?:{'|'.join(PROCESS)})[-_.]?(?P<number>\d{{1,7}})(?![\dA-Za-z])")
_RANGE = regex(r"(?<=[\[({])0 ?(?:-|\.\.) ?(\d{1,7})(?=[\])}])")  # of all processes
_IS_PID = regex(r"(?i)(?:^|[^a-z])(?:os)?p(?:rocess[ _]?)?id\W*\Z|(?<!本地)(?<!局部)进程(?:号)?\W*\Z")
_IS_PORT = regex(r"://@:\Z")
_OF_PID = regex(r"(?i)(?:^|[^a-z])(?:sub|child[ _-]?)?proc(?:ess)?\W*\Z")  # a large number behind it
# as a host, or a number of a process, has it in brackets
_IS_TAGGED = regex(r"\[@:\Z|(?i:task|rank|proc(?:ess)?)[ :=]{0,3}#[ #]{0,8}[\[(]\Z")
_IS_DEVICE = regex(r"(?i)(?:gpus?|cuda|dev(?:ices?)?|npus?|cards?)(?:[_ -]?(?:ids?|index|no))?[\"'\s:=#_({\[-]*\Z")
_IS_LOCAL = regex(
    r"(?i)(?:local(?:[_ -]?(?:rank|id|index|process|worker))?|slot|place|本地(?:进程|序号|编号)?|局部(?:进程|序号|编号)?)[\"']?[\s:=#_-]*\Z"
)
_IS_NODE = regex(r"(?i)(?:node|host|machine|(?<!in[ _])group)(?:[_ -]?(?:rank|id|index|number|nr))?[\"']?[\s:=#_-]*\Z")
_NO_PIDS = (_GIVEN, _IS_NODE, _MEASURED)
_IS_WORKER = regex(r"(?i)(?<![a-z])worker(?:[_ -]?(?:id|index|rank))?[\"']?[\s:=#_-]*\Z")  # of a server of parameters
# of a process, above a column that counts them
_IS_ID = regex(r"(?i)(?:global[_ ]?)?(?:id|index|proc(?:ess)?|worker)|(?:.*\W)?task[ :=#]{0,2}")
_IS_RANK = regex(
    r"(?i)全局(?:进程)?(?:编号|序号|号)\W*\Z|rank(?:[_ ]?(?:id|index|nr|no))?[\"']?[\s:=#_(-]*\Z|process[_ ]index(?:\(\))?[\s:=]*\Z"
)
_IS_NUMBERED = regex(r"(?i)process[_ ](?:id|number|no)[\"']?[\s:=#(]*\Z")  # where as many processes are told beside it
_TOTAL = regex(r" ?(?:of|/) ?\d")  # behind what is a part of as many
_OF_STACK = regex(r"(?:Process|Thread) (\d{1,10})\b")
_AT_HEAD = regex(r"(?<![0-9.])\d{3,10}(?![0-9.])")
_IN_PATH = regex(r"(?<![A-Za-z0-9])\d{3,10}(?![A-Za-z0-9])")


class Process(NamedTuple):
    """What a row tells of one process, or of one place where `pid`, `local` and `rank` are null."""

    place: str | None
    pid: int | None = None
    local: int | None = None
    rank: int | None = None
    node: int | None = None
    each: int | None = None
    nodes: int | None = None
    world: int | None = None
    file: str = ""
    line: int | None = None
    is_word: bool = False  # a word says rank
    how: str = "rows alike"
    device: int | None = None  # of its place, by whatever it is called
    is_port: bool = False  # its number is that of an address, where it is asked


def processes(
    said: Begun, places: Places, worlds: frozenset[int], called: Called, *, counts_tasks: bool
) -> list[list[Process]]:
    """The lines of files → what each family of them tells. `worlds`: the sizes that launches tell; `called`: by scripts; `counts_tasks`: no script
    computes the ranks from what launchers count."""
    families = families_of(said, places)
    used = _used(families, said)
    found = [
        [*_Family(rows, labels, places, used, worlds, called, counts_tasks=counts_tasks, lines=said).processes()]
        for (_, labels), rows in families.items()
        if _FEWEST <= len(rows) <= RANKS
    ]
    return _agreeing(found)


def _agreeing(families: Sequence[list[Process]]) -> list[list[Process]]:
    """Without families whose numbers only count like ranks, and contradict what a word calls the rank of the same process."""
    words = [one for own in families for one in own if one.is_word and one.pid is not None]
    said: defaultdict[int | None, set[tuple[str | None, int | None]]] = defaultdict(set)
    for one in words:
        said[one.pid].add((one.place, one.rank))

    def contradicts(one: Process) -> bool:
        told = {rank for place, rank in said[one.pid] if None in (place, one.place) or place == one.place}
        return one.rank is not None and not one.is_word and bool(told) and one.rank not in told

    return [own for own in families if own and not any(map(contradicts, own))]


def _used(families: Mapping[tuple[str, tuple[str, ...]], Sequence[Row]], said: Begun) -> Counter[int]:
    """How many families, other than this one, use a number; names of files and stacks, and what stands before lines, count as some."""
    used: Counter[int] = Counter()
    for rows in families.values():
        used.update({number for row in rows for number in row.numbers if number >= PID})
    elsewhere = {int(number) for *_, name in speakers(said, are_numbered=True) for number in _AT_HEAD.findall(name)}
    for path, own in said.items():
        elsewhere |= {int(number) for number in _IN_PATH.findall(path.rpartition("/")[2])}
        for one in own:
            if one.line.process is not None:
                elsewhere.add(one.line.process)
            if (stack := _OF_STACK.match(one.line.text)) is not None:
                elsewhere.add(int(stack[1]))
    used.update(elsewhere)
    return used


def _is_figure(label: str) -> bool:
    """Does the word before a number say a step, tokens or another figure?"""
    found = _LABEL.search(label)
    said = meaning_of(found["word"]) if found else None
    return said is not None and said.meaning not in ("pid", "process_name")


class _Family:
    def __init__(
        self,
        rows: Sequence[Row],
        labels: Sequence[str],
        places: Places,
        used: Counter[int],
        worlds: frozenset[int],
        called: Called,
        *,
        counts_tasks: bool,
        lines: Begun,
    ) -> None:
        self._lines = lines
        self._called, self._counts_tasks = called, counts_tasks
        self._labels, self._places, self._used = headed(rows[0], labels), places, used
        ranges = {int(one[1]) + 1 for row in rows for one in _RANGE.finditer(row.said.line.text)}
        self._worlds = worlds | ranges if len(ranges) == 1 else worlds
        self._names = [*zip(*(row.names for row in rows), strict=True)]
        where = self._where(rows)
        unique: dict[tuple[str | None, tuple[int, ...], int | None], int] = {}
        for at, row in enumerate(rows):
            unique.setdefault((where[at], row.numbers, row.said.line.process), at)
        kept = [*unique.values()]
        self._rows = [rows[at] for at in kept]
        self._where_ = [where[at] for at in kept]
        self._columns = [*zip(*(row.numbers for row in self._rows), strict=True)]
        self._ends = self._rows[0].ends

    def processes(self) -> Iterator[Process]:
        """Each row's, where its numbers mean anything."""
        speakers = {row.speaker for row in self._rows}
        if len(self._rows) < _FEWEST or (None not in speakers and len(speakers) < len(self._rows)):
            return
        columns = range(len(self._columns))
        pid = next((at for at in columns if self._is_pid(at)), None)
        pids: Sequence[int | None] = self._columns[pid] if pid is not None else self._printed()
        free = [at for at in columns if at != pid and (pid is None or self._columns[at] != self._columns[pid])]
        local = self._local(free, pids)
        ranks = self._ranks(free, pids, local)
        if ranks is not None and pid is not None and not self._says(ranks) and leave_out(self._rows, pid, self._lines):
            return
        tasks = self._tasks(pids) if ranks is None and self._counts_tasks else None
        nodes = self._node([at for at in free if at not in (local, ranks)], local)
        if ranks is None and local is not None and any(self._is_in_other_order(at) for at in free if at != local):
            nodes = None  # then nothing tells that the processes of a node follow each other
        sizes = {at: self._sizes(at) for at in free}
        if local is None and ranks is None and nodes is None and tasks is None:
            return
        each = next((at for at, what in sizes.items() if what == "processes_per_node"), None)
        count = next((at for at, what in sizes.items() if what == "nodes"), None)
        world = next((at for at, what in sizes.items() if what == "world_size"), None)
        whole = None if nodes is None or local is None or each is not None else self._each_of_all(free)
        for at, row in enumerate(self._rows):

            def cell(column: int | None, at: int = at) -> int | None:
                return None if column is None else self._columns[column][at]

            is_placed = pids[at] is not None and (self._where_[at] or self._is_device(local))
            if tasks is not None or cell(ranks) is not None or cell(nodes) is not None or is_placed:
                yield Process(
                    self._where_[at], pids[at], None if self._is_device(local) else cell(local), cell(ranks) if tasks is None else tasks[at], cell(nodes), whole or cell(each), cell(count),
                    cell(world) if world is not None else (len(self._rows) if ranks is not None and not self._says(ranks) else None),
                    row.said.file, row.said.number, ranks is not None and self._says(ranks),
                    device=cell(local) if self._is_device(local) else None,
                    is_port=pid is not None and _IS_PORT.search(self._labels[pid]) is not None,
                )  # fmt: skip

    def _where(self, rows: Sequence[Row]) -> list[str | None]:
        """The place of each row: a name in it, what stands before it, its heading, its file."""
        for column in self._names:
            if len(set(column)) > 1 or len(rows) == 1:
                return [self._places.of(name) for name in column]
        found = [row.said.line.host or row.heading or self._places.of_file(row.said.file) for row in rows]
        tasks = [row.said.line.task for row in rows]
        if None in found and None not in tasks and len(set(tasks)) > 1:
            return [str(task) for task in tasks]
        named = next((self._places.of(column[0]) for column in self._names), None)
        files = [row.said.file for row in rows]
        if named is None and None in found and len(set(files)) > 1:  # then each file is a place
            return [*files]
        return [named if own is None else self._places.of(own) for own in found]

    def _printed(self) -> list[int | None]:
        """The pid before each line, where it is another one each."""
        pids = [row.said.line.process for row in self._rows]
        return [*pids] if len({*zip(self._where_, pids, strict=True)}) == len(pids) else [None] * len(pids)

    def _by_place(self, column: Sequence[int]) -> dict[str | None, list[int]]:
        found: defaultdict[str | None, list[int]] = defaultdict(list)
        for place, number in zip(self._where_, column, strict=True):
            found[place].append(number)
        return found

    def _is_pid(self, at: int) -> bool:
        column, label = self._columns[at], self._labels[at]
        if min(column) == 0 or any(len(set(own)) < len(own) for own in self._by_place(column).values()):
            return False  # no process of a person's is number 0
        if _IS_PID.search(label):
            return True
        text, end = self._rows[0].said.line.text, self._ends[at]
        if min(column) < PID or _TOTAL.match(text, end) or (_THINGS.match(text, end) and not self._is_at_head(at)):
            return False
        if any(_printed(row) - {number} for row, number in zip(self._rows, column, strict=True)):
            return False  # what stands before the words is the process's
        if _IS_TAGGED.search(label) or _OF_PID.search(label):
            return True
        values = {*column}
        if 2 * len(values) <= len(column) or _is_figure(label) or any(one.search(label) for one in _NO_PIDS):
            return False
        fewest = 1 if any(self._is_of_process(one) for one in range(len(self._columns)) if one != at) else _FEWEST
        return sum(self._used[number] > 1 for number in values) >= fewest

    def _is_of_process(self, at: int) -> bool:
        """Does a word call it a rank, another one in each row, or a place on a host, and it counts those?"""
        if _IS_LOCAL.search(self._labels[at]):
            return not self._is_constant(at) and self._counts_places(at)
        return self._says(at) and len({*self._columns[at]}) == len(self._rows)

    def _local(self, free: Sequence[int], pids: Sequence[int | None]) -> int | None:
        """By a word, or as the only column that counts the processes of each place."""
        counting = [at for at in free if not self._is_constant(at) and self._counts_places(at)]
        if called := [at for at in counting if self._is_device(at) or self._is_called_local(at)]:
            return self._the_one(called)
        by_form = [at for at in counting if not self._excluded(at) and None not in pids]
        return self._the_one([at for at in by_form if len(self._by_place(self._columns[at])) > 1])

    def _the_one(self, columns: Sequence[int]) -> int | None:
        """The first of columns that are all alike; of those that differ none."""
        return columns[0] if len({self._columns[at] for at in columns}) == 1 else None

    def _is_device(self, at: int | None) -> bool:
        return at is not None and _IS_DEVICE.search(self._labels[at]) is not None

    def _is_called_local(self, at: int) -> bool:
        """Is it called a place on a host, or as what a script counts the processes there by, `HLS_MODULE_ID` or its end?"""
        words = tuple(words_of(self._labels[at])) if self._called.places else ()
        is_of_script = len(words) > 1 and any(words == one[-len(words) :] for one in self._called.places)
        return is_of_script or _IS_LOCAL.search(self._labels[at]) is not None

    def _counts_places(self, at: int) -> bool:
        found = self._by_place(self._columns[at])
        is_placed = None not in found or (len(found) == 1 and self._is_device(at))  # all that there are on one host
        return is_placed and all(sorted(own) == [*range(len(own))] for own in found.values())

    def _ranks(self, free: Sequence[int], pids: Sequence[int | None], local: int | None) -> int | None:
        size = len(self._rows)
        apart = [at for at in free if at != local and len(set(self._columns[at])) == size]
        said = [at for at in apart if self._says(at) and max(self._columns[at]) < max(self._worlds, default=RANKS)]
        # One may have been given another size than the others: that is no other count.
        usual = {at: Counter(self._columns[at]).most_common(1)[0] for at in free if self._sizes(at) != "nodes"}
        told = self._worlds | {number for number, times in usual.values() if times >= max(_FEWEST, size - 1)}
        is_called = any(self._is_called(at) and sorted(self._columns[at]) == [*range(size)] for at in said)
        is_theirs = local is not None or None not in pids or size in told or is_called or self._are_files()
        are_processes = self._are_processes(pids, local)
        if len({self._columns[at] for at in said}) == 1 and (
            (is_theirs and are_processes) or self._is_map(said[0], size in self._worlds)
        ):
            return said[0]
        if said or not are_processes:
            return None
        ids = [at for at in apart if _IS_ID.fullmatch(self._labels[at])]
        if not self._counts_tasks:
            apart = [at for at in apart if at not in ids]
        elif size not in told:
            apart = ids if self._is_roster(pids, local) else []
        apart = [at for at in apart if not self._is_device(at)]
        whole = [at for at in apart if sorted(self._columns[at]) == [*range(size)]]
        whole = [at for at in whole if not self._excluded(at) or self._is_as_begun(at, pids)]
        if len({*self._where_}) > 1:
            of_place = [] if local is None else self._columns[local]
            follow = [at for at in whole if go_on(self._where_, self._columns[at], of_place)]
            whole = follow or [at for at in whole if self._is_at_head(at) or not may_count_arrivals(self._rows, at)]
        # what stands before the words is whose they are; others, what it was given
        whole = [at for at in whole if self._is_at_head(at)] or whole
        return self._the_one(whole)

    def _tasks(self, pids: Sequence[int | None]) -> list[int] | None:
        """The launcher's number before each row, where it began several processes on each host, as many on all: it counts no nodes."""
        tasks = [row.said.line.task for row in self._rows]
        found = [task for task in tasks if task is not None]
        sizes = Counter(self._where_)
        is_whole = sorted(found) == [*range(len(tasks))] and None not in pids and None not in sizes
        is_each = len({*sizes.values()}) == 1 and max(sizes.values()) >= _FEWEST
        return found if is_whole and is_each and len({*zip(self._where_, pids, strict=True)}) == len(tasks) else None

    def _is_map(self, at: int, is_told: bool) -> bool:
        """Are these all ranks of a world that is told, below headings of several places? A line of somebody speaks of others, too."""
        is_headed = all(row.heading is not None and row.said.line.host is None for row in self._rows)
        is_whole = is_told and sorted(self._columns[at]) == [*range(len(self._rows))]
        return is_headed and is_whole and len({*self._where_}) > 1

    def _are_files(self) -> bool:
        """Is each row in a file that its name calls one process's of a host? Else what it tells may be a node's."""
        files = {row.said.file for row in self._rows}
        return len(files) == len(self._rows) and all(hints(file).local_rank is not None for file in files)

    def _is_roster(self, pids: Sequence[int | None], local: int | None) -> bool:
        """Are these all processes of several places: on each as many, one for each place there?"""
        if local is None or None in pids:
            return False
        sizes = [len(own) for own in self._by_place(self._columns[local]).values()]
        return len(sizes) > 1 and len({*sizes}) == 1

    def _is_as_begun(self, at: int, pids: Sequence[int | None]) -> bool:
        """Does it count all processes that a launch tells, on one host, as they were begun one after the other? Whatever it is called
        (stages of a pipeline, parts of a table), each process has one."""
        by_number = [pid for _, pid in sorted(zip(self._columns[at], pids, strict=True)) if pid is not None]
        is_whole = len(by_number) == len(pids) in self._worlds and len({*self._where_}) == 1
        return is_whole and by_number == sorted({*by_number})

    def _is_at_head(self, at: int) -> bool:
        row = self._rows[0]
        behind = [len(row.said.line.text) - len(head.behind) for head in row.said.heads] if row.speaker is None else []
        return self._ends[at] <= max(behind, default=0)

    def _are_processes(self, pids: Sequence[int | None], local: int | None) -> bool:
        """Is each row another process?"""
        size = len(self._rows)
        speakers = {row.speaker for row in self._rows}
        if (None not in speakers and len(speakers) == size) or self._are_files():
            return True
        if None not in pids and len({*zip(self._where_, pids, strict=True)}) == size:
            return True
        places = {*self._where_}
        return None not in places and (len(places) == size or (local is not None and len(places) > 1))

    def _node(self, free: Sequence[int], local: int | None) -> int | None:
        """One at each place, and all of them from 0 on, by a word, or where each has several processes by the count of all that stands beside it."""
        found = []
        constant = {self._columns[at][0] for at in free if self._is_constant(at)}
        for at in free:
            by_place = self._by_place(self._columns[at])
            numbers = [own[0] for own in by_place.values() if len(set(own)) == 1]
            is_each = len(numbers) == len(by_place) > 1 and None not in by_place
            is_whole = is_each and sorted(numbers) == [*range(len(numbers))]
            is_called = _IS_NODE.search(self._labels[at]) is not None or self._is_called_node(at)
            is_told = local is not None and len(numbers) in constant and len(self._rows) > len(numbers)
            is_told &= _IS_WORKER.search(self._labels[at]) is not None or not self._excluded(at)
            if is_whole and (is_called or is_told):
                found.append(at)
        return self._the_one(found)

    def _each_of_all(self, free: Sequence[int]) -> int | None:
        """How many rows each place has, where all have as many, and a column tells how many places there are."""
        sizes = Counter(self._where_)
        is_told = any(self._is_constant(at) and self._columns[at][0] == len(sizes) for at in free)
        return max(sizes.values()) if is_told and len({*sizes.values()}) == 1 else None

    def _is_constant(self, at: int) -> bool:
        return len(set(self._columns[at])) == 1

    def _sizes(self, at: int) -> str | None:
        """What the word before a number says that is counted."""
        found = _LABEL.search(self._labels[at])
        return of_process(found["word"]) if found else None

    def _says(self, at: int) -> bool:
        """Is it called a rank, of no group?"""
        label = self._labels[at]
        if self._is_called(at) or self._is_of_task(at):
            return True
        if not (found := _IS_RANK.search(label) or self._is_numbered(at)):
            return False
        return OF_GROUP.search(label[: found.start()]) is None

    def _is_of_task(self, at: int) -> bool:
        """Is it called as a launcher calls its tasks, of which it began several at each of two places? One at each may be a node's own launcher."""
        found = _LABEL.search(self._labels[at]) if self._counts_tasks else None
        is_called = found is not None and of_process(found["word"]) == "rank"
        counts = Counter(self._where_)
        return is_called and len(counts) > 1 and max(counts.values()) >= _FEWEST

    def _is_in_other_order(self, at: int) -> bool:
        """Does it count all rows, and those of a place not one after the other?"""
        is_whole = sorted(self._columns[at]) == [*range(len(self._rows))]
        own = self._by_place(self._columns[at]).values() if is_whole and not self._excluded(at) else ()
        return any(max(numbers) - min(numbers) >= len(numbers) for numbers in own)

    def _is_numbered(self, at: int) -> "re.Match[str] | None":
        """Is it the number of a process, of as many as a column beside it tells?"""
        size = len(self._rows)
        others = [one for one in range(len(self._columns)) if self._columns[one] == (size,) * size]
        is_whole = sorted(self._columns[at]) == [*range(size)]
        is_told = is_whole and any(self._sizes(one) == "world_size" for one in others)
        return _IS_NUMBERED.search(self._labels[at]) if is_told else None

    def _is_called(self, at: int) -> bool:
        """Is it called as that which a script makes the rank?"""
        return self._ends_with(at, self._called.ranks)

    def _excluded(self, at: int) -> bool:
        return _counts_others(self._labels[at]) or self._is_called_node(at)

    def _is_called_node(self, at: int) -> bool:
        """Is it called as what a script counts places by?"""
        return self._ends_with(at, self._called.nodes)

    def _ends_with(self, at: int, called: frozenset[str]) -> bool:
        """Is its last word one of these?"""
        words = words_of(self._labels[at]) if called else []
        return bool(words) and words[-1] in called


def _printed(row: Row) -> set[int]:
    """The numbers of processes that are set off before the words of a line."""
    return {pid for pid in (row.said.line.process, *(head.pid for head in row.said.heads)) if pid is not None}


def _counts_others(before: str) -> bool:
    """Does the word before a number count parts of data, steps, or places in a group?"""
    word = _OF_PROCESS.sub("", before)
    of_group = word != before and OF_GROUP.search(word) is not None
    return of_group or _GIVEN.search(before) is not None or counts_others(before)


def called_roll(paths: Sequence[str], world: int | None) -> dict[str, int]:
    """Files whose names tell a number of a process and how many they are, `proc-3-of-8.log`, each once → their numbers; nothing where it is one of
    a group, or another world is told: files of layers or parts of data are called so, too. So are those that only count processes,
    `log_process_05.txt`, where just as many are told."""
    found = {path: [*_OF_TOTAL.finditer(path)] for path in paths}
    totals = {int(one["total"]) for own in found.values() for one in own}
    if not totals and world is not None:
        found = {path: [*_OF_PROCESSES.finditer(path)] for path in paths}
        totals = {world}
    if any(len(own) != 1 or OF_GROUP.search(path[: own[0].start()]) for path, own in found.items()):
        return {}
    numbers = {path: int(own[0]["number"]) for path, own in found.items()}
    is_whole = totals == {len(paths)} and sorted(numbers.values()) == [*range(len(paths))]
    return numbers if is_whole and world in (None, len(paths)) else {}
