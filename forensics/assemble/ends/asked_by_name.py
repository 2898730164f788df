"""Whom all others that gave up had called, by a name that its own log bears: `rpc_sync("ps0", …)`, and `ps0(rank 0) INFO …`.

The name is the first argument, a literal, of the innermost line of the program's own code in each traceback. Who bears it says it of
itself beside its rank; what stands in others' logs alone is nobody's. `names_ranks` of their time-outs has it.
"""

import json
from collections import defaultdict
from collections.abc import Mapping

import polars as pl

from parsers.schema.tables import TableName
from parsers.text.patterns import regex

_CALLED = regex(r"\w\(\s*(?:(?:to|dst|dest|target)\s*=\s*)?[\"']([A-Za-z][\w.-]{1,60})[\"']\s*[,)]")
_BESIDE = r"[\s(\[,:=|]{1,3}"
_MANY = 2


def with_asked_by_name(tables: Mapping[TableName, pl.DataFrame]) -> dict[TableName, pl.DataFrame]:
    """Tables of one attempt, ranks global → the same; time-outs of calls name whom all of them called."""
    events = tables["events"]
    is_wait = (pl.col("kind") == "collective_timeout") & pl.col("names_ranks").is_null()
    waits = events.filter(is_wait)
    asked = _asked(waits, tables["files"]) if waits.height and waits["group"].null_count() == waits.height else None
    if asked is None:
        return dict(tables)
    said = {"names_ranks": pl.lit([asked]), "names_rank_space": pl.lit("global")}
    named = [pl.when(is_wait).then(value).otherwise(name).alias(name) for name, value in said.items()]
    return {**tables, "events": events.with_columns(named).cast(events.schema)}


def _asked(waits: pl.DataFrame, files: pl.DataFrame) -> int | None:
    """Rows of those that gave up; the table of files → the rank that all of them asked."""
    called: defaultdict[int, set[str]] = defaultdict(set)
    for row in waits.drop_nulls("rank").iter_rows(named=True):
        found = _CALLED.search(str(json.loads(row["detail"] or "{}").get("source") or ""))
        called[row["rank"]].add(found[1] if found else "")
    names = set().union(*called.values())
    if len(called) < _MANY or len(names) != 1 or "" in names:
        return None
    [name] = names
    bearers = {
        rank
        for rank, lines in files.select("rank", "last_lines").drop_nulls().iter_rows()
        if any(_bears(name, rank, line) for line in lines)
    }
    return bearers.pop() if len(bearers) == 1 and not bearers & called.keys() else None


def _bears(name: str, rank: int, line: str) -> bool:
    if name not in line:
        return False
    own, number = rf"(?<![\w.-]){name.replace('.', '[.]')}(?![\w.-])", rf"\brank[\s:=#]{{0,2}}{rank}(?!\d)"
    return regex(rf"(?i){own}{_BESIDE}{number}|{number}{_BESIDE}(?:name[:=]\s?)?{own}").search(line) is not None
