"""Lines of PyTorch's process groups, store, agent and recorder after their formats, version by version."""

from tests.reference_rows import Ref, ref

_WORK_19 = "WorkNCCL(OpType=ALLREDUCE, Timeout(ms)=1800000)"
_WORK_20 = "WorkNCCL(SeqNum=7, OpType=ALLREDUCE, TensorShape=[4, 8], Timeout(ms)=1800000)"
_WORK = "WorkNCCL(SeqNum=7, OpType=ALLREDUCE, NumelIn=4, NumelOut=4, Timeout(ms)=1800000)"
_RAN = " ran for 1800123 milliseconds before timing out."
_CAUGHT = "Watchdog caught collective operation timeout: "
_LINE_21 = "[E ProcessGroupNCCL.cpp:475] [Rank 2] "
_LINE_22 = "[rank5]:[E ProcessGroupNCCL.cpp:523] [Rank 2] "
_LINE_23 = "[rank5]:[E ProcessGroupNCCL.cpp:563] [PG 1 Rank 2] "
_LINE_24 = "[rank5]:[E321 02:07:08.408271257 ProcessGroupNCCL.cpp:607] [PG 1 (tp) Rank 2] "
_LINE_25 = "[rank5]:[E1121 02:07:08.408271257 ProcessGroupNCCL.cpp:616] [PG ID 1 PG GUID 9(tp) Rank 2] "
_MCCL = "[E ProcessGroupMCCL.cpp:475] [Rank 2] "
_MCCL_25 = "[rank5]:[E321 02:07:08.408271257 ProcessGroupMCCL.cpp:607] ProcessGroupMCCL LOG [Rank 2] "
_MCCL_27 = "[rank5]:[E321 02:07:08.408271257 ProcessGroupMCCL.cpp:607] [PG ID 1 PG GUID 9(tp) Rank 2] "
_TIMEOUT = {"kind": "collective_timeout", "op": "all_reduce", "value": 1800123.0}
_GLOBAL = {"rank": 5, "rank_space": "global"}
_IN_GROUP = {"rank": 2, "rank_space": "group"}
_COUNTED = {"last_enqueued": 9, "last_completed": 6}

