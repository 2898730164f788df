"""Stacks taken by commands that were sent to hosts and containers, where these count their processes alike."""

from pathlib import Path

import pytest

from forensics import analyze
from forensics.model.incident import Verdict
from tests.sources import written

NODES = {"kite-a7": 1, "owl-c2": 0, "wren-b9": 2}
PIDS = {"kite-a7": (171, 172), "owl-c2": (171, 173), "wren-b9": (171, 172)}
LATE = 3
COMMANDS = {
    "a shell": "$ ssh root@{host} sudo py-spy dump --pid {pid}",
    "a pod": "$ kubectl -n fit exec -it {host} -c main -- py-spy dump --pid {pid}",
    "a container": "# docker exec -u root {host} py-spy dump -p {pid}",
    "a trace of commands": "+ oc rsh -c main pod/{host} /usr/local/bin/py-spy dump --native --pid {pid}",
    "a prompt": "ops@bastion:~$ ssh -o StrictHostKeyChecking=no {host} 'py-spy dump --pid {pid}'",
}
WAITS = [
    "all_reduce (torch/distributed/distributed_c10d.py:2810)",
    "step (fit/loop.py:171)",
    "<module> (fit/main.py:9)",
]
READS = ["read (ssl.py:1103)", "read (http/client.py:473)", "fetch (fit/data.py:40)", "__next__ (torch/utils/data/dataloader.py:630)", "step (fit/loop.py:99)"]  # fmt: skip
WATCHDOG = "[rank{rank}]:[E311 03:20:49.441251172 ProcessGroupNCCL.cpp:632] [Rank {rank}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=91, OpType=ALLREDUCE, NumelIn=4, NumelOut=4, Timeout(ms)=600000) ran for 600048 milliseconds before timing out."


def verdict(tmp_path: Path, command: str, *, is_one_file: bool = False) -> Verdict:
    ranks = {(host, pid): 2 * node + at for host, node in NODES.items() for at, pid in enumerate(PIDS[host])}
    log = [f"{host}: rank {rank} of 6 started on {host} pid {pid}" for (host, pid), rank in ranks.items()]
    log += [f"owl-c2: 2026-03-11 02:00:0{step} step {step} loss 2.{step}" for step in range(5)]
    log += [f"{host}: {WATCHDOG.format(rank=rank)}" for (host, _), rank in ranks.items() if rank != LATE]
    files = {"all.log": log}
    for number, ((host, pid), rank) in enumerate(sorted(ranks.items(), key=lambda one: one[0][1])):
        frames = [f"    {frame}" for frame in (READS if rank == LATE else WAITS)]
        dump = [
            command.format(host=host, pid=pid),
            f"Process {pid}: python fit.py",
            "",
            f'Thread {pid} (idle): "MainThread"',
            *frames,
            "",
        ]
        files.setdefault("stacks.txt" if is_one_file else f"stacks/dump{number * 7 % 11}.txt", []).extend(dump)
    return analyze(written(tmp_path, files)).verdict


@pytest.mark.parametrize("command", COMMANDS)
def test_a_stack_is_of_the_process_of_the_place_that_its_command_was_sent_to(command: str, tmp_path: Path) -> None:
    assert verdict(tmp_path, COMMANDS[command]).ranks == [LATE]


def test_each_of_several_stacks_in_a_file_is_of_the_place_above_it(tmp_path: Path) -> None:
    assert verdict(tmp_path, COMMANDS["a pod"], is_one_file=True).ranks == [LATE]


def test_a_number_that_two_hosts_count_is_nobodys_where_no_place_is_told(tmp_path: Path) -> None:
    assert verdict(tmp_path, "$ py-spy dump --pid {pid}").ranks == []
