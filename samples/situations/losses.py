"""Evidence that is lost or cut, and causes of their own."""

from samples.situations.job import Job, s
from samples.situations.parts import DATASET, STEP, basic, nodes, others, world
from samples.situations.situation import CRASH, HANG, case


@case(
    "15 records wait, rank 11 left no record, no log, no stack: only a suspect (rule 5)",
    kinds=HANG,
    causes=[None, "rank_absent", "rank_died"],
    ranks=[],
)
def culprit_lost(n: str) -> Job:
    j, e = basic(n, ["lo1", "lo2"], 8, "2026-04-21T08:00:00", "flat", "2.6", init=False)
    f = world(j, 60, e, absent=[11])
    f.dump(skip=[11])
    [j.timeout(r, e + s(602 + 0.03 * r), 64, abort=False) for r in others(j, 11)]
    del j.files["logs/rank_011.log"]
    return j


@case(
    "monitored barrier of rank 0 names rank 11; rank 11 left nothing: another record says so of it: rank 11",
    kinds=HANG,
    causes=["rank_absent"],
    ranks=[11],
)
def monitored_barrier_lost(n: str) -> Job:
    j, e = basic(n, ["lo3", "lo4"], 8, "2026-04-22T08:00:00", "flat", "2.6", init=False)
    M = [("/workspace/train/pretrain.py", 83, "main", "dist.monitored_barrier(timeout=timedelta(seconds=120))")]
    for r in others(j, 11):
        j.trace(
            r,
            e + s(121 + 0.01 * r),
            M,
            "RuntimeError: [Rank 0]: Rank 11 failed to pass monitoredBarrier in 120000 ms"
            if r == 0
            else f"RuntimeError: [Rank {r}]: Rank {r} successfully reached monitoredBarrier, but received errors while waiting for send/recv from rank 0. Please check rank 0 logs for faulty rank.",
        )
    del j.files["logs/rank_011.log"]
    return j


@case(
    "records of 16 ranks, two innocent ones cut in half, rank 4 absent by its own whole record; peers timed out",
    kinds=HANG,
    causes=["rank_absent"],
    ranks=[4],
)
def records_cut(n: str) -> Job:
    j, e = basic(n, ["lo5", "lo6"], 8, "2026-04-23T08:00:00", "json", "2.6")
    f = world(j, 60, e, absent=[4])
    f.dump(cut=[2, 9])
    j.all_timeout(e + s(603), 64, others(j, 4))
    return j


@case(
    "CUDA out of memory on rank 2 of 8, exit 1 first; the rest ended by the agent: gpu_oom, rank 2",
    kinds=CRASH,
    causes=["gpu_oom"],
    ranks=[2],
)
def gpu_oom(n: str) -> Job:
    j, e = basic(n, ["om1"], 8, "2026-04-24T08:00:00", "tee", "2.4")
    j.trace(
        2,
        e + s(0.5),
        STEP[:3],
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB. GPU 2 has a total capacity of 79.11 GiB of which 512.00 MiB is free. Process 4411 has 78.60 GiB memory in use.",
    )
    j.torchrun_fail("om1", e + s(2), [(2, 1, "")], 2, closing=others(j, 2))
    return j


@case(
    "HIP out of memory on rank 9 of 16 (AMD), the other host timed out ten minutes later: gpu_oom, rank 9",
    kinds=CRASH,
    causes=["gpu_oom"],
    ranks=[9],
)
def gpu_oom_amd(n: str) -> Job:
    j, e = basic(n, ["mi300-1", "mi300-2"], 8, "2026-04-25T08:00:00", "srun_l", "2.6", "amd")
    j.trace(
        9,
        e + s(0.5),
        STEP[:3],
        "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 4.50 GiB. GPU 1 has a total capacity of 191.98 GiB of which 2.10 GiB is free.",
    )
    j.srun(e + s(2), "srun: error: mi300-2: task 9: Exited with exit code 1")
    j.all_timeout(e + s(602), 77, others(j, 9))
    return j


@case(
    "rank 0 could not write the checkpoint (ENOSPC) and ended; others timed out: disk_full, rank 0",
    kinds=CRASH,
    causes=["disk_full", "exception"],
    ranks=[0],
)
def disk_full(n: str) -> Job:
    j, e = basic(n, ["df1", "df2"], 4, "2026-04-26T08:00:00", "srun_files", "2.6")
    j.trace(
        0,
        e + s(0.5),
        [("/workspace/train/checkpointing.py", 233, "save_checkpoint", "torch.save(state, path)")],
        "OSError: [Errno 28] No space left on device",
    )
    j.srun(e + s(2), "srun: error: df1: task 0: Exited with exit code 1")
    j.all_timeout(e + s(602), 77, others(j, 0))
    return j