WATCHDOG: tuple[Ref, ...] = (
    ref("pytorch/timeout/1.9", f"{_LINE_21}{_CAUGHT}{_WORK_19}{_RAN}", **_TIMEOUT, **_IN_GROUP, seq=None),
    ref("pytorch/timeout/1.13", f"{_LINE_21}{_CAUGHT}{_WORK_20}{_RAN}", **_TIMEOUT, **_IN_GROUP, seq=7,
        detail_shape="[4, 8]"),
    ref("pytorch/timeout/2.0", f"{_LINE_21}{_CAUGHT}{_WORK_20.replace('TensorShape=[4, 8], ', '')}{_RAN}", **_TIMEOUT, seq=7),
    ref("pytorch/timeout/2.1", f"{_LINE_21}{_CAUGHT}{_WORK}{_RAN}", **_TIMEOUT, seq=7, detail_numel_in=4),
    ref("pytorch/timeout/2.2", f"{_LINE_22}{_CAUGHT}{_WORK}{_RAN}", **_TIMEOUT, **_GLOBAL, seq=7),
    ref("pytorch/timeout/2.3", f"{_LINE_23}{_CAUGHT}{_WORK}{_RAN}", **_TIMEOUT, **_GLOBAL),
    ref("pytorch/timeout/2.4", f"{_LINE_24}{_CAUGHT}{_WORK}{_RAN}", **_TIMEOUT, **_GLOBAL),
    ref("pytorch/timeout/2.5-2.15", f"{_LINE_25}{_CAUGHT}{_WORK}{_RAN}", **_TIMEOUT, **_GLOBAL, group="9",
        detail_timeout_ms=1800000),
    ref("pytorch/blocking-wait", f"{_LINE_21}Work {_WORK} timed out in blocking wait (NCCL_BLOCKING_WAIT=1).",
        kind="collective_timeout", seq=7),
    ref("pytorch/blocking-wait/2.2", f"{_LINE_22}Work {_WORK} timed out in blocking wait.", kind="collective_timeout"),
    ref("pytorch/counters/2.3", f"{_LINE_23}Timeout at NCCL work: 7, last enqueued NCCL work: 9, last completed NCCL work: 6.",
        "progress", rank=5, pg_id=1, scope="all", **_COUNTED),
    ref("pytorch/counters/2.4", f"{_LINE_24}Exception (either an error or timeout) detected by watchdog at work: 7, last "
        "enqueued NCCL work: 9, last completed NCCL work: 6.", "progress", rank=5, pg_id=1, desc="tp", **_COUNTED),
    ref("pytorch/counters/2.6-2.15", f"{_LINE_25} failure detected by watchdog at work sequence id: 7 PG status: last "
        "enqueued work: 9, last completed work: 6", "progress", rank=5, group="9", desc="tp", **_COUNTED),
    ref("pytorch/counters/never", f"{_LINE_25} failure detected by watchdog at work sequence id: 7 PG status: last enqueued "
        "work: 7, last completed work: -1", "progress", last_completed=-1),
    ref("pytorch/default-group", "[PG ID 0 PG GUID 0(default_pg) Rank 4] " + _CAUGHT + _WORK + _RAN, rank=4,
        rank_space="global"),
    ref("pytorch/watchdog-end/2.0", f"{_LINE_21}NCCL watchdog thread terminated with exception: x", None),
    ref("pytorch/watchdog-end/2.3", f"{_LINE_23}Process group watchdog thread terminated with exception: CUDA error: an "
        "illegal memory access was encountered", kind="cuda_error", rank=5),
    ref("pytorch/boilerplate/async", f"{_LINE_22}Some NCCL operations have failed or timed out. Due to the asynchronous "
        "nature of CUDA kernels, subsequent GPU operations might run on corrupted/incomplete data.", None),
    ref("pytorch/boilerplate/down", f"{_LINE_22}To avoid data inconsistency, we are taking the entire process down.", None),
    ref("pytorch/boilerplate/dump", f"{_LINE_25}ProcessGroupNCCL preparing to dump debug info. Include stack trace: 1", None),
    ref("pytorch/boilerplate/no-stack", f"{_LINE_25}Stack trace of the failed collective not found, potentially because "
        "FlightRecorder is disabled. You can enable it by setting TORCH_NCCL_TRACE_BUFFER_SIZE to a non-zero value.", None),
    ref("pytorch/stack", f"{_LINE_25}Stack trace of the failed collective: \n#0 all_reduce from /x/distributed_c10d.py:2501\n"
        "#1 main from /job/train.py:15", "stacks", rank=5, source="failed collective"),
    ref("pytorch/dump/first", f"{_LINE_25}First PG on this rank to signal dumping.", kind="dump_signal", names_ranks=[5]),
    ref("pytorch/dump/broadcast", f"{_LINE_24}Broadcasting flight-recorder dump signal to other processes via TCPStore.",
        None),
    ref("pytorch/dump/broadcast-2.15", f"{_LINE_25}Broadcasting signal exception_dump to other ranks via TCPStore.", None),
    ref("pytorch/dump/observed", f"{_LINE_25}Observed flight recorder dump signal from another rank via TCPStore.",
        kind="dump_signal", severity="info"),
    ref("pytorch/dump/2.4-global", f"{_LINE_24}Received a global dump signal from rank 34, and will try our best to dump the "
        "debug info.", kind="dump_signal", names_ranks=[34]),
    ref("pytorch/dump/2.4-local", f"{_LINE_24}Received a dump signal from this local rank and will start to dump the debug "
        "info.", kind="dump_signal"),
    ref("pytorch/dump/2.5", f"{_LINE_25}Received a dump signal due to a collective timeout from  rank 34 and we will try our "
        "best to dump the debug info. Last enqueued NCCL work: 9, last completed NCCL work: 6.", kind="dump_signal",
        names_ranks=[34]),
    ref("pytorch/dump/2.5-counters", f"{_LINE_25}Received a dump signal due to a collective timeout from  rank 34 and we will "
        "try our best to dump the debug info. Last enqueued NCCL work: 9, last completed NCCL work: 6.", "progress",
        rank=5, **_COUNTED),
    ref("pytorch/store-lost/2.5", f'{_LINE_25}Failed to check the "should dump" flag on TCPStore, (maybe TCPStore server has '
        "shut down too early), with error: Broken pipe", kind="store_timeout", code="store_lost"),
    ref("pytorch/store-lost/2.15", f'{_LINE_25}Check of the "should dump" flag failed (store unavailable, not absent key). '
        "Cannot detect remote dump signals.", kind="store_timeout", code="store_lost"),
    ref("pytorch/heartbeat/2.2", f"{_LINE_22}Heartbeat monitor timed out! Process will be terminated after dumping debug info. "
        "workMetaList_.size()=3", kind="heartbeat_lost", rank=5),
    ref("pytorch/heartbeat/first", f"{_LINE_24}First PG on this rank that detected no heartbeat of its watchdog.",
        kind="heartbeat_lost"),
    ref("pytorch/heartbeat/480", f"{_LINE_25}ProcessGroupNCCL's watchdog got stuck for 480 seconds without making progress in "
        "monitoring enqueued collectives. This typically indicates a hang.", kind="heartbeat_lost", value=480.0),
    ref("pytorch/heartbeat/exit", "[rank5]:[F321 02:07:08.408271257 ProcessGroupNCCL.cpp:1] [PG 0 (default_pg) Rank 5] [PG 0 "
        "(default_pg) Rank 5] Terminating the process after attempting to dump debug info, due to ProcessGroupNCCL watchdog "
        "hang.", kind="heartbeat_lost"),
    ref("pytorch/exit-for-timeout", "[rank5]:[F321 02:07:08.408271257 ProcessGroupNCCL.cpp:1] [PG 0 (default_pg) Rank 5] "
        "Terminating the process after attempting to dump debug info, due to collective timeout or exception.", None),
    ref("pytorch/aborted", f"{_LINE_21}NCCL communicator was aborted on rank 2.  Original reason for failure was: x",
        kind="comm_abort", rank=2),
    ref("pytorch/desync/2.0-in-the-message", f"{_LINE_21}{_CAUGHT}{_WORK}{_RAN}\n\t - [2] Timeout at collective: ALLREDUCE, "
        "#8\n\t - To our best knowledge, the lagging/dead/mismatched ranks that caused the desync are:\n\t   - [7] joined but "
        "didn't finish collective #8 (count from 1)", kind="desync", names_ranks=[7]),
    ref("pytorch/desync/never", "[rank5]:\n\t - [5] Timeout at collective: ALLREDUCE, #8\n\t - To our best knowledge, ranks "
        "[7, 9] are the lagging ranks that caused this timeout. They never joined any collectives", kind="desync",
        names_ranks=[7, 9]),
    ref("pytorch/desync/finished", "\t - [5] Timeout at collective: ALLREDUCE, #8\n\t - To our best knowledge, the "
        "lagging/dead/mismatched ranks that caused the desync are:\n\t   - [7] finished collective #7, but didn't join "
        "collective #8 (count from 1)\n\t - Snapshot of ranks' latest states:\n\t   #7 finished ranks:\n\t     [7] finished "
        "ALLREDUCE\n\t   #8 started ranks:\n\t     [5] started ALLREDUCE", kind="desync", names_ranks=[7], op="all_reduce"),
    ref("pytorch/desync/failed", f"{_LINE_22}Failed to retrieve TORCH_NCCL_DESYNC_DEBUG report. ", None),
)  # fmt: skip

