"""The one that did not give up while all others of its group did: what its driver, its own log, or a look that shows it at work tells of it."""

from pathlib import Path
from typing import Any

import pytest

from forensics import analyze
from forensics.detectors.ranks import silent_member
from parsers.stacks.native import PARSER as NATIVE
from tests.log_cases import case
from tests.sources import source

WORLD, DEAD_S = 4, 3600
RANKS = [
    {"rank": rank, "world_size": WORLD, "how": "start line", "host": "n0", "pid": 400 + rank, "pci": f"0000:{rank}a:00.0", "device_index": rank}
    for rank in range(WORLD)
]  # fmt: skip


def gave_up(*ranks: int) -> list[dict[str, Any]]:
    return [
        {"kind": "collective_timeout", "rank": rank, "op": "all_reduce", "seq": 40, "file": f"r{rank}.log", "group": "default_pg",
         "time_ns": DEAD_S * 10**9, "time_basis": "local", "host": "n0", "value": 600_000.0}
        for rank in ranks
    ]  # fmt: skip


def of_device(at: int, second: int, code: str = "eid:0x2102", **more: Any) -> dict[str, Any]:
    return {
        "kind": "gpu_error", "code": code, "host": "n0", "pci": f"0000:{at}a:00.0", "time_ns": second * 10**9, "time_basis": "local",
        "file": "kern.log",
    } | more  # fmt: skip


def verdict(events: list[dict[str, Any]], **tables: Any) -> tuple[Any, ...]:
    [found] = silent_member.detect(case(events, WORLD, ranks=RANKS, **tables))
    return found.cause, found.ranks, found.hosts


@pytest.mark.parametrize("code", ["eid:0x2102", "mt:3001", "nobody:17"])
def test_its_driver_alone_reports_an_error_while_the_others_wait(code: str) -> None:
    cause, ranks, hosts = verdict([*gave_up(0, 1, 3), of_device(2, 3010, code)])
    assert (ranks, hosts) == ((2,), ("n0",))
    assert cause in ("gpu_fault", "kernel_stuck")


@pytest.mark.parametrize(
    "events",
    [
        pytest.param([*gave_up(0, 1, 3), of_device(2, 3700)], id="after the others gave up"),
        pytest.param([*gave_up(0, 1, 3), of_device(1, 3010)], id="another's device"),
        pytest.param([*gave_up(0, 1, 3), of_device(2, 3010), of_device(1, 3010)], id="of two devices"),
        pytest.param([*gave_up(0, 1, 3), of_device(2, 3010, severity="warning", code="nobody:3")], id="no error"),
        pytest.param([*gave_up(0, 1), of_device(2, 3010)], id="two are silent"),
        pytest.param([*gave_up(0, 1, 3), of_device(2, 3010, host="n9")], id="another host"),
    ],
)
def test_a_record_that_tells_of_nobody(events: list[dict[str, Any]]) -> None:
    assert verdict(events)[1] == ()


def looks(*files: str) -> list[dict[str, Any]]:
    """Looks at rank 2, innermost function of the library first."""
    outer = [("evaluate", "app/train.py"), ("main", "app/train.py")]
    return [
        {"rank": 2, "pid": 402, "is_main": True, "source": "py-spy", "snapshot": at,
         "frames": [{"function": function, "file": file, "line": 7} for function, file in ((f"part_{at}", place), *outer)]}
        for at, place in enumerate(files)
    ]  # fmt: skip


def test_whoever_is_seen_at_work_twice_in_one_place_did_not_come() -> None:
    assert verdict(gave_up(0, 1, 3), stacks=looks("app/score.py", "app/table.py"))[1] == (2,)


def test_whoever_left_that_place_may_be_anywhere() -> None:
    moved = looks("app/score.py", "app/step.py")
    moved[1]["frames"] = [{"function": "step", "file": "app/model.py", "line": 3}]
    assert verdict(gave_up(0, 1, 3), stacks=moved)[1] == ()


