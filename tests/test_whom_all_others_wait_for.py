"""Who is behind where all other ranks of the job gave up, in a group whose members nobody tells; who has not come by a coordinator's count; and who
stands in no wait."""

from pathlib import Path
from typing import Any

import pytest

from forensics import analyze
from parsers import read
from tests.log_cases import case

WORLD = 4


def gave_up(rank: int, **more: Any) -> dict[str, Any]:
    return {"kind": "collective_timeout", "rank": rank, "op": "broadcast", "seq": 40, "file": f"r{rank}.log"} | more


def frames(*said: tuple[str, str]) -> list[dict[str, Any]]:
    return [{"function": function, "file": file, "line": 7} for function, file in said]


LOCK = frames(("acquire", "threading.py"), ("acquire", "filelock/_api.py"), ("load", "app/data.py"))
HTTP = frames(("_read_status", "http/client.py"), ("urlopen", "urllib3/connectionpool.py"), ("report", "app/track.py"))
RANKS = frames(("all_reduce", "torch/distributed/distributed_c10d.py"), ("step", "app/train.py"))
OWN = frames(("step", "app/model.py"), ("main", "app/train.py"))


def stack(rank: int, of: list[dict[str, Any]]) -> dict[str, Any]:
    return {"rank": rank, "pid": 100 + rank, "is_main": True, "frames": of, "source": "py-spy", "snapshot": 0}


def verdict(
    events: list[dict[str, Any]], stacks: list[dict[str, Any]], expected: int | None = WORLD
) -> tuple[Any, ...]:
    from forensics.detectors.ranks import silent_member

    found = silent_member.detect(case(events, expected, stacks=stacks))
    return tuple((one.cause, one.ranks, one.suspect_ranks) for one in found)


WAITERS = [gave_up(rank) for rank in (0, 1, 3)]


@pytest.mark.parametrize("of", [LOCK, HTTP], ids=["lock", "service"])
@pytest.mark.parametrize("group", [None, "default"])
def test_one_of_the_job_stands_elsewhere(of: list[dict[str, Any]], group: str | None) -> None:
    events = [one | {"group": group} for one in WAITERS]
    assert verdict(events, [stack(2, of)]) == (("rank_absent", (2,), ()),)


@pytest.mark.parametrize(
    ("events", "stacks", "expected"),
    [
        pytest.param(WAITERS, [], WORLD, id="no stack"),
        pytest.param(WAITERS, [stack(2, RANKS)], WORLD, id="it waits for ranks"),
        pytest.param(WAITERS, [stack(2, OWN)], WORLD, id="nobody knows whether it waits"),
        pytest.param(WAITERS[:2], [stack(2, LOCK)], WORLD, id="two are silent"),
        pytest.param(WAITERS, [stack(2, LOCK)], None, id="the job's size is not told"),
        pytest.param([one | {"group": "tp1"} for one in WAITERS], [stack(2, LOCK)], WORLD, id="a group with a name"),
        pytest.param([*WAITERS[:2], gave_up(3, seq=41)], [stack(2, LOCK)], WORLD, id="different calls"),
    ],
)
def test_nobody_is_named_else(events: list[dict[str, Any]], stacks: list[dict[str, Any]], expected: int | None) -> None:
    assert all(ranks == () for _, ranks, _ in verdict(events, stacks, expected))


@pytest.mark.parametrize(
    ("group", "stacks", "named"),
    [
        pytest.param("default", [stack(2, LOCK)], True, id="all from 0 to 3 left a record"),
        pytest.param("default", [stack(2, HTTP)], True, id="another place"),
        pytest.param("default", [stack(5, LOCK)], False, id="a rank between is not heard of"),
        pytest.param("default", [stack(2, RANKS)], False, id="it waits for ranks"),
        pytest.param("default", [stack(2, LOCK), stack(4, RANKS)], False, id="one more has not given up"),
        pytest.param("hccl_world_group", [stack(2, LOCK)], True, id="MindSpore's name of it"),
        pytest.param("hccl_dp_group_0", [stack(2, LOCK)], False, id="another of MindSpore's"),
        pytest.param("ep", [stack(2, LOCK)], False, id="a group with another name"),
        pytest.param(None, [stack(2, LOCK)], False, id="a group without a name"),
    ],
)
def test_in_the_default_group_are_all_that_left_a_record(
    group: str | None, stacks: list[dict[str, Any]], named: bool
) -> None:
    """The size of the job is not told."""
    found = verdict([one | {"group": group} for one in WAITERS], stacks, None)
    assert [one for one in found if one[1]] == ([("rank_absent", (2,), ())] if named else [])


