"""Stacks of several places in one file, each below a heading that names its place: of a place of one process the stack is that rank's."""

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from forensics import analyze
from parsers import read
from tests.sources import written

PODS = ("pre9b-w-0-8b8fn", "pre9b-w-1-s5c8d", "pre9b-w-2-s552p", "pre9b-w-3-kjcqm", "pre9b-w-4-zfthw")
ORDER = (3, 1, 4, 0, 2)
PIDS = (7, 14, 14, 9, 7)  # of each its own, in its container
ABSENT = 2


def log(rank: int) -> list[str]:
    return [
        "I0911 16:00:11.087275 14 train.py:41] config configs/9b.py",
        f"I0911 16:00:20.090756 14 dist.py:77] up: process {rank} / {len(PODS)}, local devices 4",
        "I0911 16:00:23.093207 14 mesh.py:30] mesh made",
    ]


def py_spy(rank: int) -> list[str]:
    waits = [
        "    _value (jax/_src/array.py:632)",
        "    __float__ (jax/_src/array.py:301)",
        "    run_loop (pre9b/train.py:214)",
    ]
    reads = [
        "    read (fsspec/spec.py:1915)",
        "    __next__ (pre9b/loader.py:146)",
        "    run_loop (pre9b/train.py:203)",
    ]
    pid = PIDS[rank]
    return [
        f"Process {pid}: python -m pre9b.train", "Python v3.11.9 (/usr/local/bin/python3.11)", "",
        f'Thread {pid} (idle): "MainThread"', *(reads if rank == ABSENT else waits), "    <module> (pre9b/train.py:301)",
    ]  # fmt: skip


def faulthandler(rank: int) -> list[str]:
    name = 'fsspec/spec.py", line 1915 in read' if rank == ABSENT else 'jax/_src/array.py", line 632 in _value'
    return [
        f"Current thread 0x00007f5a1b2c3{rank}40 (most recent call first):",
        f'  File "/usr/lib/python3/{name}', '  File "/w/pre9b/train.py", line 203 in run_loop', '  File "/w/pre9b/train.py", line 301 in <module>',
    ]  # fmt: skip


def pstack(rank: int) -> list[str]:
    name = "read () from /lib64/libc.so.6" if rank == ABSENT else "pthread_cond_wait () from /lib64/libc.so.6"
    return [
        f"Thread 1 (Thread 0x7f5a1b2c3{rank}40 (LWP {PIDS[rank]})):",
        f"#0  0x00007f0a1b2c3d4e in {name}", "#1  0x0000000000401136 in run_loop () at train.c:203", "#2  0x0000000000401199 in main () at train.c:301",
    ]  # fmt: skip


def kernel(rank: int) -> list[str]:
    names = ("rpc_wait_bit_killable", "nfs_file_write") if rank == ABSENT else ("futex_wait_queue", "do_futex")
    return [
        f"$ cat /proc/{PIDS[rank]}/stack",
        *(f"[<0>] {name}+0x1e/0xa0" for name in names),
        "[<0>] do_syscall_64+0x5b/0x90",
    ]


HEADINGS: dict[str, Callable[[int], list[str]]] = {
    "and a time": lambda rank: [f"=== {PODS[rank]}  03:31:{52 - rank}Z ==="],
    "a rule": lambda rank: [f"------- {PODS[rank]} -------"],
    "of Markdown": lambda rank: [f"## {PODS[rank]}"],
    "with its kind": lambda rank: [f"### pod/{PODS[rank]}"],
    "a colon": lambda rank: [f"{PODS[rank]}:"],
    "in brackets": lambda rank: [f"[{PODS[rank]}]"],
    "an arrow": lambda rank: [f">>> {PODS[rank]} <<<"],
    "a prompt": lambda rank: [f"root@{PODS[rank]}:/# dump"],
    "stars": lambda rank: ["", f"*** stack of {PODS[rank]} ***", ""],
    "a comment": lambda rank: [f"# {PODS[rank]} (container trainer), 03:31"],
    "a bar": lambda rank: [f"| {PODS[rank]} |"],
    "tail's": lambda rank: [f"==> {PODS[rank]} <=="],
    "sent there": lambda rank: [f"$ kubectl exec {PODS[rank]} -- py-spy dump --pid 1"],
}  # fmt: skip
TOOLS = {"py-spy": py_spy, "faulthandler": faulthandler, "pstack": pstack, "kernel": kernel}


def dumps(heading: Callable[[int], list[str]], tool: Callable[[int], list[str]]) -> list[str]:
    return [line for rank in ORDER for line in [*heading(rank), *tool(rank), ""]]


