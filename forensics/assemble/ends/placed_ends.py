"""Whose end is told: the rank of ends, kills and exits of processes, from whatever their lines name.

An end names its process by pid, local rank, a number in somebody's count, a name of a program, a unit, a container, a pod, or the tasks
of srun. Each is asked of what the bundle holds:

- a **name**: the only rank that runs under it as its host (pod, container), whose file is called so (beside or below the end's own file
  first), whom a claim calls so (`ranks.name`), or whose pid its launcher told with it;
- a **device** of a host: the rank that introduced itself with it;
- a **name with a number** on a host: the rank of that place, where these names' numbers are all its local ranks and no others;
- a **local rank**: the rank that the same file claims it for, where each process has its own claim;
- a **number**: a rank where the lines of one file number every process of a world that is told, or of which each rank left a line, 0 to the last, each once, or where all
  but this one rank of it say that they lost others, or were stopped by whoever tells the number. A launcher that numbers its own processes, loaders or agents does neither;
- **all of a place**: what a launcher says of all its processes at once holds of the ranks of its host, or of its file, where these
  are as many;
- **tasks of srun**: ranks where its lines account for just as many tasks as the job has ranks (of a job whose size is not told: as ranks
  left a line, or just 0 … N-1 where none did), or where the ranks' own hosts agree with the tasks' and there are more tasks than hosts. Where torchrun ran below srun,
  a task is a node's launcher. What ended by SIGTERM or SIGKILL after srun began to stop the step was stopped by it.

Names that mean two ranks mean nobody; places may call their processes alike (heard_names.py). A plain code of something that is only named, and by no name that is known, is of another program.

Fooled by: a job script that gives ranks another order than tasks and prints no host; srun's default order is assumed.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
import polars as pl

from forensics.assemble.ends.heard_names import HeardNames
from forensics.assemble.ends.only_end import of_the_only_end
from forensics.assemble.who.identity import ENDS, rank_of_file
from forensics.model.hosts import hosts_of_ranks, short_host
from forensics.model.signals import signal_of
from forensics.model.told import values
from parsers.schema.tables import TableName, Tables, table
from parsers.text.patterns import regex
from parsers.text.unanimous import unanimous
from parsers.who.lines.introductions import PROCESS

Row = dict[str, Any]
_STOPPING = ("terminating", "terminated", "cancelled", "time_limit", "preemption", "node_failure")
# Who says that it lost others was alive then: what was killed beside it was another process of its container.
_GAVE_UP = ("remote_error", "peer_closed", "collective_timeout", "store_timeout")
_MARK = regex(r"(?<=[A-Za-z0-9])[-._]+")
_INSTANCE = regex(r"(\S{0,80}[A-Za-z@_.:-])(\d{1,3})")
_FILE_NUMBER = regex(r"\d{1,7}")
_STEM = regex(r"[A-Za-z]+")


class Job(msgspec.Struct, frozen=True):
    """Ranks of the job: all that there may be; those of a size that is told, else none; those that left a record."""

    ranks: frozenset[int]
    told: frozenset[int]
    seen: frozenset[int]


def with_placed_ends(tables: Tables, job: Job, identity: pl.DataFrame) -> dict[TableName, pl.DataFrame]:
    """Tables of one attempt, ranks global where they are told → the same, with the rank of ends that can be placed; a row for each
    task of srun, and one of kind closing_signal where srun stopped it."""
    events = tables["events"]
    detail = pl.col("detail").fill_null("")
    is_open = pl.col("kind").is_in(ENDS) & (pl.col("rank").is_null() | detail.str.contains('"number"'))
    of_pod = (pl.col("kind") == "host_oom") & pl.col("rank").is_null() & detail.str.contains('"containers": ')
    is_open = (is_open | of_pod).fill_null(False)
    if not events.select(is_open.any()).item():
        return of_the_only_end(tables)
    rows = [row | {"_said": _said(row)} for row in events.filter(is_open).iter_rows(named=True)]
    names = _Names(tables, identity, rows, job.told)
    gave_up = values(events.filter(pl.col("kind").is_in(_GAVE_UP))["rank"])
    # Where no size is told, ranks that all left a line are the job if a list numbers as many processes; nodes are none.
    is_whole = job.seen == frozenset(range(len(job.seen))) and job.ranks <= job.seen
    known = job.told or (job.seen if is_whole else frozenset())
    closed = events.filter((pl.col("kind") == "closing_signal") & (pl.col("rank_space") == "global"))
    stopped: dict[str, set[int]] = dict(closed.group_by("file").agg(pl.col("rank")).iter_rows())
    alive = {file: gave_up | {*stopped.get(file, ())} for file in {row["file"] for row in rows}}
    of_numbers, stems = _of_numbers(tables["files"], known)
    counted = rows if job.told else [
        row if (of := row["_said"].get("of")) in PROCESS or of in stems else row | {"_said": {}} for row in rows
    ]  # fmt: skip
    numbered = _numbered(counted, known, alive, of_numbers)
    ranks = numbered | _of_a_place(rows, tables, identity)
    for at, row in enumerate(rows):
        rank = names.rank(row) if row["rank"] is None else None
        is_for_memory = row["kind"] == "host_oom" or row["code"] == "Out Of Memory"
        if rank is not None and not (is_for_memory and rank in gave_up):
            ranks[at] = rank
    placed = [
        row | ({"rank": ranks[at], "rank_space": "global"} if at in ranks else {})
        for at, row in enumerate(rows)
        if at in ranks or not _is_of_another(row)
    ]
    placed += _of_tasks([row for row in rows if row["_said"].get("tasks")], tables, job, identity)
    made = table("events", [{name: value for name, value in row.items() if name != "_said"} for row in placed])
    return of_the_only_end({**tables, "events": pl.concat([events.filter(~is_open), made])})


def _said(row: Row) -> Row:
    try:
        found = json.loads(row["detail"] or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _is_of_another(row: Row) -> bool:
    """Does a line tell of something by a name that no process of the job has, with a code that any program may end with, or of a step of a scheduler's?"""
    said = row["_said"]
    is_any = signal_of(row["code"]) is None or said.get("step") is True
    return said.get("only") == "names" and row["pid"] is None and is_any


