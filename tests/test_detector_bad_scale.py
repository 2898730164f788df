"""Scales of FP8 that are no finite number."""

from typing import Any

import pytest

from forensics.detectors.numerics.bad_scale import DETECTOR
from tests.log_cases import case

INF, NAN = float("inf"), float("nan")


def rows(scales: dict[int, float], ranks: int = 4, amax: float = 0.0) -> list[dict[str, Any]]:
    """Four ranks, five steps; from step 3 on some have another scale."""
    return [
        {"rank": rank, "step": step, "seq": step, "phase": "forward", "module": "layers.3.fc1", "op": "Linear", "tensor": "input",
         "format": "e4m3", "amax": amax if rank in scales and step >= 3 else 900.0,
         "scale": scales.get(rank, 0.5) if step >= 3 else 0.5, "absmax": 1.0}
        for rank in range(ranks) for step in range(5)
    ]  # fmt: skip


@pytest.mark.parametrize(("scale", "value"), [(INF, "inf"), (NAN, "nan")])
def test_a_scale_that_is_no_finite_number_is_a_bad_state(scale: float, value: str) -> None:
    (found,) = DETECTOR.detect(case(tensors=rows({2: scale})))
    assert (found.cause, found.ranks, found.first_anomaly.step, found.first_anomaly.value) == (
        "bad_state",
        (2,),
        3,
        value,
    )
    assert "e4m3" in found.summary and "amax is 0" in found.summary


def test_all_ranks_have_it_from_their_program() -> None:
    (found,) = DETECTOR.detect(case(tensors=rows(dict.fromkeys(range(4), INF))))
    assert (found.ranks, found.domain) == ((), "workload")


@pytest.mark.parametrize("scales", [{}, {2: 448.0}, {2: 1e30}])
def test_an_amax_of_zero_alone_is_legal(scales: dict[int, float]) -> None:
    assert DETECTOR.detect(case(tensors=rows(scales))) == ()
