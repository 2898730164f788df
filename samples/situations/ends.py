"""Processes that end by their own error or by a signal."""

from samples.situations.job import Job, s
from samples.situations.parts import DATASET, basic, nodes, others
from samples.situations.situation import CRASH, case


# --- exception in A, then all time out
@case(
    "rank 11's KeyError ended its process first; 15 others timed out 10 min later",
    kinds=CRASH,
    causes=["exception"],
    ranks=[11],
)
def exc_srun_nokill(n: str) -> Job:
    j, e = basic(n, nodes("gn", 2), 8, "2026-03-04T09:00:00", "srun_l")
    j.trace(11, e + s(1), DATASET, "KeyError: 'shard_00417'")
    j.srun(e + s(4), "srun: error: gn02: task 11: Exited with exit code 1")
    j.all_timeout(e + s(601), 8041, others(j, 11))
    j.srun(e + s(606), "srun: error: gn01: tasks 0-7: Aborted (core dumped)")
    j.srun(e + s(606.1), "srun: error: gn02: tasks 8-10,12-15: Aborted (core dumped)")
    return j


@case(
    "rank 19 of 32 raised (struct.error of its own read) and its process ended; the others timed out",
    kinds=CRASH,
    causes=["exception"],
    ranks=[19],
)
def exc_mpirun(n: str) -> Job:
    j, e = basic(n, ["c1n3", "c1n4", "c1n7", "c2n1"], 8, "2026-05-11T22:10:00", "mpirun", "2.1")
    j.trace(19, e + s(1.5), DATASET, "struct.error: unpack requires a buffer of 8 bytes", prefix="")
    j.all_timeout(e + s(1802), 512, others(j, 19), ms=1800000, op="_ALLGATHER_BASE", numel=1048576, numel_out=33554432)
    j.put(
        f"mpirun-{j.job}.log",
        e + s(1805),
        "--------------------------------------------------------------------------\nPrimary job  terminated normally, but 1 process returned\na non-zero exit code. Per user-direction, the job has been aborted.\n--------------------------------------------------------------------------\n--------------------------------------------------------------------------\nmpirun detected that one or more processes exited with non-zero status, thus causing\nthe job to be terminated. The first process to do so was:\n\n  Process name: [[41733,1],19]\n  Exit code:    1\n--------------------------------------------------------------------------",
    )
    return j


