"""Whoever watches a job says for how long nothing moved: a monitor, a cron script, a person's notes; in seconds, minutes or hours.

    2026-01-31 10:11:12 monitor job=a1 alive=8 last_step=4711 age=960s ALARM no step for >900s
    [guard] no progress in 30 min, collecting stacks
    WARNING: training stalled for 1200 seconds
    last iteration 25 minutes ago
    watch.sh: step timeout of 45 min exceeded, killing the job

Event `heartbeat_lost` of the job, value = the time in seconds, from a minute on. Whose fault it is, it does not say: no rank is named.

Printed by: monitors of sites and of training programs.
Versions: none.
Source: as users print them.
"""

import json
from typing import Any

import polars as pl

from parsers.logs.ends import each_end, end
from parsers.schema.event_kinds import STILL
from parsers.schema.lines import event
from parsers.schema.parser import LineParser
from parsers.schema.rules import LINE_CHARACTERS
from parsers.schema.tables import Tables, table
from parsers.text.patterns import regex

_TIME = r"(?P<{0}>\d{{1,9}}(?:\.\d{{1,6}})?) ?(?P<{0}_unit>s|secs?|seconds?|m|mins?|minutes?|h|hours?)\b"
_WHAT = r"(?:steps?|iterations?|iters?|progress|output|updates?|(?:mini-?|micro-?)?batch(?:es)?|log lines?|activity|heartbeats?)"
_STILL = regex(
    rf"(?i)\b(?:no|without(?: any)?) (?:new |forward |training |further )?{_WHAT}\b[^.;\n]{{0,24}}?\b(?:for|in|since|within)\b[^\d.;\n]{{0,16}}"
    + _TIME.format("none")
    + r"|\b(?:stalled|stuck|hung|hanging|frozen|(?:not|stopped) progress(?:ed|ing)|no longer progressing)\b[^.;\n]{0,24}?\b(?:for|since)\b[^\d.;\n]{0,16}"
    + _TIME.format("still")
    + rf"|\b(?:last|latest|newest) {_WHAT}\b[^.;\n]{{0,30}}?\b"
    + _TIME.format("ago")
    + r" ago\b"
    + rf"|\b(?:{_WHAT}|stall|hang|idle|inactivity|silence) (?:time-?out|limit)\b[^.;\n]{{0,12}}?\b"
    + _TIME.format("limit")
    + r"[^.;\n]{0,8}\b(?:exceeded|reached|expired|elapsed|passed|hit)\b"
)
_IF = regex(
    r"(?i)\b(?:if|when|unless|after|until|would|will|timeout (?:is )?set)\b"
)  # a limit that is told, not passed
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0}
_LEAST_S = 60.0


def parse(lines: pl.DataFrame) -> Tables:
    """events heartbeat_lost, closing_signal."""
    events: list[dict[str, Any]] = []
    for row in lines.iter_rows(named=True):
        found = _STILL.search(row["text"][:LINE_CHARACTERS])
        if found is None or _IF.search(row["text"][: found.start()]):
            continue
        kind = next(name for name in ("none", "still", "ago", "limit") if found[name])
        seconds = float(found[kind]) * _SECONDS[found[f"{kind}_unit"][0].lower()]
        if seconds >= _LEAST_S:
            about = {"rank": None, "code": STILL, "value": seconds, "detail": json.dumps({"unit": "s"})}
            events.append(event(row, "heartbeat_lost", severity="error", **about))
            # Whoever watches may end it, and says so at once.
            closed = (*each_end(row, row["text"]), end(row, row["text"]))
            events += [event(row, **one) for one in closed if one and one["kind"] == "closing_signal"]
    return {"events": table("events", events)}


PARSER = LineParser(
    name="stillness",
    anchors=(
        b"o step", b"o new step", b"o iter", b"o progress", b"o forward progress", b"o training progress", b"o output", b"o update",
        b"o new ", b"o batch", b"o log line", b"o activity", b"o heartbeat", b"talled ", b"tuck ", b"hung ", b"hanging ", b"frozen ",
        b"rogressing", b"progressed", b"ithout ", b" ago", b" timeout ", b" limit ",
    ),
    holds=regex(rb"(?i)\d ?(?:s|secs?|seconds?|m|mins?|minutes?|h|hours?)\b"),
    parse=parse,
    leftover=True,
)  # fmt: skip
