"""Who is who: every statement "this is that", with its place, and the programs whose ranks are spaces of their own.

A process is a rank of a program. That it runs on a host, has a pid, a local rank, a device, a file is *said*: by itself
(introductions, labels and files, parsers/who/speakers.py), by launchers, libraries, stacks. Statements that disagree stay side by
side; `identity.identify` takes the one that most agree on.

**Programs** are told apart by a folder, or by the words in which names of files beside each other differ (`rank_0.engine.log`,
`rank_0.trainer.log`): where both speak for the same ranks, at the same time, as different processes, or one for all of a world that the other's ranks are beyond. Two that hold one process
of each rank, its streams or its dumps and its logs, are one program. A file beside the folders that is called as one of them is its, too. The launcher of an engine that numbers shards of its own says so
itself. A server has no ranks: then it is told by the folder in which a process raised something that is none of the ranks beside it.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Set
from itertools import combinations
from operator import attrgetter, itemgetter
from pathlib import PurePosixPath
from typing import NamedTuple

import msgspec
import polars as pl

from forensics.assemble.runs.launches import widest
from parsers.schema.parser import PATH
from parsers.schema.tables import TableName, Tables, spelled
from parsers.text.patterns import regex
from parsers.who.labels.engine_labels import SHARD

_Spans = Mapping[str, tuple[int | None, int | None]]
_DIGITS = regex(r"\d+")
_WORD = regex(r"[A-Za-z]+")
NAMES = {  # column of `ranks` → what it is called
    "host": "host",
    "pid": "pid",
    "local_rank": "local rank",
    "device_index": "device",
    "pci": "PCI address",
    "uuid": "UUID",
    "address": "address",
    "name": "name",
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
_JOB = "job"
_MOST = 16  # folders beside each other that may be programs; hosts and processes are more


class _Place(NamedTuple):
    """A folder, or, without a name, the files of a folder whose names have one shape (`rank_#.engine.log`)."""

    parent: str
    name: str | None
    shape: str = ""


class Program(msgspec.Struct, frozen=True):
    """One of several programs: the folder, or the word in names of files, that it is named after, the size of its world if told, ranks that speak in its files."""

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
    times = pl.struct("file", "line").n_unique().alias("times")  # one line may be read twice
    told = rows.group_by(one, maintain_order=True).agg(times, pl.first("how", "file", "line"))
    own = told.filter(pl.col("rank").is_not_null() & (pl.col("name") == "pid"))["value"]
    named = told.filter(pl.col("rank").is_not_null() | ~pl.col("value").is_in(own.implode()))
    order = {name: at for at, name in enumerate(("file", *NAMES.values()))}
    at = pl.col("name").replace_strict(order, default=len(order), return_dtype=pl.Int64)
    return named.sort("rank", at, "value", nulls_last=True).select(*SCHEMA)


def _claims(ranks: pl.DataFrame) -> pl.DataFrame:
    """Statements of the table `ranks`, one name a row."""
    return pl.concat([_named(ranks, column, name, pl.col("how")) for column, name in NAMES.items()])


def _files(files: pl.DataFrame) -> pl.DataFrame:
    """Files of one process."""
    placed = files.with_columns(line=pl.lit(None, pl.Int64), value=pl.col("file"))
    return _named(placed, "value", "file", pl.lit("file"))


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
    files = tables["files"].select("file", "time_first_ns", "time_last_ns", "launch")
    spans = {file: (first, last) for file, first, last, _ in files.iter_rows()}
    launches = {file: launch for file, _, _, launch in files.iter_rows() if launch is not None}
    ranks: defaultdict[_Place, set[int]] = defaultdict(set)
    pids: defaultdict[_Place, set[tuple[int, int | str]]] = defaultdict(set)
    speaking = _speaking(tables)
    for file, rank, pid in speaking.iter_rows():
        for place in _places(file):
            ranks[place].add(rank)
            process = launches.get(file, pid)  # one launch has one process of each rank
            if process is not None:
                pids[place].add((rank, process))
    beside: defaultdict[tuple[str, bool], list[_Place]] = defaultdict(list)
    several = [place for place, own in ranks.items() if len(own) >= _FEWEST]
    for place in sorted(several, key=lambda own: (len(pids[own]) < _FEWEST, own.parent, own.name or "", own.shape)):
        beside[place.parent, place.name is None].append(place)
    own_files: defaultdict[_Place, set[str]] = defaultdict(set)
    for file in spans:
        for place in _places(file):
            own_files[place].add(file)
    worlds = _worlds(tables["ranks"])
    told_sizes = {place: [worlds[file] for file in own_files[place] if file in worlds] for place in several}
    sizes = {place: max(told, default=None) for place, told in told_sizes.items()}
    apart: dict[_Place, str] = {}
    for places in beside.values():
        for one, other in combinations(places[:_MOST], 2):
            shared = ranks[one] & ranks[other]
            is_other = _is_of_other_size(ranks[one], sizes[one], ranks[other], sizes[other])
            are_two = _are_two(shared, pids[one], pids[other]) or (is_other and not pids[one] & pids[other])
            is_named = _DIGITS.sub("", _word(one, other)) != _DIGITS.sub("", _word(other, one))
            # A folder of looks at both counts itself off by no size.
            is_sure = is_other and is_named and None not in (sizes[one], sizes[other])
            if are_two and _at_once(own_files[one], own_files[other], spans, unless_told=is_sure):
                apart |= {one: _word(one, other), other: _word(other, one)}
    _called_so(own_files, apart, spans)
    found = []
    engines = _engines(speaking, tables["ranks"], worlds)
    shards = {file for one in engines for file in one.files}
    for place, name in sorted(apart.items(), key=itemgetter(1)):
        own = own_files[place] - shards
        told = [worlds[file] for file in sorted(own) if file in worlds]
        found.append(Program(name, max(told, default=None), frozenset(ranks[place]), frozenset(own)))
    if engines:
        found = found or _rest(speaking, shards)
        return sorted([*engines, *(one for one in found if one.files)], key=attrgetter("name"))
    return found or _without_ranks(tables, speaking)


def _called_so(own_files: Mapping[_Place, set[str]], apart: Mapping[_Place, str], files: Iterable[str]) -> None:
    """A file of no program is of the one that its path calls by name, as a word: the launcher's output, looks from outside."""
    placed = {file for place in apart for file in own_files[place]}
    names = {place: regex(rf"(?i)(?<![a-z]){re.escape(name)}(?![a-z])") for place, name in apart.items()}
    for file in files:
        called = [place for place, name in names.items() if file not in placed and name.search(file)]
        if len(called) == 1:
            own_files[called[0]].add(file)


