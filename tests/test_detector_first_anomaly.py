"""The first NaN or Inf: 41 situations, numbered T01 to T41; the name says what must hold."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forensics.detectors.numerics.first_anomaly import DETECTOR
from tests.first_anomaly_answers import answer, spread_over, verdict
from tests.tensor_rows import OK, Job, case_of


def test_t01_nan_before_the_first_call() -> None:
    job = Job()
    for rank in range(2):
        job.op(rank, "fc", "ok", "nan" if rank == 1 else "ok")
    spread_over(job, range(2))
    found = verdict(job)
    assert (found.ranks, found.cause, found.is_proven) == ((1,), "nan_birth", True)
    assert found.finding.first_anomaly.module == "fc"
    assert found.finding.first_anomaly.after == "rank 1: fc (Linear, input), forward, step 0"


def test_t02_nan_between_two_calls() -> None:
    job = Job()
    job.reduce({0: ("ok", "ok"), 1: ("ok", "ok")}, [0, 1], module="a")
    for rank in range(2):
        job.op(rank, "fc", "ok", "nan" if rank == 1 else "ok")
    job.reduce({0: ("ok", "nan"), 1: ("nan", "nan")}, [0, 1], module="b")
    assert answer(job).ranks == (1,)


def test_t03_bad_weight_on_arrival() -> None:
    job = Job()
    for rank in range(2):
        columns = {"module": "fc", "op": "Linear"}
        job.row(rank, "input", "ok", **columns)
        job.row(rank, "param.weight", "nan" if rank else "ok", **columns)
        job.row(rank, "output", "nan" if rank else "ok", **columns)
    spread_over(job, range(2))
    found = answer(job)
    assert (found.ranks, found.cause) == ((1,), "bad_state")
    assert found.first_anomaly.tensor == "param.weight"
    assert any("before this step" in claim.text for claim in found.claims)


def test_t04_mask_is_no_birth() -> None:
    job = Job()
    for rank in range(2):
        job.op(rank, "mask", "ok", "-inf", op="masked_fill")
        job.op(rank, "attn", "-inf", "ok", op="softmax")
        job.op(rank, "fc", "ok", "nan" if rank == 1 else "ok")
    spread_over(job, range(2))
    found = answer(job)
    assert (found.ranks, found.first_anomaly.module) == ((1,), "fc")


@pytest.mark.parametrize("builder", ["masked_fill", "Tensor.masked_fill_.0", "torch.triu", "where"])
def test_t04_mask_alone_is_silent(builder: str) -> None:
    job = Job()
    job.op(0, "mask", "ok", "inf", op=builder)
    job.op(0, "attn", "inf", "ok", op="scaled_dot_product_attention")
    assert DETECTOR.detect(job.case()) == ()


@pytest.mark.parametrize("value", ["-inf", 1e37])
def test_t04_a_mask_of_one_rank_alone_is_no_leap(value: str | float) -> None:
    """One batch had rows to mask; a finite value beyond all of the others is another matter."""
    job = Job()
    for rank in range(4):
        for step in range(3):
            odd = rank == 1 and step == 1
            least = {"min": float(value), "inf_count": int(value == "-inf")} if odd else {"min": -3.0}
            job.row(
                rank, "output", "ok", module="scores", op="where", step=step, **{"max": 2.0, "absmax": None, **least}
            )
            job.op(rank, "attn", "-inf" if odd and value == "-inf" else "ok", "ok", op="softmax", step=step)
    found = DETECTOR.detect(job.case())
    assert [one.ranks for one in found] == ([] if value == "-inf" else [(1,)])


def test_t04_mask_carried_by_an_addition() -> None:
    job = Job()
    job.op(0, "mask", None, "-inf", op="full")
    job.op(0, "scores", "-inf", "-inf", op="add")
    job.op(0, "attn", "-inf", "ok", op="Softmax")
    assert DETECTOR.detect(job.case()) == ()


def test_t05_fully_masked_row() -> None:
    job = Job()
    for rank in range(2):
        job.op(rank, "mask", "ok", "-inf", op="masked_fill")
        job.op(rank, "attn", "-inf", "nan" if rank == 1 else "ok", op="softmax")
    spread_over(job, range(2))
    found = answer(job)
    assert (found.ranks, found.first_anomaly.op, found.cause) == ((1,), "softmax", "nan_birth")


def test_t06_bad_tensor_in_a_nested_output() -> None:
    job = Job()
    job.row(0, "input", "ok", module="split", op="split")
    job.row(0, "output.0", "ok", module="split", op="split")
    job.row(0, "output.1.hidden.0", "nan", module="split", op="split")
    job.op(0, "next", "nan", "nan")
    found = answer(job)
    assert (found.first_anomaly.module, found.first_anomaly.tensor) == ("split", "output.1.hidden.0")


@pytest.mark.parametrize("stated", [True, False])
def test_t07_missing_culprit_is_suspected_and_nobody_named(stated: bool) -> None:
    job = Job()
    for rank in range(3):
        job.op(rank, "fc", "ok", "nan" if rank == 1 else "ok")
    values = {rank: ("nan" if rank == 1 else "ok", "nan") for rank in range(3)}
    job.reduce(values, [0, 1, 2] if stated else None)
    found = verdict(job, expected=range(3), without=[1])
    assert (found.ranks, found.suspects, found.cause) == ((), (1,), None)
    assert "culprit_among_missing" in found.undecided
    assert not found.is_proven


def test_t08_corrupted_communication_names_the_receiver() -> None:
    job = Job()
    job.reduce({0: ("ok", "ok"), 1: ("ok", "nan"), 2: ("ok", "ok")}, [0, 1, 2])
    found = answer(job)
    assert (found.ranks, found.cause) == ((1,), "comm_corruption")


def test_t08_all_outputs_bad_names_nobody() -> None:
    job = Job()
    job.reduce({0: ("ok", "nan"), 1: ("ok", "nan")}, [0, 1])
    found = answer(job)
    assert (found.ranks, found.suspect_ranks, found.cause) == ((), (0, 1), "comm_corruption")


def test_t08_message_names_both_ends_as_suspects() -> None:
    job = Job()
    job.message(2, 5, "ok", "nan")
    found = answer(job)
    assert (found.ranks, found.suspect_ranks, found.links) == ((), (2, 5), ((2, 5),))


def pipeline(job: Job, culprit: int) -> None:
    """Two stages: 0 → 1 forward, 1 → 0 backward; the culprit's backward makes the NaN."""
    job.op(0, "embed", "ok", "ok")
    job.message(0, 1, "ok", "ok", tag=1)
    job.op(1, "head", "ok", "ok")
    job.op(1, "head", "ok", "nan" if culprit == 1 else "ok", phase="backward")
    job.message(1, 0, "nan" if culprit == 1 else "ok", "nan" if culprit == 1 else "ok", tag=2)
    job.op(0, "embed", "nan" if culprit == 1 else "ok", "nan", phase="backward")


