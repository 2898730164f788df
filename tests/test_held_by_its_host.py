"""Whom all others wait for, where its host shows its process dead, stopped or blocked: after steps, at a start, and on a host whose logs call it by another name."""

from collections.abc import Callable
from pathlib import Path

import pytest

from forensics import analyze
from forensics.model.incident import Verdict

RANKS, OUT = 5, 3
Table = Callable[[dict[int, str]], str]


def ps(states: dict[int, str]) -> str:
    rows = [f" {6200 + rank}  6100 {states.get(rank, 'Sl'):4} -   python -u fit.py" for rank in range(RANKS)]
    return "\n".join(["    PID   PPID STAT WCHAN COMMAND", *rows]) + "\n"


def top(states: dict[int, str]) -> str:
    head = "top - 10:40:00 up 3 days,  1 user,  load average: 4.1, 4.0, 3.9\n\n"
    head += "    PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND\n"
    row = "   {pid} lab       20   0    8.1g   1.2g   0.1g {state}  99.0   1.4  55:02.11 python\n"
    return head + "".join(row.format(pid=6200 + rank, state=states.get(rank, "R")[0]) for rank in range(RANKS))


def asked(states: dict[int, str]) -> str:
    rows = [f"{6200 + rank} {states.get(rank, 'Rl')} python" for rank in range(RANKS)]
    return "\n".join(["$ ps -eo pid,stat,comm | grep python", *rows]) + "\n"


def gave_up(rank: int) -> str:
    work = "WorkNCCL(SeqNum=88, OpType=ALLREDUCE, NumelIn=4, NumelOut=4, Timeout(ms)=600000)"
    caught = f"[Rank {rank}] Watchdog caught collective operation timeout: {work} ran for 600031 milliseconds before timing out."
    return f"[rank{rank}]:[E302 10:50:0{rank}.100000000 ProcessGroupNCCL.cpp:632] {caught}"


def waited(folder: Path, table: str, late: set[int]) -> Verdict:
    (folder / "processes.txt").write_text(table)
    for rank in range(RANKS):
        lines = [f"2026-03-02 10:00:00 rank={rank} world_size={RANKS} host=box pid={6200 + rank}"]
        lines += [f"2026-03-02 10:0{n}:00 rank={rank} lap {n} cost 2.{n}" for n in range(1, 9)]
        (folder / f"rank{rank}.log").write_text("\n".join(lines + ([gave_up(rank)] if rank not in late else [])) + "\n")
    return analyze(folder).verdict


@pytest.mark.parametrize("table", [ps, top, asked])
def test_whose_process_is_dead_while_all_others_waited(tmp_path: Path, table: Table) -> None:
    found = waited(tmp_path, table({OUT: "Z"}), {OUT})
    assert (found.kind, found.cause, found.ranks) == ("hang", "rank_died", [OUT])


@pytest.mark.parametrize("table", [ps, top, asked])
@pytest.mark.parametrize(
    ("states", "late"),
    [({1: "Z"}, {OUT}), ({}, {OUT}), ({OUT: "Z"}, set()), ({OUT: "Z", 1: "Z", 2: "Z"}, {OUT})],
    ids=["another", "nobody", "who waited as well", "most of them"],
)
def test_who_is_not_shown_dead_alone_is_not_called_so(
    tmp_path: Path, table: Table, states: dict[int, str], late: set[int]
) -> None:
    found = waited(tmp_path, table(states), late)
    assert found.cause != "rank_died" and found.ranks == []


HALLS: dict[str, Callable[[int], str]] = {
    "a library of nobody": lambda n: f"10:0{n}:30 assembly: waiting for the other members to sign in",
    "Chinese": lambda n: f"10:0{n}:30 等待其余成员签到",
    "a level before it": lambda n: f"[WARN] 10:0{n}:30 topology not complete, peers are outstanding",
}


def never_began(folder: Path, hall: str, table: str | None, late: set[int]) -> Verdict:
    counts = "".join(f"10:0{n}:00 hall: {RANKS - 1} of {RANKS} present\n" for n in range(1, 6))
    (folder / "chief.log").write_text(counts + "10:06:00 hall: giving up\n")
    if table is not None:
        (folder / "processes.txt").write_text(table)
    for rank in range(RANKS):
        lines = [f"10:00:00 rank {rank} of {RANKS}, pid {6200 + rank}"]
        lines += [] if rank in late else [HALLS[hall](n) for n in range(1, 6)]
        (folder / f"rank{rank}.log").write_text("\n".join(lines) + "\n")
    return analyze(folder).verdict


@pytest.mark.parametrize("hall", HALLS)
@pytest.mark.parametrize("state", ["Dl", "Tl", "Z"])
def test_who_is_held_while_all_others_wait_for_a_start(tmp_path: Path, hall: str, state: str) -> None:
    found = never_began(tmp_path, hall, ps({OUT: state}), {OUT})
    assert (found.kind, found.cause, found.ranks) == ("launch", "missing_ranks", [OUT])


@pytest.mark.parametrize("hall", HALLS)
@pytest.mark.parametrize("table", [None, ps({}), ps({1: "Dl"}), ps({1: "Dl", OUT: "Dl"})])
def test_who_only_printed_less_is_suspected(tmp_path: Path, hall: str, table: str | None) -> None:
    found = never_began(tmp_path, hall, table, {OUT})
    assert (found.kind, found.ranks, found.suspects.ranks) == ("launch", [], [OUT])


def compose(folder: Path, pids: int, counted: str = "host pid") -> Verdict:
    """Two machines of three services each, called alike on both; a kernel tells of a process of one of them."""
    for place in range(2):
        here = folder / f"wks-{place + 1}"
        here.mkdir()
        lines = []
        for rank in range(3 * place, 3 * place + 3):
            lines += [f"fit-1  | rank {rank} of 6 ({counted} {pids + rank}, cuda:{rank % 3})"]
        lines += [f"fit-1  | 2026-03-02 10:0{n}:00 lap {n} cost 2.{n}" for n in range(1, 9)]
        lines += [f"fit-1  | {gave_up(rank)}" for rank in range(3 * place, 3 * place + 3) if rank != OUT + 1]
        (here / "compose.log").write_text("\n".join(lines) + "\n")
        xid = f"NVRM: Xid (PCI:0000:5d:00): 119, pid={pids + OUT + 1}, name=python, Timeout after 6s of waiting for RPC response from GPU2 GSP! Expected function 76 (GSP_RM_CONTROL) (0x20801702 0x4)."
        kernel = [f"Mar  2 09:50:00 wks-{place + 1} kernel: [100.0] usb 1-1: new device"]
        kernel += [f"Mar  2 10:08:10 wks-2 kernel: [900.0] {xid}"] if place else []
        (here / "kern.log").write_text("\n".join(kernel) + "\n")
    return analyze(folder).verdict


def test_a_kernel_s_process_in_a_folder_of_its_host_is_a_container_s(tmp_path: Path) -> None:
    found = compose(tmp_path, 6200)
    assert (found.kind, found.cause, found.ranks) == ("hang", "gpu_fault", [OUT + 1])


def test_a_small_number_is_counted_inside_of_a_container(tmp_path: Path) -> None:
    assert compose(tmp_path, 62, "pid").ranks == []
