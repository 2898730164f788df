"""Which number before the words of a line is that of its process: `[gn14 31877] `, `10:02:11 gn14/31877: `, `<31877> `.

Whose line it is, is known already (a file, a label). A number at its head that each rank has one of, and most another, on two lines at
least, is that of its process; a word beside it that is alike on all lines of a rank, and that another file of the bundle is called
by, is its host. So counters are none, nor what all have in common. A kernel's line about that process then is that rank's.

glog and its kin print the thread there: of a file of one rank, each is a thread of that rank's process, and where a stack calls a
process or its thread by that number, it is this rank's.

Fooled by: another number that each process keeps (a port). It is only ever compared with numbers of processes, and with a kernel's only
where the host is known.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from typing import Any

from parsers.forms.reading import json_object
from parsers.schema.names import Names, parts_of
from parsers.text.patterns import regex
from parsers.text.unanimous import unanimous
from parsers.who.lines.beginnings import Begun, Said
from parsers.who.lines.heads import heads_of

LINES = 6  # of a file without names at heads
_FEWEST = 2
_PIDS = range(1000, 1 << 22)
_MAY = regex(r"(?<![\d.])\d{4,7}(?![\d.:/]\d)")
_GLOG = regex(r"[IWEF]\d{4} \d\d:\d\d:\d\d\.\d+ +(\d{3,10}) \S+:\d+\]")
_OF_STACK = regex(r"(?:Process|Thread) (\d{3,10})\b")
_PARTS = regex(r"[/:@]")
_HEAD = 120  # characters
HOW = "number before the words"


def pids_at_heads(said: Begun, rank_of: Callable[[Said], int | None], paths: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Lines by path, whose each is, and the names of all files → rows of `ranks`: rank, pid, host."""
    yield from _at_heads(said, rank_of, paths)
    yield from _threads(said, rank_of)


def pids_of_records(said: Begun, names: Names) -> Iterator[dict[str, Any]]:
    """Rows of `ranks` of processes whose pid collectors keep beside a name of theirs: journald's unit, a container."""
    told: set[tuple[int, int, str | None]] = set()
    for one in (one for own in said.values() for one in own if one.line.process is not None and one.raw[:1] == "{"):
        record = json_object(one.raw) or {}
        rank, who = names.of_cells(record.values()), (one.line.process or 0, one.line.host)
        if rank is not None and (rank, *who) not in told:
            told.add((rank, *who))
            yield {"rank": rank, "pid": who[0], "host": who[1], "how": HOW, "file": one.file, "line": one.number}


def files_of_pids(
    said: Begun, claims: Sequence[Mapping[str, Any]], who: Callable[[str], Set[int | None]]
) -> dict[str, int]:
    """Path → the rank that `claims` tell of the one process that prints its number there, where nobody else speaks, nor it in another file.
    `who`: the ranks that speak in a file, -1 among them where several processes do."""
    pids = {path: {one.line.process for one in own if one.line.process is not None} for path, own in said.items()}
    alone = {path: min(own) for path, own in pids.items() if len(own) == 1 and min(own) in _PIDS}
    files = Counter(alone.values())
    ranks = unanimous((one["pid"], one["rank"]) for one in claims if None not in (one.get("pid"), one.get("rank")))
    found = {path: ranks[pid] for path, pid in alone.items() if pid in ranks and files[pid] == 1}
    return {path: rank for path, rank in found.items() if who(path) <= {rank}}


def _threads(said: Begun, rank_of: Callable[[Said], int | None]) -> Iterator[dict[str, Any]]:
    """Threads of glog that stacks are of."""
    wanted = {int(stack[1]) for own in said.values() for one in own if (stack := _OF_STACK.match(one.line.text))}
    found: dict[int, list[tuple[int | None, Said]]] = {}
    for one in (one for own in said.values() for one in own) if wanted else ():
        thread = _GLOG.match(one.raw)
        if thread and int(thread[1]) in wanted:
            found.setdefault(int(thread[1]), []).append((rank_of(one), one))
    for pid, own in found.items():
        rank, first = own[0]
        if all(other == rank and one.file == first.file for other, one in own):
            place = {"host": first.line.host, "how": HOW, "file": first.file, "line": first.number}
            yield {"rank": rank, "pid": pid} | place


def _at_heads(said: Begun, rank_of: Callable[[Said], int | None], paths: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Numbers that are alike on all lines of each rank."""
    numbers: defaultdict[tuple[str, int], defaultdict[int, list[Said]]] = defaultdict(lambda: defaultdict(list))
    values: defaultdict[tuple[str, int], defaultdict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    for own in said.values():
        for at, one in enumerate(own):
            text = one.line.text
            if one.line.process is not None or not (one.heads or at < LINES) or not _MAY.search(text[:_HEAD]):
                continue
            if (rank := rank_of(one)) is None:
                continue
            for head in one.heads or heads_of(text):
                for place, value in enumerate(_PARTS.split(head.value)):  # `gn14/31877`
                    values[head.form, place][rank].add(value)
                    if value.isdecimal() and value.isascii():
                        numbers[head.form, place][rank].append(one)
    files = {word for path in paths for part in path.split("/") for word in parts_of(part)}
    hosts = next((placed for own in values.values() if (placed := _hosts(own, files))), {})
    for form, found in numbers.items():
        if pids := _pids(values[form], found):
            for rank, pid in pids.items():
                first = found[rank][0]
                yield {
                    "rank": rank,
                    "pid": pid,
                    "host": hosts.get(rank, first.line.host),
                    "how": HOW,
                    "file": first.file,
                    "line": first.number,
                }
            return


def _pids(values: Mapping[int, Set[str]], lines: Mapping[int, Sequence[Said]]) -> dict[int, int]:
    """Rank → pid, of a form whose value is one number of each rank."""
    if len(values) < _FEWEST or values.keys() != lines.keys() or any(len(own) > 1 for own in values.values()):
        return {}
    found = {rank: int(next(iter(own))) for rank, own in values.items()}
    counts = Counter(found.values())
    alone = {rank: pid for rank, pid in found.items() if counts[pid] == 1}  # of two ranks it is nobody's
    is_each = len(alone) > max(1, len(found) // 2) and all(len(own) >= _FEWEST for own in lines.values())
    return alone if is_each and all(pid in _PIDS for pid in found.values()) else {}


def _hosts(values: Mapping[int, Set[str]], files: Set[str]) -> dict[int, str]:
    """Rank → what stands at the heads of its lines, where files are called so; nothing where that is not one word each."""
    if len(values) < _FEWEST or any(len(own) > 1 for own in values.values()):
        return {}
    found = {rank: next(iter(own)) for rank, own in values.items()}
    return found if files & {one for one in found.values() if any(map(str.isalpha, one))} else {}
