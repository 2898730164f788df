"""Whole bundles, small, in which only who it is has to be worked out: by a loop's trace, a pod's description, steps of a scheduler, lists of devices, a list of
nodes; each beside the nearest one in which nobody may be named."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from forensics import analyze
from parsers import read
from tests.sources import written

FAILED = [
    "Traceback (most recent call last):",
    '  File "/job/fit.py", line 9, in run',
    "    step(batch)",
    "KeyError: 'ids'",
]
LOST = [*FAILED[:3], "torch.distributed.DistBackendError: NCCL error: remote process exited or there was a network error, NCCL version 2.21.5", "Last error:", "socketProgress: Connection closed by remote peer 10.1.1.9<40811>"]  # fmt: skip
Files = Mapping[str, Sequence[str]]


def named(folder: Path, files: Files) -> tuple[str, str | None, list[int]]:
    verdict = analyze(str(written(folder, files))).verdict
    return verdict.kind, verdict.cause, [*verdict.ranks]


# --- a loop over hosts and their devices, as `bash -x` shows it, and logs called after both


def loop(
    hosts: Sequence[str], log: str = "logs/{host}.gpu{at}.log", *, died: tuple[str, int], traced: bool = True
) -> Files:
    files: dict[str, list[str]] = {"go.trace": ["+ r=0"]} if traced else {"go.trace": ["+ r=0", "+ wait"]}
    for node, host in enumerate(hosts):
        for at in (0, 1):
            call = f"cd fit; CUDA_VISIBLE_DEVICES={at} RANK={2 * node + at} WORLD_SIZE={2 * len(hosts)} MASTER_ADDR={hosts[0]} python fit.py"
            files["go.trace"] += [f"+ ssh -n {host} '{call}'", f"+ r={2 * node + at + 1}"] if traced else []
            files[log.format(host=host, at=at)] = [
                "step 1 loss 2.1",
                "step 2 loss 2.0",
                *(FAILED if (host, at) == died else LOST),
            ]
    return files


@pytest.mark.parametrize("hosts", [("elk-b", "elk-a", "elk-d"), ("pine", "oak", "elm"), ("n7", "n2", "n5")])
def test_a_number_in_a_log_s_name_counts_at_its_place(tmp_path: Path, hosts: Sequence[str]) -> None:
    assert named(tmp_path, loop(hosts, died=(hosts[1], 0))) == ("crash", "exception", [2])


def test_a_log_that_was_lost_changes_none_of_the_others(tmp_path: Path) -> None:
    files = dict(loop(("elk-b", "elk-a", "elk-d"), died=("elk-a", 1)))
    del files["logs/elk-d.gpu1.log"]
    assert named(tmp_path, files) == ("crash", "exception", [3])


def test_without_the_loop_nobody_knows_which_place_is_first(tmp_path: Path) -> None:
    assert named(tmp_path, loop(("elk-b", "elk-a", "elk-d"), died=("elk-a", 0), traced=False))[2] == []


# --- stacks and variables, by pid, in folders that are called by words


def stacks(folders: Sequence[str], odd: int) -> Files:
    files: dict[str, list[str]] = {}
    for node, host in enumerate(folders):
        files[f"{host}/environ.txt"] = []
        for at in (0, 1):
            rank, pid = 2 * node + at, 4100 + 10 * node + at
            files[f"{host}/environ.txt"] += [f"== {pid}", f"LOCAL_RANK={at}", f"RANK={rank}", "WORLD_SIZE=4"]
            frames = (
                ["open (io.py:30)", "save_shard (fit.py:12)"]
                if rank == odd
                else ["barrier (torch/distributed/distributed_c10d.py:4000)"]
            )
            head = [f"Process {pid}: python -u fit.py", "Python v3.11.9 (/usr/bin/python3.11)", ""]
            files[f"{host}/spy.{pid}"] = [
                *head,
                f'Thread {pid} (active): "MainThread"',
                *(f"    {one}" for one in (*frames, "main (fit.py:40)")),
            ]
    return files


@pytest.mark.parametrize("folders", [("osprey", "kestrel"), ("left", "right"), ("h1", "h2")])
def test_folders_whose_files_differ_in_pids_alone_are_places(tmp_path: Path, folders: Sequence[str]) -> None:
    found = analyze(str(written(tmp_path, stacks(folders, 2))), hung=True).verdict
    assert (found.kind, [*found.ranks]) == ("hang", [2])


# --- one pod's description


def pod(reason: Sequence[str] = ("Reason:           Evicted", "Message:          Pod ephemeral local storage usage exceeds the total limit of containers 200Gi.")) -> list[str]:  # fmt: skip
    return [
        "Name:             fit-worker-3", "Namespace:        ml", "Node:             10.9.6.21/", "Labels:           volcano.sh/task-spec=worker",
        "Annotations:      volcano.sh/template-uid: fit-worker", "Status:           Failed", *reason, "Controlled By:    Job/fit", "Containers:", "  worker:",
        "    Image:      hub.lab/fit:7", "    State:          Terminated", "      Reason:       Error", "      Exit Code:    0",
        "    Environment:", "      MASTER_ADDR:    fit-master-0.fit", "      WORLD_SIZE:     5", "      RANK:           4", "Events:  <none>",
    ]  # fmt: skip


def pods(others: int = 4, lost: Sequence[str] = LOST) -> Files:
    logs = {
        name: ["step 1 loss 2.1", *lost]
        for name in ("fit-master-0.log", *(f"fit-worker-{at}.log" for at in range(others - 1)))
    }
    return {"fit-worker-3.describe.txt": pod(), **logs}


def test_whose_pod_was_evicted_where_all_others_lost_a_peer(tmp_path: Path) -> None:
    assert named(tmp_path, pods()) == ("crash", "killed", [4])


@pytest.mark.parametrize(
    "files",
    [pods(others=3), pods(lost=["step 2 loss 2.0"]), {**pods(), "fit-worker-1.log": ["step 1 loss 2.1", *FAILED]}],
    ids=["one log is lost", "nobody lost anybody", "another failed by itself"],
)
def test_where_the_others_do_not_all_say_so_it_is_not_named(tmp_path: Path, files: Files) -> None:
    assert 4 not in named(tmp_path, files)[2]


@pytest.mark.parametrize(
    "prompt",
    [[], ["$ kubectl -n ml describe pod fit-worker-3"], ["ana@login1:~$ kubectl describe pod fit-worker-3 -n ml"]],
)
@pytest.mark.parametrize("name", ["fit-worker", "10.9.6.21", "fit-master-0.fit", "Job/fit", "hub.lab/fit:7"])
def test_a_document_that_stands_alone_tells_its_own_name_alone(tmp_path: Path, name: str, prompt: list[str]) -> None:
    ranks = read(
        str(written(tmp_path, {"fit-worker-3.txt": [*prompt, *pod()], "fit-worker-1.log": ["step 1"]}))
    ).tables["ranks"]
    told = {(rank, host or own) for rank, host, own in ranks.select("rank", "host", "name").iter_rows() if host or own}
    assert (4, "fit-worker-3") in told and not {own for _, own in told} & {name, "fit-worker-1"}


def test_a_log_under_a_command_is_no_document(tmp_path: Path) -> None:
    files = {
        f"pane-{at}.txt": [f"$ launch --nnodes 2 --rank {at} fit.py", f"LAUNCH nnodes: 2 rank: {at}"] for at in (0, 1)
    }
    assert read(str(written(tmp_path, files))).tables["ranks"]["rank"].drop_nulls().to_list() == []


# --- a pod that found no place


def waiting(ranks: Sequence[int] = (0, 1, 2, 3)) -> Files:
    table = ["NAME           READY   STATUS    RESTARTS   AGE   IP           NODE"]
    logs = {}
    for at in range(4):
        is_here = at != 2
        table += [f"fit-w-{at}        {'1/1' if is_here else '0/1'}     {'Running' if is_here else 'Pending'}   0          38m   {f'10.8.3.{at}' if is_here else '<none>'}     {f'gpu{at}' if is_here else '<none>'}"]  # fmt: skip
        if is_here:
            logs[f"logs/fit-w-{at}.txt"] = [f"host fit-w-{at}: RANK={at} WORLD_SIZE=4", "rendezvous ..."]
    logs["logs/fit-w-0.txt"] += [
        "torch.distributed.DistStoreError: Timed out after 1801 seconds waiting for clients. 3/4 clients joined."
    ]
    spec = [
        line
        for at, rank in enumerate(ranks)
        for line in (f"fit-w-{at}:", "  env:", f"    RANK: {rank}", "    WORLD_SIZE: 4")
    ]
    return {"pods.txt": table, "pods.yaml": spec, **logs}


def test_a_pod_that_found_no_place_is_the_rank_that_misses(tmp_path: Path) -> None:
    assert named(tmp_path, waiting()) == ("launch", "missing_ranks", [2])


def test_of_a_pod_that_shares_its_rank_nobody_is_known(tmp_path: Path) -> None:
    assert named(tmp_path, waiting((0, 1, 1, 3)))[2] == []


# --- a step of the scheduler for each process, called by a name of its own


def steps(names: Sequence[str], *, killed: int, order: Sequence[int] = (3, 0, 2, 1)) -> Files:
    table = [
        "JobID|JobName|State|ExitCode|Start|End|NodeList",
        "77|fit|FAILED|1:0|2026-03-01T08:00:00|2026-03-01T10:11:30|cn[05,07]",
    ]
    trace, logs = [], {}
    for rank, name in enumerate(names):
        host = name.partition("-")[0]
        trace.append(
            f"+ srun --exact -N1 -n1 -w {host} -J {name} --export=ALL,RANK={rank},WORLD_SIZE=4 -o out/{name}.txt python fit.py"
        )
        logs[f"out/{name}.txt"] = ["step 1 loss 2.1", *([] if rank == killed else LOST)]
    for step, rank in enumerate(order):
        code = "0:9" if rank == killed else "1:0"
        second = 12 if rank == killed else 20 + rank
        table.append(
            f"77.{step}|{names[rank]}|FAILED|{code}|2026-03-01T08:00:01|2026-03-01T10:11:{second}|{names[rank].partition('-')[0]}"
        )
    return {"sacct.txt": table, "slurm-77.out": trace, **logs}


@pytest.mark.parametrize("killed", [1, 2])
def test_a_step_that_is_called_as_a_process_is_that_one(tmp_path: Path, killed: int) -> None:
    assert named(tmp_path, steps(("cn05-a", "cn07-a", "cn05-b", "cn07-b"), killed=killed)) == (
        "crash",
        "killed",
        [killed],
    )


def test_steps_of_one_name_are_nobody(tmp_path: Path) -> None:
    files = dict(steps(("cn05-a", "cn07-a", "cn05-b", "cn07-b"), killed=2))
    files["sacct.txt"] = [line.replace(f"|{name}|", "|python|") for line in files["sacct.txt"] for name in ["cn05-b"]]
    files["sacct.txt"] = ["|".join(["python" if at == 1 and "." in cells[0] else cell for at, cell in enumerate(cells)]) for cells in (line.split("|") for line in files["sacct.txt"])]  # fmt: skip
    assert named(tmp_path, files)[2] == []


# --- the devices that a host lets its processes see, and their addresses


def devices(seen: str = "4,5,6,7", world: str = "{'gn12': [4, 5, 6, 7], 'gn11': [0, 1, 2, 3]}") -> Files:
    at = "[2026-05-02 21:10:11,341] [INFO]"
    lines = [
        f"gn12: {at} [launch.py:146:main] WORLD INFO DICT: {world}",
        f"gn12: {at} [launch.py:163:main] global_rank_mapping=defaultdict(<class 'list'>, {{'gn12': [0, 1, 2, 3], 'gn11': [4, 5, 6, 7]}})",
        f"gn12: {at} [launch.py:168:main] Setting CUDA_VISIBLE_DEVICES={seen}",
        *(f"gn12: {at} [launch.py:256:main] process {71821 + n} spawned with command: ['python', '-u', 'fit.py', '--local_rank={n}']" for n in range(4)),
        f"gn11: {at} [launch.py:168:main] Setting CUDA_VISIBLE_DEVICES=0,1,2,3",
        *(f"gn11: {at} [launch.py:256:main] process {20310 + n} spawned with command: ['python', '-u', 'fit.py', '--local_rank={n}']" for n in range(4)),
    ]  # fmt: skip
    buses = ("19", "3B", "4C", "5D", "9B", "AB", "BB", "DB")
    table = [f"{n}, GPU-6f1a0c7{n}-3d0e-11ef-8a1b-90cc2d41be07, 00000000:{bus}:00.0" for n, bus in enumerate(buses)]
    hosts = ["gn12 slots=4", "gn11 slots=4"]
    return {"hostfile": hosts, "fit.out": lines, "gn12_smi.csv": ["index, uuid, pci.bus_id", *table]}


def at_bus(folder: Path, files: Files) -> dict[str, int]:
    ranks = read(str(written(folder, files))).tables["ranks"].drop_nulls(["rank", "pci"])
    return {str(pci): rank for rank, pci in ranks.select("rank", "pci").iter_rows()}


@pytest.mark.parametrize(("seen", "rank"), [("4,5,6,7", 2), ("7,6,5,4", 1), ("6,4,5,7", 0)])
def test_whose_device_an_address_is_by_the_order_in_which_it_is_seen(tmp_path: Path, seen: str, rank: int) -> None:
    assert at_bus(tmp_path, devices(seen))["0000:bb:00.0"] == rank


@pytest.mark.parametrize("seen", ["4,5,6", "4,5,6,7,8"])
def test_a_list_of_more_or_fewer_than_the_processes_tells_none(tmp_path: Path, seen: str) -> None:
    assert at_bus(tmp_path, devices(seen)) == {}


def test_a_mapping_that_lists_devices_is_none_of_ranks(tmp_path: Path) -> None:
    files = dict(devices())
    files["fit.out"] = [line for line in files["fit.out"] if "global_rank" not in line]
    ranks = read(str(written(tmp_path, files))).tables["ranks"]
    assert not {(rank, host) for rank, host in ranks.select("rank", "host").iter_rows()} & {(4, "gn12"), (0, "gn11")}


# --- nodes that Slurm counts


def node_ids(launch: str = "--node_rank $SLURM_NODEID", nodes: str = "gpu[0118,0204]", told: int = 2) -> Files:
    files: dict[str, list[str]] = {
        "run.sh": ["#!/bin/bash", f"#SBATCH -N {told} --ntasks-per-node=1", f"srun bash -c 'torchrun --nnodes 2 --nproc_per_node 2 {launch} --log_dir log/$(hostname -s) fit.py'"],
        "job.txt": ["JobId=5 JobName=fit", f"   NodeList={nodes}", f"   NumNodes={told} NumTasks=2"],
    }  # fmt: skip
    for host in ("gpu0204", "gpu0118"):
        for at in (0, 1):
            end = FAILED if (host, at) == ("gpu0204", 0) else LOST
            files[f"log/{host}/none_k1x/attempt_0/{at}/stderr.log"] = ["step 1 loss 2.1", *end]
    return files


def test_nodes_are_counted_in_the_order_of_the_job_s_list(tmp_path: Path) -> None:
    assert named(tmp_path, node_ids()) == ("crash", "exception", [2])


@pytest.mark.parametrize(
    "files",
    [
        node_ids("--rdzv_backend c10d --rdzv_endpoint gpu0118:29400"),
        node_ids(told=3),
        node_ids(nodes="gpu[0118,0204,0310]"),
    ],
    ids=["they agree on it among themselves", "fewer are listed", "more are listed"],
)
def test_where_nobody_counts_them_so_nobody_is_named(tmp_path: Path, files: Files) -> None:
    assert named(tmp_path, files)[2] == []


# --- what happened to others before all came to their end


def ended(second: int = 5, last: str = "training complete, 30/30 steps") -> Files:
    kill = f"Jul 22 18:2{second}:05 lab4 systemd[1]: user@1009.service: A process of this unit has been killed by the OOM killer."
    logs = {}
    for host in ("lab3", "lab4"):
        steps_ = [f"07/22/2026 18:{27 + at}:01 - INFO - step {10 * (at + 1)}/30 loss 1.{9 - at}" for at in range(3)]
        logs[f"fit_{host}.log"] = [*steps_, f"07/22/2026 18:29:20 - INFO - {last}"]
    return {"journal_lab4.txt": [kill], **logs}


def test_an_end_of_nobody_before_the_last_step_of_a_job_that_came_to_its_end(tmp_path: Path) -> None:
    assert named(tmp_path, ended())[0] == "healthy"


def test_nor_is_it_well_where_one_does_not_say_so(tmp_path: Path) -> None:
    files = dict(ended())
    files["fit_lab4.log"] = files["fit_lab4.log"][:-1]
    assert named(tmp_path, files)[0] != "healthy"


# --- a kernel's log that is called after a host on which a script begins the job


def begun(hosts: Sequence[str], killed: str) -> Files:
    turns = [
        "i=0",
        f"for h in {' '.join(hosts)}; do",
        "  ssh $h docker run -d --rm -e NODE_RANK=$i -e NNODES=2 fit:7 python fit.py --nproc 2",
        "  i=$((i+1))",
        "done",
    ]
    kernel = ["[Mon Mar 30 09:57:21 2026] python invoked oom-killer: gfp_mask=0x140cca, order=0, oom_score_adj=0", "[Mon Mar 30 09:57:21 2026] Out of memory: Killed process 918233 (python) total-vm:291722204kB, anon-rss:112610380kB, file-rss:84520kB, shmem-rss:65180kB, UID:0 pgtables:247708kB oom_score_adj:0"]  # fmt: skip
    return {
        "up.sh": turns,
        f"{killed}_dmesg.txt": kernel,
        f"{hosts[0]}.log": ["[main] node 0 of 2: spawning ranks 0-1", "[train] 09:35:05 step 50 psnr 23.9", *LOST],
    }


@pytest.mark.parametrize("hosts", [("n30", "n31"), ("elk-3", "elk-1")])
def test_the_host_of_a_kernel_s_log_is_one_of_those_that_a_script_lists(tmp_path: Path, hosts: Sequence[str]) -> None:
    verdict = analyze(str(written(tmp_path, begun(hosts, hosts[1])))).verdict
    assert (verdict.cause, [*verdict.hosts], [*verdict.ranks]) == ("host_oom", [hosts[1]], [])


def test_a_host_that_no_script_lists_is_none_of_the_job(tmp_path: Path) -> None:
    verdict = analyze(str(written(tmp_path, begun(("n30", "n31"), "n77")))).verdict
    assert [*verdict.hosts] == []


@pytest.mark.parametrize("code", ["1:0", "0:9"])
def test_a_step_of_another_program_is_no_process_of_the_job(tmp_path: Path, code: str) -> None:
    table = [
        "JobID|JobName|State|ExitCode|Start|End|NodeList",
        "77.0|train|COMPLETED|0:0|2026-03-01T08:00:00|2026-03-01T10:11:30|cn05",
    ]
    table.append(f"77.1|evaluate|FAILED|{code}|2026-03-01T10:12:00|2026-03-01T10:13:00|cn05")
    logs = {
        f"rank_{rank}.log": [
            f"rank {rank} of world size 2",
            "step 1/2 loss 2.1",
            "step 2/2 loss 2.0",
            "training complete",
        ]
        for rank in (0, 1)
    }
    assert named(tmp_path, {"sacct.txt": table, **logs})[2] == []


@pytest.mark.parametrize(("takes", "is_told"), [("torch.cuda.set_device(local_rank)", True), ("torch.cuda.set_device(3 - local_rank)", False), ("torch.cuda.set_device(args.gpus[local_rank])", False)])  # fmt: skip
def test_a_script_may_take_what_it_sees_in_another_order(tmp_path: Path, takes: str, is_told: bool) -> None:
    assert bool(at_bus(tmp_path, {**devices(), "fit.py": ["import torch", f"    {takes}"]})) is is_told
