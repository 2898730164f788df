"""Formats whose range was exhausted without NaN or Inf: clipped casts, lost values, gradients that became zero."""

from typing import Any

import pytest

from forensics.detectors.numerics.exhausted_range import DETECTOR
from tests.tensor_rows import OK, Job


def scaled(shares: list[float], ranks: range = range(4), hit: range | None = None, **names: Any) -> Job:
    job = Job()
    for step, share in enumerate(shares):
        for rank in ranks:
            value = share if hit is None or rank in hit else 0.0
            columns = {"overflow_pct": value, "amax": 400.0 + 10 * step, "format": "e4m3", **names}
            job.row(rank, "input", OK, module="layers.3.mlp.fc2", op="Linear", step=step, **columns)
    return job


def test_t27_saturation_without_inf() -> None:
    (found,) = DETECTOR.detect(scaled([0.0, 0.0, 3.0, 3.5]).case())
    assert (found.cause, found.severity, found.domain, found.ranks) == ("overflow", "severe", "workload", ())
    assert (found.first_anomaly.step, found.first_anomaly.module, found.first_anomaly.value) == (
        2,
        "layers.3.mlp.fc2",
        "finite",
    )
    assert any("amax: step 0: 400, step 1: 410, step 2: 420" in claim.text for claim in found.claims)


def test_saturation_on_one_rank_is_a_suspicion() -> None:
    (found,) = DETECTOR.detect(scaled([0.0, 0.0, 3.0], hit=range(1, 2)).case())
    assert (found.ranks, found.suspect_ranks, found.domain) == ((), (1,), "unknown")


@pytest.mark.parametrize(
    "shares", [[0.0, 0.05, 0.0], [3.0, 3.0, 3.0], [3.0], [0.0, 0.9, 0.5]], ids=["calm", "always", "one step", "little"]
)
def test_no_onset_of_saturation(shares: list[float]) -> None:
    assert DETECTOR.detect(scaled(shares).case()) == ()


def test_largest_value_times_scale_tells_too() -> None:
    job = Job()
    for step, amax in enumerate((100.0, 200.0, 500.0)):
        job.row(0, "input", OK, module="fc", op="Linear", step=step, amax=amax, scale=1.0, format="e4m3")
    (found,) = DETECTOR.detect(job.case())
    assert (found.cause, found.first_anomaly.step) == ("overflow", 2)


def test_lost_values() -> None:
    job = Job()
    for step, share in enumerate((0.5, 1.0, 60.0)):
        job.row(0, "grad_output", OK, module="fc", op="Linear", step=step, phase="backward", underflow_pct=share)
    (found,) = DETECTOR.detect(job.case())
    assert (found.cause, found.first_anomaly.step) == ("underflow", 2)


def gradients(sizes: list[float]) -> Job:
    job = Job()
    for step, size in enumerate(sizes):
        for layer in range(4):
            value = {**OK, "absmax": size, "min": -size, "max": size}
            job.op(0, f"layers.{layer}", value, value, phase="backward", step=step)
    return job


@pytest.mark.parametrize(
    ("sizes", "shares", "begin"),
    [
        ([1e-6, 1e-6, 1e-6, 0.0, 0.0], [0.1, 0.1, 97.0, 97.0, 97.0], (2, "fc")),
        ([1e-6, 0.0, 0.0, 0.0, 0.0], [0.1, 0.1, 97.0, 97.0, 97.0], (1, "layers.0")),
    ],
    ids=["lost first", "zero first"],
)
def test_it_began_where_values_or_gradients_were_lost_first(
    sizes: list[float], shares: list[float], begin: tuple[int, str]
) -> None:
    job = Job()
    for step, (size, share) in enumerate(zip(sizes, shares, strict=True)):
        job.row(0, "input", OK, module="fc", op="Linear", step=step, underflow_pct=share)
        for layer in range(4):
            value = {**OK, "absmax": size, "min": -size, "max": size}
            job.op(0, f"layers.{layer}", value, value, phase="backward", step=step)
    (found,) = DETECTOR.detect(job.case())
    assert (found.cause, found.first_anomaly.step, found.first_anomaly.module) == ("underflow", *begin)
    assert any("% of the gradients seen in step" in claim.text for claim in found.claims)


def test_gradients_that_became_zero() -> None:
    (found,) = DETECTOR.detect(gradients([1e-6, 1e-7, 0.0, 0.0]).case())
    assert (found.cause, found.domain, found.first_anomaly.step, found.first_anomaly.phase) == (
        "underflow",
        "workload",
        2,
        "backward",
    )


@pytest.mark.parametrize("sizes", [[0.0, 0.0], [1.0, 0.0, 1.0], [1.0, 1.0]], ids=["always zero", "one step", "never"])
def test_no_underflow(sizes: list[float]) -> None:
    assert DETECTOR.detect(gradients(sizes).case()) == ()


def test_a_frozen_layer_is_no_underflow() -> None:
    job = gradients([1.0, 1.0, 1.0])
    for step in range(3):
        job.op(0, "frozen", {**OK, "absmax": 0.0}, {**OK, "absmax": 0.0}, phase="backward", step=step)
    assert DETECTOR.detect(job.case()) == ()
