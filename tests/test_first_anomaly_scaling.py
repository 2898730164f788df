"""What the number format has to do with a first bad value, and when the device itself is to be tested."""

import pytest

from forensics.detectors.numerics.first_anomaly import DETECTOR
from tests.tensor_rows import Job

INF = float("inf")


def claims(job: Job) -> list[str]:
    (found,) = DETECTOR.detect(job.case())
    return [claim.text for claim in found.claims]


@pytest.mark.parametrize(
    ("amax", "scale", "told"),
    [
        (0.0, INF, "its input is kept as e4m3, amax 0, scale Inf: a block whose largest value is 0 has no finite scale, and 0 times Inf is NaN"),
        (900.0, INF, "its input is kept as e4m3, amax 900, scale Inf: no value survives such a scale"),
        (900.0, 0.497, "its input is kept as e4m3, amax 900, scale 0.497"),
    ],
)  # fmt: skip
def test_the_scale_of_what_went_in_is_told(amax: float, scale: float, told: str) -> None:
    job = Job()
    job.row(0, "input", "ok", module="fc", op="Linear", format="e4m3", amax=amax, scale=scale)
    job.row(0, "output", "nan", module="fc", op="Linear")
    assert told in claims(job)


@pytest.mark.parametrize(
    ("op", "dtype", "told"),
    [("softmax", "bfloat16", True), ("softmax", "float32", False), ("Linear", "bfloat16", False)],
)
def test_an_operation_that_bears_few_digits_worst_is_told(op: str, dtype: str, told: bool) -> None:
    job = Job()
    job.row(0, "input", "ok", module="m", op=op, dtype=dtype)
    job.row(0, "output", "nan", module="m", op=op, dtype=dtype)
    assert any("which need many digits" in text for text in claims(job)) == told


@pytest.mark.parametrize(
    ("peer", "asked"), [("ok", True), ("nan", False), (None, False)], ids=["peers are well", "a peer is bad", "no peer"]
)
def test_a_device_is_tested_where_its_peers_computed_the_same_well(peer: str | None, asked: bool) -> None:
    job = Job()
    job.op(0, "fc", "ok", "nan", step=4)
    if peer is not None:
        job.op(1, "fc", "ok", peer, step=4)
    (found,) = DETECTOR.detect(job.case())
    assert any(action.kind == "inspect_hardware" and "for hours" in action.reason for action in found.actions) == asked