GDB = """
---- pid 402
0x00007f69 in __lll_lock_wait () from /lib/x86_64-linux-gnu/libc.so.6
#0  0x00007f69 in __lll_lock_wait () from /lib/x86_64-linux-gnu/libc.so.6
#1  0x00007f70 in pthread_mutex_lock () from /lib/x86_64-linux-gnu/libc.so.6
#2  0x00000000 in _PyEval_EvalFrameDefault ()
{left}
---- pid 403
#0  0x00007f72 in clock_gettime ()
#1  0x00007f73 in cudaStreamSynchronize () from /usr/lib/libcudart.so.12
{other}
"""


@pytest.mark.parametrize("form", ["[Inferior 1 (process {}) detached]", "Detaching from program: /usr/bin/python, process {}"])  # fmt: skip
def test_gdb_asked_for_the_main_thread_alone(form: str) -> None:
    text = GDB.format(left=form.format(402), other=form.format(403))
    assert NATIVE.accepts("stacks.txt", text.encode())
    rows = NATIVE.parse(source(text, "stacks.txt"))["stacks"].rows(named=True)
    assert [(row["pid"], row["is_main"], row["frames"][0]["function"]) for row in rows] == [
        (402, True, "__lll_lock_wait"), (403, True, "clock_gettime")
    ]  # fmt: skip


TIMEOUT = (
    "[rank{0}]:[E130 17:17:05.20000{0}206 ProcessGroupNCCL.cpp:632] [Rank {0}] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=1212, OpType=ALLREDUCE, NumelIn=1048576, NumelOut=1048576, Timeout(ms)=600000) ran for 600010 milliseconds "
    "before timing out.\n"
    "[rank{0}]:[E130 17:17:05.200000949 ProcessGroupNCCL.cpp:2268] [PG ID 0 PG GUID 0(default_pg) Rank {0}]  failure detected by "
    "watchdog at work sequence id: 1212 PG status: last enqueued work: 1212, last completed work: 1211\n"
)
COUNTED = {
    "a lock each": ("lock seg_{0} taken", "waiting for seg_{0}", "still waiting for seg_{0}: {1} s"),
    "one file": ("opened /shared/idx.bin", "asks for /shared/idx.bin", "no answer of /shared/idx.bin since {1} s"),
    "Chinese": ("取得锁 slot_{0}", "等待锁 slot_{0}", "仍在等待锁 slot_{0},已 {1} 秒"),
}


def job(at: Path, has: str, asks: str, counts: str, counting: tuple[int, ...] = (2,)) -> Any:
    for rank in range(WORLD):
        log = [f"2026-01-30 17:00:00 rank {rank} of {WORLD} starts\n"]
        log += [f"2026-01-30 17:0{at}:40 step {at} loss 2.1{rank}\n" for at in range(7)]
        if rank in counting:
            log.append(f"2026-01-30 17:07:01 {asks.format(rank)}\n")
            log += [f"2026-01-30 17:{7 + at:02}:01 {counts.format(rank, 60 * at)}\n" for at in range(1, 11)]
        else:
            log.append(f"2026-01-30 17:07:01 {has.format(rank)}\n2026-01-30 17:07:03 step 7 forward\n")
        if rank != 2:
            log.append(TIMEOUT.format(rank))
        (at / f"rank{rank}.log").write_text("".join(log))
    return analyze(at).incidents[0].verdict


@pytest.mark.parametrize("form", COUNTED, ids=list(COUNTED))
def test_its_own_log_counts_what_it_waits_for(form: str, tmp_path: Path) -> None:
    found = job(tmp_path, *COUNTED[form])
    assert (found.kind, found.cause, found.ranks) == ("hang", "rank_absent", [2])


@pytest.mark.parametrize(
    ("words", "counting"),
    [
        (("step 7 loads", "loads", "stalled for {1} s"), (2,)),
        (("lock seg_{0} taken", "posts", "still in all_reduce_1212: {1} s"), (2,)),
        (("lock seg_{0} taken", "waiting for seg_{0}", "still waiting for seg_{0}: {1} s"), (1, 2)),
        (("lock seg_{0} taken", "waiting for job_77", "still waiting for job_77: {1} s"), (2,)),
    ],
    ids=["it names nothing", "it names an operation", "another counts, too", "what only it knows"],
)
def test_what_its_log_counts_may_be_anything(words: tuple[str, str, str], counting: tuple[int, ...], tmp_path: Path) -> None:  # fmt: skip
    assert job(tmp_path, *words, counting).ranks == []
