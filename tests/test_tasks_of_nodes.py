"""A launcher's task that begins the processes of a node is none of them; a file that tells of several places is no place."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from forensics import analyze
from parsers import read

NODES, EACH = 3, 2
RAISED = """Traceback (most recent call last):
  File "/job/fit.py", line 90, in <module>
    spawn(work, nprocs=2)
ProcessRaisedException:

-- Process 1 terminated with the following error:
Traceback (most recent call last):
  File "/job/fit.py", line 41, in work
    row = table[key]
KeyError: 'q-1177'
"""
LOST = """-- Process 0 terminated with the following error:
Traceback (most recent call last):
  File "/job/fit.py", line 60, in work
    dist.all_reduce(total)
  File "/opt/site-packages/torch/distributed/distributed_c10d.py", line 2806, in all_reduce
    work = group.allreduce([tensor], opts)
RuntimeError: Connection closed by peer [10.0.0.9]:4711
"""
STEPS = "".join(f"epoch 1 it {step} loss 2.{step}\n" for step in range(10, 19))
# what a job script calls with, and what each task says of itself
FORMS = {
    "a size in the environment": ("--rank $SLURM_PROCID", "host={host} SLURM_PROCID={node} SLURM_GPUS_ON_NODE=2\nrank = SLURM_PROCID * ngpus + gpu\n"),
    "a size of its own": ("--rank=$SLURM_PROCID", "host={host} SLURM_PROCID={node} num_devices=2\nglobal_rank=SLURM_PROCID*num_devices+dev\n"),
    "a number": ("--rank $SLURM_PROCID", "on host={host}: SLURM_PROCID={node}\nRANK = SLURM_PROCID * 2 + local\n"),
}  # fmt: skip


def job(call: str, says: str) -> dict[str, str]:
    script = f"#!/bin/bash\n#SBATCH -N 3 --ntasks-per-node=1\nsrun -o fit.%t.out python fit.py {call}\n"
    ends = (LOST, RAISED, LOST)
    hosts = ("kx4", "kx9", "kx2")
    tasks = {f"fit.{node}.out": says.format(host=hosts[node], node=node) + STEPS + ends[node] for node in range(NODES)}
    return {"job.sh": script, **tasks}


def written(folder: Path, files: Mapping[str, str]) -> str:
    bundle = folder / "bundle"
    bundle.mkdir()
    for name, text in files.items():
        (bundle / name).write_text(text)
    return str(bundle)


@pytest.mark.parametrize("form", FORMS)
def test_whom_a_task_of_a_node_quotes_is_counted_from_the_first_of_that_node(tmp_path: Path, form: str) -> None:
    verdict = analyze(written(tmp_path, job(*FORMS[form]))).verdict
    assert (verdict.ranks, verdict.hosts, verdict.cause) == ([1 * EACH + 1], ["kx9"], "exception")


@pytest.mark.parametrize("says", ["", "host={host}\n", "world_size=6 on host={host}\n"])
def test_without_a_formula_the_number_of_a_task_names_nobody(tmp_path: Path, says: str) -> None:
    verdict = analyze(written(tmp_path, job("--rank $SLURM_PROCID", says))).verdict
    assert verdict.ranks == []


ECHOES = {
    "PMI": "wrap: {host} pid={pid} PMI_RANK={rank} PMI_SIZE=6 MPI_LOCALRANKID={local}",
    "MVAPICH": "{host}: pid {pid} MV2_COMM_WORLD_RANK={rank} MV2_COMM_WORLD_LOCAL_RANK={local} MV2_COMM_WORLD_SIZE=6",
    "Open MPI": "start host={host} pid={pid} OMPI_COMM_WORLD_RANK={rank} OMPI_COMM_WORLD_LOCAL_RANK={local} OMPI_COMM_WORLD_SIZE=6",
}


@pytest.mark.parametrize("echo", ECHOES.values(), ids=ECHOES)
def test_lines_of_several_hosts_beside_other_files_keep_their_hosts(tmp_path: Path, echo: str) -> None:
    """The places there are in no order of the ranks: only the lines tell them."""
    where = {0: ("kx2", 511, 0), 1: ("kx2", 512, 2), 2: ("kx2", 513, 1), 3: ("kx7", 512, 1), 4: ("kx7", 511, 2), 5: ("kx7", 519, 0)}  # fmt: skip
    lines = [echo.format(host=host, pid=pid, rank=rank, local=local) for rank, (host, pid, local) in where.items()]
    bundle = written(tmp_path, {"out.log": "\n".join(lines) + "\n" + STEPS, "hosts": "kx2:3\nkx7:3\n"})
    claims = read(bundle).tables["ranks"].drop_nulls(["rank", "host", "pid"])
    assert {rank: (host, pid) for rank, host, pid in claims.select("rank", "host", "pid").iter_rows()} == {
        rank: (host, pid) for rank, (host, pid, _) in where.items()
    }


FRONTS = {"a cluster of three": ("head", "worker1", "worker2"), "other names": ("lm-head-2f", "lm-w-1", "lm-w-2")}


@pytest.mark.parametrize("names", FRONTS.values(), ids=FRONTS)
@pytest.mark.parametrize("option", ["--node_rank {node}", "--node-rank={node}"])
def test_the_rank_before_a_launch_of_a_node_is_that_of_the_node(
    tmp_path: Path, names: tuple[str, ...], option: str
) -> None:
    def front(node: int) -> str:
        return f"({names[node]}, rank={node}, pid={900 + node}" + (f", ip=10.4.0.{node}) " if node else ") ")

    lines = [
        front(n) + "+ torchrun --nnodes 3 --nproc_per_node 2 " + option.format(node=n) + " fit.py" for n in range(3)
    ]
    lines += [
        f"{front(n)}[default{at}]:it {step} loss {step}.{n}{at}" for step in (1, 2) for n in range(3) for at in (0, 1)
    ]
    steps = read(written(tmp_path, {"stream.log": "\n".join(lines) + "\n"})).tables["steps"]
    told = {(step, loss): rank for step, loss, rank in steps.select("step", "loss", "rank").iter_rows()}
    assert told == {(step, step + n / 10 + at / 100): 2 * n + at for step in (1, 2) for n in range(3) for at in (0, 1)}


def test_without_a_launch_the_numbers_of_nodes_are_no_ranks_of_several_on_each(tmp_path: Path) -> None:
    lines = [f"(w{n}, rank={n}, pid=90{n}) [default{at}]:it {step} loss {step}.{n}{at}" for step in (1, 2) for n in range(3) for at in (0, 1)]  # fmt: skip
    steps = read(written(tmp_path, {"stream.log": "\n".join(lines) + "\n"})).tables["steps"]
    assert steps["rank"].drop_nulls().to_list() == []


LISTINGS = {
    "of Slurm": ("PID      JOBID    STEPID   LOCALID GLOBALID\n", "{pid}    771      0        {local}        {rank}\n"),
    "of another launcher": ("PID,LOCAL_RANK,GLOBAL_RANK\n", "{pid},{local},{rank}\n"),
}


def heads(pid: int, words: str) -> str:
    return f"2026-02-03 04:05:06,100 [{pid}] {words}\n"


def cyclic(listing: str, end: str) -> dict[str, str]:
    """Ranks dealt out in turn, numbers of processes that come again on the other host, and lines that have only these."""
    head, row = LISTINGS[listing]
    files = {"queue.txt": "JOBID NAME ST NODES NODELIST\n771 fit R 2 gx[11-12]\n"}
    for node, host in enumerate(("gx11", "gx12")):
        pids = [4100 + 3 * at for at in range(3)]
        files[f"list.{host}.txt"] = head + "".join(
            row.format(pid=pid, local=at, rank=2 * at + node) for at, pid in enumerate(pids)
        )
        lines = [
            heads(pid, f"INFO fit: step {step} loss 2.{step}{node}{at}")
            for step in (1, 2, 3)
            for at, pid in enumerate(pids)
        ]
        files[f"out-{host}.log"] = "".join(lines) + (end.format(pid=pids[1]) if node else "")
    return files


OWN = 'Traceback (most recent call last):\n  File "/job/fit.py", line 31, in step\n    loss = model(batch)\n  File "/job/net.py", line 7, in forward\n    return self.table[key]\nKeyError: 901\n'  # fmt: skip


@pytest.mark.parametrize("listing", LISTINGS)
@pytest.mark.parametrize("words", ["uncaught exception, leaving", "Unhandled exception in step 4", "unhandled error:"])
def test_a_listing_of_each_host_tells_whose_number_stands_before_a_line(
    tmp_path: Path, listing: str, words: str
) -> None:
    end = "2026-02-03 04:05:06,100 [{pid}] ERROR fit: " + words + "\n" + OWN
    verdict = analyze(written(tmp_path, cyclic(listing, end))).verdict
    assert (verdict.ranks, verdict.hosts, verdict.cause) == ([3], ["gx12"], "exception")


@pytest.mark.parametrize("between", ["ERROR fit: cannot write the summary\n", "ERROR fit: uncaught exception\n" + OWN])
def test_a_traceback_behind_another_s_words_or_beside_another_s_is_nobody_s(tmp_path: Path, between: str) -> None:
    end = "2026-02-03 04:05:06,100 [{pid}] " + between + OWN
    assert analyze(written(tmp_path, cyclic("of Slurm", end))).verdict.ranks == []
