"""Tasks that a coordination service misses are suspects, named only where their silence agrees with what all others were told."""

from typing import Any

import pytest

from forensics.detectors.ranks.lost_heartbeat import DETECTOR
from tests.log_cases import case

WORLD = [{"rank": rank, "world_size": 8, "how": "start line"} for rank in range(8)]


def missed(*ranks: int) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    line = {"kind": "heartbeat_lost", "names_ranks": list(ranks), "names_rank_space": "global"}
    return [(one.ranks, one.suspect_ranks) for one in DETECTOR.detect(case([line], ranks=WORLD))]


def test_a_few_are_suspects() -> None:
    assert missed(3) == [((), (3,))]


S = 1_000_000_000


def told(rank: int, *missed: int, at: int = 100) -> dict[str, Any]:
    """What a task prints when the service tells it whom it misses."""
    return {
        "kind": "heartbeat_lost", "names_ranks": list(missed), "names_rank_space": "global", "rank": rank, "file": f"{rank}.log",
        "time_ns": at * S, "time_basis": "local",
    }  # fmt: skip


def step(rank: int, at: int = 90) -> dict[str, Any]:
    return {"rank": rank, "step": 5, "time_ns": at * S, "time_basis": "local", "file": f"{rank}.log", "line": 5}


ALL = [told(rank, 3) for rank in (0, 1, 2)]
STEPS = [step(rank) for rank in range(4)]
RAISED = {"kind": "connect_failed", "rank": 3, "file": "3.log"}


@pytest.mark.parametrize(
    ("rows", "steps", "ranks"),
    [
        pytest.param(ALL, STEPS, (3,), id="one"),
        pytest.param([told(rank, 6, 7) for rank in range(6)], [step(rank) for rank in range(8)], (6, 7), id="two of eight"),
        pytest.param([*ALL, told(0, 3)], STEPS, (3,), id="one is told it twice"),
        pytest.param([one | {"time_ns": None} for one in ALL], [*STEPS[:3], step(3, 300)], (), id="nobody knows when"),
        pytest.param(ALL[:2], STEPS, (), id="another was told nothing"),
        pytest.param(ALL, STEPS[:3], (), id="it left no record"),
        pytest.param([*ALL, RAISED], STEPS, (), id="it says itself that it lost them"),
        pytest.param([*ALL, told(3, 0)], STEPS, (), id="it misses them, too"),
        pytest.param(ALL, [*STEPS, step(3, 110)], (), id="it goes on"),
        pytest.param([*ALL[:2], told(2, 1)], STEPS, (), id="they tell of different ones"),
        pytest.param([told(0, 1)], [step(0), step(1)], (), id="of two"),
    ],
)  # fmt: skip
def test_who_fell_silent_is_named_where_all_others_were_told_of_it(
    rows: list[dict[str, Any]], steps: list[dict[str, Any]], ranks: tuple[int, ...]
) -> None:
    assert [one.ranks for one in DETECTOR.detect(case(rows, steps=steps)) if one.ranks] == ([ranks] if ranks else [])


def test_most_of_the_job_points_at_the_service_instead() -> None:
    assert missed(1, 2, 3, 4, 5) == []


def test_a_watchdog_that_names_nobody_accuses_nobody() -> None:
    [found] = DETECTOR.detect(case([{"kind": "heartbeat_lost", "rank": 2}], ranks=WORLD))
    assert (found.cause, found.ranks, found.suspect_ranks) == (None, (), ())


def test_the_rank_whose_timer_shows_no_hang_while_most_do_is_a_suspect() -> None:
    hung = [{"kind": "heartbeat_lost", "code": "xpu_timer_hang", "rank": rank} for rank in range(7)]
    gauges = [{"rank": rank, "metric": 'XPU_TIMER_COMMON_HANG{job="j"}', "value": float(rank < 7)} for rank in range(8)]
    (found,) = DETECTOR.detect(case(hung, devices=gauges))
    assert (found.ranks, found.suspect_ranks) == ((), (7,))
    (all_hung,) = DETECTOR.detect(case([*hung, hung[0] | {"rank": 7}], devices=gauges[:7]))
    assert all_hung.suspect_ranks == ()


def anew(*ranks: int) -> list[dict[str, Any]]:
    """What a service says that meets another process in the place of a task."""
    return [
        {"kind": "other", "code": "restarted", "names_ranks": [rank], "names_rank_space": "global"} for rank in ranks
    ]


@pytest.mark.parametrize(
    ("rows", "ranks"),
    [
        pytest.param([told(0, 3), told(1, 3), *anew(3)], (3,), id="one"),
        pytest.param([told(0, 3), told(1, 3), *anew(3, 3)], (3,), id="it is said twice"),
        pytest.param([told(0, 3), told(1, 3), *anew(3, 4)], (), id="others were begun anew, too"),
        pytest.param([told(0, 3), told(1, 3), *anew(4)], (), id="another was begun anew"),
        pytest.param([told(0, 3), told(1, 4), *anew(3)], (), id="they miss different ones"),
        pytest.param([told(0, 3), *anew(3)], (), id="one line"),
    ],
)
def test_who_came_back_had_ended(rows: list[dict[str, Any]], ranks: tuple[int, ...]) -> None:
    [found] = DETECTOR.detect(case(rows, ranks=WORLD))
    assert (found.ranks, found.cause) == (ranks, "rank_died" if ranks else None)
