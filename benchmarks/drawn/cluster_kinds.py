"""Kubernetes, batch systems and launchers, for cluster_families.py."""

import json
from functools import partial

from drawn.clusters import (
    BY_PID,
    KILLS,
    PIDS,
    PLACES,
    TABLES,
    Cluster,
    Links,
    Stack,
    Write,
    exits,
    file,
    kernel,
    play,
    same,
    told_by,
)
from drawn.job import Case, Job

# --- Kubernetes --------------------------------------------------------------------------------------------------------


def pods(form: str, is_ranked: bool, c: Cluster) -> None:
    rows = c.job.turns()
    if form == "json":
        items = [json.loads(c.say(POD_JSON, rank)) for rank in rows]
        for rank, item in zip(rows, items, strict=True):
            env = [
                {"name": "NCCL_DEBUG", "value": "WARN"},
                *([{"name": "RANK", "value": str(rank)}] if is_ranked else []),
            ]
            item["spec"]["containers"][0]["env"] = env
        c.files["pods.json"] = json.dumps({"apiVersion": "v1", "kind": "List", "items": items}, indent=4).splitlines()
        return
    body = POD_YAML if form == "yaml" else DESCRIBED
    own = [one for one in body.split("\n") if is_ranked or "{r}" not in one]
    c.files["pods.yaml" if form == "yaml" else "describe.txt"] += [
        *(["apiVersion: v1", "items:"] if form == "yaml" else []),
        *c.all(*own, order=rows),
    ]


POD_JSON = (
    '{{"apiVersion": "v1", "kind": "Pod", "metadata": {{"name": "{pod}", "namespace": "ml", "uid": "{uid}"}}, "spec": {{"nodeName": "{h}", "containers": '
    '[{{"name": "main", "image": "train:7"}}]}}, "status": {{"podIP": "{ip}", "containerStatuses": [{{"name": "main", "containerID": "containerd://{cid}"}}]}}}}'
)
POD_YAML = """- apiVersion: v1\n  kind: Pod\n  metadata:\n    name: {pod}\n    namespace: ml\n    uid: {uid}\n  spec:\n    containers:\n    - env:
      - name: NCCL_DEBUG\n        value: WARN\n      - {{name: RANK, value: "{r}"}}\n      image: train:7\n      name: main\n    nodeName: {h}
  status:\n    containerStatuses:\n    - containerID: containerd://{cid}\n      name: main\n    podIP: {ip}"""
DESCRIBED = """Name:             {pod}\nNamespace:        ml\nNode:             {h}/192.168.4.11\nStart Time:       Thu, 09 Jul 2026 09:59:02 +0000
IP:               {ip}\nContainers:\n  main:\n    Container ID:  containerd://{cid}\n    Image:         train:7\n    Environment:\n      NCCL_DEBUG:  WARN
      RANK:        {r}\n    Mounts:        <none>\n\n"""
SLICE = "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{uid_}.slice"
EVENTS = (
    "LAST SEEN   TYPE      REASON      OBJECT   MESSAGE",
    "9m   Normal    Scheduled   pod/{pod}   Successfully assigned ml/{pod} to {h}",
)


