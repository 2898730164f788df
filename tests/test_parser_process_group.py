"""What process groups say when collectives fail; group ranks are never passed off as global ones."""

import json
from pathlib import Path
from typing import Any

import pytest

from forensics import analyze
from parsers.pytorch.process_group import PARSER
from tests.lines import lines

GLOG = "[E321 02:07:08.408271257 ProcessGroupNCCL.cpp:607] "
SOCKET = "SocketImpl(fd=9, addr=[node1]:4170, remote=[::ffff:10.0.0.7]:29500)"


def _events(text: str, **columns: Any) -> list[dict[str, Any]]:
    return PARSER.parse(lines(text, **columns))["events"].rows(named=True)


WORK = "Watchdog caught collective operation timeout: "


@pytest.mark.parametrize(
    ("text", "rank", "expected"),
    [
        pytest.param(
            f"[E ProcessGroupNCCL.cpp:475] [Rank 2] {WORK}WorkNCCL(OpType=ALLREDUCE, Timeout(ms)=1800000) ran for "
            "1800999 milliseconds before timing out.",
            None,
            {"op": "all_reduce", "seq": None, "rank": 2, "rank_space": "group", "value": 1800999.0},
            id="1.9",
        ),
        pytest.param(
            f"[Rank 2] {WORK}WorkNCCL(SeqNum=8, OpType=_ALLGATHER_BASE, TensorShape=[4, 2], "
            "Timeout(ms)=1800000) ran for "
            "1800999 milliseconds before timing out.",
            5,
            {"op": "all_gather", "seq": 8, "rank": 5, "rank_space": "global"},
            id="2.0",
        ),
        pytest.param(
            f"{GLOG}[Rank 1] {WORK}WorkNCCL(SeqNum=7, OpType=COALESCED, NumelIn=1, NumelOut=9, "
            "Timeout(ms)=600000) ran for "
            "600001 milliseconds before timing out.\r",
            1,
            {"op": "coalesced", "seq": 7, "rank": 1},
            id="2.4-crlf",
        ),
        pytest.param(
            f"ProcessGroupMCCL LOG [Rank 1] {WORK}WorkMCCL(SeqNum=7, OpType=BROADCAST, Timeout(ms)=9) ran "
            "for 10 millisec",
            None,
            {"op": "broadcast", "seq": 7, "rank": 1, "rank_space": "group"},
            id="torch_musa-cut",
        ),
        pytest.param(f"[Rank 1] {WORK}WorkNCCL(SeqNum=7, OpTy", 3, {"op": None, "seq": 7, "rank": 3}, id="cut"),
        pytest.param(
            "RuntimeError: [/b/gloo/transport/tcp/unbound_buffer.cc:78] Timed out waiting 20000ms for recv "
            "operation to "
            "complete",
            4,
            {"kind": "collective_timeout", "value": 20000.0, "rank": 4},
            id="gloo-timeout",
        ),
        pytest.param(
            "RuntimeError: [/b/gloo/tcp/pair.cc:561] Connection closed by peer [127.0.0.1]:44167. This is typical",
            4,
            {"kind": "peer_closed", "names_hosts": ["127.0.0.1"]},
            id="gloo-closed",
        ),
        pytest.param(
            "[Rank 0]: Ranks 3, 5 failed to pass monitoredBarrier in 9000 ms",
            0,
            {"kind": "barrier_missing", "names_ranks": [3, 5], "names_rank_space": "group", "rank": 0},
            id="monitored-barrier",
        ),
        pytest.param(
            "[Rank 0]: Rank 3 failed to pass monitoredBarrier in 9000 ms",
            None,
            {"kind": "barrier_missing", "names_ranks": [3], "rank": 0, "rank_space": "group"},
            id="monitored-barrier-one",
        ),
        pytest.param(
            "[PG ID 0 PG GUID 0(default_pg) Rank 3] Received a dump signal due to a collective timeout from "
            " rank 34 and "
            "we will try our best to dump the debug info. Last enqueued NCCL work: 9, last completed NCCL work: 6.",
            None,
            {"kind": "dump_signal", "names_ranks": [34], "names_rank_space": "global", "rank_space": "global"},
            id="dump-signal",
        ),
        pytest.param(
            "ProcessGroupNCCL's watchdog got stuck for 480 seconds without making progress",
            1,
            {"kind": "heartbeat_lost", "value": 480.0},
            id="heartbeat",
        ),
        pytest.param(
            "wait timeout after 600000ms, keys: /default_pg/0//cuda//0",
            1,
            {"kind": "store_timeout", "value": 600000.0},
            id="store",
        ),
        pytest.param(
            f"[c10d] waitForInput: poll for socket {SOCKET} returned 0, likely a timeout",
            1,
            {"kind": "store_timeout", "names_hosts": ["10.0.0.7"]},
            id="store-poll",
        ),
        pytest.param(
            f"[c10d] recvValue failed on {SOCKET}: Connection reset by peer",
            1,
            {"kind": "peer_closed", "names_hosts": ["10.0.0.7"], "code": "store"},
            id="store-reset",
        ),
        pytest.param(
            "[3] is setting up NCCL communicator and retreiving ncclUniqueId from [0] via c10d key-value "
            "store by key '0', "
            "but store->get('0') got error: Socket Timeout",
            None,
            {"kind": "missing_members", "names_ranks": [0], "names_rank_space": "group", "rank": 3},
            id="no-unique-id",
        ),
        pytest.param(
            "NCCL communicator was aborted on rank 6.  Original reason for failure was: x",
            None,
            {"kind": "comm_abort", "rank": 6, "rank_space": "group"},
            id="abort",
        ),
    ],
)
def test_single_lines(text: str, rank: int | None, expected: dict[str, Any]) -> None:
    [row] = _events(text, rank=rank)
    assert {key: row[key] for key in expected} == expected


