"""How a container of a pod ended, as a row of `events`, whatever form tells it."""

from typing import Any, NamedTuple

ID_OF_POD = "id of a pod"  # `how` of rows of `ranks`: host, and what kernels call it by


class Ended(NamedTuple):
    """How a container of a pod ended, and whether it was begun again after that."""

    pod: str
    host: str
    node: str
    container: str | None
    reason: str | None
    code: str
    time_ns: int | None
    is_earlier: bool


def ended(one: Ended, path: str, line: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """A row of `events`, and its detail."""
    killed = one.reason == "OOMKilled"
    detail = {
        "container": one.container, "object": f"pod/{one.pod}", "reason": one.reason, "exit_code": one.code, "is_earlier": one.is_earlier,
    }  # fmt: skip
    row = {
        "kind": "host_oom" if killed else "exit",
        "code": one.reason if killed else one.code,
        "severity": "fatal" if killed else "error",
        "host": one.host,
        "names_hosts": [one.node] if one.node and one.node != "<none>" else None,
        "time_ns": one.time_ns,
        "time_basis": None if one.time_ns is None else "utc",
        "text": f"container {one.container or '?'} of pod {one.pod}: {one.reason or 'ended'}, exit code {one.code}",
        "file": path,
        "line": line,
    }
    return row, detail
