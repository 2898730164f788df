"""Lists that contradict each other, as those of two attempts do: they tell ranks of processes, a few lines for each, and two of them tell different
ones of the same names, or of the same pids of hosts. Which of them holds nobody can say, so neither is heard; what a process says in its own log
stands."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from parsers.who.lines.beginnings import Said

_FEWEST = 2  # that two lists contradict each other in
_LINES = 4  # of a list, for each process that it tells of, at most


def contradicted(
    claims: Iterable[Mapping[str, Any]], opposed: Iterable[tuple[str, str, str]], said: Mapping[str, Sequence[Said]]
) -> frozenset[str]:
    """Rows of `ranks`; name, file, other file that tells another rank of it; the lines of files → the files of which none is heard."""
    ranks: defaultdict[tuple[str, int], dict[str, int]] = defaultdict(dict)
    for one in claims:
        host, pid, rank, file = (one.get(what) for what in ("host", "pid", "rank", "file"))
        is_said = one.get("name") is None  # what a name stands for, others have told
        if is_said and host is not None and pid is not None and rank is not None and file:
            ranks[host, pid].setdefault(file, rank)
    found: defaultdict[frozenset[str], set[object]] = defaultdict(set)
    for name, file, other in opposed:
        found[frozenset((file, other))].add(name)
    for process, own in ranks.items():
        for file, rank in own.items() if len({*own.values()}) > 1 else ():
            for other in (other for other, told in own.items() if told != rank):
                found[frozenset((file, other))].add(process)
    return frozenset(
        file
        for files, names in found.items()
        if len(names) >= _FEWEST
        and len(files) > 1
        and all(len(said.get(file, ())) <= _LINES * len(names) for file in files)
        for file in files
    )
