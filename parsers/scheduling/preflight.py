"""Results of a node check before or during a job ("take-off check"): in any form of
parsers/forms/framings.py, as a site's own tool writes them.

One row per node and round; columns, all but `host` or `node` and `ok` optional:

| column | meaning |
|---|---|
| `host` | host name |
| `node` | number of the node, where there is no name |
| `round` | 0, 1, …: a node that fails counts as bad if it fails again beside another partner |
| `peers` | who was tested together with it: list, or names separated by blanks or `;` |
| `test` | `matmul`, `allgather`, `ib_loopback`, `storage`, … |
| `ok` | true, false, pass, fail, ok, failed, 1, 0 |
| `seconds`, `gb_per_s`, `tflops` | what was measured |
| `device` | index of the device |
| `time` | seconds since 1970, or ISO 8601 |
| `message` | free text |

    {"host": "gpu-017", "round": 1, "peers": ["gpu-003"], "test": "allgather", "ok": false, "seconds": 3600}
    host,round,peers,test,ok,gb_per_s
    gpu-017,1,gpu-003,allgather,fail,2.1

Printed by: a site's own tool.
Versions: 1 of this table.
Source: this project's own definition of the format.
"""

import json
from typing import Any

from parsers.forms import framings
from parsers.forms.reading import real, utc_ns, whole
from parsers.schema.parser import FileParser, Source
from parsers.schema.tables import Tables

_COLUMNS = {
    "host", "node", "round", "peers", "test", "ok", "seconds", "gb_per_s", "tflops", "device", "time", "message",
}  # fmt: skip
_MEASURES = ("seconds", "gb_per_s", "tflops")
_OK = {"true": True, "pass": True, "passed": True, "ok": True, "1": True, "healthy": True,
       "false": False, "fail": False, "failed": False, "0": False, "error": False, "timeout": False}  # fmt: skip


def accepts(path: str, head: bytes) -> bool:
    """By the columns of the first row."""
    names = framings.names(path, head)
    return "ok" in names and bool(names & {"host", "node"}) and bool(names & {"round", "test", "peers"})


def parse(source: Source) -> Tables:
    """events node_check: code ok | failed, host, `value` = the first measure, the rest in `detail`."""
    return framings.read_table(source, "events", _events, "not a row of a node check")


def _events(said: dict[str, Any], text: str) -> list[dict[str, Any]]:
    ok = _OK.get(str(said.get("ok")).strip().lower())
    who = said.get("host") or said.get("node")
    if ok is None or who is None or str(who) == "":
        return []
    host = str(said["host"]) if said.get("host") else None
    node = whole(said.get("node"))
    detail = {name: said[name] for name in _COLUMNS - {"host", "ok", "time"} if said.get(name) not in (None, "")}
    detail["peers"] = _peers(said.get("peers"))
    time_ns = utc_ns(said.get("time"))
    return [{
        "kind": "node_check", "code": "ok" if ok else "failed", "severity": "info" if ok else "error", "host": host,
        "names_hosts": None if ok or host is None else [host], "device_index": whole(said.get("device")),
        "names_ranks": None if host or node is None or ok else [node],
        "names_rank_space": None if host or node is None or ok else "node",
        "value": next((value for name in _MEASURES if (value := real(said.get(name))) is not None), None),
        "time_ns": time_ns, "time_basis": None if time_ns is None else "utc", "text": text[:2000],
        "detail": json.dumps(detail, sort_keys=True, default=str),
    }]  # fmt: skip


def _peers(value: object) -> list[str]:
    if isinstance(value, list):
        return [str(one) for one in value[:10_000]]
    return str(value).replace(";", " ").split() if value else []


PARSER = FileParser(name="preflight", accepts=accepts, parse=parse)