_FINGERPRINTS = (
    "Detected mismatch between collectives on ranks. Rank 0 is running collective: CollectiveFingerPrint({seq}OpType="
    "ALLREDUCE, TensorShape=[4], TensorDtypes=Float, TensorDeviceTypes=TensorOptions(dtype=float (default), device=cuda)), "
    "but Rank 3 is running collective: CollectiveFingerPrint({seq}OpType=BROADCAST, TensorShape=[5], TensorDtypes=Float, "
    "TensorDeviceTypes=TensorOptions(dtype=float (default), device=cuda)).{differ}"
)
_DIFFER = "Collectives differ in the following aspects: \t Op type: ALLREDUCEvs BROADCAST\t Tensor Tensor shapes: 4vs 5"
_NCCL_ERROR = (
    "RuntimeError: NCCL error in: ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:1331, {}, NCCL version 2.18.1\n"
)

ERRORS: tuple[Ref, ...] = (
    *(
        ref(f"pytorch/nccl-error/{name}", _NCCL_ERROR.format(words) + more, kind=kind)
        for name, words, more, kind in (
            ("cuda", "unhandled cuda error", "ncclUnhandledCudaError: Call to CUDA function failed.", "cuda_error"),
            ("cuda-oom", "unhandled cuda error", "ncclUnhandledCudaError: Call to CUDA function failed.\nLast error:\nCuda "
             "failure 'out of memory'", "gpu_oom"),
            ("system", "unhandled system error", "ncclSystemError: System call (e.g. socket, malloc) or external library call "
             "failed or device error.", "comm_warning"),
            ("internal", "internal error", "ncclInternalError: Internal check failed.", "comm_warning"),
            ("usage", "invalid usage", "ncclInvalidUsage: This usually reflects invalid usage of NCCL library.",
             "config_error"),
            ("remote", "remote process exited or there was a network error", "ncclRemoteError: A call failed possibly due to "
             "a network error or a remote process exiting prematurely.", "remote_error"),
            ("last-error", "internal error", "ncclInternalError: Internal check failed.\nLast error:\nNet : Connect to "
             "10.0.0.7<41> failed : Connection refused", "connect_failed"),
        )
    ),
    ref("pytorch/last-error-names", _NCCL_ERROR.format("internal error") + "ncclInternalError: Internal check failed.\nLast "
        "error:\nsocketStartConnect: Connect to 10.0.0.7<41> failed : Connection refused", names_hosts=["10.0.0.7"]),
    ref("pytorch/setup/2.0", "[5] is setting up NCCL communicator and retreiving ncclUniqueId from [0] via c10d key-value store "
        "by key '0', but store->get('0') got error: Socket Timeout", kind="missing_members", rank=5, rank_space="group"),
    ref("pytorch/setup/2.2", "[5] is setting up NCCL communicator and retrieving ncclUniqueId from [0] via c10d key-value store "
        "by key '0', but store->get('0') got error: Connection reset by peer", kind="missing_members", names_ranks=[0]),
    ref("pytorch/setup/advice", "Exception raised. This may indicate a possible application crash on rank 0 or a network set up "
        "issue.", None),
    ref("pytorch/detail/2.0", _FINGERPRINTS.format(seq="", differ=""), kind="fingerprint_mismatch", names_ranks=[0, 3]),
    ref("pytorch/detail/2.1", _FINGERPRINTS.format(seq="SequenceNumber=9, ", differ=_DIFFER), kind="fingerprint_mismatch",
        seq=9, op="all_reduce"),
    ref("pytorch/barrier/blame", "[Rank 0]: Ranks 3, 5 failed to pass monitoredBarrier in 9000 ms", kind="barrier_missing",
        names_ranks=[3, 5]),
    ref("pytorch/barrier/one", "[Rank 0]: Rank 3 failed to pass monitoredBarrier in 9000 ms", kind="barrier_missing",
        names_ranks=[3]),
    ref("pytorch/barrier/victim", "[Rank 2]: Rank 2 successfully reached monitoredBarrier, but received errors while waiting "
        "for send/recv from rank 0. Please check rank 0 logs for faulty rank.", kind="remote_error", code="barrier", rank=2,
        names_ranks=None),
    ref("pytorch/barrier/timeout", "Rank 2 timed out in monitoredBarrier after 9000 ms.", kind="collective_timeout",
        code="barrier"),
    ref("pytorch/barrier/none", "No ranks successfully processed in monitoredBarrier.", None),
    ref("pytorch/barrier/wrapper", "ProcessGroupWrapper: Monitored Barrier encountered error running collective: x", None),
    ref("pytorch/store/wait", "torch.distributed.DistStoreError: wait timeout after 600000ms, keys: /default_pg/0//cuda//0",
        kind="store_timeout", value=600000.0),
    ref("pytorch/store/clients", "Timed out after 1801 seconds waiting for clients. 14/16 clients joined.",
        kind="missing_members", detail_joined="14", detail_expected="16"),
    ref("pytorch/store/poll", "[c10d] waitForInput: poll for socket SocketImpl(fd=8, addr=[n1]:41, remote=[n2]:29500) returned "
        "0, likely a timeout", kind="store_timeout", names_hosts=["n2"]),
    ref("pytorch/store/timed-out", "waitForInput: socket SocketImpl(fd=8, addr=[n1]:41, remote=[n2]:29500) timed out after "
        "600000ms", kind="store_timeout", value=600000.0),
    ref("pytorch/store/recv", "recvValue failed on SocketImpl(fd=8, addr=[n1]:41, remote=[n2]:29500): Connection reset by peer",
        kind="peer_closed", code="store", names_hosts=["n2"]),
    ref("pytorch/store/got-0", "recvValueWithTimeout failed on SocketImpl(fd=8, addr=[n1]:41, remote=[n2]:29500): Failed to "
        "recv, got 0 bytes. Connection was likely closed. Did the remote server shutdown or crash?", kind="peer_closed"),
    ref("pytorch/store/send", "sendBytes failed on SocketImpl(fd=8, addr=[n1]:41, remote=[n2]:29500): Broken pipe",
        kind="peer_closed"),
    ref("pytorch/store/barrier", "RuntimeError: Timed out initializing process group in store based barrier on rank: 3, for "
        "key: store_based_barrier_key:1 (world_size=16, worker_count=14, timeout=0:30:00)", kind="missing_members",
        code="store_barrier", detail_joined="14"),
    ref("pytorch/store/client", "The client socket has timed out after 900s while trying to connect to (n2, 29500).",
        kind="connect_failed", code="store", names_hosts=["n2"]),
    ref("pytorch/store/client-ms", "The client socket has timed out after 900000ms while trying to connect to (n2, 29500).",
        kind="connect_failed", code="store", names_hosts=["n2"]),
)  # fmt: skip

