"""Records of NCCL's Inspector."""

import json
from pathlib import Path
from typing import Any

import parsers


def _line(seq: int, size: int = 8, comm: str = "0x7f", call: dict[str, Any] | None = None) -> str:
    made = {
        "coll": "AllReduce",
        "coll_sn": seq,
        "coll_msg_size_bytes": 4096,
        "coll_exec_time_us": 90,
        "coll_busbw_gbs": 36.7,
    }
    return json.dumps({
        "header": {"id": comm, "rank": 2, "n_ranks": size, "nnodes": 1},
        "metadata": {"inspector_output_format_version": "v4.0", "dump_timestamp_us": 1769854272000000, "hostname": "n1", "pid": 47},
        **({"coll_perf": made} if call is None else {"p2p_perf": call}),
    })  # fmt: skip


def test_calls(tmp_path: Path) -> None:
    send = {"p2p": "Send", "p2p_sn": 3, "p2p_peer": 1, "p2p_msg_size_bytes": 8, "p2p_exec_time_us": 9}
    (tmp_path / "n1-pid47.log").write_text("\n".join([_line(7), _line(8), _line(0, 2, "0x80", send), "{"]))
    tables = parsers.read(str(tmp_path)).tables
    assert tables["operations"].select("comm", "kind", "seq", "is_p2p", "peer", "state", "duration_ms").rows() == [
        ("0x7f", "all_reduce", 7, False, None, "completed", 0.09),
        ("0x7f", "all_reduce", 8, False, None, "completed", 0.09),
        ("0x80", "send", 3, True, 1, "completed", 0.009),
    ]  # fmt: skip
    assert tables["ranks"].select("rank", "host", "pid", "world_size").rows() == [(2, "n1", 47, 8)]
    assert tables["groups"].select("comm", "size").rows() == [("0x7f", 8), ("0x80", 2)]
    assert tables["unread"]["line"].to_list() == [4]
