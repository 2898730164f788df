"""Processes by the number in the name of their files: `worker-1f2c-20552.err` tells the rank, `stacks/20552.txt` what it does.

A number in a file's name is a pid where another record knows a process by it whose rank nobody tells. It is joined to the rank
that the file's own lines tell, if no other file disagrees, or that another record of the process has (its status in /proc). So is a number before the words of such a file that a parser tells without a rank.
"""

from collections import defaultdict
from collections.abc import Mapping

import polars as pl

from forensics.assemble.identity import rank_of_file
from parsers.schema.tables import TableName, table
from parsers.text.patterns import regex
from parsers.who.head_pids import HOW as AT_HEADS

_NUMBER = regex(r"(?<![0-9A-Za-z])\d{4,10}(?![0-9A-Za-z])")
HOW = "pid in the name of its file"


def with_named_pids(tables: Mapping[TableName, pl.DataFrame]) -> dict[TableName, pl.DataFrame]:
    """Tables of one attempt → the same, with a row of `ranks` for each such process."""
    told = set(tables["ranks"].filter(pl.col("rank").is_not_null())["pid"].drop_nulls().to_list())
    wanted = set(tables["stacks"].filter(pl.col("rank").is_null())["pid"].drop_nulls().to_list()) - told
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
    pairs = {pid: min(said) for pid, said in sorted(named.items()) if len({rank for rank, _ in said}) == 1}
    one = [rank for rank, _ in pairs.values()]
    rows = [
        {"rank": rank, "pid": pid, "how": HOW, "file": file}
        for pid, (rank, file) in pairs.items()
        if one.count(rank) == 1
    ]
    return {**tables, "ranks": pl.concat([tables["ranks"], table("ranks", rows)])}
