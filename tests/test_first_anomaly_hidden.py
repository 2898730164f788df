"""Communication that no row shows: DDP, FSDP and tensor-parallel modules exchange values by themselves."""

from typing import Any

import pytest

from forensics.detectors.numerics.first_anomaly import DETECTOR
from tests.first_anomaly_answers import answer
from tests.tensor_rows import OK, Job, Value


def sized(value: float) -> dict[str, Any]:
    return {**OK, "absmax": value, "min": -value, "max": value, "l2norm": 3 * value}


def linear(job: Job, rank: int, weight: Value, given: Value, made: Value, module: str = "fc", **more: Any) -> None:
    """One operation with its parameter."""
    columns = {"module": module, "op": "Linear"} | more
    job.row(rank, "param.weight", weight, **columns)
    job.row(rank, "input", given, **columns)
    job.row(rank, "output", made, **columns)


def sharded(culprit: int, ranks: int = 4, updates: bool = True) -> Job:
    """FSDP: rank `culprit`'s shard turns bad in the update of step 1; step 2 gathers it on all ranks."""
    job = Job()
    for step in range(3):
        for rank in range(ranks):
            weight = "nan" if step == 2 else sized(1.0 + step)
            linear(job, rank, weight, "ok", "nan" if step == 2 else "ok", step=step)
            if updates and step < 2:
                bad = rank == culprit and step == 1
                job.row(rank, "grad_in.weight", "ok", module="fc", op="AdamW", phase="optimizer", step=step)
                job.params([rank], "nan" if bad else "ok", module="fc", op="AdamW", step=step)
    return job


@pytest.mark.parametrize("ranks", [2, 4])
def test_a_bad_shard_is_its_owners(ranks: int) -> None:
    found = answer(sharded(1, ranks))
    assert (found.ranks, found.cause, found.first_anomaly.step) == ((1,), "bad_state", 1)


def test_the_owner_of_the_bad_shard_left_nothing() -> None:
    found = answer(sharded(2), expected=range(4), without=[2])
    assert (found.ranks, found.suspect_ranks, found.domain) == ((), (2,), "unknown")
    assert found.undecided == ("culprit_among_missing",)


def test_the_update_was_not_recorded() -> None:
    found = answer(sharded(2, updates=False))
    assert (found.ranks, found.suspect_ranks, found.domain, found.cause) == ((), (0, 1, 2, 3), "unknown", "bad_state")


def tensor_parallel(state: int | None = None, given: int | None = None, ranks: int = 4) -> Job:
    """A row-parallel layer: each rank holds its part, the output is the sum of all ranks' and bad on all."""
    job = Job()
    for step in range(2):
        for rank in range(ranks):
            bad = step == 1
            if given is not None:
                linear(job, rank, sized(2.0 + rank), "ok", "nan" if bad and rank == given else "ok", "up", step=step)
            weight: Value = "nan" if bad and rank == state else sized(1.0 + rank)
            linear(
                job, rank, weight, "nan" if bad and rank == given else "ok", "nan" if bad else "ok", "down", step=step
            )
    return job


def test_one_ranks_part_of_the_weight_is_bad() -> None:
    found = answer(tensor_parallel(state=3))
    assert (found.ranks, found.cause, found.first_anomaly.module) == ((3,), "bad_state", "down")


def test_one_rank_entered_the_layer_with_a_bad_value() -> None:
    found = answer(tensor_parallel(given=2))
    assert (found.ranks, found.cause, found.first_anomaly.module) == ((2,), "nan_birth", "up")


@pytest.mark.parametrize("ranks", [2, 4])
def test_parts_that_turn_bad_together_are_no_workload(ranks: int) -> None:
    found = answer(tensor_parallel(ranks=ranks))
    assert (found.ranks, found.suspect_ranks, found.domain) == ((), tuple(range(ranks)), "unknown")
    assert found.undecided == ("tied_explanations",)


@pytest.mark.parametrize("state", [0, 1])
def test_a_part_was_lost(state: int) -> None:
    found = answer(tensor_parallel(state=state), expected=range(4), without=[state])
    assert (found.ranks, found.suspect_ranks, found.domain) == ((), (state,), "unknown")


def test_of_two_parts_one_was_lost() -> None:
    found = answer(tensor_parallel(state=1, ranks=2), expected=range(2), without=[1])
    assert (found.ranks, found.suspect_ranks) == ((), (0, 1))


def replicas(bad: tuple[int, ...]) -> Job:
    job = Job()
    for step in range(2):
        for rank in range(4):
            linear(job, rank, sized(1.0 + step), "ok", "nan" if step == 1 and rank in bad else "ok", step=step)
    return job


def test_replicas_that_turn_bad_together_are_the_workload() -> None:
    found = answer(replicas((0, 1, 2, 3)))
    assert (found.ranks, found.domain, found.undecided) == ((), "workload", ())


def test_the_workload_needs_the_rows_of_all() -> None:
    found = answer(replicas((0, 1, 2, 3)), expected=range(4), without=[1])
    assert (found.ranks, found.suspect_ranks, found.domain) == ((), (1,), "unknown")


def test_a_replica_is_named_though_another_left_nothing() -> None:
    assert answer(replicas((3,)), expected=range(4), without=[1]).ranks == (3,)


def test_a_file_that_is_cut_before_the_layer_is_missing_there() -> None:
    job = tensor_parallel(state=2)
    job.rows = [row for row in job.rows if (row["rank"], row["step"]) != (2, 1)]
    job.op(2, "embed", "ok", "ok", step=1)
    found = answer(job)
    assert (found.ranks, found.suspect_ranks, found.domain) == ((), (2,), "unknown")


