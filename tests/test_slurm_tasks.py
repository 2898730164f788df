"""Slurm counts tasks node by node, and gives a job some devices of a node: whose device an address is (parsers/who/places/slurm_tasks.py)."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from parsers import read
from tests.sources import written

NODES = ("tz09", "tz02", "tz05")  # in the order of the job's list
EACH, DEVICES = 2, 4
GIVEN = {"tz09": "0-1", "tz02": "2-3", "tz05": "0,3"}
BUSES = ("18", "3a", "9a", "db")
SCRIPT = ["#!/bin/bash", "#SBATCH --nodes=3", "#SBATCH --ntasks-per-node=2"]
RUN = "srun {more}bash -c 'RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID exec python fit.py'"
JOB = ["JobId=7 JobName=fit", "   NodeList=tz[09,02,05]", "   NumNodes=3 NumTasks=6"]
JOB += [f"     Nodes={node} CPU_IDs=0-7 Mem=4096 GRES=gpu:a:2(IDX:{given})" for node, given in GIVEN.items()]
Files = Mapping[str, Sequence[str]]


def csv() -> Files:
    rows = [
        f"{node},{at},00000000:{bus.upper()}:00.0,GPU-{at}{node[-1]}35730d-0f08-2eab-c1fe-ae717f30200e"
        for node in NODES
        for at, bus in enumerate(BUSES)
    ]
    return {"devices.csv": ["host,index,pci.bus_id,uuid", *rows]}


def by_hand() -> Files:
    lines = []
    for node in NODES:
        lines += [f"== {node} ==", *(f"{at}, 00000000:{bus.upper()}:00.0" for at, bus in enumerate(BUSES))]
    return {"buses.txt": lines}


LISTS = {"a table": csv, "below headings": by_hand}


def told(
    folder: Path, files: Files, more: str = "", ended: Sequence[str] = (), run: str = RUN
) -> dict[int, tuple[str, str]]:
    kernel = {f"kern/{node}.log": [f"Jul 21 14:18:12 {node} kernel: up"] for node in NODES}
    log = {"job.out": ["step 1 loss 2.1", *ended]}
    bundle = {"job.sbatch": [*SCRIPT, run.format(more=more)], "job.txt": JOB, **log, **kernel, **files}
    ranks = read(str(written(folder, bundle))).tables["ranks"].drop_nulls(["rank", "pci"])
    return {rank: (host, pci) for rank, host, pci in ranks.select("rank", "host", "pci").iter_rows()}


EXPECTED = {
    at * EACH + local: (node, f"0000:{BUSES[device]}:00.0")
    for at, (node, devices) in enumerate({"tz09": (0, 1), "tz02": (2, 3), "tz05": (0, 3)}.items())
    for local, device in enumerate(devices)
}


@pytest.mark.parametrize("form", LISTS)
@pytest.mark.parametrize("more", ["", "--distribution=block ", "--kill-on-bad-exit=1 "])
def test_whose_device_an_address_is(tmp_path: Path, form: str, more: str) -> None:
    assert told(tmp_path, LISTS[form](), more, ["srun: error: tz02: tasks 2-3: Aborted"]) == EXPECTED


@pytest.mark.parametrize(
    ("more", "ended", "run"),
    [
        ("--distribution=cyclic ", [], RUN),
        ("-m plane=1 ", [], RUN),
        ("", ["srun: error: tz02: tasks 1,4: Aborted"], RUN),
        ("", [], "srun torchrun --nproc-per-node=2 fit.py"),
        ("", [], "srun bash -c 'RANK=$((SLURM_LOCALID * 3 + SLURM_NODEID)) exec python fit.py'"),
    ],
    ids=["in turns", "in another way", "the launcher says otherwise", "tasks are launchers", "a script computes it"],
)
def test_else_a_device_is_nobodys(tmp_path: Path, more: str, ended: Sequence[str], run: str) -> None:
    assert told(tmp_path, csv(), more, ended, run) == {}


def test_a_number_beside_a_host_that_is_no_device_tells_no_address(tmp_path: Path) -> None:
    rows = [
        f"{node},{at * EACH + local},00000000:{BUSES[local]}:00.0"
        for at, node in enumerate(NODES)
        for local in range(EACH)
    ]
    assert told(tmp_path, {"map.csv": ["host,stage,pci.bus_id", *rows]}) == {}
