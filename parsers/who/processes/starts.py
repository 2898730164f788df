"""Where each place of a job begins: its first rank, and how many processes it has (process_table.py).

By what processes say of their rank and their place there; by the numbers of nodes; by lists in the order of the ranks; and what is left over. Sources
that contradict what processes say are dropped, and so is a place of which two others say different things.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from parsers.text.patterns import regex
from parsers.text.rank_list import RANKS
from parsers.text.unanimous import sole, unanimous
from parsers.text.vocabulary import of_process
from parsers.who.lines.beginnings import Begun
from parsers.who.linked.numbered import is_counted_otherwise
from parsers.who.places.contexts import Places
from parsers.who.places.families import Process
from parsers.who.places.orders import Order, by_file, orders, starts_of
from parsers.who.places.slurm_tasks import starts_of_tasks
from parsers.who.processes.node_numbers import NodeNumbers
from parsers.who.scripts.formulas import Scripts
from parsers.who.scripts.loops import counted_on
from parsers.who.told.told_names import Document

_FEWEST = 2
_MOST = 4096  # processes of one place
_NUMBERS = regex(r"\d{1,5}")
_OF_PLACE = regex(r"(?i)index|ordinal|replica|completion|slot|\bpod")  # what is counted so is a pod, a container
_OF_HOST = regex(r"(?i)host_?name|uname -n|\bnode_?name|pod_?name")
_OF_DEVICES = regex(r"(?i)gpu|npu|dcu|card|dev")
_DEVICES = regex(r"(?i)(?:gpu|npu|dcu|device)s?_(?:on|per)_node\Z")  # what a node has of them
_ANOTHER_ORDER = regex(r"\b(?:sort|sorted|reversed|tac|shuf|rev)\b")
_COUNT = r"[\"']?(?:(?:\$\(|`)[^)`\n]{0,120}\b(?:wc|grep -\w*c)\b|\$\{#\w{1,60}(?:\[[@*]\])?\}|f?[\"']?\{?(?:str\()?len\(|\$\w{1,60}\.(?:Count|Length)\b)"
_COUNTED = regex(rf"(?P<name>[A-Za-z_][\w-]{{0,60}})[\"']?\]?\s?[=: ]\s?{_COUNT}")  # what a script counts of a list
_SIZED = regex(
    r"(?P<name>[A-Za-z_][\w-]{0,60})(?:[\"']?\]?\s?[=:]\s?| )[\"']?(?:str\()?\$?\{?(?P<value>[A-Za-z_]\w{0,60})\b"
)
_CHOSEN = regex(
    r"\bcontinue\b|(?m:^[^\n]*\b(?:for|while|mapfile|readarray|done)\b[^\n]*\b(?:e?grep|sed|awk|head|tail)\b)|\bif \w+ (?:!=|not in|in) "
)
_LOOP, _COUNTS = regex(r"[^\n]*\bfor \w+ in "), regex(r"\+\+|\+=|\(\(\s*\$?\w+ ?\+|\$\{!")
_HOSTFILE = regex(r"\s--?(?:host[-_]?file|machine[-_]?file|hosts?[-_]file)[= ][\"']?(?P<file>[\w./~-]+)")
_OTHERWISE = regex(
    r"\b(?:mpi\w+|[op]r[it]e?run|srun|horovodrun)\b|\s--?(?:np?|include|exclude|i|e|num_nodes|nnodes|host|map-by)[= ]"
)
_FIRST = regex(r"\s--?(?:master|main|head)[-_]\w{1,20}[= ][\"']?(?P<name>[A-Za-z][\w.-]*)")
_Starts = Mapping[str, tuple[int, int | None]]  # place → its first rank, its processes


def _reads(script: str, path: str) -> bool:
    """Does a script read a file, as it is?"""
    name = re.escape(path.rpartition("/")[2])
    read = (
        rf"(?:\bcat |<|\bgrep -v [\"']?\^?#[\"']? |\b(?:open|Path)\()\s*[\"']?[\w./${{}}~-]*(?<![\w.-]){name}(?![\w.-])"
    )
    return re.search(read, script) is not None


def _is_counted(script: str, what: str) -> bool:
    """Does a script tell all processes, or all nodes, by how many a list has, and leave none of it out?"""
    counts = {found["name"] for found in _COUNTED.finditer(script)}
    named = {found["name"] for found in _SIZED.finditer(script) if found["value"] in counts}
    return any(of_process(name) == what for name in counts | named) and not _CHOSEN.search(script)


def _counted(starts: Mapping[str, range]) -> dict[str, tuple[int, int | None]]:
    """Place → its first rank, and how many processes it has."""
    return {place: (ranks.start, len(ranks)) for place, ranks in starts.items()}


class Starts:
    """`found`: what rows and introductions tell; `ranks`, `locals_`: (place, pid) → number, unanimous."""

    def __init__(
        self,
        said: Begun,
        places: Places,
        paths: Sequence[str],
        found: Sequence[Process],
        world: int | None,
        ranks: Mapping[tuple[str, int], int],
        locals_: Mapping[tuple[str, int], int],
        scripts: Scripts,
        documents: Sequence[Document],
    ) -> None:
        self._said, self._places, self._paths, self._found = said, places, paths, found
        self._ranks, self._locals, self.world = ranks, locals_, world
        self.all_formulas, self._given, self.is_computed, _ = scripts
        # what counts nodes by two numbers is asked of names (computed_names.py)
        self.formulas = [one for one in self.all_formulas if one.what == "rank" or one.node is None]
        self._of_ranks = [one for one in self.formulas if one.what == "rank"]
        self.is_open = self.is_computed and not self._of_ranks  # then no order is that of the ranks
        self._orders = [] if self.is_open else orders(said, places)
        self._numbers = NodeNumbers(said, places, paths, found, self.all_formulas, self._given, documents)

    def starts(self) -> dict[str, range]:
        """Place → its ranks."""
        direct = self._direct()
        known = {place: start for place, start in direct.items() if start is not None}
        wrong = {place for place, start in direct.items() if start is None}
        every = (
            self._by_nodes(),
            *self._by_orders(),
            self._by_bases(),
            self._by_counters(),
            self._by_tasks(),
            self._by_parts(),
            self._by_ranks(),
        )
        fitting = [
            source
            for source in every
            if all(source.get(place, (start, None))[0] == start for place, start in known.items())
        ]
        agreed = dict(known)
        for place in sorted({*chain.from_iterable(fitting)} - wrong):
            said = {source[place][0] for source in fitting if place in source}
            if len(said) == 1:
                agreed.setdefault(place, min(said))
        counts = self._counts(fitting)
        for place, (start, count) in self._left_over(agreed, counts, wrong).items():
            agreed[place] = start
            counts.setdefault(place, count)
        made = {place: range(start, start + counts[place]) for place, start in agreed.items() if place in counts}
        taken = [rank for ranks in made.values() for rank in ranks]
        if len(set(taken)) < len(taken) or (self.world is not None and any(rank >= self.world for rank in taken)):
            return {}
        return {} if wrong or self._is_laid_otherwise(made) else made

    def _is_laid_otherwise(self, made: Mapping[str, range]) -> bool:
        """Do processes say that ranks go round the places? Where all have as many, none begins within the ranks of another, and nobody says a rank
        that would be another place's."""
        each = {len(own) for own in made.values()}
        size = min(each) if len(each) == 1 and self.world and not self.world % min(each) else 1
        if any(own.start % size for own in made.values()):
            return True
        for one in self._found:
            if (own := made.get(one.place or "")) is None or one.pid is None or not one.is_word:
                continue
            rank = self._ranks.get((one.place or "", one.pid), one.rank)
            if rank is not None and rank not in own and any(rank in ranks for ranks in made.values()):
                return True
        return False

    def _direct(self) -> dict[str, int | None]:
        """Place → its first rank, as processes tell their rank and their place there; None where they contradict each other."""
        said: defaultdict[str, set[int]] = defaultdict(set)
        ranks_there: defaultdict[str, set[int]] = defaultdict(set)
        for one in self._found:
            if one.place is None:
                continue
            key = (one.place, one.pid or -1)
            rank = one.rank if one.pid is None else self._ranks.get(key)
            local = one.local if one.pid is None else self._locals.get(key)
            if rank is not None and local is not None:
                said[one.place].add(rank - local)
            elif rank is not None and one.is_word:
                ranks_there[one.place].add(rank)
        for place, ranks in ranks_there.items() if self.world else ():  # a block of ranks, whoever is which of them
            is_block = len(ranks) > 1 and sorted(ranks) == [*range(min(ranks), max(ranks) + 1)]
            if is_block and place not in said and not (min(ranks) % len(ranks) or (self.world or 0) % len(ranks)):
                said[place].add(min(ranks))
        return {place: min(own) if len(own) == 1 and min(own) >= 0 else None for place, own in said.items()}

    def _counts(self, sources: Iterable[_Starts]) -> dict[str, int]:
        """Place → how many processes it has."""
        numbers: dict[str, defaultdict[str, set[int]]] = {}  # what is told of each place
        for what in ("each", "local", "rank"):
            numbers[what] = defaultdict(set)
            for one in self._found:
                if one.place is not None and (number := getattr(one, what)) is not None:
                    numbers[what][one.place].add(number)
        told, seen, ranks = numbers.values()
        for source in sources:
            for place, (_, count) in source.items():
                if count is not None:
                    told[place].add(count)
        more = {place: len(own) for place, own in seen.items() if sorted(own) == [*range(len(own))]}
        if (each := self.each()) is not None:
            more = {one.place: each for one in self._found if one.place is not None} | more
        for place, own in ranks.items() if self.world else ():
            if (self.world or 0) % len(own) == 0 and max(seen[place], default=0) < len(own):
                more.setdefault(place, len(own))
        for place, count in more.items():
            if place not in told:
                told[place].add(count)
        return {place: min(own) for place, own in told.items() if len(own) == 1 and 0 < min(own) <= _MOST}

    def each(self) -> int | None:
        """Processes of every place, where one number is told."""
        said = {one.each for one in self.formulas if one.each is not None}
        named = [one for one in self.formulas if one.node is not None and one.each is None]
        called = {one.size for one in named if one.size is not None}
        if named:  # by a name, which gets its number elsewhere
            of_node = (one for one in self._given if of_process(one.name) == "processes_per_node" or one.name in called)
            said |= {one.number for one in of_node}
        launches = (one.launch for own in self._said.values() for one in own if one.launch)
        said |= {one.each for one in launches if one.each is not None}
        is_of_devices = any(map(_OF_DEVICES.search, called))
        said |= set() if said else self._shared_out()
        if said <= {1} and is_of_devices:  # a process for each device that a node has
            said |= {one.number for one in self._given if _DEVICES.search(one.name)}
        said = said if len(said) < _FEWEST else said - {1}  # a scheduler's task of each node begins the processes
        return sole(said)

    def _shared_out(self) -> set[int]:
        """All processes by all nodes, where one file tells both."""
        sizes: defaultdict[str, defaultdict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
        for one in self._given:
            if (what := of_process(one.name)) in ("world_size", "nodes"):
                sizes[one.file][what].add(one.number)
        whole = (own for own in sizes.values() if len(own["world_size"]) == len(own["nodes"]) == 1)
        pairs = ((min(own["world_size"]), min(own["nodes"])) for own in whole)
        return {world // nodes for world, nodes in pairs if nodes and world % nodes == 0 and world > nodes}

    def each_task(self) -> int | None:
        """Processes of each of a launcher's tasks, where a formula counts ranks or nodes by the number of the task."""
        said = {one.each for one in self._of_ranks if of_process(one.node or "") == "rank" and not one.first}
        of_nodes = [one for one in self.formulas if one.what == "node_rank"]
        are_tasks = all(one.is_plain and of_process(one.counter or "") == "rank" for one in of_nodes)
        said |= {self.each()} if of_nodes and are_tasks else set()
        return None if self._numbers.are_given() else sole(said)

    def counter(self) -> tuple[int, int | None, bool] | None:
        """How a script makes ranks of one number of each process, and whether that is a launcher's."""
        counted = [one for one in self._of_ranks if one.counter is not None]
        return sole((one.offset, one.modulus, of_process(one.counter or "") == "rank") for one in counted)

    def _left_over(
        self, known: Mapping[str, int], counts: Mapping[str, int], wrong: set[str]
    ) -> dict[str, tuple[int, int]]:
        """The one place that nothing tells of, where all have as many processes."""
        each = {*counts.values()}
        if self.world is None or len(each) != 1 or wrong:
            return {}
        [every] = each
        if self.world % every or len(known) != self.world // every - 1 or not known:
            return {}
        shown = {place for path in self._paths if (place := self._places.of_file(path)) is not None}
        others = {*counts, *shown} - known.keys()
        free = set(range(0, self.world, every)) - {*known.values()}
        return {others.pop(): (free.pop(), every)} if len(others) == len(free) == 1 else {}

    def _by_nodes(self) -> dict[str, tuple[int, int | None]]:
        """By the number of each node and the processes of the nodes before it."""
        each = self.each()
        nodes = {place: number for place, number in self._numbers.all(self.world, each).items() if number < RANKS}
        # where a script makes ranks of a number of each process alone, no number of a node tells them
        is_by_counter = bool(self._of_ranks) and all(one.counter is not None for one in self._of_ranks)
        are_apart = len(nodes) == len({*nodes.values()}) and min(nodes.values(), default=-1) >= 0
        if not are_apart or self.is_open or is_by_counter:
            return {}
        own = {one.place: one.each for one in self._found if one.place is not None and one.each is not None}
        sizes = {own.get(place, each) for place in nodes}
        if len(sizes) == 1 and (size := sizes.pop()) is not None:
            return {place: (number * size, size) for place, number in nodes.items()}
        if None in sizes or sorted(nodes.values()) != [*range(len(nodes))]:
            return {}
        in_order = sorted(nodes, key=lambda place: nodes[place])
        return _counted(starts_of(in_order, [own.get(place) or 0 for place in in_order]))

    def _by_bases(self) -> dict[str, tuple[int, int | None]]:
        """By the number that files of each place give to what a formula adds to a process's place there: its first rank."""
        based = [one for one in self.formulas if one.base is not None]
        if len({one.first for one in based}) > 1:
            return {}
        bases = {one.base for one in based}
        given = [one for one in self._given if one.name in bases]
        headed = {file: self._places.headings(self._said.get(file, ())) for file in {one.file for one in given}}
        told = ((headed[one.file].get(one.line) or self._places.of_file(one.file), one.number) for one in given)
        starts = unanimous((place, number) for place, number in told if place is not None)
        begun = sorted(starts.values())
        if len({*begun}) < max(len(begun), _FEWEST) or begun[0] or (self.world or RANKS) <= begun[-1]:
            return {}
        ends = [*begun[1:], self.world or 2 * begun[-1] - begun[-2]]
        counts = {start: end - start for start, end in zip(begun, ends, strict=True)}
        return {place: (start, counts[start]) for place, start in starts.items()}

    def _is_whole(self, made: Mapping[str, int]) -> bool:
        """Are these all ranks of the job, each of one place?"""
        return len(made) > 1 and sorted(made.values()) == [*range(self.world or len(made))]

    def _by_counters(self) -> dict[str, tuple[int, int | None]]:
        """By the number in the names of pods, where a formula counts ranks by it: a process each."""
        counted = [one for one in self._of_ranks if one.counter is not None]
        if len({(one.offset, one.modulus) for one in counted}) != 1 or not _OF_PLACE.search(counted[0].counter or ""):
            return {}
        stems = self._numbers.stems().values()
        found = ({place: counted[0].of(number) for place, number in own.items()} for own in stems)
        whole = [made for made in found if self._is_whole(made)]
        return {place: (rank, 1) for place, rank in whole[0].items()} if len(whole) == 1 else {}

    def _by_tasks(self) -> dict[str, tuple[int, int | None]]:
        """By the order in which Slurm counts tasks, where a script takes a task's number for the rank."""
        made = self._of_ranks
        are_tasks = all(of_process(one.counter or "") == "rank" and one.is_plain for one in made)
        is_read = bool(made) and are_tasks and not self.is_computed
        return {**starts_of_tasks(self._said, self._places, self.each(), self.world)} if is_read else {}

    def _by_ranks(self) -> dict[str, tuple[int, int | None]]:
        """By rows that tell a place and the rank of its one process, of all of them."""
        told = [one for one in self._found if one.is_word and one.place is not None and one.rank is not None]
        rows = {(one.place or "", one.rank or 0) for one in told if one.pid is None and one.local is None}
        made = dict(rows)
        is_each = len(made) == len(rows) == len(told) and not self._locals
        return {place: (rank, 1) for place, rank in made.items()} if is_each and self._is_whole(made) else {}

    def _by_parts(self) -> dict[str, tuple[int, int | None]]:
        """By two numbers in the name of each host, where a formula counts ranks by what a script cuts out of that name."""
        for one in self._of_ranks:
            if one.node is None or one.local is None or one.each is None:
                continue
            texts = [said.raw for said in self._said.get(one.file, ()) if _OF_HOST.search(said.raw)]
            given = [re.compile(rf"(?<![\w-]){re.escape(name)}=") for name in (one.node, one.local)]
            if not all(any(map(form.search, texts)) for form in given):
                continue
            shapes: defaultdict[str, dict[str, tuple[int, int]]] = defaultdict(dict)
            for place, names in self._places.aliases().items():
                for name in names:
                    if len(numbers := _NUMBERS.findall(name)) == _FEWEST:
                        shapes[_NUMBERS.sub("#", name)][place] = (int(numbers[0]), int(numbers[1]))
            for own in shapes.values():
                made = {place: node * one.each + local for place, (node, local) in own.items() if local < one.each}
                other = {place: node * one.each + local for place, (local, node) in own.items() if local < one.each}
                ways = [one for one in (made, other) if len(one) == len(own) and self._is_whole(one)]
                if ways == [made]:
                    return {place: (rank, 1) for place, rank in made.items()}
        return {}

    def _by_turns(self, each: int | None) -> Iterator[dict[str, range]]:
        """By the only list of places, its own or a file that it reads, along which a script may count ranks, or nodes of `each` processes,
        one by one from 0: where they are all, and nothing puts them in another order."""
        begun = {(one.file, one.name) for one in self._given if one.number}
        for what, many in (("rank", 1), ("node_rank", each or 0)):
            made = [one for one in self.formulas if one.what == what]
            plain = [one for one in made if one.is_plain and one.argument is None]
            plain = [one for one in plain if one.counter and (one.file, one.counter) not in begun]
            turns = {file: counted_on([self._text(file)]) for file in {one.file for one in plain}}
            plain = [one for one in plain if (one.counter or "").islower() or one.counter in turns[one.file]]
            for file in {one.file for one in plain} if len(plain) == len(made) else ():
                given, text = [one for one in self._given if one.file == file], self._text(file)
                sizes = {self.world, *(one.number for one in given if of_process(one.name) == "world_size")}
                sizes |= {one.number * many for one in given if of_process(one.name) == "nodes"}
                is_counted = _is_counted(text, "world_size" if what == "rank" else "nodes")
                listed = (one for one in self._orders if one.file == file and one.counts is None)
                own = {one.places for one in listed if self._counts_in(one)}
                lists = own or {one.places for one in self._orders if one.is_file and _reads(text, one.file)}
                if len(lists) == 1 and not _ANOTHER_ORDER.search(text):
                    whole = (one for one in lists if many * len(one) in sizes - {0} or (is_counted and sizes <= {None}))
                    yield from (starts_of(one, [many] * len(one)) for one in whole)

    def _counts_in(self, one: Order) -> bool:
        """Is a list none that a loop goes along without counting?"""
        below = "\n".join(said.raw for said in self._said[one.file] if said.number >= one.line)
        loop, done, _ = below.partition("done")
        return not (done and _LOOP.match(loop)) or _COUNTS.search(loop) is not None

    def _by_hostfile(self) -> Iterator[dict[str, range]]:
        """By the file of hosts that a command begins its processes along, as many on each as it tells, or the file."""
        of_nodes = [one for one in self._orders if one.is_file]
        for said in chain.from_iterable(self._said.values()) if of_nodes else ():
            if (takes := _HOSTFILE.search(said.raw)) is None or _OTHERWISE.search(said.raw) or said.raw[:1] == "#":
                continue
            head = _FIRST.search(said.raw)
            for one in of_nodes:
                each = said.launch.each if said.launch is not None else None
                counts = one.counts if each is None else (each,) * len(one.places)
                is_it = one.file.rpartition("/")[2] == takes["file"].rpartition("/")[2] and counts is not None
                is_first = head is None or self._places.of(head["name"]) == one.places[0]
                if is_it and is_first and counts is not None and self.world in (None, sum(counts)):
                    yield starts_of(one.places, counts)

    def _text(self, file: str) -> str:
        return "\n".join(one.raw for one in self._said.get(file, ()))

    def _by_orders(self) -> Iterator[dict[str, tuple[int, int | None]]]:
        """By lists of places with their counts, or along which a formula counts."""
        each = self.each()
        along = {
            one.file
            for one in self._of_ranks
            if one.node is not None
            and not one.first
            and one.node not in {own.name for own in self._given if self._places.of_file(own.file)}
            and one.node in self._text(one.file)  # of a node in words, a sentence says how it is counted
            and not is_counted_otherwise(one.node, self._said)
        }
        found = [*self._by_turns(each), *self._by_hostfile()]
        for file, own in by_file(self._orders).items():
            for one in own:
                if one.counts is not None and (one.is_ports or sum(one.counts) == self.world):
                    found.append(starts_of(one.places, one.counts))
                elif one.counts is None and each is not None and file in along:
                    found.append(starts_of(one.places, [each] * len(one.places)))
        if not found and along and each is not None:  # a file of nodes beside the script
            found += [starts_of(one.places, [each] * len(one.places)) for one in self._orders if one.is_file]
        yield from map(_counted, found)
