"""What variables a process was given stands above its dump: a rank, or the place on the host that the file is of."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from forensics import analyze
from parsers.stacks.py_spy import PARSER
from tests.sources import source, written

WAITS = "    all_reduce (torch/distributed/distributed_c10d.py:2501)"
READS = "    read (io/shards.py:64)\n    next_batch (loop.py:14)"


def dump(pid: int, frames: str = WAITS) -> str:
    return f'Process {pid}: python fit.py\nPython v3.11.7 (/usr/bin/python3)\n\nThread {pid} (idle): "MainThread"\n{frames}\n    <module> (fit.py:9)\n'


def told(text: str) -> list[tuple[Any, ...]]:
    return PARSER.parse(source(text))["stacks"].select("pid", "rank", "local_rank").rows()


def test_variables_above_each() -> None:
    assert told(f"RANK=11\n{dump(71)}\nRANK=12\n{dump(72)}") == [(71, 11, None), (72, 12, None)]
    assert told(f"LOCAL_RANK=0\n{dump(71)}LOCAL_RANK=1\n{dump(72)}") == [(71, None, 0), (72, None, 1)]
    assert told(f"export RANK=5 LOCAL_RANK=1\n{dump(71)}{dump(72)}") == [(71, 5, 1), (72, None, None)]


def test_variables_below_are_of_no_next_one() -> None:
    assert told(f"{dump(71)}\nRANK=11\n\n{dump(72)}\nRANK=12\n") == [(71, None, None), (72, None, None)]


def test_other_variables_tell_nobody() -> None:
    assert told(f"NODE_RANK=1 MASTER_PORT=29500\n{dump(71)}") == [(71, None, None)]


def job(stuck: int | None) -> Mapping[str, list[str]]:
    """Two nodes of two, whose others all gave up; `stuck`: the process of node 1 that its stack shows elsewhere."""
    files: dict[str, list[str]] = {}
    for node in (0, 1):
        stacks = [
            f"LOCAL_RANK={local}\n{dump(90 + local, READS if (node, local) == (1, stuck) else WAITS)}"
            for local in (0, 1)
        ]
        files[f"tide-{node}/stacks.txt"] = "\n".join(stacks).split("\n")
        files[f"tide-{node}/env"] = [
            f"+ torchrun --nnodes=2 --nproc-per-node=2 --node-rank={node} --master-addr=tide-0 fit.py"
        ]
    waits = [rank for rank in range(4) if stuck is None or rank != 2 + stuck]
    files["job.log"] = [
        f"[rank{rank}]:[E101 10:30:00.1 ProcessGroupNCCL.cpp:632] [Rank {rank}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=41, OpType=ALLREDUCE, "
        "NumelIn=131, NumelOut=131, Timeout(ms)=600000) ran for 600001 milliseconds before timing out."
        for rank in waits
    ]
    return files


@pytest.mark.parametrize("stuck", [0, 1])
def test_who_stands_elsewhere_is_named(tmp_path: Path, stuck: int) -> None:
    found = analyze(written(tmp_path, job(stuck))).verdict
    assert (found.kind, found.cause, found.ranks) == ("hang", "rank_absent", [2 + stuck])


def test_nobody_where_all_wait(tmp_path: Path) -> None:
    assert analyze(written(tmp_path, job(None))).verdict.ranks == []
