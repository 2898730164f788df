"""Whose end is told, in whatever form: jobs of four whose rank 2 was killed, told by launchers of all kinds; and ends that name nobody."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from forensics.analyze import analyze

DEAD = 2
PIDS = (4710, 4721, 4735, 4748)
LOST = """Traceback (most recent call last):
  File "/job/train.py", line 9, in reduce
    dist.all_reduce(flat)
  File "/usr/lib/python3/site-packages/torch/distributed/distributed_c10d.py", line 2810, in all_reduce
    work.wait()
RuntimeError: [gloo/transport/tcp/pair.cc:538] Connection closed by peer [10.6.0.32]:38841
"""
Files = Mapping[str, str]


def own(rank: int, dead: int | None, pid: int | None) -> str:
    """The log of one process: who it is, some steps, and that it lost another one unless it is the one that died."""
    who = f"dist ready rank={rank} world_size=4" + (f" pid={pid}" if pid else "")
    steps = [f"step {step} loss {2.9 - step / 10:.3f}" for step in range(5 if rank == dead else 6)]
    return "\n".join([who, *steps]) + "\n" + ("" if rank == dead else LOST)


def logs(form: str, *, with_pids: bool = False, dead: int | None = DEAD) -> Files:
    """A file for each rank, named by `form` of its number or its letter."""
    return {
        f"{form.format(rank, 'abcd'[rank])}.log": own(rank, dead, PIDS[rank] if with_pids else None)
        for rank in range(4)
    }


def console(label: str) -> str:
    """What all ranks print into one file, each behind a label that is known."""
    told = [f"{label.format(rank, rank + 1)}dist ready rank={rank} world_size=4 pid={PIDS[rank]}" for rank in range(4)]
    told += [f"{label.format(rank, rank + 1)}step {step} loss 2.{9 - step}" for step in range(5) for rank in range(4)]
    return "\n".join(told) + "\n"


SPAWNED = "".join(f"02:00:00,000 INFO spawned: 'ddp_{rank:02}' with pid {pid}\n" for rank, pid in enumerate(PIDS))
TORCHRUN = "n{0}: + torchrun --nnodes=2 --nproc-per-node=2 --node-rank={0} --master-addr=n0 train.py\n"
FAILED = "{}E1116 02:01:45.230000 8810 torch/distributed/elastic/multiprocessing/api.py:869] failed (exitcode: -9) local_rank: 0 (pid: 8842) of binary: python\n"
STEPS = "".join(
    f"n{rank // 2}: [default{rank % 2}]:step {step} loss 2.{9 - step}\n" for step in range(5) for rank in range(4)
)
JOBLOG = "Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\n" + "".join(
    f"{rank + 1}\t:\t1794794400.0\t92.0\t0\t3958\t{int(rank != DEAD)}\t{9 * (rank == DEAD)}\tRANK={rank} python a.py\n"
    for rank in range(4)
)
BOTH = "Container rank 0 status failed cmd ['python', 'a.py'] code -9 log log/workerlog.0\nenv {'PADDLE_GLOBAL_RANK': '2', 'PADDLE_LOCAL_RANK': '0', 'PADDLE_TRAINERS_NUM': '4'}\n"

TOLD: Mapping[str, Files] = {
    "supervisord, files with more in their names": {
        f"ddp_{rank + 1:02}-stdout---supervisor-k{'abcd'[rank]}1.log": own(rank, DEAD, None) for rank in range(4)
    } | {"s.log": "02:02:07,900 INFO exited: ddp_03 (terminated by SIGKILL; not expected)\n02:02:09 INFO exited: ddp_02 (exit status 1; not expected)\n"},
    "supervisord, pids": logs("ddp_{:02}", with_pids=True)
    | {"s.log": SPAWNED + "02:02:07,900 INFO exited: ddp_02 (terminated by SIGKILL; not expected)\n"},
    "supervisord, files": logs("ddp_{:02}")
    | {"s.log": "02:02:07,900 INFO exited: ddp_02 (terminated by SIGKILL; not expected)\n02:02:09 INFO exited: ddp_01 (exit status 1; not expected)\n"},
    "supervisord, a group": logs("ddp_{:02}")
    | {"s.log": "02:02:07,900 INFO exited: job:ddp_02 (terminated by SIGKILL; not expected)\n"},
    "honcho, pids": {
        "all.log": console("trainer.{1} | ").replace("trainer.", "02:00:03 trainer.")
        + "".join(f"02:00:00 system | trainer.{rank + 1} started (pid={pid})\n" for rank, pid in enumerate(PIDS))
        + "02:01:00 system | trainer.3 stopped (rc=-9)\n"
        + "".join(f"02:01:01 system | sending SIGTERM to trainer.{n} (pid {PIDS[n - 1]})\n" for n in (1, 2, 4))
    },
    "pm2": logs("rank-{}-out", with_pids=True)
    | {"pm2.log": "2026-11-16T02:02:07: PM2 log: App [rank-2:2] exited with code [0] via signal [SIGKILL]\n"},
    "systemd": logs("train@{}", with_pids=True)
    | {"journal.txt": "Nov 16 02:02:07 n1 systemd[1]: train@2.service: Main process exited, code=killed, status=9/KILL\n"},
    "systemctl status": logs("t{}", with_pids=True)
    | {"status.txt": f"x train@2.service - trainer\n   Main PID: {PIDS[2]} (code=killed, signal=KILL)\n"},
    "docker compose": logs("trainer-{1}")
    | {"compose.log": "Attaching to trainer-a, trainer-b\nstep 1\nstep 2\ntrainer-c exited with code 137\ntrainer-a exited with code 1\n"},
    "docker ps": logs("train-{}")
    | {"ps.txt": "".join(f'{rank}a2b3c4d   lm:4   "python a.py"   5 minutes ago  Exited ({137 if rank == DEAD else 1}) 2 minutes ago   train-{rank}\n' for rank in range(4))},
    "a shell's wait": logs("w{}", with_pids=True)
    | {"launch.log": f"launched 4 workers\npid {PIDS[2]} exited with status 137\npid {PIDS[0]} exited with status 1\n"},
    "multiprocessing": logs("w{}", with_pids=True)
    | {"parent.log": f"child process {PIDS[2]} terminated by signal SIGKILL\n"},
    "a list of all": logs("w{}")
    | {"launch.log": "worker 0: exit code 1\nworker 1: exit code 1\nworker 2: exit code -9\nworker 3: exit code 1\n"},
    "the only one that did not say that it lost others": logs("w{}")
    | {"launch.log": "[launcher] process 2 exited with code -9, stopping the rest\n"},
    "Open MPI": logs("w{}")
    | {"mpi.log": "----\nmpirun noticed that process rank 2 with PID 7 on node n1 exited on signal 9 (Killed).\n----\n"},
    "prterun, wrapped": logs("w{}")
    | {"mpi.log": "----\nprterun noticed that process rank 2 with PID 7 on node n1 exited on\nsignal 9 (Killed).\n----\n"},
    "prterun, wrapped earlier": logs("w{}")
    | {"mpi.log": "----\nprterun noticed that process rank 2 with PID 7 on node gpu-1 exited\non signal 9 (Killed).\n----\n"},
    "Open MPI's first to end": logs("w{}")
    | {"mpi.log": "The first process to do so was:\n\n   Process name: [prterun-n1-88@1,2]\n   Exit code:    137\n"},
    "GNU parallel": logs("w{}") | {"job.log": JOBLOG},
    "a table of services": logs("trainer-{1}")
    | {"exits.csv": "service,exit_code\n" + "".join(f"trainer-{c},{137 if c == 'c' else 1}\n" for c in "abcd")},
    "a table of pids": logs("trainer-{1}", with_pids=True)
    | {"exits.jsonl": "".join(f'{{"pid": {pid}, "returncode": {-9 if pid == PIDS[2] else 1}}}\n' for pid in PIDS)},
    "logfmt": logs("trainer-{1}")
    | {"run.log": 'ts=2026-11-16T02:02:07Z level=error msg="process ended" service=trainer-c exit_code=137\n'},
    "torchrun's arguments": {"console.log": TORCHRUN.format(0) + TORCHRUN.format(1) + STEPS + FAILED.format("n1: ")},
    "Paddle's environment": logs("w{}") | {"launch.log": BOTH},
    "Horovod": {
        "h.log": console("[rank{}]: ") + "".join(f"Process {rank} exit with status code {137 if rank == DEAD else 1}.\n" for rank in (2, 0, 1, 3))
    },
    "names of the files": logs("worker{}")
    | {"exit.txt": "".join(f"worker{rank} exit {137 if rank == DEAD else 1}\n" for rank in range(4))},
    "names of the files, a status": logs("trainer_{}")
    | {"codes.txt": "".join(f"trainer {rank}: exit status {137 if rank == DEAD else 1}\n" for rank in range(4))},
    "names of the files, in words": logs("task-{}-out")
    | {"run.out": "".join(f"task {rank} exited with code {-9 if rank == DEAD else 1}\n" for rank in range(4))},
    "a killer for memory": logs("train-{}") | {"agent.log": "ERROR agent: container train-2 was OOMKilled\n"},
}  # fmt: skip

LINES: Mapping[str, str] = {
    "torch's spawn": "Traceback (most recent call last):\n  File \"/job/launch.py\", line 9, in <module>\n    spawn(main, nprocs=4)\ntorch.multiprocessing.spawn.ProcessExitedException: process 2 terminated with signal SIGKILL\n",
    "PALS": "x1000c0s0b0n0.hsn: rank 2 died from signal 9\nx1000c0s0b0n0.hsn: rank 0 exited with code 1\n",
    "jsrun": "ERROR:  One or more process (first noticed rank 2) terminated with signal 9\n",
    "gunicorn's words": f"[2026-11-16 02:02:07 +0000] [1] [ERROR] Worker (pid:{PIDS[2]}) was sent SIGKILL! Perhaps out of memory?\n",
    "circus": f"2026-11-16 02:02:07 circus[1] [INFO] process {PIDS[2]} terminated by signal 9\n",
    "perl": f"child {PIDS[2]} died with signal 9, without coredump\n",
    "strace": f"[pid {PIDS[2]}] +++ killed by SIGKILL +++\n",
    "s6": "s6-supervise w2: process killed by signal 9\n",
    "an object": '{"ts":"2026-11-16T02:02:07Z","event":"worker_exit","worker":"w2","exit_code":-9}\n',
    "an object in an object": f'{{"event":"exit","process":{{"pid":{PIDS[2]},"exit_code":-9}}}}\n',
    "YAML": "".join(f"- rank: {rank}\n  exit_code: {-9 if rank == DEAD else 1}\n" for rank in range(4)),
    "a table of names": "NAME   STATE    EXIT\n" + "".join(f"w{rank}     EXITED   {137 if rank == DEAD else 1}\n" for rank in range(4)),
    "a table of numbers": "worker,exit_code\n" + "".join(f"{rank},{-9 if rank == DEAD else 1}\n" for rank in range(4)),
    "codes by number": "exit codes: {0: 1, 1: 1, 2: -9, 3: 1}\n",
    "codes by place": "returncodes: [1, 1, -9, 1]\n",
    "a worker and its pid": f"Worker 7 (pid {PIDS[2]}) FAILED exitcode=-9\n",
    "an event of a pod": "Warning  OOMKilling  kubelet  Container trainer in pod w2 was OOMKilled\n",
    "Chinese": f"进程 {PIDS[2]} 被信号 9 终止\n",
    "behind a bracket": "[watch] w2: exit status 137\n[watch] w0: exit status 1\n",
    "a shell's echo": f"+ wait {PIDS[2]}\npid {PIDS[2]} rc=137\n",
}  # fmt: skip

UNTOLD: Mapping[str, str] = {
    "a loader's worker": "DataLoader worker 2 exited with code -9\n",
    "another program": "evaluation process 1 exited with code 1\n",
    "a rank of a group": "dp rank 1 was killed by signal 9\n",
    "another process": "pid 9999 was killed by signal 9\n",
    "another service": "redis-2 exited with code 137\nexporter exited with code 1\n",
    "a node": "node 1: agent exited with code 1\nnode rank 2 exited with code -9\n",
    "a status of a request": "download by worker 3 failed with status 503\n",
    "codes of a check": "exit codes: [0, 0, 1]\n",
    "a table of tests": "test,exit_code\nloader,1\nmodel,0\n",
    "a table of checks": "name,exit_code\nlint,1\nunit-tests,2\n",
    "another child": "child 9998 died with signal 9\n",
    "what it may have been": "worker 3 failed; possible causes: killed by signal 9\n",
}


def of_nodes(said: str, unit: str, *, dead: str = "n1") -> Files:
    """Two nodes of two processes each, whose logs tell the node's place; the first of the second one is killed."""
    return {
        f"{host}.log": "".join(f"Nov 16 02:00:0{local} {host} env[{50 + local}]: {said.format(node=node, local=local)}\n" for local in (0, 1))
        + "".join(f"Nov 16 02:02:09 {host} systemd[1]: {unit.format(local)}: Main process exited, code=exited, status=1/FAILURE\n" for local in (0, 1) if (host, local) != (dead, 0))
        + (f"Nov 16 02:02:07 {host} systemd[1]: {unit.format(0)}: Main process exited, code=killed, status=9/KILL\n" if host == dead else "")
        for node, host in enumerate(("n0", "n1"))
    }  # fmt: skip


