"""Replicas that must be equal: who differs, who cannot be told, and what is no divergence."""

from typing import Any

import pytest

from forensics.detectors.numerics.replica_divergence import DETECTOR
from tests.log_cases import judged
from tests.tensor_rows import OK, Job

OTHER: dict[str, Any] = {**OK, "max": 0.5}


def test_t11_minority_is_named() -> None:
    job = Job()
    for step in range(3):
        got = {rank: OTHER if rank == 2 and step == 1 else OK for rank in range(4)}
        job.reduce({rank: (OK, got[rank]) for rank in range(4)}, range(4), step=step)
    found = judged(job.case(), DETECTOR)
    assert (found.ranks, found.cause, found.is_proven) == ((2,), "replica_divergence", True)
    assert (found.finding.first_anomaly.step, found.finding.first_anomaly.value) == (1, "finite")


def test_t12_tie_of_two_cannot_be_decided() -> None:
    job = Job()
    job.reduce({0: (OK, OK), 1: (OK, OTHER)}, [0, 1])
    found = judged(job.case(), DETECTOR)
    assert (found.ranks, found.suspects, found.undecided) == ((), (0, 1), ("replica_tie",))
    assert not found.is_proven


@pytest.mark.parametrize("gone", [1, 3])
def test_half_of_the_group_is_no_majority(gone: int) -> None:
    """Two of four against one, one not observed: the unseen member could be on either side."""
    job = Job()
    job.reduce({rank: (OK, OTHER if rank == 2 else OK) for rank in range(4)}, range(4))
    (found,) = DETECTOR.detect(job.case(without=[gone]))
    assert found.ranks == ()


def test_parameters_after_the_optimizer() -> None:
    job = Job()
    job.reduce(dict.fromkeys(range(3), (OK, OK)), range(3), module="fc.weight")
    for rank in range(3):
        job.params([rank], OTHER if rank == 1 else OK, module="fc")
    rows = job.rows
    for row in rows:
        row["tensor"] = "param.weight" if row["tensor"] == "param" else row["tensor"]
    (found,) = DETECTOR.detect(job.case())
    assert (found.ranks, found.first_anomaly.phase) == ((1,), "optimizer")


@pytest.mark.parametrize("name", ["fc", "fc.weight"])
def test_parameters_of_a_module_whose_gradients_are_reduced_together(name: str) -> None:
    job = Job()
    job.reduce(dict.fromkeys(range(3), (OK, OK)), range(3), module=name)
    for rank in range(3):
        for inner in ("weight", "bias"):
            odd = rank == 1 and inner == "weight"
            job.row(rank, f"param.{inner}", OTHER if odd else OK, module="fc", op="sgd", phase="optimizer")
    (found,) = DETECTOR.detect(job.case())
    assert (found.ranks, found.first_anomaly.module) == ((1,), "fc")


@pytest.mark.parametrize("name", ["fc2", "fc.bias", "bucket0"])
def test_parameters_of_no_reduced_module_are_not_compared(name: str) -> None:
    job = Job()
    job.reduce(dict.fromkeys(range(3), (OK, OK)), range(3), module=name)
    for rank in range(3):
        job.row(rank, "param.weight", OTHER if rank == 1 else OK, module="fc", op="sgd", phase="optimizer")
    assert not DETECTOR.detect(job.case())


@pytest.mark.parametrize(
    "columns",
    [{"op": "reduce_scatter"}, {"group": None, "group_ranks": None}],
    ids=["reduce_scatter", "assumed group"],
)
def test_not_compared(columns: dict[str, Any]) -> None:
    job = Job()
    job.reduce({rank: (OK, OTHER if rank == 2 else OK) for rank in range(4)}, range(4), **columns)
    assert DETECTOR.detect(job.case()) == ()


def test_inputs_may_differ() -> None:
    job = Job()
    job.reduce({rank: (OTHER if rank == 2 else OK, OK) for rank in range(4)}, range(4))
    assert DETECTOR.detect(job.case()) == ()


def test_checksum_outranks_figures() -> None:
    job = Job()
    values = {rank: (OK, {**OK, "checksum": "b" if rank == 0 else "a"}) for rank in range(3)}
    job.reduce(values, range(3))
    (found,) = DETECTOR.detect(job.case())
    assert found.ranks == (0,)


def test_after_a_nan_nothing_is_compared() -> None:
    job = Job()
    job.op(0, "fc", "ok", "nan")
    job.reduce({rank: (OK, OTHER if rank == 2 else OK) for rank in range(4)}, range(4))
    assert DETECTOR.detect(job.case()) == ()


def test_t25_finite_recompute_on_equal_inputs() -> None:
    job = Job()
    job.op(3, "fc", OK, OK, microbatch=0)
    job.op(3, "fc", OK, OTHER, microbatch=0, phase="recompute")
    (found,) = DETECTOR.detect(job.case())
    assert (found.ranks, found.first_anomaly.phase) == ((3,), "recompute")


def test_recompute_on_other_inputs_is_no_divergence() -> None:
    job = Job()
    job.op(3, "fc", OK, OK, microbatch=0)
    job.op(3, "fc", OTHER, OTHER, microbatch=0, phase="recompute")
    assert DETECTOR.detect(job.case()) == ()


@pytest.mark.parametrize(
    ("bad_step", "apart_from", "said"), [(3, 0, False), (3, 2, True), (None, 0, True)], ids=["own", "parted", "no NaN"]
)
def test_what_is_each_ranks_own_in_every_step_is_no_replica_before_a_nan(
    bad_step: int | None, apart_from: int, said: bool
) -> None:
    job = Job()
    for step in range(4):
        lost = {**OK, "max": float("nan"), "nan_count": 4} if step == bad_step else None
        got = {rank: {**OK, "max": 0.5 + rank / 10 * (step >= apart_from)} for rank in range(4)}
        job.reduce(
            {rank: (lost if lost and rank == 2 else OK, lost or got[rank]) for rank in range(4)}, range(4), step=step
        )
    assert bool(DETECTOR.detect(job.case())) is said
