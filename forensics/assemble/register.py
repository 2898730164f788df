"""Who is who: every statement "this is that", with its place, and the programs whose ranks are spaces of their own.

A process is a rank of a program. That it runs on a host, has a pid, a local rank, a device, a file is *said*: by itself
(introductions, labels and files, parsers/speakers.py), by launchers, libraries, stacks. Statements that disagree stay side by
side; `identity.identify` takes the one that most agree on.

**Programs** are told apart by a folder: where files of different folders beside each other speak for the same ranks, at
the same time, as different processes. Two folders that hold one process of each rank, its streams or its dumps and its logs, are
one program.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from itertools import combinations

import msgspec
import polars as pl

from parsers.tables import TableName, spelled

Tables = Mapping[TableName, pl.DataFrame]
NAMES = {  # column of `ranks` → what it is called
    "host": "host",
    "pid": "pid",
    "local_rank": "local rank",
    "device_index": "device",
    "pci": "PCI address",
    "uuid": "UUID",
    "address": "address",
    "world_size": "world",
}
SCHEMA = {
    "rank": pl.Int64(),  # null: a process whose rank nobody tells, named by its pid
    "name": pl.String(),  # one of NAMES' values, or file
    "value": pl.String(),
    "times": pl.UInt32(),  # how often it was said
    "how": pl.String(),  # which record said it first
    "file": pl.String(),
    "line": pl.Int64(),  # null: the name of the file, or a record in it
}
_FEWEST = 2  # ranks that two folders share
_MOST = 16  # folders beside each other that may be programs; hosts and processes are more


class Program(msgspec.Struct, frozen=True):
    """One of several programs: the folder that it is named after, the size of its world if told, ranks that speak in its files."""

    name: str
    world: int | None
    ranks: frozenset[int]
    files: frozenset[str]


def register(tables: Tables) -> pl.DataFrame:
    """Tables of one attempt, ranks global → each thing that is said of each process once, with its first place (SCHEMA), by rank."""
    said = [
        _claims(tables["ranks"]),
        _files(tables["files"]),
        _pids(tables["stacks"], "stack"),
        _pids(tables["events"], "lines"),
    ]
    rows = pl.concat(said).sort("file", "line", nulls_last=True)
    one = ["rank", "name", "value"]
    told = rows.group_by(one, maintain_order=True).agg(pl.len().alias("times"), pl.first("how", "file", "line"))
    own = told.filter(pl.col("rank").is_not_null() & (pl.col("name") == "pid"))["value"]
    named = told.filter(pl.col("rank").is_not_null() | ~pl.col("value").is_in(own.implode()))
    order = {name: at for at, name in enumerate(("file", *NAMES.values()))}
    at = pl.col("name").replace_strict(order, default=len(order), return_dtype=pl.Int64)
    return named.sort("rank", at, "value", nulls_last=True).select(*SCHEMA)


def _claims(ranks: pl.DataFrame) -> pl.DataFrame:
    """Statements of the table `ranks`, one name a row."""
    told = ranks.filter(pl.col("rank").is_not_null())
    parts = [_named(told, column, name, pl.col("how")) for column, name in NAMES.items()]
    return pl.concat(parts)


def _files(files: pl.DataFrame) -> pl.DataFrame:
    """Files of one process."""
    return _named(
        files.with_columns(line=pl.lit(None, pl.Int64), value=pl.col("file")), "value", "file", pl.lit("file")
    )


def _pids(frame: pl.DataFrame, how: str) -> pl.DataFrame:
    """Processes that a record numbers, with their rank or without; not where a rank counts within a group."""
    is_global = pl.col("rank_space").eq_missing(pl.lit("global")) if "rank_space" in frame.columns else pl.lit(True)
    rank = pl.when(is_global).then("rank").alias("rank")
    return _named(frame.with_columns(rank), "pid", "pid", pl.lit(how), with_nobody=True)


def _named(frame: pl.DataFrame, column: str, name: str, how: pl.Expr, *, with_nobody: bool = False) -> pl.DataFrame:
    told = frame.filter(pl.col(column).is_not_null() & (pl.lit(with_nobody) | pl.col("rank").is_not_null()))
    value = pl.col(column).cast(pl.String).alias("value")
    own = told.select(
        "rank", pl.lit(name).alias("name"), value, how.alias("how"), pl.col("file").cast(pl.String), "line"
    )
    return own.cast({key: kind for key, kind in SCHEMA.items() if key in own.columns})


def programs(tables: Tables) -> list[Program]:
    """Tables of one attempt → its programs by name, none where the bundle shows one."""
    files = tables["files"].select("file", "time_first_ns", "time_last_ns")
    spans = {file: (first, last) for file, first, last in files.iter_rows()}
    ranks: defaultdict[str, set[int]] = defaultdict(set)
    pids: defaultdict[str, set[tuple[int, int]]] = defaultdict(set)
    for file, rank, pid in _speaking(tables).iter_rows():
        for folder in _folders(file):
            ranks[folder].add(rank)
            if pid is not None:
                pids[folder].add((rank, pid))
    beside: defaultdict[str, list[str]] = defaultdict(list)
    for folder in sorted(folder for folder, own in pids.items() if len(own) >= _FEWEST):
        beside[folder.rpartition("/")[0]].append(folder)
    apart = {
        folder
        for folders in beside.values()
        for one, other in combinations(folders[:_MOST], 2)
        if _are_two(ranks[one] & ranks[other], pids[one], pids[other]) and _at_once(one, other, spans)
        for folder in (one, other)
    }
    worlds = _worlds(tables["ranks"])
    found = []
    for folder in sorted(apart):
        own = frozenset(file for file in spans if file.startswith(f"{folder}/"))
        told = [worlds[file] for file in sorted(own) if file in worlds]
        found.append(Program(folder.rpartition("/")[2], max(told, default=None), frozenset(ranks[folder]), own))
    return found


def program_of(found: Iterable[Program], files: Iterable[str]) -> str | None:
    """The program that most of these files are of, null where that is none."""
    counts = Counter(one.name for file in files for one in found if file in one.files)
    return counts.most_common(1)[0][0] if counts else None


def _are_two(shared: set[int], one: set[tuple[int, int]], other: set[tuple[int, int]]) -> bool:
    """Do ranks that both have belong to different processes in each?"""
    mine, theirs = (dict(own) for own in (one, other))
    both = shared & mine.keys() & theirs.keys()
    return len(both) >= _FEWEST and all(mine[rank] != theirs[rank] for rank in both)


def _at_once(one: str, other: str, spans: Mapping[str, tuple[int | None, int | None]]) -> bool:
    """Do files of both show times that overlap? One after the other they are attempts."""
    mine, theirs = (_span(folder, spans) for folder in (one, other))
    return mine is not None and theirs is not None and mine[0] <= theirs[1] and theirs[0] <= mine[1]


def _span(folder: str, spans: Mapping[str, tuple[int | None, int | None]]) -> tuple[int, int] | None:
    own = [(first, last) for file, (first, last) in spans.items() if file.startswith(f"{folder}/") and first and last]
    return (min(first for first, _ in own), max(last for _, last in own if last)) if own else None


def _speaking(tables: Tables) -> pl.DataFrame:
    """file, rank, pid: who claims to be whom in which file."""
    claims = tables["ranks"].filter(pl.col("how") != "elastic failure table").select("file", "rank", "pid")
    stacks = tables["stacks"].select("file", "rank", "pid")
    own = tables["files"].select("file", "rank", pl.lit(None, pl.Int64).alias("pid"))
    parts = [spelled(frame.filter(pl.col("rank").is_not_null()).unique()) for frame in (claims, stacks, own)]
    return pl.concat(parts).unique(maintain_order=True).sort("file", "rank", "pid")


def _folders(file: str) -> list[str]:
    """All folders that hold a file, the outer first."""
    parts = file.split("/")[:-1]
    return ["/".join(parts[: at + 1]) for at in range(len(parts))]


def _worlds(ranks: pl.DataFrame) -> dict[str, int]:
    told = ranks.filter(pl.col("world_size").is_not_null())
    return dict(told.group_by("file").agg(pl.col("world_size").max()).iter_rows())
