"""A process that a signal has stopped: how the kernel says so, and whom that names."""

from pathlib import Path

import pytest

from forensics import analyze
from parsers.stacks.proc_status import PARSER
from tests.hang_tables import Rows, call, waiting
from tests.sources import source


def status(pid: int, state: str, tgid: int | None = None) -> str:
    return f"Name:\tpython3\nUmask:\t0022\nState:\t{state}\nTgid:\t{tgid or pid}\nNgid:\t0\nPid:\t{pid}\nPPid:\t40\nThreads:\t9\n"


def test_the_state_of_each_process() -> None:
    text = f"{status(4700, 'T (stopped)')}\n==> /proc/4701/status <==\n{status(4701, 'S (sleeping)')}{status(4702, 'R (running)', 4701)}"
    assert PARSER.accepts("rank5_status.txt", text.encode())
    rows = PARSER.parse(source(text, rank=5))["stacks"]
    assert rows.select("rank", "pid", "status", "line").rows() == [(5, 4700, "stopped", 3), (5, 4701, "sleeping", 13)]
    assert [len(frames) for frames in rows["frames"]] == [1, 0]


@pytest.mark.parametrize(
    "text", ["", "Name:\tx\nState:\tready\n", "State:\tT (stopped)\nTgid:\t5\nPid:\t5\n", "a log\n"]
)
def test_other_files_are_left_alone(text: str) -> None:
    assert not PARSER.accepts("status.txt", text.encode())


def job(states: dict[int, str], silent: tuple[int, ...] = (5,)) -> Rows:
    """Eight ranks, all but the silent ones wait in one collective and give up; the kernel's word for some of them."""
    rows = Rows(8, dp=range(8)).placed()
    waiting(rows, (rank for rank in range(8) if rank not in silent), "dp", 57)
    for rank in range(8):
        if rank not in silent:
            rows.timeout(rank, "dp", 57)
    for rank, state in states.items():
        stands = [{"function": "State: T (stopped)", "file": None, "line": None}] if state == "stopped" else []
        rows.add("stacks", rank=rank, pid=100 + rank, thread=str(100 + rank), is_main=True, status=state, snapshot=0,
                 frames=stands, source="proc status")  # fmt: skip
    return rows


RUNNING = dict.fromkeys(range(8), "running")


def test_the_one_that_is_stopped_is_who_all_wait_for() -> None:
    verdict = job(RUNNING | {5: "stopped"}).verdict(hung=False)
    assert (verdict.cause, verdict.ranks, verdict.site, verdict.code) == ("rank_absent", [5], "unresponsive", None)
    assert "stopped by a signal" in verdict.summary


@pytest.mark.parametrize(
    ("states", "silent", "suspects"),
    [
        (RUNNING | {5: "tracing stop"}, (5,), [5]),
        (dict.fromkeys(range(8), "stopped"), (5,), [5]),
        ({5: "stopped"}, (5,), [5]),
        (RUNNING | {5: "stopped"}, (2, 5), [2, 5]),
    ],
    ids=[
        "a debugger looks at it",
        "all were stopped",
        "nothing is told of the others",
        "another left no record either",
    ],
)
def test_what_names_nobody(states: dict[int, str], silent: tuple[int, ...], suspects: list[int]) -> None:
    verdict = job(states, silent).verdict(hung=False)
    assert (verdict.ranks, verdict.cause, verdict.suspects.ranks) == ([], None, suspects)


def test_a_victim_that_was_stopped_later_is_no_culprit() -> None:
    rows = job(RUNNING | {3: "stopped"}, silent=())
    rows.rows["operations"] = [row for row in rows.rows["operations"] if row["rank"] != 5]
    rows.rows["progress"] = [row for row in rows.rows["progress"] if row["rank"] != 5]
    rows.rows["events"] = [row for row in rows.rows["events"] if row["rank"] != 5]
    rows.dump(5, call("dp", 56, "broadcast", done=True))
    assert rows.verdict(hung=False).ranks == [5]


@pytest.mark.parametrize("yields", ["__do_sys_sched_yield", "__x64_sys_sched_yield"])
def test_who_yields_in_a_loop_waits_and_who_sleeps_in_a_lock_does_not(tmp_path: Path, yields: str) -> None:
    """Libraries of messages wait so: the stack of Python shows the line of the program and nothing below."""
    (tmp_path / "job.log").write_text("".join(f"[{rank}/4] node7 pid {4700 + rank} started\n" for rank in range(4)))
    for rank in range(4):
        held = "locks_lock_inode_wait" if rank == 1 else yields
        text = status(4700 + rank, "S (sleeping)" if rank == 1 else "R (running)")
        stack = f"==> /proc/{4700 + rank}/stack <==\n[<0>] {held}+0xa/0x20\n[<0>] do_syscall_64+0x71/0x280\n"
        (tmp_path / f"proc_{4700 + rank}.txt").write_text(f"==> /proc/{4700 + rank}/status <==\n{text}\n{stack}")
        line = (20, 31)[rank != 1]
        (tmp_path / f"pyspy_{4700 + rank}.txt").write_text(
            f"Process {4700 + rank}: python heat.py\nPython v3.11.7 (/usr/bin/python3.11)\n\n"
            f'Thread {4700 + rank} (active): "MainThread"\n    {"table" if rank == 1 else "halo"} (heat.py:{line})\n    <module> (heat.py:40)\n'
        )
    verdict = analyze(tmp_path, hung=True).verdict
    assert (verdict.kind, verdict.cause, verdict.ranks, verdict.site) == ("hang", "rank_absent", [1], "lock")
