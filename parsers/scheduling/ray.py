"""Ray's word for how one of its worker processes ended.

    (raylet) A worker died or was killed while executing a task by an unexpected system error. … Worker IP address: 10.0.0.7
        Worker port: 37083 Worker PID: 4711 Worker exit type: SYSTEM_ERROR Worker exit detail: Worker unexpectedly exits with a
        connection error code 2. End of file. Some common causes include: (1) the process was killed by the OOM killer …
    The actor is dead because its worker process has died. Worker exit type: NODE_OUT_OF_MEMORY Worker exit detail: …
    (raylet) node_manager.cc:2951: Memory on the node (IP: 10.0.0.7, ID: 6b0c) where the task (actor ID: 81aa, name=W.run, pid=4711,
        memory used=61.20GB) was running was 121.03GB / 125.10GB (0.967), which exceeds the memory usage threshold of 0.95. …
    (raylet) node_manager.cc:2865: Killing worker with task … (actor, name=W.run), pid 4711: node running low on memory, …
    (raylet) node_manager.cc:3040: 2 Workers (tasks / actors) killed due to memory pressure (OOM), 0 Workers crashed due to …
    WARNING worker.py:2106 -- The node with node id: 77d2 and address: 10.0.0.7 and node name: 10.0.0.7 has been marked dead because
        the detector has missed too many heartbeats from it. …

A node that is marked dead is a `scheduler`, code node_failure. The exit type is the code of the `exit`; what the detail lists as possible causes is no observation. An intended exit is
none of a failure. Memory pressure by which Ray itself killed workers makes a `host_oom`, value = how many.

Printed by: raylet and core worker of Ray.
Versions: Ray 2.0 to 2.60.
Source: src/ray/protobuf/common.proto (WorkerExitType), gcs_actor_manager.cc, gcs_node_manager.cc, node_manager.cc.
"""

from collections.abc import Mapping
from typing import Any

import polars as pl

from parsers.schema.parser import LineParser
from parsers.schema.rules import Rule, read_rules
from parsers.schema.tables import Tables
from parsers.text.patterns import regex


def _ended(groups: Mapping[str, str]) -> Mapping[str, Any]:
    code = groups["how"]
    if code == "NODE_OUT_OF_MEMORY" or groups.get("low"):
        place = {"host": groups["address"]} if groups.get("address") else {}  # the printer is the driver
        detail = {"how": None, "address": None, "low": None, "library": "Ray"}
        return place | {"kind": "host_oom", "code": "NODE_OUT_OF_MEMORY", "severity": "fatal", "detail": detail}
    severity = "info" if code.startswith("INTENDED") else "error"
    return {"code": code, "severity": severity, "detail": {"how": None, "low": None}}


def _of_nobody(groups: Mapping[str, str]) -> Mapping[str, Any]:
    """Whose rank it is tells the process of that number on that host, not who prints it."""
    return {"detail": {"library": "Ray"}, "rank": None, "local_rank": None}


RULES = (
    Rule(
        regex(
            r"(?:Worker IP address: (?P<address>[\w.:]{1,60}) .{0,40}?)?(?:Worker PID: (?P<pid>\d{1,9}) )?"
            r"Worker exit type: (?P<how>[A-Z_]{3,40})(?P<low>[^\n]{0,300}?\bkilled due to the node running low on memory)?"
        ),
        "exit", refine=_ended,
    ),
    Rule(
        regex(
            r"\b(?P<value>[1-9]\d{0,6}) Workers? \(tasks ?/ ?actors\) killed due to memory pressure \(OOM\)"
            r"(?:[^\n]{0,120}? at node \(ID: \w{1,80}, IP: (?P<host>[\w.:-]{1,60}?)\))?"
        ),
        "host_oom", "fatal", "NODE_OUT_OF_MEMORY", refine=_of_nobody,
    ),
    Rule(
        regex(
            r"Memory on the node \(IP: (?P<host>[\w.:-]{1,60}), ID: \w{1,64}\) where the (?P<what>task|lease) "
            r"\([^()\n]{0,300}?\bpid=(?P<pid>\d{1,9}), memory used=[^()\n]{1,30}\) was running was "
        ),
        "host_oom", "fatal", "NODE_OUT_OF_MEMORY", refine=_of_nobody,
    ),
    Rule(
        regex(
            r"\bKilling (?:the )?(?:worker|process|actor|task)\b(?=[^\n]{0,400}?\b(?:low on memory|memory pressure|out of memory|memory usage)\b)"
            r"(?=(?:[^\n]{0,400}?\bMemory on the node \(IP: (?P<host>[\w.:-]{1,60}?),)?)"
            r"[^\n]{0,300}?\bpid[ =:]\s?(?P<pid>\d{1,9})\b"
        ),
        "host_oom", "fatal", "NODE_OUT_OF_MEMORY", refine=_of_nobody,
    ),
    Rule(
        regex(r"The node with node id: \w{1,80} and address: (?P<address>[\w.:-]{1,60}) .{0,120}?has been marked dead"), "scheduler", code="node_failure",
        refine=lambda groups: {"names_hosts": [groups["address"]], "detail": {"by": "Ray"}},
    ),
)  # fmt: skip


def parse(lines: pl.DataFrame) -> Tables:
    """events exit: code = Ray's exit type, pid; host_oom; scheduler."""
    return read_rules(lines, RULES)


PARSER = LineParser(
    name="ray",
    anchors=(
        b"Worker exit type: ", b"Killing ", b"killed due to memory pressure", b"Memory on the node (IP: ", b" has been marked dead",
    ),
    parse=parse,
)  # fmt: skip
