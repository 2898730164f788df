"""What a main thread waits for that waits for another thread of its process: what that one does.

    MainThread: wait (threading.py), get (queue.py), __next__ (loader.py)      prefetch: read (array_record_data_source.py), _fill (loader.py)

The other one has lines of the same file of the job's own code, and waits for no thread itself. Where such threads do different things, none is told; one that
stands alike in most processes watches them.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence

import polars as pl

from forensics.model.frames import LIBRARY
from parsers.text.patterns import regex

_WAITS = regex(r"(?:^|/)(?:threading|queue|_base|thread|futures)\.py$")
_KEY = ("file", "rank", "host", "pid", "snapshot")
Frames = Sequence[dict[str, str | int | None]]
Stand = tuple[tuple[str, str], ...]


def with_fed(told: pl.DataFrame, stacks: pl.DataFrame, site_of: Callable[[Frames], str]) -> pl.DataFrame:
    """Main stacks with their site, and all stacks → the sites of those that wait for a thread."""
    waiting = [_own_file(frames) if site == "lock" else None for site, frames in told.select("site", "frames").rows()]
    if not any(waiting):
        return told
    others = stacks.filter(~pl.col("is_main").fill_null(True) & (pl.col("frames").list.len() > 0))
    threads: defaultdict[tuple[object, ...], list[Frames]] = defaultdict(list)
    everywhere = _of_most(others)
    for *key, frames in others.select(*_KEY, "frames").iter_rows():
        if _stands(frames) not in everywhere:
            threads[*key] += [frames]
    sites = []
    shown = dict.fromkeys(stacks.filter(pl.col("is_main").fill_null(False)).select(*_KEY, "line").rows())
    keys = {(row[0], row[-1]): row[:-1] for row in shown}
    for own, site, file, line in zip(waiting, told["site"], told["file"], told["line"], strict=True):
        feeding = threads.get(keys.get((file, line), ()), []) if own else []
        found = {site_of(frames) for frames in feeding if _uses(frames, own or "")} - {"lock", "unknown"}
        sites.append(found.pop() if len(found) == 1 else site)
    return told.with_columns(pl.Series("site", sites, dtype=pl.String))


def _of_most(others: pl.DataFrame) -> set[Stand]:
    """Where a thread of most processes stands, as one that watches them all does: nobody waits for that alone."""
    shown: defaultdict[Stand, set[tuple[object, ...]]] = defaultdict(set)
    for *process, frames in others.select("rank", "host", "pid", "frames").iter_rows():
        shown[_stands(frames)].add(tuple(process))
    processes = set[tuple[object, ...]]().union(*shown.values())
    return {stand for stand, own in shown.items() if len(own) > 1 and 2 * len(own) > len(processes)}


def _stands(frames: Frames) -> Stand:
    return tuple((str(frame["file"]), str(frame["function"])) for frame in frames)


def _own_file(frames: Frames) -> str | None:
    """The file of the line that waits for a thread, of the job's own code."""
    inner = [str(frame["file"] or "") for frame in frames]
    own = next((at for at, file in enumerate(inner) if not _WAITS.search(file)), 0)
    return inner[own] if own and not LIBRARY.search(inner[own]) else None


def _uses(frames: Frames, own: str) -> bool:
    return not _WAITS.search(str(frames[0]["file"] or "")) and any(frame["file"] == own for frame in frames)
