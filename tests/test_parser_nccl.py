"""Debug logs of NCCL and its kin: who is who, what was enqueued, and what the warnings name."""

import json
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

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


@pytest.mark.parametrize(
    ("ranks", "numbers", "size", "expected"),
    [
        ([0, 5], [0, 5], 8, [8, 8]),
        ([0, 5], [0, 1], 8, [None, None]),
        ([0, 9], [0, 1], 8, [None, None]),
        ([0, None], [0, 7], 8, [8, 8]),
        ([4, 5], [0, 1], 2, [None, None]),
    ],
    ids=["world", "not the world", "log beyond it", "one log without rank", "a pair"],
)
def test_the_size_of_the_job_where_logs_say_their_rank(
    ranks: list[int | None], numbers: list[int], size: int, expected: list[int | None]
) -> None:
    text = "\n".join(f"n:{80 + i}:91 [{i}] NCCL INFO comm 0x5 rank {i} nranks {size} - Init COMPLETE" for i in numbers)
    claims = PARSER.parse(lines(text, path_rank=ranks))["ranks"]
    assert claims["world_size"].to_list() == expected


def test_each_attempt_has_a_world_of_its_own() -> None:
    text = "\n".join(f"n:{80 + i}:91 [0] NCCL INFO comm 0x5 rank {i % 2} nranks 2 - Init COMPLETE" for i in range(4))
    claims = PARSER.parse(lines(text, attempt=[0, 0, 1, 1]))["ranks"]
    assert claims.select("rank", "world_size").rows() == [(0, 2), (1, 2)] * 2


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
        (W + "NET/OFI Request 0x7f0d completed with error. RC: 21. Error: unknown error. Completed length: 0", "completion_error",
         "unknown error", None),
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
    ids=["ib-2.8", "ib-2.10", "ib-2.20", "ib-2.30", "ofi", "port", "port-2.20", "connect", "connect-2.10", "closed", "oom",
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


G = "g183:161264:166015 [7] NCCL INFO "


def test_records_that_processes_cut_inside_a_line_come_apart() -> None:
    text = (
        f"{G}Connected NVLS tree\n"
        "g183:161264:166015g183:161258:166018 [1] NCCL INFO comm 0x5 rank 1 nranks 8 cudaDev 1 busId 3b000 - Init "
        "COMPLETEg183:161262:166017 [5] NCCL g183:161260:166019 [3] NCCL INFO NCCL_DEBUG set by environment to INFO."
    )
    tables = PARSER.parse(lines(text, rank=[None, 7]))
    [init] = tables["events"].rows(named=True)
    assert (init["host"], init["pid"], init["line"], init["kind"]) == ("g183", 161258, 2, "comm_init_complete")
    [setting] = tables["settings"].rows(named=True)
    assert (setting["host"], setting["pid"], setting["name"], setting["value"]) == (
        "g183",
        161260,
        "NCCL_DEBUG",
        "INFO",
    )
    assert setting["rank"] is None  # another process than the one that the line's prefix speaks of
    assert tables["claimed"]["line"].to_list() == [1, 2]


def test_a_host_name_that_only_ends_like_another_is_not_mended() -> None:
    text = f"{G}Connected all rings\nNCCL said: lg7:1:2 [0] NCCL WARN something new"
    [row] = PARSER.parse(lines(text))["events"].rows(named=True)
    assert row["host"] == "lg7"


def test_a_collective_cut_in_its_pointer_has_no_communicator() -> None:
    whole = P + "NCCL INFO AllReduce: opCount 1f sendbuff 0x7 recvbuff 0x8 count 4 datatype 7 op 0 root 0 comm 0x55d0"
    tables = PARSER.parse(lines(f"{whole}\n{whole} [nranks=8] stream 0x9{whole} [nranks=8] stream 0x9"))
    rows = tables["operations"].sort("line")
    assert rows.select("line", pl.col("comm").is_null()).rows() == [(1, True), (2, False), (2, False)]
    assert tables["claimed"]["line"].to_list() == [1]


@pytest.mark.parametrize(
    ("text", "time", "basis"),
    [
        ("[2026-01-31 10:11:12] " + W + "something", 1769854272_000000000, "local"),
        ("[2026-01-31 10:11:12.250] " + W + "something", 1769854272_250000000, "local"),
        ("[2026-99-31 10:11:12] " + W + "something", None, None),
        (W + "something", None, None),
    ],
    ids=["2.26", "fraction", "no-date", "none"],
)
def test_own_stamp(text: str, time: int | None, basis: str | None) -> None:
    [row] = PARSER.parse(lines(text))["events"].rows(named=True)
    assert (row["time_ns"], row["time_basis"], row["host"]) == (time, basis, "node1")


def test_a_stamp_with_a_zone_outranks_the_own_one() -> None:
    text = "[2026-01-31 10:11:12] " + W + "something"
    [row] = PARSER.parse(lines(text, time_ns=5, time_basis="utc"))["events"].rows(named=True)
    assert (row["time_ns"], row["time_basis"]) == (5, "utc")


def test_lines_of_2_2_without_the_library_name() -> None:
    text = "node1:84:91 [0] include/socket.h:360 WARN Call to connect failed : Connection refused"
    [row] = PARSER.parse(lines(text))["events"].rows(named=True)
    assert (row["kind"], row["host"], row["pid"]) == ("connect_failed", "node1", 84)
    assert any(anchor in text.encode() for anchor in PARSER.anchors)
    assert PARSER.parse(lines("WARN Call to nobody"))["events"].is_empty()


@pytest.mark.parametrize(
    ("text", "settings", "addresses"),
    [
        ("Bootstrap : Using ens7:10.1.0.33<0>", {"bootstrap_interface": "ens7"}, ["10.1.0.33"]),
        ("Bootstrap: Using ens7:10.1.0.33<0>", {"bootstrap_interface": "ens7"}, ["10.1.0.33"]),
        ("Bootstrap : Using [0]ens7:fe80::1%ens7<0>", {"bootstrap_interface": "ens7"}, ["fe80::1%ens7"]),
        ("NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/RoCE [RO]; OOB eth0:10.2.0.4<0>",
         {"ib_devices": "mlx5_0:1/IB mlx5_1:1/RoCE", "oob_interface": "eth0"}, ["10.2.0.4"]),
        ("NET/IB : Using [0]mlx5_0:1/IB [1]mlx5", {"ib_devices": "mlx5_0:1/IB"}, []),
        ("NET/IB : No device found.", {"ib_devices": "none"}, []),
        ("NET/Socket : Using [0]eth0:10.1.2.3<0> [1]eth1:10.1.3.3<0>", {"socket_interfaces": "eth0 eth1"},
         ["10.1.2.3", "10.1.3.3"]),
        ("Using network Socket", {"network": "Socket"}, []),
        ("cudaDriverVersion 12040", {"cuda_driver": "12040"}, []),
        ("NCCL_IB_TC set to 106", {"NCCL_IB_TC": "106"}, []),
    ],
    ids=["bootstrap", "bootstrap-2.24", "ipv6", "ib", "ib-cut", "no-ib", "socket", "network", "driver", "env"],
)  # fmt: skip
def test_setup(text: str, settings: dict[str, str], addresses: list[str]) -> None:
    tables = PARSER.parse(lines(P + "NCCL INFO " + text))
    assert {row["name"]: row["value"] for row in tables["settings"].rows(named=True)} == settings
    claims = tables["ranks"].rows(named=True)
    assert [(c["rank"], c["host"], c["pid"], c["address"]) for c in claims] == [
        (None, "node1", 84, address) for address in addresses
    ]


@pytest.mark.parametrize(
    ("text", "vendor"),
    [
        ("n:1:2 [0] MCCL WARN Musa failure 'out of memory'", "moorethreads"),
        ("n:1:2 [0] MCCL INFO MUSA_VISIBLE_DEVICES set by environment to 0", "moorethreads"),
        ("n:1:2 [0] MCCL INFO MACA_VISIBLE_DEVICES set by environment to 0", "metax"),
        ("n:1:2 [0] MCCL INFO NET/IB : Using [0]xscale_0:1/RoCE [RO]; OOB eth0:10.0.0.1<0>", None),
        ("n:1:2 [0] MCCL INFO macaddr of eth0", None),
    ],
)
def test_vendor_of_mccl(text: str, vendor: str | None) -> None:
    settings = PARSER.parse(lines(text + "\n" + text))["settings"]
    assert settings.filter(name="mccl_vendor")["value"].to_list() == ([vendor] if vendor else [])


def test_layout_and_timings() -> None:
    text = (
        f"{P}NCCL INFO {BODY}busId 5d000 - Init COMPLETE\n"
        f"{P}NCCL INFO comm 0x55d0 rank 3 nRanks 8 nNodes 2 localRanks 4 localRank 3 MNNVL 0\n"
        f"{P}NCCL INFO Init timings - ncclCommInitRank: rank 3 nranks 8 total 1.25 (kernels 0.25, bootstrap 0.5)"
    )
    tables = PARSER.parse(lines(text))
    assert tables["ranks"]["local_rank"].to_list() == [None, 3]
    assert dict(tables["timings"].select("name", "value_ms").iter_rows()) == {
        "total": 1250.0, "kernels": 250.0, "bootstrap": 500.0,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "links"),
    [
        ("Channel 03/0 : 7[7] -> 8[0] [send] via NET/IB/0/GDRDMA", [(3, 7, 8, "send", "NET/IB/0/GDRDMA")]),
        ("Channel 03/0 : 7[7] -> 8[0] [receive] via NET/IB/0", [(3, 8, 7, "receive", "NET/IB/0")]),
        ("Channel 00 : 1[3b000] -> 2[5e000] via P2P/IPC comm 0x66 nRanks 08", [(0, 1, 2, "send", "P2P/IPC")]),
        ("Channel 00/0 : 1[1] -> 2[2] via P2P/direct pointer", [(0, 1, 2, "send", "P2P/direct pointer")]),
        ("Channel 00/02 :    0   2   1", [(0, 0, 2, "ring_next", None), (0, 2, 1, "ring_next", None),
                                         (0, 1, 0, "ring_next", None)]),
        ("Ring 00 : 3 -> 0 -> 1", [(0, 0, 3, "ring_previous", None), (0, 0, 1, "ring_next", None)]),
        ("Trees [0] 1/-1/-1->0->-1 [1] 4/5/-1->0->2",
         [(0, 0, 1, "tree_down", None), (1, 0, 4, "tree_down", None), (1, 0, 5, "tree_down", None),
          (1, 0, 2, "tree_up", None)]),
        ("Trees [0] 1/-1/-1->0->-1 [1] 4/5/", [(0, 0, 1, "tree_down", None)]),
    ],
    ids=["send", "receive", "old", "pointer", "order", "ring", "trees", "trees-cut"],
)  # fmt: skip
def test_links(text: str, links: list[tuple[int, int, int, str, str | None]]) -> None:
    tables = PARSER.parse(lines(P + "NCCL INFO " + text))
    columns = ("channel", "group_rank", "peer_group_rank", "direction", "transport")
    assert tables["links"].select(columns).rows() == links
    assert tables["claimed"].height == 1 and tables["events"].is_empty()