_AGENT = {"1.9": "ERROR:torch.distributed.elastic.multiprocessing.api:",
          "2.2": "[2024-02-09 09:09:15,164] torch.distributed.elastic.multiprocessing.api: [ERROR] ",
          "2.5": "E0816 01:45:43.466000 812 139 torch/distributed/elastic/multiprocessing/api.py:833] "}  # fmt: skip
_TABLE = """============================================================
train.py FAILED
------------------------------------------------------------
Failures:
[1]:
  time      : 2026-01-31_10:11:12
  host      : gpu-017
  rank      : 13 (local_rank: 5)
  exitcode  : -9 (pid: 4711)
  error_file: <N/A>
  traceback : Signal 9 (SIGKILL) received by PID 4711
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2026-01-31_10:11:10
  host      : gpu-016
  rank      : 3 (local_rank: 3)
  exitcode  : 1 (pid: 4700) <SIGABRT>
  error_file: <N/A>
  traceback : To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html
============================================================"""

ELASTIC: tuple[Ref, ...] = (
    *(
        ref(f"elastic/failed/{version}", f"{style}failed (exitcode: -9) local_rank: 3 (pid: 812917) of binary: /usr/bin/python",
            kind="exit", code="SIGKILL", local_rank=3, pid=812917)
        for version, style in _AGENT.items()
    ),
    *(
        ref(f"elastic/closing/{version}", f"{style}Sending process 4712 closing signal SIGTERM", kind="closing_signal", pid=4712)
        for version, style in _AGENT.items()
    ),
    ref("elastic/death", "Received 15 death signal, shutting down workers", kind="closing_signal", code="SIGTERM"),
    ref("elastic/table/exit", _TABLE, kind="exit", rank=13, code="SIGKILL", host="gpu-017", pid=4711),
    ref("elastic/table/first", _TABLE, kind="first_failure", rank=3, host="gpu-016"),
    ref("elastic/table/ranks", _TABLE, "ranks", rank=13, local_rank=5, host="gpu-017"),
)  # fmt: skip