def pod_links(c: Cluster) -> Links:
    ranked: dict[str, tuple[str, Write]] = {
        form: ("r", partial(pods, form, True)) for form in ("json", "yaml", "describe")
    }
    plain: dict[str, tuple[str, Write]] = {
        f"plain {form}": ("pod", partial(pods, form, False)) for form in ("json", "yaml", "describe")
    }
    cut = {"plain json": plain["plain json"], "plain yaml": plain["plain yaml"]}
    columns = file("uids.txt", "{pod:46} {uid}", above=[f"{'NAME':46} UID"])
    wide = file("wide.txt", "{pod:46} 1/1     Running   0          9m    {ip:14} {h}   <none>           <none>", above=[f"{'NAME':46} READY   STATUS    RESTARTS   AGE   IP             NODE   NOMINATED NODE   READINESS GATES"])  # fmt: skip
    crictl = file("crictl.txt", "{cid13}       9f1c2ab34d5e6       10 minutes ago      Running             main                0                   {pid13}       {pod}", above=["CONTAINER           IMAGE               CREATED             STATE               NAME                ATTEMPT             POD ID              POD"])  # fmt: skip
    return {
        "pod": ranked | c.told("pod") | {"exec env": ("r", file("env.txt", "$ kubectl exec {pod} -- printenv RANK", "{r}")), "envs": ("r", file("env.txt", "== {pod}", "RANK={r}", "WORLD_SIZE={n}")),
            "labels": ("r", file("labels.txt", "{pod:46} 1/1     Running   0          9m    {r}", above=[f"{'NAME':46} READY   STATUS    RESTARTS   AGE   RANK"]))},
        "ip": ranked | plain | {"wide": ("pod", wide), "hosts": ("pod", file("hosts", "{ip}\t{pod}", above=["127.0.0.1\tlocalhost"])), "list": ("pod", file("ips.txt", "{pod}={ip}"))},
        "uid": {form: ranked[form] for form in ("json", "yaml")} | cut | {"columns": ("pod", columns), "folders": ("pod", file("ls.txt", "drwxr-xr-x 3 root root 4096 Jul  9 09:59 ml_{pod}_{uid}", above=["$ ls -l /var/log/pods"]))},
        "cid": ranked | plain | {"jsonpath": ("pod", file("ids.txt", "{pod}\tcontainerd://{cid}")), "crictl": ("pod", crictl), "links": ("pod", file("ls.txt", "/var/log/containers/{pod}_ml_main-{cid}.log"))},
        "cid12": plain | {"crictl": ("pod", crictl), "jsonpath": ("pod", file("ids.txt", "containerd://{cid} {pod}"))},
        "p": {"cgroups": ("cid", file("cgroups.txt", "/proc/{p}/cgroup:0::" + SLICE + "/cri-containerd-{cid}.scope")), "environ": ("r", file("env.txt", "/proc/{p}/environ: HOSTNAME={pod} RANK={r}")),
            "names": ("pod", file("pids.txt", "{p} {pod}", above=["# nsenter -t PID -u hostname"]))},
    }  # fmt: skip


def kubernetes(job: Job) -> Case:
    return play(
        *kube(job, job.choose("workload", ("pytorchjob", "indexed", "statefulset", "jobset", "volcano", "plain")))
    )


