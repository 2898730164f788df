"""Checkpoints that are complete, and the one to go back to, by the name that the log gives it.

A line that only announces a checkpoint, or says that it failed, is none; nor is one of which a rank began its part and
never ended it. Where a job saves in two stages, to memory and
then to storage, only what reached storage outlives a host.
"""

import json
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

import polars as pl

from forensics.model.ref import Ref

SAVED, STORED = "checkpoint_save", "checkpoint_persist"
BACK = 100  # steps before a spike from which PaLM's training was resumed (Chowdhery and others 2022, section 5.1)


class Checkpoint(NamedTuple):
    """One complete checkpoint. `path`: where it lies, as printed."""

    step: int
    stored: bool
    path: str | None = None
    ref: Ref | None = None

    @property
    def name(self) -> str:
        """ "the checkpoint of step 500 (/ckpt)"."""
        return f"the checkpoint of step {self.step}" + (f" ({self.path})" if self.path else "")


def said(detail: str | None) -> dict[str, Any]:
    """What the line of a checkpoint said beyond its step: `phase` (begin, end), `path`."""
    try:
        told = json.loads(detail or "{}")
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}


class Lines(NamedTuple):
    """What lines of one kind say: step → who began it, who ended it, and the first line that says so."""

    begun: dict[int, set[int | None]]
    ended: dict[int, set[int | None]]
    first: dict[int, Ref]

    def unfinished(self, step: int) -> set[int | None]:
        """Ranks that began their part of a step and did not say that it was done, though they say so of others."""
        tells = set().union(*self.ended.values())
        return self.begun.get(step, set()) & tells - self.ended.get(step, set())


def lines_of(events: pl.DataFrame, kind: str) -> Lines:
    """Events of one attempt → what those of this kind say."""
    rows = events.filter((pl.col("kind") == kind) & pl.col("step").is_not_null())
    rows = rows.filter(~pl.col("severity").is_in(["error", "fatal"]).fill_null(False))
    told = Lines(defaultdict(set), defaultdict(set), {})
    for step, rank, detail, file, line, text in rows.select(
        "step", "rank", "detail", "file", "line", "text"
    ).iter_rows():
        if said(detail).get("phase") == "begin":
            told.begun[step].add(rank)
        else:
            told.ended[step].add(rank)
            told.first.setdefault(step, Ref(file=file or "", line=line, text=text or ""))
    return told


def complete(events: pl.DataFrame, kind: str) -> dict[int, Ref]:
    """Steps of the checkpoints that lines of this kind say to be complete → the first such line."""
    told = lines_of(events, kind)
    return {step: ref for step, ref in told.first.items() if not told.unfinished(step)}


def newest_complete(events: pl.DataFrame, kind: str) -> int | None:
    """The step of the newest one."""
    return max(complete(events, kind), default=None)


def checkpoints(events: pl.DataFrame) -> tuple[Checkpoint, ...]:
    """Events of one attempt → complete checkpoints, by step."""
    saved, stored = complete(events, SAVED), complete(events, STORED)
    about = events.filter(pl.col("kind").is_in([SAVED, STORED]) & pl.col("detail").str.contains("path", literal=True))
    paths = {step: said(detail).get("path") for step, detail in about.select("step", "detail").iter_rows()}
    both = saved | stored
    return tuple(Checkpoint(step, step in stored, paths.get(step), both[step]) for step in sorted(both))


def safe(known: Sequence[Checkpoint]) -> list[Checkpoint]:
    """Those that outlive a host: what reached storage, where the job tells it apart."""
    return [one for one in known if one.stored] or list(known)


def checkpoint_before(known: Sequence[Checkpoint], step: int, margin: int = 0) -> Checkpoint | None:
    """The newest safe one at least `margin` steps before a step, else the newest before it."""
    before = safe([one for one in known if one.step < step])
    early = [one for one in before if one.step <= step - margin]
    return max(early or before, key=lambda one: one.step, default=None)


def before_step(step: int | None) -> str:
    """Words for the state before a step; nothing lies before the first one but what the run began from."""
    return f"a checkpoint before step {step}" if step is not None and step > 0 else "what the run began from"
