"""What is advised of a first bad value says of its inputs what the rows show, and of the batch and the parameters what other ranks hold."""

from typing import Any

import pytest

from forensics.detectors.numerics.first_anomaly import DETECTOR
from forensics.model.finding import Finding
from tests.tensor_rows import Job

LOW = float("-inf")


def found(job: Job) -> Finding:
    [one] = DETECTOR.detect(job.case(expected=range(3)))
    return one


def advice(one: Finding) -> str:
    return "; ".join(f"{action.kind} {action.target}: {action.reason}" for action in one.actions)


def finite(most: float) -> dict[str, Any]:
    return {"nan_count": 0, "inf_count": 0, "absmax": most, "min": -most, "max": most, "dtype": "float32"}


def linear(job: Job, given: float, weight: float | None, made: str, op: str = "Linear", dtype: str = "float32") -> None:
    """One layer on three ranks, whose output is bad on rank 1."""
    for rank in range(3):
        about = {"module": "proj", "op": op, "shape": "[4, 64]", "dtype": dtype}
        if weight is not None:
            job.row(rank, "param.weight", finite(weight) | about)
        job.row(rank, "input", finite(given) | about)
        job.row(rank, "output", made if rank == 1 else "ok", **about)


@pytest.mark.parametrize("made", ["inf", "nan"])
def test_what_no_sum_of_these_products_gives_is_tested_on_the_device_first(made: str) -> None:
    job = Job(step=3)
    linear(job, 2.0, 0.5, made)
    one = found(job)
    assert one.ranks == (1,) and one.actions[0].kind == "inspect_hardware"
    assert "what went in gives 64 at most" in advice(one) and "from finite inputs" not in advice(one)


@pytest.mark.parametrize(
    ("given", "weight", "op", "dtype"),
    [
        (3e37, 0.5, "Linear", "float32"),  # the sum may leave the format
        (2000.0, 0.9, "Linear", "float16"),
        (2.0, None, "Linear", "float32"),  # its weight is not recorded
        (2.0, 0.5, "Exp", "float32"),  # no sum of products
        (2.0, 0.5, "Linear", "posit16"),
    ],
)
def test_where_arithmetic_may_give_it_the_operation_is_looked_at(
    given: float, weight: float | None, op: str, dtype: str
) -> None:
    job = Job(step=3)
    linear(job, given, weight, "inf", op, dtype)
    assert found(job).actions[0].kind == "check_code" and "from finite inputs" in advice(found(job))


def test_of_inputs_that_left_no_row_nothing_is_said() -> None:
    job = Job(step=3)
    for rank in range(3):
        job.op(rank, "gate", None, "nan" if rank == 1 else "ok", op="Expert")
    assert "finite inputs" not in advice(found(job))


@pytest.mark.parametrize("op", ["Softmax", "scaled_dot_product_attention", "log_softmax"])
@pytest.mark.parametrize(
    ("own", "told"), [(24, "masks 24 values, where others mask 12"), (12, "masked wholly|all is masked")]
)
def test_a_mask_is_told_and_no_device_is_tested_for_it(op: str, own: int, told: str) -> None:
    job = Job(step=3)
    for rank in range(3):
        scores = {"nan_count": 0, "inf_count": own if rank == 1 else 12, "min": LOW, "max": 1.0}
        job.op(rank, "attn.mask", "ok", scores, op="CausalMask")
        job.op(rank, "attn.probs", scores, "nan" if rank == 1 else "ok", op=op)
    one = found(job)
    assert any(part in advice(one) for part in told.split("|"))
    assert "from finite inputs" not in advice(one) and "inspect_hardware" not in advice(one)
    assert not any("known to be finite" in claim.text and "probs" in claim.refs[0].text for claim in one.claims)


def batches(job: Job, alike: bool) -> None:
    """Two steps of three ranks, with one batch for all or one for each; that of rank 1 holds NaN in the second."""
    for step in (1, 2):
        for rank in range(3):
            least = -1.5 - step - (0 if alike else rank)
            read = {"nan_count": 0, "inf_count": 0, "min": least, "max": 2.0, "l2norm": 7.0 + least}
            bad = step == 2 and rank == 1
            job.op(rank, "embed", read | {"nan_count": 1} if bad else read, "nan" if bad else "ok", step=step)


@pytest.mark.parametrize("alike", [True, False])
def test_data_are_left_out_only_where_nobody_had_them_clean(alike: bool) -> None:
    job = Job()
    batches(job, alike)
    one = found(job)
    assert (one.cause, one.ranks) == ("bad_input", (1,))
    kinds = [action.kind for action in one.actions]
    assert ("skip_data" in kinds) != alike and ("had it clean" in advice(one)) == alike


def test_a_parameter_that_others_hold_finite_at_the_start_is_compared_with_theirs() -> None:
    job = Job()
    for rank in range(3):
        held = "nan" if rank == 1 else "ok"
        job.row(rank, "param.weight", held, module="norm", op="LayerNorm")
        job.op(rank, "norm", "ok", held, op="LayerNorm")
    one = found(job)
    assert one.cause == "bad_state" and "ranks 0 and 2 hold it finite" in advice(one)
    assert "rollback" not in advice(one)


def test_a_parameter_that_was_clean_after_its_update_went_bad_on_the_device_or_by_a_write() -> None:
    job = Job()
    for step in (1, 2):
        for rank in range(3):
            held = "nan" if rank == 1 and step == 2 else "ok"
            job.row(rank, "param.weight", held, module="norm", op="LayerNorm", step=step)
            job.op(rank, "norm", "ok", held, op="LayerNorm", step=step)
            job.row(rank, "param.weight", held, module="norm", op="step", phase="optimizer", step=step)
    one = found(job)
    assert "clean after the update of step 1" in advice(one) and "inspect_hardware" in advice(one)
    assert "all finite" in advice(one)


@pytest.mark.parametrize("step", [0, 5])
def test_before_the_first_step_nothing_is_loaded(step: int) -> None:
    job = Job(step=step)
    for rank in range(3):
        job.op(rank, "fc", "ok", "nan" if rank == 1 else "ok", op="Gelu")
    assert ("rollback" in advice(found(job))) == (step > 0)