@pytest.mark.parametrize(
    "text", ["", "epoch 3", "Rank 3 is fine", "rank: 9", "the barrier 3, 5 passed"], ids=lambda text: text or "empty"
)
def test_foreign_lines_say_nothing(text: str) -> None:
    tables = PARSER.parse(lines(text, rank=1))
    assert all(frame.is_empty() for frame in tables.values())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "[PG 1 Rank 0] Timeout at NCCL work: 7, last enqueued NCCL work: 9, last completed NCCL work: 6.",
            {"pg_id": 1, "group": None, "desc": None},
        ),
        (
            "[PG 1 (tp) Rank 0] Exception (either an error or timeout) detected by watchdog at work: 7, last enqueued "
            "NCCL work: 9, last completed NCCL work: 6.",
            {"pg_id": 1, "group": None, "desc": "tp"},
        ),
        (
            "[PG ID 1 PG GUID 12(tp) Rank 0]  failure detected by watchdog at work sequence id: 7 PG "
            "status: last enqueued "
            "work: 9, last completed work: 6",
            {"pg_id": 1, "group": "12", "desc": "tp"},
        ),
        (
            "[PG ID 1 PG GUID 12 Rank 0] Timeout at MCCL work: 7, last enqueued MCCL work: 9, last "
            "completed MCCL work: 6",
            {"pg_id": 1, "group": "12", "desc": None},
        ),
        (
            "[PG ID 1 PG GUID 12 Rank 0] Timeout at HCCL work: 7, last enqueued HCCL work: 9, last "
            "completed HCCL work: 6",
            {"pg_id": 1, "group": "12", "desc": None},
        ),
    ],
    ids=["2.3", "2.4", "2.6", "musa", "npu"],
)
@pytest.mark.parametrize("rank", [None, 11])
def test_counters(text: str, expected: dict[str, Any], rank: int | None) -> None:
    tables = PARSER.parse(lines(text, rank=rank))
    [row] = tables["progress"].rows(named=True)
    assert (row["last_enqueued"], row["last_completed"], row["scope"], row["rank"]) == (9, 6, "all", rank)
    assert {key: row[key] for key in expected} == expected
    # Any other exception ends the watchdog, too; what it is then stands beside the word of a failure.
    said = "collective_timeout" if "Timeout at" in text or "failure detected" in text else None
    assert [(one["kind"], one["seq"]) for one in tables["events"].rows(named=True)] == ([(said, 7)] if said else [])


def test_fingerprints() -> None:
    text = (
        "RuntimeError: Detected mismatch between collectives on ranks. Rank 2 is running collective: "
        "CollectiveFingerPrint(SequenceNumber=32, OpType=ALLREDUCE, TensorShape=[8, 4], TensorDtypes=Float, "
        "TensorDeviceTypes=TensorOptions(dtype=float (default), device=cuda)), but Rank 3 is running collective: "
        "CollectiveFingerPrint(SequenceNumber=0OpType=GATHER).Collectives differ in the following aspects: \t Op type: "
        "ALLREDUCEvs GATHER"
    )
    [row] = _events(text, rank=2)
    assert (row["kind"], row["names_ranks"], row["seq"]) == ("fingerprint_mismatch", [2, 3], 32)
    detail = json.loads(row["detail"])
    assert detail["a"] | {"incomplete": None} == {
        "rank": 2, "op": "all_reduce", "shape": "[8, 4]", "dtypes": "Float", "seq": 32, "incomplete": None,
    }  # fmt: skip
    assert detail["b"]["incomplete"] and not detail["a"]["incomplete"]


