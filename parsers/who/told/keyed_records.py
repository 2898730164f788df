"""Which rank a name in records is, where any record tells both: a pod's uid, a worker's address, a task's id.

    {"ts": "…", "pod_uid": "6e4152c5-…", "event": "worker_start", "rank": 3}        a log: later records tell the uid alone
    worker,rank,pid⏎nx-1/gpu0,0,7000⏎nx-3/gpu0,1,7003                              a list beside records that name workers
    {"log": "process 3 of 8 is up", "pod": "w-5", "resource": "t-5-x7kq"}           a line that introduces its process, with names beside it

A column tells who speaks where most records have it, each rank goes with one of its cells, no cell with two ranks, and more than half of the
job's ranks are told, of a job of unknown size all from 0 on. What points at somebody else does not, nor a moment, nor a number.

Fooled by: a name that each rank gives to something of its own (a file), in most records.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any

from parsers.forms import framings
from parsers.forms.reading import whole
from parsers.schema.names import CALLS, Told
from parsers.schema.parser import Source
from parsers.text import vocabulary
from parsers.text.patterns import regex
from parsers.text.rank_list import RANKS
from parsers.text.stamps import parse_time
from parsers.text.unanimous import sole
from parsers.who.lines.beginnings import Said
from parsers.who.told.counted_columns import head_of, records_of

_MOSTLY = 0.8  # of the records
_FEWEST = 2
_MAY = regex(rb"(?i)rank|process_?(?:index|id)|trainer_?id")
_NAME = regex(r"(?=[^\s]{0,127}[A-Za-z])[\w.:/@#+-]{2,128}")

_Record = Mapping[str, Any]
_Lines = Mapping[tuple[str, int], int]  # of files, in which somebody tells his rank
_Ranks = defaultdict[tuple[str, str], set[int]]  # of a name, by the name of the file


def keyed_records(sources: Sequence[Source], world: int | None, introductions: Sequence[Said]) -> list[Told]:
    """Members whose path tells no rank, the size of the job, and the lines in which processes introduce themselves → what their first records
    tell of names."""
    introduced = {
        (one.file, one.number): one.introduces.rank
        for one in introductions
        if one.introduces and one.raw[:1] == "{"  # else it is a line of a log, whatever its marks
    }
    ranks: _Ranks = defaultdict(set)
    speaking = {path for path, _ in introduced}
    open_ = (source for source in sources if source.rank is None)
    told = [one for source in open_ for one in _told(source, world, ranks, introduced, speaking)]
    return [one for one in told if len(ranks[one.file.rpartition("/")[2], one.name]) == 1]


def _told(source: Source, world: int | None, ranks: _Ranks, introduced: _Lines, speaking: Set[str]) -> Iterator[Told]:
    """`ranks`: of all files of one name, of several hosts, which may call their processes alike."""
    records = list(_records(source, source.path in speaking))
    columns: defaultdict[str, defaultdict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
    counts: defaultdict[str, int] = defaultdict(int)
    lines: dict[tuple[str, str], int] = {}
    sizes: set[int] = set()
    for line, said in records:
        own = introduced.get((source.path, line))
        rank = own if own is not None else whole(vocabulary.told(said).get("rank"))
        told = {whole(cell) for name, cell in said.items() if vocabulary.of_process(name) == "world_size"}
        sizes |= {size for size in told if size is not None and 0 < size <= RANKS}
        for name, cell in said.items():
            # Beside a line that introduces its process, who else may be meant (its backup, whom it serves) is not said as names are.
            if isinstance(cell, str) and _NAME.fullmatch(cell) and (own is None or CALLS.search(name)):
                counts[name] += 1
                if rank is not None and 0 <= rank < RANKS:
                    columns[name][cell].add(rank)
                    ranks[source.path.rpartition("/")[2], cell].add(rank)
                    lines.setdefault((name, cell), line)
    for name, cells in columns.items():
        if counts[name] < _MOSTLY * len(records) or vocabulary.points_elsewhere(name) or not _is_whole(cells, world):
            continue
        if all(parse_time(cell)[0] is None for cell in cells):
            for cell, (rank,) in cells.items():
                yield Told(cell, "key", source.path, lines[name, cell], rank, world=sole(sizes))


def _is_whole(cells: Mapping[str, set[int]], world: int | None) -> bool:
    """Is each cell one rank's, and each rank one cell's, of more than half of the job?"""
    told = sorted(rank for own in cells.values() for rank in own)
    if len(told) < _FEWEST or len(told) != len(cells) or len({*told}) != len(told):
        return False
    return told == [*range(len(told))] if world is None else told[-1] < world < 2 * len(told)


def _records(source: Source, tells: bool) -> Iterator[tuple[int, _Record]]:
    """The first records of a member that tells ranks, or may, with their lines; none where it has no form."""
    head = head_of(source)
    if (tells or _MAY.search(head)) and framings.framing(source.path, head) is not None:
        yield from records_of(source.path, head)
