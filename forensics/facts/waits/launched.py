"""What two reports of NCCL's RAS, taken one after the other, say of time: numbers of launched operations rose, or stood.

Reports in JSON are told apart by their own time, those in text by the order in their names. A text gives numbers only where
members differ: the same complaint twice shows a job that stood, for a running one never repeats a number.
"""

from typing import Any

import polars as pl

from forensics.facts.rows.event_rows import detail, reference, rows
from forensics.facts.rows.series import in_order, series
from forensics.model.ref import Ref
from forensics.model.said import Said
from forensics.words import facts as words
from parsers.schema.tables import Tables

_APART_NS = 10_000_000_000  # a step may take that long without a call
Witness = tuple[Said, tuple[Ref, ...]]  # what is said, and where it is seen
Counts = dict[tuple[Any, ...], int]


def launched_since(tables: Tables, events: pl.DataFrame) -> tuple[list[Witness], list[Witness]]:
    """(for, against) a job that stood still, from the last two reports of a kind."""
    found = [pair for pair in (_json(tables["progress"]), _text(events)) if pair is not None]
    stood: list[Witness] = []
    went_on: list[Witness] = []
    for (before, first), (after, last) in found:
        refs = (first, last)
        same = before.keys() & after.keys()
        if before.keys() != after.keys() or any(after[key] != before[key] for key in same):
            went_on.append((words.RAS_WENT_ON, refs))
        elif same:
            stood.append((words.RAS_STOOD, refs))
    return stood, went_on


def _json(progress: pl.DataFrame) -> tuple[tuple[Counts, Ref], tuple[Counts, Ref]] | None:
    """(communicator, kind, rank) → launched, of the last two times."""
    told = progress.filter(pl.col("how") == "ras").drop_nulls(["record", "time_ns", "rank"])
    times = told["time_ns"].unique().sort().to_list()
    if len(times) < 2 or times[-1] - times[-2] < _APART_NS:
        return None
    looks = []
    for time in times[-2:]:
        look = told.filter(pl.col("time_ns") == time).sort("file", "record", "rank")
        counts = {row[:3]: row[3] for row in look.select("group", "desc", "rank", "last_enqueued").iter_rows()}
        file, record = look.select("file", "record").row(0)
        looks.append((counts, Ref(file=file, line=record, text=f"{len(counts)} numbers of launched operations")))
    common = looks[0][0].keys() & looks[1][0].keys()  # who did not answer once says nothing
    first, last = (({key: counts[key] for key in common}, ref) for counts, ref in looks)
    return first, last


def _text(events: pl.DataFrame) -> tuple[tuple[Counts, Ref], tuple[Counts, Ref]] | None:
    """(communicator, kind, number) → members that stand at it, of the last two files of a series."""
    by_file: dict[str, tuple[Counts, Ref]] = {}
    for row in rows(events, "ras_status"):
        said = detail(row)
        if row["record"] is not None or row["code"] in ("ERROR", "TIMEOUT", "DEAD") or row["line"] is None:
            continue
        counts, _ = by_file.setdefault(row["file"], ({}, reference(row)))
        for one in said.get("counts", []):
            counts[row["group"], said.get("op"), one["operation"]] = one["ranks"]
    files = sorted(by_file, key=in_order)
    if len(files) < 2 or series(files[-1]) != series(files[-2]):
        return None
    return by_file[files[-2]], by_file[files[-1]]
