"""Lines of HCCL, the collective library of Ascend, as CANN writes them into plog and device log files (CANN 5 to 8).

    [ERROR] HCCL(4711,python3):2026-01-31-10:11:12.123.456 [task_exception_handler.cc:380][4790]
        [TaskExecStage][Timeout] … base information: streamID:[5], taskID[12], tag[AllReduce_7], remote rank:[3]
    [ERROR] HCCL(4711,python3):2026-01-31-10:11:12.123.456 [hccl_socket_manager.cc:812] [4790]get socket timeout,
        remoteIp[10.0.0.7]
    [INFO] HCCL(4711,python3):2026-01-31-10:11:12.123.456 [hccl_opbase.cc:500][4790]Entry-HcclAllReduce: tag[t],
        count[128], dataType[float32], op[sum], localRank[0], comm[0x5]

`[level] module(pid,process):local time [file:line][thread]message`. Codes `EI0001` and up are HCCL's in CANN's own
catalogue. A rank that a line names is one of the communicator. Who waits reports; the named one is a suspect at most.

Printed by: CANN on Ascend, into plog-*.log, device-*.log and standard output.
Versions: CANN 5 to 8.
Source: CANN's public documentation of log files and of collective communication faults.
"""

import json
import re
from itertools import zip_longest
from typing import Any

import polars as pl

from parsers.lines import Row, claimed, event
from parsers.parser import LineParser
from parsers.stamps import Stamp, parse_time
from parsers.tables import Tables, table

_LINE = re.compile(
    r"\[(?P<level>ERROR|WARNING|WARN|INFO|EVENT|DEBUG)\] ?HCCL\((?P<pid>\d{1,9}),(?P<process>[^)]{0,100})\):"
    r"(?P<stamp>\d{4}-\d\d-\d\d-\d\d:\d\d:\d\d\.\d{3}\.\d{3}) "
    r"(?:\[(?P<place>[\w./-]{1,120}:\d{1,6})\] ?)?(?:\[(?P<thread>\d{1,9})\] ?)?"
)
_FAMILIES: tuple[tuple[re.Pattern[str], str, str | None], ...] = (
    (re.compile(r"EI0005|inconsistent|not consistent|[Cc]heck.*\bmismatch"), "comm_warning", "collective_mismatch"),
    (re.compile(r"EI0007|out of memory|alloc.*(?:failed|fail)\b"), "gpu_oom", None),
    (re.compile(r"EI0004|rank ?table.*(?:invalid|error|failed)"), "config_error", "rank_table"),
    (re.compile(r"EI0001|EI0003|invalid (?:environment|parameter)|param(?:eter)? .*invalid"), "config_error", "invalid"),
    (re.compile(r"EI0008|version.*(?:mismatch|inconsist)"), "config_error", "version_mismatch"),
    (re.compile(r"EI0009|link.*down|port.*(?:down|error)", re.I), "link_down", None),
    (re.compile(r"cqe|retransmission|roce.*error", re.I), "completion_error", None),
    (re.compile(r"EI0006|[Ss]ocket.*tim(?:e ?out|ed out)|tim(?:e ?out|ed out).*[Ss]ocket|wait socket establish",),
     "connect_failed", "timeout"),
    (re.compile(r"[Ss]ocket.*(?:closed|reset|disconnect)"), "peer_closed", None),
    (re.compile(r"connect.*(?:fail|refused)", re.I), "connect_failed", None),
    (re.compile(r"EI0002|\[Timeout\]|[Nn]otify.*tim(?:e ?out|ed out)|tim(?:e ?out|ed out).*[Nn]otify"),
     "collective_timeout", None),
)  # fmt: skip
_REMOTE_RANK = re.compile(r"(?:remote|dst|peer)(?:[ _]?[Uu]ser)?[ _]?[Rr]ank\w*\s?[:=]?\s?\[?(\d{1,7})\b")
_REMOTE_ADDRESS = re.compile(
    r"(?:remote|dst|peer|server)[ _]?(?:[Ii][Pp]|[Aa]ddr\w*)\w*\s?[:=]?\s?\[?([0-9A-Fa-f][0-9A-Fa-f.:]{3,63}[0-9A-Fa-f])\b"
)
_PAIR = re.compile(r"\b([A-Za-z]\w{0,30})\s?:?\s?\[([^\[\]]{0,200})\]")
_CODE = re.compile(r"\bE[IJZ]\d{4}\b")
_ENTRY = re.compile(r"Entry-(?:Hccl)?([A-Z][A-Za-z]{2,30}?)(?:OutPlace|Inner)?\s?:")
_KINDS = {"AllReduce": "all_reduce", "AllGather": "all_gather", "ReduceScatter": "reduce_scatter", "Send": "send",
          "Recv": "recv", "Receive": "recv", "Broadcast": "broadcast", "Reduce": "reduce", "AlltoAll": "all_to_all",
          "AlltoAllV": "all_to_all", "Scatter": "scatter", "Barrier": "barrier",
          "BatchSendRecv": "coalesced"}  # fmt: skip