UNITS: Mapping[str, Files] = {
    "instances": of_nodes("NODE_RANK={node} NPROC=2 LOCAL_RANK={local}", "ddp@{}.service"),
    "numbered services": of_nodes("node_rank={node} nproc_per_node=2 local_rank={local}", "train{}.service"),
    "with a dash": of_nodes("GROUP_RANK={node} LOCAL_WORLD_SIZE=2 LOCAL_RANK={local}", "lm-{}.service"),
    "with a dot": of_nodes("--node-rank={node} --nproc-per-node=2 --local-rank={local}", "w.{}.service"),
    "scopes": of_nodes("NODE_RANK={node} NPROC_PER_NODE=2 LOCAL_RANK={local}", "gpu_{}.service"),
}
OTHER_UNITS: Mapping[str, Files] = {
    "one more than places": {name: text + text.splitlines()[-1].replace("@0", "@7").replace("@1", "@7") + "\n" for name, text in of_nodes("NODE_RANK={node} NPROC=2 LOCAL_RANK={local}", "ddp@{}.service").items()},
    "from one on": of_nodes("NODE_RANK={node} NPROC=2 LOCAL_RANK={local}", "ddp@1{}.service"),
    "no place told": of_nodes("node {node} place {local}", "ddp@{}.service"),
}  # fmt: skip
DEVICES: Mapping[str, tuple[str, str]] = {
    "columns": ("(host n{0} gpu{1})", "host  gpu  exit\n" + "".join(f"n{n}    {g}    {137 if n and not g else 1}\n" for n in (0, 1) for g in (0, 1))),
    "CSV": ("on host n{0} device {1}", "host,device,exit_code\n" + "".join(f"n{n},{g},{-9 if n and not g else 1}\n" for n in (0, 1) for g in (0, 1))),
    "records": ("gpu={1} host=n{0}", "".join(f'{{"node": "n{n}", "gpu_id": {g}, "returncode": {-9 if n and not g else 1}}}\n' for n in (0, 1) for g in (0, 1))),
    "logfmt": ("host n{0} cuda:{1}", "".join(f"host=n{n} gpu={g} exit_code={137 if n and not g else 1}\n" for n in (0, 1) for g in (0, 1))),
    "markdown": ("host n{0}, card {1}", "| host | gpu | returncode |\n|---|---|---|\n" + "".join(f"| n{n} | {g} | {-9 if n and not g else 1} |\n" for n in (0, 1) for g in (0, 1))),
}  # fmt: skip

