"""Words of srun about its tasks, as words about ranks."""

import json
from typing import Any

import pytest

from forensics.detectors import DETECTORS
from tests.log_cases import case, judged


def ended(tasks: list[int], code: str, host: str | None = "n1", **columns: Any) -> dict[str, Any]:
    named = [host] if host else None
    return {"kind": "exit", "code": code, "names_hosts": named, "detail": json.dumps({"tasks": tasks}), **columns}


STOPPING = {"kind": "scheduler", "code": "terminating", "severity": "info"}
REST = [ended([0, 1, 2, 3], "SIGTERM", "n0"), ended([4, 6, 7], "SIGTERM")]


@pytest.mark.parametrize(
    ("code", "how", "cause"),
    [
        ("SIGSEGV", "died", "segfault"),
        ("SIGKILL", "died", "killed"),
        ("Out Of Memory", "died", "host_oom"),
        ("1", "failed", None),
    ],
)
def test_the_task_is_the_rank_where_tasks_are_ranks(code: str, how: str, cause: str | None) -> None:
    whole = case([ended([5], code), STOPPING, *REST], expected=8)
    assert (whole.ends[5].how, whole.ends[5].cause) == (how, cause)
    assert {end.how for rank, end in whole.ends.items() if rank != 5} == {"stopped"}


def test_the_rank_is_named() -> None:
    whole = case([ended([5], "SIGSEGV"), STOPPING, *REST], expected=8)
    best = judged(whole, *DETECTORS)
    assert (best.kind, best.cause, best.ranks) == ("crash", "segfault", (5,))


def test_what_srun_killed_itself_is_not_named() -> None:
    killed = [ended([0, 1, 2, 3], "SIGKILL", None), ended([4, 6, 7], "SIGKILL", None)]
    whole = case([ended([5], "SIGSEGV"), STOPPING, *killed], expected=8)
    assert {rank for rank, end in whole.ends.items() if end.how == "died"} == {5}
    whole = case([STOPPING | {"file": "other.log"}, *killed, ended([5], "SIGKILL")], expected=8)
    assert {end.how for end in whole.ends.values()} == {"stopped"}


RANKS: list[dict[str, Any]] = [{"rank": rank, "host": f"n{rank // 4}", "how": "init"} for rank in range(8)]


@pytest.mark.parametrize(
    ("rows", "tables", "expected", "known"),
    [
        ([ended([5], "SIGSEGV")], {"ranks": RANKS}, 8, True),
        ([ended([5], "SIGSEGV"), ended([5], "SIGSEGV", file="copy.log")], {"ranks": RANKS}, 8, True),
        ([ended([5], "SIGSEGV")], {}, 8, False),
        ([ended([1], "SIGSEGV")], {"ranks": RANKS}, 8, False),
        ([ended([5], "SIGSEGV", "n0")], {"ranks": RANKS}, 8, False),
        ([ended([5], "SIGSEGV", "n0"), *REST], {"ranks": RANKS}, 8, False),
        ([ended([5], "SIGSEGV"), *REST], {}, 16, False),
        ([ended([5], "SIGSEGV"), *REST], {}, None, True),
        ([ended([5], "SIGSEGV"), REST[0]], {}, None, False),
        ([ended([5], "SIGSEGV"), *REST], {"steps": [{"rank": rank, "step": 1} for rank in range(8)]}, None, True),
        ([ended([5], "SIGSEGV"), *REST], {"steps": [{"rank": rank, "step": 1} for rank in range(7)]}, None, False),
        (
            [ended([task], "SIGSEGV", f"n{task}") for task in range(6)],
            {"steps": [{"rank": rank, "step": 1} for rank in range(6)]}, None, False,
        ),
        ([ended([5], "SIGSEGV"), *REST], {"ranks": [{"rank": 5, "how": "elastic failure table"}]}, 8, False),
    ],
    ids=[
        "its host says the same", "told twice", "part of the tasks", "a node's launcher", "another host", "all, but another host",
        "more ranks than tasks", "size of the job unknown: they are 0 to N-1", "or not", "all that left a line", "one left none", "a task per host", "torchrun below srun",
    ],
)  # fmt: skip
def test_when_a_task_is_a_rank(
    rows: list[dict[str, Any]], tables: dict[str, Any], expected: int | None, known: bool
) -> None:
    assert (5 in case(rows, expected=expected, **tables).ends) == known
