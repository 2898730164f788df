"""Who is who by what containers call their processes, in the forms in which people note it; and numbers that are others' there."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from parsers.archive.bundle import open_bundle
from parsers.schema.names import Names
from parsers.who.speakers import speakers
from tests.sources import written

Files = dict[str, list[str]]
NODES = ("gpu-e14", "gpu-e20", "gpu-e17")  # in the order of their ranks
PODS = {"gpu-e14": "mid-w-0-1-zz9qd", "gpu-e20": "mid-w-0-0-4kx2p", "gpu-e17": "mid-w-0-2-8dxgs"}
UIDS = {"gpu-e14": "dd9bfb0f-6bea-4b0e-93b7-72861383abee", "gpu-e20": "5b9545a4-ec10-4308-989b-0e47dc06645e", "gpu-e17": "eaa635b9-0255-4149-9ba0-33ee1b3434b6"}  # fmt: skip
INNER = {"gpu-e14": (62, 61), "gpu-e20": (61, 62), "gpu-e17": (80, 79)}  # by local rank
OUTER = {80: 1730412, 79: 1730411}
FOREIGN = "0c1d7c9e-11aa-4c4b-8f0d-52f1f1a0b7aa"


def job() -> Files:
    items = [
        {"metadata": {"name": PODS[node], "uid": UIDS[node]}, "spec": {"nodeName": node}, "status": {"hostIP": f"10.12.4.{at}"}}
        for at, node in enumerate(sorted(NODES))
    ]  # fmt: skip
    files = {"pods.json": json.dumps({"kind": "List", "items": items}, indent=1).splitlines()}
    for at, node in enumerate(NODES):
        files[f"logs/{PODS[node]}.log"] = [
            f"I1118 19:03:41.80{number} 1 torch/distributed/elastic/agent/server/api.py:525]   {text}"
            for number, text in enumerate(("restart_count=0", f"group_rank={at}", "group_world_size=3", "local_ranks=[0, 1]", f"role_ranks=[{2 * at}, {2 * at + 1}]", f"global_ranks=[{2 * at}, {2 * at + 1}]"))
        ]  # fmt: skip
    return files


def below(heading: str, row: str) -> Callable[[], list[str]]:
    return lambda: [
        line.format(node=node, pod=PODS[node], pid=pid, local=local)
        for node in sorted(NODES)
        for line, pid, local in ((heading, 0, 0), *((row, pid, local) for local, pid in sorted(enumerate(INNER[node]), key=lambda one: one[1])))
    ]  # fmt: skip


def stacks() -> Files:
    """So that somebody calls these numbers processes."""
    lines = []
    for node in NODES:
        for pid in INNER[node]:
            lines += [f"$ kubectl -n lm exec {PODS[node]} -- py-spy dump --pid {pid}", f"Process {pid}: python3 -u -m train", "Python v3.12.7 (/usr/bin/python3.12)", ""]  # fmt: skip
            lines += [f'Thread {pid} (active): "MainThread"', "    all_reduce (torch/distributed/distributed_c10d.py:2806)", "    train (train.py:602)", ""]  # fmt: skip
    return {"stacks.out": lines}


INSIDE: dict[str, Callable[[], list[str]]] = {
    "below pods": below("== pod/{pod}", "{pid} LOCAL_RANK={local} MASTER_PORT=38211"),
    "below names": below("==== {pod} ====", "{pid} LOCAL_RANK={local}"),
    "the place first": below("### {pod}", "LOCAL_RANK={local} pid {pid}"),
    "typed": below("$ kubectl -n lm exec {pod} -- ./who.sh", "{pid} LOCAL_RANK={local}"),
    "of set -x": below("+ kubectl -n lm exec {pod} -- ./who.sh", "pid={pid} local_rank={local}"),
    "of docker": below("root@{node}:~# docker exec {pod} ./who.sh", "{pid}  local_rank: {local}"),
    "of ssh": below("$ ssh {node} ./who.sh", "process {pid} local_rank {local} of 2"),
    "records": below("-- {pod}", '{{"pid": {pid}, "local_rank": {local}, "state": "S"}}'),
}
OUTSIDE: dict[str, list[str]] = {
    "grep": ["root@gpu-e17:~# grep -E 'State|NSpid' /proc/1730411/status", "State:\tD (disk sleep)", "NSpid:\t1730411\t79"],
    "status": ["root@gpu-e17:~# cat /proc/1730411/status", "Name:\tpython3", "Pid:\t1730411", "NSpid:\t1730411\t79", "Threads:\t9"],
    "grep of several": ["root@gpu-e17:~# grep NSpid /proc/*/status", "/proc/1730411/status:NSpid:\t1730411\t79", "/proc/1730412/status:NSpid:\t1730412\t80"],
    "below a heading": ["### gpu-e17", "== 1730411", "NSpid: 1730411 79"],
    "three namespaces": ["root@gpu-e17:~# grep NSpid /proc/1730411/status", "NSpid:\t1730411\t812\t79"],
    "with its group": ["root@gpu-e17:~# grep NSpid /proc/1730411/status", "NSpid:\t1730411\t79", "root@gpu-e17:~# cat /proc/1730411/cgroup", "0::/kubepods.slice/kubepods-podeaa635b9_0255_4149_9ba0_33ee1b3434b6.slice/cri-containerd-daff1444f5e8d3ea.scope"],
    "its group first": ["root@gpu-e17:~# cat /proc/1730411/cgroup", "12:memory:/kubepods/burstable/podeaa635b9-0255-4149-9ba0-33ee1b3434b6/daff1444f5e8d3ea", "root@gpu-e17:~# grep NSpid /proc/1730411/status", "NSpid:\t1730411\t79"],
}  # fmt: skip


def told(folder: Path, files: Files) -> Names:
    with open_bundle(str(written(folder, files))) as bundle:
        return speakers(bundle.sources).names


@pytest.mark.parametrize("form", INSIDE)
def test_containers_number_their_processes(form: str, tmp_path: Path) -> None:
    names = told(tmp_path, job() | stacks() | {"inside.txt": INSIDE[form]()})
    expected = {(node, pid): 2 * at + local for at, node in enumerate(NODES) for local, pid in enumerate(INNER[node])}
    assert {key: names.processes.get(key) for key in expected} == expected


@pytest.mark.parametrize("form", OUTSIDE)
def test_a_process_has_two_numbers(form: str, tmp_path: Path) -> None:
    files = job() | stacks() | {"inside.txt": INSIDE["below pods"](), "node.txt": OUTSIDE[form]}
    assert told(tmp_path, files).processes.get(("gpu-e17", 1730411)) == 5


OTHERS: dict[str, list[str]] = {
    "of another pod": ["root@gpu-e17:~# grep NSpid /proc/1730411/status", "NSpid:\t1730411\t79", "root@gpu-e17:~# cat /proc/1730411/cgroup", f"0::/kubepods.slice/kubepods-pod{FOREIGN.replace('-', '_')}.slice/cri-containerd-aa11bb22cc33dd44.scope"],
    "of two containers": ["root@gpu-e17:~# grep NSpid /proc/*/status", "/proc/1730411/status:NSpid:\t1730411\t79", "/proc/90211/status:NSpid:\t90211\t79"],
    "of another node": ["root@gpu-e99:~# grep NSpid /proc/1730411/status", "NSpid:\t1730411\t79", "root@gpu-e99:~# uptime"],
    "of no container": ["root@gpu-e17:~# grep NSpid /proc/1730411/status", "NSpid:\t1730411"],
    "its parent's": ["root@gpu-e17:~# ps -o pid,ppid", "1730411 79"],
    "another number": ["root@gpu-e17:~# grep NSpid /proc/1730411/status", "NSpid:\t1730411\t412"],
}  # fmt: skip


@pytest.mark.parametrize("form", OTHERS)
def test_others_have_such_numbers_too(form: str, tmp_path: Path) -> None:
    names = told(tmp_path, job() | stacks() | {"inside.txt": INSIDE["below pods"](), "node.txt": OTHERS[form]})
    assert {key for key in names.processes if key[1] in (1730411, 90211)} == set()


def test_pids_of_two_attempts_are_nobodys(tmp_path: Path) -> None:
    again = [
        line.replace("LOCAL_RANK=1", "LOCAL_RANK=x").replace("LOCAL_RANK=0", "LOCAL_RANK=1").replace("=x", "=0")
        for line in INSIDE["below pods"]()
    ]
    names = told(
        tmp_path, job() | stacks() | {"inside.txt": [*INSIDE["below pods"](), *again], "node.txt": OUTSIDE["grep"]}
    )
    assert names.processes.get(("gpu-e17", 1730411)) is None
