"""A check of the job fails and shows what each rank had: the one that had another value than most is wrong, however it is told who there is."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from forensics import analyze
from forensics.model.incident import Verdict
from tests.sources import written

Start = Callable[[int, int], list[str]]
_RAISED = "FloatingPointError: Fatal error: gradients are inconsistent between workers. Try --ddp-backend=legacy_ddp."
_FRAMES = [
    "Traceback (most recent call last):",
    '  File "/opt/fit.py", line 42, in <module>',
    "    raise FloatingPointError(",
]


def _lines(form: str) -> Start:
    return lambda first, each: [form.format(rank=rank, host=f"h{first // each}") for rank in range(first, first + each)]


def _list(
    values: Sequence[str], form: str = "rank {:>3} = {}", heading: str = "grad_norm across the workers:"
) -> list[str]:
    return ["-" * 80, heading, *(form.format(rank, value) for rank, value in enumerate(values)), "-" * 80]


def _values(number: int, odd: Sequence[int]) -> list[str]:
    return ["1.71926343" if rank in odd else "1.71840274" for rank in range(number)]


def _bundle(start: Start, nodes: int, each: int, listed: Sequence[str], script: str = "") -> dict[str, list[str]]:
    logs = {
        f"train_h{node}.log": [
            *start(node * each, each),
            "2026-01-05 10:00:00 | INFO | epoch 1: 100 / 900 loss=2.9, num_updates=100",
            *_FRAMES,
            _RAISED,
            *listed,
        ]
        for node in range(nodes)
    }
    return logs | ({"run.sh": ["#!/bin/bash", script]} if script else {})


def _verdict(folder: Path, files: dict[str, list[str]]) -> Verdict:
    return analyze(str(written(folder, files))).verdict


@pytest.mark.parametrize(
    ("start", "nodes", "each", "odd", "script"),
    [
        (_lines("| INFO | distributed init (rank {rank}): tcp://h0:21877"), 2, 8, 5, ""),
        (_lines("| INFO | initialized host {host} as rank {rank}"), 2, 4, 6, ""),
        (_lines("[init] started on {host} as rank {rank}"), 3, 2, 1, ""),
        (_lines("2026-01-05 09:00:00 launching trainer (rank {rank})"), 1, 4, 3, ""),
        (_lines("I0105 09:00:00.000 7 main.cc:3] joined the job as rank {rank}, host {host}"), 2, 2, 0, ""),
        (_lines("{host}: initializing NCCL (rank {rank})"), 4, 2, 7, ""),
        (_lines("registered node {host} as rank {rank}"), 2, 4, 2, ""),
        (_lines("rank {rank} ready"), 2, 4, 5, "fit-train --distributed-world-size 8 --distributed-rank $1"),
        (_lines("up"), 2, 8, 9, "python fit.py --world-size=16 --backend nccl \\"),
        (_lines("up"), 1, 4, 2, "exec fit --dist_world_size 4"),
        (_lines("up"), 2, 2, 3, "fit -job-world-size 4 -x"),
        (_lines("rank {rank} of 8 started, world size 8"), 2, 4, 4, ""),
    ],
)
def test_who_had_another_value_is_named(
    tmp_path: Path, start: Start, nodes: int, each: int, odd: int, script: str
) -> None:
    files = _bundle(start, nodes, each, _list(_values(nodes * each, [odd])), script)
    found = _verdict(tmp_path, files)
    assert (found.kind, found.cause, found.ranks) == ("numerics", "replica_divergence", [odd])


@pytest.mark.parametrize(
    ("form", "heading"),
    [
        ("rank {:>3} = {}", "grad_norm across the workers:"),
        ("Rank {}: {}", "norm of gradients of all ranks:"),
        ("  rank{}={}", "loss by rank:"),
        ("[rank {}] {}", "grad norm on each worker:"),
        ("worker {} = {}", "grad_norm across the workers:"),
        ("rank {}\t{}", "grad_norm across the replicas:"),
        ("rank {} -> {}", "gnorm for each rank:"),
        ("  - rank {}: {}", "grad_norm per rank:"),
        ("{:>4}: {}", "grad_norm across the workers:"),
        ("{} | {}", "grad_norm over all ranks:"),
        ("process {} has {}", "norms of the processes:"),
        ("replica #{}: {}", "checksums of replicas:"),
    ],
)
def test_in_whatever_form_they_are_listed(tmp_path: Path, form: str, heading: str) -> None:
    start = _lines("| INFO | distributed init (rank {rank}): tcp://h0:21877")
    found = _verdict(tmp_path, _bundle(start, 2, 4, _list(_values(8, [6]), form, heading)))
    assert (found.kind, found.cause, found.ranks) == ("numerics", "replica_divergence", [6])


@pytest.mark.parametrize(
    ("start", "number", "odd", "script"),
    [
        (_lines("| INFO | distributed init (rank {rank}): tcp://h0:1"), 8, (1, 2, 5, 6), ""),  # as many on either side
        (_lines("| INFO | distributed init (rank {rank}): tcp://h0:1"), 8, (), ""),  # all alike
        (_lines("| INFO | distributed init (rank {rank}): tcp://h0:1"), 4, (2,), ""),  # a part of the job
        (_lines("init tp rank {rank}"), 8, (2,), ""),  # places in a group
        (_lines("initialized pipeline stage as local rank {rank}"), 8, (2,), ""),
        (_lines("launching worker (rank {rank})"), 8, (2,), ""),  # of a loader, for all that is told
        (_lines("up"), 8, (2,), ""),  # who there is, nobody tells
        (_lines("up"), 8, (2,), "fit --tp-world-size 8"),
        (_lines("up"), 8, (2,), "fit --local_world_size=8"),
        (_lines("lost the connection that was started by (rank {rank})"), 8, (2,), ""),
        (_lines("starting p2p channel on {host} towards next stage (rank {rank})"), 8, (2,), ""),
        (_lines("init store client on host {host}, store is held by (rank {rank})"), 8, (2,), ""),
        (_lines("joined ring, left neighbour on {host} as rank {rank}"), 8, (2,), ""),
        (_lines("launched prefetch for consumer (rank {rank})"), 8, (2,), ""),
        (_lines("up"), 8, (2,), "fit --reward-world-size 8"),
        (_lines("up"), 8, (2,), "fit --ckpt_world_size=8"),
    ],
)
def test_where_it_is_not_sure_nobody_is(
    tmp_path: Path, start: Start, number: int, odd: Sequence[int], script: str
) -> None:
    found = _verdict(tmp_path, _bundle(start, 2, 4, _list(_values(number, odd)), script))
    assert found.ranks == []


def test_two_lists_that_differ_name_nobody(tmp_path: Path) -> None:
    files = _bundle(_lines("| INFO | distributed init (rank {rank}): tcp://h0:1"), 2, 4, _list(_values(8, [6])))
    files["train_h1.log"][-10:] = _list(_values(8, [3]))
    assert _verdict(tmp_path, files).ranks == []


def test_a_list_that_was_cut_names_nobody(tmp_path: Path) -> None:
    files = _bundle(_lines("| INFO | distributed init (rank {rank}): tcp://h0:1"), 2, 4, _list(_values(8, [6]))[:-3])
    assert _verdict(tmp_path, files).ranks == []


@pytest.mark.parametrize(
    "script", ["fit.py --reward-world-size 2", "fit.py --ckpt-world-size 16", "score.py --world-size 2"]
)
def test_the_world_of_another_program_is_not_the_jobs(tmp_path: Path, script: str) -> None:
    waited = "[rank{0}]:[E312 10:12:02.1 ProcessGroupNCCL.cpp:632] [Rank {0}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=113, OpType=ALLREDUCE, NumelIn=1048576, NumelOut=1048576, Timeout(ms)=600000) ran for 600027 milliseconds before timing out."
    files = {
        f"rank{rank}.log": [f"rank={rank} up", *(f"step {step} loss 2.9{step}" for step in range(1, 9))]
        + ([waited.format(rank)] if rank != 5 else [])
        for rank in range(8)
    }
    found = _verdict(tmp_path, {**files, "run.sh": ["#!/bin/bash", f"python -u {script} --data /d"]})
    assert (found.kind, found.ranks, found.suspects.ranks) == ("hang", [], [5])
