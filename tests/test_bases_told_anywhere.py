"""A rank is a place's first one and the number of a process there: wherever the first one is told, and however a record says which number it is."""

from collections.abc import Callable
from pathlib import Path

import pytest

from parsers import read
from tests.sources import written

HOSTS = ("kea-1", "kea-2")
EACH = 3
PIDS = {(host, at): 4107 + 31 * node + 7 * ((at * 2 + node) % EACH) for node, host in enumerate(HOSTS) for at in range(EACH)}  # fmt: skip
Files = dict[str, list[str]]


def unit(expression: str = "FIRST + SLOT", slot: str = "SLOT=%i") -> Files:
    return {
        "etc_systemd_system_fit@.service": [
            "[Service]",
            "EnvironmentFile=/etc/fit/node.env",
            f"Environment={slot} HIP_VISIBLE_DEVICES=%i",
            f"ExecStart=/bin/bash -c 'export RANK=$(({expression})); exec python3 fit.py'",
        ]
    }


def firsts(first: Callable[[int], int] = lambda node: node * EACH) -> dict[str, Files]:
    """Where each host's first rank is told."""
    env = {host: ["MASTER_ADDR=kea-1.lab", "WORLD_SIZE=6", f"FIRST={first(node)}"] for node, host in enumerate(HOSTS)}
    return {
        "below headings": {"env.txt": [line for host, own in env.items() for line in (f"[{host}]", *own)]},
        "below rules": {"env.txt": [line for host, own in env.items() for line in (f"=== {host} ===", *own, "")]},
        "below prompts": {
            "env.txt": [line for host, own in env.items() for line in (f"root@{host}:~# cat /etc/fit/node.env", *own)]
        },
        "files of hosts": {f"{host}/node.env": own for host, own in env.items()},
        "named after hosts": {f"node_{host}.env": own for host, own in env.items()},
    }


def status(host: str, at: int) -> list[str]:
    end = "(code=killed, signal=ABRT)" if (host, at) == ("kea-2", 1) else "(code=exited, status=1/FAILURE)"
    return [
        f"× fit@{at}.service - worker {at}",
        "     Loaded: loaded (/etc/systemd/system/fit@.service; enabled)",
        f"   Main PID: {PIDS[host, at]} {end}",
        "        CPU: 9h 13min",
        "",
    ]


def of_hosts(
    name: str, line: Callable[[str, int], list[str]], head: Callable[[str], list[str]] = lambda host: []
) -> Files:
    return {
        name.format(host=host): [*head(host), *(text for at in (2, 0, 1) for text in line(host, at))] for host in HOSTS
    }


def typed(command: str) -> Callable[[str], list[str]]:
    return lambda host: [f"root@{host}:~# {command}"]


# records that tell an instance of a unit, and the pid of its process
RECORDS: dict[str, Files] = {
    "status": of_hosts("status_{host}.txt", status, typed("systemctl status 'fit@*' --no-pager")),
    "status of active ones": of_hosts(
        "status_{host}.txt",
        lambda host, at: [f"● fit@{at}.service - worker {at}", "     Active: active (running)", f"   Main PID: {PIDS[host, at]} (python3)", ""],
        typed("systemctl status 'fit@*'"),
    ),
    "show": of_hosts(
        "show_{host}.txt", lambda host, at: [f"MainPID={PIDS[host, at]}", f"Id=fit@{at}.service", "ActiveState=failed", ""]
    ),
    "groups of ps": of_hosts(
        "ps_{host}.txt",
        lambda host, at: [f"{PIDS[host, at]:>7} R    fit@{at}.service   python3 fit.py"],
        lambda host: [f"root@{host}:~# ps -eo pid,stat,unit,args", "    PID STAT UNIT            COMMAND"],
    ),
    "a table": of_hosts(
        "units_{host}.csv", lambda host, at: [f"fit@{at}.service,{PIDS[host, at]},failed"], lambda host: ["unit,pid,state"]
    ),
    "lines of starts": of_hosts(
        "start_{host}.log", lambda host, at: [f"06:02:1{at} started fit@{at}.service as pid {PIDS[host, at]}"]
    ),
    "sections by pid": of_hosts(
        "proc_{host}.txt", lambda host, at: [f"== {PIDS[host, at]}", f"0::/system.slice/fit@{at}.service", f"pid: {PIDS[host, at]}"]
    ),
    "with a path": of_hosts(
        "start_{host}.log", lambda host, at: [f"unit /run/units/fit@{at}.service pid={PIDS[host, at]} ok"]
    ),
}  # fmt: skip
FORMULAS = {
    "a base and a slot": unit(),
    "the slot first": unit("SLOT + FIRST"),
    "the instance itself": unit("FIRST + %i", "A=1"),
    "another name": unit("FIRST+K", "K=%i"),
    "quoted": unit("FIRST+SLOT", '"SLOT=%i"'),
}
WHOLE = {(host, PIDS[host, at]): node * EACH + at for node, host in enumerate(HOSTS) for at in range(EACH)}


