"""Reconciliation of calls per group: who never came, who brought another call, and when the numbers say nothing."""

from typing import Any

import pytest

from tests.hang_tables import Rows, call, idle, waiting

TP = {f"tp{i}": (2 * i, 2 * i + 1) for i in range(4)}
DP = {f"dp{stage}{tp}": (4 * stage + tp, 4 * stage + tp + 2) for stage in range(2) for tp in range(2)}


def dropped_call() -> Rows:
    """TP2 PP2 DP2: rank 5 never calls all_reduce 57 of its data-parallel group; its tensor-parallel peer runs into it, too."""
    job = Rows(8, **TP, **DP)
    job.dump(5, call("tp2", 10, done=True), call("dp11", 56, done=True))
    job.dump(7, call("tp3", 10, done=True), call("dp11", 56, done=True), call("dp11", 57))
    job.dump(4, call("tp2", 10, done=True), call("dp10", 57, done=True))
    job.dump(6, call("tp3", 10, done=True), call("dp10", 57, done=True), call("tp3", 11))
    for rank in range(4):
        job.dump(rank, call("tp" + str(rank // 2), 10, done=True))
    return job


def test_t1_one_rank_is_absent_from_its_group() -> None:
    """Rank 6 waits for 7 and 7 for 5: the walk ends at 5, and the operation is number 57 of its group."""
    verdict = dropped_call().verdict()
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("hang", "rank_absent", [5])
    anomaly = verdict.first_anomaly
    assert (anomaly.rank, anomaly.group, anomaly.seq, anomaly.op) == (5, "dp11", 57, "all_reduce")
    assert anomaly.group_ranks == "5,7"


@pytest.mark.parametrize("old", [call("dp", 40, done=True), call("dp", 41)], ids=["nothing open", "in a call"])
def test_t1_a_dump_that_was_taken_earlier_accuses_nobody(old: dict[str, Any]) -> None:
    """All others have completed what rank 2 would have had to call first: its record is old, not its owner late."""
    job = Rows(5, dp=range(5))
    for rank in (0, 1, 4):
        job.dump(rank, *(call("dp", seq, done=True) for seq in range(50, 57)), call("dp", 57))
    job.dump(3, *(call("dp", seq, done=True) for seq in range(50, 57)))
    job.dump(2, call("dp", 39, done=True), old)
    verdict = job.verdict()
    assert (verdict.cause, verdict.ranks) == ("rank_absent", [3])
    assert any("rank 2" in limit for limit in job.report().limits)


def test_t1_a_broadcast_that_others_completed_proves_nothing() -> None:
    """A broadcast ends at its root before the last member has called it."""
    job = Rows(3, dp=range(3))
    job.dump(0, call("dp", 56, done=True), call("dp", 57, "broadcast", done=True), call("dp", 58))
    job.dump(1, call("dp", 56, done=True), call("dp", 57, "broadcast", done=True), call("dp", 58))
    job.dump(2, call("dp", 56, done=True))
    assert job.verdict().ranks == [2]


def wrapped(newest: int | None) -> Rows:
    """Three of four rings wrapped; rank 3 holds no entry of the group that the others wait in, or its newest one."""
    job = Rows(4, dp=(0, 1, 2, 3), tp=(0, 1, 2, 3))
    busy = [call("tp", 900 + number, "broadcast", done=True) for number in range(3)]
    for rank in (0, 1, 2):
        job.dump(rank, *busy, call("dp", 57), counted=False, first=5000)
    own = () if newest is None else (call("dp", newest, done=True),)
    return job.dump(
        3, *own, *(call("tp", 1900 + number, "broadcast", done=True) for number in range(3)), counted=False, first=9000
    )


@pytest.mark.parametrize("newest", [None, 56], ids=["no entry left", "an older entry left"])
def test_t1b_wrapped_rings_are_not_comparable(newest: int | None) -> None:
    verdict = wrapped(newest).verdict()
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("hang", None, [])
    assert verdict.undecided == ["ring_buffer_wrapped"]
    assert verdict.suspects.ranks == [3]


def test_t1b_a_wrapped_ring_and_a_lost_dump_are_two_reasons() -> None:
    job = Rows(5, dp=(0, 1, 2, 3, 4))
    job.rows = wrapped(None).rows
    job.rows["groups"] = []
    for rank in range(3):
        job.add("groups", rank=rank, pg_id=1, group="dp", desc="dp", members=[0, 1, 2, 3, 4], members_space="global",
                file=f"fr/rank_{rank}", record=0, line=None)  # fmt: skip
    verdict = job.verdict(expected=5)
    assert verdict.undecided == ["ring_buffer_wrapped", "culprit_among_missing"]
    assert (verdict.ranks, verdict.suspects.ranks) == ([], [3, 4])


def test_t1c_two_members_with_other_sizes() -> None:
    """No majority in a pair: both are suspects."""
    job = Rows(2)
    for rank, size in ((0, 4096), (1, 4080)):
        job.dump(rank, call("world", 4, done=True), call("world", 5, input_sizes=f"[[{size}]]"))
    verdict = job.verdict()
    assert (verdict.cause, verdict.ranks, verdict.suspects.ranks) == ("collective_mismatch", [], [0, 1])
    assert verdict.undecided == ["two_member_mismatch"]


@pytest.mark.parametrize("end", ["line", "stack"])
def test_t1d_one_call_too_many(end: str) -> None:
    """Rank 0 waits in a third all_reduce, rank 1 ran through its program: extra call or missing call, so nobody is named."""
    job = Rows(2).dump(0, call("world", 2, done=True), call("world", 3, code=55)).dump(1, call("world", 2, done=True))
    if end == "line":
        job.event("job_end", rank=1, severity="info")
    else:
        job.stack(
            1, (("destroy_process_group", "torch/distributed/distributed_c10d.py", 2100), ("main", "train.py", 60))
        )
    incident = job.incident()
    verdict = incident.verdict
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("hang", "collective_mismatch", [])
    assert verdict.suspects.ranks == [0, 1]
    assert verdict.undecided == ["tied_explanations"]
    assert any("train.py:55" in ref.text for evidence in incident.evidence for ref in evidence.refs)


def test_t1d_where_most_went_on_waiting_the_one_that_left_is_named() -> None:
    job = waiting(Rows(4), (0, 1, 2), "world", 3)
    verdict = idle(job, (3,), "world", 2).event("job_end", rank=3, severity="info").verdict()
    assert (verdict.cause, verdict.ranks) == ("rank_absent", [3])


def test_most_members_absent_is_a_tie() -> None:
    """'if idle: skip' hits the many: one extra call of the one explains as much."""
    verdict = idle(waiting(Rows(8), (0,), "world", 9), range(1, 8), "world", 8).verdict()
    assert (verdict.ranks, verdict.undecided) == ([], ["tied_explanations"])
    assert verdict.suspects.ranks == list(range(8))


def test_a_majority_names_the_rank_with_the_other_call() -> None:
    job = waiting(Rows(4), (0, 1, 2), "world", 9)
    verdict = waiting(job, (3,), "world", 9, kind="broadcast", root=0, code=99).verdict()
    assert (verdict.cause, verdict.ranks, verdict.suspects.ranks) == ("collective_mismatch", [3], [])
    assert verdict.code is not None
    assert (verdict.code.file, verdict.code.line) == ("train.py", 99)


def test_lost_members_count_as_unknown_in_a_majority() -> None:
    """Two against one of six, three lost: two are no majority of the group."""
    job = waiting(Rows(6), (0, 1), "world", 9)
    verdict = waiting(job, (2,), "world", 9, kind="broadcast", root=0).verdict(expected=6)
    assert (verdict.cause, verdict.ranks, verdict.undecided) == ("collective_mismatch", [], ["tied_explanations"])
    assert set(verdict.suspects.ranks) >= {0, 1, 2}


def test_a_group_that_no_record_places_names_nobody() -> None:
    """A watchdog line without membership: whoever times out is a victim."""
    job = Rows(8)
    job.timeout(4, "17", 9)
    verdict = job.verdict()
    assert (verdict.kind, verdict.ranks, verdict.undecided) == ("hang", [], ["membership_unknown"])


def test_point_to_point_and_collectives_are_counted_apart() -> None:
    """Rank 1 is behind in collectives of the pair though its last number, of a transfer, is higher."""
    job = Rows(3, pair=(0, 1))
    job.dump(0, call("pair", 3, "send", peer=1, done=True), call("pair", 5, done=True), call("pair", 6))
    job.dump(1, call("pair", 9, "recv", peer=0, done=True), call("pair", 5, done=True))
    verdict = idle(job, (2,), "world", 1).verdict()
    assert (verdict.cause, verdict.ranks) == ("rank_absent", [1])


def test_what_ras_says_of_a_rank_is_no_record_of_its_own() -> None:
    job = waiting(Rows(4), (0, 1, 2), "world", 9)
    for rank in range(4):
        job.add("progress", rank=rank, group="ab12", desc="AllReduce", scope="collective", last_enqueued=9, how="ras",
                file="ras.json", record=0, line=None)  # fmt: skip
    verdict = job.verdict(expected=4)
    assert (verdict.ranks, verdict.suspects.ranks, verdict.undecided) == ([], [3], ["culprit_among_missing"])


def test_the_first_call_that_was_missed_is_named_and_not_that_in_which_most_wait() -> None:
    """A broadcast lets its root, and whom that has served, run on to the next call of the group."""
    job = Rows(6)
    past = [call("world", seq, done=True) for seq in range(38, 41)]
    for rank in range(3):
        job.dump(rank, *past, call("world", 41, "broadcast", done=True), call("world", 42))
    for rank in (4, 5):
        job.dump(rank, *past, call("world", 41, "broadcast"))
    found = job.dump(3, *past).verdict()
    assert (found.ranks, found.first_anomaly.op, found.first_anomaly.seq) == ([3], "broadcast", 41)
