"""Who told the others an address of itself that never leaves its host, at a start that never came about.

    rank 0: bind to role=worker, ip=10.21.7.41, port=43421          scheduler: connect tcp://172.17.0.1:41029: Connection refused, will retry
    rank 3: bind to role=worker, ip=172.17.0.1, port=41029

What most logs tell of themselves in one line each, alike but for the address, whatever it says, tells of the one whose address is that of a loopback or
of a bridge of containers. Lines of others that could not connect there are events `connect_failed`, of nobody's rank; names_hosts the address, names_ranks
who told it.
"""

from collections import defaultdict
from typing import Any

import polars as pl

from forensics.assemble.starts.apart import numbered_lines, own_logs
from forensics.assemble.starts.roll_calls import has_begun
from parsers.schema.tables import TableName, Tables, table
from parsers.text.connections import is_within_a_host, why_unmade
from parsers.text.patterns import regex
from parsers.who.lines.prefixes import strip

PRINTED = "prints"  # `how` of what a log tells of itself
_ADDRESS = regex(r"(?<![\w.-])(?:\d{1,3}\.){3}\d{1,3}(?![\w-]|\.\d|/\d)")
_DIGITS = regex(r"\d+")
_FEWEST, _MOST = 3, 2 / 3  # ranks that print such a line, and of those that left a log


def announced(tables: Tables) -> pl.DataFrame:
    """Rows of `ranks` for each rank whose log tells of itself an address that never leaves its host, where most tell one that does."""
    said: defaultdict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    places: dict[tuple[int, str], dict[str, Any]] = {}
    logs = own_logs(tables).filter(pl.col("rank").is_not_null() & (pl.col("last_lines").list.len() > 0)).sort("file")
    for row in logs.iter_rows(named=True):
        for number, line in numbered_lines(row):
            text = strip(line).text
            if len(found := {*_ADDRESS.findall(text)}) == 1:
                [address] = found
                said[_DIGITS.sub("#", text.replace(address, "@"))][row["rank"]].add(address)
                place = {"rank": row["rank"], "address": address, "how": PRINTED, "file": row["file"], "line": number}
                places.setdefault((row["rank"], address), place)
    ranks = logs["rank"].n_unique()
    wrong: set[tuple[int, str]] = set()
    for own in said.values():
        one_each = {rank: min(addresses) for rank, addresses in own.items() if len(addresses) == 1}
        within = {rank for rank, address in one_each.items() if is_within_a_host(address)}
        apart = len({*one_each.values()}) == len(one_each)
        if apart and len(own) >= max(_FEWEST, _MOST * ranks) and 2 * len(within) < len(own) == len(one_each):
            wrong |= {(rank, one_each[rank]) for rank in within}
    return table("ranks", [places[key] for key in sorted(wrong)])


def with_announced(tables: Tables) -> dict[TableName, pl.DataFrame]:
    """Tables of one attempt, ranks global → the same with such events."""
    told = announced(tables) if not has_begun(tables) else None
    if told is None or not told.height:
        return dict(tables)
    whose: dict[str, int] = dict(told.select("address", "rank").iter_rows())
    found: list[dict[str, Any]] = []
    others = own_logs(tables).filter(~pl.col("file").is_in(told["file"].implode()))
    for row in others.sort("file").iter_rows(named=True):
        for number, line in numbered_lines(row):
            for address in whose.keys() & {*_ADDRESS.findall(line)} if why_unmade(line) is not None else ():
                own = {"kind": "connect_failed", "severity": "error", "names_hosts": [address], "text": line}
                named = {"names_ranks": [whose[address]], "names_rank_space": "global"}
                found.append(own | named | {"file": row["file"], "line": number})
    return {**tables, "events": pl.concat([tables["events"], table("events", found)])}
