"""Ends of processes that a list numbers, or that are told of a container, as ends of ranks.

A number is a rank where the lines of one file number every process of a told world, 0 to the last, each once: a launcher that
numbers its own processes, loaders or agents does not account for just as many. A container's end is that of the one rank that runs
in it.
"""

import json
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import polars as pl

from forensics.assemble.identity import hosts_of_ranks, short_host
from parsers.tables import TableName, table

_Row = dict[str, Any]
# Who says that it lost others was alive then: what was killed beside it was another process of its container.
_GAVE_UP = ("remote_error", "peer_closed", "collective_timeout", "store_timeout")


def with_numbered_ends(
    tables: Mapping[TableName, pl.DataFrame], told: frozenset[int], identity: pl.DataFrame
) -> dict[TableName, pl.DataFrame]:
    """Tables of one attempt → the same, with the rank of such ends. `told`: the ranks of the job, empty where its size is not told."""
    events = tables["events"]
    is_open = (pl.col("kind") == "exit") & (pl.col("rank").is_null() | pl.col("detail").str.contains('"number"'))
    of_pod = (pl.col("kind") == "host_oom") & pl.col("rank").is_null() & pl.col("detail").str.contains('"containers": ')
    is_open = is_open.fill_null(False) | of_pod.fill_null(False)
    if not events.select(is_open.any()).item():
        return dict(tables)
    rows = list(events.filter(is_open).iter_rows(named=True))
    gave_up = set(events.filter(pl.col("kind").is_in(_GAVE_UP))["rank"].drop_nulls())
    contained = {
        at: rank
        for at, rank in _contained(rows, identity).items()
        if not (rows[at]["kind"] == "host_oom" and rank in gave_up)
    }
    ranks = _numbered(rows, told) | contained
    if not ranks:
        return dict(tables)
    placed = [row | ({"rank": ranks[at], "rank_space": "global"} if at in ranks else {}) for at, row in enumerate(rows)]
    return {**tables, "events": pl.concat([events.filter(~is_open), table("events", placed)])}


def _numbered(rows: list[_Row], told: frozenset[int]) -> dict[int, int]:
    """Place in the list → rank."""
    lists: defaultdict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
    for at, row in enumerate(rows):
        said = _said(row)
        if isinstance(number := said.get("number"), int):
            lists[row["file"], str(said.get("of"))].append((at, number))
    whole = [own for own in lists.values() if told and sorted(number for _, number in own) == sorted(told)]
    return {at: number for own in whole for at, number in own}


def _said(row: _Row) -> dict[str, Any]:
    try:
        found = json.loads(row["detail"] or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _contained(rows: list[_Row], identity: pl.DataFrame) -> dict[int, int]:
    """Place in the list → the only rank of the host that its line tells, or that has the name of the pod that ended."""
    here: defaultdict[str, list[int]] = defaultdict(list)
    for rank, host in hosts_of_ranks(identity).items():
        here[host].append(rank)
    found: dict[int, int] = {}
    for at, row in enumerate(rows):
        told = str(_said(row).get("name") or (row["host"] if _is_of_container(row) else None) or "")
        if row["pid"] is None and row["rank"] is None and told and len(own := here.get(short_host(told), [])) == 1:
            found[at] = own[0]
    return found


def _is_of_container(row: _Row) -> bool:
    """Is it told of a container that is all that runs under the name of its host, and of its last run?"""
    said = _said(row)
    is_alone = said.get("containers") == 1 and not said.get("is_earlier")
    return bool(row["host"]) and (is_alone or str(row["text"] or "").startswith(f"{row['host']} exited"))
