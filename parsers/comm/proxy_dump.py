"""How far the transfers inside an operation are: NCCL's own dump of its proxy, and counters that a site exports.

NCCL prints the dump on standard output when the signal in NCCL_PROXY_DUMP_SIGNAL arrives:

    ACTIVE OPS
    [0-3|57| Recv 3R/0 3I/1]        pool-index | count, odd: messages, even: collectives | way, then peer state/channel
    | `-> [0-4|58| Coll 2 /0]       the next one of the same peer; a collective in progress shows a blank for its state
    |
    v
    [X]
    Elem 0-9 is not in any list:    the entry on the next line is a leftover, no transfer

The letters: I a buffer can be offered, R receiving, F flushing, G waiting for the device, S sending, D all that was begun
is done; no letter and no blank: not begun. The dump holds no number of steps and names no communicator.

Counters come as CSV or as JSON Lines, one row per rank, operation, channel and way:

    rank,group,seq,channel,peer,direction,total,posted,received,transmitted,done
    {"rank": 5, "group": "dp", "seq": 57, "channel": 0, "peer": 4, "direction": "recv", "total": 126, "done": 40}

Required: `seq` (as the flight recorder counts), `channel`, `done`, `total`; `rank` may come from the file's path. `peer`
counts in the group; `direction` is `send` or `recv`; `time_ns` is since 1970; all counts are of steps since the operation
began. That schema is ours: what a profiler plugin or a tracer counts is brought into it by renaming columns.

Printed by: NCCL's proxy thread (`dumpProxyState`), asked by a signal; a site's own tool.
Versions: NCCL 2.14 to 2.30; 1 of the table of counters.
Source: the NCCL repository, src/proxy.cc; this project's own definition of the columns.
"""

import re
from codecs import BOM_UTF8
from collections.abc import Iterator
from typing import Any

import polars as pl

from parsers.forms.reading import csv_cells, first_line, json_object, text_lines, whole
from parsers.schema.lines import claimed, reporter, streams
from parsers.schema.parser import FileParser, LineParser, Source
from parsers.schema.tables import Tables, table, tables_of
from parsers.text.patterns import regex

_ENTRY = regex(
    r"(?:\| `-> )?\[(?P<id>\d{1,6}-\d{1,6})\|(?P<count>\d{1,18})\| (?P<way>Send|Recv|Coll)(?P<subs>(?: -?\d{1,7}[ A-Z]?/-?\d{1,4})*)\]\s*$"
)
_SUB = regex(r" (-?\d{1,7})([ A-Z]?)/(-?\d{1,4})")
_LEFTOVER = regex(r"Elem (\d{1,6}-\d{1,6}) is not in any list:\s*$")
_FRAME = ("ACTIVE OPS", "|", "v", "[X]")
_STATES = {
    "": "ready", " ": "progress", "I": "posting", "R": "receiving", "F": "flushing", "G": "waiting_for_device", "S": "sending", "D": "done",
}  # fmt: skip
_WAYS = {"Send": "send", "Recv": "recv", "Coll": None}
_REQUIRED = {"seq", "channel", "done", "total"}
_NUMBERS = ("seq", "channel", "peer", "total", "posted", "received", "transmitted", "done", "pid", "time_ns")
_ROWS = 20_000_000
_BATCH = 200_000


def parse_dump(lines: pl.DataFrame) -> Tables:
    """transfers: a row per entry and peer: op_count, channel, peer, direction (null for collectives), state; no counts."""
    rows: list[dict[str, Any]] = []
    understood: list[tuple[str, int]] = []
    for stream in streams(lines):
        leftover = None
        for row in stream:
            text = row["text"]
            entry = _ENTRY.match(text) if len(text) < 65536 else None
            if entry is not None:
                rows += [] if entry["id"] == leftover else _entry(reporter(row), entry, row["time_ns"])
                leftover = None
            elif found := _LEFTOVER.match(text):
                leftover = found[1]
            elif text.strip() not in _FRAME:
                continue
            understood.append((row["file"], row["line"]))
    return tables_of(transfers=rows, claimed=claimed(understood))


def _entry(printer: dict[str, Any], entry: re.Match[str], time_ns: int | None) -> list[dict[str, Any]]:
    own = {key: printer[key] for key in ("rank", "host", "file", "line")}
    own |= {"op_count": int(entry["count"]), "direction": _WAYS[entry["way"]], "time_ns": time_ns}
    return [
        own | {"peer": int(peer), "state": _STATES.get(letter), "channel": int(channel)}
        for peer, letter, channel in _SUB.findall(entry["subs"])
    ]


def accepts(_path: str, head: bytes) -> bool:
    """By the columns of the first row."""
    first = first_line(head.removeprefix(BOM_UTF8))
    if first.startswith("{"):
        return (json_object(first) or {}).keys() >= _REQUIRED
    return first.count(",") >= len(_REQUIRED) - 1 and set(_header(first)) >= _REQUIRED


def _header(text: str) -> list[str]:
    return [name.strip().lower() for name in text.lstrip("\ufeff").split(",")]


def parse_counters(source: Source) -> Tables:
    """transfers: a row per row of counters; rows that do not fit are `unread`."""
    frames = [table("transfers", [])]
    rows: list[dict[str, Any]] = []
    header: list[int] = []
    unread: list[dict[str, Any]] = []
    for number, said in _said(source):
        if said is None:
            header.append(number)
        elif (made := _counters(said, source)) is not None:
            rows.append(made | {"file": source.path, "line": number})
        else:
            unread.append({"file": source.path, "line": number, "reason": "not a row of transfer counters"})
        if len(rows) >= _BATCH:
            frames.append(table("transfers", rows))
            rows = []
    return tables_of(
        transfers=pl.concat([*frames, table("transfers", rows)]),
        claimed=claimed((source.path, number) for number in header),
        unread=unread,
    )


def _said(source: Source) -> Iterator[tuple[int, dict[str, Any] | None]]:
    """(line, what it says), None for the header; what is no row at all says nothing."""
    names: list[str] = []
    for number, text in text_lines(source):
        if not text.strip() or number > _ROWS:
            continue
        if text.lstrip("\ufeff ").startswith("{"):
            yield number, json_object(text.lstrip("\ufeff ")) or {}
        elif not names:
            names = _header(text)
            yield number, None
        else:
            values = csv_cells(text[:65536])
            yield number, dict(zip(names, values, strict=True)) if len(values) == len(names) else {}


def _counters(said: dict[str, Any], source: Source) -> dict[str, Any] | None:
    made: dict[str, Any] = {name: whole(said.get(name)) for name in _NUMBERS}
    rank = whole(said.get("rank"))
    made["rank"] = source.rank if rank is None else rank
    if any(made[name] is None for name in (*_REQUIRED, "rank")) or min(made["done"], made["total"]) < 0:
        return None
    for name in ("comm", "group", "host"):
        made[name] = str(said[name]).strip()[:255] if said.get(name) not in (None, "") else None
    made["host"] = made["host"] or source.host
    way = str(said.get("direction") or "").strip().lower()
    if way not in ("", "send", "recv", "receive"):
        return None
    return made | {"direction": {"": None, "receive": "recv"}.get(way, way)}


COUNTERS = FileParser(name="transfer_counters", accepts=accepts, parse=parse_counters)
DUMP = LineParser(
    name="proxy_dump",
    anchors=(b"ACTIVE OPS", b"| Send", b"| Recv", b"| Coll", b" is not in any list:"),
    parse=parse_dump,
    after=3,
    follows=regex(rb"(?:^|\s)(?:\||v|\[X\])\r?$"),
)
PARSERS = (COUNTERS, DUMP)
