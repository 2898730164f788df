"""What a candidate line says about who printed it, in the form that most evidence tables want.

The rank is the line's own (`[rank3]:`), else the path's. A local rank is never taken for a rank.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import polars as pl

from parsers.schema.tables import SCHEMAS
from parsers.text.patterns import regex
from parsers.text.stamps import CTIME

TEXT_CHARACTERS = 2000
_KERNEL = regex(rf"(?:^|\s)kernel: |^\[{CTIME}\] $|\"kernel\"")  # syslog and journalctl, dmesg -T, journald's JSON
PRINTER = ("file", "rank", "local_rank", "task", "host", "process")  # columns of LINES that tell printers apart
Row = Mapping[str, Any]


def reporter(row: Row) -> dict[str, Any]:
    """Columns rank, local_rank, host, file, line of the printer of a line of schema LINES."""
    return {
        "rank": row["rank"] if row["rank"] is not None else row["path_rank"],
        "local_rank": row["local_rank"] if row["local_rank"] is not None else row["path_local_rank"],
        "host": row["host"] if row["host"] is not None else row["path_host"],
        "file": row["file"],
        "line": row["line"],
    }


_ABOUT_ANOTHER = ("exit", "first_failure", "closing_signal", "segfault", "host_oom")  # than the process that prints it


def event(row: Row, kind: str, **columns: Any) -> dict[str, Any]:
    """A row for `events`, printed by whoever printed the line; `columns` override, rank=None included."""
    made = reporter(row) | {
        "kind": kind,
        "time_ns": row["time_ns"],
        "time_basis": row["time_basis"],
        "attempt": row["attempt"],
        "text": row["text"][:TEXT_CHARACTERS],
    }
    if row.get("process") is not None and kind not in _ABOUT_ANOTHER and not is_of_kernel(row):
        made["pid"] = row["process"]
    made |= columns
    for ranks, space in (("rank", "rank_space"), ("names_ranks", "names_rank_space")):
        made[space] = None if made.get(ranks) is None else made.get(space, "global")
    return made


def is_of_kernel(row: Row) -> bool:
    """Did a kernel print the line, by what stands before its text?"""
    return row["time_basis"] == "boot" or _KERNEL.search(row["raw"].partition(row["text"])[0]) is not None


def streams(lines: pl.DataFrame) -> Iterator[list[dict[str, Any]]]:
    """The lines of each printer of each file, in order: what ranks interleave into one file comes apart again."""
    places = lines.with_row_index("at").group_by(PRINTER, maintain_order=True).agg("at")["at"]
    for some in places:  # one after another: thousands of tables at a time are gigabytes
        yield lines[some].rows(named=True)


def claimed(places: Iterable[tuple[str, int]]) -> pl.DataFrame:
    """The table of lines that were understood, from (file, line)."""
    columns = list(zip(*places, strict=True)) or [(), ()]
    return pl.DataFrame(dict(zip(SCHEMAS["claimed"], columns, strict=True)), schema=SCHEMAS["claimed"])
