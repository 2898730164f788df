"""Coordinators of one's own that count who has come to a barrier, and list who has not.

    WARN coord::barrier: step=8812 arrived=7/8 waiting_on=[3] elapsed=1200s
    sync point 41: 14 of 16 workers in after 600 s, missing (5, 11)
    同期 12: 7/8 到着、待機中 [3]、900 秒

No word says that it is a barrier. What does: of as many as there are, so many have come, and the list holds just as many others as are left, each
below that number; and it tells how long they are waited for, a minute or more: for shorter ones everybody waits now and then. Of a list that a
printer repeats, the last line counts. A line that speaks of hosts, stages or parts of data counts these.

Event `missing_members`, code barrier, names_ranks = who has not come, detail.reached and detail.expected. The numbers are taken as ranks.

Printed by: coordinators and launchers of one's own.
Versions: none.
Source: as users print them.
"""

import json
from typing import Any

import polars as pl

from parsers.forms.reading import integers
from parsers.schema.lines import event
from parsers.schema.parser import LineParser
from parsers.schema.rules import LINE_CHARACTERS
from parsers.schema.tables import Tables, table
from parsers.text.patterns import regex

_LEAST_S, _FEWEST = 60.0, 3
_COUNT = regex(r"(?<![\d./:-])(?P<reached>\d{1,6})(?: ?/ ?| of | out of )(?P<expected>\d{1,6})(?![\d./:-])")
_LIST = regex(r"[\[({](?P<ranks>\d{1,6}(?:, ?\d{1,6}){0,255})[\])}]")
_TIME = regex(
    r"(?<![\w.:/-])(?P<number>\d{1,8}(?:\.\d{1,6})?) ?(?P<unit>(?:s|secs?|seconds?|m|mins?|minutes?|h|hours?)(?![\w/])|秒|分)"
)
_OTHERS = regex(
    r"(?i)(?<![a-z])(?:node|host|machine|pod|agent|stage|replica|shard|expert|file|batch|slice|bucket)s?(?![a-z])"
)
_SECONDS = {"s": 1.0, "秒": 1.0, "m": 60.0, "分": 60.0, "h": 3600.0}


def parse(lines: pl.DataFrame) -> Tables:
    """events missing_members."""
    last: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in lines.iter_rows(named=True):
        text = row["text"][:LINE_CHARACTERS]
        counts, lists = [*_COUNT.finditer(text)], [*_LIST.finditer(text)]
        waited = max((float(one["number"]) * _SECONDS[one["unit"][0]] for one in _TIME.finditer(text)), default=0.0)
        if len(counts) != 1 or len(lists) != 1 or waited < _LEAST_S or _OTHERS.search(text):
            continue
        reached, expected, ranks = int(counts[0]["reached"]), int(counts[0]["expected"]), integers(lists[0]["ranks"])
        is_rest = len({*ranks}) == len(ranks) == expected - reached and max(ranks) < expected >= _FEWEST
        if is_rest and reached:
            detail = json.dumps({"reached": reached, "expected": expected})
            about = {"code": "barrier", "names_ranks": ranks, "value": waited, "detail": detail}
            last[row["file"], tuple(ranks)] = event(row, "missing_members", severity="error", **about)
    return {"events": table("events", [*last.values()])}


PARSER = LineParser(
    name="counted_barriers",
    anchors=(b"ait", b"issing", b"rrived", b"bsent", b"ending", b"arrier", b"not in", *map(str.encode, "待等未")),
    parse=parse,
    leftover=True,
)
