"""One printer counts its attempts at something, again and again: it goes on trying, whatever that is.

    11:02:04 WARNING fetch: GET s3://b/shard-17.tar attempt 1 failed: read timeout, trying again        … attempt 2 failed: …
    11:02:04 open /data/17.bin: retry #4 after 60 s                                                      [store] 3rd try of put
    11:02:04 读取 shard 17 第 3 次重试

Lines of one form whose count rises, three and more of them over a minute at least: an event `other` with code `counted_attempts` at the last, value = the seconds
from the first of them, which `detail` tells as `first_ns`; with the `site` where it is an address in a store. It is no failure: what was tried may have come about.

Printed by: clients of storage and services, in users' own words.
Versions: none.
Source: as users print them.
"""

import json
from collections import defaultdict
from typing import Any

import polars as pl

from parsers.schema.event_kinds import ATTEMPTS
from parsers.schema.lines import Row, event, streams
from parsers.schema.parser import LineParser
from parsers.schema.rules import LINE_CHARACTERS
from parsers.schema.tables import Tables, table
from parsers.text.patterns import regex

_COUNT = regex(
    r"(?i)\b(?:attempts?|retry|retries|retrying|try|tries)(?: ?(?:no\.?|number))?[ #:=(\[]{1,3}(?P<behind>\d{1,6})\b"
    r"|\b(?P<before>\d{1,6})(?:st|nd|rd|th) (?:attempt|retry|try)\b|第 ?(?P<chinese>\d{1,6}) ?次(?:重试|尝试)"
)
_STORE = regex(r"\b(?:s3a?|gs|hdfs|viewfs|abfss?|wasbs?|oss|cosn?|obs|swift|file)://")
_DIGITS = regex(r"\d+")
_FEWEST, _LEAST_S, _SECOND_NS = 3, 60.0, 1e9


def parse(lines: pl.DataFrame) -> Tables:
    """events other."""
    events: list[dict[str, Any]] = []
    for rows in streams(lines.filter("hit")):
        runs: defaultdict[str, list[tuple[int, Row]]] = defaultdict(list)
        for row in rows:
            if (found := _COUNT.search(row["text"][:LINE_CHARACTERS])) is None or row["time_ns"] is None:
                continue
            count = int(found[found.lastgroup or 0])
            own = runs[_DIGITS.sub("#", row["text"][: found.end()])]
            if own and count <= own[-1][0]:  # it begins anew, at something else
                own.clear()
            own.append((count, row))
        events += [made for own in runs.values() if (made := _event([row for _, row in own])) is not None]
    return {"events": table("events", events)}


def _event(own: list[Row]) -> dict[str, Any] | None:
    seconds = (own[-1]["time_ns"] - own[0]["time_ns"]) / _SECOND_NS
    if len(own) < _FEWEST or seconds < _LEAST_S:
        return None
    told: dict[str, Any] = {"begun": own[0]["line"], "first_ns": own[0]["time_ns"]}
    told |= {"site": "storage_io"} if _STORE.search(own[-1]["text"][:LINE_CHARACTERS]) else {}
    return event(own[-1], "other", severity="info", code=ATTEMPTS, value=seconds, detail=json.dumps(told))


PARSER = LineParser(
    name="attempts",
    anchors=(b"ttempt", b"etry", b"etries", b" try ", b" tries ", "重试".encode(), "尝试".encode()),
    parse=parse,
    leftover=True,
)
