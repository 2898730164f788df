"""Tasks that a coordination service misses are suspects, and nobody is named."""

from forensics.detectors.ranks.lost_heartbeat import DETECTOR
from tests.log_cases import case

WORLD = [{"rank": rank, "world_size": 8, "how": "start line"} for rank in range(8)]


def missed(*ranks: int) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    line = {"kind": "heartbeat_lost", "names_ranks": list(ranks), "names_rank_space": "global"}
    return [(one.ranks, one.suspect_ranks) for one in DETECTOR.detect(case([line], ranks=WORLD))]


def test_a_few_are_suspects() -> None:
    assert missed(3) == [((), (3,))]


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
