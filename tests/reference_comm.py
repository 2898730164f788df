"""Lines of collective libraries after their formats, version by version: NCCL, RCCL, MCCL, HCCL, RAS."""

from tests.reference_rows import Ref, ref

_P = "gpu7:84:91 [3] NCCL "
_W = "[2026-01-31 10:11:12] gpu7:84:91 [3] misc/socket.cc:12 NCCL WARN "
_OLD = "\ngpu7:84:91 [3] transport/net_ib.cu:7 NCCL WARN "
_INIT = "comm 0x55d0 rank 3 nranks 8 cudaDev 3 "
_COLL = "opCount 1f sendbuff 0x7 recvbuff 0x8 count 4096 datatype 9 op 0 root 0 comm 0x55d0 [nranks=8] stream 0x9"
_DEAD = {"kind": "connect_failed", "names_hosts": ["10.0.0.7"], "host": "gpu7"}
_CQE = {"kind": "completion_error", "code": "12", "severity": "error", "names_hosts": ["10.0.0.7"]}
_ASYNC = {"kind": "port_error", "detail_blames": "self", "host": "gpu7"}

PREFIXES: tuple[Ref, ...] = tuple(
    ref(f"nccl/prefix/{name}", text, "settings", name="NCCL_IB_HCA", value="mlx5_0", host="gpu7", pid=84)
    for name, text in {
        "2.8-2.30": _P + "INFO NCCL_IB_HCA set by environment to mlx5_0.",
        "no-final-dot": _P + "INFO NCCL_IB_HCA set by environment to mlx5_0",
        "2.26-all-levels-stamped": f"[2026-01-31 10:11:12] {_P}INFO NCCL_IB_HCA set by environment to mlx5_0.",
        "2.26-sub-second-stamp": f"[2026-01-31 10:11:12.123] {_P}INFO NCCL_IB_HCA set by environment to mlx5_0.",
        "mpirun": f"[1,12]<stdout>:{_P}INFO NCCL_IB_HCA set by environment to mlx5_0",
        "mpirun-stamped": f"2026-01-31T16:13:44.884Z: [1,12]<stdout>:{_P}INFO NCCL_IB_HCA set by environment to mlx5_0",
        "mpirun-ctime": f"Fri Aug 11 12:31:45 2023[1,0]<stdout>:{_P}INFO NCCL_IB_HCA set by environment to mlx5_0",
        "pdsh": f"10.10.23.10: {_P}INFO NCCL_IB_HCA set by environment to mlx5_0",
        "srun-l": f" 12: {_P}INFO NCCL_IB_HCA set by environment to mlx5_0",
        "torchrun": f"[default0]:{_P}INFO NCCL_IB_HCA set by environment to mlx5_0",
        "rank": f"[rank7]: {_P}INFO NCCL_IB_HCA set by environment to mlx5_0",
        "containerd": f"2026-01-31T16:13:44.884123Z stdout F {_P}INFO NCCL_IB_HCA set by environment to mlx5_0",
        "ray": f"(RayWorkerWrapper pid=4009) {_P}INFO NCCL_IB_HCA set by environment to mlx5_0",
        "kubernetes": f"rdma-worker-1: {_P}INFO NCCL_IB_HCA set by environment to mlx5_0",
        "mpich": f"[0] {_P}INFO NCCL_IB_HCA set by environment to mlx5_0",
        "quoted": f"> {_P}INFO NCCL_IB_HCA set by environment to mlx5_0",
        "viewer": f"[80746] {_P}INFO NCCL_IB_HCA set by environment to mlx5_0",
        "trace": "gpu7:84:91 [3] 1234.567890 ncclInit:33 NCCL TRACE NCCL_IB_HCA set by environment to mlx5_0",
    }.items()
)

