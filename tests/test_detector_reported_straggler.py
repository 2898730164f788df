"""Whom other tools call slow."""

import json
from typing import Any

import pytest

from forensics.case import Case
from forensics.detectors.slow.reported_straggler import DETECTOR
from tests.log_cases import case, judged

ALONE = [{"name": "pipeline_model_parallel_size", "value": "1"}]


def reports(*ranks: list[int], severity: str = "warning") -> Case:
    row = {"kind": "straggler", "severity": severity, "code": "relative", "names_rank_space": "global"}
    return case([row | {"names_ranks": one} for one in ranks])


@pytest.mark.parametrize(
    ("named", "ranks", "suspects"),
    [([[5], [5, 3]], (5,), ()), ([[5]], (), (5,)), ([[5], [3]], (), (3, 5))],
    ids=["twice", "once", "each once"],
)
def test_who_is_called_slow_twice_is_named(
    named: list[list[int]], ranks: tuple[int, ...], suspects: tuple[int, ...]
) -> None:
    found = judged(reports(*named), DETECTOR)
    assert (found.kind, found.cause, found.ranks, found.suspects) == ("slow", "straggler_compute", ranks, suspects)


def test_the_list_of_the_worst_of_a_healthy_run_names_nobody() -> None:
    assert DETECTOR.detect(reports([5], [5], [5], severity="info")) == ()


def intervals(slowest: list[int], longer: float = 1.1, **more: Any) -> Case:
    """A line per interval, which is a row of timings and an event."""
    told = [{"file": "train.log", "line": line} for line in range(1, len(slowest) + 1)]
    times = {"name": "step", "min_ms": 100.0, "max_ms": 100.0 * longer, "min_rank": 1}
    timings = [place | times | {"max_rank": rank} for place, rank in zip(told, slowest, strict=True)]
    return case([place | {"kind": "straggler", "severity": "info"} for place in told], 8, timings=timings, **more)


def test_the_slowest_of_all_intervals() -> None:
    found = judged(intervals([5] * 6, settings=ALONE), DETECTOR)
    assert (found.cause, found.ranks) == ("straggler_compute", (5,))
    assert judged(intervals([5] * 6), DETECTOR).suspects == (5,)


@pytest.mark.parametrize(
    "whole",
    [intervals([5, 2, 0, 5, 7, 1]), intervals([5] * 6, longer=1.004), intervals([5, 5])],
    ids=["another each time", "no spread", "two intervals"],
)
def test_the_slowest_of_a_healthy_run_is_not_slow(whole: Case) -> None:
    assert DETECTOR.detect(whole) == ()


def test_a_report_that_names_everybody_names_nobody() -> None:
    """All are slower than they were: that is no slow rank."""
    everybody = list(range(8))
    assert DETECTOR.detect(reports(everybody, everybody)) == ()


def scores(*lists: dict[int, float]) -> list[dict[str, Any]]:
    """A list of the worst ranks each, twenty lines apart."""
    return [
        {"kind": "straggler", "severity": "info", "code": "score", "value": score, "detail": json.dumps({"of_rank": rank}),
         "file": "nemo.log", "line": 20 * number + place}
        for number, one in enumerate(lists, 1) for place, (rank, score) in enumerate(one.items())
    ]  # fmt: skip


LOW, FINE = {5: 0.62, 1: 0.97, 2: 0.98, 3: 1.0}, {5: 0.96, 1: 0.97, 2: 0.98, 3: 1.0}
WARNED = {"kind": "straggler", "severity": "warning", "names_ranks": [5], "names_rank_space": "global", "line": 90}


@pytest.mark.parametrize(
    ("lists", "ranks"),
    [([LOW, LOW], (5,)), ([FINE, FINE], ()), ([dict.fromkeys(range(4), 0.6)] * 2, ())],
    ids=["far below the others", "as good as the others", "all alike"],
)
def test_a_score_far_below_all_others_counts_as_a_report(lists: list[dict[int, float]], ranks: tuple[int, ...]) -> None:
    found = judged(case([*scores(*lists), WARNED]), DETECTOR)
    assert found.ranks == ranks
    assert found.suspects == (() if ranks else (5,))


def weakest(lowest: list[int], clock: int | None = None, low: float = 190.0, **more: Any) -> Case:
    """An interval each: who has the lowest throughput, and the lowest clock."""
    events = []
    for number, rank in enumerate(lowest, 1):
        ends: dict[str, Any] = {"Etpt": {"unit": "TF", "min": [low, rank], "max": [300.0, 2]}}
        if clock is not None:
            ends["Clk"] = {"unit": "MHz", "min": [1260.0 if rank == clock else 1950.0, clock], "max": [1980.0, 0]}
        events.append({"kind": "straggler", "severity": "info", "detail": json.dumps(ends), "line": number})
    return case(events, 8, **more)


def test_the_rank_with_the_lowest_throughput_of_the_last_intervals() -> None:
    assert judged(weakest([1, 3, 0, 2, 4, 1, 5, 5, 5, 5, 5, 5]), DETECTOR).ranks == (5,)  # it began in the run
    assert judged(weakest([5] * 12), DETECTOR).suspects == (5,)  # it may be a stage of its own
    assert judged(weakest([5] * 12, clock=5), DETECTOR).ranks == (5,)
    assert judged(weakest([5] * 12, settings=ALONE), DETECTOR).ranks == (5,)
    assert DETECTOR.detect(weakest([5] * 12, low=295.0)) == ()
    assert DETECTOR.detect(weakest([1, 3, 0, 2, 4, 1, 5, 3])) == ()


def nodes(*rounds: list[int], **more: Any) -> list[dict[str, Any]]:
    place = {"kind": "straggler", "severity": "warning", "names_rank_space": "node"}
    return [place | {"names_ranks": one, "line": line, **more} for line, one in enumerate(rounds, 1)]


def test_a_node_that_a_check_calls_slow_in_two_rounds_is_named_by_its_host() -> None:
    who = {"kind": "membership", "code": "node_rank", "severity": "info", "names_ranks": [3], "names_rank_space": "node",
           "names_hosts": ["10.4.7.13"]}  # fmt: skip
    found = judged(case([*nodes([3], [3]), who]), DETECTOR)
    assert (found.kind, found.ranks, found.hosts) == ("slow", (), ("10.4.7.13",))
    assert judged(case([*nodes([3]), who]), DETECTOR).suspect_hosts == ("10.4.7.13",)
    assert judged(case(nodes([3], [3])), DETECTOR).hosts == ("node 3",)
    twice_told = [*nodes([3], file="a.log"), *nodes([3], file="b.log")]
    assert judged(case(twice_told), DETECTOR).hosts == ()
