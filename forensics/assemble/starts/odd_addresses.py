"""Who looked for its job at another address than all others did, at a start that never came about.

What lines tell so is found before anything is read (parsers/who/places/dialled.py). It counts where the job did nothing of a step and somebody failed; where the line speaks of a
meeting place, or its file says hardly more before what failed; and, where only the names of hosts differ, where those who agree are of two hosts at least: on one
host it may be what each host has of its own. Rank 0, and an address of every interface, is whoever listens there.

Events `connect_failed`, code store, of each rank that looked elsewhere; names_hosts the host, and in `detail` what it tried, what the others did, and how many.
"""

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

import polars as pl

from forensics.assemble.starts.roll_calls import has_begun
from forensics.assemble.who.told_lines import speaker_of
from forensics.model.hosts import hosts_of_ranks
from parsers.schema.event_kinds import DIALS
from parsers.schema.tables import TableName, Tables, table
from parsers.who.places.dialled import are_few

REACHED, OTHERS = "reached", "came"  # in `detail`: what the others tried, and how many
_SOON = 4  # lines between this and what failed
_ANY = ("0.0.0.0", "::", "localhost", "127.0.0.1")
_FEWEST = 2


def with_odd_addresses(tables: Tables, told: pl.DataFrame, identity: pl.DataFrame) -> dict[TableName, pl.DataFrame]:
    """Tables of one attempt, ranks global, and the rows that tell of addresses (told_lines.py) → the same with such events."""
    events = tables["events"]
    failed = events.filter(pl.col("severity").is_in(["error", "fatal"]) & pl.col("line").is_not_null())
    if not told.height or not failed.height or has_begun(tables):
        return dict(tables)
    speaker = speaker_of(tables)
    hosts = hosts_of_ranks(identity)
    rows: dict[int, dict[str, Any]] = {}
    for own in told.partition_by("record", maintain_order=True):
        spoken = list(own.unique().sort("file", "line").iter_rows(named=True))
        for row in spoken:
            row["rank"] = speaker(row["file"], row["line"], row["rank"])
            row["address"], _, row["text"] = row["name"].partition("\t")
        for row in _odd(spoken, hosts, _ends(tables, failed)):
            rows.setdefault(row["rank"], row)
    return {**tables, "events": pl.concat([events, table("events", list(rows.values()))])} if rows else dict(tables)


def _odd(spoken: list[dict[str, Any]], hosts: Mapping[int, str], ends: Mapping[str, int]) -> list[dict[str, Any]]:
    most, times = Counter(row["address"] for row in spoken).most_common(1)[0]
    others = [row for row in spoken if row["address"] == most]
    odd = [row for row in spoken if row["address"] != most]
    place, _, port = most.rpartition(":")
    is_table = len({row["file"] for row in spoken}) < len(spoken)
    soon = [row for row in spoken if ends.get(row["file"], 0) - row["line"] <= _SOON * (len(spoken) if is_table else 1)]
    if not are_few(len(odd), len(spoken)):  # of this attempt
        return []
    is_late = odd[0] in soon and len(soon) > _FEWEST
    if times < _FEWEST or any(row["rank"] in (None, 0) for row in odd) or not (is_late or odd[0]["how"] == DIALS):
        return []
    apart = {hosts[row["rank"]] for row in others if row["rank"] in hosts}
    found = []
    for row in odd:
        host, _, own = row["address"].rpartition(":")
        if own == port and (len(apart) < _FEWEST or host in _ANY[:2] or _may_be_one(host, place)):
            return []
        detail = {"host": row["address"].lstrip(":") if not host else row["address"], REACHED: most, OTHERS: times}
        found.append(
            {
                "kind": "connect_failed", "code": "store", "severity": "error", "rank": row["rank"], "rank_space": "global",
                "names_hosts": [host] if host else None, "detail": json.dumps(detail), "text": row["text"], "file": row["file"],
                "line": row["line"],
            }
        )  # fmt: skip
    return found


def _ends(tables: Tables, failed: pl.DataFrame) -> dict[str, int]:
    """File → the first line of what failed in it, or its last one."""
    begun = pl.col("detail").str.extract(r'"from_line": (\d+)').cast(pl.Int64)
    first = failed.group_by(pl.col("file").cast(pl.String)).agg(pl.coalesce(begun, "line").min())
    whole = tables["files"].select(pl.col("file").cast(pl.String), pl.col("lines").cast(pl.Int64)).drop_nulls()
    return dict(whole.iter_rows()) | dict(first.iter_rows())


def _may_be_one(one: str, other: str) -> bool:
    """A name and an address may be one host."""
    return one.replace(".", "").isdecimal() != other.replace(".", "").isdecimal()