def kube(job: Job, kind: str) -> tuple[Cluster, Stack]:
    c, base = Cluster(job), job.choose("job", ("lm7", "pretrain-xl", "vit-ft", "asr-run-3", "ablate"))
    tail = "bcdfghjklmnpqrstvwxz2456789"
    made = {"pytorchjob": "{0}-worker-{2}", "indexed": "{0}-{1}-{3}", "statefulset": "{0}-{1}", "jobset": "{0}-workers-0-{1}-{3}", "volcano": "{0}-task-{1}", "plain": "{0}-7c9f8d6b4-{3}"}[kind]  # fmt: skip
    c.each(
        "pod",
        lambda r: (
            f"{base}-master-0"
            if kind == "pytorchjob" and not r
            else made.format(base, r, r - 1, "".join(job.draw.choices(tail, k=5)))
        ),
    )
    c.each("cid", lambda _: c.hexes(64))
    c.each("cid12", lambda r: c.ids["cid"][r][:12])
    c.each("uid", lambda _: f"{c.hexes(8)}-{c.hexes(4)}-4{c.hexes(3)}-9{c.hexes(3)}-{c.hexes(12)}")
    c.more |= {
        "cid13": [one[:13] for one in c.ids["cid"]],
        "pid13": [c.hexes(13) for _ in c.job.pids],
        "uid_": [one.replace("-", "_") for one in c.ids["uid"]],
    }
    c.ids["ip"] = [f"10.244.{job.draw.randint(1, 9)}.{at}" for at in job.draw.sample(range(3, 250), job.size)]
    del c.more["ip"]
    head = "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=cri-containerd-{cid}.scope,mems_allowed=0-1,oom_memcg=" + SLICE + ",task_memcg=" + SLICE + "/cri-containerd-{cid}.scope,task=python,pid={p},uid=0"  # fmt: skip
    old = "Task in /kubepods/burstable/pod{uid}/{cid} killed as a result of limit of /kubepods/burstable/pod{uid}"
    row, names = "{pod:46} 0/1     %-9s   0          11m", [f"{'NAME':46} READY   STATUS      RESTARTS   AGE"]
    faults = {
        "oom": kernel(KILLS[2:], ({"new": head, "old": old}[job.choose("kernel's cgroup", ("new", "old"))],), ("cid", "uid")), "segfault": BY_PID["segfault"],
        "pods": exits("pods.txt", row % "OOMKilled", row % "Error", names, need="pod"), "evicted": exits("pods.txt", row % "Evicted", row % "Error", names, need="pod"),
        "events": exits("events.txt", "2m   Warning   Evicted     pod/{pod}   The node was low on resource: memory. Container main was using 61Gi, request is 8Gi.", EVENTS[1], EVENTS[:1], need="pod"),
        "codes": same("exit_codes.txt", "{pod}\t{code}", ["$ kubectl get pods -o jsonpath='{{.items[*].status.containerStatuses[0].state.terminated.exitCode}}'"], need="pod"),
    }  # fmt: skip
    heads = ("[pod/{pod}/main] ", "{pod} main ", "{pod} ", "{pod} › main ", '{{"kubernetes":{{"pod_name":"{pod}","container_name":"main"}},"log":%}}', "{cid12} ", "[{ip}] ", "{ip} | ", '{{"pod_id":"{uid}","stream":"stderr","log":%}}')  # fmt: skip
    paths = (
        "{pod}.log",
        "logs/{pod}/main.log",
        "var/log/containers/{pod}_ml_main-{cid}.log",
        "var/log/pods/ml_{pod}_{uid}/main/0.log",
        "{ip}.log",
        "{cid12}.log",
        "pods/{uid}.log",
    )
    calls = ("{pod}", "pod {pod}", "pod/{pod}", "{ip}", "ml/{pod}", "{cid12}", "container {cid12}", "the pod at {ip}")
    prompts = (
        "$ kubectl exec -n ml {pod} -- {cmd}",
        "root@{pod}:/app# {cmd}",
        "$ crictl exec {cid12} {cmd}",
        "[{pod}] $ {cmd}",
    )
    return c, Stack(heads, calls, paths, prompts, faults, pod_links(c), True)


def these(text: str) -> tuple[str, ...]:
    """The lines of a text, a space at each end kept."""
    return tuple(text.strip("\n").split("\n"))


NOOP: tuple[str, Write] = ("r", lambda c: None)


# --- batch systems, launchers ------------------------------------------------------------------------------------------


def slurm(job: Job) -> Case:
    job.hosts.sort()  # as it lists them
    c = Cluster(job)
    c.ids["task"] = c.more["r"]
    nodes = f"SLURM_JOB_NODELIST={job.hosts[0]},{job.hosts[1]}"
    script = [
        "#!/bin/bash",
        "#SBATCH --nodes=2",
        f"#SBATCH --ntasks-per-node={job.each}",
        "srun bash -c 'RANK=$SLURM_PROCID python train.py'",
    ]
    pids = file(
        "listpids.txt",
        "{p:<8} {j:<8} 0        {l:<7} {task}",
        above=["$ scontrol listpids   (all nodes)", "PID      JOBID    STEPID   LOCALID GLOBALID"],
    )
    srun = exits(
        "srun.err",
        "srun: error: {h}: task {task}: {why}",
        "srun: error: {h}: task {task}: Exited with exit code {code}",
        ["slurmstepd: error: *** STEP {j}.0 ON {h} CANCELLED AT 2026-07-09T{end} ***"],
        need="task",
    )
    oom = exits(
        "srun.err",
        "srun: error: {h}: task {task}: Out Of Memory",
        "srun: error: {h}: task {task}: Exited with exit code {code}",
        ["srun: Job step aborted: Waiting up to 32 seconds for job step to finish."],
        need="task",
    )
    steps: Links = {
        "task": {"procid": NOOP, "env": ("r", file("env.txt", "SLURM_PROCID={task} RANK={r} {h}"))},
        "p": PIDS | {"listpids": ("task", pids), "procid": ("task", file("env.txt", "/proc/{p}/environ:SLURM_PROCID={task}"))},
        "l": TABLES | {"nodelist": ("r", lambda c: c.files.update({"env.txt": [nodes, f"SLURM_NTASKS_PER_NODE={job.each}", f"SLURM_NTASKS={job.size}"]}))},
    }  # fmt: skip
    told = play(c, Stack(these("{task}: \n{h}: {l}: \n{h}[{p}]: \n{task:>2}: \n[{h} localid {l}] "), these("task {task}\n{h} pid {p}\n{h}:{p}\n{h} localid {l}\nSLURM_PROCID={task}\nstep {j}.0 task {task}"), these("slurm-{j}-{task}.out\n{j}_{h}_{p}.log\nslurm-{j}.{task}.err\nlogs/{h}/local{l}.out\nout.{task}.txt"), these("[root@{h} ~]# {cmd}\n$ ssh {h} {cmd}\n$ srun --jobid {j} --overlap -w {h} {cmd}"), BY_PID | {"srun": srun, "srun oom": oom}, steps))  # fmt: skip
    is_labelled = job.choices.get("who", "").startswith("{task")
    return told._replace(
        files=told.files | {"job.sbatch": [one.replace("srun", "srun -l") if is_labelled else one for one in script]}
    )


