"""Whose pod was evicted, while all others failed alike, in words of a program that nobody has taught."""

from pathlib import Path

import pytest

from forensics import analyze
from forensics.model.incident import Verdict

SIZE, OUT = 5, 3
LOW = "The node was low on resource: ephemeral-storage. Threshold quantity: 500Mi, available: 412Mi. Container fox was using 118Gi, request is 0, has larger consumption of ephemeral-storage. "
RAISED = '{at} {rank}\nTraceback (most recent call last):\n  File "/app/fox.py", line 7, in <module>\n    raise Broken(at)\nfox.Broken: round 175\n'
EVENTS = """LAST SEEN   TYPE      REASON      OBJECT            MESSAGE
6m          Warning   Evicted     pod/fox-{out}     {low}
6m          Normal    Killing     pod/fox-{out}     Stopping container fox
"""
DESCRIBED = """Name:             fox-{out}
Namespace:        lab
Node:             k7/10.1.0.7
Status:           Failed
Reason:           Evicted
Message:          {low}
Containers:
  fox:
    State:          Terminated
      Reason:       Error
      Exit Code:    137
      Finished:     Sat, 30 May 2026 13:40:01 +0000
"""


def verdict(tmp_path: Path, told: str, silent: bool = True, alike: bool = True) -> Verdict:
    for rank in range(SIZE):
        text = f"2026-05-30T13:00:00Z rank={rank} world={SIZE} node=k{rank}\n"
        text += "".join(f"2026-05-30T13:0{k}:00Z Runde {k} ok\n" for k in range(1, 5))
        if rank != OUT or not silent:
            text += RAISED.format(at="2026-05-30T13:40:03Z", rank=rank if alike else rank * 11)
            text = text if alike else text.replace("Broken", f"Broken{'ABCDE'[rank]}")
        (tmp_path / f"fox-{rank}.log").write_text(text)
    (tmp_path / "cluster.txt").write_text(told.format(out=OUT, low=LOW))
    return analyze(tmp_path).verdict


@pytest.mark.parametrize("told", [EVENTS, DESCRIBED])
def test_it_is_who_was_evicted(tmp_path: Path, told: str) -> None:
    found = verdict(tmp_path, told)
    assert (found.kind, found.cause, found.ranks) == ("crash", "killed", [OUT])


@pytest.mark.parametrize("told", [EVENTS, DESCRIBED])
def test_where_all_others_failed_each_in_its_own_way_it_is_not(tmp_path: Path, told: str) -> None:
    assert verdict(tmp_path, told, alike=False).ranks == []


def test_whose_own_log_ends_as_those_of_all_others_was_not_killed_first(tmp_path: Path) -> None:
    assert verdict(tmp_path, EVENTS, silent=False).ranks == []


HEAD = "LAST SEEN   TYPE      REASON      OBJECT            MESSAGE\n"
MEMORY = "The node was low on resource: memory. Container owl was using 5Gi, which exceeds its request of 0."
OTHERS = "6m          Normal    Scheduled   pod/fox-1         Successfully assigned lab/fox-1 to k7\n"


@pytest.mark.parametrize("message", [MEMORY, "The node had condition: [MemoryPressure]."])
def test_where_nothing_else_is_there_an_eviction_is_told_of_nobody(tmp_path: Path, message: str) -> None:
    (tmp_path / "events.txt").write_text(
        f"{HEAD}{OTHERS}6m          Warning   Evicted     pod/fox-1         {message}\n"
    )
    found = analyze(tmp_path).verdict
    assert (found.kind, found.cause, found.ranks, found.suspects.ranks) == ("crash", "host_oom", [], [])


@pytest.mark.parametrize(
    "log", ["".join(f"rank=0 step {at} loss 2.1\n" for at in range(9)) + "training finished\n", "[rank0]: step 4\n"]
)
def test_beside_the_log_of_a_process_a_pod_of_nobody_ended_nothing(tmp_path: Path, log: str) -> None:
    (tmp_path / "events.txt").write_text(f"{HEAD}6m          Warning   Evicted     pod/owl-1         {MEMORY}\n")
    (tmp_path / "job.log").write_text(log)
    assert analyze(tmp_path).verdict.kind != "crash"


def test_who_was_only_moved_was_not_killed(tmp_path: Path) -> None:
    (tmp_path / "events.txt").write_text(
        HEAD + OTHERS + "6m          Normal    Killing     pod/fox-1         Stopping container fox\n"
    )
    assert analyze(tmp_path).verdict.kind != "crash"
