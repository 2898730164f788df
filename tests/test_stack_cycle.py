"""Ranks that wait for each other in a circle, by the arguments of the sends and receives in their stacks."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from forensics import analyze
from forensics.detectors.ranks.stack_cycle import cycles

PY_SPY = """\
Process {pid}: python train.py
Python v3.11.7 (/usr/bin/python3.11)

Thread {pid} (idle): "MainThread"
    {function} ({file}:12)
        Arguments:
            tensor: <Tensor at 0x7f39d85dbc30>
            {argument}: {peer}
            group: None
    exchange (job.py:40)
    <module> (job.py:90)
"""
GDB = """\
Attaching to process {pid}
Thread 1 (Thread 0x7f11 (LWP {pid}) "solver"):
#0  0x00007f69 in sched_yield () from /lib64/libc.so.6
#1  0x00007f70 in {function} (buf=0x7f00, count=1024, datatype=0x1, {argument}={peer}, tag=7, comm=0x2) at pcall.c:80
#2  0x00007f71 in exchange (state=0x1) at job.c:40
#3  0x00007f72 in main (argc=1, argv=0x7ffd) at job.c:90
"""
FORMS: Mapping[str, tuple[str, str, str, str]] = {
    "recv": (PY_SPY, "recv", "src", "torch/distributed/distributed_c10d.py"),
    "qualified": (PY_SPY, "Halo.recv_object_list", "src", "torch/distributed/distributed_c10d.py"),
    "send": (PY_SPY, "send", "dst", "torch/distributed/distributed_c10d.py"),
    "own wrapper": (PY_SPY, "recv", "peer", "lib/comm/p2p.py"),
    "MPI": (GDB, "PMPI_Recv", "source", ""),
    "MPI, sends": (GDB, "MPI_Ssend", "dest", ""),
}


def write(folder: Path, form: tuple[str, str, str, str], waits: Mapping[int, int], looks: int = 2) -> Path:
    """Stacks of each rank, as often as somebody looked."""
    text, function, argument, file = form
    for look in range(looks):
        (folder / f"look_{look}").mkdir()
        for rank, peer in waits.items():
            said = text.format(pid=4700 + rank, function=function, argument=argument, file=file, peer=peer)
            (folder / f"look_{look}" / f"rank{rank}.txt").write_text(said)
    return folder


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("size", [3, 4])
def test_a_circle_is_a_deadlock_of_all_in_it(tmp_path: Path, form: tuple[str, str, str, str], size: int) -> None:
    verdict = analyze(write(tmp_path, form, {rank: (rank + 1) % size for rank in range(size)})).verdict
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("hang", "deadlock_cycle", [])


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_who_waits_in_a_line_is_in_no_circle(tmp_path: Path, form: tuple[str, str, str, str]) -> None:
    verdict = analyze(write(tmp_path, form, {0: 1, 1: 2, 2: 3})).verdict
    assert verdict.cause != "deadlock_cycle" and verdict.ranks == []


def test_a_look_alone_is_of_a_running_job(tmp_path: Path) -> None:
    verdict = analyze(write(tmp_path, FORMS["recv"], {0: 1, 1: 2, 2: 0}, looks=1)).verdict
    assert verdict.status != "established" and verdict.ranks == []


def test_a_message_on_its_way_is_no_circle(tmp_path: Path) -> None:
    write(tmp_path, FORMS["recv"], {1: 0})
    for look in range(2):
        said = PY_SPY.format(
            pid=4700, function="send", argument="dst", file="torch/distributed/distributed_c10d.py", peer=1
        )
        (tmp_path / f"look_{look}" / "rank0.txt").write_text(said)
    assert analyze(tmp_path).verdict.cause != "deadlock_cycle"


@pytest.mark.parametrize(
    ("waits", "expected"),
    [
        ({0: 1, 1: 0}, [(0, 1)]),
        ({0: 1, 1: 2, 2: 1}, [(1, 2)]),
        ({0: 1, 1: 0, 2: 3, 3: 2, 4: 2}, [(0, 1), (2, 3)]),
        ({0: 0}, []),
        ({0: 5}, []),
    ],
)
def test_circles(waits: dict[int, int], expected: list[tuple[int, ...]]) -> None:
    assert cycles(waits) == expected