SETUP: tuple[Ref, ...] = (
    ref("nccl/init/2.3", "gpu7:84:91 [3] INFO comm 0x55d0 rank 3 nranks 8 - COMPLETE", kind="comm_init_complete", rank=3),
    ref("nccl/init/2.4-2.7", f"{_P}INFO comm 0x55d0 rank 3 nranks 8 cudaDev 3 nvmlDev 3 - Init COMPLETE",
        kind="comm_init_complete", rank=3),
    ref("nccl/init/2.8-2.15", f"{_P}INFO {_INIT}busId 5d000 - Init COMPLETE", "ranks", rank=3, host="gpu7", pid=84,
        pci="0000:5d:00.0", world_size=8),
    ref("nccl/init/2.16", f"{_P}INFO {_INIT}busId 5d000 commId 0x1f2e - Init COMPLETE", "groups", comm="0x1f2e", size=8),
    ref("nccl/init/2.18", f"{_P}INFO {_INIT}nvmlDev 3 busId 5d000 commId 0x1f2e - Init START", kind="comm_init_start"),
    ref("nccl/init/2.21", f"{_P}INFO ncclCommInitRank {_INIT}nvmlDev 3 busId 5d000 commId 0x1f2e - Init COMPLETE",
        kind="comm_init_complete", detail_api="ncclCommInitRank"),
    ref("nccl/init/2.23", f"{_P}INFO ncclCommInitRankConfig {_INIT}nvmlDev 3 busId 5d000 commId 0x1f2e - Init START",
        kind="comm_init_start", detail_api="ncclCommInitRankConfig"),
    ref("nccl/init/2.29-rank", f"{_P}INFO [Rank 3] ncclCommInitRank {_INIT}nvmlDev 3 busId 5d000 commId 0x1f - Init START",
        kind="comm_init_start", rank=3),
    ref("nccl/split/2.21", f"{_P}INFO ncclCommSplit {_INIT}nvmlDev 3 busId 5d000 parent 0x44 color 0 key 1 commId 0x2 "
        "- Init START", kind="comm_init_start", detail_parent="0x44", group="0x2"),
    ref("nccl/split/2.24", f"{_P}INFO ncclCommSplit {_INIT}nvmlDev 3 busId 5d000 parent 0x44 splitCount 1 color 0 key 1- "
        "Init START", kind="comm_init_start", detail_split="splitCount 1 color 0 key 1"),
    ref("nccl/split/2.29", f"{_P}INFO [Rank 3] ncclCommSplit {_INIT}nvmlDev 3 busId 5d000 parent 0x44 childCount 2 color 0 "
        "key 1- Init START", kind="comm_init_start", detail_split="childCount 2 color 0 key 1"),
    ref("nccl/shrink/2.27", f"{_P}INFO ncclCommShrink {_INIT}nvmlDev 3 busId 5d000 parent 0x44 splitCount 1 color 0 key 1 "
        "- Init COMPLETE", kind="comm_init_complete", detail_api="ncclCommShrink"),
    ref("nccl/layout/2.20", f"{_P}INFO comm 0x55d0 rank 3 nRanks 16 nNodes 2 localRanks 8 localRank 3 MNNVL 0", "ranks",
        rank=3, local_rank=3, world_size=16),
    ref("nccl/timings/2.22", f"{_P}INFO Init timings: rank 3 nranks 8 total 9.20 (kernels 0.20, bootstrap 8.40, allgathers "
        "0.10, topo 0.10, graphs 0.10, connections 0.20, rest 0.10)", "timings", name="bootstrap", value_ms=8400.0),
    ref("nccl/timings/2.23", f"{_P}INFO Init timings - ncclCommInitRank: rank 3 nranks 8 total 9.20 (kernels 0.20, alloc "
        "0.50, bootstrap 8.00, rest 0.10)", "timings", name="alloc", value_ms=500.0),
    ref("nccl/bootstrap/2.23", f"{_P}INFO Bootstrap : Using ens7:10.128.0.33<0>", "ranks", address="10.128.0.33"),
    ref("nccl/bootstrap/2.24", f"{_P}INFO Bootstrap: Using ens7:10.128.0.33<0>", "settings", value="ens7"),
    ref("nccl/bootstrap/2.3", f"{_P}INFO Bootstrap : Using [0]ens7:10.128.0.33<0>", "ranks", address="10.128.0.33"),
    ref("nccl/net/ib", f"{_P}INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB eth0:10.2.0.4<0>", "settings",
        name="ib_devices", value="mlx5_0:1/IB mlx5_1:1/IB"),
    ref("nccl/net/ib-oob", f"{_P}INFO NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB eth0:10.2.0.4<0>", "ranks",
        address="10.2.0.4"),
    ref("nccl/net/none", f"{_P}INFO NET/IB : No device found.", "settings", name="ib_devices", value="none"),
    ref("nccl/net/socket", f"{_P}INFO NET/Socket : Using [0]eth0:10.2.0.4<0> [1]eth1:10.3.0.4<0>", "settings",
        name="socket_interfaces", value="eth0 eth1"),
    ref("nccl/net/name", f"{_P}INFO Using network Socket", "settings", name="network", value="Socket"),
    ref("nccl/net/old", "gpu7:84:91 [3] INFO Using network IB", "settings", name="network", value="IB"),
    ref("nccl/version/bare", "NCCL version 2.30.7+cuda13.3", "settings", name="nccl", value="2.30.7+cuda13.3"),
    ref("nccl/version/info", f"{_P}INFO NCCL version 2.27.3+cuda12.9", "settings", name="nccl", value="2.27.3+cuda12.9"),
    ref("nccl/driver", f"{_P}INFO cudaDriverVersion 12040", "settings", name="cuda_driver", value="12040"),
    ref("nccl/channel/2.17", f"{_P}INFO Channel 03/0 : 3[5d000] -> 8[1b000] [send] via NET/IB/0/GDRDMA", "links",
        group_rank=3, peer_group_rank=8, transport="NET/IB/0/GDRDMA", direction="send"),
    ref("nccl/channel/2.18-shared", f"{_P}INFO Channel 03/0 : 8[0] -> 3[3] [receive] via NET/Socket/1/Shared", "links",
        group_rank=3, peer_group_rank=8, direction="receive"),
    ref("nccl/channel/p2p", f"{_P}INFO Channel 00/0 : 3[3] -> 4[4] via P2P/CUMEM", "links", transport="P2P/CUMEM"),
    ref("nccl/channel/p2p-direct", f"{_P}INFO Channel 00/0 : 3[3] -> 4[4] via P2P/direct pointer", "links",
        transport="P2P/direct pointer"),
    ref("nccl/channel/shm", f"{_P}INFO Channel 00 : 3[3] -> 4[4] via SHM/direct/direct", "links",
        transport="SHM/direct/direct"),
    ref("nccl/trees", f"{_P}INFO Trees [0] 4/-1/-1->3->2 [1] 4/-1/-1->3->2", "links", group_rank=3, direction="tree_up"),
    ref("nccl/ring", f"{_P}INFO Ring 00 : 2 -> 3 -> 4", "links", group_rank=3, peer_group_rank=4,
        direction="ring_next"),
    ref("nccl/connected", f"{_P}INFO Connected all rings", None),
    ref("nccl/connected-trees", f"{_P}INFO Connected all trees", None),
    ref("nccl/service-closed", f"{_P}INFO [Service thread] Connection closed by localRank 5", code="service_closed",
        severity="info"),
    ref("nccl/destroy/2.12", f"{_P}INFO comm 0x55d0 rank 3 nranks 8 cudaDev 3 busId 5d000 - Destroy COMPLETE",
        kind="comm_destroy"),
    ref("nccl/destroy/2.22", f"{_P}INFO ncclCommDestroy comm 0x55d0 rank 3 nranks 8 cudaDev 3 busId 5d000 - COMPLETE",
        kind="comm_destroy"),
    ref("nccl/abort/start", f"{_P}INFO comm 0x55d0 rank 3 nranks 8 cudaDev 3 busId 5d000 - Abort START", kind="comm_abort"),
    ref("nccl/abort/2.12", f"{_P}INFO comm 0x55d0 rank 3 nranks 8 cudaDev 3 busId 5d000 - Abort COMPLETE",
        kind="comm_abort", severity="warning"),
    ref("nccl/abort/2.22", f"{_P}INFO ncclCommAbort comm 0x55d0 rank 3 nranks 8 cudaDev 3 busId 5d000 - COMPLETE",
        kind="comm_abort"),
    ref("nccl/revoke/2.28", f"{_P}INFO comm 0x55d0 rank 3 nRanks 8 cudaDev 3 busId 5d000 - Revoke COMPLETE, result 0",
        kind="comm_abort", detail_state="Revoke COMPLETE, result 0"),
)  # fmt: skip

