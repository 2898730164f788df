"""Records of the Inspector, the profiler plugin of NCCL and RCCL: the last completed call of each communicator, again and again.

    {"header": {"id": "0x7f8c49", "rank": 2, "n_ranks": 8, "nnodes": 1}, "metadata": {"inspector_output_format_version": "v4.0",
     "dump_timestamp_us": 1769854272000000, "hostname": "gpu-017", "pid": 4711}, "coll_perf": {"coll": "AllReduce", "coll_sn": 7,
     "coll_msg_size_bytes": 4096, "coll_exec_time_us": 90, "coll_timing_source": "kernel_gpu", "coll_algobw_gbs": 20.9, …}}
    … "p2p_perf": {"p2p": "Send", "p2p_sn": 3, "p2p_peer": 1, "p2p_msg_size_bytes": 4096, "p2p_exec_time_us": 90, …}   (since v5)

A file per process, named HOST-pidPID.log. A call that never ended has no record: who recorded fewer than the others did not
end, or does not write any more. `rank` counts in the communicator; it is taken for the rank of the process where the
communicator is the largest of the file. Rows: operations (state completed), timings, ranks, groups.

Printed by: NCCL's ext-profiler/inspector, RCCL's profiler inspector.
Versions: formats v3.0 to v5.1, of NCCL 2.28 to 2.30 and ROCm 7.
Source: ext-profiler/inspector/inspector.cc and its README.
"""

from typing import Any

from parsers.comm.hccl_faults import KINDS
from parsers.forms.reading import json_lines, real, whole
from parsers.schema.parser import FileParser, Source
from parsers.schema.tables import Tables, tables_of

_ROWS = 5_000_000


def accepts(_path: str, head: bytes) -> bool:
    """By the first record."""
    first = head.lstrip()[:4096]
    return first[:1] == b"{" and b'"inspector_output_format_version"' in first


def parse(source: Source) -> Tables:
    """operations, timings, ranks, groups; lines that are no record are `unread`."""
    operations: list[dict[str, Any]] = []
    timings: list[dict[str, Any]] = []
    unread: list[dict[str, Any]] = []
    comms: dict[tuple[str, str | None, int | None], dict[str, Any]] = {}
    for number, said in json_lines(source):
        place = {"file": source.path, "line": number}
        record = _record(said) if said is not None and number <= _ROWS else None
        if record is None:
            unread.append(place | {"reason": "no record of the inspector"})
            continue
        comms.setdefault((record["comm"], record["host"], record["pid"]), record | place)
        operations.append(place | _operation(record))
        if record["ms"] is not None:
            own = {"phase": "comm", "level": 2, "name": record["call"], "rank": source.rank, "host": record["host"]}
            timings.append(place | own | {"value_ms": record["ms"], "time_ns": record["time_ns"]})
    return tables_of(
        operations=[row | {"rank": source.rank} for row in operations],
        timings=timings,
        ranks=_claims(list(comms.values())),
        groups=[_group(record, source.rank) for record in comms.values()],
        unread=unread[:100],
    )


def _record(said: dict[str, Any]) -> dict[str, Any] | None:
    header, metadata = said.get("header"), said.get("metadata")
    p2p = isinstance(said.get("p2p_perf"), dict)
    call = said.get("p2p_perf" if p2p else "coll_perf")
    if not (isinstance(header, dict) and isinstance(metadata, dict) and isinstance(call, dict)):
        return None
    name = call.get("p2p" if p2p else "coll")
    before = "p2p" if p2p else "coll"
    time, us = whole(metadata.get("dump_timestamp_us")), real(call.get(f"{before}_exec_time_us"))
    host = metadata.get("hostname")
    return {
        "comm": str(header.get("id")), "desc": header.get("comm_name") if isinstance(header.get("comm_name"), str) else None,
        "group_rank": whole(header.get("rank")), "size": whole(header.get("n_ranks")), "pid": whole(metadata.get("pid")),
        "host": host if isinstance(host, str) else None, "time_ns": time * 1000 if time is not None and time < 1 << 52 else None,
        "call": name if isinstance(name, str) else None, "is_p2p": p2p, "seq": whole(call.get(f"{before}_sn")),
        "bytes": whole(call.get(f"{before}_msg_size_bytes")), "peer": whole(call.get("p2p_peer")), "ms": us / 1000 if us is not None else None,
    }  # fmt: skip


def _operation(record: dict[str, Any]) -> dict[str, Any]:
    ms, end = record["ms"], record["time_ns"]
    return {key: record[key] for key in ("host", "pid", "comm", "desc", "seq", "is_p2p", "peer")} | {
        "group": record["comm"], "backend": "nccl", "kind": KINDS.get(record["call"] or "", (record["call"] or "").lower() or None), "state": "completed", "retired": True,
        "input_sizes": None if record["bytes"] is None else f"[[{record['bytes']}]]", "input_dtypes": '["Byte"]',
        "time_completed_ns": end, "time_created_ns": None, "duration_ms": ms,
    }  # fmt: skip


def _claims(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Who a process is, by the largest communicator of its file."""
    largest = max((record["size"] or 0 for record in records), default=0)
    return [
        {key: record[key] for key in ("host", "pid", "file", "line")}
        | {"rank": record["group_rank"], "world_size": record["size"], "how": "NCCL inspector"}
        for record in records
        if record["size"] == largest > 0 and record["group_rank"] is not None
    ]


def _group(record: dict[str, Any], rank: int | None) -> dict[str, Any]:
    return {key: record[key] for key in ("comm", "desc", "size", "file", "line")} | {
        "rank": rank, "group": record["comm"], "backend": "nccl", "how": "NCCL inspector",
    }  # fmt: skip


PARSER = FileParser(name="nccl_inspector", accepts=accepts, parse=parse, whole=True)