def arrays(job: Job) -> Case:
    """One array task is one process; its rank is told by the script, or a list."""
    c, kind = Cluster(job), job.choose("batch", ("slurm", "pbs", "lsf", "sge"))
    base = int(job.choose("first index", ("0", "1") if kind in ("slurm", "pbs") else ("1",)))
    c.ids["at"], var = (
        [str(rank + base) for rank in range(job.size)],
        {"slurm": "SLURM_ARRAY_TASK_ID", "pbs": "PBS_ARRAY_INDEX", "lsf": "LSB_JOBINDEX", "sge": "SGE_TASK_ID"}[kind],
    )
    c.ids["raw"] = [str(900000 + at) for at in job.draw.sample(range(1000), job.size)]
    c.files["job.sh"] = ["#!/bin/bash", {"slurm": "#SBATCH --array=%", "pbs": "#PBS -J %", "lsf": '#BSUB -J "train[%]"', "sge": "#$ -t %"}[kind].replace("%", f"{base}-{job.size - 1 + base}"), f"export RANK=$(({var}{'-1' * base})) WORLD_SIZE={job.size}", "python train.py"]  # fmt: skip
    name = {"slurm": "{j}_{at}", "pbs": "{j}[{at}].pbs01", "lsf": "{j}[{at}]", "sge": "{j}.{at}"}[kind]
    table = {
        "slurm": exits("sacct.txt", f"{name:16} {{raw:10}} OUT_OF_ME+  0:125", f"{name:16} {{raw:10}} {{state}}", ["JobID            JobIDRaw   State     ExitCode"], need="at"),
        "pbs": same("qstat.txt", f"Job Id: {name}\n    job_state = F\n    exec_host = {{h}}/0\n    Exit_status = {{code}}", need="at"),
        "lsf": same("bhist.txt", f"Job <{name}>, User <ml>\nThu Jul  9 {{t}}: Exited with exit code {{code}}.", need="at"),
        "sge": same("qacct.txt", "==============\nhostname     {h}\njobnumber    {j}\ntaskid       {at}\nfailed       0\nexit_status  {code}", need="at"),
    }[kind]  # fmt: skip
    queue = file(
        "queue.txt",
        f"{{raw}} {name} R 9:12 {{h}}",
        above=["$ squeue -o '%A %i %t %M %N'", "JOBID JOBID_ARRAY ST TIME NODELIST"],
    )
    links: Links = {
        "at": {"script": NOOP} | c.told("at"),
        "raw": {"queue": ("at", queue)},
        "p": PIDS | {"array": ("at", file("env.txt", f"/proc/{{p}}/environ:{var}={{at}}"))},
    }
    heads, paths = {"slurm": ("slurm-{j}_{at}.out: ", "out/{raw}.out"), "pbs": ("train.o{j}.{at}: ", "train.o{j}.{at}"), "lsf": ("out.{j}.{at}: ", "out.{j}.{at}"), "sge": ("train.o{j}.{at}: ", "train.o{j}.{at}")}[kind]  # fmt: skip
    return play(c, Stack((heads, f"{name} ", f"[{name}] ", "{h}[{p}] "), (name, f"array task {name}", f"job {name}", "{h} pid {p}", "index {at}"), (paths, "logs/array-{at}.log"), ("[root@{h} ~]# {cmd}",), BY_PID | {"table": table}, links))  # fmt: skip


