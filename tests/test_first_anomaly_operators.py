"""Statistics of every operator and module, as msprobe writes them of DistributedDataParallel: operators have no module,
gradients are summed where no row shows it, and the update's operators are rows like others."""

from typing import Any

from tests.first_anomaly_answers import answer, verdict
from tests.tensor_rows import OK, Job, Value

WORLD = 4


def step(
    job: Job, number: int, weights: dict[int, Value] | None = None, product: dict[int, Value] | None = None
) -> None:
    """A layer `fc` of two operators: a product with its weight, then a scaling. `weights`, `product`: rank → a bad weight,
    a bad product. What is bad on one rank is in the gradients of all when they are updated."""
    weights, product = weights or {}, product or {}
    spoilt = bool(weights or product)
    for rank in range(WORLD):
        weight: Value = weights.get(rank, {**OK, "max": 3.0})
        made: Value = product.get(rank, "nan" if rank in weights else "ok")
        after = made if made == "nan" else "ok"
        job.op(rank, "norm", "ok", "ok", op="LayerNorm", step=number)
        job.row(rank, "param.weight", {**OK, "max": 2.0}, module="norm", op="LayerNorm", step=number, shape="[4]")
        inner: dict[str, Any] = {"op": "Functional.linear.0", "step": number, "shape": "[4, 4]"}
        job.row(rank, "input.0", "ok", **(inner | {"shape": "[8, 4]"}))
        job.row(rank, "input.1", weight, **inner)
        job.row(rank, "output.0", made, **(inner | {"shape": "[8, 4]"}))
        job.op(rank, "fc", "ok", after, step=number, shape="[8, 4]")
        job.row(rank, "param.weight", weight, module="fc", op="Linear", step=number, shape="[4, 4]")
        gradient = "nan" if after == "nan" else "ok"
        job.op(rank, "fc", gradient, gradient, step=number, phase="backward")
        update: dict[str, Any] = {"op": "Tensor.lerp_.0", "step": number, "phase": "optimizer"}
        job.row(rank, "input.1", "nan" if spoilt else "ok", **update)
        job.row(rank, "output.0", "nan" if spoilt else "ok", **update)


def test_an_operator_is_named_with_the_module_around_it() -> None:
    job = Job()
    step(job, 0)
    step(job, 1, product={2: "nan"})
    found = verdict(job)
    first = found.finding.first_anomaly
    assert (found.ranks, found.cause, found.is_proven) == ((2,), "nan_birth", True)
    assert (first.step, first.module, first.op) == (1, "fc", "Functional.linear.0")


def test_bad_gradients_in_everybodys_update_are_no_fault_of_the_workload() -> None:
    job = Job()
    step(job, 0)
    step(job, 1, product={2: "inf"})
    found = answer(job)
    assert (found.ranks, found.cause, found.domain) == ((2,), "overflow", "unknown")


def test_a_module_that_was_given_the_bad_value_is_not_around_the_operator_that_made_it() -> None:
    job = Job()
    for rank in range(2):
        bad: Value = "nan" if rank else "ok"
        for name, value in (("input.0", "ok"), ("output.0", bad)):
            job.row(rank, name, value, op="Tensor.exp.0")
        job.op(rank, "fc", bad, bad)
    first = answer(job).first_anomaly
    assert (first.module, first.op) == (None, "Tensor.exp.0")


def test_a_bad_weight_of_one_replica_is_its_own() -> None:
    """The operator shows it first; the other ranks' copies are equal in all that is not bad."""
    job = Job()
    step(job, 0)
    step(job, 1, weights={2: "nan"})
    found = answer(job)
    first = found.first_anomaly
    assert (found.ranks, found.cause) == ((2,), "bad_state")
    assert (first.step, first.module, first.tensor) == (1, "fc", "param.weight")


def test_a_parameter_written_after_the_output_was_bad_before_it() -> None:
    """Modules alone: an entry ends with its parameters."""
    job = Job()
    for rank in range(2):
        bad: Value = "nan" if rank else "ok"
        job.op(rank, "fc", "ok", bad)
        job.row(rank, "param.weight", bad, module="fc", op="Linear")
        job.row(rank, "param.bias", "ok", module="fc", op="Linear")
    found = answer(job)
    assert (found.ranks, found.cause, found.first_anomaly.tensor) == ((1,), "bad_state", "param.weight")


def test_a_sum_that_no_row_shows_brings_a_bad_batch_to_ranks_with_inputs_unseen() -> None:
    """Tensor parallelism: the operator that waits for the sum shows no figures of it."""
    job = Job()
    for rank in range(WORLD):
        batch: Value = "nan" if rank == 2 else "ok"
        job.op(rank, "embed", batch, batch)
        for name, value in (("input.0", batch), ("input.1", "none"), ("output.0", "nan")):
            job.row(rank, name, value, op="Tensor.__add__.1")
        job.op(rank, "head", "nan", "nan")
    found = answer(job)
    assert (found.ranks, found.suspect_ranks, found.cause) == ((2,), (), "bad_input")
