"""Calls that ranks log themselves, each with a number of its own count: an operation in each line, and a number that grows by one from line to line.

    rk0 oplog #5126 step 400 reduce bucket=13                 {"rank": 3, "coll": 48, "op": "all_reduce", "step": 79}
    rk0 oplog #5127 step 400 reduce bucket=14                 rk2 oplog #5127 step 400 broadcast bucket=0

What a line calls its numbers its words do not tell. What does: the same place in all its lines of operations counts them one by one, to the same last number in all logs
of the job, and all of them tell the same operation at the number before. Rows of `operations` then, as lines of a library's enqueued
collectives are (facts/waits/called_positions.py), of one communicator of all ranks; nothing where anything else recorded operations.
"""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, NamedTuple

import polars as pl

from forensics.assemble.starts.apart import numbered_lines, own_logs
from parsers.schema.tables import TableName, Tables, table
from parsers.text.op_types import operation
from parsers.text.patterns import regex
from parsers.text.whole_numbers import whole_numbers

_OP = regex(
    r"(?i)(?<![\w./-])(?:all[-_]?reduce|all[-_]?gather|reduce[-_]?scatter|all[-_]?to[-_]?all|alltoall|broadcast|bcast|reduce|gather|scatter|barrier)(?:_into_tensor|_tensor|_base|_single|v)?(?![\w./-])"
)
_FEWEST = 4  # lines of operations of each log
_RANKS = 3
COMM = "the log's own count"


class _Call(NamedTuple):
    number: int
    kind: str
    line: int


def with_logged_calls(tables: Tables, job: frozenset[int]) -> dict[TableName, pl.DataFrame]:
    """Tables of one attempt, ranks global; `job`: its ranks if its size is told → the same with such rows."""
    if tables["operations"].height or len(job) < _RANKS:
        return dict(tables)
    logs: dict[int, tuple[str, list[_Call]]] = {}
    for row in own_logs(tables).filter(pl.col("rank").is_in([*job])).sort("file").iter_rows(named=True):
        if calls := _calls(row):
            logs.setdefault(row["rank"], (row["file"], calls))
    if logs.keys() != job or len({calls[-1].number for _, calls in logs.values()}) != 1:
        return dict(tables)
    before = {calls[-2].kind for _, calls in logs.values()}
    last = {calls[-1].kind for _, calls in logs.values()}
    if len(before) != 1 or len(last) < 2:
        return dict(tables)
    rows, groups = [], []
    for rank, (file, calls) in sorted(logs.items()):
        comm = f"{COMM} {rank}"
        place = {"file": file, "rank": rank}
        groups.append(place | {"group": comm, "comm": comm, "size": len(job), "how": "logged calls"})
        rows += [
            place | {"comm": comm, "seq": one.number, "kind": one.kind, "is_p2p": False, "line": one.line}
            for one in calls
        ]
    return {
        **tables,
        "operations": pl.concat([tables["operations"], table("operations", rows)]),
        "groups": pl.concat([tables["groups"], table("groups", groups)]),
    }


def _calls(row: Mapping[str, Any]) -> list[_Call]:
    """The calls that a log, a row of `files`, counts, in order; none where no number of its lines of operations counts them."""
    found = []
    for number, line in numbered_lines(row):
        named = {operation(one) for one in _OP.findall(line)}
        if len(named) == 1:
            found.append((number, named.pop(), whole_numbers(line)[2]))
    if len(found) < _FEWEST:
        return []
    shortest = min(len(numbers) for _, _, numbers in found)
    counting = [
        place for place in range(shortest)
        if all(after[place] - before[place] == 1 for (_, _, before), (_, _, after) in pairwise(found))
    ]  # fmt: skip
    return [_Call(numbers[counting[0]], str(kind), line) for line, kind, numbers in found] if len(counting) == 1 else []