CONTAINERS = tuple(f"container_1779010112233_0412_01_00000{rank + 2}" for rank in range(4))
YARN = "2026-11-16 02:02:07,733 WARN monitor.ContainersMonitorImpl: Container [pid=990,containerID={}] is running {} Current usage: 8.3 GB of 8 GB physical memory used. Killing container.\n"
OLD, NEW = "beyond physical memory limits.", "26843545B beyond the 'PHYSICAL' memory limit."
GIVEN = "".join(
    f"02:00:01 INFO am: {name} on dn{9 - rank} assigned to worker {rank} (rank {rank})\n"
    for rank, name in enumerate(CONTAINERS)
)
IDENTIFIED: Mapping[str, tuple[str, str]] = {
    "containers of YARN": (GIVEN, YARN.format(CONTAINERS[DEAD], NEW)),
    "containers of older YARN": (GIVEN, YARN.format(CONTAINERS[DEAD], OLD)),
    "tasks": (
        "".join(f"started task-7f9c01e{rank}4 as rank {rank}\n" for rank in range(4)),
        "task-7f9c01e24: exit status 137\n",
    ),
    "allocations": (
        "".join(f"rank={rank} alloc=5e0b7c1{rank}\n" for rank in range(4)),
        "alloc 5e0b7c12 exited with code 137\n",
    ),
}
UNIDENTIFIED: Mapping[str, tuple[str, str]] = {
    "a container of another job on that host": (GIVEN, YARN.format("container_1779010112233_0577_01_000004", NEW)),
    "a neighbour's": ("".join(f"rank {rank} connects to task-7f9c01e{rank}4\n" for rank in range(4)), "task-7f9c01e24: exit status 137\n"),
    "of a part of the ranks": ("".join(f"started task-7f9c01e{rank}4 as rank {rank}\n" for rank in (0, 2)), "task-7f9c01e24: exit status 137\n"),
    "of two ranks": ("".join(f"started task-7f9c01e{rank // 2}4 as rank {rank}\n" for rank in range(4)), "task-7f9c01e04: exit status 137\n"),
}  # fmt: skip


