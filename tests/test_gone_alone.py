"""A process that its launcher or its job told of, and that a later look at its host does not show, while it shows all others."""

from pathlib import Path

import pytest

from forensics import analyze
from tests.sources import written

HOSTS = {"n1": (3001, 3002, 3003, 3004), "n2": (4101, 4102, 4103, 4104)}
GONE = ("n2", 4103)
MONITOR = [f"10:1{at}:00 node n{at} no step finished for 600 s" for at in (1, 2)]
Files = dict[str, list[str]]


def shown(*gone: tuple[str, int], begin: str = "op@{host}:~$ ps -eo pid,ppid,stat,args") -> Files:
    rows = {
        host: [f"{pid} {pid // 100 * 100} Rl python -u train.py" for pid in pids if (host, pid) not in gone]
        for host, pids in HOSTS.items()
    }
    return {
        "look.txt": [
            line
            for host, own in rows.items()
            for line in (begin.format(host=host), "    PID    PPID STAT COMMAND", *own)
        ]
    }


def told(form: str) -> Files:
    match form:
        case "files of pids":
            return {
                "pids.txt": [
                    line
                    for host, pids in HOSTS.items()
                    for line in (
                        f"{host} | CHANGED | rc=0 >>",
                        *(f"/run/tr/slot{at}.pid:{pid}" for at, pid in enumerate(pids)),
                    )
                ]
            }
        case "files of pids, pdsh":
            return {
                "pids.txt": [
                    f"{host}: /run/tr/slot{at}.pid:{pid}" for host, pids in HOSTS.items() for at, pid in enumerate(pids)
                ]
            }
        case "open files":
            return {
                f"fd_{host}.txt": [
                    line
                    for at, pid in enumerate(pids)
                    for line in (
                        f"op@{host}:~$ ls -l /proc/{pid}/fd",
                        f"l-wx------ 1 root root 64 Nov 29 15:53 2 -> /tmp/te/run_k0/attempt_0/{at}/stderr.log",
                    )
                ]
                for host, pids in HOSTS.items()
            }
        case "lsof":
            return {
                "lsof.txt": [
                    f"{host}: python3   {pid}   trainer    1w      REG              259,3    828377 8701006 /log/workerlog.{at}"
                    for host, pids in HOSTS.items()
                    for at, pid in enumerate(pids)
                ]
            }
    raise AssertionError(form)


FORMS = ("files of pids", "files of pids, pdsh", "open files", "lsof")


@pytest.mark.parametrize("form", FORMS)
def test_the_one_that_is_gone(tmp_path: Path, form: str) -> None:
    verdict = analyze(written(tmp_path, told(form) | shown(GONE) | {"monitor.log": MONITOR})).verdict
    assert (verdict.kind, verdict.cause) == ("hang", "rank_died") and str(GONE[1]) in verdict.summary


NOBODY: dict[str, Files] = {
    "all are there": shown() | {"monitor.log": MONITOR},
    "two are gone": shown(GONE, ("n1", 3002)) | {"monitor.log": MONITOR},
    "a host was not looked at": {"look.txt": shown()["look.txt"][:6], "monitor.log": MONITOR},
    "nothing shows that the job stood": shown(GONE),
    "its launcher tells of its end": shown(GONE) | {"monitor.log": MONITOR, "launch.log": ["[ERROR] ME(41:2814,MainProcess):2026-11-27-21:04:18.772 [mindspore/parallel/cluster/process_entity/_api.py:372] Worker process 4103 exit with exception."]},
}  # fmt: skip


@pytest.mark.parametrize("situation", NOBODY)
def test_who_is_not_shown_is_not_gone(tmp_path: Path, situation: str) -> None:
    verdict = analyze(written(tmp_path, told("files of pids") | NOBODY[situation])).verdict
    assert verdict.ranks == [] and verdict.cause != "rank_died"
