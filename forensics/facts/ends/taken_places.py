"""Were these ranks taken away, by the word of who runs them: a preemption of their pod, or of the node that their pod was put on?

A pod is a rank's where the rank knows itself by it, or where its log is named after it. A preemption of another pod of the job is none of
theirs; where nothing tells which pod or node a rank had, one of the job's is taken for theirs, as it names nobody.
What is taken as a whole (a workload, a group of pods) goes pod by pod: theirs are those that were stopped from then on. It is this job's where its pods are called
after it, or were stopped then.
"""

from collections.abc import Collection, Mapping
from pathlib import PurePosixPath

import polars as pl

from forensics.facts.ends.stopped_pods import orders_to_stop
from forensics.facts.hosts.pods import pods_of
from forensics.facts.rows.event_rows import Row, detail, rows
from forensics.model.hosts import short_host
from parsers.schema.tables import Tables
from parsers.text.patterns import regex

NODE_FAILED = ("node_failure", "node_fail", "NodeNotReady")  # Slurm, sacct, Kubernetes of a node that stopped to answer
_PARTS = ("pod", "node")
_MARK = regex(r"[0-9a-f]{4,12}|[a-z0-9]*\d[a-z0-9]*")  # of an id
_TAKEN = ("preemption", "Preempted", "Preempting")


def preemptions(events: pl.DataFrame, job_hosts: frozenset[str]) -> list[Row]:
    """What a scheduler says of nodes and pods of the job that it takes away."""
    told = [row for row in rows(events, "scheduler") if row["code"] in _TAKEN]
    return [row for row in told if not is_of_another(row, events, job_hosts)]


def is_of_another(row: Row, events: pl.DataFrame, job_hosts: frozenset[str]) -> bool:
    """Is it said of a pod that is none of the job's, whose own pods are told by name, of a node that none of its pods was given, or of a whole that
    none of its pods is called after, or was stopped with?"""
    kind, _, name = str(detail(row).get("object") or "").partition("/")
    if name and kind not in _PARTS:
        own = job_hosts & pods_of(events).keys()
        return bool(own) and not any(_is_called_after(pod, name) for pod in own) and own.isdisjoint(_with(row, events))
    if kind == "node":
        given = {short_host(str(node)) for one in rows(events, "scheduler") if (node := detail(one).get("node"))}
        return bool(given) and short_host(name) not in given | job_hosts
    return kind == "pod" and short_host(name) not in job_hosts and not job_hosts.isdisjoint(pods_of(events))


def are_taken_away(
    ranks: Collection[int],
    events: pl.DataFrame,
    tables: Tables,
    job_hosts: frozenset[str],
    host_of_rank: Mapping[int, str],
) -> bool:
    """Ranks; events and tables of one attempt → whether what a scheduler takes away is theirs."""
    told = preemptions(events, job_hosts)
    pods = pods_of(events)
    of_pods = {pod: {pod, node} if node else {pod} for pod, node in pods.items()}
    taken = {
        short_host(name)
        for row in told
        for name in (str(detail(row).get("object") or "").partition("/")[2], row["host"], *(row["names_hosts"] or ()))
        if name
    }
    for row in (row for row in told if _is_whole(row)):
        taken |= _with(row, events)
    known = {rank: _places(rank, tables, host_of_rank) & (taken | of_pods.keys()) for rank in ranks}
    return bool(told) and all(
        not own or any(taken & ({place} | of_pods.get(place, set())) for place in own) for own in known.values()
    )


def _is_whole(row: Row) -> bool:
    kind, _, name = str(detail(row).get("object") or "").partition("/")
    return bool(name) and kind not in _PARTS


def _with(whole: Row, events: pl.DataFrame) -> frozenset[str]:
    """The pods that were stopped from the moment on in which a whole was taken; of words without moments those below."""
    said = [(row, str(detail(row).get("object") or "")) for row in orders_to_stop(events)]
    return frozenset(
        short_host(name.removeprefix("pod/")) for row, name in said if name.startswith("pod/") and _follows(row, whole)
    )


def _follows(row: Row, first: Row) -> bool:
    if None not in (row["time_ns"], first["time_ns"]) and row["time_basis"] == first["time_basis"]:
        return bool(row["time_ns"] >= first["time_ns"])
    return bool(
        row["file"] == first["file"] and (row["line"] or row["record"] or 0) > (first["line"] or first["record"] or 0)
    )


def _is_called_after(pod: str, whole: str) -> bool:
    """Does the name of a pod begin with that of the owner, which a whole has behind a word for its kind and before its own marks?"""
    parts = whole.lower().split("-")
    marks = next((at for at in range(len(parts)) if all(map(_MARK.fullmatch, parts[at:]))), len(parts))
    ends = range(max(marks, 1), len(parts) + 1)
    runs = ("-".join(parts[begin:end]) for begin in (0, 1) for end in ends if begin < end)
    return any(pod.startswith(f"{run}-") for run in runs)


def _places(rank: int, tables: Tables, host_of_rank: Mapping[int, str]) -> set[str]:
    """Names under which a rank may be known: its host, its pod, the name of its log."""
    own = tables["ranks"].filter(pl.col("rank") == rank)["file"].drop_nulls().unique().to_list()
    files = [file for file in own if tables["ranks"].filter(pl.col("file") == file)["rank"].n_unique() == 1]
    stems = {short_host(PurePosixPath(file).name) for file in files if file}
    return stems | ({short_host(host_of_rank[rank])} if rank in host_of_rank else set())
