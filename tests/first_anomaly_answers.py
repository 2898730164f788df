"""The one answer of the detector to a job, what the verdict makes of it, and the call that spreads a bad gradient."""

from typing import Any

from forensics.detectors.numerics.first_anomaly import DETECTOR
from forensics.model.finding import Finding
from tests.log_cases import Judged, judged
from tests.tensor_rows import Job


def verdict(job: Job, expected: Any = (), without: Any = ()) -> Judged:
    found = judged(job.case(expected, without), DETECTOR)
    assert found.kind == "numerics"
    return found


def answer(job: Job, expected: Any = (), without: Any = ()) -> Finding:
    return verdict(job, expected, without).finding


def spread_over(job: Job, ranks: range, step: int = 0, bad: tuple[int, ...] = (1,)) -> None:
    """The gradient all_reduce of a step: one member's NaN becomes everybody's."""
    values = {rank: ("nan" if rank in bad else "ok", "nan") for rank in ranks}
    job.reduce(values, list(ranks), step=step)
