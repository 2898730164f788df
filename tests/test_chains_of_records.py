"""Who is who over several records: what one calls a process by, another one calls otherwise, and the last one calls a rank."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from parsers import read
from tests.sources import written

HOSTS = ("kiwi-11", "kiwi-12")
PIDS = (8815, 8812, 8810, 8817)  # of one host two of these, of the other two
_FIRST = ("5f3ce0b1", "a91d7740", "e1a2cfab", "03cda003")
KEYS = {  # of a container, a pod, a device, an actor, a service, a unit
    "short": ("5f3ce0b1a2d4", "a91d7740cc01", "e1a2cfab9b3e", "03cda003be77"),
    "uid": tuple(f"{one}-037b-d910-766d-d20c89babaad" for one in _FIRST),
    "device": tuple(f"GPU-{one}-037b-d910-766d-d20c89babaad" for one in _FIRST),
    "name": ("heron", "finch", "wren", "kite"),
    "counted": ("grebe-trainer-3", "grebe-trainer-1", "grebe-trainer-0", "grebe-trainer-2"),  # its number is no rank
    "unit": ("lm@eta.service", "lm@alpha.service", "lm@zeta.service", "lm@beta.service"),
    "actor": tuple(f"{one}18a58f91cd9e4103000000" for one in _FIRST),
}
IDS = KEYS["short"]
RANKS = (2, 0, 3, 1)
WORLD = [f"starting rank {rank} of world size 4" for rank in range(4)]
Files = dict[str, list[str]]
Names = tuple[str, ...]
Form = Callable[[str, Names], Files]


def pairs(form: Callable[[int, Names], list[str]], *head: str) -> Form:
    """A file of each host, with what a process there is called."""
    return lambda name, ids: {
        f"{host}/{name}.txt": [*head, *(line for at in (2 * node, 2 * node + 1) for line in form(at, ids))]
        for node, host in enumerate(HOSTS)
    }


def whole(form: Callable[[int, Names], list[str]], *head: str, kind: str = "txt") -> Form:
    """One file of all."""
    return lambda name, ids: {f"{name}.{kind}": [*head, *(line for at in range(4) for line in form(at, ids))]}


def as_json(name: str, ids: Names) -> Files:
    return {
        f"{host}/{name}.json": [
            json.dumps({"all": [{"pid": PIDS[at], "worker": ids[at]} for at in (2 * node, 2 * node + 1)]})
        ]
        for node, host in enumerate(HOSTS)
    }


# (pid, container) of each process, as the collector of a host notes it
OF_PIDS: dict[str, Form] = {
    "sections with a cgroup": pairs(
        lambda at, ids: [
            f"== {PIDS[at]}",
            "State: S (sleeping)",
            f"Tgid: {PIDS[at]}",
            f"0::/job.slice/run-{ids[at]}.scope",
        ]
    ),
    "a table": pairs(lambda at, ids: [f"{PIDS[at]:<8}{ids[at]}"], f"{'PID':<8}CONTAINER"),
    "a table with marks": pairs(lambda at, ids: [f"{ids[at]},{PIDS[at]},up"], "container,pid,state"),
    "a table of Markdown": pairs(lambda at, ids: [f"| {ids[at]} | {PIDS[at]} |"], "| name | pid |", "|---|---|"),
    "settings": pairs(lambda at, ids: [f"MainPID={PIDS[at]}", f"Container={ids[at]}", ""]),
    "commands": pairs(lambda at, ids: [f"$ cat /proc/{PIDS[at]}/cgroup", f"0::/system.slice/docker-{ids[at]}.scope"]),
    "objects": pairs(lambda at, ids: [json.dumps({"pid": PIDS[at], "name": ids[at], "state": "up"})]),
    "a document": as_json,
    "entries": pairs(lambda at, ids: [f"- name: {ids[at]}", f"  pid: {PIDS[at]}"]),
    "a column of hosts": whole(lambda at, ids: [f"{HOSTS[at // 2]}  {PIDS[at]}  {ids[at]}"], "HOST  PID  NAME"),
}
# (container, rank), as whoever began them says
OF_RANKS: dict[str, Form] = {
    "a table": whole(lambda at, ids: [f"{ids[at]:<46}{RANKS[at]:<6}up"], f"{'ID':<46}{'RANK':<6}STATE"),
    "a table with marks": whole(lambda at, ids: [f"{RANKS[at]};{ids[at]}"], "rank;container"),
    "variables": whole(lambda at, ids: [f"== {ids[at]}", f"RANK={RANKS[at]}", "WORLD_SIZE=4"]),
    "an object": lambda name, ids: {
        f"{name}.json": [json.dumps([{"id": ids[at], "env": {"RANK": str(RANKS[at]), "WORLD_SIZE": "4"}} for at in range(4)])]
    },
    "a mapping": lambda name, ids: {f"{name}.json": [json.dumps({ids[at]: {"rank": RANKS[at]} for at in range(4)})]},
    "a mapping of ranks": lambda name, ids: {f"{name}.json": [json.dumps({"ranks": {ids[at]: RANKS[at] for at in range(4)}})]},
    "entries": lambda name, ids: {
        f"{name}.yaml": [
            line
            for at in range(4)
            for line in (f"- id: {ids[at]}", "  env:", f"  - {{name: RANK, value: '{RANKS[at]}'}}")
        ]
    },
    "sections of INI": whole(lambda at, ids: [f"[{ids[at]}]", f"rank = {RANKS[at]}", "world_size = 4"], kind="ini"),
    "short ids": whole(lambda at, ids: [f"{ids[at].removeprefix('GPU-')[:8]},{RANKS[at]}"], "task,rank"),
}  # fmt: skip


def told(folder: Path, files: Files) -> dict[tuple[str | None, int], int]:
    rows = read(str(written(folder, files | {"run.log": WORLD}))).tables["ranks"].drop_nulls(["rank", "pid"])
    return {(host, pid): rank for host, pid, rank in rows.select("host", "pid", "rank").iter_rows()}


@pytest.mark.parametrize("of_ranks", OF_RANKS)
@pytest.mark.parametrize("of_pids", OF_PIDS)
def test_a_pid_is_joined_to_a_rank_by_what_both_call_it(of_pids: str, of_ranks: str, tmp_path: Path) -> None:
    kinds = [*KEYS]
    kinds = kinds if of_ranks != "short ids" else ["short", "uid", "device", "actor"]
    ids = KEYS[kinds[([*OF_PIDS].index(of_pids) + [*OF_RANKS].index(of_ranks)) % len(kinds)]]
    found = told(tmp_path, OF_PIDS[of_pids]("seen", ids) | OF_RANKS[of_ranks]("begun", ids))
    assert found == {(HOSTS[at // 2], PIDS[at]): RANKS[at] for at in range(4)}


def test_a_pid_of_two_hosts_is_two_processes(tmp_path: Path) -> None:
    table = {
        f"{host}/seen.csv": ["container,pid", *(f"{IDS[2 * node + at]},{8812 + at}" for at in range(2))]
        for node, host in enumerate(HOSTS)
    }
    found = told(tmp_path, table | OF_RANKS["a table with marks"]("begun", IDS))
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
    files = {f"{HOSTS[0]}/seen.txt": lines} | OF_RANKS["a table with marks"]("begun", IDS)
    assert told(tmp_path, files) == {}