def _engines(speaking: pl.DataFrame, claims: pl.DataFrame, worlds: Mapping[str, int]) -> list[Program]:
    """Engines by their files, where others have a rank that an engine has as well."""
    own_shards = claims.filter(pl.col("how") == SHARD)
    engines = {file: frozenset(own["rank"]) for (file,), own in own_shards.partition_by("file", as_dict=True).items()}
    others = frozenset(speaking.filter(~pl.col("file").is_in(list(engines)))["rank"])
    if not any(own & others for own in engines.values()):
        return []
    sizes = {file: len(own) if own == {*range(len(own))} else None for file, own in engines.items()}
    return [
        Program(PurePosixPath(file).stem, worlds.get(file, sizes[file]), own, frozenset({file}))
        for file, own in engines.items()
    ]


def _rest(speaking: pl.DataFrame, shards: Set[str]) -> list[Program]:
    """All others, by their folder."""
    rest = speaking.filter(~pl.col("file").is_in(list(shards)))
    folders = {file.rpartition("/")[0].rpartition("/")[2] for file in rest["file"]}
    name = folders.pop() if len(folders) == 1 else ""
    return [Program(name or _JOB, None, frozenset(rest["rank"]), frozenset(rest["file"]))]


def _without_ranks(tables: Tables, speaking: pl.DataFrame) -> list[Program]:
    """The folder in which all ranks speak, each of which tells its pid, and folders beside it in which a process of another number raised
    something, and no rank speaks: a server has none."""
    pids = dict(speaking.select("rank", "pid").drop_nulls().iter_rows())
    job = frozenset(speaking["rank"])
    events = spelled(tables["events"].select("file", "kind", "rank", "pid"))
    raised = events.filter((pl.col("kind") == "exception") & pl.col("rank").is_null() & pl.col("pid").is_not_null())
    others = {_folder(file) for file, pid in raised.select("file", "pid").iter_rows() if pid not in pids.values()}
    folders = {_folder(file) for file in speaking["file"]}
    if len(folders) != 1 or not others or "" in folders | others or folders & others or pids.keys() != job:
        return []
    files: defaultdict[str, set[str]] = defaultdict(set)
    for file in tables["files"]["file"].cast(pl.String):
        files[_folder(file)].add(file)
    world = max(_worlds(tables["ranks"]).values(), default=None)
    own = [Program(name, world, job, frozenset(files[name])) for name in folders]
    own += [Program(name, None, frozenset(), frozenset(files[name])) for name in others]
    return sorted(own, key=attrgetter("name"))


