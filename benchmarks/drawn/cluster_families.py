"""Frameworks, hosts, containers and addresses; the families of clusters.py, and those in which nobody may be named."""

import json
from collections.abc import Callable
from functools import partial

from drawn.cluster_kinds import NOOP, arrays, elastic, kube, kubernetes, mpi, slurm, these
from drawn.clusters import BY_PID, KILLS, PIDS, Cluster, Links, Stack, exits, file, kernel, play, same, told_by
from drawn.job import Case, Job

# --- frameworks, hosts, containers, addresses --------------------------------------------------------------------------


def ray_job(job: Job) -> tuple[Cluster, Stack]:
    c = Cluster(job)
    c.each("actor", lambda _: c.hexes(24) + "02000000")
    c.each("worker", lambda _: c.hexes(56))
    nodes = [c.hexes(56) for _ in job.hosts]
    c.more["node"] = [nodes[rank // job.each] for rank in range(job.size)]

    faults = BY_PID | {
        "actor died": told_by("driver.log", "ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.\n\tclass_name: RayTrainWorker\n\tactor_id: {actor}\n\tnamespace: 1f0c\nThe actor is dead because its worker process has died. Worker exit type: SYSTEM_ERROR Worker exit detail: Worker unexpectedly exits with a connection error code 2. End of file. There are some potential root causes. (1) The process is killed by SIGKILL by OOM killer due to high memory usage.", "actor"),
        "raylet": told_by("driver.log", "(raylet, ip={ip}) A worker died or was killed while executing a task by an unexpected system error. Worker ID: {worker} Node ID: {node} Worker IP address: {ip} Worker port: 10007 Worker PID: {p} Worker exit type: SYSTEM_ERROR Worker exit detail: Worker unexpectedly exits with a connection error code 2. End of file.", "worker"),
        "monitor": told_by("raylet.out", "[2026-07-09 {t},123 I 812 812] (raylet) node_manager.cc:2100: Killing worker with ID {worker}, PID {p} due to the node running low on memory. Node memory usage 0.96 exceeds the threshold 0.95.", "p"),
        "list": exits("list_workers.txt", "   {worker}  False  WORKER  SYSTEM_ERROR  {node}  {p}", "   {worker}  True   WORKER                {node}  {p}", ["    WORKER_ID  IS_ALIVE  WORKER_TYPE  EXIT_TYPE  NODE_ID  PID"], need="worker"),
    }  # fmt: skip
    started = (
        "(TrainController pid=812) - (node_id={node}, ip={ip}, pid={p}) world_rank={r}, local_rank={l}, node_rank=0"
    )
    above = ["(TrainController pid=812) Started training worker group of size {n}: "]
    listed = file("actors.txt", "    {actor}  RayTrainWorker  ALIVE    02000000        {node}  {p}  1f0c", above=["======== List: 2026-07-09 10:01:11.123456 ========", "Table:", "------------------------------", "    ACTOR_ID  CLASS_NAME  STATE  JOB_ID  NAME  NODE_ID  PID  RAY_NAMESPACE"])  # fmt: skip
    as_yaml = file(
        "actors.yaml",
        "-   actor_id: {actor}\n    class_name: RayTrainWorker\n    state: ALIVE\n    node_id: {node}\n    pid: {p}".replace(
            "\n", "\n"
        ),
    )
    workers = file(
        "workers.txt",
        "    {worker}  True  WORKER  {node}  {ip}  {p}",
        above=["    WORKER_ID  IS_ALIVE  WORKER_TYPE  NODE_ID  IP  PID"],
    )
    names = file("ls.txt", "worker-{worker}-02000000-{p}.err", above=["$ ls /tmp/ray/session_latest/logs"])
    links: Links = {
        "p": PIDS | {"started": ("r", file("driver0.log", started.replace(", node_rank=0", ""), above=above))} | {"started, too": ("r", file("train.out", "- (ip={ip}, pid={p}) world_rank={r}, local_rank={l}", above=["Started distributed worker processes: "]))},
        "actor": c.told("actor") | {"table": ("p", listed), "yaml": ("p", as_yaml)}, "worker": {"workers": ("p", workers), "files": ("p", names)},
    }  # fmt: skip
    return c, Stack(these("(RayTrainWorker pid={p}, ip={ip}) \n(TrainWorker pid={p}) \n(RayTrainWorker(actor_id={actor}) pid={p}) \n:actor:{actor} \n(pid={p}, ip={ip}) "), these("actor {actor}\npid {p}\n{ip} pid {p}\nRayTrainWorker {p}\n{actor}"), these("session_latest/logs/worker-{worker}-02000000-{p}.err\nworker-{worker}-02000000-{p}.out\nlogs/{actor}.log"), these("(base) ray@{h}:~$ {cmd}\n{h}$ {cmd}"), faults, links)  # fmt: skip


def ray(job: Job) -> Case:
    return play(*ray_job(job))


def workers(job: Job) -> Case:
    return play(*(dask(job) if job.choose("frame", ("dask", "spark")) == "dask" else spark(job)))


def dask(job: Job) -> tuple[Cluster, Stack]:
    c = Cluster(job)
    c.each("addr", lambda r: c.say("tcp://{ip}:{port}", r))
    told_here = partial(told_by, "cluster.log")
    d = "2026-07-09 {t},123 - distributed."
    faults = BY_PID | {"nanny": told_here(d + "nanny - WARNING - Worker process {p} was killed by signal {sig}", "p"), "code": told_here(d + "nanny - INFO - Worker process {p} was killed by signal {sig}", "p"),
        "memory": told_here(d + "nanny.memory - WARNING - Worker {addr} (pid={p}) exceeded 95% memory budget. Restarting...", "addr"), "old memory": told_here(d + "worker_memory - WARNING - Worker {addr} (pid={p}) exceeded 95% memory budget. Restarting...", "p")}  # fmt: skip
    start = file(
        "workers.log", "2026-07-09 09:59:12,123 - distributed.worker - INFO -       Start worker at: {addr:>28} pid={p}"
    )
    links: Links = {"addr": c.told("addr") | {"dispatch": ("r", file("client.log", "dispatched {addr} -> rank {r}")), "json": ("r", file("ranks.jsonl", '{{"worker": "{addr}", "rank": {r}}}'))}, "p": PIDS | {"start": ("addr", start), "pids": ("addr", file("client.log", "client.run(os.getpid): '{addr}': {p}"))}}  # fmt: skip
    return c, Stack(these("{addr} \n[{addr}] \n({addr}, {p}) \n{addr} | "), these("{addr}\nworker {addr}\npid {p} on {h}\n{h}:{p}"), these("dask/{p}.log\nworker-{p}.err\nlogs/{h}/dask-worker-{p}.out"), these("[root@{h} ~]# {cmd}\n{h}$ {cmd}"), faults, links)  # fmt: skip


def spark(job: Job) -> tuple[Cluster, Stack]:
    c = Cluster(job)
    numbers = job.draw.sample(range(1, 40), job.size)
    c.ids |= {
        "ex": [str(one) for one in numbers],
        "tid": [str(310 + at) for at in job.draw.sample(range(job.size), job.size)],
        "part": c.more["r"],
    }
    c.files["job.py"] = [
        "ctx = BarrierTaskContext.get()",
        "os.environ['RANK'] = str(ctx.partitionId())",
        "os.environ['WORLD_SIZE'] = str(len(ctx.getTaskInfos()))",
    ]

    told_here = partial(told_by, "driver.log")
    faults = BY_PID | {
        "lost": told_here("26/07/09 {t} ERROR TaskSchedulerImpl: Lost executor {ex} on {ip}: Command exited with code {code}", "ex"), "yarn": told_here("26/07/09 {t} ERROR YarnScheduler: Lost executor {ex} on {h}: Container killed by YARN for exceeding physical memory limits. 61.2 GB of 60 GB physical memory used.", "ex"),
        "task": told_here("26/07/09 {t} WARN TaskSetManager: Lost task {part}.0 in stage 2.0 (TID {tid}) ({ip} executor {ex}): ExecutorLostFailure (executor {ex} exited caused by one of the running tasks) Reason: Command exited with code {code}", "part"),
        "pod": told_here("26/07/09 {t} INFO ExecutorPodsLifecycleManager: Container exited with exit code {code}. executor {ex} on {h}", "ex"),
    }  # fmt: skip
    tasks = file(
        "start.log",
        "26/07/09 09:59:12 INFO TaskSetManager: Starting task {part}.0 in stage 2.0 (TID {tid}) ({ip}, executor {ex}, partition {part}, PROCESS_LOCAL, 7890 bytes)",
    )
    links: Links = {"ex": c.told("ex") | {"tasks": ("part", tasks), "own print": ("r", file("train.out", "executor {ex}: rank {r} of {n}"))}, "tid": {"tasks": ("part", tasks)}, "part": {"script": NOOP}, "p": PIDS | {"executors": ("ex", file("pids.txt", "{p} executor {ex} on {h}"))}}  # fmt: skip
    return c, Stack(these("[executor {ex}] \nexecutor-{ex}: \n[TID {tid}] \n26/07/09 10:00:00 INFO Executor {ex}: \n(partition {part}) "), these("executor {ex}\nTID {tid}\npartition {part}\nexecutor {ex} on {h}\npid {p} on {h}"), these("executor-{ex}/stderr\napp-20260709095900-0007/{ex}/stderr\nlogs/executor_{ex}.log\ntask_{tid}.log"), these("[root@{h} ~]# {cmd}\n{h}$ {cmd}"), faults, links)  # fmt: skip


UNITS = {  # right and wrong end, in which file; who is which rank
    "supervisord": ("2026-07-09 {t},123 WARN exited: {unit} (terminated by {signal}; not expected)", "2026-07-09 {end},001 INFO stopped: {unit} (terminated by SIGTERM)", "supervisord.log",
        "[program:{unit}]\ncommand=python train.py\nenvironment=RANK=\"{r}\",WORLD_SIZE=\"{n}\"\n", "supervisord.conf", "2026-07-09 09:59:01,002 INFO spawned: '{unit}' with pid {p}"),
    "supervisorctl": ("{unit:20} EXITED    Jul 09 10:04 AM", "{unit:20} STOPPED   Jul 09 10:04 AM", "status.txt", "[program:{unit}]\nenvironment=RANK={r}\n", "train.conf", "{unit:20} RUNNING   pid {p}, uptime 0:05:01"),
    "systemd": ("Jul 09 {t} {h} systemd[1]: {unit}.service: Main process exited, code=killed, status={sig}/{short_signal}\nJul 09 {t} {h} systemd[1]: {unit}.service: Failed with result 'signal'.", "Jul 09 {end} {h} systemd[1]: {unit}.service: Deactivated successfully.", "journal.txt",
        "# /etc/systemd/system/{unit}.service\n[Service]\nEnvironment=RANK={r}\nExecStart=/usr/bin/python train.py\n", "units.txt", "Jul 09 09:59:01 {h} systemd[1]: Started {unit}.service. Main PID: {p} (python)"),
    "honcho": ("{t} system      | {unit}.1 stopped (rc=-{sig})", "{end} system      | sending SIGTERM to {unit}.1 (pid {p})", "honcho.log", "{unit}: RANK={r} WORLD_SIZE={n} python train.py", "Procfile", "09:59:01 system      | {unit}.1 started (pid={p})"),
    "tmux": ("{unit}: dead ({code})", "{unit}: dead ({code})", "panes.txt", "tmux new-window -t train -n {unit} \"RANK={r} WORLD_SIZE={n} python train.py\"", "start.sh", "{unit} {p} python"),
    "parallel": ("{r1}\t{h}\t1783591142.101\t610.202\t0\t0\t0\t{sig}\tpython train.py --node {unit}", "{r1}\t{h}\t1783591142.101\t613.202\t0\t0\t{code}\t0\tpython train.py --node {unit}", "joblog.tsv", "python train.py --node {unit} --rank {r}", "jobs.txt", "{p} python train.py --node {unit}"),
    "pdsh": ("pdsh@login1: {unit}: ssh exited with exit code {code}", "pdsh@login1: {unit}: ssh exited with exit code {code}", "pdsh.log", "ssh {unit} RANK={r} WORLD_SIZE={n} python train.py &", "start.sh", "{unit}: {p} python train.py"),
}  # fmt: skip


def units(job: Job) -> Case:
    c, kind = Cluster(job), job.choose("manager", list(UNITS))
    shape = job.choose("units", ("names", "numbers", "letters", "hosts"))
    numbers = job.draw.sample(range(10, 99), job.size)
    c.each(
        "unit",
        lambda r: {
            "names": job.names[r],
            "numbers": f"trainer_{numbers[r]}",
            "letters": f"train-{'abcdefgh'[job.size - 1 - r]}",
            "hosts": f"box{numbers[r]}",
        }[shape],
    )
    right, other, name, mine, where, started = UNITS[kind]
    above = ["Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand"] if kind == "parallel" else []
    signal = {"137": "SIGKILL", "139": "SIGSEGV", "135": "SIGBUS"}[c.code]
    c.more |= {"signal": [signal] * job.size, "short_signal": [signal[3:]] * job.size}
    links: Links = {
        "unit": c.told("unit") | {"unit files": ("r", file(where, *mine.split("\n")))},
        "p": {
            "started": ("unit", file("started.txt", started)),
            "pids": ("unit", file("pids.txt", "{unit} {p}")),
            **PIDS,
        },
    }
    return play(c, Stack(these("{unit:<12} | \n{unit}: \n[{unit}] \n{unit}\t\n{h} {unit}[{p}]: "), these("{unit}\nunit {unit}\nwindow {unit}\n{unit} ({p})\npid {p} on {h}"), these("{unit}-stderr.log\nsupervisor/{unit}-stdout---supervisor-x1k2.log\n{unit}/current\nlogs/{unit}.txt\n{unit}.out"), these("[{unit}] $ {cmd}\n{unit}: {cmd}\n[root@{h} ~]# {cmd}"), BY_PID | {"manager": exits(name, right, other, above, need="unit")}, links, False, ("manager",) if kind not in ("tmux", "parallel", "pdsh") else ()))  # fmt: skip


def docked(job: Job) -> tuple[Cluster, Stack]:
    c, tool = Cluster(job), job.choose("tool", ("docker", "podman", "compose"))
    animals = job.draw.sample(
        [
            "nifty_hopper",
            "brave_noether",
            "sad_wing",
            "eager_bose",
            "happy_gauss",
            "quirky_pike",
            "bold_curie",
            "zen_tesla",
            "angry_bell",
            "cool_euler",
        ],
        job.size,
    )
    c.each("box", lambda r: animals[r] if tool != "compose" else f"lm-{animals[r][-5:].strip('_')}-1")
    c.each("cid", lambda _: c.hexes(64))
    c.each("cid12", lambda r: c.ids["cid"][r][:12])
    scope = {
        "docker": "/system.slice/docker-{cid}.scope",
        "podman": "/machine.slice/libpod-{cid}.scope",
        "compose": "/docker/{cid}",
    }[tool]
    head = f"oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset={scope.split('/')[-1]},mems_allowed=0,oom_memcg={scope},task_memcg={scope},task=python,pid={{p}},uid=0"
    row = '{cid12}   train:7   "python train.py"   11 minutes ago   %-32s   {box}'
    top = ["CONTAINER ID   IMAGE     COMMAND             CREATED          STATUS                             NAMES"]
    faults = {"oom": kernel(KILLS[2:], (head,), ("cid", "p")), "segfault": BY_PID["segfault"], "ps": same("containers.txt", row % "Exited ({code}) 12 seconds ago", top, need=job.choose("in ps", ("cid12", "box"))),
        "events": exits("events.txt", "2026-07-09T{t}.101Z container die {cid} (exitCode={code}, image=train:7, name={box})", "2026-07-09T{end}.101Z container die {cid} (exitCode={code}, image=train:7, name={box})", need="box"), "compose": same("up.log", "{box} exited with code {code}", need="box"),
        "oom event": exits("events.txt", "2026-07-09T{t}.101Z container oom {cid} (image=train:7, name={box})", "2026-07-09T{end}.101Z container die {cid} (exitCode={code}, image=train:7, name={box})", need="cid")}  # fmt: skip
    ps = file("containers0900.txt", row % "Up 9 minutes", above=top)

    def inspect(c: Cluster) -> None:
        c.files.update(
            {
                "inspect.json": json.dumps(
                    [
                        {
                            "Id": c.ids["cid"][r],
                            "Name": "/" + c.ids["box"][r],
                            "State": {"Pid": int(c.ids["p"][r])},
                            "Config": {"Env": ["PATH=/usr/bin", f"RANK={r}", f"WORLD_SIZE={job.size}"]},
                        }
                        for r in job.turns()
                    ],
                    indent=4,
                ).splitlines()
            }
        )

    run = file(
        "run.sh",
        f"{tool if tool == 'podman' else 'docker'} run -d --name {{box}} -e RANK={{r}} -e WORLD_SIZE={{n}} train:7",
    )
    compose = file(
        "docker-compose.yml",
        "  {box}:\n    image: train:7\n    container_name: {box}\n    environment:\n      - RANK={r}",
        above=["services:"],
    )
    tops = file(
        "top.txt",
        "$ docker top {box}",
        "UID   PID     PPID    C   STIME   TTY   TIME       CMD",
        "root  {p}   812   99  09:59   ?     00:09:41   python train.py",
        "",
    )
    links: Links = {
        "box": c.told("box") | {"inspect": ("r", inspect), "run": ("r", run), "compose": ("r", compose), "exec": ("r", file("env.txt", "$ docker exec {box} printenv RANK", "{r}"))}, "cid12": {"ps": ("box", ps), "inspect": ("r", inspect), "names": ("box", file("names.txt", "{cid12} {box}"))},
        "cid": {"inspect": ("r", inspect), "ps": ("box", file("ps-full.txt", "{cid}   {box}", above=["CONTAINER ID                                                       NAMES"]))},
        "p": {"top": ("box", tops), "inspect": ("r", inspect), "cgroups": ("cid", file("cgroups.txt", "/proc/{p}/cgroup:0::" + scope)), "format": ("box", file("pids.txt", "{p} /{box}", above=["$ docker inspect -f '{{{{.State.Pid}}}} {{{{.Name}}}}' $(docker ps -q)"]))},
    }  # fmt: skip
    return c, Stack(these("{box}  | \n{box} | \n{cid12} \n[{cid12}] \n{box}: \n{h} {tool}/{box}[812]: ".replace("{tool}", tool)), these("{box}\ncontainer {box}\n{cid12}\ncontainer {cid12}\nhost pid {p}"), these("{box}.log\ncontainers/{cid}/{cid}-json.log\n{cid12}.txt\nlogs/{box}/stderr.log"), these("$ docker exec {box} {cmd}\nroot@{cid12}:/app# {cmd}\n# podman exec {cid12} {cmd}"), faults, links, True)  # fmt: skip


def containers(job: Job) -> Case:
    return play(*docked(job))


def peered(job: Job) -> tuple[Cluster, Stack]:
    c = Cluster(job)
    c.each("addr", lambda r: c.say("{ip}:{port}", r))

    def need(c: Cluster) -> None:
        c.needs.add("addr")

    links: Links = {
        "addr": c.told("addr") | {"ss": ("p", file("ss.txt", 'LISTEN 0      128    {addr:>22}      0.0.0.0:*    users:(("python",pid={p},fd=33))', above=["$ ss -tlnp", "State  Recv-Q Send-Q Local Address:Port  Peer Address:PortProcess"])),
            "netstat": ("p", file("netstat.txt", "tcp        0      0 {addr:<22}  0.0.0.0:*               LISTEN      {p}/python", above=["Proto Recv-Q Send-Q Local Address           Foreign Address         State       PID/Program name"])),
            "lsof": ("p", file("lsof.txt", "python  {p}   ml   33u  IPv4 812345      0t0  TCP {addr} (LISTEN)", above=["COMMAND   PID USER   FD   TYPE DEVICE SIZE/OFF NODE NAME"])),
            "store": ("r", file("store.txt", "/worker/{r}/addr = {addr}")), "listens": ("r", file("start.log", "rank {r} listening on {addr}")), "members": ("r", file("members.jsonl", '{{"rank": {r}, "endpoint": "{addr}"}}')), "endpoints": ("r", file("env.txt", "PADDLE_CURRENT_ENDPOINT={addr} PADDLE_TRAINER_ID={r}"))},
        "p": PIDS,
    }  # fmt: skip
    return c, Stack(these("{h}[{p}]: \n[{addr}] \n{addr} \n{h}:{p} | "), these("{addr}\nthe one at {addr}\n{h} pid {p}\n{p}@{h}"), these("{h}/{p}.log\ntrain-{h}-{p}.err\npid{p}.log"), these("[root@{h} ~]# {cmd}\n{h}$ {cmd}"), {"peer closed": need, "peers": need} | BY_PID, links)  # fmt: skip


def peers(job: Job) -> Case:
    return play(*peered(job))


# --- nobody ------------------------------------------------------------------------------------------------------------


def any_of(job: Job) -> tuple[Cluster, Stack]:
    """One in which no name holds a rank."""
    match job.choose("stack", ("kubernetes", "ray", "dask", "containers", "peers")):
        case "kubernetes":
            return kube(job, "plain")
        case "ray":
            return ray_job(job)
        case "dask":
            return dask(job)
        case "containers":
            return docked(job)
    return peered(job)


def of_no_join(job: Job) -> Case:
    return play(*any_of(job), is_joined=False)


def of_two_minds(job: Job) -> Case:
    """Besides what tells the ranks, another document that tells others of the same names."""
    c, s = any_of(job)
    told = play(c, s, is_joined=False)
    for name in sorted(c.needs & {"pod", "actor", "addr", "box", "p", "cid", "cid12", "uid", "ip", "worker"}):
        for at, title in enumerate(job.draw.sample(("ranks_a.txt", "ranks_b.txt"), 2)):
            c.files[title] += [f"{c.ids[name][(rank + at) % job.size]} -> rank {rank}" for rank in job.turns()]
    return told._replace(files=dict(c.files))


def of_restarts(job: Job) -> Case:
    """Two attempts gave other ranks to the same names, and what is told of one of them has no time."""
    c, s = any_of(job)
    told = play(c, s._replace(faults={}), is_joined=False)
    moved = job.draw.sample(range(job.size), job.size)
    moved = moved if all(at != rank for at, rank in enumerate(moved)) else [*range(1, job.size), 0]
    for name in sorted(c.needs):
        if name in c.ids and name != "p":
            c.files["README"] = [
                "run.log, ticket.txt and so on were copied before the logs were rotated; not sure whether they are of the first or of the second start"
            ]
            c.files["agent.log"] += [f"restart_count=0 {c.ids[name][rank]} rank={rank}" for rank in job.turns()]
            c.files["agent.log"] += [f"restart_count=1 {c.ids[name][rank]} rank={moved[rank]}" for rank in job.turns()]
    return told._replace(files=dict(c.files))


def of_the_same_places(job: Job) -> Case:
    """Both nodes call their processes by the same local names, and what node it was is lost."""
    c = Cluster(job)
    told = play(c, Stack(these("[default{l}]: \n[trainer{l}]:\n[{l}] \nlocal {l}: "), ("local rank {l}", "gpu {l}", "worker {l}"), ("local{l}.log", "gpu{l}.txt"), ("gpu{l}$ {cmd}",), {}, {"l": {}, "p": {}}), is_joined=False)  # fmt: skip
    file("ranks.txt", "{h} local {l}: rank {r}")(c)
    return told._replace(files=dict(c.files))


FAMILIES: dict[str, Callable[[Job], Case]] = {
    "kubernetes": kubernetes, "slurm": slurm, "arrays": arrays, "mpi": mpi, "elastic": elastic, "ray": ray, "workers": workers, "units": units, "containers": containers, "peers": peers,
}  # fmt: skip
NOBODY: dict[str, Callable[[Job], Case]] = {
    "of no join": of_no_join,
    "of two minds": of_two_minds,
    "of restarts": of_restarts,
    "of the same places": of_the_same_places,
}
