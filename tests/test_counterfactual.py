"""What had been without the fault of those who are named: the waits of flight records replayed as if they had come."""

from collections.abc import Callable

import pytest

from tests.analysed import sample
from tests.hang_tables import Rows, idle, order_inversion, two_stalls, waiting


def one_of(world: int) -> Rows:
    return idle(waiting(Rows(world), (rank for rank in range(world) if rank != 2), "world", 9), (2,), "world", 8)


def a_chain() -> Rows:
    """Rank 3 waits for rank 2 in their pair, and all others for both."""
    job = Rows(8, pair=(2, 3))
    waiting(job, (0, 1, 4, 5, 6, 7), "world", 9)
    return idle(waiting(job, (3,), "pair", 4), (2,), "pair", 3)


SHOWN: dict[str, tuple[Callable[[], Rows], list[int], int, bool, str]] = {
    "one of eight": (lambda: one_of(8), [2], 7, True, "Had rank 2 come, ranks 0-1, 3-7 would have gone on."),
    "one of many": (lambda: one_of(512), [2], 511, True, "Had rank 2 come, ranks 0-1, 3-511 would have gone on."),
    "through its pair": (a_chain, [2], 7, True, "Had rank 2 come, ranks 0-1, 3-7 would have gone on."),
    "two, each for its group": (two_stalls, [3, 4], 6, True, "Had ranks 3-4 come, ranks 0-2, 5-7 would have gone on; without any one of them"),
    "any of a circle": (order_inversion, [3, 7], 10, False, "Had any one of ranks 3 and 7 come to what the others wait for, ranks 0-9 would"),
}  # fmt: skip


@pytest.mark.parametrize("name", SHOWN)
def test_who_had_gone_on(name: str) -> None:
    job, ranks, waiters, smallest, text = SHOWN[name]
    told = job().incident().counterfactual
    assert told is not None
    assert (told.ranks, told.freed, told.waiters, told.is_smallest) == (ranks, waiters, waiters, smallest)
    assert told.text.startswith(text)


def half_recorded() -> Rows:
    """Ranks 6 and 7 left no record: they may be missing as well."""
    return idle(waiting(Rows(8), (0, 1, 3, 4, 5), "world", 9), (2,), "world", 8)


def all_entered() -> Rows:
    return waiting(Rows(8), range(8), "world", 9)


@pytest.mark.parametrize("job", [half_recorded, all_entered])
def test_what_does_not_come_out_is_not_said(job: Callable[[], Rows]) -> None:
    assert job().incident(expected=8).counterfactual is None


@pytest.mark.parametrize("name", ["data_loader_stall", "two_in_checkpoint", "shard_read_stall"])
def test_of_recorded_runs(name: str) -> None:
    report = sample(name)
    found = report.incidents[report.primary]
    told = found.counterfactual
    assert told is not None and told.is_smallest
    assert told.ranks == found.verdict.ranks and told.freed == 8 - len(told.ranks)


@pytest.mark.parametrize("name", ["healthy_dp", "nan_birth", "rank_killed"])
def test_who_waits_for_nobody_tells_nothing(name: str) -> None:
    report = sample(name)
    assert all(one.counterfactual is None for one in report.incidents)