@pytest.mark.parametrize("culprit", [0, 1])
def test_t09_backward_through_a_pipeline(culprit: int) -> None:
    job = Job()
    pipeline(job, culprit)
    found = answer(job)
    assert (found.ranks, found.first_anomaly.phase) == ((culprit,), "backward")


def test_t10_receive_buffer_says_nothing() -> None:
    job = Job()
    job.row(1, "input", "nan", op="recv", peer=0, phase="comm", module="p2p")
    job.row(1, "output", "ok", op="recv", peer=0, phase="comm", module="p2p")
    job.row(0, "input", "ok", op="send", peer=1, phase="comm", module="p2p")
    job.op(0, "buffer", None, "nan", op="empty_like")
    job.op(1, "fc", "ok", "nan")
    assert answer(job).first_anomaly.module == "fc"


def test_t10_destination_of_a_gather_says_nothing() -> None:
    job = Job()
    for rank in range(2):
        columns = {"op": "all_gather_into_tensor", "phase": "comm", "module": "g", "group_ranks": "0-1"}
        job.row(rank, "input.0", "nan", numel=8, **columns)
        job.row(rank, "input.1", "ok", numel=4, **columns)
        job.row(rank, "output", "ok", numel=8, **columns)
    assert DETECTOR.detect(job.case()) == ()


def test_t13_two_independent_roots() -> None:
    job = Job()
    for rank in range(4):
        job.op(rank, "fc1", "ok", "nan" if rank == 3 else "ok", microbatch=0)
        if rank != 3:
            job.op(rank, "fc2", "ok", "nan" if rank == 1 else "ok", microbatch=0)
    spread_over(job, range(4), bad=(1, 3))
    assert answer(job).ranks == (1, 3)


