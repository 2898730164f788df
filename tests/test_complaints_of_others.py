"""A job that came to its announced end is well, whatever a kernel says of processes that are none of its own, where all of these are known."""

from pathlib import Path

import pytest

from forensics import analyze
from tests.sources import written

HOSTS = ("tk4", "tk9")
PIDS = {rank: 5100 + 7 * rank for rank in range(4)}
OOM = [
    "Oct 02 19:31:04 {host} kernel: Memory cgroup out of memory: Killed process {pid} (python3) total-vm:98341220kB, anon-rss:67081044kB, file-rss:11236kB, shmem-rss:0kB, UID:5120"
]
XID = ["Oct 02 19:12:04 {host} kernel: NVRM: Xid (PCI:0000:e1:00): 13, pid={pid}, name=python3, Graphics SM Warp Exception on (GPC 1, TPC 3, SM 1): Out Of Range Address"]  # fmt: skip
SAID = {"memory": OOM, "a device": XID, "both": [*OOM, *XID]}
FORMS = {
    "tags": ("[1,{rank}]<stdout>:", "worker up: host {host} pid {pid} gpu {at}"),
    "labels": ("[rank{rank}]: ", "pid {pid} on {host}, rank {rank} of 4"),
}


def kind(folder: Path, form: str, kernel: list[str], last: int = 40, untold: int | None = None) -> str:
    tag, up = FORMS[form]
    lines = ["$ mpirun --tag-output -np 4 -H tk4:2,tk9:2 python fit.py"] if form == "tags" else []
    lines += [
        tag.format(rank=rank) + up.format(rank=rank, host=HOSTS[rank // 2], pid=pid, at=rank % 2)
        for rank, pid in PIDS.items()
        if rank != untold
    ]
    lines += [f"{tag.format(rank=0)}19:{20 + step}:01 step {step}/40 loss 2.{step:02}" for step in range(1, last + 1)]
    found = analyze(written(folder, {"run.log": lines, "tk9.kern": kernel}))
    return found.verdict.kind


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("said", SAID)
def test_a_process_of_somebody_else(tmp_path: Path, form: str, said: str) -> None:
    assert kind(tmp_path, form, [line.format(host="tk9", pid=61240) for line in SAID[said]]) == "healthy"


@pytest.mark.parametrize("said", SAID)
def test_its_own_process(tmp_path: Path, said: str) -> None:
    assert kind(tmp_path, "tags", [line.format(host="tk9", pid=PIDS[3]) for line in SAID[said]]) != "healthy"


def test_it_did_not_come_to_its_end(tmp_path: Path) -> None:
    assert kind(tmp_path, "tags", [OOM[0].format(host="tk9", pid=61240)], last=31) != "healthy"


def test_whose_process_it_is_is_not_known_of_all(tmp_path: Path) -> None:
    assert kind(tmp_path, "tags", [OOM[0].format(host="tk9", pid=61240)], untold=3) != "healthy"
