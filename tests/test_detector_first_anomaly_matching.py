"""The first NaN or Inf: calls matched across ranks, T35 to T40, and what surrounds them."""

from typing import Any

from forensics.detectors.numerics.first_anomaly import DETECTOR
from tests.first_anomaly_answers import answer, spread_over
from tests.tensor_rows import NAN, OK, Job


def test_t35_restart_with_repeated_steps() -> None:
    """The newest launch counts: what an earlier one did at the same step numbers is another story."""
    job = Job()
    for culprit in (0, 1):
        for step in range(3):
            bad = step == 2
            for rank in range(2):
                job.op(rank, "fc", "ok", "nan" if bad and rank == culprit else "ok", step=step)
            if bad:
                spread_over(job, range(2), step=step, bad=(culprit,))
    assert answer(job).ranks == (1,)


def test_t36_messages_match_by_tag() -> None:
    job = Job()
    common: dict[str, Any] = {"module": "p2p", "phase": "comm"}
    job.op(0, "a", "ok", "ok", chunk=0)
    job.op(0, "b", "ok", "nan", chunk=1)
    job.row(0, "input", "ok", op="send", peer=1, tag=10, **common)
    job.row(0, "input", "nan", op="send", peer=1, tag=11, **common)
    job.row(1, "output", "nan", op="recv", peer=0, tag=11, **common)
    job.row(1, "output", "ok", op="recv", peer=0, tag=10, **common)
    found = answer(job)
    assert (found.ranks, found.links) == ((0,), ())


def test_t37_group_described_by_name_only_on_some_ranks() -> None:
    job = Job()
    for rank in range(3):
        job.op(rank, "fc", "ok", "nan" if rank == 1 else "ok")
    for rank in range(3):
        members = "0-2" if rank == 0 else None
        job.reduce({rank: ("nan" if rank == 1 else "ok", "nan")}, group="g7", group_ranks=members)
    found = answer(job)
    assert found.ranks == (1,)
    without = answer(job, without=[1])
    assert (without.ranks, without.suspect_ranks) == ((), (1,))


def test_t37_conflicting_member_lists_are_said() -> None:
    job = Job()
    job.op(0, "fc", "ok", "nan")
    job.op(1, "fc", "ok", "ok")
    job.reduce({0: ("nan", "nan")}, [0, 1])
    job.reduce({1: ("ok", "nan")}, [0, 1, 2])
    found = answer(job)
    assert found.ranks == (0,)
    assert any(claim.direction == "against" and "different members" in claim.text for claim in found.claims)


def test_t38_sum_overflow_is_no_link_fault() -> None:
    job = Job()
    big = {**OK, "absmax": 60_000.0}
    job.reduce({0: (big, "inf"), 1: (big, "inf")}, [0, 1], dtype="float16", reduce_op="sum")
    found = answer(job)
    assert (found.ranks, found.cause, found.links) == ((), "overflow", ())


def test_t40_the_same_rows_in_two_files_count_once() -> None:
    job = Job()
    for name in ("a.jsonl", "b.jsonl"):
        job.op(0, "fc", "ok", "nan", file=name)
    job.op(1, "fc", "ok", "ok")
    assert answer(job).ranks == (0,)


def test_t40_of_two_files_that_differ_the_longer_is_used() -> None:
    job = Job()
    job.op(0, "fc", "ok", "nan", file="short.jsonl")
    job.op(0, "fc", "ok", "ok", file="long.jsonl")
    job.op(0, "fc2", "ok", "nan", file="long.jsonl")
    found = answer(job)
    assert found.first_anomaly.module == "fc2"
    assert any("short.jsonl differs" in claim.text for claim in found.claims)


def test_bad_batch() -> None:
    job = Job()
    for rank in range(2):
        value = "nan" if rank == 0 else "ok"
        job.op(rank, "embed", value, value)
    spread_over(job, range(2), bad=(0,))
    found = answer(job)
    assert (found.ranks, found.cause) == ((0,), "bad_input")


def test_arrival_through_an_unrecorded_message_is_not_named() -> None:
    """Rank 0 made it; rank 1 is the next pipeline stage, and no send or recv was recorded."""
    job = Job()
    job.op(0, "embed", "ok", "nan")
    job.op(1, "head", "nan", "nan")
    assert answer(job).ranks == (0,)


