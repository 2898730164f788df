"""HTCondor's log of a job: how each node of its parallel universe ended.

    014 (4711.000.002) 2026-01-31 10:11:12 Node 2 executing on host: <10.0.0.7:9618?addrs=10.0.0.7-9618&alias=gw52.example.org>
    015 (4711.000.002) 2026-01-31 11:47:20 Node 2 terminated.
        (0) Abnormal termination (signal 9)                       or    (1) Normal termination (return value 1)

A node is a machine of the job, counted as _CONDOR_PROCNO has it, which may begin several processes: `detail.number`. `exit`: code = signal or exit
code; names_hosts = where that node executed.

Printed by: condor_schedd and condor_shadow.
Versions: HTCondor 8 to 24.
Source: HTCondor manual, Job Event Log Codes; src/condor_utils/condor_event.cpp, NodeExecuteEvent and NodeTerminatedEvent.
"""

import json
from typing import Any

import polars as pl

from parsers.schema.lines import claimed, event, streams
from parsers.schema.parser import LineParser
from parsers.schema.tables import Tables, tables_of
from parsers.text.patterns import regex
from parsers.text.signals import SIGNALS

_EXECUTES = regex(
    r"\bNode (?P<number>\d{1,7}) executing on host: <[^<>]{0,2000}\balias=(?P<host>[A-Za-z0-9][\w.-]{0,252})"
)
_ENDED = regex(r"\bNode (?P<number>\d{1,7}) terminated\.\s*$")
_HOW = regex(
    r"^\s*\([01]\) (?:Abnormal termination \(signal (?P<signal>\d{1,3})\)|Normal termination \(return value (?P<status>\d{1,9})\))"
)
_MILD = ("0", "SIGTERM", "SIGINT")


def parse(lines: pl.DataFrame) -> Tables:
    """events exit, of nodes."""
    rows: list[dict[str, Any]] = []
    known: list[tuple[str, int]] = []
    hosts: dict[tuple[str, int], str] = {}
    for stream in streams(lines):
        ended: tuple[int, dict[str, Any]] | None = None
        for row in stream:
            if found := _EXECUTES.search(row["text"]):
                hosts[row["file"], int(found["number"])] = found["host"]
                known.append((row["file"], row["line"]))
            elif found := _ENDED.search(row["text"]):
                ended = int(found["number"]), row
                known.append((row["file"], row["line"]))
            elif ended is not None and row["line"] == ended[1]["line"] + 1 and (found := _HOW.match(row["text"])):
                number, head = ended
                code = SIGNALS.get(int(found["signal"]), found["signal"]) if found["signal"] else found["status"]
                host = hosts.get((row["file"], number))
                told: dict[str, Any] = {"rank": None, "local_rank": None, "names_hosts": [host] if host else None}
                told |= {"code": code, "severity": "info" if code in _MILD else "error"}
                told["detail"] = json.dumps({"number": number, "by": "htcondor"})
                whole = f"{head['text'].strip()} {row['text'].strip()}"
                rows.append(event({**head, "text": whole}, "exit", **told))
                known.append((row["file"], row["line"]))
    return tables_of(events=rows, claimed=claimed(known))


PARSER = LineParser(
    name="htcondor",
    anchors=(b" executing on host: <", b" terminated.", b" termination (signal ", b" termination (return value "),
    parse=parse,
)