def mpi(job: Job) -> Case:
    c = Cluster(job)
    c.ids["mcw"] = c.more["r"]
    hydra = "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n=   PID {p} RUNNING AT {h}\n=   EXIT CODE: {sig}\n=   CLEANING UP REMAINING PROCESSES\n=   YOU CAN IGNORE THE BELOW CLEANUP MESSAGES"  # fmt: skip
    line = "=" * 83

    told_here = partial(told_by, "mpirun.err")
    faults = BY_PID | {
        "hydra": told_here(f"{line}\n{hydra}\n{line}\nYOUR APPLICATION TERMINATED WITH THE EXIT STRING: {{why}} (signal {{sig}})", "p"),
        "intel": told_here(f"{line}\n=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n=   RANK {{mcw}} PID {{p}} RUNNING AT {{h}}\n=   KILLED BY SIGNAL: {{sig}} ({{why}})\n{line}", "mcw"),
        "openmpi": told_here("-" * 74 + "\nmpirun noticed that process rank {mcw} with PID {p} on node {h} exited on signal {sig} ({why}).\n" + "-" * 74, "mcw"),
        "prterun": told_here("-" * 74 + "\nprterun noticed that process rank {mcw} with PID {p} on node {h} exited on\nsignal {sig} ({why}).\n" + "-" * 74, "mcw"),
    }  # fmt: skip
    table = file(
        "ompi-ps.txt",
        " [[41233,1],{mcw}] | {l:>10} | {p:>6} | {h} | running |",
        above=["Information from mpirun [41233,0]", "   Process Name | Local Rank |    PID | Node | State   |"],
    )
    says = file("hello.txt", "Hello world from processor {h}, rank {mcw} out of {n} processors, pid {p}")
    links: Links = {
        "mcw": {"mpi": NOOP}, "p": PIDS | {"table": ("mcw", table), "hello": ("mcw", says), "grep": ("mcw", file("env.txt", "/proc/{p}/environ:OMPI_COMM_WORLD_RANK={mcw}"))},
        "l": TABLES | {"rankfile": ("mcw", file("rankfile", "rank {mcw}={h} slot={l}")), "map": ("mcw", file("map.txt", "{h}: local rank {l}, Process OMPI jobid: [41233,1] App: 0 Process rank: {mcw}")), "bindings": ("mcw", file("bind.txt", "[{h}:9911] MCW rank {mcw} bound to socket 0[core {l}[hwt 0-1]]: [BB/../../..]"))},
    }  # fmt: skip
    told = play(c, Stack(these("[1,{mcw}]<stdout>: \n[1,{mcw}]<stderr>:\n[{mcw}] \n[{h}:{p}] \nThu Jul  9 10:01:11 2026[1,{mcw}]<stdout>:\n{h}.{l}: "), these("{h}:{p}\n[[41233,1],{mcw}]\nMCW rank {mcw}\n{h} slot {l}\npid {p} on {h}"), these("out/1/rank.{mcw}/stdout\nout.1.{mcw}\n{h}.{p}.log\nlogs/{h}/slot{l}.txt"), these("[root@{h} ~]# {cmd}\n$ ssh {h} {cmd}"), faults, links))  # fmt: skip
    option = {"[1": "--tag-output ", "[{": "-prepend-rank "}.get(job.choices.get("who", "")[:2], "")
    return told._replace(
        files=told.files | {"mpirun.sh": [f"mpirun -np {job.size} {option}--hostfile hosts python train.py"]}
    )