@case(
    "all ranks timed out in one operation, then segfault in teardown on rank 3: the segfault is a consequence: nobody, cause null",
    kinds=HANG,
    causes=[None],
    ranks=[],
)
def segv_teardown(n: str) -> Job:
    j, e = basic(n, ["sg1"], 8, "2026-04-27T08:00:00", "torchrun", "2.6")
    j.all_timeout(e + s(602), 808, j.ranks)
    j.out(
        3,
        e + s(604.5),
        "Fatal Python error: Segmentation fault\n\nCurrent thread 0x00007f03caa1db80 (most recent call first):\n  <no Python frame>",
        True,
    )
    j.torchrun_fail(
        "sg1", e + s(606), [(r, -11 if r == 3 else -6, "SIGSEGV" if r == 3 else "SIGABRT") for r in j.ranks], 3
    )
    return j


@case(
    "IB completion error 12 on all eight ranks that talk to nx2, kernel link down there before: network_fault, no ranks",
    kinds=["hang", "crash"],
    causes=["network_fault"],
    ranks=[],
)
def ib_link_down(n: str) -> Job:
    j, e = basic(n, ["nx1", "nx2"], 8, "2026-04-28T08:00:00", "flat", "2.6")
    j.kernel("nx2", e + s(0.5), "mlx5_core 0000:17:00.0 ib0: Link down")
    for r in range(8):
        j.out(
            r,
            e + s(21 + 0.01 * r),
            f"\n{j.host(r)}:{j.pid(r)}:{j.pid(r) + 401} [{j.local(r)}] transport/net_ib.cc:1862 NCCL WARN NET/IB: Got completion from peer 10.4.0.12<{50000 + r}> with status=12 opcode=129 len=0 vendor err 129 (Recv) localGid fe80::11 remoteGids fe80::12 hca mlx5_0",
            True,
        )
        j.trace(
            r,
            e + s(22 + 0.01 * r),
            STEP,
            "torch.distributed.DistBackendError: NCCL error in: /pytorch/torch/csrc/distributed/c10d/NCCLUtils.cpp:77, remote process exited or there was a network error, NCCL version 2.21.5\nncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.\nLast error:\nNET/IB: Got completion from peer 10.4.0.12<50000> with status=12 opcode=129 len=0 vendor err 129 (Recv)",
        )
    return j


@case(
    "time limit on a hung job: 15 timed out without abort, rank 10 one behind by its record: the hang, rank_absent 10",
    kinds=HANG,
    causes=["rank_absent"],
    ranks=[10],
)
def timelimit_hung(n: str) -> Job:
    j, e = basic(n, nodes("tl", 2), 8, "2026-11-11T00:00:00", "srun_l", "2.6")
    f = world(j, 60, e, absent=[10])
    f.dump()
    [j.timeout(r, e + s(603 + 0.03 * r), 64, abort=False) for r in others(j, 10)]
    t = e + s(9000)
    j.srun(t, f"slurmstepd: error: *** JOB {j.job} ON tl01 CANCELLED AT {t:%Y-%m-%dT%H:%M:%S} DUE TO TIME LIMIT ***")
    return j


@case(
    "7 timed out; rank 5, one behind, raised only when its peers had closed the connection: consequence: rank_absent 5",
    kinds=HANG,
    causes=["rank_absent"],
    ranks=[5],
)
def absent_raises_after(n: str) -> Job:
    j, e = basic(n, ["la1"], 8, "2026-11-12T00:00:00", "srun_files", "2.6")
    f = world(j, 60, e, absent=[5])
    f.dump()
    j.all_timeout(e + s(603), 64, others(j, 5))
    j.trace(
        5,
        e + s(640),
        STEP,
        "torch.distributed.DistBackendError: NCCL error in: /pytorch/torch/csrc/distributed/c10d/NCCLUtils.cpp:77, remote process exited or there was a network error, NCCL version 2.21.5\nncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.\nLast error:\nsocketPollConnect: connection to 10.4.0.11<41231> closed by remote peer",
    )
    return j


@case(
    "15 timed out; rank 14, one behind, answers torchrun's closing signal with a SignalException traceback: consequence: rank_absent 14",
    kinds=HANG,
    causes=["rank_absent"],
    ranks=[14],
)
def absent_signal_exception(n: str) -> Job:
    j, e = basic(n, ["la2", "la3"], 8, "2026-11-13T00:00:00", "tee", "2.9")
    f = world(j, 60, e, absent=[14], form="json")
    f.dump()
    j.all_timeout(e + s(603), 64, others(j, 14))
    j.torchrun_fail(
        "la3", e + s(605), [(r, -6, "SIGABRT") for r in range(8, 16) if r != 14] + [(14, 1, "")], 8, closing=[14]
    )
    j.trace(
        14,
        e + s(605.2),
        [*DATASET, ("/workspace/train/signals.py", 12, "on_sigterm", "raise SystemExit('terminated by signal 15')")],
        "SystemExit: terminated by signal 15",
    )
    return j