def test_a_ring_cut_at_the_length_of_a_record_is_not_closed() -> None:
    order = "".join(f" {rank:3d}" for rank in range(100, 360))[:1000]
    found = PARSER.parse(lines(f"{P}NCCL INFO Channel 00/02 :{order}"))["links"]
    assert found.height and (found["peer_group_rank"] - found["group_rank"]).unique().to_list() == [1]


def test_links_belong_to_the_communicator_that_is_being_made() -> None:
    channel = f"{P}NCCL INFO Channel 00/0 : 3[3] -> 4[4] via P2P/IPC"
    start = f"{P}NCCL INFO ncclCommInitRank comm 0x7 rank 3 nranks 8 cudaDev 3 busId 5d000 commId 0x1 - Init START"
    done = start.replace("START", "COMPLETE")
    comms = [
        PARSER.parse(lines("\n".join(text)))["links"]["comm"].to_list()
        for text in ([start, channel, done, channel], [channel, done], [start, channel], [channel])
    ]
    assert comms == [["node1:84:0x7", None], ["node1:84:0x7"], ["node1:84:0x7"], [None]]


@pytest.mark.parametrize(
    ("text", "kind", "code", "severity", "ranks"),
    [
        ("Duplicate GPU detected : rank 4 and rank 1 both on CUDA device 2000", "config_error", "duplicate_gpu",
         "error", [4, 1]),
        ("Mismatched NCCL version detected : rank 0 version 22606 rank 3 version 22703", "config_error",
         "version_mismatch", "error", [0, 3]),
        ("Bootstrap Root : mismatch in rank count from procs 8 : 16", "config_error", "rank_count_mismatch", "error",
         None),
        ("bootstrapRoot: rank 3 of 8 ranks has already checked in", "config_error", "already_checked_in", "error", [3]),
        ("Mismatched collective detected, please check your collective calls at and around rank 5. You can use",
         "comm_warning", "collective_mismatch", "error", [5]),
        ("NET/IB : req 0/1 tag 4 peer 10.0.0.7<44> collective mismatch error, local size 8 remote size 4",
         "comm_warning", "collective_mismatch", "error", None),
        ("NET/Socket : peer 10.0.0.7<44> message truncated : receiving 8 bytes instead of 4", "comm_warning",
         "message_truncated", "error", None),
        ("Coll AllReduce size 8 symmetric registration check failed on rank 2: buffer", "comm_warning",
         "registration_mismatch", "error", [2]),
        ("Broadcast : invalid root 9 (root should be in the 0..8 range)", "comm_warning", "invalid_root", "error",
         None),
        ("socketFinalizeAccept: wrong magic 1 != 2", "config_error", "foreign_connection", "error", None),
        ("Device 2 marked as failed", "port_error", "failed_device", "error", None),
        ("Fatal error. Detected 2 failed devices out of 4", "port_error", "failed_devices", "error", None),
        ("NET/IB : mlx5_0:1 async fatal event on QP (0x5): QP fatal", "port_error", "fatal_event", "error", None),
        ("NET/IB : mlx5_0:1 Got async error event: local catastrophic error", "port_error", None, "error", None),
        ("NET/IB : mlx5_0:1 Got non-fatal async event: port active(9)", "link_up", None, "info", None),
        ("NET/IB : mlx5_0:1 Got non-fatal async event: LID change(11)", "comm_warning", "adapter_event", "warning",
         None),
        ("socketPollConnect: connect to 10.0.0.7<41> returned Connection refused, retrying (3/34) after sleep for 9",
         "connect_failed", "retry", "info", None),
        ("socketPollConnect: Connect to 10.0.0.7<41> returned 113(No route to host) errno 115(Operation now in "
         "progress)", "connect_failed", None, "error", None),
        ("socketPollConnect: connect to 10.0.0.7<41> exceeded error retry count after 35 attempts", "connect_failed",
         None, "error", None),
        ("socketProgressOpt: Call to recv from 10.0.0.7<41> failed : Connection reset by peer", "peer_closed", None,
         "error", None),
        ("Socket recv failed while polling for opId=0x5", "comm_warning", "proxy", "info", None),
        ("communicator encountered a fatal error (detected in ncclAllReduce)", "comm_warning", "fatal", "error", None),
        ("no socket interface found", "config_error", "no_interface", "error", None),
        ("Failed to CUDA calloc 6291456 bytes", "gpu_oom", None, "error", None),
        ("NET/IB : Got completion from peer 10.0.0.7<4> with status=5 opcode=1 len=0 vendor err 249 (Recv)",
         "completion_error", "5", "info", None),
        ("NET/IB: Got completion from peer 10.0.0.7<4> with status=IBV_WC_WR_FLUSH_ERR", "completion_error", "5",
         "info", None),
    ],
)  # fmt: skip
def test_families(text: str, kind: str, code: str | None, severity: str, ranks: list[int] | None) -> None:
    [row] = PARSER.parse(lines(W + text))["events"].rows(named=True)
    assert (row["kind"], row["code"], row["severity"], row["names_ranks"]) == (kind, code, severity, ranks)
    assert row["names_rank_space"] == ("group" if ranks else None)
    assert row["names_hosts"] == (["10.0.0.7"] if "10.0.0.7" in text else None)