COLLECTIVES: tuple[Ref, ...] = (
    *(
        ref(f"nccl/coll/{op}", f"{_P}INFO {op}: {_COLL}", "operations", kind=kind, seq=0x1F, comm="gpu7:84:0x55d0",
            input_dtypes='["bfloat16"]')
        for op, kind in (
            ("AllReduce", "all_reduce"), ("AllGather", "all_gather"), ("ReduceScatter", "reduce_scatter"),
            ("Broadcast", "broadcast"), ("Reduce", "reduce"), ("AlltoAll", "all_to_all"), ("Gather", "gather"),
            ("Scatter", "scatter"), ("PutSignal", "put_signal"), ("WaitSignal", "wait_signal"),
        )
    ),
    ref("nccl/coll/send", f"{_P}INFO Send: {_COLL.replace('root 0', 'root 5')}", "operations", kind="send", is_p2p=True,
        peer=5),
    ref("nccl/coll/rccl", f"gpu7:84:91 [3] RCCL INFO AllReduce: {_COLL}", "operations", backend="rccl"),
    ref("nccl/coll/mccl", f"gpu7:84:91 [3] MCCL INFO AllReduce: {_COLL}", "operations", backend="mccl"),
    ref("nccl/call/2.14", "gpu7:84:91 NCCL CALL ncclAllReduce(0x7,0x8,4096,7,0,0x55d0,0x9)", None),
)  # fmt: skip