class _Names:
    """What ranks are called: each name once in its place (a file, a folder), and anywhere."""

    def __init__(self, tables: Tables, identity: pl.DataFrame, ends: list[Row], job: frozenset[int]) -> None:
        self._of_host = unanimous(((short_host(host), rank) for rank, host in hosts_of_ranks(identity).items()))
        claims = tables["ranks"]
        told = claims.filter(pl.col("rank").is_not_null())
        local = told.select("file", "local_rank", "rank").drop_nulls()
        self._of_local = unanimous(((file, number), rank) for file, number, rank in local.iter_rows())
        device = told.select("host", "device_index", "rank").drop_nulls()
        self._of_device = unanimous((((short_host(host), number), rank) for host, number, rank in device.iter_rows()))
        self._of_instance = _instances(told, ends)
        paths = [str(file) for file in tables["files"]["file"]]
        pids = HeardNames(told.select("pid", "file", "rank").drop_nulls().iter_rows(), paths, job)
        called: list[tuple[str, str, int | None]] = []
        for file, name, rank, pid in claims.select("file", "name", "rank", "pid").drop_nulls("name").iter_rows():
            own = pids.rank(pid, str(file)) if rank is None else rank
            called += [(name, str(file), own)] if own is not None else []
        for file, host, rank in told.select("file", "host", "rank").drop_nulls().iter_rows():
            called += [(name, str(file), rank) for name in dict.fromkeys((str(host), short_host(str(host))))]
        owners = _files(tables, told)
        for file in dict.fromkeys([*map(str, owners), *paths]):
            called += [(name, file, owners.get(file)) for name in dict.fromkeys(_beginnings(file.rpartition("/")[2]))]
        self._heard = HeardNames(called, paths, job)

    def rank(self, row: Row) -> int | None:
        """The rank of whom an end speaks."""
        found = {rank for rank in self._found(row) if rank is not None}
        return found.pop() if len(found) == 1 else None

    def _found(self, row: Row) -> Iterator[int | None]:
        said = row["_said"]
        if row["pid"] is not None:
            return
        if row["host"] and row["device_index"] is not None and row["local_rank"] is None:
            yield self._of_device.get((short_host(row["host"]), row["device_index"]))
        if row["local_rank"] is not None:
            yield self._of_local.get((row["file"], row["local_rank"]))
            return
        if told := said.get("name") or (row["host"] if _is_of_container(row) else None):
            yield self._called(str(told), row, short_host(str(told)))
        for name in (*(said.get("names") or ()), *([said["name"]] if said.get("name") else ())):
            for word in dict.fromkeys(_variants(str(name))):
                if row["host"]:
                    yield self._of_instance.get((short_host(row["host"]), word))
                yield self._called(word, row, word)

    def _called(self, name: str, row: Row, host: str) -> int | None:
        """The rank that is called so, else the only one of a host of that name."""
        return self._heard.rank(name, row["file"]) if self._heard.knows(name) else self._of_host.get(host)


