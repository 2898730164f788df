"""The one answer of the detector to a job, and the call that spreads a bad gradient."""

from typing import Any

from forensics.detectors.first_anomaly import DETECTOR
from forensics.model.finding import Finding
from tests.tensor_rows import Job


def answer(job: Job, expected: Any = (), without: Any = ()) -> Finding:
    found = DETECTOR.detect(job.case(expected, without))
    assert len(found) == 1
    assert found[0].kind == "numerics"
    return found[0]


def spread_over(job: Job, ranks: range, step: int = 0, bad: tuple[int, ...] = (1,)) -> None:
    """The gradient all_reduce of a step: one member's NaN becomes everybody's."""
    values = {rank: ("nan" if rank in bad else "ok", "nan") for rank in ranks}
    job.reduce(values, list(ranks), step=step)
