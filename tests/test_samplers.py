"""What ps, top and /proc say of processes, and how their numbers become ranks."""

from pathlib import Path
from typing import Any

import pytest

import forensics
from forensics.model.incident import Verdict
from parsers.device.top import PARSER as TOP
from parsers.stacks.proc_stack import PARSER as STACK
from parsers.stacks.proc_status import PARSER as STATUS
from parsers.stacks.ps import PARSER as PS
from parsers.who.scripts.arguments import told
from tests.sources import source

USUAL = """$ ps -o pid,ppid,stat,wchan:20,etime,args
    PID    PPID STAT WCHAN                    ELAPSED COMMAND
   4700       1 Ss   do_wait                    10:00 bash -c python -u train.py --rank 1
   4711    4700 Sl   futex_do_wait              09:58 python -u train.py --rank 1
   4712    4700 Tl   do_signal_stop             09:58 python -u train.py --rank 2
   4790    4712 S    pipe_read                  09:58 python -u train.py --rank 2
"""
AUX = """USER         PID %CPU %MEM    VSZ   RSS TTY      STAT START   TIME COMMAND
root        4711 99.0  0.1 895876 3166 ?        Rl   Mar01 103:27 /opt/env/bin/python train.py
root        4712  0.0  0.1 895876 3166 ?        D    10:01   0:27 /opt/env/bin/python train.py
"""
LONG = """F S UID          PID    PPID     LWP  C NLWP PRI  NI ADDR SZ WCHAN  STIME TTY          TIME CMD
0 S root        4711    4700    4711  0    2  80   0 - 22396 futex_ 10:01 ?        00:00:02 python train.py
1 D root        4711    4700    4719  0    2  80   0 - 22396 io_sch 10:01 ?        00:00:02 python train.py
"""
MOMENT = """top - 10:40:24 up 48 min,  0 user,  load average: 6.51, 9.75, 9.56
Tasks:   2 total,   1 running,   0 sleeping,   1 stopped,   0 zombie
%Cpu(s):  0.0 us,  0.0 sy,  0.0 ni,100.0 id,  0.0 wa,  0.0 hi,  0.0 si,  0.0 st

    PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND
   4711 root      25   5  895876 316652  98456 R  99.3   1.3   0:03.27 python
   4712 root      25   5  896036 316804  98508 T   0.0   1.3   0:03.22 python
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (USUAL, [(4700, "sleeping"), (4711, "sleeping"), (4712, "stopped"), (4790, "sleeping")]),
        (AUX, [(4711, "running"), (4712, "disk sleep")]),
        (LONG, [(4711, "sleeping")]),
    ],
    ids=["columns asked for", "aux", "threads"],
)
def test_states_in_the_usual_sets_of_columns(text: str, expected: list[tuple[int, str]]) -> None:
    assert PS.accepts("ps.txt", text.encode())
    assert PS.parse(source(text))["stacks"].select("pid", "status").rows() == expected


def test_top_tells_states_too() -> None:
    rows = TOP.parse(source(MOMENT))["stacks"]
    assert rows.select("pid", "status", "line").rows() == [(4711, "running", 6), (4712, "stopped", 7)]


@pytest.mark.parametrize(
    "text", ["", "PID COMMAND\n", "a log\nPID of the worker: 4711\n", "Rank PID Loss\n0 4711 0.1\n"]
)
def test_other_tables_are_left_alone(text: str) -> None:
    assert not PS.accepts("ps.txt", text.encode())


def test_a_shell_and_the_workers_of_a_process_are_not_the_process() -> None:
    assert PS.parse(source(USUAL))["ranks"].select("rank", "pid").rows() == [(1, 4711), (2, 4712)]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("python train.py --process-id 2 --num-processes 4", {"rank": 2, "world_size": 4}),
        ("env RANK=3 LOCAL_RANK=1 WORLD_SIZE=8 python train.py", {"rank": 3, "local_rank": 1, "world_size": 8}),
        ("python train.py --global_rank=3", {"rank": 3}),
        ("python train.py --lora_rank 16 --node_rank 1", {}),
        ("python train.py --rank 9 --world-size 8", {}),
        ("RANK=3 python train.py --rank 4", {}),
        ("", {}),
    ],
)
def test_arguments(command: str, expected: dict[str, int]) -> None:
    assert told(command) == (expected | {"how": "arguments"} if expected else {})


def test_what_else_a_collector_put_beside_the_status() -> None:
    text = (
        "==> /proc/4711/status <==\nName:\tpython\nState:\tS (sleeping)\nTgid:\t4711\nPid:\t4711\n\n==> /proc/4711/stack <==\n"
        "[<0>] flock_lock_inode_wait+0x82/0x180\n[<0>] do_syscall_64+0x71/0x280\n\n==> /proc/4711/wchan <==\nflock_lock_inode_wait\n"
        "==> /proc/4712/status <==\nName:\tpython\nState:\tS (sleeping)\nTgid:\t4712\nPid:\t4712\n==> /proc/4712/wchan <==\nfifo_open"
    )
    assert STATUS.accepts("proc.txt", text.encode())
    rows = STATUS.parse(source(text))["stacks"].filter(source="kernel")
    assert [(pid, frames[0]["function"]) for pid, frames in rows.select("pid", "frames").rows()] == [
        (4711, "flock_lock_inode_wait"),
        (4712, "fifo_open"),
    ]


def test_a_file_of_wchan_alone() -> None:
    assert STACK.accepts("proc/4711/wchan", b"fifo_open")
    assert not STACK.accepts("proc/4711/wchan", b"0")
    [row] = STACK.parse(source("fifo_open", path="n1/proc/4711/wchan"))["stacks"].rows(named=True)
    assert (row["pid"], row["frames"][0]["function"]) == (4711, "fifo_open")


# --- four ranks, known by their arguments: three wait for what the device computes, the code of one says nothing --------------


def dump(pid: int, rank: int, frames: str, option: str) -> str:
    return f'Process {pid}: python train.py {option} {rank}\nPython v3.11.7 (/usr/bin/python3.11)\n\nThread {pid} (idle): "MainThread"\n{frames}\n'


WAITS = "    ArrayImpl._value (jax/_src/array.py:623)\n    <module> (train.py:48)"
READS = "    next_one (train.py:24)\n    <module> (train.py:45)"


def verdict(
    folder: Path, wchan: dict[int, str], option: str = "--process-id", ranks: tuple[int, ...] = (0, 1, 2, 3)
) -> Verdict:
    for at, rank in enumerate(ranks):
        (folder / f"dump_of_{4711 + at}.txt").write_text(dump(4711 + at, rank, READS if at == 2 else WAITS, option))
    rows = "".join(f"{4711 + at} {state}\n" for at, state in wchan.items())
    (folder / "ps.txt").write_text(f"PID STAT WCHAN COMMAND\n{rows}")
    document = forensics.analyze(folder, hung=True)
    return document.incidents[document.primary].verdict


ASLEEP = dict.fromkeys(range(4), "S futex_do_wait python")


def test_who_sleeps_in_the_opening_of_a_file_is_not_waiting_for_others(tmp_path: Path) -> None:
    found = verdict(tmp_path, ASLEEP | {2: "S wait_for_partner python"})
    assert (found.kind, found.cause, found.ranks, found.site) == ("hang", "rank_absent", [2], "storage_io")


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"wchan": ASLEEP}, "a futex may be anything"),
        (
            {"wchan": ASLEEP | {2: "S wait_for_partner python"}, "option": "--rank", "ranks": (16, 16, 16, 16)},
            "no ranks",
        ),
    ],
    ids=["asleep like the others", "the rank of an adapter"],
)
def test_what_names_nobody(tmp_path: Path, given: dict[str, Any], why: str) -> None:
    assert verdict(tmp_path, **given).ranks == [], why


def test_a_dump_by_pid_is_that_of_the_rank_whose_log_has_the_pid_in_its_name(tmp_path: Path) -> None:
    for rank in range(4):
        log = tmp_path / f"rank_{rank}.worker-{4711 + rank}.err"
        log.write_text(
            f"[rank{rank}]: [Gloo] Rank {rank} is connected to 3 peer ranks.\n[rank{rank}]: step 1 loss 2.5\n"
        )
        frames = READS.replace("next_one", "fetch_batch") if rank == 2 else WAITS
        (tmp_path / f"dump_of_{4711 + rank}.txt").write_text(dump(4711 + rank, 16, frames, "--lora-rank"))
    document = forensics.analyze(tmp_path, hung=True)
    assert document.incidents[document.primary].verdict.ranks == [2]


@pytest.mark.parametrize(
    ("innermost", "named"),
    [
        ("main_loop (ray/_private/worker.py:1069)", [2]),
        ("turn (train.py:12)", []),
        ("tick (ray/_private/worker.py:1069)", []),
    ],
    ids=["it has no task", "code that nobody knows", "another function there"],
)
def test_an_actor_without_a_task_is_not_in_the_call_of_the_others(
    tmp_path: Path, innermost: str, named: list[int]
) -> None:
    waits = "    all_reduce (torch/distributed/distributed_c10d.py:3252)\n    Trainer.fit (actors.py:17)"
    for rank in range(4):
        frames = f"    {innermost}" if rank == 2 else waits
        (tmp_path / f"rank{rank}.txt").write_text(dump(4711 + rank, 16, frames, "--lora-rank"))
    document = forensics.analyze(tmp_path, hung=True)
    assert document.incidents[document.primary].verdict.ranks == named


SOCKET = "    read (ssl.py:1134)\n    recv_into (ssl.py:1279)\n    readinto (socket.py:718)\n"


@pytest.mark.parametrize(
    ("inside", "named"),
    [
        (SOCKET + "    begin (http/client.py:331)\n    ask (house/index.py:12)", [2]),
        (SOCKET + "    read_response (redis/_parsers/resp2.py:15)\n    ask (house/index.py:12)", [2]),
        ("    create_connection (/usr/lib/python3.12/socket.py:837)\n    _new_conn (urllib3/connection.py:199)", [2]),
        (SOCKET + "    take (woven/chan.py:31)\n    gather_all (woven/ops.py:90)", []),
        (SOCKET + "    recv (zmq/sugar/socket.py:805)\n    hand_out (woven/ops.py:44)", []),
    ],
    ids=["http", "redis", "a new connection", "a library that nobody knows", "the end of another process"],
)
def test_of_whom_a_socket_reads_the_frame_around_it_tells(tmp_path: Path, inside: str, named: list[int]) -> None:
    """The others stand at one line of a library of the house, which no row knows."""
    for look in (1, 2):
        for rank in range(6):
            at = inside if rank == 2 else "    turn (woven/chan.py:52)\n    sum_all (woven/ops.py:117)"
            own = tmp_path / f"look{look}" / f"rank{rank}.txt"
            own.parent.mkdir(exist_ok=True)
            own.write_text(dump(4711 + rank, 16, f"{at}\n    main (job.py:31)", "--lora-rank"))
    verdict = forensics.analyze(tmp_path).verdict
    assert (verdict.kind, verdict.ranks) == ("hang" if named else verdict.kind, named)
