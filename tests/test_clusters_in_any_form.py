"""TensorFlow's description of a cluster, and of the task that a process is in it, in whatever a host keeps it: one fact, one answer."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import polars as pl
import pytest

from parsers import read
from tests.sources import written

HOSTS = ("lynx02", "lynx03", "lynx01", "lynx04")  # by rank
PIDS = (1190457, 90388, 618230, 2204119)
WORKERS = [f"172.20.6.{at}:2222" for at in (12, 13, 11, 14)]
ABSENT = 1


def config(rank: int) -> dict[str, object]:
    return {"cluster": {"worker": WORKERS}, "task": {"type": "worker", "index": rank}}


def text(rank: int) -> str:
    return json.dumps(config(rank))


def inspected(rank: int) -> list[str]:
    env = [f"TF_CONFIG={text(rank)}", "TF_CPP_MIN_LOG_LEVEL=0", "NCCL_SOCKET_IFNAME=eno1"]
    return json.dumps([{"Id": f"{rank}9155edfe805d73a5defc", "State": {"Pid": PIDS[rank]}, "Name": "/mwms-1", "Config": {"Hostname": HOSTS[rank], "Env": env}}], indent=2).splitlines()  # fmt: skip


def pod(rank: int) -> list[str]:
    return [
        "spec:",
        "  containers:",
        "  - name: trainer",
        "    env:",
        "    - name: TF_CONFIG",
        f"      value: '{text(rank)}'",
        "    - name: LEVEL",
        '      value: "0"',
    ]


FORMS: dict[str, tuple[str, Callable[[int], list[str]]]] = {
    "docker inspect": ("inspect.json", inspected),
    "a manifest": ("pod.yaml", pod),
    "open": ("run.yaml", lambda rank: ["TF_CONFIG:", "  cluster:", "    worker:", *(f"    - {one}" for one in WORKERS), "  task:", "    type: worker", f"    index: {rank}"]),
    "open, in brackets": ("run.yaml", lambda rank: [f"TF_CONFIG: {text(rank)}", "epochs: 40"]),
    "an object": ("run.json", lambda rank: json.dumps({"TF_CONFIG": config(rank), "epochs": 40}, indent=1).splitlines()),
    "a text in an object": ("env.json", lambda rank: json.dumps({"TF_CONFIG": text(rank), "HOME": "/root"}, indent=1).splitlines()),
    "variables": ("env.txt", lambda rank: ["HOME=/root", f"TF_CONFIG={text(rank)}", "LEVEL=0"]),
    "exports": ("env.sh", lambda rank: ["export HOME=/root", f"export TF_CONFIG='{text(rank)}'"]),
    "of systemd": ("trainer.service", lambda rank: ["[Service]", f"Environment='TF_CONFIG={text(rank)}'", "Restart=no"]),
    "described": ("describe.txt", lambda rank: ["Name:  trainer", "Environment:", f"  TF_CONFIG:  {text(rank)}", "  LEVEL:      0"]),
    "a line of a log": ("train.log", lambda rank: [f"2026-05-29 16:41:02.488418: I run.py:1] TF_CONFIG={text(rank)}", "Epoch 1/40", "600/600 - loss: 1.1"]),
    "below a prompt": ("shell.txt", lambda rank: [f"root@{HOSTS[rank]}:~# docker exec mwms-1 env | grep TF_", f"TF_CONFIG={text(rank)}", "TF_CPP_MIN_LOG_LEVEL=0"]),
    "as the kernel keeps them": ("environ", lambda rank: [f"HOME=/root\0TF_CONFIG={text(rank)}\0LEVEL=0\0"]),
    "a line of Python's": ("train.log", lambda rank: [f"16:41:02 env {{'TF_CONFIG': '{text(rank)}'}}", "Epoch 1/40"]),
}  # fmt: skip


def stack(rank: int) -> list[str]:
    waits = ["    quick_execute (tensorflow/python/eager/execute.py:53)", "    fit (keras/src/engine/training.py:1807)"]
    saves = ["    save_v2 (tensorflow/python/ops/gen_io_ops.py:1843)", "    save (train.py:88)"]
    return [
        f"Process {PIDS[rank]}: python -u train.py", "Python v3.10.12 (/usr/bin/python3.10)", "",
        f'Thread {PIDS[rank]} (idle): "MainThread"', *(saves if rank == ABSENT else waits), "    <module> (train.py:140)",
    ]  # fmt: skip


def bundle(name: str, lines: Callable[[int], list[str]]) -> dict[str, list[str]]:
    files: dict[str, list[str]] = {}
    for rank, host in enumerate(HOSTS):
        files |= {f"{host}/{name}": lines(rank), f"{host}/stack.txt": stack(rank)}
    return files


def whose(folder: Path, files: Mapping[str, list[str]]) -> dict[str, int | None]:
    stacks = read(str(written(folder, files))).tables["stacks"]
    return dict(stacks.select(pl.col("file").str.split("/").list.first(), "rank").iter_rows())


@pytest.mark.parametrize("form", FORMS)
def test_a_host_is_the_task_that_it_was_given(form: str, tmp_path: Path) -> None:
    assert whose(tmp_path, bundle(*FORMS[form])) == {host: rank for rank, host in enumerate(HOSTS)}


def chiefs(rank: int) -> list[str]:
    """A chief before the workers, servers of parameters beside them."""
    task = {"type": "chief", "index": 0} if rank == 0 else {"type": "worker", "index": rank - 1}
    cluster = {"chief": WORKERS[:1], "worker": WORKERS[1:], "ps": ["172.20.6.31:2222", "172.20.6.32:2222"]}
    return [f"TF_CONFIG={json.dumps({'task': task, 'cluster': cluster})}", "LEVEL=0"]


def test_a_chief_is_before_the_workers(tmp_path: Path) -> None:
    assert whose(tmp_path, bundle("env.txt", chiefs)) == {host: rank for rank, host in enumerate(HOSTS)}


def servers(rank: int) -> list[str]:
    cluster = {"worker": WORKERS, "ps": WORKERS}
    return [f"TF_CONFIG={json.dumps({'cluster': cluster, 'task': {'type': 'ps', 'index': rank}})}", "LEVEL=0"]


def beyond(rank: int) -> list[str]:
    return [f"TF_CONFIG={text(rank + 4)}", "LEVEL=0"]


def without(rank: int) -> list[str]:
    return [f"TF_CONFIG={json.dumps({'cluster': {'worker': WORKERS}})}", f"OTHER_INDEX={rank}"]


@pytest.mark.parametrize("told", [servers, beyond, without])
def test_who_is_no_worker_of_it_is_nobody(told: Callable[[int], list[str]], tmp_path: Path) -> None:
    assert {*whose(tmp_path, bundle("env.txt", told)).values()} <= {None}
