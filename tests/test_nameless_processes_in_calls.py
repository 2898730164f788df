"""Stacks of processes of which no rank is told: where all stand in calls that wait for others, and a person says so, the job hung; nobody is named."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from forensics import analyze

MPI = "    sched_yield (libc.so.6)\n    mca_pml_ob1_{0} (mca_pml_ob1.so)\n    PMPI_{1} (libmpi.so.40)\n    main (flow.py:{2})\n"
TORCH = "    {1} (torch/distributed/distributed_c10d.py:2810)\n    main (flow.py:{2})\n"
BUSY = "    assemble (flow.py:{2})\n    main (flow.py:3)\n"


def dumped(folder: Path, frames: Sequence[str], first: int = 700) -> Path:
    text = "".join(
        f'Process {first + at}: python flow.py\nPython v3.11.7 (/usr/bin/python3.11)\n\nThread {first + at} (active): "MainThread"\n{own}\n'
        for at, own in enumerate(frames)
    )
    (folder / "stacks.txt").write_text(text)
    return folder


CALLS = {
    "MPI": [MPI.format("recv", "Recv", 27)] * 3 + [MPI.format("mprobe", "Mprobe", 15)],
    "MPI, one call": [MPI.format("recv", "Allreduce", 27)] * 3,
    "torch": [TORCH.format("", "all_reduce", 9)] * 2 + [TORCH.format("", "recv", 12)],
}


@pytest.mark.parametrize("frames", CALLS.values(), ids=CALLS)
def test_all_wait_in_calls(tmp_path: Path, frames: list[str]) -> None:
    found = analyze(dumped(tmp_path, frames), hung=True).verdict
    assert (found.kind, found.cause, found.ranks, found.suspects.ranks) == ("hang", None, [], [])


@pytest.mark.parametrize("frames", CALLS.values(), ids=CALLS)
def test_a_running_job_shows_the_same(tmp_path: Path, frames: list[str]) -> None:
    assert analyze(dumped(tmp_path, frames)).verdict.kind != "hang"


@pytest.mark.parametrize(
    "frames", [[*CALLS["MPI"], BUSY.format(0, 0, 40)], [BUSY.format(0, 0, 40)] * 3, CALLS["MPI"][:1]]
)
def test_where_one_is_elsewhere_or_alone_nobody_is_named(tmp_path: Path, frames: list[str]) -> None:
    assert analyze(dumped(tmp_path, frames), hung=True).verdict.ranks == []
