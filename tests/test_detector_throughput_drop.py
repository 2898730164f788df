"""A lasting fall of throughput, and what looks like one."""

import random
from collections.abc import Sequence

import pytest

from forensics.detectors.slow.throughput_drop import DETECTOR, drift, leaves_level, sinks_on, split
from tests.log_cases import case, judged

NOISE = random.Random(7)
LEVEL = [100 + NOISE.gauss(0, 0.4) for _ in range(200)]
LOWER = [value * 0.92 for value in LEVEL]


@pytest.mark.parametrize(
    ("values", "at"),
    [
        ([149.1, 149.0, 149.1, 141.2, 141.0], 3),
        (LEVEL[:60] + LOWER[60:], 60),
        (LEVEL, None),
        (LEVEL[:60] + LOWER[60:90] + LEVEL[90:], None),
        ([*LEVEL[:60], 20.0, *LEVEL[61:]], None),
        ([50.0, 80.0, *LEVEL], None),
        ([100.0, 92.0, 101.0, 93.0, 99.0, 92.5, 100.5, 93.5], None),
        ([100.0, 100.0, 100.0, 98.5, 98.5, 98.5], None),
        ([100.0, 100.0, 90.0], None),
        ([], None),
    ],
    ids=["few points", "many", "steady", "recovered", "one slow step", "slow start", "alternating", "small", "short",
         "none"],
)  # fmt: skip
def test_split(values: Sequence[float], at: int | None) -> None:
    assert split(values) == at


def test_the_step_of_the_onset() -> None:
    steps = [{"step": 500 + i, "phase": "train", "tflops": v, "rank": 7, "file": "a"} for i, v in
             enumerate([149.1, 149.0, 149.1, 141.2, 141.0])]  # fmt: skip
    found = judged(case(steps=steps), DETECTOR)
    assert (found.kind, found.cause, found.ranks) == ("slow", "throughput_drop", ())
    assert found.finding.first_anomaly.step == 503


def test_step_times_need_more_points_than_printed_throughput() -> None:
    times = [1000.0] * 7 + [1100.0] * 7  # a run of a minute on a machine that others share
    steps = [{"step": i, "elapsed_ms": v, "file": "a"} for i, v in enumerate(times)]
    assert DETECTOR.detect(case(steps=steps)) == ()
    times = [1000.0] * 15 + [1100.0] * 15
    steps = [{"step": i, "elapsed_ms": v, "file": "a"} for i, v in enumerate(times)]
    (found,) = DETECTOR.detect(case(steps=steps))
    assert found.first_anomaly.step == 15


@pytest.mark.parametrize(
    ("values", "sinks"),
    [
        ([value * (1 - 0.0006 * i) for i, value in enumerate(LEVEL)], True),
        (LEVEL, False),
        (LEVEL[:60] + LOWER[60:90] + LEVEL[90:], False),
        ([value * (1 - 0.0001 * i) for i, value in enumerate(LEVEL)], False),
        ([100.0 - i for i in range(20)], False),
    ],
    ids=["sinks", "steady", "recovered", "by two hundredths", "short"],
)
def test_drift(values: Sequence[float], sinks: bool) -> None:
    assert (drift(values) is not None) == sinks


def test_a_slow_sinking_is_told_with_both_levels() -> None:
    steps = [{"step": i, "tflops": v * (1 - 0.0006 * i), "file": "a"} for i, v in enumerate(LEVEL)]
    (found,) = DETECTOR.detect(case(steps=steps))
    assert "fell steadily" in found.summary


def test_what_grew_and_when_by_the_times_in_the_same_lines() -> None:
    """The communication is a part of the backward pass; the first twenty steps are the faster ones."""
    spent = [
        {"bwd": 700 if i < 20 else 1500, "bwd_allreduce": 100 if i < 20 else 900, "fwd": 300 + i / 4} for i in range(40)
    ]
    timings = [
        {"step": i, "phase": name, "name": name, "level": int("_" in name), "value_ms": ms, "file": "a", "line": i}
        for i, parts in enumerate(spent)
        for name, ms in [*parts.items(), ("step_time", parts["bwd"] + parts["fwd"])]
    ]
    steps = [{"step": i, "file": "a", "line": i} for i in range(40)]
    (found,) = DETECTOR.detect(
        case(steps=steps, timings=[row | {"phase": row["phase"].removesuffix("_time")} for row in timings])
    )
    assert found.first_anomaly.step == 20
    assert "bwd_allreduce grew most, from 100 to 900 ms" in found.summary


def test_longer_steps_at_the_same_tokens_per_second_are_no_fall() -> None:
    steps = [
        {"step": i, "elapsed_ms": value * (10 if i < 100 else 20), "per_s": 5000 + value, "file": "a"}
        for i, value in enumerate(LEVEL)
    ]
    assert DETECTOR.detect(case(steps=steps)) == ()


