"""How the containers of pods ended, as the API server keeps it: what `kubectl get pods -o json` or `-o yaml` prints.

    {"kind": "List", "items": [{"kind": "Pod", "metadata": {"name": "train-2-x7k2p"}, "spec": {"nodeName": "gpu-017", "hostname": "train-2"},
      "status": {"containerStatuses": [{"name": "main", "state": {"terminated":
        {"exitCode": 137, "reason": "OOMKilled", "finishedAt": "2026-03-01T10:11:12Z"}}}]}}]}

A container's host name is the pod's `hostname`, else the name of the pod; it stands in `host`, the node in `names_hosts`. `lastState` is the run
before the container was started again. Containers that prepare a pod (`initContainerStatuses`) are none of the job.

Printed by: kubectl get pod(s) -o json, -o yaml; must-gather and other collectors that keep objects.
Versions: API v1.
Source: ContainerStateTerminated, PodSpec and PodStatus in the API reference of Kubernetes.
"""

import json
from collections import defaultdict
from datetime import datetime
from typing import Any

from parsers.forms.reading import FILE_BYTES, opened
from parsers.scheduling.ended_containers import ID_OF_POD, Ended, ended
from parsers.schema.parser import FileParser, Source
from parsers.schema.tables import Tables, table
from parsers.text.outlines import Leaf, Path, leaves
from parsers.text.patterns import regex

_HEAD = regex(rb"(?m)^\s*[\"']?apiVersion[\"']?: ?[\"']?v1\b")
_KIND = regex(rb"(?m)^[\s-]*[\"']?kind[\"']?: ?[\"']?(?:Pod(?:List)?|List)\b")
_STATUSES = "containerStatuses"
_BYTES = min(FILE_BYTES, 64 << 20)
_Said = dict[Path, Leaf]  # of a pod


def accepts(_path: str, head: bytes) -> bool:
    """The file begins with an object, or a list of objects, of API v1, and it may be a pod."""
    start = head[:4096].lstrip()
    return start[:1] in b"{ak-" and bool(_HEAD.search(start)) and bool(_KIND.search(start))


def parse(source: Source) -> Tables:
    """events host_oom (code OOMKilled) and exit (code = exit code), one per container that ended other than well; ranks: the ids of pods."""
    with opened(source) as stream:
        text = stream.read(_BYTES).decode("utf-8", "replace")
    pods: defaultdict[Path, _Said] = defaultdict(dict)
    for leaf in leaves(text):
        at = next((at for at, part in enumerate(leaf.path) if part in ("metadata", "spec", "status")), None)
        if at is not None:
            pods[leaf.path[:at]][leaf.path[at:]] = leaf
    rows = [row for said in pods.values() for row in _of_pod(source.path, text, said)]
    ids = [{"file": source.path, "how": ID_OF_POD} | one for said in pods.values() for one in _ids(said)]
    return {"events": table("events", rows), "ranks": table("ranks", ids)}


def _ids(said: _Said) -> list[dict[str, Any]]:
    """What kernels call a pod by: its uid, and the ids of its containers."""
    names = [said[name].value for name in (("spec", "hostname"), ("metadata", "name")) if name in said]
    ids = [leaf for where, leaf in said.items() if where == ("metadata", "uid") or where[-1] == "containerID"]
    return [
        {"host": names[0], "name": leaf.value.rpartition("/")[2], "line": leaf.line}
        for leaf in ids
        if names and leaf.value
    ]


def _of_pod(path: str, text: str, said: _Said) -> list[dict[str, Any]]:
    def told(*names: str | int) -> str:
        return said[names].value if names in said else ""

    found = []
    containers = {where[2] for where in said if where[:2] == ("status", _STATUSES) and len(where) > 2}
    for where, leaf in said.items():
        if where[:2] != ("status", _STATUSES) or where[-2:] != ("terminated", "exitCode") or leaf.value in ("", "0"):
            continue
        pod, state = told("metadata", "name"), where[:-1]
        one = Ended(
            pod, told("spec", "hostname") or pod, told("spec", "nodeName"), told(*where[:3], "name") or None,
            told(*state, "reason") or None, leaf.value, _time(told(*state, "finishedAt")), where[3] == "lastState",
        )  # fmt: skip
        row, detail = ended(one, path, _line(text, leaf, pod, said.get((*state, "finishedAt"))))
        found.append(row | {"detail": json.dumps(detail | {"containers": len(containers)}, sort_keys=True)})
    return found


def _line(text: str, leaf: Leaf, pod: str, finished: Leaf | None) -> int:
    """Where it stands: of JSON leaves have no lines, but a pod ends once."""
    if leaf.line > 1:
        return leaf.line
    begins = max(text.find(f'"{pod}"'), 0)
    at = text.find(f'"{finished.value}"', begins) if finished is not None else text.find('"exitCode"', begins)
    return 1 + text.count("\n", 0, max(at, begins))


def _time(text: str) -> int | None:
    try:
        return int(datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() * 1000) * 10**6
    except ValueError:
        return None


PARSER = FileParser(name="pod_status", accepts=accepts, parse=parse, shared=True)
