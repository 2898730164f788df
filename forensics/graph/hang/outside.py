"""By stacks alone: who waits, and who is elsewhere.

A host that waits stands in communication, in a wait for its device, or at the one line where most processes of the job stand:
what calls into a library without Python frames, such as `.item()`, shows only the line that called it (STAT: the large class
of equal stacks). Whose own watchdog gave up on others had waited, and its traceback shows where. Whoever is in a place of the host that is no wait is outside; so is one that waits for a service outside the job,
or as a worker for its next task, and one that computes while all others wait. Of two, one look tells nothing.
"""

import msgspec
import polars as pl

from forensics.facts.waits.stacks import to_frames
from forensics.graph.hang.waits import HOST_SITES
from forensics.model.told import values
from parsers import knowledge

WAITS = ("communication", "gpu_sync")
_PAIR = 2
_FEW = 3  # at most one in three processes may be outside


class Places(msgspec.Struct, frozen=True):
    """Rows of `facts.stacks.main_stacks`: all of live processes, those that wait or gave up waiting, those outside (empty where
    they are too many, or where not enough wait)."""

    live: pl.DataFrame
    waiting: pl.DataFrame
    outside: pl.DataFrame

    @property
    def waiters(self) -> int:
        """How many processes wait."""
        return int(self.waiting["count"].sum() or 0)


def places(stacks: pl.DataFrame, timed_out: frozenset[int], job: frozenset[int]) -> Places:
    """`timed_out`: ranks whose own watchdog gave up on others. `job`: its ranks, as far as known; where every one has a
    stack, a process without a rank is none of the job's."""
    live = stacks.filter(pl.col("source") != "traceback") if stacks.height else stacks
    if job and live.height and job <= values(live["rank"]):
        live = live.filter(pl.col("rank").is_not_null())
    if not live.height:
        return Places(live, live, live)
    waits = live["site"].is_in(WAITS) | _at_one_line(live)
    gave_up = stacks.filter((pl.col("source") == "traceback") & pl.col("rank").is_in(sorted(timed_out)))
    waiting = pl.concat([live.filter(waits), gave_up])
    outside = _outside(live, waiting, waits, timed_out)
    total, few = int(live["count"].sum() or 0) + int(gave_up["count"].sum() or 0), int(outside["count"].sum() or 0)
    if (int(waiting["count"].sum() or 0) < 2 or _FEW * few > total) and not _are_two(live, waiting, outside, job):
        outside = outside.clear()
    return Places(live, waiting, outside)


def _are_two(live: pl.DataFrame, waiting: pl.DataFrame, outside: pl.DataFrame, job: frozenset[int]) -> bool:
    """Of a job of two, does one stand in a call that is known, and the other elsewhere, in two looks? Who waits for a lock or a queue may wait for work."""
    both = waiting.height == outside.height == 1 and live.height == _PAIR and outside["site"][0] != "lock"
    is_whole = both and job == values(live["rank"]) and len(job) == _PAIR
    return is_whole and waiting["op"].null_count() == 0 and bool((~live["moving"].fill_null(True)).all())


def _at_one_line(live: pl.DataFrame) -> pl.Series:
    """Those that stand at the line where more than half of all processes do, and do not move from there."""
    frame = pl.col("frames").list.first()
    line = pl.struct(frame.struct.field("function"), frame.struct.field("file"), frame.struct.field("line"))
    together = 2 * pl.col("count").sum().over(line) > pl.col("count").sum()
    told = pl.col("site").is_in(["compute", "unknown"]) & (pl.col("count").sum().over(line) > 1)
    return live.select((together & told & ~pl.col("moving").fill_null(False)).alias("waits"))["waits"]


def _for_services(live: pl.DataFrame) -> pl.Series:
    """Whose innermost call of nobody's site is known to wait for a service, or a task."""
    told = {
        frames: knowledge.innermost_waits((frame.file, frame.function) for frame in frames) == "service"
        for frames in map(tuple, map(to_frames, live.filter(pl.col("site") == "unknown")["frames"].to_list()))
    }
    if not any(told.values()):
        return pl.Series([False] * live.height, dtype=pl.Boolean)
    stacks = map(tuple, map(to_frames, live["frames"].to_list()))
    return pl.Series([told.get(frames, False) for frames in stacks], dtype=pl.Boolean)


def _within(odd: pl.DataFrame, waiting: pl.DataFrame) -> pl.Series:
    """Who is in the same library as the others, where these all stand at one line of one that nobody knows: a lock in it may be held for them.
    Not who stands at that very line: every call goes through it, and where it was called from tells."""
    lines = {tuple(to_frames(frames)[:1]) for frames in waiting["frames"].to_list()}
    if len(lines) != 1 or not (waiting["site"] == "unknown").all():
        return pl.Series([False] * odd.height, dtype=pl.Boolean)
    frames = to_frames(waiting["frames"][0])
    library, main = (_folder(frame.file) for frame in (frames[0], frames[-1]))
    same = [
        library not in ("", main)
        and tuple(to_frames(own)[:1]) not in lines
        and library in {_folder(frame.file) for frame in to_frames(own)}
        for own in odd["frames"].to_list()
    ]
    return pl.Series(same, dtype=pl.Boolean)


def _folder(file: str) -> str:
    return file.rpartition("/")[0]


def _outside(live: pl.DataFrame, waiting: pl.DataFrame, waits: pl.Series, timed_out: frozenset[int]) -> pl.DataFrame:
    odd = live.filter(pl.col("site").is_in(sorted(HOST_SITES)) | _for_services(live))
    odd = odd.filter(~_within(odd, waiting))
    if odd.height or not waiting.height:
        return odd
    computing = live.filter(~waits)
    # Who holds the lock of its interpreter runs Python at that moment, wherever that is.
    holds = pl.col("status").str.contains("gil", literal=True).fill_null(False)
    runs = (pl.col("site") == "compute") | ((pl.col("site") == "unknown") & holds)
    ranks = pl.Series(sorted(timed_out), dtype=pl.Int64).implode()
    all_gave_up = bool(waiting["rank"].is_not_null().all() and waiting["rank"].is_in(ranks).all())
    if (~waiting["moving"].fill_null(True)).all():  # all the others stood still meanwhile
        running = computing.filter(runs)
        # Nor did a single one anywhere else, while the others gave up or stand in one call: it is not where they wait for it.
        stood = (~computing["moving"].fill_null(True)).all() and int(computing["count"].sum() or 0) == 1
        together = waiting["op"].null_count() == 0 and waiting["op"].n_unique() == 1 and waiting.height > _FEW
        if running.height or not stood or not (all_gave_up if timed_out else together):
            return running
    elif computing.filter(~runs).height or waiting["moving"].is_in([True]).any() or (timed_out and not all_gave_up):
        return computing.clear()
    return computing.clear() if computing["rank"].is_in(ranks).any() else computing