@case(
    "MetaX: rank 29 (pod 3) raised ValueError, exit 1 by its pod's torchrun; all other pods' ranks timed out",
    kinds=CRASH,
    causes=["exception"],
    ranks=[29],
)
def exc_k8s_metax(n: str) -> Job:
    j = Job(n, [f"{n}-worker-{i}" for i in range(8)], 8, "2026-06-01T03:00:00", "k8s", "2.4", "metax")
    j.start()
    e = j.steps(120, 123, j.t0 + s(25), 3.0, ranks=[0, 29, 63])
    j.trace(
        29, e + s(1.2), DATASET, "ValueError: could not broadcast input array from shape (4097,) into shape (4096,)"
    )
    h = j.hosts[3]
    j.torchrun_fail(
        h, e + s(5), [(29, 1, "")], 29, closing=[r for r in range(24, 32) if r != 29], file=f"{n}-worker-3.log"
    )
    j.all_timeout(e + s(602), 2093, [r for r in j.ranks if r // 8 != 3])
    return j


@case(
    "the culprit's log is cut in the middle of its traceback, but its launcher saw exit 1 of rank 6 ten minutes before the others gave up",
    kinds=CRASH,
    causes=["exception", None],
    ranks=[6],
)
def exc_cut_log(n: str) -> Job:
    j, e = basic(n, ["dgx-a", "dgx-b"], 4, "2026-07-07T12:00:00", "flat", "2.9")
    j.out(
        6,
        e + s(1),
        '[rank6]: Traceback (most recent call last):\n[rank6]:   File "/workspace/train/pretrain.py", line 91, in <module>\n[rank6]:     main()\n[rank6]:   File "/workspace/train/trai',
        True,
    )
    j.torchrun_fail("dgx-b", e + s(3), [(6, 1, "")], 6, closing=[4, 5, 7])
    j.all_timeout(e + s(601), 3317, [0, 1, 2, 3])
    return j


@case(
    "torchrun, one host: rank 2 raised, the agent ended the others at once (closing signal): crash of rank 2",
    kinds=CRASH,
    causes=["exception"],
    ranks=[2],
)
def exc_torchrun_fast(n: str) -> Job:
    j, e = basic(n, ["ws-11"], 4, "2026-02-14T20:00:00", "torchrun")
    j.trace(
        2,
        e + s(0.7),
        DATASET,
        "RuntimeError: stack expects each tensor to be equal size, but got [512] at entry 0 and [511] at entry 3",
    )
    j.torchrun_fail(
        "ws-11",
        e + s(1.9),
        [(2, 1, ""), (0, -15, "SIGTERM"), (1, -15, "SIGTERM"), (3, -15, "SIGTERM")],
        2,
        closing=[0, 1, 3],
    )
    return j


# --- SIGKILL, with and without the kernel's word
@case(
    "kernel: OOM killer ended pid of rank 6 on cn102; the 15 others timed out",
    kinds=CRASH,
    causes=["host_oom"],
    ranks=[6],
)
def oom_kernel(n: str) -> Job:
    j, e = basic(n, ["cn102", "cn103"], 8, "2026-04-02T01:00:00", "srun_files")
    j.oom(
        "cn102",
        e + s(0.6),
        j.pid(6),
        "pt_main_thread",
        memcg=f"/system.slice/slurmstepd.scope/job_{j.job}/step_0/user",
    )
    j.srun(e + s(1.4), "srun: error: cn102: task 6: Killed")
    j.kernel(
        "cn103",
        e - s(4000),
        "perf: interrupt took too long (2512 > 2500), lowering kernel.perf_event_max_sample_rate to 79500",
    )
    j.all_timeout(e + s(602), 71, others(j, 6))
    return j


@case(
    "MUSA: OOM kill of rank 3's pid in dmesg; its torchrun saw -9; host B's ranks timed out",
    kinds=CRASH,
    causes=["host_oom"],
    ranks=[3],
)
def oom_kernel_musa(n: str) -> Job:
    j, e = basic(n, ["mt-node1", "mt-node2"], 4, "2026-08-08T08:00:00", "tee", "2.6", "musa")
    j.oom("mt-node1", e + s(0.5), j.pid(3), "python3", style="dmesg")
    j.torchrun_fail("mt-node1", e + s(2), [(3, -9, "SIGKILL")], 3, closing=[0, 1, 2])
    j.all_timeout(e + s(601), 934, [4, 5, 6, 7])
    return j


@case("exit by signal 9 of rank 6, no kernel log: killed, not host_oom", kinds=CRASH, causes=["killed"], ranks=[6])
def sigkill_no_kernel_torchrun(n: str) -> Job:
    j, e = basic(n, ["node-7"], 8, "2026-01-20T17:00:00", "torchrun", "2.4")
    j.torchrun_fail("node-7", e + s(1.9), [(6, -9, "SIGKILL")], 6, closing=others(j, 6))
    return j


@case(
    "srun saw task 21 Killed before anything else; 31 others timed out; no kernel log: killed",
    kinds=CRASH,
    causes=["killed"],
    ranks=[21],
)
def sigkill_no_kernel_srun(n: str) -> Job:
    j, e = basic(n, nodes("gn", 4, 5), 8, "2026-09-09T09:09:09", "srun_l", "2.9", init=False)
    j.srun(e + s(1), "srun: error: gn07: task 21: Killed")
    j.all_timeout(e + s(602), 1408, others(j, 21))
    return j


@case(
    "the kernel killed redis-server (a pid of nobody in the job) 4 min before rank 5 got signal 9 of unknown origin: killed, not host_oom",
    kinds=CRASH,
    causes=["killed"],
    ranks=[5],
)
def sigkill_foreign_oom(n: str) -> Job:
    j, e = basic(n, ["h100-03"], 8, "2026-10-10T05:00:00", "torchrun", first=3000, n=6, dt_=50)
    j.oom("h100-03", e - s(240), 777, "redis-server", style="journal", kb=900000)
    j.torchrun_fail("h100-03", e + s(2.5), [(5, -9, "SIGKILL")], 5, closing=others(j, 5))
    return j


@case(
    "slurm: task 9 'Out Of Memory' and an oom_kill event of the step; peers timed out",
    kinds=CRASH,
    causes=["host_oom", "killed"],
    ranks=[9],
)
def oom_slurm_word(n: str) -> Job:
    j, e = basic(n, nodes("b", 2, 31), 8, "2026-03-19T14:00:00", "srun_l", "2.4")
    j.srun(e + s(1), "srun: error: b32: task 9: Out Of Memory")
    j.srun(
        e + s(1.1),
        f"slurmstepd: error: Detected 1 oom_kill event in StepId={j.job}.0. Some of the step tasks have been OOM Killed.",
    )
    j.all_timeout(e + s(603), 600, others(j, 9))
    return j


# --- glibc abort of the true culprit
@case(
    "rank 4 died by glibc's abort (double free) first; srun saw it; the others' SIGABRT follow their time-outs",
    kinds=CRASH,
    ranks=[4],
)
def glibc_abort(n: str) -> Job:
    j, e = basic(n, ["k8"], 8, "2026-06-16T06:00:00", "srun_l", "2.4")
    j.out(4, e + s(0.9), "double free or corruption (!prev)", True)
    j.srun(e + s(2), "srun: error: k8: task 4: Aborted (core dumped)")
    j.all_timeout(e + s(602), 2222, others(j, 4))
    j.srun(e + s(605), "srun: error: k8: tasks 0-3,5-7: Aborted (core dumped)")
    return j


@case(
    "rank 12: 'free(): invalid pointer', faulthandler 'Fatal Python error: Aborted', exit -6 at once; host one timed out 10 min later",
    kinds=CRASH,
    ranks=[12],
)
def glibc_abort_torchrun(n: str) -> Job:
    j, e = basic(n, ["r1", "r2"], 8, "2026-06-17T06:00:00", "torchrun", "2.6")
    j.out(
        12,
        e + s(0.9),
        'free(): invalid pointer\nFatal Python error: Aborted\n\nCurrent thread 0x00007f0ccaa1db80 (most recent call first):\n  File "/opt/venv/lib/python3.10/site-packages/tokenizers/decoders.py", line 71 in decode\n  File "/workspace/train/data/stream.py", line 61 in next_batch\n  File "/workspace/train/trainer.py", line 262 in train_step\n  File "/workspace/train/pretrain.py", line 77 in main',
        True,
    )
    j.torchrun_fail("r2", e + s(2), [(12, -6, "SIGABRT")], 12, closing=[r for r in range(8, 16) if r != 12])
    j.all_timeout(e + s(602), 4410, range(8))
    j.torchrun_fail("r1", e + s(604), [(r, -6, "SIGABRT") for r in range(8)], 0)
    return j
