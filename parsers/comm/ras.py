"""What NCCL's RAS client prints (NCCL 2.24 and later): reports as text and JSON, and the lines of its monitor mode.

    [2026-01-31 10:11:12] PEER_DEAD: Process 4711 on node 10.0.0.7 managing GPU 5           (monitor mode, 2.29)
    {"timestamp": "2026-01-31 10:11:12", "group": "LIFECYCLE", "event": "PEER_DEAD",
     "peer": {"host": "10.0.0.7", "pid": 4711, "cuda_devs": "5"}, "details": "…"}           (on one line)

Reports are files of their own (ras_text, ras_json); several reports in a row in one text file are read one after the
other. Monitor lines are looked for everywhere.

Printed by: ncclras, or whoever asks NCCL's RAS port.
Versions: NCCL 2.24 to 2.30; JSON since 2.28.7, monitor mode since 2.29.
Source: the NCCL repository and its documentation of RAS.
"""

import json
import re
from typing import Any

import polars as pl

from parsers.comm.ras_json import JsonReport
from parsers.comm.ras_text import TextReport
from parsers.forms.reading import all_bytes, json_object, text_lines, whole
from parsers.schema.lines import Row, claimed, event
from parsers.schema.parser import FileParser, LineParser, Source
from parsers.schema.tables import Tables, table, tables_of
from parsers.text.patterns import regex
from parsers.text.stamps import parse_time

_JSON_BYTES = 512 << 20
_MONITOR = regex(
    r"\b(?P<event>[A-Z][A-Z_]{3,40}): Process (?P<pid>\d{1,9}) on node (?P<node>\S{1,255}) managing GPUs? "
    r"(?P<gpus>\d[\d, -]{0,100})"
)
_BAD = ("DEAD", "UNRESPONSIVE", "ERROR", "TIMEOUT", "ABORT", "LOST")


def accepts(_path: str, head: bytes) -> bool:
    """A text report by its first section, a JSON one by its first keys."""
    if head.lstrip()[:1] == b"{":
        return b'"nccl_version"' in head and b'"communicators"' in head
    return b"\nJob summary" in head[:4096] and re.search(rb"^NCCL version \d", head[:4096], re.MULTILINE) is not None


def parse(source: Source) -> Tables:
    """events (ras_status, missing_members), progress per rank, communicator and kind, ranks, groups, settings."""
    with source.open() as stream:
        is_json = stream.read(4096).lstrip()[:1] == b"{"
    return _json(source) if is_json else _text(source)


def _text(source: Source) -> Tables:
    report = TextReport(source.path)
    for line, text in text_lines(source):
        report.read(line, text)
    return report.tables()


def _json(source: Source) -> Tables:
    data = all_bytes(source, _JSON_BYTES)
    report = json_object(data) if data is not None else None
    if report is None:
        reason = "a RAS report that is no whole JSON object" if data is not None else "a RAS report of over 512 MiB"
        return {"unread": table("unread", [{"file": source.path, "bytes": source.size, "reason": reason}])}
    return JsonReport(source.path, report).tables()


def parse_monitor(lines: pl.DataFrame) -> Tables:
    """events: ras_status; code = the event, names_hosts = the node, its process and devices in detail."""
    rows = []
    for row in lines.iter_rows(named=True):
        made = _monitor_json(row) if row["text"].lstrip()[:1] == "{" else _monitor_text(row)
        if made is not None:
            rows.append(made)
    return tables_of(events=rows, claimed=claimed((row["file"], row["line"]) for row in rows))


def _monitor_text(row: Row) -> dict[str, Any] | None:
    found = _MONITOR.search(row["text"][:4096])
    if found is None:
        return None
    detail = {"pid": int(found["pid"]), "gpus": found["gpus"].strip()}
    return _monitored(row, found["event"], found["node"], detail)


def _monitor_json(row: Row) -> dict[str, Any] | None:
    record = json_object(row["text"])
    peer = record.get("peer") if record else None
    if record is None or not isinstance(record.get("event"), str) or not isinstance(peer, dict):
        return None
    detail = {"pid": whole(peer.get("pid")), "gpus": peer.get("cuda_devs"), "details": record.get("details")}
    made = _monitored(row, record["event"][:60], str(peer["host"])[:255] if "host" in peer else None, detail)
    if made["time_ns"] is None and isinstance(stamp := record.get("timestamp"), str):
        made["time_ns"], made["time_basis"] = parse_time(stamp)
    return made


def _monitored(row: Row, code: str, node: str | None, detail: dict[str, Any]) -> dict[str, Any]:
    severity = "warning" if any(word in code for word in _BAD) else "info"
    told = json.dumps({name: value for name, value in detail.items() if value is not None})[:4000]
    names = {"names_hosts": [node] if node else None, "detail": told}
    return event(row, "ras_status", code=code, severity=severity, rank=None, local_rank=None, **names)


REPORT = FileParser(name="ras", accepts=accepts, parse=parse)
MONITOR = LineParser(
    name="ras_monitor", anchors=(b" managing GPU", b'"LIFECYCLE"', b'"PEER_DEAD"'), parse=parse_monitor
)
PARSERS = (REPORT, MONITOR)
