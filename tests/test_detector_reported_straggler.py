"""Whom other tools call slow."""

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