_COMPLETIONS = {
    "2.8": ("12", "NET/IB : Got completion with error 12, opcode 1, len 0, vendor err 129", None),
    "2.10": ("12", "NET/IB : Got completion from peer 10.0.0.7<4321> with error 12, opcode 0, len 0, vendor err 129",
             "10.0.0.7"),
    "2.18": ("12", "NET/IB : Got completion from peer 10.0.0.7<4321> with error 12, opcode 0, len 0, vendor err 129 (Recv) "
             "localGid fe80::1 remoteGidsfe80::2", "10.0.0.7"),
    "2.20": ("12", "NET/IB : Got completion from peer 10.0.0.7<4321> with status=12 opcode=0 len=0 vendor err 129 (Send) "
             "localGid fe80::1 remoteGidsfe80::2", "10.0.0.7"),
    "2.22": ("12", "NET/IB: Got completion from peer 10.0.0.7<4321> with status=12 opcode=0 len=0 vendor err 129 (Recv) hca "
             "mlx5_3", "10.0.0.7"),
    "2.28": ("12", "NET/IB: Got completion from peer 10.0.0.7<4321> with status=IBV_WC_RETRY_EXC_ERR(12) "
             "opcode=IBV_WC_RDMA_WRITE(1) reqSize=4 vendor_err=129 req_type=Send hca mlx5_3", "10.0.0.7"),
    "2.29": ("12", "NET/IB: Got completion from peer 10.0.0.7<4321> with status=IBV_WC_RETRY_EXC_ERR(12) "
             "opcode=IBV_WC_SEND(0) vendor_err=129 hca mlx5_3", "10.0.0.7"),
    "status-4": ("4", "NET/IB : Got completion from peer 10.0.0.7<4321> with error 4, opcode 0, len 0, vendor err 81",
                 "10.0.0.7"),
    "status-9": ("9", "NET/IB : Got completion from peer 10.0.0.7<4321> with error 9, opcode 0, len 0, vendor err 138",
                 "10.0.0.7"),
    "status-13": ("13", "NET/IB : Got completion from peer gpu9.cluster.example<4321> with error 13, opcode 0, len 0, vendor "
                  "err 135", "gpu9.cluster.example"),
}  # fmt: skip