def test_t14_same_operation_on_all_ranks_is_the_workload() -> None:
    job = Job()
    for rank in range(4):
        job.op(rank, "fc", "ok", "nan")
    spread_over(job, range(4), bad=(0, 1, 2, 3))
    found = answer(job)
    assert (found.ranks, found.suspect_ranks, found.domain) == ((), (), "workload")


def test_t15_reborn_after_taint_is_an_echo() -> None:
    job = Job()
    job.op(0, "fc", "ok", "ok")
    job.op(1, "fc", "ok", "nan")
    job.reduce({0: ("ok", "nan"), 1: ("nan", "nan")}, [0, 1], module="x", phase="comm")
    job.op(0, "nan_to_num", "nan", "ok")
    job.op(0, "fc2", "ok", "nan")
    found = answer(job)
    assert found.ranks == (1,)
    assert {row.rank: row.role for row in found.tensors} == {1: "root", 0: "infected"}


def cube(culprit: int) -> Job:
    """TP 2 × PP 2 × DP 2, order tp-dp-pp: backward of stage 1, then stage 0, gradients over DP."""
    job = Job()

    def bad(*ranks: int) -> str:
        return "nan" if culprit in ranks else "ok"

    for rank in range(8):
        job.op(rank, f"stage{rank // 4}", "ok", "ok")
    for rank in range(4, 8):
        job.op(rank, "head", "ok", bad(rank), phase="backward")
    for pair in ((4, 5), (6, 7)):
        values = {rank: (bad(rank), bad(*pair)) for rank in pair}
        job.reduce(values, pair, group="tp", module="head", phase="backward")
    for rank in range(4, 8):
        mates = (rank, rank ^ 1)
        job.message(rank, rank - 4, bad(*mates), bad(*mates), phase="backward", tag=3)
    for rank in range(4):
        mates = (rank + 4, (rank + 4) ^ 1)
        job.op(rank, "embed", bad(*mates), bad(*mates), phase="backward")
    for low, high in ((0, 2), (1, 3), (4, 6), (5, 7)):
        sides = {rank: bad(rank, rank ^ 1, rank + 4, (rank + 4) ^ 1) for rank in (low, high)}
        out = "nan" if "nan" in sides.values() else "ok"
        job.reduce({rank: (sides[rank], out) for rank in (low, high)}, (low, high), group="dp", module="w")
    return job


@pytest.mark.parametrize("culprit", [4, 5, 6, 7])
def test_t16_three_kinds_of_parallelism(culprit: int) -> None:
    assert answer(cube(culprit), range(8)).ranks == (culprit,)


@pytest.mark.parametrize("culprit", [4, 5, 6, 7])
def test_t16_culprit_missing(culprit: int) -> None:
    found = answer(cube(culprit), range(8), without=[culprit])
    assert (found.ranks, found.suspect_ranks) == ((), (culprit,))


@pytest.mark.parametrize("gone", [0, 1, 2, 3, 4, 6, 7])
def test_t16_an_innocent_missing_never_names_another(gone: int) -> None:
    assert answer(cube(5), range(8), without=[gone]).ranks == (5,)


def test_t17_expert_exchange_reaches_some_peers() -> None:
    job = Job()
    for rank in range(4):
        job.op(rank, "expert", "ok", "nan" if rank == 2 else "ok")
    for rank in range(4):
        columns = {"op": "all_to_all", "phase": "comm", "module": "moe", "group": "ep", "group_ranks": "0-3"}
        for peer in range(4):
            job.row(rank, f"input.{peer}", "nan" if rank == 2 and peer in (0, 3) else "ok", numel=4, **columns)
        for peer in range(4):
            job.row(rank, f"output.{peer}", "nan" if peer == 2 and rank in (0, 3) else "ok", numel=4, **columns)
    for rank in range(4):
        job.op(rank, "combine", "nan" if rank in (0, 3) else "ok", "nan" if rank in (0, 3) else "ok")
    found = answer(job)
    assert found.ranks == (2,)
    assert {row.rank for row in found.tensors} == {0, 2, 3}


