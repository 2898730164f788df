"""On which node each pod of the job runs, as Kubernetes says: a node's kernel knows nothing of pods, and processes know
themselves by their pod's name."""

from collections.abc import Collection, Mapping

import polars as pl

from forensics.assemble.identity import short_host
from forensics.facts.event_rows import detail, rows

_POD = "pod/"


def pod_of_node(events: pl.DataFrame, job_hosts: Collection[str]) -> Mapping[str, str]:
    """Node → the one pod of the job that was put there; nodes with several, and pods that were moved, are left out: which of
    them a record is about is not told."""
    nodes: dict[str, set[str]] = {}
    pods: dict[str, set[str]] = {}
    for row in rows(events, "scheduler"):
        told = detail(row)
        pod, node = str(told.get("object", "")), str(told.get("node") or "")
        if node and pod.startswith(_POD) and (name := short_host(pod.removeprefix(_POD))) in job_hosts:
            nodes.setdefault(name, set()).add(short_host(node))
            pods.setdefault(short_host(node), set()).add(name)
    alone = {node: next(iter(here)) for node, here in pods.items() if len(here) == 1 and node not in job_hosts}
    return {node: pod for node, pod in alone.items() if len(nodes[pod]) == 1}