ERRORS: tuple[Ref, ...] = (
    *(
        ref(f"nccl/cqe/{name}", _OLD + text, kind="completion_error", code=code, severity="error", host="gpu7",
            names_hosts=[peer] if peer else None)
        for name, (code, text, peer) in _COMPLETIONS.items()
    ),
    ref("nccl/cqe/flush-is-secondary", f"{_OLD}NET/IB : Got completion from peer 10.0.0.7<4> with error 5, opcode 0, len 0, "
        "vendor err 244", code="5", severity="info"),
    ref("nccl/cqe/2.18-glued-gids", f"{_OLD}NET/IB : Got completion from peer 10.0.0.7<4> with error 12, opcode 0, len 0, "
        "vendor err 129 (Recv) localGid fe80::1 remoteGidsfe80::2", detail_remote_gids="fe80::2", detail_way="Recv"),
    ref("nccl/cqe/adapter", f"{_W}NET/IB: Got completion from peer 10.0.0.7<4> with status=IBV_WC_RETRY_EXC_ERR(12) "
        "opcode=IBV_WC_SEND(0) vendor_err=129 hca mlx5_3", detail_adapter="mlx5_3", detail_vendor="129"),
    ref("nccl/cqe/2.30-hint-is-no-evidence", f"{_P}INFO NET/IB: HINT: check the link of the peer", None),
    ref("nccl/async/2.19", f"{_OLD}NET/IB : Got async event : port error", **_ASYNC, detail_event="port error"),
    ref("nccl/async/2.20", f"{_OLD}NET/IB : mlx5_0:1 Got async event : port error", **_ASYNC, detail_adapter="mlx5_0:1"),
    ref("nccl/async/2.23", f"{_OLD}NET/IB : mlx5_0:1 Got async error event: local catastrophic error", **_ASYNC),
    ref("nccl/async/2.28-not-fatal", f"{_W}NET/IB : mlx5_0:1 Got non-fatal async event: GID table change(18)",
        kind="comm_warning", code="adapter_event"),
    ref("nccl/async/2.28-qp", f"{_W}NET/IB : mlx5_0:1 async fatal event on QP (0x55): local work queue catastrophic error",
        **_ASYNC, code="fatal_event"),
    ref("nccl/async/2.28-cq", f"{_W}NET/IB : mlx5_0:1 async fatal event on CQ (0x55): CQ error", **_ASYNC),
    ref("nccl/async/2.28-srq", f"{_W}NET/IB : mlx5_0:1 async fatal event on SRQ (0x55): SRQ catastrophic error", **_ASYNC),
    ref("nccl/async/gid", f"{_W}NET/IB : mlx5_0:1 GID table changed", kind="comm_warning", code="adapter_event"),
    ref("nccl/async/unknown", f"{_W}NET/IB : mlx5_0:1 unknown event type (77)", kind="comm_warning"),
    ref("nccl/async/access", f"{_OLD}NET/IB : Got async event : local access violation work queue error", **_ASYNC),
    ref("nccl/resilience/failed", f"{_W}NET/IB : Device 2 marked as failed", kind="port_error", code="failed_device"),
    ref("nccl/resilience/probing", f"{_W}NET/IB : Maximum number of probing attempts reached", kind="port_error"),
    ref("nccl/resilience/all", f"{_W}NET/IB : Fatal error. Detected 2 failed devices out of 2", kind="port_error",
        code="failed_devices", detail_failed="2"),
    ref("nccl/fatal/2.23", f"{_W}communicator encountered a fatal error (detected in ncclAllReduce)", kind="comm_warning",
        code="fatal"),
    ref("nccl/cuda/calloc", f"{_W}Failed to CUDA calloc 1048576 bytes", kind="gpu_oom"),
    ref("nccl/cuda/text", f"{_OLD}Cuda failure 'out of memory'", kind="gpu_oom", detail_blames="self"),
    ref("nccl/cuda/launch", f"{_OLD}Cuda failure 'unspecified launch failure'", kind="cuda_error",
        code="unspecified launch failure"),
    ref("nccl/cuda/numbered", f"{_W}Cuda failure 214 'uncorrectable ECC error encountered'", kind="cuda_error",
        detail_number="214"),
    ref("nccl/trail/old", f"{_P}INFO init.cc:900 -> 6 [Async thread]", None),
    ref("nccl/trail/2.30.7", f"{_P}INFO init.cc:900 (ncclCommInit) -> 3", None),
    ref("nccl/socket/2.10", f"{_OLD}Net : Connect to 10.0.0.7<41> failed : Connection refused", **_DEAD),
    ref("nccl/socket/2.16", f"{_OLD}socketStartConnect: Connect to 10.0.0.7<41> failed : Connection timed out", **_DEAD),
    ref("nccl/socket/2.20", f"{_OLD}socketPollConnect: Connect to 10.0.0.7<41> returned 113(No route to host) errno "
        "115(Operation now in progress)", **_DEAD),
    ref("nccl/socket/timeouts", f"{_OLD}socketStartConnect: Connect to 10.0.0.7<41> exceeded timeouts (20000)", **_DEAD),
    ref("nccl/socket/retries", f"{_OLD}socketStartConnect: Connect to 10.0.0.7<41> exceeded retries (20000)", **_DEAD),
    ref("nccl/socket/2.27-retry", f"{_P}INFO socketPollConnect: connect to 10.0.0.7<41> returned Connection refused, "
        "retrying (3/34) after sleep for 300 msec", **_DEAD, code="retry", severity="info"),
    ref("nccl/socket/2.27-exceeded", f"{_W}socketPollConnect: connect to 10.0.0.7<41> returned Connection refused, "
        "exceeded error retry count after 35 attempts", **_DEAD, severity="error"),
    ref("nccl/socket/closed", f"{_OLD}socketProgress: Connection closed by remote peer gpu9.cluster.example<4>",
        kind="peer_closed", names_hosts=["gpu9.cluster.example"]),
    ref("nccl/socket/recv", f"{_OLD}socketProgressOpt: Call to recv from 10.0.0.7<41> failed : Connection reset by peer",
        kind="peer_closed", names_hosts=["10.0.0.7"]),
    ref("nccl/socket/send", f"{_OLD}socketProgressOpt: Call to send to 10.0.0.7<41> failed : Broken pipe",
        kind="peer_closed", names_hosts=["10.0.0.7"]),
    ref("nccl/socket/magic", f"{_OLD}socketFinalizeAccept: wrong magic 5 != 7", kind="config_error"),
    ref("nccl/socket/type", f"{_OLD}socketFinalizeAccept: wrong type 5 != 7", kind="config_error"),
    ref("nccl/socket/2.30-magic", f"{_W}socket magic mismatch 5 != 7", kind="config_error", code="foreign_connection"),
    ref("nccl/bootstrap/count", f"{_OLD}Bootstrap Root : mismatch in rank count from procs 16 : 8", kind="config_error",
        code="rank_count_mismatch"),
    ref("nccl/bootstrap/twice", f"{_OLD}Bootstrap Root : rank 5 of 8 ranks has already checked in", kind="config_error",
        names_ranks=[5]),
    ref("nccl/bootstrap/truncated", f"{_OLD}Message truncated : received 1024 bytes instead of 256", kind="comm_warning",
        code="message_truncated"),
    ref("nccl/bootstrap/2.23-version", f"{_OLD}Mismatched NCCL version detected : rank 0 version 22303 rank 5 version 22105",
        kind="config_error", code="version_mismatch", names_ranks=[0, 5]),
    ref("nccl/bootstrap/interface", f"{_OLD}Bootstrap : no socket interface found", kind="config_error",
        code="no_interface"),
    ref("nccl/proxy/poll", f"{_OLD}Socket recv failed while polling for opId=0x7f", severity="info", code="proxy"),
    ref("nccl/proxy/execute", f"{_OLD}[Proxy Service 3] Failed to execute operation Connect from rank 3, retcode 3",
        severity="info", code="proxy"),
    ref("nccl/proxy/progress", f"{_OLD}[Service thread] Error encountered progressing operation=Connect, res=3, closing "
        "connection", severity="info", code="proxy"),
    ref("nccl/proxy/type", f"{_OLD}[Service thread] Could not receive type from localRank 5, res=6, closed=0",
        severity="info"),
    ref("nccl/mismatch/2.4", f"{_OLD}Mismatched collective detected, please check your collective calls at and around rank "
        "3. You can use the desync option", code="collective_mismatch", names_ranks=[3]),
    ref("nccl/mismatch/2.19", f"{_OLD}NET/IB : peer collective mismatch error, local size 64 remote size 128",
        code="collective_mismatch", detail_local_size="64"),
    ref("nccl/mismatch/socket", f"{_OLD}NET/Socket : peer 10.0.0.7<41> message truncated : receiving 128 bytes instead of 64",
        code="message_truncated", names_hosts=["10.0.0.7"]),
    ref("nccl/mismatch/root", f"{_OLD}Broadcast : invalid root 9 (root should be in the 0..8 range)", code="invalid_root"),
    ref("nccl/mismatch/2.29", f"{_W}Coll AllReduce size 4096 symmetric registration check failed on rank 3: other window",
        code="registration_mismatch", names_ranks=[3]),
    ref("nccl/duplicate", f"{_OLD}Duplicate GPU detected : rank 0 and rank 1 both on CUDA device 2000", kind="config_error",
        names_ranks=[0, 1]),
    ref("nccl/shm/fallocate", f"{_OLD}Call to posix_fallocate failed : No space left on device", kind="disk_full"),
    ref("nccl/shm/extend", f"{_OLD}Error: failed to extend /dev/shm/nccl-a1b2 to 9637892 bytes", kind="disk_full",
        detail_wanted="9637892"),
    ref("nccl/shm/create", f"{_OLD}Error while creating shared memory segment /dev/shm/nccl-a1b2 (size 9637888)",
        kind="disk_full"),
    ref("nccl/2.3-warn", "gpu7:84:91 [0] include/socket.h:360 WARN Call to connect failed : Connection refused",
        kind="connect_failed", host="gpu7"),
    ref("nccl/2.30.7-warn-function", "[2026-01-31 10:11:12] gpu7:84:91 [3] misc/socket.cc:12 (ncclSocketConnect) NCCL WARN "
        "socketPollConnect: connect to 10.0.0.7<41> returned Connection refused, exceeded error retry count after 35 "
        "attempts", detail_function="ncclSocketConnect", time_basis="local", **_DEAD),
    ref("rccl/warn", "gpu7:84:91 [3] socket.cc:12 RCCL WARN Connect to 10.0.0.7<41> failed : Connection refused", **_DEAD),
    ref("rccl/nccl-words", "gpu7:84:91 [3] socket.cc:12 NCCL WARN Cuda failure 'hipErrorNoBinaryForGpu'", kind="cuda_error"),
    ref("rccl/hip", "gpu7:84:91 [3] enqueue.cc:12 NCCL WARN HIP failure 'unspecified launch failure'", kind="cuda_error"),
    ref("rccl/error-level", "gpu7:84:91 [3] socket.cc:12 NCCL ERROR socketProgress: Connection closed by remote peer "
        "10.0.0.7<41>", kind="peer_closed"),
    ref("rccl/version", "RCCL version 2.22.3+hip6.4", "settings", name="rccl", value="2.22.3+hip6.4"),
)  # fmt: skip

