"""Lists that contradict each other, as those of two attempts do: they tell ranks of processes, a few lines for each, and two of them tell different
ones of the same names, or of the same pids of hosts. Which of them holds nobody can say, so neither is heard; what a process says in its own log
stands. Nor is a list of hosts heard that gives each its ranks in blocks, where a process of one of them says a rank of another's: then they go round."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

from parsers.who.lines.beginnings import Begun

_FEWEST = 2  # that two lists contradict each other in
_LINES = 4  # of a list, for each process that it tells of, at most


def contradicted(
    claims: Sequence[Mapping[str, Any]], opposed: Iterable[tuple[str, str, int, str, int]], said: Begun
) -> frozenset[str]:
    """Rows of `ranks`; name, file, its rank there, other file, its rank there; the lines of files → the files of which none is heard. Lists of other ranks
    are of other sites, which call their processes alike."""
    ranks: defaultdict[tuple[str, int], dict[str, int]] = defaultdict(dict)
    for one in claims:
        host, pid, rank, file = (one.get(what) for what in ("host", "pid", "rank", "file"))
        is_said = one.get("name") is None  # what a name stands for, others have told
        if is_said and host is not None and pid is not None and rank is not None and file:
            ranks[host, pid].setdefault(file, rank)
    found: defaultdict[frozenset[str], dict[object, dict[str, int]]] = defaultdict(dict)
    for name, file, rank, other, told in opposed:
        found[frozenset((file, other))][name] = {file: rank, other: told}
    for process, own in ranks.items():
        for (file, rank), (other, told) in combinations(own.items(), 2) if len({*own.values()}) > 1 else ():
            if rank != told:
                found[frozenset((file, other))][process] = {file: rank, other: told}
    unheard: set[str] = set()
    for files, names in found.items():
        lists = {file: {one[file] for one in names.values()} for file in files}
        are_short = all(len(said.get(file, ())) <= _LINES * len(names) for file in files)
        if len(names) >= _FEWEST and len(files) > 1 and are_short and set.intersection(*lists.values()):
            unheard |= files
    return frozenset(unheard) | laid_otherwise(claims, said)


def laid_otherwise(claims: Iterable[Mapping[str, Any]], said: Begun) -> frozenset[str]:
    """Short lists of hosts that tell which ranks are on each, where a process says from one of them the rank that another would have."""
    listed: defaultdict[str, defaultdict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
    for one in claims:
        if one.get("pid") is None and None not in (one.get("host"), one.get("local_rank"), one.get("rank")):
            listed[one["file"]][one["host"]].add(one["rank"])
    whole = [one for one in claims if None not in (one.get("host"), one.get("pid"), one.get("rank"))]
    introduced = {(one["host"], one["rank"]) for one in whole if one.get("name") is None}
    return frozenset(
        file
        for file, hosts in listed.items()
        if len(hosts) >= _FEWEST
        and len(said.get(file, ())) <= _LINES * len(hosts)
        and any(
            rank not in hosts[host]
            and rank <= max(map(max, hosts.values()))  # what one alone disputed is gone from the list
            for host, rank in introduced
            if host in hosts
        )
    )
