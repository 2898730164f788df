"""What srun says of its tasks, as words about ranks.

srun numbers tasks. A task is the rank where one task is one process: where its lines account for just as many tasks as
the job has ranks (of a job whose size is not told: as ranks left a line), or where the ranks' own hosts agree with the tasks' and there are more tasks than hosts. Where torchrun
ran below srun, a task is a node's launcher, and nothing is said of ranks. What ended by SIGTERM or SIGKILL after srun
began to stop the step was stopped by it.

Fooled by: a job script that gives ranks another order than tasks and prints no host; srun's default order is assumed.
"""

import json
from collections.abc import Mapping
from typing import Any

import polars as pl

from forensics.assemble.identity import hosts_of_ranks, short_host
from forensics.model.signals import signal_of
from parsers.tables import TableName, table

_STOPPING = ("terminating", "terminated", "cancelled", "time_limit", "preemption", "node_failure")
Row = dict[str, Any]


def with_task_exits(
    tables: Mapping[TableName, pl.DataFrame], job: frozenset[int], seen: frozenset[int], identity: pl.DataFrame
) -> dict[TableName, pl.DataFrame]:
    """Tables of one attempt → the same, with a row of kind exit per rank (and closing_signal, where srun stopped it)
    for srun's lines whose tasks are ranks."""
    events = tables["events"]
    told = events.filter((pl.col("kind") == "exit") & pl.col("rank").is_null() & pl.col("detail").is_not_null())
    rows = [row | {"_tasks": tasks} for row in told.iter_rows(named=True) if (tasks := _tasks(row))]
    if not rows or _has_launchers(tables) or not _are_ranks(rows, job, seen, identity):
        return dict(tables)
    stopping = events.filter((pl.col("kind") == "scheduler") & pl.col("code").is_in(_STOPPING))
    begun = dict(stopping.group_by("file").agg(pl.col("line").min()).iter_rows())
    made: list[Row] = []
    for row in rows:
        kinds = ["exit", "closing_signal"] if _is_stopped(row, begun) else ["exit"]
        made += [
            {**row, "kind": kind, "rank": task, "rank_space": "global"} for task in row["_tasks"] for kind in kinds
        ]
    added = table("events", [{name: value for name, value in row.items() if name != "_tasks"} for row in made])
    return {**tables, "events": pl.concat([events, added])}


def _tasks(row: Row) -> list[int]:
    try:
        found = json.loads(row["detail"]).get("tasks")
    except (ValueError, AttributeError):
        return []
    return found if isinstance(found, list) and all(isinstance(task, int) for task in found) else []


def _has_launchers(tables: Mapping[TableName, pl.DataFrame]) -> bool:
    """Did torchrun speak?"""
    how = tables["ranks"]["how"].fill_null("").str.contains("elastic").any()
    return bool(how) or bool(tables["events"]["kind"].is_in(["first_failure", "closing_signal"]).any())


def _are_ranks(rows: list[Row], job: frozenset[int], seen: frozenset[int], identity: pl.DataFrame) -> bool:
    place = hosts_of_ranks(identity)
    tasks = {task for row in rows for task in row["_tasks"]}
    agree: set[int] = set()
    for row in rows:
        host = short_host(row["names_hosts"][0]) if row["names_hosts"] else None
        for task in row["_tasks"]:
            if host is not None and task in place:
                if place[task] != host:
                    return False
                agree.add(task)
    if not job:  # then those that left a line are the job, unless there is one task per host, as of launchers
        return tasks == seen and len(tasks) > len({host for row in rows for host in row["names_hosts"] or ["?"]})
    more_than_hosts = max(tasks) >= len(set(place.values()))
    return tasks == job or (tasks <= job and agree == tasks and more_than_hosts)


def _is_stopped(row: Row, begun: Mapping[str, int]) -> bool:
    """Signalled after srun began to stop the step; of lines in different files the order is not known."""
    if signal_of(row["code"]) not in ("SIGTERM", "SIGKILL") or not begun:
        return False
    return row["file"] not in begun or begun[row["file"]] < (row["line"] or 0)