def _folder(file: str) -> str:
    """The outermost, empty where there is none."""
    return file.partition("/")[0] if "/" in file else ""


def of_program(tables: Tables, one: Program, several: Iterable[Program]) -> dict[TableName, pl.DataFrame]:
    """Tables of one attempt → without the files of the other programs, and what others tell of their processes alone; what is of none stays, but for
    what is concluded, from no one file, of processes that are not known as its own."""
    others = sorted({file for other in several if other is not one for file in other.files} - one.files)
    left = pl.Series(others, dtype=pl.String).implode()
    own = {name: frame.filter(~pl.col("file").cast(pl.String).is_in(left)) for name, frame in tables.items()}
    file, pids = pl.col("file").cast(pl.String), own["ranks"].filter(pl.col("file").cast(pl.String) != "")["pid"]
    ranks = own["ranks"].filter((file != "") | pl.col("pid").is_in(pids.drop_nulls().implode()).fill_null(False))
    theirs = tables["ranks"].filter(pl.col("file").cast(pl.String).is_in(left))["pid"].drop_nulls()
    is_theirs = pl.col("pid").is_in(theirs.filter(~theirs.is_in(ranks["pid"].drop_nulls().implode())).implode())
    events = own["events"].filter(~is_theirs.fill_null(False))
    return own | {"ranks": ranks, "events": events}


def program_of(found: Iterable[Program], files: Iterable[str]) -> str | None:
    """The program that most of these files are of, null where that is none."""
    counts = Counter(one.name for file in files for one in found if file in one.files)
    return counts.most_common(1)[0][0] if counts else None


def _are_two(shared: set[int], one: set[tuple[int, int | str]], other: set[tuple[int, int | str]]) -> bool:
    """Do ranks that both have belong to different processes in each?"""
    mine, theirs = (dict(sorted(own, key=str)) for own in (one, other))
    both = shared & mine.keys() & theirs.keys()
    return len(both) >= _FEWEST and all(mine[rank] != theirs[rank] for rank in both)


def _is_of_other_size(one: Set[int], size: int | None, other: Set[int], other_size: int | None) -> bool:
    """Are there all ranks of the size that is told in one place, and beyond it in the other, whose size is told as a larger one or not at all?"""
    if size is None or (other_size is not None and other_size < size):
        one, size, other, other_size = other, other_size, one, size
    is_whole = size is not None and len(one) >= _FEWEST and one == {*range(size)}
    return is_whole and size is not None and max(other, default=-1) >= size and other_size != size


def _at_once(one: Set[str], other: Set[str], spans: _Spans, *, unless_told: bool) -> bool:
    """Do files of both show times that overlap? One after the other they are attempts. `unless_told`: the answer where either shows none."""
    mine, theirs = (widest(spans[file] for file in files) for files in (one, other))
    if mine is None or theirs is None:
        return unless_told
    return mine[0] <= theirs[1] and theirs[0] <= mine[1]


def _speaking(tables: Tables) -> pl.DataFrame:
    """file, rank, pid: who claims to be whom in which file. A tracer may number a process otherwise than it does itself, in a container:
    its number tells no processes apart."""
    claims = tables["ranks"].filter(pl.col("how") != "elastic failure table").select("file", "rank", "pid")
    stacks = tables["stacks"].select("file", "rank", pl.lit(None, pl.Int64).alias("pid"))
    own = tables["files"].select("file", "rank", pl.lit(None, pl.Int64).alias("pid"))
    parts = [spelled(frame.filter(pl.col("rank").is_not_null()).unique()) for frame in (claims, stacks, own)]
    return pl.concat(parts).unique(maintain_order=True).sort("file", "rank", "pid")


def _places(file: str) -> list[_Place]:
    """What a program may be told apart by: all folders that hold a file, the outer first, and the shape of its name."""
    *parts, name = file[-PATH:].split("/")
    folders = [_Place("/".join(parts[:at]), parts[at]) for at in range(len(parts))]
    return [*folders, _Place("/".join(parts), None, _DIGITS.sub("#", name))]


def _word(one: _Place, other: _Place) -> str:
    """A folder's name; of shapes of names the words in which they differ."""
    if one.name is not None:
        return one.name
    words = _WORD.findall(one.shape)
    return "-".join(word for word in words if word not in _WORD.findall(other.shape)) or one.shape


def _worlds(ranks: pl.DataFrame) -> dict[str, int]:
    told = ranks.filter(pl.col("world_size").is_not_null())
    return dict(told.group_by("file").agg(pl.col("world_size").max()).iter_rows())