def test_what_stands_beside_a_status() -> None:
    text = (
        "NET/IB : Got completion from peer 1.2.3.4<4> with status=12 opcode=129 len=6 vendor err 129 (Recv) localGid "
    )
    [row] = PARSER.parse(lines(W + text + "::ffff:29.8.8.1 remoteGids::ffff:29.8.4.2"))["events"].rows(named=True)
    detail = json.loads(row["detail"])
    assert detail["status"] == "RETRY_EXC_ERR" and detail["blames"] == "peer" and detail["way"] == "Recv"
    assert (detail["local_gid"], detail["remote_gids"]) == ("::ffff:29.8.8.1", "::ffff:29.8.4.2")


def test_asides_at_level_info() -> None:
    text = f"{P}NCCL INFO [Service thread] Connection closed by localRank 2\n{P}NCCL INFO HINT: peer may have crashed"
    [row] = PARSER.parse(lines(text))["events"].rows(named=True)
    assert (row["kind"], row["code"], row["severity"]) == ("other", "service_closed", "info")


@given(st.text(alphabet="node1:84 [3]NCL INFOWARAlReduceopCunt0x/<>->.,\x00é", max_size=200), st.integers(0, 300))
def test_no_text_breaks_it(noise: str, at: int) -> None:
    whole = f"{P}NCCL INFO {BODY}busId 5d000 - Init COMPLETE{P}NCCL INFO Channel 00/0 : 3[3] -> 4[4] via P2P/IPC"
    body = whole[:at] + noise.replace("\n", " ") + whole[at:]
    for table in PARSER.parse(lines(body)).values():
        assert set(table["line"].drop_nulls().to_list()) <= {1}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hello",
        "we use NCCL here",
        f"{P}NCCL INFO comm 0x5 rank {'9' * 30} nranks 8 - Init COMPLETE",
        P,
        P + "NCCL WA",
        "\ufffd\ufffdNCCL INFO",
    ],
    ids=["empty", "foreign", "mention", "huge", "prefix-only", "cut", "invalid"],
)
def test_says_nothing(text: str) -> None:
    tables: dict[str, Any] = dict(PARSER.parse(lines(text)))
    assert all(tables[name].is_empty() for name in ("events", "ranks", "operations", "settings"))


