"""Tracebacks that a log ends with before they say what was raised: a log that was cut, or a paste of its beginning.

What ended the process is not recorded, nor whether others ended before; that one of them failed is. One in the middle of a log may have been
caught, and says nothing.
"""

import polars as pl

from forensics.facts.ends.process_ends import in_thread
from forensics.facts.rows.event_rows import Row, detail
from forensics.model.told import has_kind

_BLANK = 2  # lines that may stand behind it


def cut_off(events: pl.DataFrame, files: pl.DataFrame) -> list[Row]:
    """Events, table `files` → rows `exception` without a class whose frames reach the last line of their file, in order."""
    if not has_kind(events, "exception"):
        return []
    raised = events.filter((pl.col("kind") == "exception") & pl.col("code").is_null())
    raised = raised.join(files.select("file", pl.col("lines").alias("_lines")), on="file", how="left")
    rows = raised.sort("file", "line").iter_rows(named=True)
    told = ((row, detail(row)) for row in rows if not in_thread(row))
    return [
        row for row, said in told if said.get("frames") and (row["_lines"] or 0) <= int(said.get("until", 0)) + _BLANK
    ]