def test_store_barrier_counts() -> None:
    [row] = _events(
        "Timed out initializing process group in store based barrier on rank: 1, for key: store_based_barrier_key:1 "
        "(world_size=8, worker_count=6, timeout=0:30:00)",
        rank=1,
    )
    assert row["kind"] == "missing_members"
    assert json.loads(row["detail"]) == {"key": "store_based_barrier_key:1", "expected": "8", "joined": "6", "rank": 1}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("invalid usage, NCCL version 2.19.3\nncclInvalidUsage: x\nLast error:\nDuplicate GPU", "config_error"),
        ("unhandled cuda error, 2.19\nncclUnhandledCudaError: x\nLast error:\nCuda failure 'out of memory'",
         "gpu_oom"),
        ("remote process exited or there was a network error, NCCL version 2.19\nncclRemoteError: x", "remote_error"),
        ("unhandled system error, NCCL version 2.7.8\nncclSystemError: x", "comm_warning"),
        ("unhandled musa error\nTraceback (most recent call last):", "cuda_error"),
    ],
    ids=["duplicate", "oom", "remote", "system", "musa"],
)  # fmt: skip
def test_library_errors(text: str, kind: str) -> None:
    [row] = _events("torch.distributed.DistBackendError: NCCL error in: ../c10d/P.cpp:1, " + text, rank=1)
    assert row["kind"] == kind
    assert "Traceback" not in row["text"]


def test_library_error_without_a_place() -> None:
    text = (
        "[PG ID 0 PG GUID 0(default_pg) Rank 5] Process group watchdog thread terminated with exception: NCCL error: "
    )
    [row] = _events(text + "remote process exited or there was a network error, NCCL version 2.21.5", rank=5)
    assert (row["kind"], row["rank"]) == ("remote_error", 5)
    assert json.loads(row["detail"])["error"] == "remote process exited or there was a network error"


def test_device_error_that_ended_the_watchdog() -> None:
    text = "[PG 0 (default_pg) Rank 12] Process group watchdog thread terminated with exception: CUDA error: "
    [row] = _events(text + "uncorrectable ECC error encountered", rank=12)
    assert (row["kind"], row["code"], row["rank"]) == ("cuda_error", "uncorrectable ECC error encountered", 12)


def test_a_time_out_that_two_lines_tell_is_one_event() -> None:
    head = "[PG 0 (default_pg) Rank 1] "
    at = f"{head}Timeout at NCCL work: {{}}, last enqueued NCCL work: 9, last completed NCCL work: 6.\n"
    caught = f"[Rank 1] {WORK}WorkNCCL(SeqNum=7, OpType=ALLREDUCE, NumelIn=4, NumelOut=4, Timeout(ms)=9) ran for 9 milliseconds"
    [row] = _events(at.format(7) + caught)
    assert (row["seq"], row["op"]) == (7, "all_reduce")
    assert [row["seq"] for row in _events(at.format(8) + caught)] == [7, 8]


def test_the_rank_that_asks_for_a_dump_waited_itself() -> None:
    text = "[PG ID 0 PG GUID 0(default_pg) Rank 1] Received a dump signal due to a collective timeout from {}rank{} and we will try"
    [own] = _events(text.format("this local ", ""), rank=1)
    assert (own["kind"], own["code"], own["rank"]) == ("collective_timeout", "dump_signal", 1)
    [other] = _events(text.format(" ", " 3"), rank=1)
    assert (other["kind"], other["names_ranks"]) == ("dump_signal", [3])


@pytest.mark.parametrize(
    ("enqueued", "completed", "group"), [(812, 812, None), (812, 811, "default_pg"), (-1, -1, None)]
)
@pytest.mark.parametrize("of", ["[PG ID 0 PG GUID 0(default_pg) Rank 1]", "[PG 0 (default_pg) Rank 1]"])
def test_a_group_that_has_completed_all_is_not_the_one_waited_in(tmp_path: Path, of: str, enqueued: int, completed: int, group: str | None) -> None:  # fmt: skip
    counters = f"Last enqueued NCCL work: {enqueued}, last completed NCCL work: {completed}."
    asks = "Received a dump signal due to a collective timeout from this local rank and we will try our best to dump. "
    (tmp_path / "train.log").write_text(
        f"[rank1]:[E512 11:43:03.321215571 ProcessGroupNCCL.cpp:1890] {of} {asks}{counters}\n"
    )
    verdict = analyze(tmp_path).verdict
    assert (verdict.kind, verdict.first_anomaly.group, verdict.ranks) == ("hang", group, [])


@pytest.mark.parametrize(
    ("text", "severity"),
    [
        ("Timed out initializing process group in store based barrier on rank: 3, for key: k:1 (world_size=16, worker_count=12, "
         "timeout=0:30:00)", "error"),
        ("Timed out initializing process group in store based barrier on rank 3, for key: k:1 (world_size=16, num_workers_joined=12, "
         "timeout=0:30:00 error=x)", "error"),
        ("Waiting in store based barrier to initialize process group for rank: 3, key: k:1 (world_size=16, worker_count=12, "
         "timeout=0:30:00)", "info"),
        ("Waiting in store based barrier to initialize process group for 600 seconds, rank: 3, key: k:1 (world_size=16, "
         "num_workers_joined=12, timeout=0:30:00)", "info"),
    ],
    ids=["until 2.1", "since 2.2", "waiting", "waiting since 2.2"],
)  # fmt: skip
def test_store_based_barriers(text: str, severity: str) -> None:
    [row] = _events(text)
    assert (row["kind"], row["code"], row["rank"], row["severity"]) == ("missing_members", "store_barrier", 3, severity)
    assert json.loads(row["detail"])["joined"] == "12"
