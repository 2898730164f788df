"""NaN that the next operation removes: a wholly masked row in softmax, written over with zeros by what reads it."""

import pytest

from forensics.detectors.numerics.first_anomaly import DETECTOR
from tests.first_anomaly_answers import answer
from tests.tensor_rows import Job
from tests.test_first_anomaly_masks import SCORES


def attention(job: Job, rank: int, step: int, probs: str = "nan", remover: bool = True, last: str = "ok") -> None:
    """Scores that hold -Inf, softmax, what fills its NaN with zeros (perhaps without rows), and the layer after it."""
    job.op(rank, "scores", "ok", SCORES, op="Band", step=step)
    job.op(rank, "probs", SCORES, probs, op="Softmax", step=step)
    if remover:
        job.op(rank, "fill", probs, "ok", op="ZeroPad", step=step)
    job.op(rank, "fc", last, last, step=step)


def lacking(job: Job, columns: tuple[str, ...]) -> Job:
    job.rows = [{name: value for name, value in row.items() if name not in columns} for row in job.rows]
    return job


@pytest.mark.parametrize("columns", [(), ("phase",), ("op",), ("phase", "op"), ("module",)], ids=str)
@pytest.mark.parametrize("remover", [True, False], ids=["removed where rows show it", "removed by what has no rows"])
@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_a_nan_that_is_removed_in_every_step_is_no_birth(ranks: int, remover: bool, columns: tuple[str, ...]) -> None:
    job = Job()
    for step in range(3):
        for rank in range(ranks):
            attention(job, rank, step, remover=remover)
    assert DETECTOR.detect(lacking(job, columns).case()) == ()


def test_one_step_is_enough_where_all_ranks_are_alike() -> None:
    job = Job()
    for rank in range(3):
        attention(job, rank, 0)
    assert DETECTOR.detect(job.case()) == ()
    attention(job, 3, 0, probs="ok")
    assert (answer(job).ranks, answer(job).first_anomaly.module) == ((), "probs")


def test_a_nan_that_is_removed_now_and_then_does_no_harm_either() -> None:
    job = Job()
    for step in range(4):
        for rank in range(3):
            attention(job, rank, step, probs="nan" if (rank, step) == (1, 2) else "ok")
    assert DETECTOR.detect(job.case()) == ()


@pytest.mark.parametrize("remover", [True, False])
def test_the_fault_behind_a_removed_nan_is_found(remover: bool) -> None:
    job = Job()
    for step in range(4):
        for rank in range(3):
            attention(job, rank, step, remover=remover)
            if step == 3:
                job.op(rank, "head", "ok", "nan" if rank == 2 else "ok", step=step)
    found = answer(job)
    assert (found.ranks, found.first_anomaly.module, found.first_anomaly.step) == ((2,), "head", 3)


def test_a_nan_that_is_not_removed_for_once_is_a_birth() -> None:
    job = Job()
    for step in range(4):
        for rank in range(3):
            passes = (rank, step) == (1, 3)
            attention(job, rank, step, remover=not passes, last="nan" if passes else "ok")
    found = answer(job)
    assert (found.ranks, found.first_anomaly.module, found.first_anomaly.step) == ((1,), "probs", 3)


@pytest.mark.parametrize("remover", [True, False])
def test_a_nan_that_comes_back_in_the_gradient_is_a_birth(remover: bool) -> None:
    """Zero times NaN: the forward pass of the step ends well, and the next one begins badly on all ranks."""
    job = Job()
    for step in range(4):
        for rank in range(3):
            if step == 3:
                job.op(rank, "scores", "nan", "nan", op="Band", step=step)
            else:
                attention(job, rank, step, probs="nan" if (rank, step) == (1, 2) else "ok", remover=remover)
    found = answer(job)
    assert (found.ranks, found.first_anomaly.step) == ((1,), 2)