MCCL: tuple[Ref, ...] = (
    ref("metax/net", "MCCL INFO NET/IB : Using [0]xscale_0:1/RoCE [1]xscale_1:1/RoCE [RO]; OOB eth0:10.120.19.4<0>",
        "settings", name="ib_devices", value="xscale_0:1/RoCE xscale_1:1/RoCE"),
    ref("metax/network", "MCCL INFO Using network IB", "settings", name="network", value="IB"),
    ref("metax/interface", "gpu7:84:91 [3] MCCL INFO MCCL_SOCKET_IFNAME set by environment to eth0", "settings",
        name="MCCL_SOCKET_IFNAME", value="eth0"),
    ref("metax/hca", "gpu7:84:91 [3] MCCL INFO MCCL_IB_HCA set to xscale_0,xscale_1", "settings", name="MCCL_IB_HCA"),
    ref("metax/tc", "MCCL_IB_TC set by environment to 128.", "settings", name="MCCL_IB_TC", value="128"),
    ref("metax/channel", "gpu7:84:91 [3] MCCL INFO Channel 00/0 : 3[3] -> 4[4] [send] via NET/IB/1/GDRDMA", "links",
        transport="NET/IB/1/GDRDMA"),
    ref("metax/connect", "MCCL WARN socketStartConnect: Connect to 10.3.44.2<56159> failed : Software caused connection "
        "abort", kind="connect_failed", names_hosts=["10.3.44.2"]),
    ref("metax/upper-layers", "RuntimeError: NCCL error: unhandled system error", kind="exception"),
    ref("mthreads/node-class", "gpu7:84:91 [3] MCCL INFO Attribute class of node nic not found", None),
    ref("mthreads/topology-is-noise", "gpu7:84:91 [3] MCCL INFO TOPO Detect Failed", None),
    ref("mthreads/topology-warning-is-noise", "gpu7:84:91 [3] topo.cc:5 MCCL WARN TOPO Detect Failed", None),
    ref("mthreads/no-device", "gpu7:84:91 [3] MCCL INFO NET/IB : No Device found.", "settings", name="ib_devices",
        value="none"),
    ref("mthreads/error", "RuntimeError: MCCL error in: ProcessGroupMCCL.cpp:3604, unhandled musa error (run with "
        "MCCL_DEBUG=INFO for details)", kind="cuda_error"),
    ref("mthreads/banner", "MCCL version 2.11.4+musa4.3", "settings", name="mccl", value="2.11.4+musa4.3"),
    ref("mthreads/failure", "gpu7:84:91 [3] enqueue.cc:5 MCCL WARN MUSA failure 'unspecified launch failure'",
        kind="cuda_error"),
    ref("mthreads/vendor", "gpu7:84:91 [3] MCCL INFO MUSA_VISIBLE_DEVICES set by environment to 0", "settings",
        name="mccl_vendor", value="moorethreads"),
    ref("metax/vendor", "gpu7:84:91 [3] MCCL INFO MACA_VISIBLE_DEVICES set by environment to 0", "settings",
        name="mccl_vendor", value="metax"),
)  # fmt: skip