MUSA: tuple[Ref, ...] = (
    ref("torch_musa/timeout/1.0-2.0", f"{_MCCL}{_CAUGHT}{_WORK_20.replace('WorkNCCL', 'WorkMCCL')}{_RAN}", **_TIMEOUT, seq=7,
        **_IN_GROUP),
    ref("torch_musa/boilerplate/1.0", f"{_MCCL}Some MCCL operations have failed or timed out. Due to the asynchronous nature of "
        "MUSA kernels, subsequent GPU operations might run on corrupted/incomplete data.", None),
    ref("torch_musa/timeout/2.1-2.5", f"{_MCCL_25}{_CAUGHT}{_WORK_20.replace('WorkNCCL', 'WorkMCCL')}{_RAN}", **_TIMEOUT,
        **_GLOBAL),
    ref("torch_musa/heartbeat/2.1-2.5", "[E ProcessGroupMCCL.cpp:12] ProcessGroupMCCL LOG Heartbeat monitor timed out! Process "
        "will be terminated after dumping debug info. workMetaList_.size()=3", kind="heartbeat_lost"),
    ref("torch_musa/stuck/2.1-2.5", "[F ProcessGroupMCCL.cpp:12] ProcessGroupMCCL LOG ProcessGroupMCCL's watchdog got stuck for "
        "600 seconds without making progress in monitoring enqueued collectives.", kind="heartbeat_lost", value=600.0),
    ref("torch_musa/timeout/2.7.1", f"{_MCCL_27}{_CAUGHT}{_WORK.replace('WorkNCCL', 'WorkMCCL')}{_RAN}", **_TIMEOUT, **_GLOBAL,
        detail_numel_out=4),
    ref("torch_musa/counters/2.7.1", f"{_MCCL_27} failure detected by watchdog at work sequence id: 7 PG status: last enqueued "
        "work: 9, last completed work: 6", "progress", rank=5, group="9", **_COUNTED),
    ref("torch_musa/dump/2.7.1", f"{_MCCL_27}Received a dump signal due to a collective timeout from  rank 34 and we will try "
        "our best to dump the debug info. Last enqueued MCCL work: 9, last completed MCCL work: 6.", "progress", **_COUNTED),
    ref("torch_musa/remote/2.7.1", f"{_MCCL_27} remote error detected from rank: 34", kind="remote_error", names_ranks=[34]),
    ref("torch_musa/aborted", f"{_MCCL_27}MCCL communicator was aborted on rank 2.  Original reason for failure was: x",
        kind="comm_abort"),
    ref("torch_musa/initialized", f"{_MCCL_27}Rank 2: MCCL communicator 0x55 is initialized.", None),
    ref("torch_musa/setup", "[5] is setting up MCCL communicator and retrieving mcclUniqueId from [0] via c10d key-value store "
        "by key '0', but store->get('0') got error: Socket Timeout", kind="missing_members"),
    ref("metax/timeout/mcPytorch-2.0", f"{_LINE_21}{_CAUGHT}{_WORK_20}{_RAN}", **_TIMEOUT, seq=7),
    ref("metax/timeout/mcPytorch-2.4", f"{_LINE_24}{_CAUGHT}{_WORK}{_RAN}", **_TIMEOUT, **_GLOBAL),
)  # fmt: skip

