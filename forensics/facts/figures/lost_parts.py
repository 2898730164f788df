"""What a run lost though it went on: parts of checkpoints that were never stored, and ranks that it went on without.

A part is lost where its own writer says so: it prints an error of storage, or one of a thread beside the work, after it began
the part and before it began another one, and no line says that the part was written after all. A rank is lost where it printed
each step that those did who ended well, and then no more, while they went on for two steps or longer.
"""

import builtins
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import polars as pl

from forensics.facts.durations.checkpoints import SAVED, STORED, Checkpoints
from forensics.facts.rows.event_rows import Row, detail

_ERRORS = ("exception", "storage_error", "disk_full")
_OF_CHECKPOINT = "checkpoint"  # the code of a line that says that saving one failed
_FEWEST = 2  # steps that the others went on for


class LostPart(NamedTuple):
    """`step`: of the checkpoint, null where the line does not tell. `row`: the error, of `events`."""

    step: int | None
    rank: int | None
    row: Row


def lost_parts(events: pl.DataFrame, known: Checkpoints) -> tuple[LostPart, ...]:
    """Events of one attempt, recovered ones with them → the parts, each once, in the order of their lines."""
    begins = events.filter(pl.col("kind").is_in([SAVED, STORED])).drop_nulls(["step", "line"])
    begins = begins.filter(pl.col("detail").str.contains('"begin"').fill_null(False))
    errors = events.filter(pl.col("kind").is_in(_ERRORS) & pl.col("line").is_not_null()).sort("file", "line")
    if not errors.height:
        return ()
    started = begins.sort("line").select("file", "rank", "line", pl.col("step").alias("_step"))
    last = errors.sort("line").join_asof(
        started, on="line", by=["file", "rank"], strategy="backward", check_sortedness=False
    )  # fmt: skip
    found: dict[tuple[int | None, int | None], LostPart] = {}
    for row in last.sort("file", "line").iter_rows(named=True):
        step = row["step"] if row["step"] is not None else row["_step"]
        says_so = row["kind"] == "storage_error" and row["code"] == _OF_CHECKPOINT
        if (says_so or (step is not None and _is_of_a_writer(row))) and not _is_written(known, step, row["rank"]):
            found.setdefault((step, row["rank"]), LostPart(step, row["rank"], row))
    return tuple(found.values())


def _is_of_a_writer(row: Row) -> bool:
    """An error of storage, or one that ended a thread beside the work."""
    kind = getattr(builtins, str(row["code"] or "").rpartition(".")[2], None)
    is_storage = (
        isinstance(kind, type) and issubclass(kind, OSError) and not issubclass(kind, ConnectionError | TimeoutError)
    )
    return row["kind"] != "exception" or is_storage or "thread" in detail(row)


def _is_written(known: Checkpoints, step: int | None, rank: int | None) -> bool:
    """Does a line of the writer, or of the job, say that the part was stored?"""
    if step is None:
        return False
    ended = (known.stored if known.stored.begun or known.stored.ended else known.saved).ended.get(step, set())
    return rank in ended or (None in ended and rank is not None)


def left_behind(steps: pl.DataFrame, ended: Collection[int]) -> Mapping[int, int]:
    """Table of steps, ranks that ended well → each rank that was left, and the last step that it printed."""
    trained = steps.filter((pl.col("phase") == "train").fill_null(True)).drop_nulls(["rank", "step"])
    steps_of = trained.group_by("rank").agg(pl.col("step").unique()).iter_rows()
    printed: dict[int, set[int]] = {rank: set(found) for rank, found in steps_of}
    whole = [printed[rank] for rank in ended if rank in printed]
    if not whole:
        return {}
    common: set[int] = set.intersection(*whole)
    lost = {}
    for rank, own in printed.items():
        first, last = min(own), max(own)
        after = [step for step in common if step > last]
        is_each = {step for step in common if first <= step <= last} <= own
        if rank not in ended and len(after) >= _FEWEST and is_each:
            lost[rank] = last
    return lost if len(lost) < len(whole) else {}


def shown(parts: Sequence[LostPart]) -> tuple[int | None, list[int]]:
    """The newest step of which parts are lost, and the ranks whose parts these are."""
    step = max((part.step for part in parts if part.step is not None), default=None)
    return step, sorted({part.rank for part in parts if part.step == step and part.rank is not None})