def verdict(tmp_path: Path, files: Files) -> tuple[int, ...]:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    return tuple(analyze(tmp_path).verdict.ranks)


@pytest.mark.parametrize("form", TOLD)
def test_who_was_killed(tmp_path: Path, form: str) -> None:
    assert verdict(tmp_path, TOLD[form]) == (DEAD,)


@pytest.mark.parametrize("form", LINES)
def test_who_was_killed_as_one_file_beside_the_logs_tells(tmp_path: Path, form: str) -> None:
    assert verdict(tmp_path, dict(logs("w{}", with_pids=True)) | {"launch.txt": LINES[form]}) == (DEAD,)


@pytest.mark.parametrize("form", UNITS)
def test_units_that_are_numbered_like_the_places_of_a_host_are_these(tmp_path: Path, form: str) -> None:
    assert verdict(tmp_path, UNITS[form]) == (DEAD,)


@pytest.mark.parametrize("form", OTHER_UNITS)
def test_other_numbers_of_units_are_no_places(tmp_path: Path, form: str) -> None:
    assert verdict(tmp_path, OTHER_UNITS[form]) == ()


@pytest.mark.parametrize("form", DEVICES)
def test_an_end_at_a_device_is_of_who_introduced_himself_with_it(tmp_path: Path, form: str) -> None:
    said, table = DEVICES[form]
    files = {
        f"w{rank}.log": own(rank, DEAD, None).replace(
            "world_size=4", "world_size=4 " + said.format(rank // 2, rank % 2), 1
        )
        for rank in range(4)
    }
    assert verdict(tmp_path, files | {"ends.txt": table}) == (DEAD,)


@pytest.mark.parametrize("form", UNTOLD)
def test_an_end_of_somebody_else_names_nobody(tmp_path: Path, form: str) -> None:
    assert verdict(tmp_path, dict(logs("w{}", with_pids=True, dead=None)) | {"x.log": UNTOLD[form]}) == ()


_STOPS = "W0131 10:11:12.000000 4000 torch/multiprocessing/spawn.py:174] Terminating process {} via signal SIGTERM\n"
_SPAWN = "torch.multiprocessing.spawn.ProcessExitedException: process {} terminated with signal {}\n"


@pytest.mark.parametrize(
    ("stopped", "number", "signal", "named"),
    [
        ((0, 1, 3), 2, "SIGSEGV", (2,)),
        ((0, 1, 3), 2, "SIGBUS", (2,)),
        ((1, 2, 3), 0, "SIGKILL", (0,)),
        ((0, 1), 2, "SIGSEGV", ()),  # another may be meant: the third of another node
        ((0, 1, 3), 1, "SIGSEGV", ()),
    ],
)
def test_the_only_one_that_a_launcher_need_not_stop_is_whose_number_it_tells(
    tmp_path: Path, stopped: Sequence[int], number: int, signal: str, named: Sequence[int]
) -> None:
    text = console("trainer {0}: ").replace("pid=", "pid ") + "".join(_STOPS.format(PIDS[rank]) for rank in stopped)
    assert verdict(tmp_path, {"run.log": text + _SPAWN.format(number, signal)}) == tuple(named)


def test_a_name_of_two_ranks_is_nobodys(tmp_path: Path) -> None:
    said = "02:02:07 INFO exited: ddp_00 (terminated by SIGKILL; not expected)\n"
    files = {
        f"{host}/ddp_0{place}.log": own(2 * at + place, None, None) for at, host in enumerate("pq") for place in (0, 1)
    }
    for host in "pqr":
        (tmp_path / host).mkdir()
    assert verdict(tmp_path, files | {"r/s.log": said}) == ()
    assert verdict(tmp_path, {"q/s.log": said}) == (2,)


def test_what_another_program_ended_with_is_no_failure_of_the_job(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("rank 0 of 1 pid 7 started\nstep 1 loss 2.1\nstep 2 loss 2.0\n")
    (tmp_path / "ci.csv").write_text("name,exit_code\nlint,1\nunit-tests,2\n")
    (tmp_path / "run.log").write_text("exporter-2 exited with code 1\n")
    assert analyze(tmp_path).verdict.kind == "unknown"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("all 4 processes exited with code 0\n", "healthy"),
        ("launcher: all 4 workers exited normally\n", "healthy"),
        ("exit codes: [0, 0, 0, 0]\n", "healthy"),
        ("".join(f"process {rank} exited with code 0\n" for rank in range(4)), "healthy"),
        ("all 3 processes exited with code 0\n", "unknown"),  # of four
        ("exit codes: [0, 0]\n", "unknown"),
        ("", "unknown"),
    ],
)
def test_all_ended_well(tmp_path: Path, text: str, kind: str) -> None:
    steps = "".join(f"step {step} loss {2.9 - step / 10:.3f}\n" for step in range(6))
    files = {f"w{rank}.log": f"dist ready rank={rank} world_size=4\n{steps}" for rank in range(4)}
    for name, own_lines in (files | {"launch.txt": text}).items():
        (tmp_path / name).write_text(own_lines)
    assert analyze(tmp_path).verdict.kind == kind


