"""Calls that all ended, and one rank that always came last to them: by flight records, each rank by its own clock."""

import random
from collections.abc import Callable
from typing import Any

import pytest

from forensics.model.incident import Verdict
from tests.hang_tables import START_NS, Rows, call

SECOND = 1_000_000_000
Came = Callable[[int, int], float]  # rank, call → seconds before the end at which it came


def verdict(
    came: Came, *, ranks: int = 8, calls: int = 59, skew: float = 0.0, stamp: str = "time_started_ns", **groups: Any
) -> Verdict:
    job = Rows(ranks, **groups)
    for rank in range(ranks):
        mine = next((name for name, members in groups.items() if rank in members), "world")
        rows = []
        for number in range(1, calls + 1):
            end = START_NS + number * SECOND + int(rank * skew * SECOND)
            before = int(came(rank, number) * SECOND)
            early = {"time_created_ns": end - before - SECOND // 3, stamp: end - before}
            rows.append(call(mine, number, done=True, time_completed_ns=end, **early))
        job.dump(rank, *rows)
    return job.verdict(hung=False)


def late(by: float, own: float = 0.02) -> Came:
    return lambda rank, number: own if rank == 5 else own + by


def noisy(by: float) -> Came:
    return lambda rank, number: 0.02 + random.Random(f"{rank}:{number}").random() * 0.05 + (0 if rank == 5 else by)


SHOWN: dict[str, dict[str, Any]] = {
    "always 0.6 s late": {"came": late(0.6)},
    "a tenth of a second": {"came": late(0.1)},
    "with noise": {"came": noisy(0.4)},
    "clocks hours apart": {"came": late(0.6), "skew": 3600.0},
    "by the host's stamps": {"came": late(0.6), "stamp": "time_created_ns"},
    "in most calls": {"came": lambda rank, number: 0.02 if rank == 5 and number % 7 not in (1, 2) else 0.5},
    "from the thirtieth call on": {"came": lambda rank, number: 0.02 if rank == 5 and number >= 30 else 0.02 + (0.5 if number >= 30 else 0)},
    "of sixteen": {"came": late(0.5), "ranks": 16},
    "few calls": {"came": late(0.6), "calls": 12},
}  # fmt: skip


@pytest.mark.parametrize("name", SHOWN)
def test_who_always_comes_last(name: str) -> None:
    found = verdict(**SHOWN[name])
    assert (found.kind, found.ranks) == ("slow", [5])
    assert found.status in ("supported", "hypothesis")
    assert "rank 5 last to come to all_reduce of world" in found.summary


LEGAL: dict[str, dict[str, Any]] = {
    "all alike": {"came": lambda rank, number: 0.05},
    "another one each time": {"came": lambda rank, number: 0.02 if random.Random(number).randrange(8) == rank else 0.4},
    "too little to matter": {"came": late(0.005)},
    "twice": {"came": lambda rank, number: 0.02 if rank == 5 and number in (20, 41) else 0.4 if number in (20, 41) else 0.02},
    "a host that enqueues later, and its device has work enough": {"came": late(0.2, own=0.6), "stamp": "time_created_ns"},
}  # fmt: skip


@pytest.mark.parametrize("name", LEGAL)
def test_nobody_is_named_for(name: str) -> None:
    found = verdict(**LEGAL[name])
    assert (found.ranks, found.suspects.ranks) == ([], [])