@pytest.mark.parametrize(
    ("text", "seq"),
    [("AllReduce: opCount 1f sendbuff 0x7 recv", 31), ("AllReduce: opCount 1", None), ("AllReduce: opC", None)],
    ids=["number whole", "number cut", "before the number"],
)
def test_a_cut_line_still_says_what_was_enqueued(text: str, seq: int | None) -> None:
    rows = PARSER.parse(lines(f"{P}NCCL INFO {text}", path_rank=3))["operations"].rows(named=True)
    assert [(row["kind"], row["seq"], row["comm"], row["rank"]) for row in rows] == (
        [("all_reduce", seq, None, 3)] if seq else []
    )


@pytest.mark.parametrize(
    ("text", "device", "pci"),
    [
        ("MCCL INFO comm 0x55d0 rank 3 nranks 8 musaDev 5 busId 15000 - Init COMPLETE", 5, "0000:15:00.0"),
        ("NCCL INFO ncclCommInitRank comm 0x55d0 rank 3 nranks 8 cudaDev 5 busId 5d000 commId 0x1f localSize 8 used 42 bytes on core 3 "
         "- Init COMPLETE", 5, "0000:5d:00.0"),
        ("NCCL INFO comm 0x55d0 rank 3 nranks 8 cudaDev 5 nvmlDev 7 - Init COMPLETE", 5, None),
    ],
    ids=["mccl", "rccl", "no bus"],
)  # fmt: skip
def test_init_lines_of_other_vendors(text: str, device: int, pci: str | None) -> None:
    tables = PARSER.parse(lines(f"n1:84:91 [1] {text}"))
    [row] = tables["ranks"].rows(named=True)
    assert (row["rank"], row["world_size"], row["device_index"], row["pci"]) == (3, 8, device, pci)
    assert tables["events"]["kind"].to_list() == ["comm_init_complete"]


def test_verbs_calls_that_failed() -> None:
    text = "n1:84:91 [1] misc/ibvwrap.cc:187 NCCL WARN Call to {} failed with error {}"
    found = PARSER.parse(
        lines(text.format("ibv_modify_qp", "Network is unreachable") + "\n" + text.format("ibv_reg_mr", "Bad address"))
    )
    assert found["events"].select("kind", "code").rows() == [
        ("connect_failed", "Network is unreachable"), ("comm_warning", "Bad address"),
    ]  # fmt: skip


def test_what_a_launcher_puts_before_the_line_is_the_local_rank() -> None:
    text = f"{P}NCCL INFO {BODY}busId 5d000 - Init COMPLETE"
    assert PARSER.parse(lines(text, local_rank=3))["ranks"]["local_rank"].to_list() == [3]
