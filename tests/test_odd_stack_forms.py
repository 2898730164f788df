"""One of many processes stands elsewhere, in stacks as people keep them: whole dumps, main threads alone, below prompts and numbers; nobody tells a rank."""

from collections.abc import Callable
from pathlib import Path

import pytest

from forensics import analyze
from tests.sources import written

HOSTS = {"n1": (3001, 3002, 3003), "n2": (4101, 4102, 4103)}
ODD = ("n2", 4102)
WAIT = [
    "all_reduce (torch/distributed/distributed_c10d.py:2501)",
    "sync (job/parallel.py:88)",
    "step (job/loop.py:97)",
    "<module> (train.py:61)",
]
READ = [
    "read (job/io/shards.py:58)",
    "next_part (job/io/shards.py:91)",
    "step (job/loop.py:94)",
    "<module> (train.py:61)",
]
MONITOR = [f"10:1{at}:00 node n{at} no step finished for 600 s" for at in (1, 2)]
Files = dict[str, list[str]]


def frames(host: str, pid: int) -> list[str]:
    return [f"    {frame}" for frame in (READ if (host, pid) == ODD else WAIT)]


def dump(host: str, pid: int) -> list[str]:
    return [
        f"Process {pid}: python train.py",
        "Python v3.11.7 (/usr/bin/python3.11)",
        "",
        f'Thread {pid} (active): "MainThread"',
        *frames(host, pid),
        f'Thread {pid + 50} (idle): "Thread-3 (_pin)"',
        "    wait (threading.py:331)",
        "",
    ]


def of_hosts(name: str, begin: Callable[[str], list[str]], each: Callable[[str, int], list[str]]) -> Files:
    return {
        name.format(host=host): [*begin(host), *(line for pid in pids for line in each(host, pid))]
        for host, pids in HOSTS.items()
    }


def prompt(host: str, pid: int) -> str:
    return f"op@{host}:~$ sudo py-spy dump -p {pid}"


FORMS: dict[str, Files] = {
    "a file of each process": {f"dumps/{host}-{pid}.txt": dump(host, pid) for host, pids in HOSTS.items() for pid in pids},
    "a file of each host": of_hosts("hosts/{host}/stacks.txt", lambda _: [], dump),
    "below prompts": of_hosts("{host}_session.txt", lambda _: [], lambda host, pid: [prompt(host, pid), *dump(host, pid)]),
    "a session with other commands": of_hosts("{host}_session.txt", lambda host: [f"op@{host}:~$ date; uptime", "Sat 21 Nov 13:52:40 CET 2026", " 13:52:40 up 61 days", f"op@{host}:~$ free -g", "Mem: 503 40 460"], lambda host, pid: [prompt(host, pid), *dump(host, pid)]),
    "main threads below numbers": of_hosts("stacks/{host}.txt", lambda _: [], lambda host, pid: [f"## {pid}", *frames(host, pid)]),
    "main threads below words": of_hosts("stacks/{host}.txt", lambda _: [], lambda host, pid: [f"== pid {pid}", *frames(host, pid), ""]),
    "main threads below prompts": of_hosts("stacks/{host}.txt", lambda _: [], lambda host, pid: [f"$ sudo py-spy dump --nonblocking -p {pid} | ./main_only", f"## {pid}", *frames(host, pid)]),
    "in the middle of notes": of_hosts("{host}_notes.md", lambda host: ["# shift", "nobody logged in", "nothing in dmesg"] * 9 + [f"looked at {host}:", "```"], lambda host, pid: dump(host, pid)),
    "with what /proc says": of_hosts("walk_{host}.txt", lambda host: [f"# walk.sh on {host}"], lambda host, pid: [f"######## /proc/{pid}", "-- status", "Name:\tpython", "State:\tR (running)", f"Tgid:\t{pid}", f"Pid:\t{pid}", "-- wchan", "0", "-- py-spy", *dump(host, pid)]),
    "ansible": {"adhoc.txt": [line for host, pids in HOSTS.items() for line in (f"{host} | CHANGED | rc=0 >>", *(one for pid in pids for one in dump(host, pid)))]},
    "pdsh": {"all.txt": [f"{host}: {line}" for host, pids in HOSTS.items() for pid in pids for line in dump(host, pid)]},
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_the_one_that_stands_elsewhere(tmp_path: Path, form: str) -> None:
    verdict = analyze(written(tmp_path, FORMS[form] | {"monitor.log": MONITOR})).verdict
    assert (verdict.kind, verdict.cause, verdict.site, verdict.ranks) == ("hang", "rank_absent", "storage_io", [])
    assert "1 process" in verdict.summary and "5 processes wait" in verdict.summary


@pytest.mark.parametrize("form", FORMS)
def test_all_in_one_call_accuse_nobody(tmp_path: Path, form: str) -> None:
    reads, waits = (f"    {one}" for one in (READ[0], WAIT[0]))
    files = {
        name: [line.replace(reads.strip(), waits.strip()) for line in lines] for name, lines in FORMS[form].items()
    }
    verdict = analyze(written(tmp_path, files | {"monitor.log": MONITOR})).verdict
    assert (verdict.ranks, verdict.hosts) == ([], [])


def test_what_everybody_calls_through_tells_nothing_and_who_called_it_does(tmp_path: Path) -> None:
    """Every call of a framework ends in one line of it: the lines above are compared."""
    through = "quick_execute (tensorflow/python/eager/execute.py:53)"
    own = {
        True: [
            "iterator_get_next (tensorflow/python/ops/gen_dataset_ops.py:3086)",
            "__next__ (tensorflow/python/data/ops/iterator_ops.py:809)",
        ],
        False: ["call_function (tensorflow/python/eager/context.py:1683)"],
    }
    files: Files = {}
    for name in ("at_0724", "at_0758"):
        for host, pids in HOSTS.items():
            for pid in pids:
                stack = [
                    f"    {one}"
                    for one in (
                        through,
                        *own[(host, pid) == ODD],
                        "run_epoch (train.py:141)",
                        "<module> (train.py:195)",
                    )
                ]
                files[f"{name}/{host}-{pid}.txt"] = [
                    f"Process {pid}: python train.py",
                    "Python v3.11.9 (/usr/bin/python3.11)",
                    "",
                    f'Thread {pid} (idle): "MainThread"',
                    *stack,
                ]
    verdict = analyze(written(tmp_path, files)).verdict
    assert (verdict.kind, verdict.cause, verdict.site) == ("hang", "rank_absent", "data_loading")