def told(folder: Path, files: Files) -> dict[tuple[str | None, int], int]:
    rows = read(str(written(folder, files))).tables["ranks"].drop_nulls(["rank", "pid"])
    return {(place, pid): rank for place, pid, rank in rows.select("host", "pid", "rank").iter_rows()}


@pytest.mark.parametrize("record", RECORDS)
def test_whoever_tells_of_an_instance_tells_of_a_rank(record: str, tmp_path: Path) -> None:
    assert told(tmp_path, unit() | firsts()["below headings"] | RECORDS[record]) == WHOLE


@pytest.mark.parametrize("where", firsts())
def test_the_first_of_a_place_is_told_anywhere(where: str, tmp_path: Path) -> None:
    assert told(tmp_path, unit() | firsts()[where] | RECORDS["status"]) == WHOLE


@pytest.mark.parametrize("formula", FORMULAS)
def test_sums_in_any_form(formula: str, tmp_path: Path) -> None:
    assert told(tmp_path, FORMULAS[formula] | firsts()["below headings"] | RECORDS["show"]) == WHOLE


def test_the_base_decides_and_not_the_name_of_the_host(tmp_path: Path) -> None:
    turned = firsts(lambda node: (1 - node) * EACH)["below headings"]
    assert told(tmp_path, unit() | turned | RECORDS["status"]) == {
        key: (rank + EACH) % 6 for key, rank in WHOLE.items()
    }


@pytest.mark.parametrize(
    "first",
    [lambda node: 0, lambda node: 7 * node, lambda node: 1 + node],
    ids=["one of both", "beyond", "none is first"],
)
def test_bases_that_tell_of_nobody(first: Callable[[int], int], tmp_path: Path) -> None:
    assert told(tmp_path, unit() | firsts(first)["below headings"] | RECORDS["status"]) == {}


def test_units_of_another_template_are_nobody(tmp_path: Path) -> None:
    other = {name: [line.replace("fit@", "log@") for line in own] for name, own in RECORDS["status"].items()}
    assert told(tmp_path, unit() | firsts()["below headings"] | other) == {}


def test_what_a_journal_tells_below_a_line_of_one_process_is_of_another(tmp_path: Path) -> None:
    """Below each head of a traceback the journal tells of a unit: that of whoever ended before."""
    journal = {
        f"journal_{host}.txt": [
            line
            for at in range(EACH)
            for line in (
                f"2026-05-07T09:48:3{at}+0200 {host} python3[{PIDS[host, at]}]: Traceback (most recent call last):",
                f'2026-05-07T09:48:3{at}+0200 {host} python3[{PIDS[host, at]}]:   File "/srv/fit.py", line 268, in <module>',
                f"2026-05-07T09:48:3{at}+0200 {host} systemd[1]: fit@{(at + 1) % EACH}.service: Main process exited, code=exited",
            )
        ]
        for host in HOSTS
    }
    assert told(tmp_path, unit() | firsts()["below headings"] | journal) == {}