def bundle(folder: Path, lines: list[str]) -> str:
    logs = {f"logs/{name}.log": log(rank) for rank, name in enumerate(PODS)}
    return str(written(folder, {"stacks.txt": lines} | logs))


def whose(folder: Path, lines: list[str]) -> tuple[list[int | None], list[int | None]]:
    """The ranks of all stacks, and of that which reads."""
    stacks = read(bundle(folder, lines)).tables["stacks"].filter(pl.col("is_main").fill_null(True))
    inner = pl.col("frames").list.first().struct.field("function")
    return stacks["rank"].sort().to_list(), stacks.filter(inner.is_in(["read", "rpc_wait_bit_killable"]))[
        "rank"
    ].to_list()


@pytest.mark.parametrize("form", HEADINGS)
def test_a_stack_is_of_the_rank_of_its_place(form: str, tmp_path: Path) -> None:
    assert whose(tmp_path, dumps(HEADINGS[form], py_spy)) == (sorted(ORDER), [ABSENT])


@pytest.mark.parametrize("tool", TOOLS)
def test_whatever_took_it(tool: str, tmp_path: Path) -> None:
    assert whose(tmp_path, dumps(HEADINGS["and a time"], TOOLS[tool])) == (sorted(ORDER), [ABSENT])


def test_two_looks_name_who_reads(tmp_path: Path) -> None:
    look = dumps(HEADINGS["and a time"], py_spy)
    logs = {f"logs/{name}.log": log(rank) for rank, name in enumerate(PODS)}
    verdict = analyze(str(written(tmp_path, {"look_1.txt": look, "look_2.txt": look} | logs))).verdict
    assert (verdict.kind, verdict.cause, verdict.ranks, verdict.site) == ("hang", "rank_absent", [ABSENT], "storage_io")


def other(rank: int) -> list[str]:
    return [
        *py_spy(rank),
        "",
        f"Process {PIDS[rank] + 60}: python -m sidecar",
        'Thread 90 (idle): "MainThread"',
        "    poll (selectors.py:1)",
    ]


def strangers(rank: int) -> list[str]:
    return [f"=== {PODS[rank].replace('pre9b', 'eval')} ==="]


@pytest.mark.parametrize(
    "lines",
    [
        dumps(strangers, py_spy),  # of pods that the job does not have
        dumps(HEADINGS["a rule"], other),  # of two processes each
        [line for rank in ORDER for line in ["=== next ===", *py_spy(rank), ""]],
        [f"=== {PODS[0]} ===", *(line for rank in ORDER for line in py_spy(rank))],
    ],
)
def test_whose_place_is_not_told_is_nobody(lines: list[str], tmp_path: Path) -> None:
    assert {*whose(tmp_path, lines)[0]} <= {None}


@pytest.mark.parametrize("words", [("before", "after"), ("look1", "look2"), ("trainer", "sidecar")])
def test_a_word_that_nobody_calls_a_place_is_none(words: tuple[str, str], tmp_path: Path) -> None:
    lines = [line for word in words for line in [f"=== {word} ===", *py_spy(ABSENT), ""]]
    stacks = read(str(written(tmp_path, {"stacks.txt": lines}))).tables["stacks"]
    assert stacks["host"].count() == 0
    assert stacks["snapshot"].to_list() == [0, 1]


def test_a_place_whose_processes_are_not_all_known_is_no_rank(tmp_path: Path) -> None:
    """Of each host one process of eight tells its rank."""
    logs = {
        f"logs/{name}.log": [f"rank {8 * rank} of 40 on host {name}, local_rank=0"] for rank, name in enumerate(PODS)
    }
    stacks = read(str(written(tmp_path, {"stacks.txt": dumps(HEADINGS["a rule"], py_spy)} | logs))).tables["stacks"]
    assert stacks["rank"].count() == 0


def test_a_label_of_ranks_above_a_stack_is_no_place(tmp_path: Path) -> None:
    """A server's workers say `TP2` in all their lines; one of them prints the dump of each."""
    lines = [
        f"[2026-06-02 09:48:{at:02} TP{rank}] Decode batch. #running-req: {at}" for at in range(4) for rank in range(4)
    ]
    for rank in range(4):
        lines += [
            f"[2026-06-02 09:53:2{rank} TP{rank}] Pyspy dump for PID {4200 + rank}:",
            f"Process {4200 + rank}: sglang::scheduler_TP{rank}",
        ]
        lines += [
            f'Thread {4200 + rank} (idle): "MainThread"',
            "    all_reduce (torch/distributed/distributed_c10d.py:2806)",
            "",
        ]
    stacks = read(str(written(tmp_path, {"server.log": lines}))).tables["stacks"]
    assert (stacks.height, stacks["host"].count()) == (4, 0)