_MOST_CHARACTERS = 8192


def parse(lines: pl.DataFrame) -> Tables:
    """events from errors and warnings, operations from entry lines (scheduled); everything else is claimed."""
    events: list[dict[str, Any]] = []
    operations: list[dict[str, Any]] = []
    known: dict[tuple[str, int], None] = {}
    for row in lines.iter_rows(named=True):
        text = row["text"][:_MOST_CHARACTERS]
        heads = list(_LINE.finditer(text))
        for head, following in zip_longest(heads, heads[1:]):
            known[row["file"], row["line"]] = None
            body = text[head.end() : following.start() if following else len(text)]
            if entry := _ENTRY.search(body):
                operations.append(_operation(row, head, entry, body))
            elif head["level"] in ("ERROR", "WARNING", "WARN"):
                events.append(_event(row, head, body))
    return {
        "events": table("events", events),
        "operations": table("operations", operations),
        "claimed": claimed(known),
    }


def _when(head: re.Match[str]) -> Stamp:
    day, clock = head["stamp"][:10], head["stamp"][11:]
    seconds, milli, micro = clock.split(".")
    return parse_time(f"{day} {seconds}.{milli}{micro}")


def _event(row: Row, head: re.Match[str], body: str) -> dict[str, Any]:
    kind, code = next(((kind, code) for words, kind, code in _FAMILIES if words.search(body)), ("comm_warning", None))
    catalogue = _CODE.search(body)
    pairs = dict(_PAIR.findall(body)[:30])
    detail = {"library": "HCCL", "place": head["place"], "catalogue": catalogue[0] if catalogue else None}
    rank, address = _REMOTE_RANK.search(body), _REMOTE_ADDRESS.search(body)
    time, basis = _when(head)
    if row["time_basis"] == "utc" or time is None:
        time, basis = row["time_ns"], row["time_basis"]
    told = {name: value for name, value in (pairs | detail).items() if value is not None}
    is_error = head["level"] == "ERROR" and kind != "comm_warning"
    return event(
        row,
        kind,
        code=code or (catalogue[0] if catalogue else None),
        severity="error" if is_error or code else "warning",
        pid=int(head["pid"]),
        time_ns=time,
        time_basis=basis,
        text=(head[0] + body)[:2000].rstrip(),
        names_ranks=[int(rank[1])] if rank else None,
        names_rank_space="group",
        names_hosts=[address[1]] if address else None,
        detail=json.dumps(told),
    )


def _operation(row: Row, head: re.Match[str], entry: re.Match[str], body: str) -> dict[str, Any]:
    pairs = dict(_PAIR.findall(body)[:30])
    kind = _KINDS.get(entry[1], entry[1].lower())
    peer = pairs.get("destRank") or pairs.get("srcRank")
    root = pairs.get("root")
    time, basis = _when(head)
    host = row["host"] if row["host"] is not None else row["path_host"]
    return {
        "rank": row["rank"] if row["rank"] is not None else row["path_rank"],
        "host": host,
        "pid": int(head["pid"]),
        "comm": f"{host or ''}:{head['pid']}:{pairs['comm']}" if "comm" in pairs else None,
        "backend": "hccl",
        "is_p2p": kind in ("send", "recv"),
        "kind": kind,
        "peer": int(peer) if peer and peer.isdigit() and len(peer) < 10 else None,
        "root": int(root) if root and root.isdigit() and len(root) < 10 else None,
        "input_sizes": f"[[{pairs['count']}]]" if pairs.get("count", "").isdigit() else None,
        "input_dtypes": json.dumps([pairs["dataType"]]) if "dataType" in pairs else None,
        "state": "scheduled",
        "time_created_ns": time if basis else None,
        "thread": head["thread"],
        "file": row["file"],
        "line": row["line"],
    }


PARSER = LineParser(name="hccl", anchors=(b" HCCL(", b"]HCCL("), parse=parse)
