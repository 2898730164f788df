"""Communication that flight records cannot see: a library whose kernels reach into the memory of other ranks by themselves,
beside every process group, so that no group counts the call.

A stack that is inside such a library says it by name: forensics/data/unrecorded.csv, with the source of each. Without a name the
structure says as much as can be known: a rank whose record shows nothing open while its stack waits for its device is held by
something that no group launched, which may be a computation, or communication inside one kernel with it.
"""

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import polars as pl

from forensics.facts.waits.rank_stacks import stack_ref
from forensics.facts.waits.stacks import Frame, to_frames
from forensics.facts.waits.states import States
from forensics.model.ref import Ref
from forensics.model.said import Said
from forensics.model.texts import ranks_text
from forensics.words import facts as words


class Unrecorded(NamedTuple):
    """What the records do not hold, in words, and the stacks that show it."""

    ranks: tuple[int, ...]
    text: Said
    refs: tuple[Ref, ...]


class _Library(NamedTuple):
    words: re.Pattern[str]
    name: str
    source: str


def unrecorded(stacks: pl.DataFrame, states: States) -> list[Unrecorded]:
    """Main stacks and the states of open operations → ranks that communicate, or may, where no record sees it."""
    if not stacks.height:
        return []
    live = stacks.filter((pl.col("source") != "traceback") & pl.col("rank").is_not_null()).sort("rank", "file", "line")
    rows = list(live.iter_rows(named=True))
    inside: dict[_Library, list[Mapping[str, Any]]] = {}
    for row in rows:
        if (library := _library(to_frames(row["frames"]))) is not None:
            inside.setdefault(library, []).append(row)
    found = [
        _found(those, words.INSIDE_LIBRARY(library=one.name, source=one.source), words.OUTSIDE_GROUPS)
        for one, those in inside.items()
    ]
    known = {rank for one in found for rank in one.ranks}
    idle = [row for row in rows if row["site"] == "gpu_sync" and row["rank"] in _closed(states) - known]
    return [*found, *([_found(idle, words.WAITS_FOR_DEVICE, words.BY_NO_GROUP)] if idle else [])]


def _closed(states: States) -> set[int]:
    """Ranks with a whole record in which nothing is open."""
    doubtful = states.partial | states.blind | states.wrapped | states.stale
    return set(states.recorded) - doubtful - set(states.open["rank"].to_list())


def _found(rows: Sequence[Mapping[str, Any]], where: Said, why: Said) -> Unrecorded:
    ranks = tuple(sorted({row["rank"] for row in rows}))
    text = words.IS_UNRECORDED[len(ranks) == 1](who=ranks_text(ranks), where=where, why=why)
    return Unrecorded(ranks, text, tuple(stack_ref(dict(row)) for row in rows[:3]))


def _library(frames: Iterable[Frame]) -> _Library | None:
    """The innermost frame of such a library, by its function or file."""
    for frame in frames:
        for one in _libraries():
            if one.words.search(frame.function) or one.words.search(frame.file):
                return one
    return None


@cache
def _libraries() -> tuple[_Library, ...]:
    text = files("forensics.data").joinpath("unrecorded.csv").read_text(encoding="utf-8")
    rows = csv.DictReader(text.splitlines())
    return tuple(_Library(re.compile(row["words"]), row["library"], row["source"]) for row in rows)