@pytest.mark.parametrize("recorded", [True, False])
def test_t18_gradient_norm_spreads_to_all_stages(recorded: bool) -> None:
    """Without the gradient norm every rank after the culprit's would look like a root of its own."""
    job = Job()
    for rank in range(16):
        job.op(rank, f"layer{rank % 8}", "ok", "nan" if rank == 9 else "ok", phase="backward")
    if recorded:
        values = {rank: ("nan" if rank == 9 else "ok", "nan") for rank in range(16)}
        job.reduce(values, range(16), module="grad_norm", group="world")
    for rank in range(16):
        job.op(rank, f"layer{rank % 8}", "ok", "nan", phase="optimizer", op="Adam")
        job.params([rank], "nan", module=f"layer{rank % 8}.weight")
    found = answer(job)
    assert found.ranks == (9,)
    assert found.severity == "fatal"


def test_t19_sampled_steps_claim_no_single_culprit() -> None:
    job = Job()
    for step, value in ((0, "ok"), (10, "ok"), (20, "nan")):
        for rank in range(2):
            job.op(rank, "a" if rank else "b", "ok", value, step=step)
    found = answer(job)
    assert (found.ranks, found.suspect_ranks) == ((), (0, 1))
    assert "sampled_statistics" in found.undecided
    assert found.first_anomaly.step == 20


def test_t19_sampled_steps_with_one_bad_rank() -> None:
    job = Job()
    for step in (0, 10, 20):
        for rank in range(3):
            job.op(rank, "fc", "ok", "nan" if step == 20 and rank == 1 else "ok", step=step)
    found = verdict(job)
    assert found.ranks == (1,)
    assert (found.is_proven, found.undecided) == (False, ("sampled_statistics",))


def test_t20_window_with_a_call_inside_suspects_its_members() -> None:
    job = Job()
    for rank in range(2):
        job.op(rank, "fc1", "ok", "ok")
        job.reduce({rank: ("none", "none")}, [0, 1], module="fc2", phase="comm")
    job.op(0, "fc3", "nan", "nan")
    job.op(1, "fc3", "nan", "nan")
    found = answer(job)
    assert (found.ranks, found.suspect_ranks) == ((), (0, 1))
    assert "sampled_statistics" in found.undecided


def test_t21_tensor_without_statistics_makes_a_window() -> None:
    job = Job()
    job.op(0, "fc1", "ok", "ok")
    job.op(0, "fp8", "ok", "none", op="fp8_linear")
    job.op(0, "fc2", "none", "nan")
    found = verdict(job)
    assert (found.ranks, found.is_proven) == ((0,), False)
    assert found.finding.first_anomaly.after == "rank 0: fp8 (fp8_linear, input), forward, step 0"
    assert "sampled_statistics" in found.undecided


@pytest.mark.parametrize("skew", [-300.0, 0.0, 300.0])
def test_t24_clocks_never_order_ranks(skew: float) -> None:
    job = Job()
    for rank in range(2):
        when = 1.7e9 + (skew if rank == 1 else 0.0)
        job.op(rank, "fc", "ok", "nan" if rank == 1 else "ok", timestamp=when)
    spread_over(job, range(2))
    assert answer(job).ranks == (1,)


def test_t25_recompute_disagrees_with_its_forward() -> None:
    job = Job()
    job.op(0, "fc", "ok", "ok", microbatch=0)
    job.op(0, "fc", "ok", "nan", microbatch=0, phase="recompute")
    found = answer(job)
    assert (found.cause, found.first_anomaly.phase, found.ranks) == ("nan_birth", "recompute", (0,))
    assert any("forward pass of the same module was finite" in claim.text for claim in found.claims)


def test_t25_forward_decides_where_it_was_bad_too() -> None:
    job = Job()
    job.op(0, "fc", "ok", "inf", microbatch=0)
    job.op(0, "fc", "ok", "inf", microbatch=0, phase="recompute")
    assert answer(job).first_anomaly.phase == "forward"


def test_t26_inf_before_nan_is_an_overflow() -> None:
    job = Job()
    job.op(0, "wo", {**OK, "absmax": 9740.0}, {**OK, "absmax": 62_700.0}, dtype="float16")
    job.op(0, "scale", {**OK, "absmax": 62_700.0}, "inf", dtype="float16")
    job.op(0, "norm", "inf", "nan")
    found = answer(job)
    assert (found.cause, found.first_anomaly.module, found.first_anomaly.value) == ("overflow", "scale", "inf")


