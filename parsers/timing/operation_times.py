"""Every operation of every rank with its start: what a step can be replayed from. In any form of parsers/forms/framings.py, and Parquet.

| column | meaning |
|---|---|
| `rank`, `step` | required; `rank` may come from the file's path |
| `optype` (or `op`, `phase`, `name`) | required: `forward-compute`, `backward-recv`, `grads-reduce-scatter`, … |
| `start_ts` (or `start_ms`, …) | required: when it began, on one clock for all ranks |
| `duration` (or `duration_ms`, `end_ts`, …) | required: how long, or until when |
| `dp_rank`, `pp_rank` (or `stage`), `tp_rank`, `cp_rank`, `ep_rank` | optional: the rank's place in the layout |
| `host` | optional |

    rank,step,optype,start_ts,duration,dp_rank,stage
    16,21,forward-compute,0.871043,0.215153,0,1
    {"rank": 16, "step": 21, "op": "forward-recv", "start_us": 135792, "dur_us": 735238, "pp_rank": 1}

Where no name tells the unit, whole numbers are microseconds, or nanoseconds where they are stamps since 1970, as profilers
write them, and fractions seconds.

Printed by: ByteDance's StragglerAnalysis, profilers of a site.
Versions: the traces published in 2025.
Source: github.com/ByteDance-Seed/StragglerAnalysis, readme.md.
"""

from typing import Any

import polars as pl

from parsers.forms import framings
from parsers.schema.parser import FileParser, Source
from parsers.schema.tables import Tables
from parsers.timing.operation_rows import of_frame, tells

_ROWS = 20_000_000


def accepts(path: str, head: bytes) -> bool:
    """By the names of the first record."""
    return tells(framings.names(path, head))


def parse(source: Source) -> Tables:
    """timings: a row per rank, step and operation; ranks: places in the layout; rows that do not fit are `unread`."""
    rows: list[dict[str, Any]] = []
    lines: list[int] = []
    claimed, unread = [], []
    for number, _text, said in framings.rows(source):
        if said is framings.HEADER:
            claimed.append({"file": source.path, "line": number})
        elif said is None or len(rows) >= _ROWS:
            unread.append({"file": source.path, "line": number, "reason": "not a row of operation times"})
        else:
            rows.append(said)
            lines.append(number)
    names = dict.fromkeys(name for said in rows[:1] for name in said)
    frame = pl.DataFrame([pl.Series(name, [_cell(said.get(name)) for said in rows], strict=False) for name in names])
    return of_frame(source, frame, pl.Series("line", lines, dtype=pl.Int64), claimed, unread)


def _cell(said: Any) -> int | float | str | None:
    is_told = isinstance(said, float | str) or (isinstance(said, int) and abs(said) < 1 << 62)
    return said if is_told and not isinstance(said, bool) else None


PARSER = FileParser(name="operation_times", accepts=accepts, parse=parse)
