"""Jobs that were stopped from outside."""

from samples.situations.job import Job, s
from samples.situations.parts import DATASET, STEP, basic, nodes, others, world
from samples.situations.situation import CRASH, HANG, case
from samples.situations.stacks import faulthandler, pyspy


def ctrl_c(j, t, file="agent.log", data=()):
    for r in j.ranks:
        j.trace(r, t + s(0.01 * r), DATASET if r in data else STEP, "KeyboardInterrupt")
    j.put(
        file,
        t,
        f"W{t.month:02d}{t:%d %H:%M:%S}.114000 {j.agent(j.hosts[0])} torch/distributed/elastic/agent/server/api.py:719] Received 2 death signal, shutting down workers",
    )
    for r in j.ranks:
        j.put(
            file,
            t + s(0.1),
            f"W{t.month:02d}{t:%d %H:%M:%S}.214000 {j.agent(j.hosts[0])} torch/distributed/elastic/multiprocessing/api.py:900] Sending process {j.pid(r)} closing signal SIGINT",
        )
    j.put(
        file,
        t + s(1),
        f'Traceback (most recent call last):\n  File "{j.sp}/torch/distributed/elastic/multiprocessing/api.py", line 85, in _terminate_process_handler\n    raise SignalException(f"Process {{os.getpid()}} got signal: {{sigval}}", sigval=sigval)\ntorch.distributed.elastic.multiprocessing.api.SignalException: Process {j.agent(j.hosts[0])} got signal: 2',
    )


@case(
    "steps ran to the second of Ctrl-C: stopped by hand, nobody at fault",
    kinds=CRASH,
    causes=["stopped_by_hand"],
    ranks=[],
)
def ctrlc_healthy(n: str) -> Job:
    j, e = basic(n, ["lab1"], 4, "2026-11-01T15:00:00", "torchrun", first=1, n=12)
    ctrl_c(j, e + s(0.8))
    return j


@case("HF run, 8 ranks, Ctrl-C between two steps: stopped by hand", kinds=CRASH, causes=["stopped_by_hand"], ranks=[])
def ctrlc_healthy_hf(n: str) -> Job:
    j, e = basic(n, ["lab2"], 8, "2026-11-02T15:00:00", "tee", "2.4", kind="hf", first=10, n=9)
    ctrl_c(j, e + s(1.1), file="lab2.log")
    return j


@case(
    "two looks 10 min apart show rank 6 in the data loader and 7 in all_reduce; then the person pressed Ctrl-C: the hang is the story, rank_absent 6",
    kinds=HANG,
    causes=["rank_absent"],
    ranks=[6],
    site=["data_loading"],
    args=["--hung"],
)
def ctrlc_hung(n: str) -> Job:
    j, e = basic(n, ["lab3"], 8, "2026-11-03T15:00:00", "torchrun", "2.6")
    for r in j.ranks:
        for k in ("1510", "1520"):
            pyspy(j, r, "data" if r == 6 else "allreduce", path=f"stacks_{k}/pyspy_rank_{r}.txt")
    f = world(j, 33, e, absent=[6], last="waiting", timeout=7200000)
    f.dump()
    ctrl_c(j, e + s(1500), data=[6])
    return j


@case(
    "records of 16 (rank 9 lacks the operation that 15 wait in), then Ctrl-C; the person says it stood still: rank_absent 9",
    kinds=HANG,
    causes=["rank_absent"],
    ranks=[9],
    args=["--hung"],
)
def ctrlc_hung_records(n: str) -> Job:
    j, e = basic(n, ["lab4", "lab5"], 8, "2026-11-04T15:00:00", "flat", "2.9")
    f = world(j, 210, e, absent=[9], last="waiting", timeout=3600000, form="json")
    f.dump()
    ctrl_c(j, e + s(2900), data=[9])
    return j


@case("scancel of a healthy job", kinds=CRASH, causes=["stopped_by_hand"], ranks=[])
def scancel_healthy(n: str) -> Job:
    j, e = basic(n, nodes("cn", 2, 11), 8, "2026-11-05T15:00:00", "srun_l", n=8)
    t = e + s(1)
    j.srun(t, f"slurmstepd: error: *** STEP {j.job}.0 ON cn11 CANCELLED AT {t:%Y-%m-%dT%H:%M:%S} ***")
    j.srun(t + s(0.1), "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.")
    j.srun(t + s(2), "srun: error: cn11: tasks 0-7: Terminated")
    j.srun(t + s(2), "srun: error: cn12: tasks 8-15: Terminated")
    j.file(
        "sacct.txt",
        f"JobID|JobName|State|ExitCode|Start|End\n{j.job}|pretrain|CANCELLED by 1042|0:0|{j.t0:%Y-%m-%dT%H:%M:%S}|{t:%Y-%m-%dT%H:%M:%S}\n",
    )
    return j