def test_an_operation_that_no_rank_computes_alone_is_a_call() -> None:
    """`PartialSum` has no name of a call; its outputs are equal in every figure though its inputs differ."""
    job = Job()
    for step in range(3):
        for rank in range(3):
            bad = step == 2
            job.op(rank, "fc", "ok", "nan" if bad and rank == 1 else "ok", step=step)
            mine: Value = "nan" if bad and rank == 1 else sized(1.0 + rank + step)
            job.op(rank, "join", mine, "nan" if bad else sized(9.0 + step), op="PartialSum", step=step)
    found = answer(job)
    assert (found.ranks, found.first_anomaly.module) == ((1,), "fc")
    lost = answer(job, expected=range(3), without=[1])
    assert (lost.ranks, 1 in lost.suspect_ranks, lost.domain) == ((), True, "unknown")


def test_a_constant_is_no_call() -> None:
    job = Job()
    for step in range(3):
        for rank in range(3):
            job.op(
                rank, "gate", sized(1.0 + rank), "nan" if (step, rank) == (2, 1) else sized(1.0), op="Step", step=step
            )
    found = answer(job)
    assert (found.ranks, found.cause) == ((1,), "nan_birth")


def test_a_first_input_is_the_batch_whichever_module_ran_before() -> None:
    job = Job()
    for rank in range(2):
        bad = "nan" if rank == 1 else "ok"
        job.op(rank, "tokens", None, "ok", op="Embedding", shape="[2, 8, 32]")
        job.op(rank, "features", bad, bad, shape="[2, 8, 10]")
    found = answer(job)
    assert (found.ranks, found.cause) == ((1,), "bad_input")


def flipped(peers: int, value: float = 2.7e37, known: bool = True) -> Job:
    job = Job()
    for step in range(2 if known else 1):
        for rank in range(peers + 1):
            bad = step == known and rank == peers
            linear(job, rank, sized(value if bad else 0.2), "ok", sized(value if bad else 0.9), step=step)
            linear(job, rank, sized(0.2), "ok", "ok", "head", step=step)
    return job


@pytest.mark.parametrize(("peers", "known"), [(3, True), (3, False), (1, True), (0, True)])
def test_a_flipped_exponent_is_the_ranks_bad_state(peers: int, known: bool) -> None:
    found = answer(flipped(peers, known=known))
    assert (found.ranks, found.cause, found.first_anomaly.tensor) == ((peers,), "bad_state", "param.weight")
    assert found.first_anomaly.value == "finite"


@pytest.mark.parametrize(("peers", "value", "known"), [(3, 20.0, True), (0, 2.7e37, False), (1, 2.7e37, False)])
def test_what_no_peer_and_no_step_before_contradicts_is_no_flip(peers: int, value: float, known: bool) -> None:
    assert DETECTOR.detect(flipped(peers, value, known).case()) == ()


def test_a_flip_outranks_the_nan_that_follows_it() -> None:
    job = flipped(2)
    for rank in range(3):
        job.op(rank, "loss", "ok", "nan" if rank == 2 else "ok", step=1)
    assert answer(job).first_anomaly.tensor == "param.weight"


def staged(cut: bool) -> Job:
    """A pipeline of three; in step 1 the last stage gets a value from nowhere, and its norm makes NaN of it."""
    job = Job()
    for step in range(2):
        sent = sized(2.0e37 if step else 2.0)
        if not (cut and step):
            linear(job, 1, sized(0.2), sized(2.0), sent, "layers.1", step=step)
        linear(job, 0, sized(0.2), sized(1.0), sized(2.0), "layers.0", step=step)
        job.row(2, "output", sent, op="recv", peer=1, module="", phase="comm", step=step)
        job.op(2, "norm", sent, "nan" if step else sized(1.0), op="LayerNorm", step=step)
    return job


@pytest.mark.parametrize("cut", [True, False], ids=["its file ends before", "it left no file"])
def test_who_fails_on_a_value_that_had_leapt_before_it_came_is_innocent(cut: bool) -> None:
    case = staged(cut).case(expected=range(3), without=() if cut else (1,))
    (found,) = DETECTOR.detect(case)
    assert (found.ranks, found.suspect_ranks, found.undecided) == ((), (1,), ("culprit_among_missing",))


def extremes(value: float) -> dict[str, Any]:
    return {**OK, "absmax": value, "min": -value, "max": value}


def experts(agree: tuple[int, ...], ranks: int = 12) -> Job:
    """An expert on each rank; the largest weights of `agree` are equal. Rank 5's output is Inf."""
    job = Job()
    for step in range(2):
        for rank in range(ranks):
            made = "inf" if step and rank == 5 else "ok"
            columns = {"module": "experts.w2", "op": "Linear", "step": step}
            job.row(rank, "input", "ok", **columns)
            job.row(rank, "param.weight", extremes(1.0 if rank in agree else 2.0 + rank / 8), **columns)
            job.row(rank, "output", made, **columns)
    return job


@pytest.mark.parametrize("agree", [(), (2, 9), (2, 3, 9), (5, 9)])
def test_weights_that_agree_by_chance_show_no_missing_rank(agree: tuple[int, ...]) -> None:
    found = answer(experts(agree))
    assert (found.ranks, found.cause, found.undecided) == ((5,), "overflow", ())


def test_weights_of_which_most_have_a_replica_show_the_missing_one() -> None:
    job = Job()
    for step in range(2):
        for rank in range(7):  # TP4 DP2, without the last rank
            columns = {"module": "fc", "op": "Linear", "step": step}
            job.row(rank, "input", "ok", **columns)
            job.row(rank, "param.weight", extremes(1.0 + rank % 4), **columns)
            job.row(rank, "output", "inf" if step and rank == 3 else "ok", **columns)
    found = answer(job)
    assert (found.ranks, found.undecided) == ((), ("culprit_among_missing",))
