"""Lines of HCCL, the collective library of Ascend, as CANN writes them into plog and device log files (CANN 5 to 8).

    [ERROR] HCCL(4711,python3):2026-01-31-10:11:12.123.456 [task_exception_handler.cc:380][4790]
        [TaskExecStage][Timeout] … base information: streamID:[5], taskID[12], tag[AllReduce_7], remote rank:[3]
    [ERROR] HCCL(4711,python3):2026-01-31-10:11:12.123.456 [hccl_socket_manager.cc:812] [4790]get socket timeout,
        remoteIp[10.0.0.7]
    [INFO] HCCL(4711,python3):2026-01-31-10:11:12.123.456 [hccl_opbase.cc:500][4790]Entry-HcclAllReduce: tag[t],
        count[128], dataType[float32], op[sum], localRank[0], comm[0x5]
    [INFO] HCCL(4711,python3):2026-01-31-10:11:12.123.456 [op_base.cc:80][4711]Entry-HcclCommInitRootInfoInner:ranks[16], rank[3],
        rootinfo: host ip[10.0.0.1] port[60000] nicDeploy[1] identifier[group_name_0], deviceLogicId[3]
    … Entry-HcclCommInitRootInfo V910_95, rankId[3], rankNum[16].                                           (CANN 8.2)

`[level] module(pid,process):local time [file:line][thread]message`. Codes `EI0001` and up are HCCL's in CANN's own
catalogue. A rank that a line names is one of the communicator. Who waits reports; the named one is a suspect at most. A process's
rank in the largest communicator that it began is taken for its own, and the size for that of the job.

Printed by: CANN on Ascend, into plog-*.log, device-*.log and standard output.
Versions: CANN 5 to 8.
Source: CANN's public documentation of log files and of collective communication faults.
"""

import json
import re
from itertools import zip_longest
from typing import Any

import polars as pl

from parsers.comm.hccl_faults import KINDS, fault, pairs_of, when
from parsers.schema.lines import Row, claimed, event, reporter
from parsers.schema.parser import LineParser
from parsers.schema.tables import Tables, tables_of
from parsers.text.patterns import regex

_LINE = regex(
    r"\[(?P<level>ERROR|WARNING|WARN|INFO|EVENT|DEBUG)\] ?HCCL\((?P<pid>\d{1,9}),(?P<process>[^)]{0,100})\):"
    r"(?P<stamp>\d{4}-\d\d-\d\d-\d\d:\d\d:\d\d\.\d{3}\.\d{3}) "
    r"(?:\[(?P<place>[\w./-]{1,120}:\d{1,6})\] ?)?(?:\[(?P<thread>\d{1,9})\] ?)?"
)
_ENTRY = regex(r"Entry-(?:Hccl)?([A-Z][A-Za-z]{2,30}?)(?:OutPlace|Inner)?\s?:")
_INIT = regex(
    r"Entry-HcclCommInit\w{0,40}(?: V\w{1,20})?[:,] ?(?:ranks\[(?P<size>\d{1,7})\], ?rank\[(?P<rank>\d{1,7})\]"
    r"|rankId\[(?P<rank2>\d{1,7})\], ?rankNum\[(?P<size2>\d{1,7})\])"
)
_MOST_CHARACTERS, _HOW = 8192, "HCCL init"


def parse(lines: pl.DataFrame) -> Tables:
    """events from errors and warnings, operations from entry lines (scheduled); everything else is claimed."""
    events: list[dict[str, Any]] = []
    operations: list[dict[str, Any]] = []
    inits: list[dict[str, Any]] = []
    known: dict[tuple[str, int], None] = {}
    for row in lines.iter_rows(named=True):
        text = row["text"][:_MOST_CHARACTERS]
        heads = list(_LINE.finditer(text))
        for head, following in zip_longest(heads, heads[1:]):
            known[row["file"], row["line"]] = None
            body = text[head.end() : following.start() if following else len(text)]
            if init := _INIT.search(body):
                inits.append(_init(row, head, init, body))
                events.append(_begun(row, head, inits[-1]))
            elif entry := _ENTRY.search(body):
                operations.append(_operation(row, head, entry, body))
            elif head["level"] in ("ERROR", "WARNING", "WARN"):
                events.append(_event(row, head, body))
    ranks, groups = _claims(inits), map(_group, inits)
    return tables_of(events=events, operations=operations, ranks=ranks, groups=groups, claimed=claimed(known))