HCCL: tuple[Ref, ...] = (
    ref("hccl/timeout", "[ERROR] HCCL(4711,python3):2026-01-31-10:11:12.123.456 [task_exception.cc:380][4790]"
        "[TaskExecStage][Timeout] notify wait, tag[AllReduce_7], remote rank:[3]", kind="collective_timeout", pid=4711,
        names_ranks=[3]),
    ref("hccl/socket", "[ERROR] HCCL(4711,python3):2026-01-31-10:11:12.123.456 [socket_manager.cc:812] [4790]get socket "
        "timeout, remoteIp[10.0.0.7]", kind="connect_failed", names_hosts=["10.0.0.7"]),
    ref("hccl/entry", "[INFO] HCCL(4711,python3):2026-01-31-10:11:12.123.456 [opbase.cc:500][4790]Entry-HcclAllReduce: "
        "tag[t], count[128], dataType[float32], op[sum], localRank[0], comm[0x5]", "operations", kind="all_reduce",
        backend="hccl"),
    ref("hccl/mismatch", "[ERROR] HCCL(4711,python3):2026-01-31-10:11:12.123.456 [check.cc:1][4790]EI0005: arguments are "
        "inconsistent between ranks", code="collective_mismatch"),
)  # fmt: skip

_RAS = """NCCL version 2.28.3 compiled with CUDA 12.9
CUDA runtime version 12090, driver version 13000

Job summary
===========

  Nodes  Processes         GPUs  Processes     GPUs
(total)   per node  per process    (total)  (total)
      4          8            1         32       32

Communicators... (0.01s)
=============

Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors
    #  in group  per comm  per node  per comm  in group
    0         1         4         8        32        32   {status}  {errors}

{section}
=======

{body}
"""
_MISMATCH = """#0-0 (27a0c3d4e5f60718) MISMATCH
  Communicator ranks have different {what} operation counts
  31 ranks have launched up to operation 664
  1 rank has {done}
  Rank 5 -- GPU 5 managed by process 4712 on node 10.0.0.8"""


def _ras(section: str, body: str, status: str = "RUNNING", errors: str = "OK") -> str:
    return _RAS.format(section=section, body=body, status=status, errors=errors)


