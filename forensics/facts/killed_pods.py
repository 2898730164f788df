"""Whose pod was killed, by the word of who runs it?

A kubelet kills a container that fails its probe, and evicts pods of a node without memory or disk; parsers/knowledge has their words.
A pod may hold other containers (a log shipper fails its probe as well): what befell a container counts only where no other one of
its pod is told of. And it counts only of a pod of whose ranks no end is told and none gave up, while others waited for them in vain,
and only where it came before that.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping
from typing import Any

import polars as pl

from forensics.facts.anomaly_window import AnomalyWindow
from forensics.facts.event_rows import detail, reference
from forensics.facts.process_ends import ProcessEnd
from parsers.knowledge import meanings


def with_killed_pods(
    ends: Mapping[int, ProcessEnd], events: pl.DataFrame, waited: Collection[int], window: AnomalyWindow
) -> dict[int, ProcessEnd]:
    """Ends by rank; events of one attempt; `waited`: ranks whose watchdogs gave up → ends, with those of ranks whose pod was killed."""
    found = dict(ends)
    waiting = {*waited, *(rank for rank, end in ends.items() if end.waited)}
    of_pods = events.filter((pl.col("kind") == "scheduler") & (pl.col("names_ranks").list.len() > 0).fill_null(False))
    if not waiting or not of_pods.height:
        return found
    containers: defaultdict[Any, set[Any]] = defaultdict(set)
    for row in of_pods.iter_rows(named=True):
        containers[detail(row).get("object")].add(detail(row).get("container"))
    said = meanings(of_pods["text"])
    is_killed = ((said["claim"] == "killed") & (said["about"] == "pod")).fill_null(False)
    for row in of_pods.filter(is_killed).sort("time_ns", "file", "line", "record").iter_rows(named=True):
        here, others = set(row["names_ranks"]), containers[detail(row).get("object")] - {None}
        is_whole = detail(row).get("container") is None or len(others) == 1
        if is_whole and here.isdisjoint(waiting) and here.isdisjoint(found) and window.when(row) == "before":
            found |= {rank: _killed(rank, row) for rank in sorted(here)}
    return found


def _killed(rank: int, row: Mapping[str, Any]) -> ProcessEnd:
    at, basis = row["time_ns"], row["time_basis"]
    return ProcessEnd(rank, "died", "killed", "", at, (reference(row),), basis, "launcher")
