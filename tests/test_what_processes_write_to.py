"""Which file a process has open tells its place on a node: one fact, one answer."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from parsers import read
from tests.sources import written

Files = dict[str, list[str]]
HOSTS = ("kn-r2-31", "kn-r1-04")
PIDS = (41190, 41188, 41196, 41193)  # by place there, in no order; the same on both hosts
BEGUN = {
    f"pod-{at}.log": [
        f"I1128 21:07:43.{at}04913 7 torch/distributed/elastic/agent/server/api.py:525] [default] Rendezvous complete for workers. Result:",
        f"  group_rank={1 - at}", "  local_ranks=[0, 1, 2, 3]", f"  role_ranks={[*range(4 - 4 * at, 8 - 4 * at)]}",
        f"  global_ranks={[*range(4 - 4 * at, 8 - 4 * at)]}", "  global_world_sizes=[8, 8, 8, 8]",
    ]
    for at in (0, 1)
}  # fmt: skip
PODS = [
    "$ kubectl get pods -o wide",
    "NAME     READY   IP          NODE",
    *(f"pod-{at}    1/1     10.6.1.{at}3    {host}" for at, host in enumerate(HOSTS)),
]


def file_of(at: int, stream: str = "stderr") -> str:
    return f"/tmp/te/cap_k0tq2m1s/attempt_0/{at}/{stream}.log"


def each(form: Callable[[int, int], list[str]], *head: str) -> Callable[[str], list[str]]:
    """Of a host whose prompt is seen."""
    return lambda host: [
        f"root@{host}:/# cat /proc/loadavg", "1.02 2.11 3.0 1/900 5",
        *(line.replace("@HOST", host) for line in (*head, *(line for at in (1, 0, 3, 2) for line in form(at, PIDS[at])))),
    ]  # fmt: skip


FORMS: dict[str, Callable[[str], list[str]]] = {
    "listings": each(
        lambda at, pid: [
            f"root@@HOST:/# ls -l /proc/{pid}/fd | head -{9 + at}", "lr-x------ 1 root root 64 Nov 29 15:53 0 -> /dev/null",
            f"l-wx------ 1 root root 64 Nov 29 15:53 1 -> {file_of(at, 'stdout')}", f"l-wx------ 1 root root 64 Nov 29 15:53 2 -> {file_of(at)}",
        ]
    ),
    "listings, each with another end": each(
        lambda at, pid: [f"root@@HOST:/# ls -l /proc/{pid}/fd" + (" | grep te/", "")[at % 2], f"l-wx------ 1 root root 64 Nov 29 15:5{at} 2 -> {file_of(at)}"]
    ),
    "below headings": each(lambda at, pid: [f"== {pid}", f"2 -> {file_of(at)}"]),
    "links, each asked for": each(lambda at, pid: [f"root@@HOST:/# readlink /proc/{pid}/fd/2", file_of(at)]),
    "links with their names": each(lambda at, pid: [f"/proc/{pid}/fd/2 -> {file_of(at)}"]),
    "lsof": each(
        lambda at, pid: [f"python3 {pid} root 2w REG 0,53 81{at}2 99{at}31 {file_of(at)}"], "COMMAND PID USER FD TYPE DEVICE SIZE/OFF NODE NAME"
    ),
    "pairs": each(lambda at, pid: [f"{pid}: {file_of(at)}"]),
    "a table with marks": each(lambda at, pid: [f"{pid},{file_of(at)},up"], "pid,stderr,state"),
    "columns": each(lambda at, pid: [f"{pid:<9}{file_of(at)}"], f"{'PID':<9}STDERR"),
    "a sentence": each(lambda at, pid: [f"process {pid} writes to {file_of(at)}"]),
    "settings": each(lambda at, pid: [f"pid={pid}", f"stderr={file_of(at)}", ""]),
    "objects": each(lambda at, pid: [json.dumps({"pid": pid, "stderr": file_of(at)})]),
    "fuser": each(lambda at, pid: [f"{file_of(at)}: {pid}"]),
}  # fmt: skip


def told(folder: Path, seen: Files) -> dict[tuple[str, int], int]:
    stacks = {f"{host}/py-spy.txt": [f"Process {pid}: python -u t.py" for pid in PIDS] for host in HOSTS}
    files = BEGUN | {"pods.txt": PODS} | stacks | seen
    rows = read(str(written(folder, files))).tables["ranks"].drop_nulls(["rank", "pid", "host"])
    pods = {f"pod-{at}": host for at, host in enumerate(HOSTS)}
    return {(pods.get(host, host), pid): rank for host, pid, rank in rows.select("host", "pid", "rank").iter_rows()}


@pytest.mark.parametrize("form", FORMS)
def test_a_process_is_where_it_writes_to(form: str, tmp_path: Path) -> None:
    found = told(tmp_path, {f"node-{at}.txt": FORMS[form](host) for at, host in enumerate(HOSTS)})
    assert found == {(host, pid): 4 - 4 * at + local for at, host in enumerate(HOSTS) for local, pid in enumerate(PIDS)}


@pytest.mark.parametrize(
    "form",
    [
        each(lambda at, pid: [f"/proc/{PIDS[0]}/fd/{at + 3} -> {file_of(at)}"]),
        each(lambda at, pid: [f"/proc/{pid}/fd/2 -> {file_of(0)}"]),
        each(lambda at, pid: [f"/proc/{pid}/fd/7 -> /mnt/shards/{7 * at + 3}/part-11.tar"]),
    ],
    ids=["an agent that has all of them", "one file of all", "a file of data"],
)
def test_files_that_are_not_each_ones_own_tell_nobody(form: Callable[[str], list[str]], tmp_path: Path) -> None:
    assert told(tmp_path, {f"node-{at}.txt": form(host) for at, host in enumerate(HOSTS)}) == {}
