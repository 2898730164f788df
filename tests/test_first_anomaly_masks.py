"""-Inf of masks: where it goes decides, not who made it."""

from typing import Any

import pytest

from forensics.detectors.numerics.first_anomaly import DETECTOR
from tests.first_anomaly_answers import answer
from tests.tensor_rows import OK, Job

LOW = float("-inf")
ONLY: dict[str, Any] = {"nan_count": 0, "inf_count": 28, "min": LOW, "max": 0.0}
SCORES: dict[str, Any] = {"nan_count": 0, "inf_count": 28, "min": LOW, "max": 1.5}


def layer(job: Job, rank: int, builder: str = "Band", given: Any = None, probs: str = "ok", **more: Any) -> None:
    """A mask from `builder`, added to scores where no row shows it, and the attention that takes them."""
    job.op(rank, "mask", given, ONLY, op=builder, **more)
    job.op(rank, "attn.probs", SCORES, probs, op="Softmax", **more)
    job.op(rank, "attn.out", probs, probs, **more)


@pytest.mark.parametrize("builder", ["Band", "SlidingWindow", "Tensor.__add__", "AlibiBias"])
def test_a_mask_of_any_builder_is_benign(builder: str) -> None:
    job = Job()
    for step in range(2):
        layer(job, 0, builder, "ok", step=step)
    assert DETECTOR.detect(job.case()) == ()


@pytest.mark.parametrize("taker", ["TopK", "maximum", "MyAttention", "Block"])
def test_whoever_takes_it_and_is_clean_has_absorbed_it(taker: str) -> None:
    job = Job()
    job.op(0, "limit", "ok", SCORES, op="GroupLimit")
    job.op(0, "pick", SCORES, "ok", op=taker)
    assert DETECTOR.detect(job.case()) == ()


def test_a_part_without_it_has_absorbed_nothing() -> None:
    job = Job()
    job.op(0, "fc", "ok", SCORES)
    job.op(0, "part", SCORES, "ok", op="Tensor.__getitem__")
    job.op(0, "norm", SCORES, "nan", op="LayerNorm")
    found = answer(job)
    assert (found.first_anomaly.module, found.cause) == ("fc", "overflow")


def test_a_mask_that_nobody_is_seen_to_take_is_benign_where_all_that_follows_is_clean() -> None:
    job = Job()
    job.op(0, "limits", "ok", SCORES, op="Limits")
    job.op(0, "fc", "ok", "ok")
    assert DETECTOR.detect(job.case()) == ()
    job.op(0, "head", "ok", "nan")
    assert answer(job).first_anomaly.module == "limits"


def test_the_fault_behind_a_mask_is_found() -> None:
    job = Job()
    for rank in range(3):
        layer(job, rank, given="ok")
        job.op(rank, "fc", "ok", "nan" if rank == 2 else "ok")
    found = answer(job)
    assert (found.ranks, found.first_anomaly.module) == ((2,), "fc")


def test_a_row_that_is_masked_wholly_is_born_in_softmax() -> None:
    job = Job()
    for rank in range(3):
        layer(job, rank, given="ok", probs="nan" if rank == 1 else "ok")
    found = answer(job)
    assert (found.ranks, found.first_anomaly.module, found.cause) == ((1,), "attn.probs", "nan_birth")


def test_scores_that_were_absorbed_elsewhere_are_a_mask_here() -> None:
    """The user's own softmax and mask: only the other rank tells that -Inf is wanted between them."""
    job = Job()
    for rank in range(2):
        job.op(rank, "scores", "ok", SCORES, op="Scores")
        job.op(rank, "weights", SCORES, "nan" if rank == 1 else "ok", op="Weights")
    found = answer(job)
    assert (found.ranks, found.first_anomaly.module) == ((1,), "weights")


def test_the_logarithm_of_zero_is_no_mask() -> None:
    job = Job()
    job.op(0, "log", "ok", ONLY, op="Log")
    job.op(0, "loss", ONLY, "nan", op="Weighted")
    assert answer(job).first_anomaly.module == "log"


def test_what_a_call_takes_to_another_rank_is_not_absorbed_here() -> None:
    """An expert's -Inf goes back to the rank whose token it was; the next mask of the expert's rank says nothing of it."""
    job = Job()
    job.op(2, "expert", "ok", SCORES)
    columns: dict[str, Any] = {
        "op": "all_to_all",
        "phase": "comm",
        "module": "moe",
        "group": "ep",
        "group_ranks": "0-2",
    }
    for rank in range(3):
        job.row(rank, "input", SCORES if rank == 2 else "ok", **columns)
        job.row(rank, "output", SCORES if rank == 0 else "ok", **columns)
    job.op(0, "norm", SCORES, "nan", op="LayerNorm")
    layer(job, 2, given="ok")
    found = answer(job)
    assert (found.ranks, found.first_anomaly.module, found.cause) == ((2,), "expert", "overflow")


def test_a_gradient_is_never_masked() -> None:
    job = Job()
    job.op(0, "fc", "ok", "-inf", phase="backward")
    job.op(0, "embed", "-inf", "ok", phase="backward")
    assert answer(job).first_anomaly.module == "fc"


def test_an_inf_of_unknown_sign_is_absorbed_by_what_is_known_to() -> None:
    job = Job()
    job.op(0, "scores", "ok", "inf")
    job.op(0, "probs", "inf", "ok", op="Softmax")
    assert DETECTOR.detect(job.case()) == ()
    job = Job()
    job.op(0, "fc", "ok", "inf")
    job.op(0, "norm", "inf", OK, op="RMSNorm")
    assert answer(job).first_anomaly.module == "fc"