ALGEBRA = frames(("is_zero", "algebra/assume.py"), ("expand", "algebra/expr.py"), ("score", "app/reward.py"))


@pytest.mark.parametrize(
    ("status", "gave_up_by", "named"),
    [
        pytest.param("active+gil", WAITERS, (2,), id="it runs Python"),
        pytest.param("active", WAITERS, (), id="in native code, which may wait"),
        pytest.param("idle", WAITERS, (), id="it may wait"),
        pytest.param(None, WAITERS, (), id="a sampler that says nothing of it"),
        pytest.param("active+gil", WAITERS[:2], (), id="another has not given up"),
        pytest.param("active+gil", [*WAITERS, gave_up(2)], (), id="it gave up itself"),
    ],
)
def test_who_runs_code_of_nobody_while_all_others_wait(
    status: str | None, gave_up_by: list[dict[str, Any]], named: tuple[int, ...]
) -> None:
    from forensics.detectors.ranks import odd_stack

    stacks = [
        stack(rank, ALGEBRA if rank == 2 else RANKS) | {"status": status if rank == 2 else "idle"}
        for rank in range(WORLD)
    ]
    found = odd_stack.detect(case(gave_up_by, WORLD, stacks=stacks))
    assert tuple(rank for one in found for rank in one.ranks) == named


# --- counts of a coordinator -----------------------------------------------------------------------------------------


def told(tmp_path: Path, line: str) -> list[Any]:
    (tmp_path / "coord.log").write_text(f"up\n{line}\n")
    events = read(str(tmp_path)).tables["events"]
    return events.filter(events["kind"] == "missing_members")["names_ranks"].to_list()


@pytest.mark.parametrize(
    "line",
    [
        "WARN barrier step=9 arrived=7/8 waiting_on=[3] elapsed=120s",
        "sync 4: 7 of 8 in, missing (3), 5 min",
        "同期 9: 7/8 到着、待機中 [3]、900 秒",
    ],
)
def test_who_has_not_come(line: str, tmp_path: Path) -> None:
    assert told(tmp_path, line) == [[3]]


@pytest.mark.parametrize(
    "line",
    [
        "WARN barrier step=9 arrived=7/8 waiting_on=[3] elapsed=2s",
        "WARN barrier step=9 arrived=6/8 waiting_on=[3] elapsed=120s",
        "WARN barrier step=9 arrived=7/8 waiting_on=[8] elapsed=120s",
        "WARN 7/8 nodes arrived, waiting_on=[3] elapsed=120s",
        "WARN 0/2 arrived, waiting_on=[0, 1] elapsed=120s",
    ],
    ids=["not long", "not the rest", "counted from 1", "hosts", "nobody came"],
)
def test_lists_that_are_no_rest(line: str, tmp_path: Path) -> None:
    assert told(tmp_path, line) == []


def test_a_coordinator_of_hosts_names_no_rank(tmp_path: Path) -> None:
    (tmp_path / "coord.log").write_text("start world_size=8\nWARN arrived=3/4 waiting_on=[2] elapsed=900s\n")
    for rank in range(8):
        lines = [f"[rank{rank}]: step {step} loss 2.{step}" for step in range(3)]
        (tmp_path / f"rank_{rank}.log").write_text("\n".join(lines) + "\n")
    report = analyze(str(tmp_path))
    assert all(one.verdict.ranks == [] for one in report.incidents)


# --- faulthandler ----------------------------------------------------------------------------------------------------

WRITER = ['  File "/usr/lib/python3.11/queue.py", line 171 in get', '  File "/app/out.py", line 5 in run']
MAIN = ['  File "/app/lock.py", line 5 in acquire', '  File "/app/train.py", line 9 in main']


def main_of(tmp_path: Path, threads: list[list[str]]) -> list[bool]:
    lines = ["Timeout (0:20:00)!"]
    for number, own in enumerate(threads):
        lines += [f"Thread 0x00007f00{number:08x} (most recent call first):", *own, ""]
    (tmp_path / "dump.txt").write_text("\n".join(lines) + "\n")
    return [bool(one) for one in read(str(tmp_path)).tables["stacks"]["is_main"]]


def test_the_last_thread_is_the_first_that_ran(tmp_path: Path) -> None:
    assert main_of(tmp_path, [WRITER, WRITER, MAIN]) == [False, False, True]


def test_a_modules_code_or_one_thread_alone(tmp_path: Path) -> None:
    module = ['  File "/app/train.py", line 9 in <module>']
    assert main_of(tmp_path, [module, WRITER]) == [True, False]
    assert main_of(tmp_path, [WRITER]) == [False]
