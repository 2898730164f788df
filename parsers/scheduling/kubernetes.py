"""Kubernetes events, as `kubectl get events` prints them (table, -o wide, or -o json).

    LAST SEEN   TYPE      REASON      OBJECT              MESSAGE
    5m          Warning   Evicted     pod/worker-3        The node was low on resource: ephemeral-storage.
    {"kind": "List", "items": [{"kind": "Event", "type": "Warning", "reason": "OOMKilling", "message": "…",
      "involvedObject": {"kind": "Node", "name": "gpu-017"}, "lastTimestamp": "2026-03-01T10:11:12Z"}]}

`code` is the reason, or `preemption` where the message of a node or a pod says so in words of a cloud or a scheduler, whatever reason
stands before it; the node that a pod was given (`Scheduled`) and the container that is spoken of are in `detail`. Ages ("5m") are
relative to a moment that the table does not tell, so such rows have no time; one that was asked for moments (`-o custom-columns`) has
them. With `--no-headers` the table begins with its rows.

Printed by: kubectl get events, with -o wide or -o json.
Versions: events of core/v1 and of events.k8s.io/v1.
Source: the API reference of Event, and kubectl's printers.
"""

import json
from datetime import UTC, datetime
from typing import Any

from parsers.forms.reading import text_lines, whole_json
from parsers.schema.parser import FileParser, Source
from parsers.schema.tables import Tables, table, tables_of
from parsers.text.patterns import regex
from parsers.text.taken_away import is_out_of_time, is_taken_away

_HEADER = regex(r"^(?:NAMESPACE\s+)?LAST SEEN\s+TYPE\s+REASON\s+OBJECT\s")
_ROW = regex(
    r"^(?:[a-z0-9][\w.-]*\s+)??(?P<age>\d\S*|<\w+>)\s+(?P<type>Normal|Warning)\s+(?P<reason>\w+)\s+"
    r"(?P<kind>[\w.]+)/(?P<name>\S+)\s+(?P<message>.*)$"
)
_ASSIGNED = regex(r"^Successfully assigned \S+ to (?P<node>\S+)$")
_CONTAINER = regex(r'\b[Cc]ontainer:? (?!image\b)"?(?P<name>[a-z0-9][a-z0-9-]{0,62})\b')
_KINDS = {
    "OOMKilling": "host_oom", "OOMKilled": "host_oom", "SystemOOM": "host_oom", "FailedMount": "storage_error",
    "FailedAttachVolume": "storage_error", "EvictionThresholdMet": "scheduler", "TaskHung": "hung_task",
}  # fmt: skip
_FATAL = {"OOMKilling", "SystemOOM", "NodeNotReady", "Evicted", "Rebooted", "TaintManagerEviction", "Preempted"}
_BYTES = 256 << 20


def accepts(_path: str, head: bytes) -> bool:
    """By the table's header, by the form of its first rows where it has none, or a JSON list whose items are events."""
    if not any(word in head[:16384] for word in (b"LAST SEEN", b"involvedObject", b" Normal ", b" Warning ")):
        return False
    start = head[:16384].decode("utf-8", "replace")
    first = [line for line in start.splitlines()[:3] if line.strip()]
    if any(map(_HEADER.match, first)) or (first and all(map(_ROW.match, first))):
        return True
    return start.lstrip()[:1] == "{" and "involvedObject" in start and '"reason"' in start


def parse(source: Source) -> Tables:
    """events scheduler, host_oom, storage_error, hung_task; names_hosts = the node; the object is in `detail`."""
    with source.open() as stream:
        is_json = stream.read(64).lstrip()[:1] == b"{"
    return _json(source) if is_json else _text(source)


def _text(source: Source) -> Tables:
    rows: list[dict[str, Any]] = []
    claimed: list[dict[str, Any]] = []
    unread: list[dict[str, Any]] = []
    for number, text in text_lines(source):
        place = {"file": source.path, "line": number}
        if found := _ROW.match(text):
            said = {"count": None, "source": None, "object": f"{found['kind'].lower()}/{found['name']}"}
            made = _event(found["type"], found["reason"], found["message"], said)
            rows.append(place | made | _stamp(found["age"]))
        elif _HEADER.match(text):
            claimed.append(place)
        elif text.strip():
            unread.append(place | {"reason": "not a row of the event table"})
    return tables_of(events=rows, claimed=claimed, unread=unread)


def _json(source: Source) -> Tables:
    document, refused = whole_json(source, _BYTES)
    if document is None:
        return refused
    items = document.get("items", [document])
    rows = [
        {"file": source.path, "record": record} | _item(item)
        for record, item in enumerate(items if isinstance(items, list) else [])
        if isinstance(item, dict)
    ]
    return {"events": table("events", rows)}


def _item(item: dict[str, Any]) -> dict[str, Any]:
    about = item.get("involvedObject") or item.get("regarding") or {}
    about = about if isinstance(about, dict) else {}
    origin = item.get("source")
    said = {
        "object": f"{about.get('kind', '')}/{about.get('name', '')}".lower(),
        "count": item.get("count"),
        "source": origin.get("host") if isinstance(origin, dict) else None,
    }
    message = str(item.get("message") or item.get("note") or "")
    made = _event(str(item.get("type", "")), str(item.get("reason", "")), message, said)
    stamp = item.get("lastTimestamp") or item.get("eventTime") or item.get("firstTimestamp")
    return made | _stamp(str(stamp))


def _event(level: str, reason: str, message: str, said: dict[str, Any]) -> dict[str, Any]:
    kind, _, name = str(said["object"]).partition("/")
    node = name if kind == "node" else said["source"]
    severity = "info" if level != "Warning" else "fatal" if reason in _FATAL else "warning"
    code = reason
    if reason not in _FATAL - {"Evicted"}:
        code = "preemption" if is_taken_away(message) else "time_limit" if is_out_of_time(message) else reason
    assigned = _ASSIGNED.match(message) if reason == "Scheduled" else None
    container = _CONTAINER.search(message[:2000]) if kind == "pod" else None
    told = {"node": assigned["node"] if assigned else None, "container": container["name"] if container else None}
    detail = {key: value for key, value in (said | told).items() if value is not None}
    return {
        "kind": _KINDS.get(reason, "scheduler"), "code": code or None, "severity": severity, "text": message[:2000],
        "host": node, "names_hosts": [node] if node else None, "detail": json.dumps(detail, sort_keys=True),
    }  # fmt: skip


def _stamp(text: str) -> dict[str, Any]:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return {"time_ns": None, "time_basis": None}
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return {"time_ns": int(moment.timestamp()) * 10**9 + moment.microsecond * 1000, "time_basis": "utc"}


PARSER = FileParser(name="kubernetes", accepts=accepts, parse=parse)
