"""The number of each place among the nodes of a job, whoever tells it (starts.py makes ranks of it).

    torchrun --node_rank=1 …                      a command, before whose line the host stands, or in whose file it is
    {"nodeIndex": 2, "logStreamName": "t/77d2f1"}        a document that tells it of a host, a pod, a file
    --node_rank=$RANK          HOSTNAME=lm-w-1⏎RANK=2          a block of variables, as the launch calls them
    NODE_RANK=$((JOB_INDEX*3+COMPLETION_INDEX))   lm-1-2-x9c4q     what a script makes of the numbers in names
    case $type in pool0) node=0 ;; pool1) node=$((idx+1)) ;;       pool0-0  pool1-0  pool1-1
    node = 0 if t["type"] == "pool0" else 1 + t["index"]
    --node_rank $SLURM_NODEID        NodeList=gpu[0118,0204]          its place in the list of the job's nodes

Two statements of one place that differ are none; two places of one number are the caller's to refuse.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set

from parsers.schema.calls import Script, call_of
from parsers.text.patterns import regex
from parsers.text.unanimous import sole, unanimous
from parsers.who.lines.beginnings import Begun
from parsers.who.places.contexts import OTHERS, Places
from parsers.who.places.families import Process
from parsers.who.places.rows_alike import indent
from parsers.who.places.slurm_tasks import starts_of_tasks
from parsers.who.scripts.formulas import Formula, Given, is_of_node
from parsers.who.told.computed_names import computed_names
from parsers.who.told.tables import table_rows
from parsers.who.told.told_names import Document

_OF_SLURM = "SLURM_NODEID"
_ORDINAL = regex(r"(?P<stem>.*?)-(?P<number>\d{1,5})(?:-[a-z0-9]{4,10})?")
_OPTION = regex(r"(?<!\S)(?:--?[A-Za-z][\w-]*(?:=| (?!-))|\w+=)\S+")  # and what is given to it
_NAMES = regex(r"[A-Za-z0-9](?:[\w.-]*\w)?")
_ON = regex(r"(?i)\bon (?:host |node )?[A-Za-z0-9]")
_DIGITS = regex(r"\d+")
_OF_OTHER = regex(
    rf"(?i)(?<![\w-])[\w-]{{0,30}}?(?:{OTHERS})[\w-]{{0,30}}[\"']?\s{{0,2}}[=: ]\s{{0,2}}[\"']?[\w.-]{{1,80}}"
)


class NodeNumbers:
    """`found`: what rows, documents and blocks of variables tell."""

    def __init__(
        self,
        said: Begun,
        places: Places,
        paths: Sequence[str],
        found: Sequence[Process],
        formulas: Sequence[Formula],
        given: Sequence[Given],
        documents: Sequence[Document],
    ) -> None:
        self._said, self._places, self._paths, self._found = said, places, paths, found
        self._formulas, self._given, self._documents = formulas, given, documents
        of_nodes = [one for one in formulas if one.what == "rank" and one.node is not None]
        self._used = {one.node for one in of_nodes}
        self._first = sole(one.first for one in of_nodes) or 0  # of several ways none is known
        self._scripts = unanimous(
            (one.file.rpartition("/")[2], Script(one.node_argument, 0, None)) for one in of_nodes if one.node_argument
        )

    def all(self, world: int | None, each: int | None) -> dict[str, int]:
        """Place → its number; `world`, `each`: the processes of all, and of each, where they are told."""
        found = unanimous(self._told()) or self._by_ordinals() or unanimous(self._computed(world, each))
        return found or self._of_slurm()

    def _of_slurm(self) -> dict[str, int]:
        """Slurm numbers the nodes of a job in the order of its list."""
        counted = [one for one in self._formulas if one.what == "node_rank" and one.counter == _OF_SLURM]
        if not counted or any((one.offset, one.modulus) != (0, None) for one in counted):
            return {}
        return {place: first for place, (first, _) in starts_of_tasks(self._said, self._places, 1, None).items()}

    def are_given(self) -> bool:
        """Does a file give a node's number to the name that a formula counts by?"""
        used = {one.node for one in self._formulas if one.node is not None}
        return any(one.name in used for one in self._given)

    def stems(self) -> dict[str, dict[str, int]]:
        """What is before the number in names of pods → place → its number."""
        stems: defaultdict[str, dict[str, int]] = defaultdict(dict)
        for place, names in self._places.aliases().items():
            for found in filter(None, map(_ORDINAL.fullmatch, names)):
                stems[found["stem"]][place] = int(found["number"])
        return stems

    def _told(self) -> Iterator[tuple[str, int]]:
        yield from ((one.place, one.node) for one in self._found if one.place is not None and one.node is not None)
        given = [one for one in self._given if one.name in self._used]
        yield from self._own((self._where(one.file, one.line), one.file, one.number) for one in given)
        yield from self._of_tables()
        yield from self._own(self._of_documents())
        for path, own in self._said.items() if self._scripts else ():
            for said in own:
                called = call_of(said.raw, self._scripts)
                place = self._where(path, said.number, said.line.host) if called is not None else None
                if called is not None and place is not None:
                    yield place, called.rank - self._first
        for path, own in self._said.items():
            for said in own:
                if said.launch is not None and said.launch.node is not None:
                    host = said.line.host
                    where = self._places.called(host) or self._places.of_file(path)
                    beside = {self._places.of(name) for name in self._beside(said.raw)} if host is None else set()
                    if len(beside) == 1 and (where is None or _ON.search(said.raw) is not None):
                        where = beside.pop()
                    if where is None and said.line.task is not None:
                        where = str(said.line.task)
                    if where is not None:
                        yield where, said.launch.node

    def _where(self, path: str, line: int, host: str | None = None) -> str | None:
        """The place of a statement: that of its line, the first that it names, else that of the entry that it stands in, else that of its file."""
        if (place := self._places.called(host)) is not None:
            return place
        own = self._said.get(path, ())
        at = next((at for at, one in enumerate(own) if one.number == line), None)
        if at is None:
            return self._places.of_file(path)
        depth = indent(own[at].raw) + 1
        for one in own[at::-1]:
            if indent(one.raw) >= depth or not one.raw.strip():
                continue
            depth = indent(one.raw)
            named = [name for name in _NAMES.findall(_OF_OTHER.sub(" ", one.raw)) if self._places.is_place(name)]
            if named:
                return self._places.of(named[0])
            if not depth:
                break
        return self._places.of_file(path)

    def _of_tables(self) -> Iterator[tuple[str, int]]:
        """What tables of places tell in the column that a formula is called after."""
        for own in self._said.values() if self._used else ():
            for _, cells in table_rows(own):
                numbers = [cell for name, cell in cells.items() if name in self._used and cell.isdecimal()]
                named = [cell for cell in cells.values() if self._places.is_place(cell)]
                if len(numbers) == 1 and named:
                    yield self._places.of(named[0]), int(numbers[0]) - self._first

    def _of_documents(self) -> Iterator[tuple[str | None, str, int]]:
        """What documents tell by the name that a formula uses: of the place that they call so, or tell beside it, or are from."""
        for one in self._documents if self._used else ():
            beside: defaultdict[tuple[str | int, ...], list[str]] = defaultdict(list)
            for leaf in one.leaves:
                beside[leaf.path[:-1]].append(leaf.value)
            for leaf in one.leaves:
                if leaf.path[-1] in self._used and leaf.value.isdecimal():
                    keys = [key for key in reversed(leaf.path[:-1]) if isinstance(key, str)]
                    named = [name for name in (*keys, *beside[leaf.path[:-1]]) if self._places.is_place(name)]
                    place = self._places.of(named[0]) if named else self._places.of_file(one.file)
                    yield place, one.file, int(leaf.value)

    def _own(self, told: Iterable[tuple[str | None, str, int]]) -> Iterator[tuple[str, int]]:
        """Place that a statement names, its file, a number → whose it is: beside a name that has several numbers so, it is of the place that its file is
        from, as each tells where the first of all is (`NODE=1 MASTER_ADDR=n0`)."""
        told = [*told]
        numbers: defaultdict[str | None, set[int]] = defaultdict(set)
        for place, _, number in told:
            numbers[place].add(number)
        for place, file, number in told:
            own = place if len(numbers[place]) == 1 else self._places.of_file(file)
            if own is not None:
                yield own, number - self._first

    def _beside(self, text: str) -> Iterator[str]:
        """The places of which a line tells beside a command: `failed to run torchrun --node_rank=1 … on n5`."""
        rest = _OPTION.sub(" ", text)
        yield from (name for name in _NAMES.findall(rest) if self._places.is_place(name))

    def _by_ordinals(self) -> dict[str, int]:
        """By the number in the names of pods, where a formula counts nodes by it."""
        counted = [one for one in self._formulas if one.what == "node_rank" and one.counter is not None]
        if len({(one.offset, one.modulus) for one in counted}) != 1:
            return {}
        stems = self.stems()
        scripts = {one.file for one in counted}
        fixed = {
            one.number
            for one in self._given
            if one.name in self._used or (one.file in scripts and is_of_node(one.name))
        }
        found = [(len(own), self._of_stem(stem, stems, counted[0], fixed)) for stem, own in stems.items()]
        most = max((many for many, made in found if made), default=0)
        largest = [made for many, made in found if made and many == most]
        return largest[0] if largest and all(made == largest[0] for made in largest) else {}

    @staticmethod
    def _of_stem(
        stem: str, stems: Mapping[str, Mapping[str, int]], counted: Formula, fixed: Set[int]
    ) -> dict[str, int]:
        """Pods of one name, and one beside them that is told its number: a master."""
        made = {place: counted.of(number) for place, number in stems[stem].items()}
        others = [name for name in stems if name != stem]
        ways = (
            lambda name: name.rpartition("-")[0],
            lambda name: name.partition("-")[0],
            lambda name: _DIGITS.sub("", name),
        )
        alike = ([name for name in others if way(name) == way(stem) != ""] for way in ways)
        rest = [stems[name] for name in next(filter(None, alike), [])]
        if len(rest) == len(fixed) == 1 and len(rest[0]) == 1:
            made |= dict.fromkeys(rest[0], min(fixed))
        return made if min(made.values(), default=1) == 0 and len({*made.values()}) == len(made) > 1 else {}

    def _computed(self, world: int | None, each: int | None) -> Iterator[tuple[str, int]]:
        """By two numbers in names, or one, where a formula counts nodes by them."""
        of_nodes = [one for one in self._formulas if one.what == "node_rank"]
        for one in computed_names(self._said, self._paths, of_nodes, world, each, self._documents):
            if one.node_rank is not None and self._places.is_place(one.name):
                yield self._places.of(one.name), one.node_rank