def test_longer_steps_of_a_growing_batch_are_no_fall() -> None:
    """Twice the samples in twice the time."""
    steps, samples = [], 0
    for i, value in enumerate(LEVEL):
        batch = 2 if i >= 100 else 1
        samples += 64 * batch
        steps.append({"step": i, "elapsed_ms": value * 10 * batch, "samples": samples, "file": "a"})
    assert DETECTOR.detect(case(steps=steps)) == ()


@pytest.mark.parametrize(("slower", "found"), [(1, False), (2, True), (4, True)])
def test_a_fall_that_few_of_the_ranks_print_is_none_of_the_job(slower: int, found: bool) -> None:
    steps = [
        {"step": i, "elapsed_ms": 1100.0 if rank < slower and i >= 15 else 1000.0, "rank": rank, "file": str(rank)}
        for rank in range(4)
        for i in range(30)
    ]
    assert bool(DETECTOR.detect(case(steps=steps))) is found


PARTS = {
    "data_time": ("data", 40.0),
    "forward_time": ("forward", 200.0),
    "backward_time": ("backward", 400.0),
    "timing_s/gen": ("gen", 600.0),
}
GREW: dict[str, tuple[tuple[str, ...], str]] = {
    "the loader": (("data_time",), "check_data"),
    "generation alone": (("timing_s/gen",), "check_config"),
    "the backward pass alone, in which ranks wait for each other": (("backward_time",), "inspect_hardware"),
    "all work of the devices": (("forward_time", "backward_time", "timing_s/gen"), "inspect_hardware"),
}


@pytest.mark.parametrize("name", GREW)
def test_what_to_look_at_follows_from_the_part_that_grew(name: str) -> None:
    """A slow device is slow at all its work; where some of it takes as long as ever, the part has more to do."""
    grown, action = GREW[name]
    steps, timings = [], []
    for step in range(60):
        own = {
            part: ms * (25 if part == "data_time" else 3) if part in grown and step >= 30 else ms
            for part, (_, ms) in PARTS.items()
        }
        place = {"step": step, "rank": 0, "file": "train.log", "line": step + 1}
        steps.append(place | {"phase": "train", "elapsed_ms": sum(own.values()) + step % 3})
        timings += [
            place | {"phase": PARTS[part][0], "name": part, "level": 0, "value_ms": ms} for part, ms in own.items()
        ]
    found = judged(case(steps=steps, timings=timings), DETECTOR)
    assert (found.cause, found.ranks) == ("throughput_drop", ())
    assert [one.kind for one in found.finding.actions] == [action]
    assert (found.finding.domain == "workload") == (action == "check_config")


SINKING = [100 + NOISE.gauss(0, 0.4) if i < 90 else 100 * 0.99 ** (i - 90) for i in range(200)]


@pytest.mark.parametrize(
    ("values", "onset", "says"),
    [
        (SINKING, 93, "goes on falling"),
        (LEVEL[:60] + LOWER[60:], 60, "stayed there"),
        ([*LEVEL[:90], *(55 + 40 / (1 + i) for i in range(110))], 91, "stayed there"),
        (SINKING[:96], None, ""),
        ([value * (1 - 0.0006 * i) for i, value in enumerate(LEVEL)], 0, "fell steadily"),
    ],
    ids=["sinks on and on", "one step", "comes to rest", "it has just begun", "evenly from the start"],
)
def test_what_goes_on_falling_did_not_stay(values: Sequence[float], onset: int | None, says: str) -> None:
    steps = [{"step": i, "tflops": v, "file": "a"} for i, v in enumerate(values)]
    found = DETECTOR.detect(case(steps=steps))
    assert [one.first_anomaly.step for one in found] == ([] if onset is None else [onset])
    assert all(says in one.summary for one in found)


def test_where_a_sinking_begins_and_what_is_none() -> None:
    assert leaves_level(SINKING, 130) == 93
    assert sinks_on(SINKING[130:]) is not None
    assert sinks_on(LEVEL[130:]) is None and sinks_on(SINKING[130:150]) is None


@pytest.mark.parametrize("limit", ["response_length/max", "rollout_tokens_limit"])
def test_what_jumped_when_one_part_began_to_grow_is_said(limit: str) -> None:
    steps, timings = [], []
    for step in range(140):
        own = {"data_time": 3.0, "forward_time": 80.0, "timing_s/gen": 60.0 + max(0, step - 60) * 2}
        place = {"step": step, "rank": None, "file": "a.log", "line": step + 1}
        figures = f"{limit}={1024 if step < 60 else 8192} score={step % 7 / 10}"
        steps.append(place | {"phase": "train", "elapsed_ms": sum(own.values()) + step % 3, "figures": figures})
        timings += [
            place | {"phase": PARTS[part][0], "name": part, "level": 0, "value_ms": ms} for part, ms in own.items()
        ]
    found = judged(case(steps=steps, timings=timings), DETECTOR)
    [action] = found.finding.actions
    assert action.kind == "check_config" and f"{limit} went from 1024 to 8192 at step 60" in action.reason
    assert "timing_s/gen" in action.reason