def _event(row: Row, head: re.Match[str], body: str) -> dict[str, Any]:
    said = fault(body)
    time, basis = when(head["stamp"])
    if row["time_basis"] == "utc" or time is None:
        time, basis = row["time_ns"], row["time_basis"]
    is_error = head["level"] == "ERROR" and said.kind != "comm_warning"
    detail = said.pairs | {"library": "HCCL"} | ({"place": head["place"]} if head["place"] else {})
    return event(
        row,
        said.kind,
        severity="error" if is_error or said.family else "warning",
        pid=int(head["pid"]),
        time_ns=time,
        time_basis=basis,
        text=(head[0] + body)[:2000].rstrip(),
        detail=json.dumps(detail),
        **said.columns,
    )


def _init(row: Row, head: re.Match[str], init: re.Match[str], body: str) -> dict[str, Any]:
    """A communicator that a process began: who, with which number, of how many, its name."""
    pairs = pairs_of(body)
    device = pairs.get("deviceLogicId", "")
    return reporter(row) | {
        "pid": int(head["pid"]), "group_rank": int(init["rank"] or init["rank2"]), "size": int(init["size"] or init["size2"]),
        "group": pairs.get("identifier"), "device_index": int(device) if device.isascii() and device.isdigit() else None, "time": when(head["stamp"]),
    }  # fmt: skip


def _begun(row: Row, head: re.Match[str], init: dict[str, Any]) -> dict[str, Any]:
    time, basis = init["time"]
    own: dict[str, Any] = {key: init[key] for key in ("pid", "group", "device_index")} | {"severity": "info"}
    own |= {"time_ns": time, "time_basis": basis} if row["time_basis"] != "utc" and time is not None else {}
    if init["rank"] is None:
        own |= {"rank": init["group_rank"], "rank_space": "group"}
    detail = {"library": "HCCL", "group_rank": init["group_rank"], "size": init["size"]}
    return event(row, "comm_init_start", text=(head[0] + "Entry-HcclCommInit")[:2000], detail=json.dumps(detail), **own)


def _claims(inits: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each process by the largest communicator that it began."""
    largest: dict[tuple[str, int], dict[str, Any]] = {}
    for init in inits:
        own = (init["file"], init["pid"])
        if own not in largest or init["size"] > largest[own]["size"]:
            largest[own] = init
    keys = ("host", "pid", "device_index", "file", "line")
    claims = [{key: init[key] for key in keys} | {"world_size": init["size"], "how": _HOW} for init in largest.values()]
    ranks = (init["group_rank"] if init["rank"] is None else init["rank"] for init in largest.values())
    return [claim | {"rank": rank} for claim, rank in zip(claims, ranks, strict=True)]


def _group(init: dict[str, Any]) -> dict[str, Any]:
    return {key: init[key] for key in ("rank", "group", "size", "file", "line")} | {"backend": "hccl", "how": _HOW}


def _operation(row: Row, head: re.Match[str], entry: re.Match[str], body: str) -> dict[str, Any]:
    pairs = pairs_of(body)
    kind = KINDS.get(entry[1], entry[1].lower())
    peer, root = pairs.get("destRank") or pairs.get("srcRank") or "", pairs.get("root", "")
    time, basis = when(head["stamp"])
    own = {key: reporter(row)[key] for key in ("rank", "host", "file", "line")}
    return own | {
        "pid": int(head["pid"]),
        "comm": f"{own['host'] or ''}:{head['pid']}:{pairs['comm']}" if "comm" in pairs else None,
        "backend": "hccl",
        "is_p2p": kind in ("send", "recv"),
        "kind": kind,
        "peer": int(peer) if peer.isascii() and peer.isdigit() and len(peer) < 10 else None,
        "root": int(root) if root.isascii() and root.isdigit() and len(root) < 10 else None,
        "input_sizes": f"[[{pairs['count']}]]" if pairs.get("count", "").isdigit() else None,
        "input_dtypes": json.dumps([pairs["dataType"]]) if "dataType" in pairs else None,
        "state": "scheduled",
        "time_created_ns": time if basis else None,
        "thread": head["thread"],
    }


PARSER = LineParser(name="hccl", anchors=(b" HCCL(", b"]HCCL("), parse=parse)
