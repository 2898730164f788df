"""Logs of several in one file, each below its heading: whatever the heading, each is a log of its own, where they ran at once."""

from collections.abc import Callable
from pathlib import Path

import pytest

from forensics import analyze
from parsers.archive.appended import may_be, parts_of
from tests.sources import written

HOSTS = ("dn-009", "dn-022", "dn-014", "dn-011")
ORDER = (2, 0, 3, 1)  # in which they were appended
GONE = 3


def log(rank: int, stamp: Callable[[int, int], str]) -> list[str]:
    lines = [f"{stamp(11, 5)} INFO Executor: Starting executor ID {rank + 1} on host {HOSTS[rank]}.corp.lan"]
    lines += [f"{stamp(11, 27)} tower | hello from rank {rank} of 4 (pid {20600 + 7 * rank})"]
    lines += [f"{stamp(12 + step // 10, step % 60)} tower | step {step} bce 0.4{step}" for step in range(10, 90)]
    if rank != GONE:
        lines += [
            f"[rank{rank}]:[E0224 09:15:06.154391796 ProcessGroupNCCL.cpp:616] [Rank {rank}] Watchdog caught collective operation timeout: "
            "WorkNCCL(SeqNum=5281, OpType=ALLREDUCE, NumelIn=6553600, NumelOut=6553600, Timeout(ms)=1800000) ran for 1800051 milliseconds before timing out."
        ]
    return lines


def clock(minute: int, second: int) -> str:
    return f"08:{minute:02}:{second:02}"


def dated(minute: int, second: int) -> str:
    return f"2026-02-24 08:{minute:02}:{second:02},120"


def spark(minute: int, second: int) -> str:
    return f"26/02/24 08:{minute:02}:{second:02}"


HEADINGS: dict[str, Callable[[int], list[str]]] = {
    "yarn's": lambda rank: [
        f"Container: container_e41_1771318822054_4471_01_00000{rank + 2} on {HOSTS[rank]}.corp.lan_45454",
        "LogAggregationType: LOCAL", "=" * 40, "LogType:stderr", "LogContents:",
    ],
    "a pod": lambda rank: [f"===== tower-{rank}-x7kq{rank} ====="],
    "a host": lambda rank: [f"### {HOSTS[rank]}"],
    "a file": lambda rank: [f"--- logs/{HOSTS[rank]}.log ---"],
    "a rank": lambda rank: ["", f"[ rank {rank} ]"],
    "a container": lambda rank: [f"Container {rank}f3ce0b1a{rank}c (tower)"],
    "a task": lambda rank: [f"*** Task {rank} attempt 0 on {HOSTS[rank]} ***"],
    "a node and its address": lambda rank: [f"# node {HOSTS[rank]} (10.4.0.{rank + 7})"],
    "an executor": lambda rank: [f"Executor {rank + 1} stderr:"],
    "words": lambda rank: [f"-------- {('alpha', 'beta', 'gamma', 'delta')[rank]} --------"],
    "a box": lambda rank: ["+------------+", f"| worker {rank}   |", "+------------+"],
    "a colon": lambda rank: [f"{HOSTS[rank]}:"],
    "below a title": lambda rank: ([] if rank != ORDER[0] else ["logs of the nightly, as kept", ""]) + [f">>> {HOSTS[rank]}"],
    "a rule of lines": lambda rank: [f"──────── {HOSTS[rank]} ────────"],
}  # fmt: skip


def appended(heading: Callable[[int], list[str]], stamp: Callable[[int, int], str] = clock) -> list[str]:
    return [line for rank in ORDER for line in [*heading(rank), *log(rank, stamp), ""]]


@pytest.mark.parametrize("stamp", [clock, dated, spark])
@pytest.mark.parametrize("form", HEADINGS)
def test_each_is_a_log_of_its_own(form: str, stamp: Callable[[int, int], str]) -> None:
    data = "\n".join(appended(HEADINGS[form], stamp)).encode()
    assert may_be(data)
    parts = parts_of(data)
    assert len(parts) == len(ORDER) == len({part.name for part in parts})
    for part, rank in zip(parts, ORDER, strict=True):
        assert data[part.begin : part.end].count(b"hello from rank") == 1
        assert f"hello from rank {rank} of".encode() in data[part.begin : part.end]


@pytest.mark.parametrize("form", ["yarn's", "a pod", "words"])
def test_they_are_one_launch_and_who_gave_nothing_up_is_named(form: str, tmp_path: Path) -> None:
    found = analyze(str(written(tmp_path, {"logs.txt": appended(HEADINGS[form])})))
    assert found.coverage.attempts == 1
    verdict = found.verdict
    assert (verdict.kind, verdict.ranks or verdict.suspects.ranks) == ("hang", [GONE])


def later(minute: int, second: int) -> str:
    return f"11:{minute:02}:{second:02}"


@pytest.mark.parametrize(
    "lines",
    [
        ["===== attempt 1 =====", *log(0, clock), "===== attempt 2 =====", *log(0, later)],  # one goes on after the other
        ["== 2026-02-24 ==", *log(0, dated), "== 2026-02-25 ==", *(line.replace("02-24", "02-25") for line in log(0, dated))],
        ["===== attempt 1 =====", *log(0, clock), "===== attempt 2 =====", *log(0, clock)],  # of the next day, at the same hour
        ["===== dn-009 =====", *log(0, clock)],
        [*log(0, clock), "===== dn-009 =====", *log(1, clock), "===== dn-014 =====", *log(2, clock)],  # it begins as one
        ["===== dn-009 =====", "Thread 1 (idle)", "    wait (a.py:1)", "===== dn-014 =====", "Thread 1 (idle)", "    wait (a.py:1)"],
        ["epoch 1:", *log(0, clock)[:30], "epoch 2:", *log(0, clock)[30:50], "epoch 3:", *log(0, clock)[50:]],
    ],
)  # fmt: skip
def test_other_files_stay_whole(lines: list[str]) -> None:
    assert parts_of("\n".join(lines).encode()) == []
