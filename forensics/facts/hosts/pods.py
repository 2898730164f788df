"""On which node each pod of the job runs, as Kubernetes says: a node's kernel knows nothing of pods, and processes know
themselves by their pod's name."""

from collections.abc import Collection, Mapping

import polars as pl

from forensics.facts.rows.event_rows import detail, rows
from forensics.model.hosts import short_host
from parsers.scheduling.ended_containers import ID_OF_POD
from parsers.text.patterns import regex
from parsers.text.unanimous import unanimous

_POD = "pod/"
_NUMBER = regex(r"\d+")
_MARKS = regex(r"[-_]")
_ID = regex(
    r"(?i)(?:(?<=pod)|(?<![0-9a-f]))(?:[0-9a-f]{8}(?:[-_]?[0-9a-f]{4}){3}[-_]?[0-9a-f]{12}|[0-9a-f]{64})(?![0-9a-f])"
)
_LABEL = (
    r"\bpod(?:_name|[./]name)?\"{0,2}(?:[:=]|/) ?\"{0,2}([a-z0-9][a-z0-9.-]{0,252})"  # of a collector, before a line
)


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


def pods_of_ids(ranks: pl.DataFrame) -> Mapping[str, str]:
    """Table `ranks` → id without marks → the pod or container that it is of."""
    told = ranks.filter(pl.col("how") == ID_OF_POD).select("name", "host").drop_nulls().unique()
    return unanimous((_MARKS.sub("", name.lower()), short_host(host)) for name, host in told.iter_rows())


def ids_in(text: str) -> frozenset[str]:
    """Ids of pods and containers in the name of a control group, without marks."""
    return frozenset(_MARKS.sub("", one.lower()) for one in _ID.findall(text))


def labelled_pods(last_lines: pl.Series, hosts: pl.Series) -> Mapping[str, str | None]:
    """Those of the hosts that a collector calls pods, beside the last lines of a log, and all that are called alike but for numbers; each with null: on which
    node it is, such a label does not tell."""
    known = set(map(short_host, hosts.drop_nulls().unique()))
    lines = last_lines.explode().drop_nulls() if known else last_lines.clear().explode()
    named = lines.filter(lines.str.contains("pod", literal=True)).str.extract_all(_LABEL).explode().drop_nulls()
    called = set(map(short_host, named.str.extract(_LABEL).drop_nulls().unique()))
    alike = {_NUMBER.sub("#", name) for name in known & called}
    return dict.fromkeys(name for name in sorted(known) if _NUMBER.sub("#", name) in alike)


def pods_of(events: pl.DataFrame) -> Mapping[str, str | None]:
    """Pod → its node, null where that is not told or told twice: every name that Kubernetes, or DLRover's master, says of a
    pod. A host that is not among them may be a node, and is no pod for all that is known."""
    found: dict[str, set[str]] = {}
    telling = events.filter(pl.col("detail").str.contains(r'"(?:object|old|new)": "').fill_null(False))
    for row in telling.iter_rows(named=True):
        told = detail(row)
        kind, _, name = str(told.get("object") or "").partition("/")
        nodes = {str(told["node"])} if told.get("node") else {*(row["names_hosts"] or ())} if kind == "pod" else set()
        named = [name] if kind == "pod" else [str(told[key]) for key in ("old", "new") if told.get(key)]
        for pod in named:
            found.setdefault(short_host(pod), set()).update(map(short_host, nodes))
    return {pod: next(iter(nodes)) if len(nodes) == 1 else None for pod, nodes in sorted(found.items())}
