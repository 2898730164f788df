"""Processes that run nothing any more, by the word of their host: stopped by a signal, held by a tracer, blocked in the kernel, or dead.

A tracer's stop counts where two looks and more show it, and no look anything else: who looks at a process stops it for a moment. That a process
waits for a disk in one look is no more than that; a kernel that complains of it has waited for minutes. Of most ranks it says nothing: then the job is
over, or somebody stopped all of it to keep what it shows.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, Literal

import msgspec
import polars as pl

from forensics.facts.ends.process_ends import ProcessEnd
from forensics.facts.rows.event_rows import Row, reference
from forensics.facts.waits.courses import behind
from forensics.model.ref import Ref
from parsers.schema.tables import Tables

Held = Literal["stopped", "traced", "blocked", "dead"]
_STATES: Mapping[str, Held] = {"stopped": "stopped", "tracing stop": "traced", "zombie": "dead", "dead": "dead"}
_LOOKS = 2  # that show a tracer's stop


class HeldProcess(msgspec.Struct, frozen=True):
    how: Held
    refs: tuple[Ref, ...]


def held_processes(stacks: pl.DataFrame, blocked: Iterable[Row]) -> dict[int, HeldProcess]:
    """Table `stacks`, what kernels say of blocked tasks → rank → how its process is held."""
    is_shown = pl.col("is_main").fill_null(False) & pl.col("rank").is_not_null() & pl.col("status").is_not_null()
    told = stacks.filter(is_shown).sort("file", "snapshot", "line") if stacks["status"].count() else stacks.clear()
    looks: defaultdict[int, list[dict[str, Any]]] = defaultdict(list)
    for row in told.iter_rows(named=True):
        looks[row["rank"]].append(row)
    found = {rank: one for rank, own in looks.items() if (one := held_in_looks(own)) is not None}
    found = found if 2 * len(found) < len(looks) else {}
    for told_of in blocked:
        if told_of["kind"] == "hung_task" and told_of["rank"] is not None and told_of["rank_space"] == "global":
            found.setdefault(told_of["rank"], HeldProcess("blocked", (reference(told_of),)))
    return dict(sorted(found.items()))


def held_in_looks(looks: list[dict[str, Any]]) -> HeldProcess | None:
    """What the states of one process, look by look, show of it."""
    states = {_STATES.get(str(row["status"])) for row in looks}
    refs = tuple(reference(row | {"text": f"pid {row['pid']}: {row['status']}"}) for row in looks[-_LOOKS:])
    if _STATES.get(str(looks[-1]["status"])) == "dead":
        return HeldProcess("dead", refs[-1:])
    if states == {"stopped"} or (states <= {"stopped", "traced"} and len(looks) >= _LOOKS):
        return HeldProcess("stopped" if "stopped" in states else "traced", refs)
    return None


def with_dead(ends: Mapping[int, ProcessEnd], tables: Tables) -> dict[int, ProcessEnd]:
    """Ends, with those of ranks whose process is shown dead, of which nothing else tells an end, and whose log stops before those of others do: who
    gave up its wait, and left, went on as far as they."""
    held = held_processes(tables["stacks"], ())
    dead = {rank: one for rank, one in held.items() if one.how == "dead" and rank not in ends}
    late = behind(tables["files"]) if dead else None
    died = {
        rank: ProcessEnd(rank, "died", None, "", None, one.refs, None, "launcher")
        for rank, one in dead.items()
        if late is not None and rank in late.ranks
    }
    return dict(sorted({**ends, **died}.items()))
