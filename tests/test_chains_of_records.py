"""Who is who over several records: what one calls a process by, another one calls otherwise, and the last one calls a rank."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from parsers import read
from tests.sources import written

HOSTS = ("kiwi-11", "kiwi-12")
PIDS = (8815, 8812, 8810, 8817)  # of one host two of these, of the other two
IDS = ("5f3ce0b1a2d4", "a91d7740cc01", "e1a2cfab9b3e", "03cda003be77")
RANKS = (2, 0, 3, 1)
WORLD = [f"starting rank {rank} of world size 4" for rank in range(4)]
Files = dict[str, list[str]]


def pairs(form: Callable[[int], list[str]], *head: str) -> Callable[[str], Files]:
    """A file of each host, with what a process there is called."""
    return lambda name: {
        f"{host}/{name}.txt": [*head, *(line for at in (2 * node, 2 * node + 1) for line in form(at))]
        for node, host in enumerate(HOSTS)
    }


def whole(form: Callable[[int], list[str]], *head: str) -> Callable[[str], Files]:
    """One file of all."""
    return lambda name: {f"{name}.txt": [*head, *(line for at in range(4) for line in form(at))]}


# (pid, container) of each process, as the collector of a host notes it
OF_PIDS: dict[str, Callable[[str], Files]] = {
    "sections with a cgroup": pairs(
        lambda at: [f"== {PIDS[at]}", "State: S (sleeping)", f"Tgid: {PIDS[at]}", f"0::/job.slice/run-{IDS[at]}.scope"]
    ),
    "a table": pairs(lambda at: [f"{PIDS[at]:<8}{IDS[at]}"], f"{'PID':<8}CONTAINER"),
    "a table with marks": pairs(lambda at: [f"{IDS[at]},{PIDS[at]},up"], "container,pid,state"),
    "settings": pairs(lambda at: [f"MainPID={PIDS[at]}", f"Container={IDS[at]}", ""]),
    "lines": pairs(lambda at: [f"container {IDS[at]} runs as pid {PIDS[at]} since 10:02"]),
    "commands": pairs(lambda at: [f"$ cat /proc/{PIDS[at]}/cgroup", f"0::/system.slice/docker-{IDS[at]}.scope"]),
}
# (container, rank), as whoever began them says
OF_RANKS: dict[str, Callable[[str], Files]] = {
    "a table": whole(lambda at: [f"{IDS[at]:<16}{RANKS[at]:<6}up"], f"{'ID':<16}{'RANK':<6}STATE"),
    "a table with marks": whole(lambda at: [f"{RANKS[at]};{IDS[at]}"], "rank;container"),
    "variables": whole(lambda at: [f"== {IDS[at]}", f"RANK={RANKS[at]}", "WORLD_SIZE=4"]),
    "an object": lambda name: {
        f"{name}.json": [json.dumps([{"id": IDS[at], "env": {"RANK": str(RANKS[at]), "WORLD_SIZE": "4"}} for at in range(4)])]
    },
    "entries": lambda name: {
        f"{name}.yaml": [
            line
            for at in range(4)
            for line in (f"- id: {IDS[at]}", "  env:", f"  - {{name: RANK, value: '{RANKS[at]}'}}")
        ]
    },
    "short ids": whole(lambda at: [f"{IDS[at][:8]},{RANKS[at]}"], "task,rank"),
}  # fmt: skip


def told(folder: Path, files: Files) -> dict[tuple[str | None, int], int]:
    rows = read(str(written(folder, files | {"run.log": WORLD}))).tables["ranks"].drop_nulls(["rank", "pid"])
    return {(host, pid): rank for host, pid, rank in rows.select("host", "pid", "rank").iter_rows()}


@pytest.mark.parametrize("of_ranks", OF_RANKS)
@pytest.mark.parametrize("of_pids", OF_PIDS)
def test_a_pid_is_joined_to_a_rank_by_its_container(of_pids: str, of_ranks: str, tmp_path: Path) -> None:
    found = told(tmp_path, OF_PIDS[of_pids]("seen") | OF_RANKS[of_ranks]("begun"))
    assert found == {(HOSTS[at // 2], PIDS[at]): RANKS[at] for at in range(4)}


def test_a_pid_of_two_hosts_is_two_processes(tmp_path: Path) -> None:
    table = {
        f"{host}/seen.csv": ["container,pid", *(f"{IDS[2 * node + at]},{8812 + at}" for at in range(2))]
        for node, host in enumerate(HOSTS)
    }
    found = told(tmp_path, table | OF_RANKS["a table with marks"]("begun"))
    assert found == {(HOSTS[at // 2], 8812 + at % 2): RANKS[at] for at in range(4)}


@pytest.mark.parametrize(
    "lines",
    [
        [f"container {IDS[at]} of pid {PIDS[at]} waits for a lock of {IDS[at - 1]}" for at in range(4)],
        [f"pid {PIDS[0]} of {IDS[at]} is gone" for at in range(4)],
        [f"{IDS[0]} holds what pid {PIDS[at]} wants" for at in range(4)],
    ],
    ids=["a holder beside it", "one pid of all", "one container of all"],
)
def test_who_is_not_told_one_by_one_is_nobody(lines: list[str], tmp_path: Path) -> None:
    files = {f"{HOSTS[0]}/seen.txt": lines} | OF_RANKS["a table with marks"]("begun")
    assert told(tmp_path, files) == {}
