"""Debug logs of NCCL and its kin: who is who, what was enqueued, and what the warnings name."""

import json
from typing import Any

import pytest

from parsers.comm.nccl import PARSER
from tests.lines import lines

P = "node1:84:91 [3] "
BODY = "comm 0x55d0 rank 3 nranks 8 cudaDev 3 "


@pytest.mark.parametrize(
    ("text", "kind", "comm"),
    [
        (P + "NCCL INFO comm 0x55d0 rank 3 nranks 8 cudaDev 3 nvmlDev 3 - Init COMPLETE", "comm_init_complete", None),
        (P + f"NCCL INFO {BODY}busId 5d000 - Init COMPLETE", "comm_init_complete", None),
        (P + f"NCCL INFO {BODY}busId 5d000 commId 0x1f2e - Init COMPLETE", "comm_init_complete", "0x1f2e"),
        (P + f"NCCL INFO ncclCommInitRank {BODY}nvmlDev 3 busId 5d000 commId 0x1f2e - Init START\r", "comm_init_start",
         "0x1f2e"),
        (f"x: {P}NCCL INFO [Rank 3] ncclCommInitRankConfig {BODY}nvmlDev 3 busId 5d000 commId 0x1f2e - Init START",
         "comm_init_start", "0x1f2e"),
        (P + f"MCCL INFO {BODY}busId 5d000 commId 0x1f2e - Init COMPLETE", "comm_init_complete", "0x1f2e"),
    ],
    ids=["2.7", "2.8", "2.17", "2.22", "2.29-decorated", "mccl"],
)  # fmt: skip
def test_init(text: str, kind: str, comm: str | None) -> None:
    tables = PARSER.parse(lines(text))
    [row] = tables["events"].rows(named=True)
    assert (row["kind"], row["rank"], row["rank_space"], row["host"], row["pid"]) == (kind, 3, "group", "node1", 84)
    [claim] = tables["ranks"].rows(named=True)
    assert (claim["rank"], claim["world_size"], claim["device_index"]) == (3, 8, 3)
    assert claim["pci"] == ("0000:5d:00.0" if "busId" in text else None)
    [group] = tables["groups"].rows(named=True)
    assert (group["size"], group["comm"]) == (8, comm or "node1:84:0x55d0")


def test_a_split_says_nothing_of_global_ranks() -> None:
    text = P + "NCCL INFO ncclCommSplit comm 0x6 rank 1 nranks 2 cudaDev 3 nvmlDev 3 busId 5d000 parent 0x55d0 "
    tables = PARSER.parse(lines(text + "splitCount 1 color 0 key 1- Init START"))
    assert tables["ranks"].is_empty() and tables["events"]["kind"].to_list() == ["comm_init_start"]


def test_ranks_of_communicators_that_are_not_the_world_are_not_global() -> None:
    text = "\n".join(f"n:{80 + i}:91 [{i}] NCCL INFO comm 0x5 rank {i % 2} nranks 2 - Init COMPLETE" for i in range(4))
    assert PARSER.parse(lines(text))["ranks"].is_empty()
    world = text + "\nn:83:91 [3] NCCL INFO comm 0x6 rank 3 nranks 4 - Init COMPLETE"
    assert PARSER.parse(lines(world))["ranks"]["rank"].to_list() == [3]


def test_the_rank_of_the_log_outranks_the_rank_in_the_communicator() -> None:
    tables = PARSER.parse(lines(P + f"NCCL INFO {BODY}busId 5d000 - Init COMPLETE", path_rank=11))
    assert tables["ranks"]["rank"].to_list() == [11] and tables["ranks"]["world_size"].to_list() == [None]


def test_collectives() -> None:
    tail = " sendbuff 0x7 recvbuff 0x8 count 4096 datatype 9 op 0 root 2 comm 0x55d0 [nranks=8] stream 0x9"
    text = "\n".join(f"{P}NCCL INFO {op}: opCount 1f{tail}" for op in ("AllReduce", "Broadcast", "Send"))
    tables = PARSER.parse(lines(text, path_rank=3))
    rows = tables["operations"].rows(named=True)
    assert [(r["kind"], r["is_p2p"], r["peer"], r["root"]) for r in rows] == [
        ("all_reduce", False, None, None),
        ("broadcast", False, None, 2),
        ("send", True, 2, None),
    ]
    first = rows[0]
    assert (first["seq"], first["comm"], first["rank"], first["host"], first["pid"]) == (
        31, "node1:84:0x55d0", 3, "node1", 84,
    )  # fmt: skip
    assert (first["input_sizes"], first["input_dtypes"], first["state"]) == ("[[4096]]", '["bfloat16"]', "scheduled")


W = P + "net.cc:9 NCCL WARN "