def test_a_silent_rank_is_suspected_where_no_call_was_recorded() -> None:
    job = Job()
    job.op(0, "embed", "ok", "nan")
    for rank in (1, 2):
        job.op(rank, f"stage{rank}", "ok", "ok")
        job.op(rank, f"tail{rank}", "nan" if rank == 2 else "ok", "nan" if rank == 2 else "ok")
    found = answer(job, expected=range(3), without=[0])
    assert (found.ranks, found.suspect_ranks) == ((), (0, 2))


def test_attempts_in_two_folders_are_two_stories() -> None:
    job = Job()
    for attempt, culprit in ((0, 0), (1, 1)):
        for rank in range(2):
            value = "nan" if rank == culprit else "ok"
            job.op(rank, "fc", "ok", value, attempt=attempt, file=f"attempt_{attempt}/rank_{rank}.jsonl")
    assert answer(job).ranks == (1,)


def test_t22_a_file_cut_before_the_step_changes_nothing() -> None:
    job = Job()
    for step in range(3):
        for rank in range(3):
            if rank == 2 and step == 2:
                continue
            job.op(rank, "fc", "ok", "nan" if (rank, step) == (1, 2) else "ok", step=step)
        if step == 2:
            job.reduce({0: ("ok", "nan"), 1: ("nan", "nan")}, range(3), step=step)
    assert answer(job).ranks == (1,)


def test_a_bad_shard_is_its_owners_state() -> None:
    """FSDP: the parameter is the input of its all_gather; slice i of the output belongs to member i."""
    job = Job()
    columns: dict[str, Any] = {
        "op": "all_gather",
        "phase": "comm",
        "module": "fc",
        "group": "dp",
        "group_ranks": "0-2",
    }
    for rank in range(3):
        job.row(rank, "param", "nan" if rank == 2 else "ok", **columns)
        for member in range(3):
            job.row(rank, f"output.{member}", "nan" if member == 2 else "ok", **columns)
    found = answer(job)
    assert (found.ranks, found.cause) == ((2,), "bad_state")


def test_norm_and_mean_alone_are_never_bad() -> None:
    job = Job()
    job.op(0, "fc", "ok", {**OK, "l2norm": float("inf"), "mean": float("nan")}, dtype="float16")
    assert DETECTOR.detect(job.case()) == ()


def test_found_inf_flag_is_bad_above_zero() -> None:
    job = Job()
    job.row(0, "output", {"absmax": 0.0, "nan_count": 0, "inf_count": 0}, module="found_inf", op="check")
    assert DETECTOR.detect(job.case()) == ()
    job.row(0, "output", {"absmax": 1.0, "nan_count": 0, "inf_count": 0}, module="found_inf", op="check", step=1)
    assert answer(job).first_anomaly.step == 1


def test_evaluation_is_left_out() -> None:
    job = Job()
    job.op(0, "fc", "ok", "nan", phase="eval")
    assert DETECTOR.detect(job.case()) == ()


def test_values_of_each_spelling() -> None:
    job = Job()
    job.op(0, "fc", "ok", {"max": float("nan")})
    assert answer(job).first_anomaly.value == "nan"
    assert NAN["nan_count"] == 3


def test_without_micro_batches_a_batch_begins_where_the_first_module_comes_again() -> None:
    job = Job()
    for _ in range(2):
        job.op(0, "embed", "ok", "ok", op="Embedding")
        job.op(0, "fc", "ok", "ok")
    job.op(0, "embed", "nan", "nan", op="Embedding")
    found = answer(job)
    assert (found.ranks, found.cause) == ((0,), "bad_input")


def test_a_clean_output_of_another_member_clears_who_left_no_record() -> None:
    """All outputs of an all_reduce are equal: had the lost rank given a NaN, everybody would hold it."""
    job = Job()
    job.reduce({0: ("ok", "ok"), 1: ("ok", "nan"), 2: ("ok", "ok")}, [0, 1, 2])
    found = answer(job, without=[2])
    assert (found.ranks, found.suspect_ranks, found.cause) == ((), (1,), "comm_corruption")
