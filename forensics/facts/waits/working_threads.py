"""Which thread does the job where the main threads of processes only keep them alive: an actor's loop, a join, a sleep.

    MainThread: main_loop (ray/_private/worker.py)       TrainingThread: all_reduce (distributed_c10d.py), step (train.py), run (threading.py)

The main threads of three processes at least stand alike, line by line, and in no call that waits for ranks: they tell nobody from others. Each of these processes has one thread
that began at the same function, and most of those stand in such a call. What else begins so twice in a process, or another such thread beside it, decides nothing.

Fooled by: a thread of each process that does nothing but talk to the others, beside one of another name that works.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import polars as pl

from parsers.text.patterns import regex

_STARTS = regex(r"(?:^|/)(?:threading|_base|thread|futures|pool)\.py$")
_FEWEST = 3  # processes that stand alike
_KEY = ("file", "rank", "host", "pid", "snapshot", "source")
Frames = Sequence[Mapping[str, Any]]
Entry = tuple[str, str]


def with_working_threads(stacks: pl.DataFrame, site_of: Callable[[Frames], str]) -> pl.DataFrame:
    """Stacks → the same, where the threads that do the job are the main ones."""
    if stacks["is_main"].fill_null(True).all():
        return stacks
    whole = stacks.with_row_index("_at").filter(
        (pl.col("frames").list.len() > 0) & pl.col("pid").is_not_null() & pl.col("parent_pid").is_null()
    )
    shown: defaultdict[tuple[Any, ...], tuple[list[tuple[int, Frames]], list[tuple[int, Frames]]]] = defaultdict(
        lambda: ([], [])
    )
    for at, is_main, frames, *key in whole.select(
        "_at", pl.col("is_main").fill_null(True), "frames", *_KEY
    ).iter_rows():
        shown[tuple(key)][0 if is_main else 1].append((at, frames))
    alike: defaultdict[tuple[Any, ...], list[tuple[Any, ...]]] = defaultdict(list)
    for process, (main, others) in shown.items():
        if len(main) == 1 and others:
            alike[_places(main[0][1])].append(process)
    moved: dict[int, bool] = {}
    for keys in alike.values():
        if len({key[1:4] for key in keys}) < _FEWEST or site_of(shown[keys[0]][0][0][1]) == "communication":
            continue
        if found := _working([shown[key][1] for key in keys], site_of):
            moved |= dict.fromkeys(found, True) | {shown[key][0][0][0]: False for key in keys}
    if not moved:
        return stacks
    is_main = [moved.get(at, own) for at, own in enumerate(stacks["is_main"].to_list())]
    return stacks.with_columns(pl.Series("is_main", is_main, dtype=pl.Boolean))


def _working(processes: Sequence[Sequence[tuple[int, Frames]]], site_of: Callable[[Frames], str]) -> list[int]:
    """The rows of the one thread of each process that most of them wait for the others in."""
    begun: defaultdict[Entry, list[tuple[int, Frames]]] = defaultdict(list)
    several: set[Entry] = set()
    for threads in processes:
        seen: set[Entry] = set()
        for at, frames in threads:
            if (entry := _entry(frames)) is not None:
                several |= {entry} & seen
                seen.add(entry)
                begun[entry].append((at, frames))
    waiting = [
        [at for at, _ in own]
        for entry, own in begun.items()
        if entry not in several
        and len(own) == len(processes)
        and 2 * sum(site_of(frames) == "communication" for _, frames in own) > len(own)
    ]
    return waiting[0] if len(waiting) == 1 else []


def _entry(frames: Frames) -> Entry | None:
    """The function that a thread was begun for."""
    outer = ((str(one["function"]), str(one["file"] or "")) for one in reversed(frames))
    return next((one for one in outer if not _STARTS.search(one[1])), None)


def _places(frames: Frames) -> tuple[Any, ...]:
    return tuple((one["function"], one["file"], one["line"]) for one in frames)