def elastic(job: Job) -> Case:
    c = Cluster(job)
    swapped = job.hosts if job.choose("nodes", ("sorted", "as they came")) == "sorted" else job.hosts[::-1]
    job.hosts = swapped

    def results(c: Cluster) -> None:
        for at, host in enumerate(job.hosts):
            own = [*range(at * job.each, (at + 1) * job.each)]
            text = f"restart_count=0 master_addr={job.hosts[0]} master_port=29500 group_rank={at} group_world_size=2 local_ranks={[*range(job.each)]} role_ranks={own} global_ranks={own}"
            c.files[f"agent_{host}.log"] += ["I0709 09:59:01.000000 812 torch/distributed/elastic/agent/server/api.py:525] [default] Rendezvous complete for workers. Result:", *("  " + one for one in text.replace("=[", "=[").split(" ") if "=" in one and "[" not in one), *(f"  {name}={own}" for name, own in (("local_ranks", [*range(job.each)]), ("role_ranks", own), ("global_ranks", own)))]  # fmt: skip

    def agents(c: Cluster) -> None:
        c.needs.add("l")
        stamp = "E0709 {t}.000000 812 torch/distributed/elastic/multiprocessing/api.py:"
        for rank in [r for r in job.turns() if r // job.each == c.bad // job.each and r != c.bad]:
            c.files[c.say("agent_{h}.log", rank)].append(
                c.say(f"W{stamp[1:]}897] Sending process {{p}} closing signal SIGTERM", rank)
            )
        c.files[c.say("agent_{h}.log", c.bad)].append(
            c.say(
                f"{stamp}869] failed (exitcode: -{int(c.code) - 128}) local_rank: {{l}} (pid: {{p}}) of binary: /usr/bin/python",
                c.bad,
            )
        )

    def deepspeed(c: Cluster) -> None:
        c.needs.add("l")
        for rank in [r for r in job.turns() if r // job.each == c.bad // job.each]:
            c.files[c.say("launch_{h}.log", rank)].append(
                c.say("[2026-07-09 {t},123] [INFO] [launch.py:316:sigkill_handler] Killing subprocess {p}", rank)
            )
        c.files[c.say("launch_{h}.log", c.bad)].append(c.say(f"[2026-07-09 {{end}},123] [ERROR] [launch.py:322:sigkill_handler] ['/usr/bin/python', '-u', 'train.py', '--local_rank={{l}}'] exits with return code = -{int(c.code) - 128}", c.bad))  # fmt: skip

    nodes = {host: [*range(at * job.each, (at + 1) * job.each)] for at, host in enumerate(job.hosts)}
    mapping = f"[2026-07-09 09:59:00,123] [INFO] [launch.py:163:main] global_rank_mapping=defaultdict(<class 'list'>, {nodes})"
    spawned = file(
        "spawn.log",
        "{h}: [2026-07-09 09:59:01,123] [INFO] [launch.py:256:main] process {p} spawned with command: ['/usr/bin/python', '-u', 'train.py', '--local_rank={l}']",
    )

    def machines(c: Cluster) -> None:
        c.files.update(
            {
                f"{host}.sh": [
                    f"accelerate launch --num_machines 2 --machine_rank {at} --num_processes {job.size} --main_process_ip {job.hosts[0]} train.py"
                ]
                for at, host in enumerate(job.hosts)
            }
        )

    links: Links = {
        "p": PIDS | {"spawned": ("l", spawned)},
        "l": PLACES
        | {
            "results": ("r", results),
            "machine ranks": ("r", machines),
            "mapping": ("r", lambda c: c.files.update({"runner.log": [mapping]})),
        },
    }
    c.more["h"] = [job.host(rank) for rank in range(job.size)]
    return play(c, Stack(these("{h}: [default{l}]:\n{h} [default{l}]: \n[{h}][trainer{l}]:\n{h}: [{p}] "), these("{h} local rank {l}\n{h}:{l}\nlocal_rank {l} on {h}\n{h} pid {p}\ngpu {l} of {h}"), these("{h}/attempt_0/{l}/stderr.log\nlogs/{h}/none_8x2k1q/attempt_0/{l}/stdout.log\n{h}-{p}.log\n{h}_local{l}.log"), these("[root@{h} ~]# {cmd}\n{h}$ {cmd}"), BY_PID | {"agents": agents, "deepspeed": deepspeed}, links))  # fmt: skip
