"""Whose process is whose where one node runs the whole job, and its launcher counts processes there alone: one fact, one answer."""

from pathlib import Path

import pytest

from parsers import read
from tests.sources import written

PIDS = (51873, 51870, 51877, 51871, 51874, 51872, 51876, 51875)  # by rank


def each(form: str, *before: str) -> list[str]:
    return [*before, *(form.format(pid=PIDS[local], local=local, nth=local + 1) for local in (3, 0, 1, 2, 7, 6, 5, 4))]


FORMS = {
    "DeepSpeed's": each(
        "[2026-03-07 11:20:31,118] [INFO] [launch.py:253:main] process {pid} spawned with command: ['python', '-u', 'train.py', '--local_rank={local}']",
        "[2026-03-07 11:20:31,116] [INFO] [launch.py:151:main] nnodes=1, num_local_procs=8, node_rank=0",
        "[2026-03-07 11:20:31,116] [INFO] [launch.py:163:main] dist_world_size=8",
    ),
    "its size alone": each(
        "process {pid} spawned with command: ['python', 'train.py', '--local_rank={local}']", "dist_world_size=8"
    ),
    "nodes and processes": each("worker pid={pid} local_rank={local}", "launching nnodes=1 nproc_per_node=8"),
    "a command of torchrun": each(
        "started pid {pid} (local rank {local})", "$ torchrun --nnodes=1 --nproc_per_node=8 train.py"
    ),
    "a command without nodes": each(
        "started pid {pid} (local rank {local})", "$ torchrun --standalone --nproc_per_node=8 train.py"
    ),
    "a command with options of others": each(
        "started pid {pid} (local rank {local})", '$ torchrun --nproc_per_node 8 --master_port $PORT train.py "$@"'
    ),
    "a range of one": each("started pid {pid} (local rank {local})", "$ torchrun --nnodes=1:1 --nproc_per_node=8 a.py"),
    "variables": each("spawn pid {pid} LOCAL_RANK={local}", "export WORLD_SIZE=8"),
    "as a table": each("{pid:8d}  {local}", "world size: 8", "     PID  local_rank"),
    "a table with commas": each("{pid},{local}", "# world_size=8", "pid,local_rank"),
    "objects": each('{{"event": "spawn", "pid": {pid}, "local_rank": {local}, "world_size": 8}}'),
    "arguments in ps": each(
        "lm  {pid} 51001 99.2 Sl 11:20 31:02 python -u train.py --local-rank={local} --cfg a.yaml",
        "world_size=8",
        "USER PID PPID %CPU STAT START TIME COMMAND",
    ),
    "the size on each line": each("pid {pid} is local rank {local} of a world of 8, world size 8"),
    "pairs": each("event=spawn local_rank={local} pid={pid} world_size=8"),
    "the number of processes": each(
        "[launcher] local_rank={local} pid={pid}", "[launcher] num_processes: 8, num_machines: 1"
    ),
}


def ranks(folder: Path, lines: list[str]) -> dict[int, set[int]]:
    """pid → the ranks that it is told to be."""
    found: dict[int, set[int]] = {}
    for pid, rank in (
        read(str(written(folder, {"run.log": lines}))).tables["ranks"].select("pid", "rank").drop_nulls().iter_rows()
    ):
        found.setdefault(pid, set()).add(rank)
    return found


@pytest.mark.parametrize("form", FORMS)
def test_a_place_on_the_only_node_is_the_rank(form: str, tmp_path: Path) -> None:
    assert ranks(tmp_path, FORMS[form]) == {pid: {rank} for rank, pid in enumerate(PIDS)}


OTHERS = {
    "a larger world": each("worker pid={pid} local_rank={local}", "world_size=16"),
    "no size": each("worker pid={pid} local_rank={local}"),
    "a cut list": each("worker pid={pid} local_rank={local}", "world_size=8")[:5],
    "one of two nodes": each(
        "process {pid} spawned with '--local_rank={local}'",
        "nnodes=2, num_local_procs=8, node_rank=1",
        "dist_world_size=16",
    ),
    "nodes by a variable": each(
        "worker pid={pid} local_rank={local}", "$ torchrun --nnodes=$N --nproc_per_node=8 train.py"
    ),
    "a node by a variable": each(
        "worker pid={pid} local_rank={local}", "$ torchrun --node-rank $RANK --nproc_per_node 8 train.py"
    ),
    "some of several nodes": each(
        "worker pid={pid} local_rank={local}", "$ torchrun --nnodes=1:4 --nproc_per_node=8 train.py"
    ),
    "nodes that a variable may hold": each(
        "worker pid={pid} local_rank={local}", "$ torchrun --nproc_per_node 8 $ARGS train.py"
    ),
    "nodes in the next line": each(
        "worker pid={pid} local_rank={local}", "$ torchrun --nproc_per_node=8 \\", "    --nnodes=$N train.py"
    ),
    "nodes in the environment": each(
        "worker pid={pid} local_rank={local}", "$ PET_NNODES=$N torchrun --nproc_per_node=8 train.py"
    ),
    "two sizes": each("worker pid={pid} local_rank={local}", "world_size=8", "world_size=16"),
}


@pytest.mark.parametrize("case", OTHERS)
def test_a_place_alone_is_no_rank(case: str, tmp_path: Path) -> None:
    assert ranks(tmp_path, OTHERS[case]) == {}