FOREIGN = "Jan 31 10:20:00 {} systemd[1]: session@77.service: Main process exited, code=exited, status=1/FAILURE\n"


def of_hosts(said: Mapping[str, str]) -> Files:
    """Logs of two launchers, of two ranks each, and what each says at the end; on the second host another program failed."""
    files = {}
    for at, host in enumerate(("n7", "n8")):
        ranks = (2 * at, 2 * at + 1)
        lines = [
            f"[rank{rank}]: {host}:81{rank}:81{rank} [{rank % 2}] NCCL INFO comm 0x1 rank {rank} nranks 4 cudaDev {rank % 2} commId 0x9 - Init COMPLETE"
            for rank in ranks
        ]
        lines += [
            f"[rank{rank}]: 2026-01-31 10:{step:02d}:00 step {step}/6 loss 2.{9 - step}"
            for step in range(1, 7)
            for rank in ranks
        ]
        files[f"{host}.log"] = "\n".join([*lines, said[host]]) + "\n"
    return files | {"syslog_n8.txt": FOREIGN.format("n8")}


@pytest.mark.parametrize(
    ("first", "second", "kind"),
    [
        ("launcher: all 2 workers exited 0", "launcher: all 2 workers exited 0", "healthy"),
        ("all 2 processes exited with code 0", "all 2 processes have exited normally", "healthy"),
        ("launcher: all 2 workers exited 0", "", None),  # nobody speaks for the second host
        ("launcher: all 2 workers exited 0", "launcher: all 3 workers exited 0", None),  # of one more than is known
        (
            "launcher: all 2 workers exited 0",
            "launcher: all 2 workers exited 0\n[rank2]: 2026-01-31 10:08:00 step 7/9 loss 2.1",
            None,
        ),
    ],
)
def test_launchers_speak_for_the_ranks_of_their_place(
    tmp_path: Path, first: str, second: str, kind: str | None
) -> None:
    for name, text in of_hosts({"n7": first, "n8": second}).items():
        (tmp_path / name).write_text(text)
    verdict = analyze(tmp_path).verdict
    assert (verdict.kind == "healthy") is (kind == "healthy")
    assert verdict.ranks == []


