"""A table of heartbeats, in any form of parsers/forms/framings.py: when which host or rank was last heard, and what it had reached.

Columns: `time` (seconds since 1970, or ISO 8601) and one of `rank`, `host`, `ip`, or what else tells who it is (a container, a worker, by a name that
documents give to a rank); optional `step`, `pod`, `state` or `phase`, `local_rank`, `pid`. One row per beat, or one per member with its last beat.

    time,host,rank,step,state
    1740669002,gpu-017,13,4200,running
    {"time": 1740669002.5, "ip": "10.0.0.7", "pod": "worker-1", "step": 4200}

Of each member the last beat becomes an event `other` with code `heartbeat`, with its step; the earlier ones are
claimed. `value` is the time between two of its beats at the mean, in seconds; `times` in the detail: its last beats in one state and step; `beats`: all of them. Who fell silent is for the reader of the tables to say.

Printed by: a site's own collector.
Versions: 1 of this table.
Source: this project's own definition of the format.
"""

import json
from typing import Any

from parsers.forms import framings
from parsers.forms.reading import utc_ns, whole
from parsers.schema.parser import FileParser, Source
from parsers.schema.tables import Tables, tables_of
from parsers.text import vocabulary

_WHO = {"rank", "host", "address"}
_OTHERS = {"time", "step", "pod", "state", "phase", "process_name", "local_rank", "pid", "progress"}
_STATES = {"state", "phase"}
_MEMBERS = 1_000_000


def accepts(path: str, head: bytes) -> bool:
    """By the names of the first record; a table that could be another's must be called heartbeat."""
    names = framings.names(path, head)
    meant = vocabulary.meanings(sorted(names))
    unknown = [name for name in names if vocabulary.meaning_of(name) is None]
    is_who = bool(meant & _WHO)
    if "time" not in meant or not (is_who or meant & {"process_name", "pod", "pid"} or unknown):
        return False
    if is_who and ("heartbeat" in path.lower() or "heartbeat" in meant):
        return True
    is_of_names = "step" in meant and len(unknown) <= (not is_who)
    return bool(meant & _STATES) and meant <= _WHO | _OTHERS and (is_of_names or not unknown)


def parse(source: Source) -> Tables:
    """events other (code heartbeat; the last beat of each member), and `claimed` for the beats before it."""
    last: dict[tuple[Any, ...], dict[str, Any]] = {}
    spans: dict[tuple[Any, ...], tuple[int, int]] = {}  # member → (time of the first beat, how many)
    stays: dict[tuple[Any, ...], tuple[tuple[Any, ...], int]] = {}  # member → (what its last beats say, how many)
    claimed: list[dict[str, Any]] = []
    unread: list[dict[str, Any]] = []
    for number, text, said in framings.rows(source):
        place = {"file": source.path, "line": number}
        if said is framings.HEADER:
            claimed.append(place)
            continue
        made = _event(said, text, source) if said is not None else None
        if made is None or len(last) >= _MEMBERS:
            unread.append(place | {"reason": "not a heartbeat"})
            continue
        who = (made["rank"], made["host"])
        began, count = spans.get(who, (made["time_ns"], 0))
        spans[who] = (min(began, made["time_ns"]), count + 1)
        before = last.get(who)
        if before is not None and before["time_ns"] > made["time_ns"]:
            claimed.append(place)
            continue
        if before is not None:
            claimed.append({"file": source.path, "line": before["line"]})
        last[who] = place | made
        what = (made["step"], made["detail"])
        stays[who] = (what, stays[who][1] + 1 if who in stays and stays[who][0] == what else 1)
    for who, row in last.items():
        began, count = spans[who]
        told = json.loads(row["detail"] or "{}")
        told |= ({"times": stays[who][1]} if told else {}) | ({"beats": count} if count > 1 else {})
        row["detail"] = json.dumps(told, sort_keys=True) if told else None
        row["value"] = (row["time_ns"] - began) / (count - 1) / 1e9 if count > 1 else None
    return tables_of(events=last.values(), claimed=claimed, unread=unread)


def _event(said: dict[str, Any], text: str, source: Source) -> dict[str, Any] | None:
    told = vocabulary.told(said)
    time_ns = utc_ns(told.get("time"))
    rank, host = whole(told.get("rank")), told.get("host") or told.get("address")
    rank = source.labels.names.of_cells(said.values()) if rank is None else rank
    if time_ns is None or (rank is None and not host):
        return None
    detail = {name: said[name] for name in ("pod", "state", "status", "ip", "progress") if said.get(name)}
    if (state := told.get("state") or told.get("phase")) is not None:
        detail["state"] = str(state)
    return {
        "kind": "other", "code": "heartbeat", "severity": "info", "rank": rank, "host": str(host) if host else None,
        "rank_space": None if rank is None else "global", "local_rank": whole(told.get("local_rank")),
        "pid": whole(told.get("pid")), "step": whole(told.get("step")), "time_ns": time_ns, "time_basis": "utc",
        "text": text[:2000], "detail": json.dumps(detail, sort_keys=True, default=str) if detail else None,
    }  # fmt: skip


PARSER = FileParser(name="heartbeat", accepts=accepts, parse=parse)
