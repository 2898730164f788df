"""Who was killed, by whom, and whose kill is none of the job's."""

from samples.situations.job import Job, s
from samples.situations.own import gave_up, one_host
from samples.situations.parts import basic, others
from samples.situations.situation import CRASH, HANG, case


def with_pid(n: str, day: int, layout: str, pid: int, rank: int) -> tuple:
    """(job, when its last step ended): one host, this rank has this pid."""
    j = Job(n, [f"train-{day}"], 8, f"2026-10-{day:02}T09:00:00", layout, "2.6")
    j.base = [pid - 7 * rank]
    j.start()
    j.init()
    return j, j.steps(800, 803, j.t0 + s(20))


@case(
    "the kernel of a login host outside the job (told by the file's name alone) killed its pid 4003; rank 3 has that pid on the job's host and ended by signal 9: killed, and no memory",
    kinds=CRASH,
    causes=["killed"],
    ranks=[3],
)
def a10_pid_of_another_host(n: str) -> Job:
    j, e = with_pid(n, 1, "torchrun", 4003, 3)
    j.oom("login-07", e + s(1), 4003, "python3", style="dmesg")
    j.torchrun_fail(j.hosts[0], e + s(2), [(3, -9, "SIGKILL")], 3, closing=others(j, 3))
    return j


@case(
    "the same kernel log; rank 3 is silent and seven time out: nothing says that rank 3 was killed, and no memory",
    kinds=HANG,
    causes=["rank_absent", "rank_died", None],
    ranks_any=[[], [3]],
    told=[3],
    never=["established"],
)
def a10_pid_of_another_host_silent(n: str) -> Job:
    j, e = with_pid(n, 2, "flat", 4003, 3)
    j.oom("login-07", e + s(1), 4003, "python3", style="dmesg")
    j.all_timeout(e + s(602), 221, others(j, 3))
    return j


@case(
    "each pod's process has pid 42; a node's kernel killed its own pid 42, a log shipper without the pod's cgroup; 3 is silent and the others time out: not that kill",
    kinds=HANG,
    causes=["rank_absent", "rank_died", None],
    ranks_any=[[], [3]],
    told=[3],
    never=["established"],
)
def a30_pid_of_every_pod(_: str) -> Job:
    j = Job("llm-7b", [f"llm-7b-worker-{i}" for i in range(4)], 1, "2026-10-03T09:00:00", "k8s", "2.6")
    j.base = [42] * 4
    j.start()
    e = j.steps(70, 76, j.t0 + s(15))
    j.oom("ip-10-2-3-4", e + s(1), 42, "fluent-bit", kb=900000)
    j.all_timeout(e + s(602), 77, others(j, 3))
    return j


@case(
    "the same as dmesg prints it, without a host in the line; the program is an exporter",
    kinds=HANG,
    causes=["rank_absent", "rank_died", None],
    ranks_any=[[], [3]],
    told=[3],
    never=["established"],
)
def a30_pid_of_every_pod_dmesg(_: str) -> Job:
    j = Job("llm-7b", [f"llm-7b-worker-{i}" for i in range(4)], 1, "2026-10-03T09:00:00", "k8s", "2.6")
    j.base = [42] * 4
    j.start()
    e = j.steps(70, 76, j.t0 + s(15))
    j.oom("ip-10-2-3-4", e + s(1), 42, "node_exporter", style="dmesg", kb=900000)
    j.all_timeout(e + s(602), 77, others(j, 3))
    return j


@case(
    "the kubelet killed the pod of rank 3, whose liveness probe failed during a long save, while the others made steps 51-53: killed, rank 3",
    kinds=CRASH,
    causes=["killed"],
    ranks=[3],
)
def a38_liveness_probe(_: str) -> Job:
    j = Job("llm-7b", [f"llm-7b-worker-{i}" for i in range(4)], 1, "2026-10-04T09:00:00", "flat", "2.6")
    j.start()
    e = j.steps(47, 50, j.t0 + s(15))
    j.log(3, e + s(0.5), "saving checkpoint of step 50 (asynchronous for the others)")
    e = j.steps(51, 53, e + s(20), dt_=20.0, ranks=[0, 1, 2])
    t, pod = e + s(5), j.hosts[3]
    stamp = f"{t:%Y-%m-%dT%H:%M:%SZ}"
    j.file(
        "events.txt",
        "LAST SEEN              TYPE      REASON      OBJECT                  MESSAGE\n"
        f'{e:%Y-%m-%dT%H:%M:%SZ}   Warning   Unhealthy   pod/{pod}   Liveness probe failed: Get "http://10.2.3.9:8080/healthz": context deadline exceeded\n'
        f"{stamp}   Normal    Killing     pod/{pod}   Container trainer failed liveness probe, will be restarted\n",
    )
    j.all_timeout(t + s(602), 204, [0, 1, 2])
    return j


