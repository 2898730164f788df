"""A loop of a script over hosts, which counts its turns, tells where each host's ranks begin (parsers/who/processes/starts.py)."""

from collections.abc import Callable
from pathlib import Path

import pytest

from forensics import analyze
from tests.sources import written

HOSTS = ("opal", "kay", "ruby", "jade")  # in no order of their names
OF_KAY = 1
RUN = 'ssh $h "cd /run; RANK=$%s WORLD_SIZE=4 python fit.py" > $h.log 2>&1 &'
NODE = 'ssh $h "torchrun --nnodes=4 --nproc-per-node=2 --node-rank=$%s --master-addr=opal fit.py" > $h.log 2>&1 &'
LOOPS = {
    "a sum": ("i=0", "for h in {}; do", "  @i", "  i=$((i+1))", "done"),
    "a step": ("rank=0", "for h in {}; do", "  @rank", "  ((rank++))", "done"),
    "a place in an array": ("hosts=({})", 'for i in "${{!hosts[@]}}"; do', "  h=${{hosts[$i]}}", "  @i", "done"),
    "a file": ("n=0", "for h in $(cat nodes.txt); do", "  @n", "  let n+=1", "done"),
}
TRACE = [
    "Traceback (most recent call last):",
    '  File "/job/fit.py", line 9, in run',
    "    step(batch)",
    "KeyError: 'ids'",
]
LOST = ["torch.distributed.DistBackendError: NCCL error: remote process exited or there was a network error"]


def script(loop: str, run: str) -> list[str]:
    lines = [line.format(" ".join(HOSTS)) for line in LOOPS[loop]]
    return [run % line.strip().removeprefix("@") if line.strip().startswith("@") else line for line in lines]


def named(folder: Path, lines: list[str], nodes: list[str], *, before: tuple[str, ...] = ("",)) -> list[int]:
    steps = [f"{label}2026-03-04 05:06:{at} step {at} loss 2.{at}" for at in range(10, 20) for label in before]
    logs = {
        f"{host}.log": [*steps, *(f"{before[-1]}{line}" for line in (TRACE if host == "kay" else LOST))]
        for host in HOSTS
    }
    bundle = written(folder, {"go.sh": ["#!/bin/bash", *lines, "wait"], "nodes.txt": nodes, **logs})
    return analyze(str(bundle)).verdict.ranks


@pytest.mark.parametrize("loop", LOOPS)
def test_a_process_of_each_turn(tmp_path: Path, loop: str) -> None:
    assert named(tmp_path, script(loop, RUN), [*HOSTS]) == [OF_KAY]


COUNTED = {
    "a file in Python": [
        "hosts = open('nodes.txt').read().split()",
        "for n, h in enumerate(hosts):",
        "    Popen(['ssh', h, f'RANK={{n}} WORLD_SIZE={{len(hosts)}} python fit.py > {{h}}.log'])",
    ],
    "in large letters": [
        "R=0",
        "for HOST in $(cat nodes.txt); do",
        '  ssh $HOST "RANK=$R WORLD_SIZE=$(wc -l < nodes.txt) python fit.py" > $HOST.log 2>&1 &',
        "  R=$((R+1))",
        "done",
    ],
    "lines of a file": ["N=$(wc -l < nodes.txt)", *LOOPS["a file"]],
    "a file that a loop reads": [
        "N=$(cat nodes.txt | wc -l)",
        "n=0",
        "while read -r h; do",
        "  @n",
        "  n=$((n+1))",
        "done < nodes.txt",
    ],
    "an array": [LOOPS["a place in an array"][0], "N=${{#hosts[@]}}", *LOOPS["a place in an array"][1:]],
}


def counted(loop: str) -> list[str]:
    lines = [line.format(" ".join(HOSTS)) for line in COUNTED[loop]]
    run = RUN.replace("WORLD_SIZE=4", "WORLD_SIZE=$N")
    return [run % line.strip()[1:] if line.strip().startswith("@") else line for line in lines]


@pytest.mark.parametrize("loop", COUNTED)
def test_as_many_as_the_list_has(tmp_path: Path, loop: str) -> None:
    assert named(tmp_path, counted(loop), [*HOSTS]) == [OF_KAY]


@pytest.mark.parametrize(
    "changed",
    [
        lambda line: line.replace("$(cat nodes.txt);", "$(cat nodes.txt | grep -v opal);"),  # some are left out
        lambda line: line.replace("ssh $h", "ping -c1 $h || continue; ssh $h"),
        lambda line: line.replace("WORLD_SIZE=$N", "WORLD_SIZE=$M"),
    ],
)
def test_a_list_that_may_not_be_all_tells_nobody(tmp_path: Path, changed: Callable[[str], str]) -> None:
    assert named(tmp_path, [changed(line) for line in counted("lines of a file")], [*HOSTS]) == []


@pytest.mark.parametrize("loop", ["a sum", "a place in an array"])
def test_a_node_of_each_turn(tmp_path: Path, loop: str) -> None:
    assert named(tmp_path, script(loop, NODE), [*HOSTS], before=("[default0]:", "[default1]:")) == [2 * OF_KAY + 1]


@pytest.mark.parametrize(
    "changed",
    [
        lambda lines: ["i=1", *lines[1:]],  # another began the first
        lambda lines: [line.replace("WORLD_SIZE=4", "WORLD_SIZE=8") for line in lines],  # these are not all
        lambda lines: ["for h in jade opal kay ruby; do echo $i $h; i=$((i+1)); done", *lines],  # two lists
        lambda lines: [line.replace("in opal kay ruby jade;", "in $(sort nodes.txt);") for line in lines],
        lambda lines: [line.replace("in opal kay ruby jade;", "in $(scontrol show hostnames);") for line in lines],
    ],
)
def test_what_the_loop_does_not_tell_is_nobodys(tmp_path: Path, changed: Callable[[list[str]], list[str]]) -> None:
    assert named(tmp_path, changed(script("a sum", RUN)), [*HOSTS]) == []
