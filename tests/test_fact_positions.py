"""Who stands at which call: a row per statement, whichever source makes it."""

import json
from typing import Any

import pytest

from forensics.case import Case
from tests.log_cases import case

Row = tuple[int | None, int | None, str, str | None]


def told(whole: Case, source: str) -> list[Row]:
    """(rank, number, state, what all must bring alike) of one source."""
    rows = whole.positions.filter(source=source).sort("rank", "number", "state", nulls_last=True)
    return [(row["rank"], row["number"], row["state"], row["call"]) for row in rows.iter_rows(named=True)]


def gave_up(rank: int, size: int | None = 64) -> dict[str, Any]:
    said = {"op_type": "ALLREDUCE", "numel_in": size}
    return {
        "kind": "collective_timeout",
        "rank": rank,
        "seq": 7,
        "op": "all_reduce",
        "group": "0",
        "detail": json.dumps(said),
    }


def test_watchdogs_counters_and_the_member_that_printed_nothing() -> None:
    counter = {
        "rank": 1,
        "group": "0",
        "desc": "default_pg",
        "last_enqueued": 6,
        "last_completed": 6,
        "how": "watchdog line",
    }
    whole = case([gave_up(0)], progress=[counter | {"file": "a.log"}], expected=3)
    assert told(whole, "watchdog") == [
        (0, 7, "timed_out", "all_reduce of 64 elements"),
        (1, 6, "enqueued", None),
        (1, 6, "completed", None),
        (2, None, "unknown", None),
    ]


def test_sizes_are_compared_only_where_every_member_tells_its_own() -> None:
    whole = case([gave_up(0), gave_up(1, None)], expected=2)
    assert [call for *_, call in told(whole, "watchdog")] == ["all_reduce", "all_reduce"]


def test_statements_that_disagree_stay_side_by_side() -> None:
    def report(lagging: int, *others: int) -> dict[str, Any]:
        said = {"lagging": [{"ranks": [lagging], "missing": 7}], "snapshot": [{"count": 7, "ranks": list(others)}]}
        return {"kind": "desync", "rank": 0, "group": "0", "op": "all_reduce", "detail": json.dumps(said)}

    rows = told(case([report(1, 0, 2), report(2, 0, 1)], expected=3), "desync")
    assert [row[:3] for row in rows if row[0] == 2] == [(2, 6, "completed"), (2, 7, "entered")]


@pytest.mark.parametrize(
    ("rank", "expected"), [(0, [(0, 1, "entered"), (2, 0, "absent")]), (1, [])], ids=["rank 0", "another"]
)
def test_only_the_list_of_a_barriers_first_rank_counts(rank: int, expected: list[Any]) -> None:
    row = {"kind": "barrier_missing", "rank": rank, "names_ranks": [2], "names_rank_space": "group"}
    assert [row[:3] for row in told(case([row], expected=4), "barrier")] == expected


def test_reports_of_ras_give_those_that_they_do_not_list_together() -> None:
    said = {
        "counts": [{"ranks": 3, "operation": 9}, {"ranks": 1, "operation": 8}],
        "listed": [{"rank": 2, "operation": 8}],
    }
    row = {"kind": "ras_status", "code": "MISMATCH", "group": "aa", "detail": json.dumps(said)}
    assert [one[:2] for one in told(case([row]), "ras")] == [(2, 8), (None, 9)]
    assert [one[:2] for one in told(case([row], expected=4), "ras")] == [(0, 9), (1, 9), (2, 8), (3, 9)]


def test_a_stack_tells_the_call_but_not_its_group() -> None:
    frames = [{"function": "all_reduce", "file": "torch/distributed/distributed_c10d.py", "line": 2806}]
    stack = {"rank": 3, "is_main": True, "thread_name": "MainThread", "source": "py-spy", "frames": frames}
    (row,) = case([], stacks=[stack]).positions.filter(source="stack").rows(named=True)
    assert (row["rank"], row["kind"], row["group"], row["state"]) == (3, "all_reduce", None, "entered")
