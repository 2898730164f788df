"""Lists of what variables processes were given, by their pids: from `/proc/PID/environ`, as somebody noted them.

    4721 LOCAL_RANK=⏎ 6171 LOCAL_RANK=1                  a row a process; who has none began the others, and is the first
    /proc/6171/environ:RANK=1                              grep's, with the file before the match
    pid 6171: RANK=1 LOCAL_RANK=1                          a word before it

A rank is taken as it is said; those whom processes began are given theirs, and stand behind all of them. A local rank is the rank where the processes of a list are as many as the world has, and count from 0.
"""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from parsers.text.patterns import regex
from parsers.text.vocabulary import of_process
from parsers.who.lines.beginnings import Begun

HOW = "variables of processes"
_ROW = regex(r"(?:/proc/|pid[ :=]{1,2})?(?P<pid>\d{3,10})(?:/environ)?(?:[ \t:|,]{1,8})(?P<given>[A-Za-z_]\w{1,40}=.*)")
_GIVEN = regex(r"\b([A-Za-z_]\w{1,40})=(\d{1,7}\b)?")
_FEWEST = 2


def pids_of_variables(said: Begun, world: int | None, hosts: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """The beginnings of files, the size of the world that is told, path → host → rows of the table `ranks`."""
    for path, own in said.items():
        given: dict[str, dict[int, tuple[int | None, int]]] = {"rank": {}, "local_rank": {}}
        for one in own:
            if (found := _ROW.fullmatch(one.raw.strip())) is None:
                continue
            for name, value in _GIVEN.findall(found["given"]):
                if (what := of_process(name)) in given:
                    given[what][int(found["pid"])] = (int(value) if value else None, one.number)
        claims = _claims(path, given["rank"] or given["local_rank"], world, is_rank=bool(given["rank"]))
        yield from (claim | {"host": hosts.get(path)} for claim in claims)


def _claims(
    path: str, of_pids: Mapping[int, tuple[int | None, int]], world: int | None, *, is_rank: bool
) -> Iterator[dict[str, Any]]:
    unset = [pid for pid, (number, _) in of_pids.items() if number is None]
    numbers = _of_firsts({pid: number for pid, (number, _) in of_pids.items() if number is not None})
    if len(unset) == 1 and sorted(numbers.values()) == [*range(1, len(of_pids))]:
        numbers[unset[0]] = 0
    is_whole = sorted(numbers.values()) == [*range(len(of_pids))] and len(of_pids) == world
    if len(of_pids) < _FEWEST or len({*numbers.values()}) < len(numbers) or not (is_rank or is_whole):
        return
    for pid, number in numbers.items():
        if world is None or number < world:
            yield {"rank": number, "pid": pid, "how": HOW, "file": path, "line": of_pids[pid][1]}


def _of_firsts(numbers: dict[int, int]) -> dict[int, int]:
    """Without those whom others began, where all others stand before them."""
    firsts = dict(islice(numbers.items(), len({*numbers.values()})))
    return firsts if {*firsts.values()} == {*numbers.values()} else numbers