@pytest.mark.parametrize(
    ("text", "kind", "code", "hosts"),
    [
        (W + "NET/IB : Got completion with error 12, opcode 1, len 0, vendor err 129", "completion_error", "12", None),
        (W + "NET/IB : Got completion from peer 10.0.0.7<4321> with error 12, opcode 0, len 0, vendor err 129 (Recv)",
         "completion_error", "12", ["10.0.0.7"]),
        (W + "NET/IB : Got completion from peer 10.0.0.7<4> with status=5 opcode=1 len=0 vendor err 249 (Recv)",
         "completion_error", "5", ["10.0.0.7"]),
        ("[2026-01-31 10:11:12] node1:84:91 [3] a/b.cc:9 (f) NCCL WARN NET/IB: Got completion from peer n7<4> with "
         "status=IBV_WC_RETRY_EXC_ERR(12) opcode=IBV_WC_RECV(128) vendor_err=129 hca mlx5_3", "completion_error", "12",
         ["n7"]),
        (W + "NET/IB : Got async event : port error", "port_error", None, None),
        (W + "NET/IB : mlx5_3:1 Got async event : port error", "port_error", None, None),
        (W + "socketStartConnect: Connect to n7.x.org<41> failed : Connection refused", "connect_failed", None,
         ["n7.x.org"]),
        (W + "Net : Connect to 10.0.0.7<41> failed : No route to host", "connect_failed", None, ["10.0.0.7"]),
        (W + "socketProgress: Connection closed by remote peer n7<51>", "peer_closed", None, ["n7"]),
        (W + "Cuda failure 'out of memory'", "gpu_oom", None, None),
        (W + "Cuda failure 719 'unspecified launch failure'", "cuda_error", "unspecified launch failure", None),
        (W + "Call to posix_fallocate failed : No space left on device", "disk_full", "shm", None),
        (W + "Duplicate GPU detected : rank 0 and rank 1 both on CUDA device 2000", "config_error", "duplicate_gpu",
         None),
        (W + "something new", "comm_warning", None, None),
        ("MCCL WARN socketStartConnect: Connect to 10.3.4.2<56> failed : Software caused connection abort",
         "connect_failed", None, ["10.3.4.2"]),
    ],
    ids=["ib-2.8", "ib-2.10", "ib-2.20", "ib-2.30", "port", "port-2.20", "connect", "connect-2.10", "closed", "oom",
         "cuda", "shm", "duplicate", "unknown", "mccl-bare"],
)  # fmt: skip
def test_warnings(text: str, kind: str, code: str | None, hosts: list[str] | None) -> None:
    [row] = PARSER.parse(lines(text))["events"].rows(named=True)
    assert (row["kind"], row["code"], row["names_hosts"]) == (kind, code, hosts)
    if not text.startswith("MCCL"):
        assert (row["host"], row["pid"], row["device_index"]) == ("node1", 84, 3)


def test_adapter_of_a_completion_error() -> None:
    text = W + "NET/IB: Got completion from peer n7<4> with status=12 opcode=1 len=0 vendor err 129 (Recv) hca mlx5_1"
    [row] = PARSER.parse(lines(text))["events"].rows(named=True)
    detail = json.loads(row["detail"])
    assert row["code"] == "12"
    assert (detail["adapter"], detail["vendor"], detail["port"]) == ("mlx5_1", "129", 4)


def test_settings_and_version() -> None:
    text = f"{P}NCCL INFO NCCL_IB_HCA set by environment to mlx5_0.\nNCCL version 2.30.7+cuda13.3"
    assert [(s["name"], s["value"], s["scope"]) for s in PARSER.parse(lines(text))["settings"].rows(named=True)] == [
        ("NCCL_IB_HCA", "mlx5_0", "environment"),
        ("nccl", "2.30.7+cuda13.3", "version"),
    ]


def test_teardown() -> None:
    text = f"{P}NCCL INFO {BODY}busId 5d000 - Abort COMPLETE\n{P}NCCL INFO {BODY}busId 5d000 - Destroy COMPLETE"
    assert PARSER.parse(lines(text))["events"]["kind"].to_list() == ["comm_abort", "comm_destroy"]


def test_trails_and_glued_lines_are_claimed_without_rows() -> None:
    text = f"{P}NCCL INFO transport/net.cc:1298 -> 6\n{P}NCCL INFO Connected node1:85:92 [4] NCCL INFO Channel 00"
    tables = PARSER.parse(lines(text))
    assert tables["claimed"].height == 2 and tables["events"].is_empty()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hello",
        "we use NCCL here",
        f"{P}NCCL INFO comm 0x5 rank {'9' * 30} nranks 8 - Init COMPLETE",
        P,
        P + "NCCL WA",
    ],
    ids=["empty", "foreign", "mention", "huge", "prefix-only", "cut"],
)
def test_says_nothing(text: str) -> None:
    tables: dict[str, Any] = dict(PARSER.parse(lines(text)))
    assert all(tables[name].is_empty() for name in ("events", "ranks", "operations", "settings"))