_RAS_JSON = (
    '{"nccl_version": "2.28.7", "cuda_runtime_version": 12090, "cuda_driver_version": 13000, "timestamp": "2026-01-31 '
    '10:11:12", "communicators": [{"hash": "27a0", "secondary_hash": "1", "size": 2, "ranks_count": 1, '
    '"missing_ranks_count": 1, "ranks": [{"rank": 0, "host": "10.0.0.7", "pid": 4711, "cuda_dev": 0, "nvml_dev": 0, '
    '"status": {"init_state": 0, "async_error": 0, "finalize_called": false, "destroy_flag": false, "abort_flag": false},'
    ' "collective_counts": {"Broadcast": 0, "Reduce": 0, "AllGather": 664, "ReduceScatter": 0, "AllReduce": 12}}], '
    '"missing_ranks": [{"rank": 1, "host": "10.0.0.9", "pid": 4712, "cuda_dev": 1, "nvml_dev": 1, "status": '
    '{"unresponsive": true, "considered_dead": false}}]}], "ras": {"collection_time_sec": 0.01, "timeouts_count": 0}}'
)

RAS: tuple[Ref, ...] = (
    ref("ras/text/incomplete", _ras("Errors", "#0-0 (27a0c3d4e5f60718) INCOMPLETE\n  Missing communicator data from 1 rank\n"
        "  The missing rank: 21", errors="INCOMPLETE"), kind="missing_members", names_ranks=[21],
        group="27a0c3d4e5f60718"),
    ref("ras/text/dead", _ras("Errors", "DEAD\n  1 process is considered dead\n  Process 4711 on node 10.0.0.7 managing GPU "
        "5"), code="DEAD", names_hosts=["10.0.0.7"]),
    ref("ras/text/incomplete-job", _ras("Errors", "INCOMPLETE\n  Missing data from 1 process\n  Process 4711 on node "
        "10.0.0.7 managing GPU 5"), code="INCOMPLETE", names_hosts=["10.0.0.7"]),
    ref("ras/text/error", _ras("Errors", "#0-0 (27a0c3d4e5f60718) ERROR\n  Communicator ranks have an asynchronous error\n"
        "  Rank 5 -- GPU 5 managed by process 4712 on node 10.0.0.8"), code="ERROR", names_ranks=[5]),
    ref("ras/text/timeout", _ras("Warnings", "TIMEOUT\n  Encountered 1 communication timeout while gathering data"),
        code="TIMEOUT", severity="warning"),
    ref("ras/text/mismatch-2.24", _ras("Warnings", _MISMATCH.format(what="collective", done="launched up to operation 663")),
        "progress", rank=5, last_enqueued=663),
    ref("ras/text/mismatch-2.26", _ras("Warnings", _MISMATCH.format(what="AllGather", done="launched up to operation 663")),
        "progress", desc="AllGather", rank=5),
    ref("ras/text/mismatch-none", _ras("Warnings", _MISMATCH.format(what="AllGather", done="not launched any operations")
        .replace("has not", "has not")), code="MISMATCH", names_ranks=[5]),
    ref("ras/text/status-init", _ras("Warnings", "", status="INIT"), kind="ras_status", detail_status="INIT"),
    ref("ras/text/status-nocomm", _ras("Warnings", "", status="NOCOMM"), kind="ras_status", detail_status="NOCOMM"),
    ref("ras/text/status-finalize", _ras("Warnings", "", status="FINALIZE"), kind="ras_status", detail_status="FINALIZE"),
    ref("ras/text/ok", _ras("Warnings", ""), kind="ras_status", code="OK", severity="info"),
    ref("ras/text/version", _ras("Warnings", ""), "settings", name="nccl", value="2.28.3"),
    ref("ras/json/missing", _RAS_JSON, kind="missing_members", names_hosts=["10.0.0.9"], path="ras.json"),
    ref("ras/json/counts", _RAS_JSON, "progress", desc="all_gather", last_enqueued=664, path="ras.json"),
    ref("ras/json/versions", _RAS_JSON, "settings", name="cuda_driver", value="13000", path="ras.json"),
    ref("ras/monitor/2.29", "[2026-01-31 10:11:12] PEER_DEAD: Process 4711 on node 10.0.0.7 managing GPU 5",
        kind="ras_status", code="PEER_DEAD", names_hosts=["10.0.0.7"]),
    ref("ras/monitor/json", '{"timestamp": "2026-01-31 10:11:12", "group": "LIFECYCLE", "event": "PEER_DEAD", "peer": '
        '{"host": "10.0.0.7", "pid": 4711, "cuda_devs": "5", "nvml_devs": "5"}, "details": "no answer"}',
        kind="ras_status", code="PEER_DEAD", names_hosts=["10.0.0.7"]),
)  # fmt: skip

ROWS: tuple[Ref, ...] = (*PREFIXES, *SETUP, *COLLECTIVES, *ERRORS, *MCCL, *HCCL, *RAS)
