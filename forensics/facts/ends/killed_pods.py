"""Whose pod was killed, by the word of who runs it?

A kubelet kills a container that fails its probe, and evicts pods of a node without memory or disk; parsers/knowledge has their words.
A pod may hold other containers (a log shipper fails its probe as well): what befell a container counts only where no other one of
its pod is told of. And it counts only of a pod of whose ranks no end is told and none gave up, while others waited for them in vain,
or lost them, or failed alike, most of them, and only where it came before that. A row without a time counts where all others lost a peer (as many logs, where nobody says whose they are) and nobody waited: a rank that
hung, and was killed for that, is waited for first.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping
from typing import Any

import polars as pl

from forensics.facts.ends.process_ends import ProcessEnd, end_of
from forensics.facts.hosts.anomaly_window import AnomalyWindow
from forensics.facts.rows.error_words import without_numbers
from forensics.facts.rows.event_rows import detail, of_kinds, own_rank
from parsers.knowledge import meanings

_LOST = ("peer_closed", "remote_error")
_EVICTED = "Evicted"


def with_killed_pods(
    ends: Mapping[int, ProcessEnd],
    events: pl.DataFrame,
    waited: Collection[int],
    window: AnomalyWindow,
    expected: frozenset[int],
) -> dict[int, ProcessEnd]:
    """Ends by rank; events of one attempt; `waited`: ranks whose watchdogs gave up; `expected`: all of the job → ends, with those of ranks whose pod was killed."""
    found = dict(ends)
    waiting = {*waited, *(rank for rank, end in ends.items() if end.waited)}
    told_lost = [(own_rank(row), row["file"]) for row in of_kinds(events, *_LOST).iter_rows(named=True)]
    lost = {rank for rank, _ in told_lost if rank is not None}
    logs = {file for rank, file in told_lost if rank is None} if not lost else set()
    lost |= _failed_alike(ends, expected)
    of_pods = events.filter((pl.col("kind") == "scheduler") & (pl.col("names_ranks").list.len() > 0).fill_null(False))
    if not (waiting or lost or logs) or not of_pods.height:
        return found
    containers: defaultdict[Any, set[Any]] = defaultdict(set)
    for row in of_pods.iter_rows(named=True):
        containers[detail(row).get("object")].add(detail(row).get("container"))
    said = meanings(of_pods["text"])
    is_of_pod = ((said["claim"] == "killed") & (said["about"] == "pod")).fill_null(False)
    is_killed = is_of_pod | (of_pods["code"] == _EVICTED).fill_null(False)
    for row in of_pods.filter(is_killed).sort("time_ns", "file", "line", "record").iter_rows(named=True):
        here, others = set(row["names_ranks"]), containers[detail(row).get("object")] - {None}
        is_whole = detail(row).get("container") is None or len(others) == 1
        is_silent = here.isdisjoint(waiting | lost) and here.isdisjoint(found)
        all_lost = expected - here <= lost or len(expected - here) == len(logs) > 1
        is_alone = row["time_ns"] is None and waiting <= lost and not waited and all_lost
        if is_whole and is_silent and (is_alone or window.when(row) == "before"):
            found |= {rank: end_of(rank, row, "died", "launcher", cause="killed") for rank in sorted(here)}
    return found


def _failed_alike(ends: Mapping[int, ProcessEnd], expected: frozenset[int]) -> frozenset[int]:
    """Ranks that all printed one and the same failure, where these are more than half of the job: what most failed with, none of them began."""
    said: defaultdict[str, set[int]] = defaultdict(set)
    for rank, end in ends.items():
        if end.how in ("died", "gave_up") and end.by == "process" and end.refs:
            said[without_numbers(end.refs[0].text)].add(rank)
    return next((frozenset(ranks) for ranks in said.values() if 2 * len(ranks) > max(2, len(expected))), frozenset())
