"""Whose pod was stopped while it ran, by the word of who runs it: an order from outside, and nobody's failure.

    Killing     pod/fit-2   Stopping container trainer          "Killing container with a grace period" pod="ml/fit-2"          a scheduler's preemption of it

A kubelet says so of a container that runs when its pod is to go (deleted, evicted, preempted, scaled down), whoever asked for it. Its processes are
asked to end, and killed when their grace is over: neither is a failure of theirs. It counts where all that ended there ended by a signal and by nothing of their own, and
where it is told of some pods of the job alone: a controller that clears up behind a failure stops them all. Words of a container that failed its
probe, or of a node without memory or disk, are another thing (killed_pods.py).
"""

from collections.abc import Iterator, Mapping

import polars as pl

from forensics.facts.ends.process_ends import ProcessEnd, as_stop
from forensics.facts.rows.event_rows import Row, detail, of_kinds
from parsers.knowledge import meaning

_STOPPING = ("Killing", "preemption", "Preempted", "Preempting")
_EVICTED = "Evicted"  # by a node that lacks memory or disk
_BY_SIGNAL = ("SIGKILL", "SIGTERM", "SIGINT", "")


def stopped_pods(events: pl.DataFrame, job: frozenset[int]) -> dict[int, Row]:
    """Events of one attempt, all ranks of the job → rank → the word that its pod was stopped; none where that is said of most."""
    told: dict[int, Row] = {}
    failed: set[int] = set()
    for row, has_failed in _words(events.filter(pl.col("names_ranks").is_not_null())):
        if has_failed:
            failed |= {*row["names_ranks"]}
        else:
            told |= {rank: told.get(rank, row) for rank in row["names_ranks"] if rank in job}
    return told if 2 * len(told) <= len(job) and not failed & told.keys() else {}


def orders_to_stop(events: pl.DataFrame) -> list[Row]:
    """What is said of pods that were to go while they ran."""
    return [row for row, has_failed in _words(events) if not has_failed]


def _words(events: pl.DataFrame) -> Iterator[tuple[Row, bool]]:
    """What is said of pods that are stopped, and whether that is for a failure of their own or of their node."""
    for row in of_kinds(events, "scheduler").iter_rows(named=True):
        if row["code"] == _EVICTED or ((said := meaning(row["text"] or "")) is not None and said.claim == "killed"):
            yield row, True
        elif row["code"] in _STOPPING:
            yield row, False


def with_stopped_pods(
    ends: Mapping[int, ProcessEnd], events: pl.DataFrame, job: frozenset[int]
) -> dict[int, ProcessEnd]:
    """Ends by rank → the same; those of processes of a pod that was stopped are stops."""
    told = stopped_pods(events, job) if ends else {}
    here = {rank: end for rank, end in ends.items() if rank in told}
    if not here or not all(map(_is_by_signal, here.values())):
        return dict(ends)
    return {**ends, **{rank: as_stop(end) for rank, end in here.items()}}


def _is_by_signal(end: ProcessEnd) -> bool:
    """Was it ended by somebody's signal, or is it only told that it is gone?"""
    return end.how == "stopped" or (end.by == "launcher" and end.cause in (None, "killed") and end.code in _BY_SIGNAL)


def stopped_objects(events: pl.DataFrame, job: frozenset[int]) -> frozenset[str]:
    """The pods that were stopped so, as their cluster calls them: what else is told of how their containers ended follows from that."""
    told = (detail(row).get("object") for row in stopped_pods(events, job).values())
    return frozenset(name for name in told if isinstance(name, str))
