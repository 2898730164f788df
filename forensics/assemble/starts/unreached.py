"""An address that nobody got through to before the job began, by lines in words that nobody has taught.

    rank 1: Schalter 10.60.2.11:27100 antwortet nicht, neuer Versuch          rank 0: Schalter 10.60.2.11:27100 wird geöffnet
            Schalter 10.60.2.11:27100 antwortet nicht, neuer Versuch                  Ende 21

What its words do not tell, its form does: one line with an address and a port comes again and again, nothing else in that log comes more than a
few times, and so it is in the logs of most ranks. A name that the last lines of most logs say has no address, in words of resolvers, need not come again. The few who print something else may be whom they wait for: suspects, for one that listens there in
vain does so, too.

Events `connect_failed`, code store, of each rank that tries; names_hosts the address, and in `detail` with its port and the ranks that do not try. Where a
library or a row of knowledge has said that somebody did not come, nothing is added.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any, NamedTuple

import polars as pl

from forensics.assemble.starts.apart import first_line
from forensics.assemble.starts.roll_calls import has_begun
from forensics.model.told import counted
from parsers.schema.tables import TableName, Tables, table
from parsers.text.patterns import regex

OTHERS = "others"  # in `detail`: the few ranks that print something else
_SAID = ("connect_failed", "store_timeout", "missing_members", "collective_timeout")
_ADDRESS = regex(r"(?<![\w.:-])(?P<host>\d{1,3}(?:\.\d{1,3}){3}):(?P<port>\d{2,5})(?![\w.:])")
_WORD = r"(?P<{}>[A-Za-z][\w-]{{1,62}}(?:\.[\w-]{{1,62}}){{0,8}})"
_UNKNOWN = (
    r"no such host|name or service not known|temporary failure in name resolution|nodename nor servname|no address associated"
    r"|unknown ?host|enotfound|nxdomain|(?:can|could) ?not (?:be )?resolved?\b|(?:failed|unable) to (?:resolve|look ?up)"
)  # of glibc and BSD, Go, Java, Node, dig, curl
_LOOKED_UP = r"(?:lookup|resolved?|host|host ?name|address of|address for|unknownhostexception|enotfound)[ :='\"(]{1,3}"
_NAME = regex(
    rf"(?i)(?=.{{0,2000}}?(?:{_UNKNOWN}))(?:.{{0,2000}}?\b{_LOOKED_UP}(?!(?:the|host|host ?name|name|address)\b){_WORD.format('after')}(?![\w(])"
    rf"|.{{0,2000}}?(?<![\w./]){_WORD.format('before')}(?::\d{{2,5}})?['\")]{{0,2}}:? (?:{_UNKNOWN}))"
)
_LAST = 3  # lines in which it is said that a name is unknown
_FEWEST, _AGAIN, _SELDOM = 3, 5, 3  # ranks; times that a line comes again; times that any other one may
_FEW = 3  # at most one in three


class _Try(NamedTuple):
    """The last line in which a rank's log names an address again and again."""

    address: str
    port: str
    row: Mapping[str, Any]


def with_unreached(tables: Tables) -> dict[TableName, pl.DataFrame]:
    """Tables of one attempt, ranks global → the same with such events."""
    if has_begun(tables) or bool(tables["events"]["kind"].is_in(_SAID).any()):
        return dict(tables)
    logs = tables["files"].filter(pl.col("rank").is_not_null() & (pl.col("last_lines").list.len() > 0)).sort("file")
    tries = {row["rank"]: one for row in logs.iter_rows(named=True) if (one := _unknown_name(row) or _again(row))}
    ranks = {*logs["rank"].to_list()}
    (where, times), *_ = Counter((one.address, one.port) for one in tries.values()).most_common(1) or [(("", ""), 0)]
    if times < _FEWEST or 2 * times <= len(ranks):
        return dict(tables)
    own = {rank: one for rank, one in tries.items() if (one.address, one.port) == where}
    others = sorted(ranks - own.keys()) if _FEW * (len(ranks) - len(own)) <= len(ranks) else []
    rows = [_row(rank, one, others) for rank, one in sorted(own.items())]
    return {**tables, "events": pl.concat([tables["events"], table("events", rows)])}


def _unknown_name(row: Mapping[str, Any]) -> _Try | None:
    """The one name without an address that its last lines tell."""
    said = [(at, found) for at, line in enumerate(row["last_lines"]) if (found := _NAME.match(line))]
    names = {found["after"] or found["before"] for at, found in said if at >= len(row["last_lines"]) - _LAST}
    if len(names) != 1:
        return None
    at = said[-1][0]
    return _Try(names.pop(), "", {"file": row["file"], "line": first_line(row) + at, "text": row["last_lines"][at]})


def _again(row: Mapping[str, Any]) -> _Try | None:
    """Of the only line that its log repeats."""
    counts = sorted(counted(row["templates"] or ()).values(), reverse=True)
    if not counts or counts[0] < _AGAIN or any(count > _SELDOM for count in counts[1:]):
        return None
    held: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for at, line in enumerate(row["last_lines"]):
        for found in _ADDRESS.finditer(line):
            held[found["host"], found["port"]].append(at)
    often = [(where, places) for where, places in held.items() if len(places) >= _AGAIN]
    if len(often) != 1:
        return None
    (address, port), places = often[0]
    line = {"line": first_line(row) + places[-1], "text": row["last_lines"][places[-1]]}
    return _Try(address, port, {"file": row["file"], **line})


def _row(rank: int, one: _Try, others: list[int]) -> dict[str, Any]:
    return {
        "kind": "connect_failed", "code": "store", "severity": "error", "rank": rank, "rank_space": "global",
        "names_hosts": [one.address], "detail": json.dumps({"host": f"{one.address}:{one.port}".rstrip(":"), OTHERS: others}),
        **one.row,
    }  # fmt: skip
