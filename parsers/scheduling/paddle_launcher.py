"""PaddlePaddle's launcher: which of the trainers that it started ended with an error, after which it stops all others.

    ERROR 2026-01-31 10:11:12,345 launch_utils.py:545] ABORT!!! Out of all 4 trainers, the trainer process with rank=[3] was aborted. Please check its log.

The list holds whoever had ended other than by 0 when the launcher looked; their codes are not told. An `exit` of each rank without a code.

Printed by: paddle.distributed.launch and fleetrun; trainers that copied its watch loop.
Versions: PaddlePaddle 1.7 to 2.2.
Source: PaddlePaddle, distributed/fleet/launch_utils.py (watch_local_trainers).
"""

import polars as pl

from parsers.schema.lines import claimed, event
from parsers.schema.parser import LineParser
from parsers.schema.tables import Tables, tables_of
from parsers.text.patterns import regex

_ABORTED = regex(
    r"ABORT!!! Out of all \d{1,7} trainers, the trainer process with rank=\[([\d, ]{1,20000})\] was aborted"
)


def parse(lines: pl.DataFrame) -> Tables:
    """events exit: rank."""
    events, known = [], []
    for row in lines.iter_rows(named=True):
        if found := _ABORTED.search(row["text"]):
            known.append((row["file"], row["line"]))
            ranks = sorted({int(rank) for rank in found[1].replace(",", " ").split() if len(rank) < 8})
            events += [event(row, "exit", severity="error", rank=rank, rank_space="global") for rank in ranks]
    return tables_of(events=events, claimed=claimed(known))


PARSER = LineParser(name="paddle_launcher", anchors=(b"ABORT!!! Out of all ",), parse=parse)