def _instances(told: pl.DataFrame, ends: list[Row]) -> dict[tuple[str, str], int]:
    """(host, name) → rank of who runs there under a name and a number, where these numbers are the local ranks of that host, all and
    no others (systemd's `trainer@3`)."""
    places: defaultdict[str, dict[int, int]] = defaultdict(dict)
    local = told.select("host", "local_rank", "rank").drop_nulls()
    for (host, number), rank in unanimous((((short_host(h), n), rank) for h, n, rank in local.iter_rows())).items():
        places[host][number] = rank
    called: defaultdict[tuple[str, str], dict[int, str]] = defaultdict(dict)
    for row in ends if places else ():
        for name in row["_said"].get("names") or ():
            for word in dict.fromkeys(_variants(str(name))):
                if row["host"] and (found := _INSTANCE.fullmatch(word)):
                    called[short_host(row["host"]), found[1]][int(found[2])] = word
    return {
        (host, word): places[host][number]
        for (host, _), own in called.items()
        if len(own) > 1 and own.keys() == places[host].keys()
        for number, word in own.items()
    }


def _files(tables: Tables, told: pl.DataFrame) -> dict[str, int]:
    """File → the rank that speaks in it, or that its path or a document gives it; also of files beside each other that each claim one rank,
    and each another one."""
    given = tables["files"].filter(pl.col("bytes") > 0).select("file", "rank").drop_nulls().iter_rows()
    claimed: dict[str, int] = unanimous(told.select("file", "rank").unique().iter_rows())
    folders: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for file, rank in claimed.items():
        folders[file.rpartition("/")[0]][file] = rank
    apart = [own for own in folders.values() if 1 < len(own) == len(set(own.values()))]
    told_apart = {file: rank for own in apart for file, rank in own.items()}
    return dict(given) | told_apart | dict(rank_of_file(tables).iter_rows())


def _beginnings(name: str) -> Iterator[str]:
    """What a file may be called after: `ddp_02-stdout---supervisor-x1.log` is of ddp_02."""
    yield name.split(".", 1)[0]
    yield from (name[: mark.start()] for mark in _MARK.finditer(name))


def _variants(name: str) -> Iterator[str]:
    """A name, without the group before it (supervisord's `job:rank3`), without what kind of unit it is, its instance alone (systemd's `train@gpu2`)."""
    yield name
    yield name.rpartition(":")[2]
    unit = name.removesuffix(".service")
    yield unit
    yield unit.rpartition("@")[2]


def _is_of_container(row: Row) -> bool:
    """Is it told of a container that is all that runs under the name of its host, and of its last run?"""
    said = row["_said"]
    is_alone = said.get("containers") == 1 and not said.get("is_earlier")
    return bool(row["host"]) and (is_alone or str(row["text"] or "").startswith(f"{row['host']} exited"))


def _numbered(
    rows: list[Row], told: frozenset[int], alive: Mapping[str, set[int]], of_numbers: Mapping[int, int]
) -> dict[int, int]:
    """Place in the list → rank: a launcher's numbers are ranks, but where its files, by the same numbers, are of other ones. `alive`: by file, who
    lived on when another had ended."""
    lists: defaultdict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
    for at, row in enumerate(rows):
        number = row["_said"].get("number", row["local_rank"] if row["host"] is None else None)
        if isinstance(number, int) and row["kind"] == "exit":
            lists[row["file"], str(row["_said"].get("of"))].append((at, number))
    whole = [
        own for (file, _), own in lists.items()
        if told and (sorted(number for _, number in own) == sorted(told) or (len(left := told - alive[file]) == 1 < len(told) - 1 and left == {number for _, number in own}))
    ]  # fmt: skip
    return {at: of_numbers.get(number, number) for own in whole for at, number in own}


def _of_numbers(files: pl.DataFrame, told: frozenset[int]) -> tuple[dict[int, int], frozenset[str]]:
    """Number → rank, as files of one name but for their number tell, one for each rank; empty where two such names differ. And the words before
    that number: `worker` of worker2.log."""
    shapes: defaultdict[str, dict[int, int]] = defaultdict(dict)
    for path, rank in files.select("file", "rank").drop_nulls().iter_rows():
        *_, last = [None, *_FILE_NUMBER.finditer(path)]
        if last is not None:
            shapes[path[: last.start()] + path[last.end() :]][int(last[0])] = rank
    found = {shape: own for shape, own in shapes.items() if told and own.keys() == told and {*own.values()} == told}
    first = next(iter(found.values()), {})
    stems = [word[0] for shape in found if (word := _STEM.match(shape.rpartition("/")[2]))]
    return (first, frozenset(stems)) if all(own == first for own in found.values()) else ({}, frozenset())