def test_t28_warm_up_overflows_that_recover_are_minor() -> None:
    job = Job()
    for step in range(4):
        bad = "inf" if step < 2 else "ok"
        for rank in range(2):
            job.op(rank, "fc", "ok", bad if rank == 0 else "ok", phase="backward", step=step)
        job.reduce({0: (bad, bad), 1: ("ok", bad)}, [0, 1], step=step)
        job.params(range(2), "ok", step=step)
    found = answer(job)
    assert found.severity == "minor"
    assert [action.kind for action in found.actions] == ["ignore"]


def test_t28_a_skipped_step_does_not_hide_the_real_root() -> None:
    job = Job()
    for step in range(4):
        first, second = ("inf" if step == 1 else "ok"), ("nan" if step == 3 else "ok")
        job.op(0, "fc", "ok", first, phase="backward", step=step)
        job.op(1, "fc", "ok", second, phase="backward", step=step)
        out = "nan" if step in (1, 3) else "ok"
        job.reduce({0: (first, out), 1: (second, out)}, [0, 1], step=step)
        job.params(range(2), "nan" if step == 3 else "ok", step=step)
    found = answer(job)
    assert (found.ranks, found.first_anomaly.step, found.severity) == ((1,), 3, "fatal")


@settings(max_examples=40, deadline=None)
@given(order=st.permutations(list(range(8))), gone=st.sets(st.integers(0, 7), max_size=2))
def test_order_of_rows_of_ranks_never_matters_and_no_innocent_is_named(order: list[int], gone: set[int]) -> None:
    job = cube(5)
    case = job.case(range(8), without=gone)
    tensors = case.tables["tensors"]
    shuffled = case_of(tensors.sort("rank", maintain_order=True), range(8))
    for rank in order:
        part = tensors.filter(tensors["rank"] == rank)
        shuffled = case_of(part.vstack(tensors.filter(tensors["rank"] != rank)), range(8))
    first, second = DETECTOR.detect(case), DETECTOR.detect(shuffled)
    assert first == second
    for found in first:
        assert set(found.ranks) <= {5}
        assert 5 in {*found.ranks, *found.suspect_ranks}


def _each_step(sites: list[str]) -> Job:
    """Steps in which rank 1 makes a NaN there, each skipped: the parameters stay clean. The job stops in the last."""
    job = Job()
    for step, site in enumerate(sites):
        for rank in range(2):
            for module in ("fc1", "fc2"):
                job.op(rank, module, "ok", "nan" if rank == 1 and module == site else "ok", step=step)
        spread_over(job, range(2), step, bad=(1,) if site else ())
        if step < len(sites) - 1:
            job.params(range(2), "ok", step=step)
    return job


@pytest.mark.parametrize(
    ("sites", "first"),
    [
        (["", "fc1", "fc1", "fc1"], 1),
        (["fc1", "", "fc1", "fc1"], 2),
        (["fc2", "fc1", "fc1"], 1),
        (["fc2", "fc2", "fc2", "fc1"], 3),
    ],
    ids=["in each step since", "a sound step between", "after another operation", "the last is another"],
)
def test_a_fault_that_each_step_shows_is_as_old_as_the_first(sites: list[str], first: int) -> None:
    found = answer(_each_step(sites))
    assert (found.ranks, found.first_anomaly.step, found.first_anomaly.module) == ((1,), first, sites[first])


@pytest.mark.parametrize("name", ["grad_weight", "weight.grad", "grad", "main_grad", "hidden", "dX", "param_grad"])
def test_a_nan_counts_however_its_tensor_is_called(name: str) -> None:
    job = Job()
    for step in range(3):
        for rank in range(3):
            bad = step == 2 or (step, rank) == (1, 1)
            job.op(rank, "fc", "nan" if step == 2 else "ok", "nan" if step == 2 else "ok", phase="backward", step=step)
            job.row(rank, name, "nan" if bad else "ok", module="fc", op="Linear", phase="backward", step=step)
    found = answer(job)
    assert (found.ranks, found.first_anomaly.tensor, found.first_anomaly.step) == ((1,), name, 1)


def test_an_inf_of_a_tensor_of_unknown_name_may_be_a_mask() -> None:
    job = Job()
    for rank in range(3):
        job.row(rank, "bias", "-inf", module="attn", op="Attention")
        job.op(rank, "fc", "ok", "ok")
    assert DETECTOR.detect(job.case()) == ()