@case(
    "rank 4 absent (own stack, records), 31 timed out without abort; the person then cancelled: the hang, rank_absent 4",
    kinds=HANG,
    causes=["rank_absent"],
    ranks=[4],
)
def scancel_hung(n: str) -> Job:
    j, e = basic(n, nodes("cn", 4, 21), 8, "2026-11-06T15:00:00", "srun_l", "2.6", init=False)
    f = world(j, 1000, e, done=2, absent=[4])
    f.dump()
    faulthandler(j, 4, "compile")
    [j.timeout(r, e + s(602 + 0.03 * r), 1003, abort=False) for r in others(j, 4)]
    t = e + s(4000)
    j.srun(t, f"slurmstepd: error: *** STEP {j.job}.0 ON cn21 CANCELLED AT {t:%Y-%m-%dT%H:%M:%S} ***")
    [j.srun(t + s(2), f"srun: error: cn{21 + i}: tasks {8 * i}-{8 * i + 7}: Killed") for i in range(4)]
    return j


@case("time limit on a healthy job", kinds=CRASH, causes=["time_limit"], ranks=[])
def timelimit_healthy(n: str) -> Job:
    j, e = basic(n, nodes("gpu", 2, 3), 4, "2026-11-07T00:00:00", "srun_l", "2.4", kind="deepspeed", n=9)
    t = e + s(1)
    j.srun(t, f"slurmstepd: error: *** JOB {j.job} ON gpu03 CANCELLED AT {t:%Y-%m-%dT%H:%M:%S} DUE TO TIME LIMIT ***")
    j.srun(
        t, f"slurmstepd: error: *** STEP {j.job}.0 ON gpu03 CANCELLED AT {t:%Y-%m-%dT%H:%M:%S} DUE TO TIME LIMIT ***"
    )
    j.srun(t + s(1), "srun: error: gpu04: tasks 4-7: Terminated")
    return j


@case(
    "time limit by sacct (TIMEOUT) and slurmstepd; steps ran to the end", kinds=CRASH, causes=["time_limit"], ranks=[]
)
def timelimit_sacct(n: str) -> Job:
    j, e = basic(n, ["gpu09"], 8, "2026-11-08T00:00:00", "srun_files", n=8)
    t = e + s(2)
    j.file(
        "sacct.txt",
        f"JobID|JobName|State|ExitCode|Start|End|NodeList\n{j.job}|pretrain|TIMEOUT|0:0|{j.t0:%Y-%m-%dT%H:%M:%S}|{t:%Y-%m-%dT%H:%M:%S}|gpu09\n{j.job}.0|python|CANCELLED|0:15|{j.t0:%Y-%m-%dT%H:%M:%S}|{t:%Y-%m-%dT%H:%M:%S}|gpu09\n",
    )
    j.srun(
        t, f"slurmstepd: error: *** STEP {j.job}.0 ON gpu09 CANCELLED AT {t:%Y-%m-%dT%H:%M:%S} DUE TO TIME LIMIT ***"
    )
    return j


@case("preemption (slurm) of a healthy job", kinds=CRASH, causes=["preempted"], ranks=[])
def preempt_slurm(n: str) -> Job:
    j, e = basic(n, nodes("s", 2, 40), 8, "2026-11-09T00:00:00", "srun_l", "2.9", kind="titan", n=5)
    t = e + s(1)
    j.srun(t, f"slurmstepd: error: *** JOB {j.job} ON s40 CANCELLED AT {t:%Y-%m-%dT%H:%M:%S} DUE TO PREEMPTION ***")
    j.srun(t + s(1), "srun: error: s40: tasks 0-7: Terminated")
    j.srun(t + s(1), "srun: error: s41: tasks 8-15: Terminated")
    return j


@case(
    "preemption (kubernetes event) of a healthy job: SIGTERM to all workers",
    kinds=CRASH,
    causes=["preempted"],
    ranks=[],
)
def preempt_k8s(n: str) -> Job:
    j = Job(n, [f"{n}-worker-{i}" for i in range(2)], 4, "2026-11-10T00:00:00", "k8s", "2.6")
    j.start()
    e = j.steps(70, 76, j.t0 + s(15))
    t = e + s(1)
    for h in j.hosts:
        p = f"{h}.log"
        j.put(
            p,
            t + s(0.2),
            f"W{t.month:02d}{t:%d %H:%M:%S}.214000 {j.agent(h)} torch/distributed/elastic/agent/server/api.py:719] Received 15 death signal, shutting down workers",
        )
    j.file(
        "events.txt",
        "LAST SEEN   TYPE      REASON      OBJECT                     MESSAGE\n"
        + "".join(
            f"{t:%Y-%m-%dT%H:%M:%SZ}   Warning   Preempted   pod/{h}   Preempted by pod 8f1c2a90-77b1-4a6e-9a55-6a2d7dd1a0c4 on node ip-10-2-3-4\n"
            for h in j.hosts
        ),
    )
    return j
