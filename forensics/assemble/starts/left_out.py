"""Who did not come to a start that a service counted: `12/16 clients joined`, and it does not say who.

What the count leaves open others tell, where they tell of just as many as it leaves:
- ends: processes that ended by themselves before the count was given up (in its own file above it, or earlier by stamps);
- logs: lines of two kinds stand in the logs of just as many as came, whatever their words, and the logs of the others went another way
  (apart.py).
Where both answer, they agree, else nobody is told: `names_ranks` of the row that counts.

Fooled by: as many who ended before they were to come, and as many others who never left a word.
"""

import json
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import polars as pl

from forensics.assemble.starts.apart import is_apart, kinds, own_logs
from forensics.model.signals import signal_of
from parsers.schema.tables import TableName, Tables, table
from parsers.text.signals import ASKING

COUNTED = "store_clients"  # code of a store that counts who came
_WAY = 2  # kinds of lines that all who came have in common, and nobody else has: one alone may be lost
Row = Mapping[str, Any]


def with_left_out(tables: Tables) -> dict[TableName, pl.DataFrame]:
    """Tables of one attempt, ranks global, ends placed → the same, where a count names whom it leaves, if that is shown."""
    events = tables["events"]
    is_count = ((pl.col("kind") == "missing_members") & (pl.col("code") == COUNTED)).fill_null(False)
    counts = [*events.filter(is_count).iter_rows(named=True)]
    made = [
        row | {"names_ranks": own, "names_rank_space": "global"} if (own := _left_out(tables, row)) else row
        for row in counts
    ]
    if made == counts:
        return dict(tables)
    return {**tables, "events": pl.concat([events.filter(~is_count), table("events", made)])}


def _left_out(tables: Tables, count: Row) -> list[int]:
    said = json.loads(count["detail"] or "{}")
    came, all_ = str(said.get("joined", "")), str(said.get("expected", ""))
    if not (came.isdigit() and all_.isdigit() and 0 < int(came) < int(all_)):
        return []
    found = [_ended_before(tables["events"], count), _apart(own_logs(tables), int(came), int(all_))]
    whole = {own for own in found if len(own) == int(all_) - int(came) and count["rank"] not in own}
    return sorted(whole.pop()) if len(whole) == 1 else []


def _ended_before(events: pl.DataFrame, count: Row) -> frozenset[int]:
    is_end = (pl.col("kind") == "exit") & (pl.col("severity") == "error") & (pl.col("rank_space") == "global")
    return frozenset(
        row["rank"]
        for row in events.filter(is_end).iter_rows(named=True)
        if signal_of(row["code"]) not in ASKING and _is_before(row, count)
    )


def _is_before(row: Row, count: Row) -> bool:
    if row["file"] == count["file"]:
        return (row["line"] or 0) < (count["line"] or 0)
    return None not in (row["time_ns"], count["time_ns"]) and row["time_ns"] < count["time_ns"]


def _apart(files: pl.DataFrame, came: int, all_: int) -> frozenset[int]:
    told = files.filter(pl.col("rank").is_not_null() & (pl.col("last_lines").list.len() > 0))
    logs = dict(told.select("rank", "last_lines").iter_rows())
    if told.height != all_ or len(logs) != all_:
        return frozenset()
    by_kind: defaultdict[str, set[int]] = defaultdict(set)
    for rank, lines in logs.items():
        for kind in kinds(lines):
            by_kind[kind].add(rank)
    rests = [frozenset(logs.keys() - own) for own in by_kind.values() if len(own) == came]
    rest = rests[0] if len({*rests}) == 1 and len(rests) >= _WAY else frozenset[int]()
    return rest if is_apart(told, rest, logs.keys() - rest) else frozenset()
