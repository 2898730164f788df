"""How containers ended, as the engine that ran them keeps it: what `docker inspect`, `podman inspect` or `crictl inspect` prints.

    [{"Id": "4f0c…", "Name": "/calm_bohr", "State": {"Status": "exited", "ExitCode": 139, "OOMKilled": false,
      "FinishedAt": "2026-03-01T10:11:12.5Z"}, "Config": {…}}]
    {"status": {"id": "77ab…", "state": "CONTAINER_EXITED", "exitCode": 137, "reason": "OOMKilled", "finishedAt": "2026-03-01T10:11:12Z",
      "labels": {"io.kubernetes.pod.name": "train-2"}}}

A container's name, and that of its pod, stand in `detail`: documents tell whose they are. One that still runs has not ended.

Printed by: docker, podman and nerdctl inspect; crictl inspect.
Versions: Docker API 1.20 and later, podman 4 and 5, CRI v1.
Source: ContainerState in the API reference of Docker Engine; ContainerStatus of CRI's api.proto.
"""

import json
from typing import Any

from parsers.forms.reading import FILE_BYTES, opened
from parsers.schema.parser import FileParser, Source
from parsers.schema.tables import Tables, table
from parsers.text.patterns import regex
from parsers.training.step_figures import time_of

_BYTES = min(FILE_BYTES, 64 << 20)
_HEAD = regex(rb"[\[{\s]*\"(?:Id|status)\"\s*:")
_STATE = regex(rb"\"(?:State|state)\"\s*:\s*(?:\{\s*\"(?:Status|OciVersion|Running)\"|\"CONTAINER_)")
_POD = "io.kubernetes.pod.name"


def accepts(_path: str, head: bytes) -> bool:
    """The file begins with a container's id, or its status, and tells its state."""
    return _HEAD.match(head) is not None and _STATE.search(head) is not None


def parse(source: Source) -> Tables:
    """events host_oom (code OOMKilled) and exit (code = exit code), one per container that ended other than well."""
    with opened(source) as stream:
        text = stream.read(_BYTES).decode("utf-8", "replace")
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    every = found if isinstance(found, list) else [found]
    rows = [row for one in every if isinstance(one, dict) and (row := _row(one, text)) is not None]
    return {"events": table("events", [row | {"file": source.path} for row in rows])}


def _row(one: dict[str, Any], text: str) -> dict[str, Any] | None:
    status = one.get("State") or one.get("status")
    if not isinstance(status, dict):
        return None
    said = {name.lower(): value for name, value in status.items()}
    code, state = said.get("exitcode"), str(said.get("status") or said.get("state") or "").lower()
    if not isinstance(code, int) or not code or ("exited" not in state and state != "dead"):
        return None
    called = str(one.get("Id") or said.get("id") or "")
    labels = said.get("labels")
    pod = labels.get(_POD) if isinstance(labels, dict) else None
    names = [name for name in (str(one.get("Name") or "").lstrip("/"), pod, called, called[:12]) if name]
    killed = said.get("oomkilled") is True or said.get("reason") == "OOMKilled"
    time_ns, basis = time_of(said.get("finishedat"))
    at = max(text.find(f'"{called}"'), 0)
    ended = text.find('"ExitCode"' if "ExitCode" in status else '"exitCode"', at)
    return {
        "kind": "host_oom" if killed else "exit",
        "code": "OOMKilled" if killed else str(code),
        "severity": "fatal" if killed else "error",
        "time_ns": time_ns,
        "time_basis": basis,
        "text": f"container {names[0] if names else '?'}: {'OOMKilled' if killed else 'exited'}, exit code {code}",
        "line": 1 + text.count("\n", 0, max(ended, at)),
        "detail": json.dumps({"containers": 1, "exit_code": str(code), "names": names, "only": "names"}),
    }


PARSER = FileParser(name="container_inspect", accepts=accepts, parse=parse, shared=True)
