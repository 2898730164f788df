"""Ranks that wait for each other in a circle, by stacks that show no argument: the source, what was printed, or variables tell the other end."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from forensics import analyze
from forensics.model.incident import Verdict

SIZE = 4
SOURCE = """\
import numpy as np
from mpi4py import MPI
comm = MPI.COMM_WORLD; me, n = comm.Get_rank(), comm.Get_size()
right, left = (me + 1) % n, (me - 1) % n
def exchange(edge):
    got = np.empty_like(edge)
    {call}
    return got
for step in range(40):
    exchange(np.zeros(512))
"""
C_SOURCE = """\
#include <mpi.h>
int main(int argc, char **argv) {
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank); MPI_Comm_size(MPI_COMM_WORLD, &size);
    int next = (rank + 1) % size;
    for (int step = 0; step < 40; ++step)
        MPI_Send(edge, 512, MPI_DOUBLE, next, 7, MPI_COMM_WORLD);
}
"""
Looks = Callable[[int, int], str]


def py_spy(*inner: str, variables: str = "", native: str = "") -> Looks:
    """Frames of each rank; {right} and {left} are its neighbours."""

    def look(rank: int, pid: int) -> str:
        told = "".join(f"    {frame}\n" for frame in inner)
        held = "".join(f"            {one}\n" for one in variables.splitlines())
        said = (
            f'Process {pid}: python halo.py\nPython v3.11.7 (/usr/bin/python3.11)\n\nThread {pid} (active): "MainThread"\n'
            f"{native}{told}    exchange (halo.py:7)\n{held}    <module> (halo.py:10)\n"
        )
        return said.format(right=(rank + 1) % SIZE, left=(rank - 1) % SIZE, rank=rank, size=SIZE)

    return look


def faulthandler(rank: int, _pid: int) -> str:
    return (
        "Current thread 0x00007f12aa (most recent call first):\n"
        '  File "/job/halo.py", line 7 in exchange\n  File "/job/halo.py", line 10 in <module>\n'
    )


def gdb(rank: int, pid: int) -> str:
    return (
        f'Attaching to process {pid}\nThread 1 (Thread 0x7f11 (LWP {pid}) "halo"):\n'
        "#0  0x00007f69 in sched_yield () from /lib64/libc.so.6\n#1  0x00007f70 in PMPI_Send () from /opt/mpi/lib/libmpi.so.40\n"
        "#2  0x00007f71 in main (argc=1, argv=0x7ffd) at halo.c:7\n"
    )


C10D = "{} (torch/distributed/distributed_c10d.py:2501)"
PLAIN = py_spy()
FORMS: Mapping[str, tuple[dict[str, str], Looks]] = {
    "the source alone": ({"halo.py": SOURCE.format(call="comm.Send(edge, dest=right, tag=7)")}, PLAIN),
    "receives first": ({"halo.py": SOURCE.format(call="comm.Recv(got, source=left, tag=7)")}, PLAIN),
    "by place": ({"halo.py": SOURCE.format(call="comm.send(edge, right)")}, PLAIN),
    "computed in the call": ({"halo.py": SOURCE.format(call="comm.Send(edge, dest=(me + 1) % n)")}, PLAIN),
    "several lines": (
        {"halo.py": SOURCE.format(call="comm.Send(\n        edge,\n        dest=right,\n        tag=7)")},
        PLAIN,
    ),
    "pairs": ({"halo.py": SOURCE.format(call="comm.Send(edge, dest=me ^ 1)")}, PLAIN),
    "a list": (
        {"halo.py": SOURCE.replace("right, left", "ring = [1, 2, 3, 0]; right, left").format(call="comm.Send(edge, ring[me])")},
        PLAIN,
    ),
    "torch": (
        {"halo.py": SOURCE.format(call="dist.send(edge, dst=right)")},
        py_spy(C10D.format("send"), C10D.format("wrapper")),
    ),
    "a transport of one's own": ({"halo.py": SOURCE.format(call="self.link.receive(left)")}, PLAIN),
    "faulthandler": ({"halo.py": SOURCE.format(call="comm.Send(edge, dest=right, tag=7)")}, faulthandler),
    "C": ({"halo.c": C_SOURCE}, gdb),
    "variables beside the source": (
        {"halo.py": SOURCE.replace("(me + 1) % n", "find(me)").format(call="comm.Send(edge, dest=right)")},
        py_spy(variables="right: {right}\nleft: {left}"),
    ),
    "variables alone": ({}, py_spy(native="    PMPI_Send (libmpi.so.40.30.6)\n", variables="right: {right}\ntag: 7\nme: {rank}")),
    "two neighbours alone": ({}, py_spy(native="    PMPI_Send (libmpi.so.40.30.6)\n", variables="a: {right}\nb: {left}\nn: {size}")),
}  # fmt: skip


def judged(folder: Path, files: Mapping[str, str], look: Looks, looks: int = 2, printed: str = "") -> Verdict:
    for name, text in files.items():
        (folder / name).write_text(text)
    for at in range(looks):
        (folder / f"look_{at}").mkdir()
        for rank in range(SIZE):
            (folder / f"look_{at}" / f"rank{rank}.txt").write_text(look(rank, 4700 + rank))
    for rank in range(SIZE):
        said = f"rank {rank}/{SIZE} pid {4700 + rank} " + printed.format(right=(rank + 1) % SIZE)
        (folder / f"rank{rank}.log").write_text(said + f"\nrank {rank} step 0 loss 2.1\nrank {rank} step 1 loss 2.0\n")
    return analyze(folder).verdict


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_a_circle_is_told_without_arguments(tmp_path: Path, form: tuple[dict[str, str], Looks]) -> None:
    verdict = judged(tmp_path, *form)
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("hang", "deadlock_cycle", [])


def test_what_logs_print_of_the_name(tmp_path: Path) -> None:
    unknown = SOURCE.replace("right, left = (me + 1) % n, (me - 1) % n", "right = plan(me)")
    files = {"halo.py": unknown.format(call="comm.Send(edge, dest=right)")}
    assert judged(tmp_path, files, PLAIN, printed="right={right}").cycle == [0, 1, 2, 3]


def other(rank: int, pid: int) -> str:
    """Rank 2 computes."""
    said = PLAIN(rank, pid)
    return said.replace("exchange (halo.py:7)", "matmul (numpy/core/multiarray.py:9)") if rank == 2 else said


SEND = {"halo.py": SOURCE.format(call="comm.Send(edge, dest=right, tag=7)")}
NO_CIRCLES: Mapping[str, tuple[dict[str, str], Looks]] = {
    "one is elsewhere": (SEND, other),
    "two other ends": ({"halo.py": SOURCE.format(call="comm.Sendrecv(edge, right, 7, got, left, 7)")}, PLAIN),
    "nobody waits for it": ({"halo.py": SOURCE.format(call="comm.Isend(edge, dest=right)")}, PLAIN),
    "no message": ({"halo.py": SOURCE.format(call="got += edge * right")}, PLAIN),
    "a line": ({"halo.py": SOURCE.format(call="comm.Send(edge, dest=me + 1)")}, PLAIN),
    "another line": ({"halo.py": SOURCE.format(call="got += edge") + "comm.Send(got, dest=right)\n"}, PLAIN),
    "the program defines it": ({"halo.py": SOURCE.format(call="pass\ndef send(edge, right): pass")}, PLAIN),
    "a name of two": (
        {"halo.py": SOURCE.format(call="comm.Send(edge, dest=right)") + "right = (me + 2) % n\n"},
        PLAIN,
    ),
    "variables of no call": ({}, py_spy(variables="right: {right}")),
}


@pytest.mark.parametrize("form", NO_CIRCLES.values(), ids=NO_CIRCLES)
def test_where_no_circle_is_told_none_is_said(tmp_path: Path, form: tuple[dict[str, str], Looks]) -> None:
    verdict = judged(tmp_path, *form)
    assert verdict.cause != "deadlock_cycle" and not verdict.cycle


def test_one_look_is_of_a_running_job(tmp_path: Path) -> None:
    verdict = judged(tmp_path, SEND, PLAIN, looks=1)
    assert verdict.status != "established" and verdict.ranks == []
