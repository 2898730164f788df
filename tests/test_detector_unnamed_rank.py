"""Slow ranks in logs whose lines say no rank."""

import random
from typing import Any

import pytest

from forensics.detectors.slow.unnamed_rank import DETECTOR
from tests.log_cases import case


def lines(
    slow: float = 1.0, since: int = 0, ranks: int = 4, steps: int = 14, noise: float = 0.02, **more: Any
) -> list[dict[str, Any]]:
    """Every rank prints its forward time and the whole step; the mixed log does not say whose is whose."""
    rng = random.Random(7)
    rows: list[dict[str, Any]] = []
    for step in range(steps):
        own = [
            100 * (slow if rank == 2 and step >= since else 1) * rng.lognormvariate(0, noise) for rank in range(ranks)
        ]
        order = rng.sample(range(ranks), ranks)
        for rank in order:
            place = {"step": step, "file": "launcher.log", "line": len(rows) // 2 + 1} | more
            rows += [
                place | {"phase": "forward", "value_ms": own[rank]},
                place | {"phase": "step", "value_ms": max(own) + 5},
            ]
    return rows


@pytest.mark.parametrize("job", [{"slow": 1.4}, {"slow": 5.0, "since": 5}, {"slow": 1.3, "ranks": 16}])
def test_somebody_is_slow_and_nobody_is_named(job: dict[str, Any]) -> None:
    (found,) = DETECTOR.detect(case(timings=lines(**job)))
    assert (found.cause, found.ranks, found.suspect_ranks) == ("straggler_compute", (), ())
    assert found.undecided == ("membership_unknown",)


@pytest.mark.parametrize(
    "job",
    [
        {},
        {"noise": 0.05},
        {"slow": 1.4, "ranks": 2},
        {"slow": 1.4, "steps": 6},
        {"slow": 1.4, "since": 12},
        {"slow": 1.4, "rank": 0},
    ],
    ids=["alike", "noisy", "two lines", "few steps", "two slow steps", "lines that say their rank"],
)
def test_what_says_nothing(job: dict[str, Any]) -> None:
    assert DETECTOR.detect(case(timings=lines(**job))) == ()


def test_stages_of_a_pipeline_differ_by_design() -> None:
    piped = [{"name": "pipeline_model_parallel_size", "value": "4", "scope": "config"}]
    assert DETECTOR.detect(case(timings=lines(slow=1.4), settings=piped)) == ()
