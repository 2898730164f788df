"""Processes by the number in the name of their files: `worker-1f2c-20552.err` tells the rank, `stacks/20552.txt` what it does.

A number in a file's name is a pid where another record knows a process by it whose rank nobody tells. It is joined to the rank
that the file's own lines tell, if no other file disagrees, or that another record of the process has (its status in /proc). So is a number before the words of such a file that a parser tells without a rank.

Processes that a library numbers by their host need no file in a job that has one rank on each: they are these ranks.

    n2:21274:21274 [0] NCCL INFO Bootstrap : Using eth1:10.0.0.2<0>        and a launcher's map: rank 4 runs on n2, and nobody else

Where all ranks of a job of known size are placed, each on a host of its own, the one process of it that tells an address of a host is its rank's.
"""

from collections import defaultdict
from collections.abc import Mapping, Set

import polars as pl

from forensics.assemble.who.identity import ENDS, rank_of_file
from forensics.model.hosts import short_host, short_hosts
from forensics.model.told import values
from parsers.schema.tables import TableName, Tables, table
from parsers.text.patterns import regex
from parsers.text.unanimous import unanimous
from parsers.who.labels.head_pids import HOW as AT_HEADS

_NUMBER = regex(r"(?<![0-9A-Za-z])\d{4,10}(?![0-9A-Za-z])")
_PART = regex(r"[^./_]+")
_PAIR = 2  # processes that may have one number by chance
HOW = "pid in the name of its file"
_ALONE = "the one process of its host"
_FEWEST = 2  # ranks


def with_named_pids(tables: Tables) -> dict[TableName, pl.DataFrame]:
    """Tables of one attempt → the same, with a row of `ranks` for each such process."""
    tables = _with_one_a_host(tables)
    told = values(tables["ranks"].filter(pl.col("rank").is_not_null())["pid"])
    ends = tables["events"].filter(pl.col("kind").is_in(ENDS) & pl.col("rank").is_null())
    failed = tables["events"].filter(pl.col("rank").is_null() & pl.col("severity").is_in(["error", "fatal"]))
    lacking = (tables["stacks"].filter(pl.col("rank").is_null())["pid"], ends["pid"], failed["pid"])
    wanted = {pid for own in lacking for pid in own.drop_nulls().to_list()} - told
    if not wanted:
        return dict(tables)
    named: defaultdict[int, set[tuple[int, str]]] = defaultdict(set)
    ranks = dict(rank_of_file(tables).iter_rows())
    shown = tables["stacks"].select("pid", "rank", "file").drop_nulls().unique().sort("pid", "file")
    for pid, rank, file in shown.iter_rows():
        if pid in wanted:
            named[pid].add((rank, file))
    printed = tables["ranks"].filter(pl.col("rank").is_null() & (pl.col("how") == AT_HEADS)).select("pid", "file")
    for pid, file in printed.drop_nulls().iter_rows():
        if pid in wanted and file in ranks:
            named[pid].add((ranks[file], file))
    for file, rank in ranks.items():
        for number in map(int, _NUMBER.findall(file.rpartition("/")[2])):
            if number in wanted:
                named[number].add((rank, file))
    hosts: dict[int, str] = unanimous(tables["ranks"].select("rank", "host").drop_nulls().unique().iter_rows())
    places = frozenset(map(short_host, ends["host"].drop_nulls().to_list()))
    pairs = [
        (rank, pid, host, file)
        for pid, said in sorted(named.items())
        for rank, file, host in _whose(said, hosts, places)
    ]
    one = [rank for rank, *_ in pairs]
    rows = [
        {"rank": rank, "pid": pid, "host": host, "how": HOW, "file": file}
        for rank, pid, host, file in pairs
        if one.count(rank) == 1
    ]
    return {**tables, "ranks": pl.concat([tables["ranks"], table("ranks", rows)])}


def _whose(said: Set[tuple[int, str]], hosts: Mapping[int, str], places: Set[str]) -> list[tuple[int, str, str | None]]:
    """rank, file, host: the only rank that is called by a number; or each on its host, as it says or the file's path, where two processes of two
    hosts have the same. More than two have it of the job."""
    if len({rank for rank, _ in said}) == 1:
        return [(*min(said), None)]
    placed: dict[str, tuple[int, str, str | None]] = {}
    for rank, file in sorted(said):
        in_path = places & set(_PART.findall(file))
        host = hosts.get(rank) or (min(in_path) if len(in_path) == 1 else None)
        if host is not None and placed.setdefault(host, (rank, file, host))[0] != rank:
            return []
    return [*placed.values()] if len({rank for rank, _ in said}) == _PAIR else []


def _with_one_a_host(tables: Tables) -> dict[TableName, pl.DataFrame]:
    """Tables of one attempt → the same, with a row of `ranks` for each such process."""
    claims = tables["ranks"]
    nobody = claims.filter(pl.col("rank").is_null()).drop_nulls(["host", "pid", "address"]).with_columns(short_hosts())
    world = claims["world_size"].max()
    if not nobody.height or not isinstance(world, int) or world < _FEWEST:
        return dict(tables)
    placed = claims.with_columns(short_hosts()).select("rank", "host").drop_nulls().unique()
    are_apart = placed["rank"].n_unique() == placed["host"].n_unique() == placed.height == world
    if not are_apart or placed["rank"].max() != world - 1 or set(nobody["pid"]) & set(claims.drop_nulls("rank")["pid"]):
        return dict(tables)
    first = nobody.sort("file", "line").unique(["host", "pid"], keep="first", maintain_order=True)
    alone = first.filter(pl.len().over("host") == 1).drop("rank").join(placed, on="host", maintain_order="left")
    rows = alone.select("rank", "host", "pid", "file", "line", how=pl.lit(_ALONE)).to_dicts()
    return {**tables, "ranks": pl.concat([claims, table("ranks", rows)])}