def _of_a_place(rows: list[Row], tables: Tables, identity: pl.DataFrame) -> dict[int, int]:
    """Place in the list → rank, where a launcher says of all its processes at once how they ended, and just as many ranks are on its
    host, or speak in its file and in no other launcher's."""
    last: dict[str, int] = dict(tables["steps"].group_by("file").agg(pl.col("line").max()).drop_nulls().iter_rows())
    of_all = [at for at, row in enumerate(rows) if row["_said"].get("of") == "all" and row["kind"] == "exit"]
    # Else they are helpers of who goes on.
    said = [at for at in of_all if last.get(rows[at]["file"], 0) < (rows[at]["line"] or 0)]
    lists: defaultdict[tuple[str, int | None], list[int]] = defaultdict(list)
    for at in said:
        lists[rows[at]["file"], rows[at]["line"]].append(at)
    on_host: defaultdict[str, set[int]] = defaultdict(set)
    for rank, host in hosts_of_ranks(identity).items():
        on_host[short_host(host)].add(rank)
    claims = tables["ranks"].filter(pl.col("file").is_in(sorted({rows[at]["file"] for at in said})))
    places = claims.select("rank", "file").drop_nulls().unique()
    speaks: dict[int, str] = unanimous(places.iter_rows())
    in_file: defaultdict[str, set[int]] = defaultdict(set)
    for rank, file in speaks.items():
        in_file[file].add(rank)
    found: dict[int, int] = {}
    for (file, _), own in lists.items():
        host = rows[own[0]]["host"]
        here = on_host.get(short_host(host), set()) if host else set()
        here = here if len(here) == len(own) else in_file[file]
        if len(here) == len(own):
            found |= dict(zip(own, sorted(here), strict=True))
    return found


def _of_tasks(rows: list[Row], tables: Tables, job: Job, identity: pl.DataFrame) -> list[Row]:
    """srun's lines → a row for each of their tasks, where tasks are ranks."""
    rows = [row for row in rows if row["kind"] == "exit" and row["rank"] is None and _tasks(row)]
    if not rows or _has_launchers(tables) or not _are_ranks(rows, job, identity):
        return []
    events = tables["events"]
    stopping = events.filter((pl.col("kind") == "scheduler") & pl.col("code").is_in(_STOPPING))
    begun = dict(stopping.group_by("file").agg(pl.col("line").min()).iter_rows())
    return [
        {**row, "kind": kind, "rank": task, "rank_space": "global"}
        for row in rows
        for task in _tasks(row)
        for kind in (["exit", "closing_signal"] if _is_stopped(row, begun) else ["exit"])
    ]


def _tasks(row: Row) -> list[int]:
    found = row["_said"].get("tasks")
    return found if isinstance(found, list) and all(isinstance(task, int) for task in found) else []


def _has_launchers(tables: Tables) -> bool:
    """Did torchrun speak?"""
    how = tables["ranks"]["how"].fill_null("").str.contains("elastic").any()
    return bool(how) or bool(tables["events"]["kind"].is_in(["first_failure", "closing_signal"]).any())


def _are_ranks(rows: list[Row], job: Job, identity: pl.DataFrame) -> bool:
    place = hosts_of_ranks(identity)
    tasks = {task for row in rows for task in _tasks(row)}
    agree: set[int] = set()
    for row in rows:
        host = short_host(row["names_hosts"][0]) if row["names_hosts"] else None
        for task in _tasks(row):
            if host is not None and task in place:
                if place[task] != host:
                    return False
                agree.add(task)
    if not job.ranks:
        # Then those that left a line, else 0 … N-1, are the job, unless there is one task per host, as of launchers.
        hosts = {host for row in rows for host in row["names_hosts"] or ["?"]}
        return tasks == (job.seen or {*range(len(tasks))}) and len(tasks) > len(hosts)
    more_than_hosts = max(tasks) >= len(set(place.values()))
    return tasks == job.ranks or (tasks <= job.ranks and agree == tasks and more_than_hosts)


def _is_stopped(row: Row, begun: Mapping[str, int]) -> bool:
    """Signalled after srun began to stop the step; of lines in different files the order is not known."""
    if signal_of(row["code"]) not in ("SIGTERM", "SIGKILL") or not begun:
        return False
    return row["file"] not in begun or begun[row["file"]] < (row["line"] or 0)
