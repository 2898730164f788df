"""Times per phase or operation, as CSV or JSON Lines: MCTX exports (MetaX) and tables that a site writes by itself.

| column | meaning |
|---|---|
| `rank`, `step` | required; `rank` may come from the file's path |
| `phase` | required: `forward`, `backward`, `comm`, `optimizer`, `data`, … |
| `ms` (or `us`, `s`) | required: how long |
| `level` | 0 = phase, 1 = operation, 2 = each communication; 0 where there is no `name`, else 1 |
| `name` | operation or communication: `AlltoAll`, `attention`, … |
| `host`, `time` | optional; `time` in seconds since 1970 |
| `tokens` | optional: how many tokens the rank worked on there |

    rank,step,phase,ms
    13,4200,backward,310.2
    {"rank": 13, "step": 4200, "level": 2, "phase": "comm", "name": "AlltoAll", "ms": 12.5}

The schema is ours: exports differ by version, and are brought into this form by renaming columns.

Printed by: MCTX of MetaX, or a site's own tool.
Versions: 1 of this table.
Source: MetaX' public talks on MCTX; this project's own definition of the columns.
"""

from collections.abc import Set
from math import isfinite
from typing import Any

import polars as pl

from parsers.parser import FileParser, Source
from parsers.reading import column_names, csv_cells, first_line, json_object, real, text_lines, whole
from parsers.tables import Tables, table

_UNITS = {"ms": 1.0, "us": 1e-3, "s": 1e3, "value_ms": 1.0}
_ROWS = 20_000_000
_BATCH = 200_000


def _is_header(names: Set[str]) -> bool:
    return {"step", "phase"} <= names and bool(names & _UNITS.keys()) and not names & {"tensor", "module"}


def accepts(_path: str, head: bytes) -> bool:
    """By the columns of the first row."""
    names = column_names(head)
    return _is_header(names if first_line(head).startswith("{") else {name.lower() for name in names})


def parse(source: Source) -> Tables:
    """timings: a row per rank, step, phase and name, `value_ms`; ranks: who runs where; rows that do not fit are `unread`."""
    hosts: dict[int, dict[str, Any]] = {}
    frames = [table("timings", [])]
    rows: list[dict[str, Any]] = []
    claimed: list[dict[str, Any]] = []
    unread: list[dict[str, Any]] = []
    names: list[str] = []
    for number, text in text_lines(source):
        place = {"file": source.path, "line": number}
        if not text.strip() or number > _ROWS:
            continue
        if text.lstrip().startswith("{"):
            said = json_object(text)
        elif not names:
            names = [name.strip().lower() for name in text.split(",")]
            claimed.append(place)
            continue
        else:
            values = csv_cells(text[:65536]) if '"' in text else text.split(",")
            said = dict(zip(names, values, strict=True)) if len(values) == len(names) else None
        made = _timing(said, source) if said is not None else None
        if made is None:
            unread.append(place | {"reason": "not a row of phase times"})
            continue
        rows.append(place | made)
        if made["host"] is not None and made["rank"] not in hosts:
            hosts[made["rank"]] = place | {"rank": made["rank"], "host": made["host"], "how": "phase times"}
        if len(rows) >= _BATCH:
            frames.append(table("timings", rows))
            rows = []
    return {
        "timings": pl.concat([*frames, table("timings", rows)]),
        "ranks": table("ranks", list(hosts.values())),
        "claimed": table("claimed", claimed),
        "unread": table("unread", unread),
    }


def _timing(said: dict[str, Any], source: Source) -> dict[str, Any] | None:
    measured = next(((real(said[name]), factor) for name, factor in _UNITS.items() if said.get(name) is not None), None)
    rank = whole(said.get("rank"))
    rank = source.rank if rank is None else rank
    phase = said.get("phase")
    if measured is None or measured[0] is None or not isfinite(measured[0]) or not phase or rank is None:
        return None
    name = str(said["name"]).strip() if said.get("name") else None
    level = whole(said.get("level"))
    seconds = real(said.get("time"))
    return {
        "rank": rank,
        "host": str(said["host"]) if said.get("host") else source.host,
        "step": whole(said.get("step")),
        "phase": str(phase).strip(),
        "name": name,
        "level": level if level is not None else int(name is not None),
        "value_ms": measured[0] * measured[1],
        "tokens": whole(said.get("tokens")),
        "time_ns": int(seconds * 1e9) if seconds is not None and 0 < seconds < 9e9 else None,
    }


PARSER = FileParser(name="phases", accepts=accepts, parse=parse)