def test_fields_behind_a_message_tell_whose_end_it_is(tmp_path: Path) -> None:
    """Two hosts have a process of one number."""
    joined = [f'ts=1 level=info host={h} msg="joined" node={n} nodes=2 slots=2\n' for n, h in enumerate(("gq7", "gq2"))]
    begun = [
        f'ts=2 level=info host={h} msg="spawned" pid={p} slot={g}\n'
        for h, g, p in (("gq7", 0, 4120), ("gq7", 1, 4121), ("gq2", 0, 4121), ("gq2", 1, 4120))
    ]
    ended = 'ts=2026-02-19T00:52:18.000Z level=error host=gq2 msg="worker exited" pid=4121 signal=killed code=-1\n'
    others = "".join(
        f'ts=2026-02-19T00:52:23.000Z level=error host={h} msg="worker exited" pid={p} signal=none code=1\n'
        for h, p in (("gq7", 4120), ("gq7", 4121), ("gq2", 4120))
    )
    files = {"agents.log": "".join([*joined, *begun, ended, others]), "gang.toml": 'rank_formula = "node*slots+slot"\n'}
    assert verdict(tmp_path, files) == (2,)


@pytest.mark.parametrize("form", IDENTIFIED)
def test_an_identifier_is_of_the_rank_that_a_launcher_gave_it_to(tmp_path: Path, form: str) -> None:
    given, ended = IDENTIFIED[form]
    assert verdict(tmp_path, {**logs("w{}"), "am.log": given, "nm.log": ended}) == (DEAD,)


@pytest.mark.parametrize("form", UNIDENTIFIED)
def test_an_identifier_of_none_or_of_two_names_nobody(tmp_path: Path, form: str) -> None:
    given, ended = UNIDENTIFIED[form]
    assert verdict(tmp_path, {**logs("w{}"), "am.log": given, "nm.log": ended}) == ()


def test_ends_of_all_by_number_are_of_the_ranks_that_left_a_line(tmp_path: Path) -> None:
    """Where the launcher calls one of them the first, this is what it saw first, and no more."""
    said = "".join(f"[1,{rank}]<stdout>:step {step} loss 2.{step}\n" for step in range(9) for rank in range(4))
    ends = "".join(f"Process {rank} exit with status code 137.\n" for rank in (2, 0, 1, 3))
    (tmp_path / "run.log").write_text(f"{said}{ends}Process name: [1,2]\nExit code:    137\n")
    assert analyze(tmp_path).verdict.ranks == []