@case(
    "rank 3 ended by signal 9; the only kernel kill on its host is of a log shipper, another pid and program: killed, the shipper's memory is evidence about the host",
    kinds=CRASH,
    causes=["killed"],
    ranks=[3],
)
def a39_memory_of_a_sidecar(n: str) -> Job:
    j, e = one_host(n, 5, layout="torchrun")
    j.oom(j.hosts[0], e + s(0.5), j.pid(7) + 911, "fluent-bit", kb=900000)
    j.torchrun_fail(j.hosts[0], e + s(2), [(3, -9, "SIGKILL")], 3, closing=others(j, 3))
    return j


@case(
    "the same, and the shipper's cgroup is that of its own container",
    kinds=CRASH,
    causes=["killed"],
    ranks=[3],
)
def a39_memory_of_a_sidecars_cgroup(n: str) -> Job:
    j, e = one_host(n, 6)
    j.oom(
        j.hosts[0],
        e + s(0.5),
        j.pid(7) + 911,
        "fluent-bit",
        memcg="/kubepods.slice/kubepods-pod7.slice/cri-fluent",
        kb=900000,
    )
    j.srun(e + s(1.4), f"srun: error: {j.hosts[0]}: task 3: Killed")
    gave_up(j, e, 906, 3)
    return j


@case(
    "the job runs; the collector took rank 5's log three minutes before the others': a log cut early is no silence",
    kinds=["unknown", "healthy"],
    ranks=[],
    suspects_any=[[]],
)
def a43_collected_early(n: str) -> Job:
    j, e = basic(n, ["cn7"], 8, "2026-10-07T09:00:00", "flat", "2.6", n=10, dt_=20.0)
    j.steps(810, 819, e + s(20), 20.0, ranks=others(j, 5))
    return j


def mixed(n: str, day: int, said: str) -> Job:
    """One log of all processes: 300 KB of NCCL's lines, then who is who; the kernel kills the process that is rank 5."""
    j = Job(n, ["mx1"], 8, f"2026-10-{day:02}T09:00:00")
    for k in range(3400):
        r, t = k % 8, j.t0 + s(0.002 * k)
        j.put(
            "train.log",
            t,
            f"{j.hosts[0]}:{j.pid(r)}:{j.pid(r) + 311} [{r}] NCCL INFO Channel {k // 8 % 24:02}/0 : {r}[{r}] -> {(r + 1) % 8}[{(r + 1) % 8}] via P2P/CUMEM/read part {k // 192}",
        )
    for r in j.ranks:
        j.put("train.log", j.t0 + s(10 + 0.01 * r), said.format(r=r, pid=j.pid(r)))
    for k in range(30):
        t = j.t0 + s(12 + 2 * k)
        for r in j.ranks:
            j.put(
                "train.log",
                t + s(0.01 * r),
                f"{t:%Y-%m-%d %H:%M:%S} [{j.pid(r)}] INFO step {k} done loss {2.4 - 0.01 * k:.4f}",
            )
    t = j.t0 + s(72)
    j.oom(j.hosts[0], t, j.pid(5), "python3")
    j.put(
        "train.log",
        t + s(2),
        f"{t + s(2):%Y-%m-%d %H:%M:%S} [{j.agent(j.hosts[0])}] ERROR launcher: process {j.pid(5)} was ended by signal 9, stopping the others",
    )
    return j


@case(
    "who is who is told in one line after 300 KB of NCCL's: the kernel killed the process that is rank 5",
    kinds=CRASH,
    causes=["host_oom"],
    ranks=[5],
)
def a47_told_late(n: str) -> Job:
    return mixed(n, 8, "2026-10-08 09:00:10 [{pid}] INFO setup: rank {r} of 8 pid {pid} ready")


@case("the same as fields of an identity", kinds=CRASH, causes=["host_oom"], ranks=[5])
def a47_told_late_in_fields(n: str) -> Job:
    return mixed(n, 8, "identity: world_rank={r}, world_size=8, pid={pid}")
