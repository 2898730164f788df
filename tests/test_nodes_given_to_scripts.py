"""A script that makes ranks of the number of its node, and whatever tells which host has which: inventories, tables, commands; from 0 or from 1."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from parsers import read
from tests.sources import written

HOSTS = ("venus", "mars", "pluto", "ceres")
NODES = (1, 2, 0, 3)  # of each, from 0
ADDRESSES = tuple(f"10.40.2.{last}" for last in (11, 18, 16, 19))
Files = dict[str, list[str]]


def script(first: int, node: str = "NI", size: str = "G", *head: str) -> list[str]:
    of_node = f"({node}-{first})" if first else node
    return [
        "#!/bin/bash", *head, "export WORLD_SIZE=16",
        f"for S in $(seq 0 $(({size}-1))); do",
        f"  RANK=$(( {of_node}*{size} + S )) LOCAL_RANK=$S python3 -u fit.py >/var/log/tr/slot$S.log 2>&1 &",
        "done",
    ]  # fmt: skip


def lines(line: Callable[[str, int, str], str], name: str, *head: str) -> Callable[[int], Files]:
    return lambda first: {
        name: [*head, *(line(host, node + first, ip) for host, node, ip in zip(HOSTS, NODES, ADDRESSES, strict=True))]
    }


TEMPLATE = "# called once per host: start.sh {{ node_index }} {{ gpus_per_node }}"
GIVEN = [TEMPLATE, "NI=$1; G=$2"]
SIZE = {"group_vars/all.yml": ["gpus_per_node: 4"]}
# which host has which number, for a script that gets it as its first argument
TOLD: dict[str, Callable[[int], Files]] = {
    "an inventory": lines(lambda host, node, ip: f"{host}  ansible_host={ip} node_index={node}", "hosts.ini", "[trainers]"),
    "without addresses": lines(lambda host, node, _: f"{host} node_index={node}", "hosts.ini", "[trainers]"),
    "the number first": lines(lambda host, node, _: f"node_index={node} name={host}", "hosts.txt"),
    "entries": lambda first: {
        "hosts.yml": ["all:", "  hosts:"] + [line for host, node, ip in zip(HOSTS, NODES, ADDRESSES, strict=True) for line in (f"    {host}:", f"      ansible_host: {ip}", f"      node_index: {node + first}")]
    },
    "a line each": lines(lambda host, node, ip: f"    {host}: {{ansible_host: {ip}, node_index: {node}}}", "hosts.yml", "all:", "  hosts:"),
    "a file each": lambda first: {f"host_vars/{host}.yml": [f"node_index: {node + first}", "zone: b"] for host, node in zip(HOSTS, NODES, strict=True)},
    "an object": lambda first: {"hosts.json": json.dumps({host: {"node_index": node + first, "zone": "b"} for host, node in zip(HOSTS, NODES, strict=True)}, indent=1).splitlines()},
    "objects": lambda first: {"hosts.json": json.dumps([{"name": host, "node_index": node + first} for host, node in zip(HOSTS, NODES, strict=True)], indent=1).splitlines()},
    "a table with marks": lines(lambda host, node, ip: f"{host},{ip},{node}", "hosts.csv", "host,address,node_index"),
    "a table": lines(lambda host, node, ip: f"{host:<10}{ip:<16}{node}", "hosts.txt", f"{'HOST':<10}{'ADDRESS':<16}node_index"),
    "a table with bars": lines(lambda host, node, ip: f"| {host} | {node} | {ip} |", "hosts.md", "| host | node_index | ip |", "|---|---|---|"),
    "commands": lines(lambda host, node, _: f"ssh {host} 'bash /srv/start.sh {node} 4'", "launch.log"),
    "commands with a user": lines(lambda host, node, _: f"ssh -n tr@{host} nohup ./start.sh {node} 4 &", "launch.log"),
    "what ran": lines(lambda host, node, _: f"{host}: 4120{node} ? S 0:00 bash ./start.sh {node} 4", "ps.txt"),
    "what ran in files": lambda first: {f"{host}/ps.txt": ["PID TTY STAT TIME COMMAND", f"4120{node} ? S 0:00 bash /srv/start.sh {node + first} 4"] for host, node in zip(HOSTS, NODES, strict=True)},
}  # fmt: skip


def logs(each: Sequence[int] = range(4)) -> Files:
    return {f"logs/{host}/slot{at}.log": [f"mixing block {at}7", "cache is warm"] for host in HOSTS for at in each}


def ranks(folder: Path, files: Files) -> dict[str, int]:
    rows = read(str(written(folder, files))).tables["files"].drop_nulls("rank")
    return {path: rank for path, rank in rows.select("file", "rank").iter_rows() if path.startswith("logs/")}


ALL = {f"logs/{host}/slot{at}.log": 4 * node + at for host, node in zip(HOSTS, NODES, strict=True) for at in range(4)}


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("told", TOLD)
def test_the_number_that_a_script_gets_is_told_of_each_host(told: str, first: int, tmp_path: Path) -> None:
    files = TOLD[told](first) | SIZE | logs() | {"start.sh": script(first, "NI", "G", *GIVEN)}
    assert ranks(tmp_path, files) == ALL


def of(name: str, *own: str) -> Files:
    return {name: [*own]}


@pytest.mark.parametrize(
    "files",
    [
        TOLD["an inventory"](0),
        of("hosts.ini", "[trainers]", *HOSTS),
        of("hosts.ini", *(f"{host} rack={node + 1}" for host, node in zip(HOSTS, NODES, strict=True))),
        of("hosts.ini", *(f"{host} node_index={max(node, 1) + 1}" for host, node in zip(HOSTS, NODES, strict=True))),
        TOLD["commands"](1) | of("old.log", "ssh mars 'bash /srv/start.sh 1 4'", "ssh venus 'bash /srv/start.sh 3 4'"),
        of("launch.log", *(f"{host}: start.sh {node + 1} 4 not found" for host, node in zip(HOSTS, (2, 3, 3, 1), strict=True))),
    ],
    ids=["counted otherwise", "in some order", "another number", "one twice", "begun again elsewhere", "one of two hosts"],
)  # fmt: skip
def test_numbers_that_tell_no_nodes(files: Files, tmp_path: Path) -> None:
    found = ranks(tmp_path, files | SIZE | logs() | {"start.sh": script(1, "NI", "G", *GIVEN)})
    assert {path: rank for path, rank in found.items() if ALL[path] != rank} == {}


def test_two_ways_to_call_a_script_tell_no_nodes(tmp_path: Path) -> None:
    other = {"old.yml": ["command: start.sh {{ rack_index }} 4"]}
    files = TOLD["an inventory"](1) | SIZE | logs() | other | {"start.sh": script(1, "NI", "G", *GIVEN)}
    assert ranks(tmp_path, files) == {}


@pytest.mark.parametrize("node", ["NODE_INDEX", "HOST_NO"])
@pytest.mark.parametrize("first", [0, 1])
def test_the_number_is_a_variable_of_each_host(node: str, first: int, tmp_path: Path) -> None:
    own = {
        f"logs/{host}/env.sh": [f"export {node}={n + first}", "export ZONE=b"]
        for host, n in zip(HOSTS, NODES, strict=True)
    }
    files = own | logs() | {"start.sh": script(first, node, "4")}
    assert ranks(tmp_path, files) == ALL


PIDS = {host: tuple(4100 + 70 * at + 7 * seat for seat in range(4)) for at, host in enumerate(HOSTS)}


@pytest.mark.parametrize(
    "line",
    [
        "/run/tr/slot{seat}.pid:{pid}",
        "slot{seat}.pid = {pid}",
        "/run/tr/slot-{seat}.pid: {pid}",
        "slot{seat} pid {pid}",
        "slot_{seat}: pid={pid}",
    ],
)
def test_a_word_of_the_script_tells_whose_pid_it_is(line: str, tmp_path: Path) -> None:
    noted = {f"{host}/pids.txt": [line.format(seat=seat, pid=PIDS[host][seat]) for seat in range(4)] for host in HOSTS}
    files = TOLD["an inventory"](1) | SIZE | noted | {"start.sh": script(1, "NI", "G", *GIVEN)}
    rows = read(str(written(tmp_path, files))).tables["ranks"].drop_nulls(["rank", "pid"])
    assert {(host, pid): rank for host, pid, rank in rows.select("host", "pid", "rank").iter_rows()} == {
        (host, PIDS[host][seat]): 4 * node + seat for host, node in zip(HOSTS, NODES, strict=True) for seat in range(4)
    }