_ENTRY = (
    '{"record_id": 0, "pg_id": 0, "process_group": ["0", "default_pg"], "collective_seq_id": 1, "p2p_seq_id": 0, "op_id": 1, '
    '"profiling_name": "nccl:all_reduce", "time_created_ns": 1700000000000000000, "input_sizes": [[4]], "input_dtypes": '
    '["Float"], "output_sizes": [[4]], "output_dtypes": ["Float"], "state": "scheduled", "time_discovered_started_ns": 0, '
    '"time_discovered_completed_ns": 0, "retired": false, "timeout_ms": 600000, "is_p2p": false}'
)
_DUMP = (
    '{"version": "2.10", "comm_lib_version": "2.27.3", "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1]"}}'
    ', "pg_status": {"0": {"last_enqueued_collective": "1", "last_started_collective": "-1", "last_completed_collective": "-1"}}'
    ', "entries": [' + _ENTRY + "]}"
)

RECORDER: tuple[Ref, ...] = (
    *(
        ref(f"flight-recorder/{name}", _DUMP, "operations", rank=1, kind="all_reduce", seq=1, state="scheduled", path=name)
        for name in ("nccl_trace_rank_1", "comm_lib_trace_rank_1.json", "job_dump_1.json", "mccl_trace_rank_1")
    ),
    ref("flight-recorder/status", _DUMP, "progress", rank=1, last_enqueued=1, path="nccl_trace_rank_1"),
    ref("flight-recorder/members", _DUMP, "groups", rank=1, group="0", members=[0, 1], path="nccl_trace_rank_1"),
    ref("flight-recorder/2.1-old-key", _DUMP.replace("comm_lib_version", "nccl_version").replace("2.10", "2.1"), "operations",
        path="nccl_trace_rank_1"),
    ref("flight-recorder/nccl2", _DUMP.replace("nccl:all_reduce", "nccl2:all_reduce"), "operations", kind="all_reduce",
        path="nccl_trace_rank_1"),
    ref("flight-recorder/gloo", _DUMP.replace("nccl:all_reduce", "gloo:all_reduce"), "operations", backend="gloo",
        path="nccl_trace_rank_1"),
    ref("flight-recorder/send", _DUMP.replace("nccl:all_reduce", "nccl:send 0->1").replace('"is_p2p": false', '"is_p2p": true'),
        "operations", kind="send", peer=1, is_p2p=True, path="nccl_trace_rank_0"),
    ref("flight-recorder/recv", _DUMP.replace("nccl:all_reduce", "nccl:recv 1<-0").replace('"is_p2p": false', '"is_p2p": true'),
        "operations", kind="recv", peer=0, path="nccl_trace_rank_1"),
    ref("flight-recorder/no-entries", _DUMP.replace(', "entries": [' + _ENTRY + "]", ""), "progress", rank=1,
        path="nccl_trace_rank_1"),
)  # fmt: skip

ROWS: tuple[Ref, ...] = (*WATCHDOG, *ERRORS, *ELASTIC, *MUSA, *RECORDER)
