"""Times per phase or operation, in any form of parsers/forms/framings.py: MCTX exports (MetaX) and tables that a site writes by itself.

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

from functools import lru_cache
from math import isfinite
from typing import Any

from parsers.forms import framings
from parsers.forms.reading import real, whole
from parsers.schema.parser import FileParser, Source
from parsers.schema.tables import Rows, Tables, tables_of
from parsers.text import vocabulary
from parsers.text.durations import UNITS
from parsers.training.step_figures import time_of

_ROWS = 20_000_000


def accepts(path: str, head: bytes) -> bool:
    """By the names of the first record: a step, a phase and how long it took, of no tensor."""
    meant = vocabulary.meanings(sorted(framings.names(path, head)))
    # A column for each process: the gauge of a moment is of no step.
    needed = {"phase", "duration"} if framings.framing(path, head) == "wide" else {"step", "phase", "duration"}
    return needed <= meant and not meant & {"tensor", "module"}


def parse(source: Source) -> Tables:
    """timings: a row per rank, step, phase and name, `value_ms`; ranks: who runs where; rows that do not fit are `unread`."""
    hosts: dict[int, dict[str, Any]] = {}
    rows = Rows("timings")
    claimed: list[dict[str, Any]] = []
    unread: list[dict[str, Any]] = []
    for number, _text, said in framings.rows(source):
        place = {"file": source.path, "line": number}
        if said is framings.HEADER:
            claimed.append(place)
            continue
        made = _timing(said, source) if said is not None and number <= _ROWS else None
        if made is None:
            unread.append(place | {"reason": "not a row of phase times"})
            continue
        rows.append(place | made)
        if made["host"] is not None and made["rank"] not in hosts:
            hosts[made["rank"]] = place | {"rank": made["rank"], "host": made["host"], "how": "phase times"}
    return tables_of(timings=rows.table(), ranks=list(hosts.values()), claimed=claimed, unread=unread)


def _timing(said: dict[str, Any], source: Source) -> dict[str, Any] | None:
    told = vocabulary.told(said)
    measured, rank, phase = real(told.get("duration")), whole(told.get("rank")), told.get("phase")
    if rank is None:
        host, local = str(told.get("host") or told.get("pod") or ""), whole(told.get("local_rank"))
        named = source.labels.names.of_record(host, whole(told.get("node_rank")), local)
        rank = source.rank if named is None else named
    if measured is None or not isfinite(measured) or not phase or rank is None:
        return None
    name = str(told["name"]).strip() if "name" in told else None
    level = whole(told["level"]) if "level" in told else None
    return {
        "rank": rank,
        "host": str(told["host"]) if told.get("host") else source.host,
        "step": whole(told.get("step")),
        "phase": str(phase).strip(),
        "name": name,
        "level": level if level is not None else int(name is not None),
        "value_ms": measured * _factor(tuple(said)),
        "tokens": whole(told["tokens"]) if "tokens" in told else None,
        "time_ns": time_of(told["time"])[0] if "time" in told else None,
    }


@lru_cache(maxsize=64)
def _factor(names: tuple[str, ...]) -> float:
    """To milliseconds, of what the column of durations holds."""
    meant = vocabulary.meaning_of(vocabulary.columns(names)["duration"][0])
    return UNITS[meant.unit] if meant is not None else 1.0


PARSER = FileParser(name="phases", accepts=accepts, parse=parse)
