"""A deadlock of which one member's dump is lost: what its stack adds may narrow the answer, and never turns it."""

import pytest

from tests.hang_tables import Rows, call


def ring(size: int, lost: int | None, backend: str = "gloo") -> Rows:
    """Each rank waits in a group of two for the next one, which waits for the one after it."""
    job = Rows(size, **{f"pair/{rank}": (rank, (rank + 1) % size) for rank in range(size)})
    for rank in range(size):
        own, before = f"pair/{rank}", f"pair/{(rank - 1) % size}"
        if rank != lost:
            done = [call(group, 1, done=True, backend=backend) for group in (own, before)]
            job.dump(rank, *done, call(own, 2, backend=backend))
    return job


def inverted(size: int, lost: int, groups: tuple[str, ...] = ("dp", "ep")) -> Rows:
    """Half of the ranks call a collective of one group first, the others that of another group of the same ranks."""
    every = range(size)
    job = Rows(size, **dict.fromkeys(groups, every))
    for rank in every:
        if rank != lost:
            done = [call(group, 1, done=True, backend="gloo") for group in groups]
            job.dump(rank, *done, call(groups[2 * rank >= size], 2, backend="gloo"))
    return job


def with_stacks(job: Rows, *ranks: int) -> Rows:
    for rank in ranks:
        job.stack(rank, "communication")
    return job


@pytest.mark.parametrize("backend", ["gloo", "nccl"])
@pytest.mark.parametrize("lost", [0, 1, 2])
def test_the_stack_of_a_lost_member_does_not_show_which_group_it_waits_in(lost: int, backend: str) -> None:
    bare = ring(3, lost, backend).verdict()
    verdict = with_stacks(ring(3, lost, backend), 0, 1, 2).verdict()
    assert (verdict.ranks, verdict.undecided) == ([], ["culprit_among_missing"])
    assert lost in verdict.suspects.ranks
    assert verdict.suspects.ranks == bare.suspects.ranks


@pytest.mark.parametrize(("size", "lost"), [(4, 0), (4, 1), (4, 3), (6, 2)])
def test_whichever_group_it_waits_in_it_waits_for_the_circle(size: int, lost: int) -> None:
    assert with_stacks(inverted(size, lost), lost).verdict().cycle == [*range(size)]


def test_a_member_that_left_nothing_is_of_no_circle() -> None:
    assert inverted(4, 0).verdict().cycle == [1, 2, 3]


def test_a_member_outside_communication_is_of_no_circle() -> None:
    assert inverted(4, 0).stack(0, "data_loading").verdict().cycle != [0, 1, 2, 3]


def test_whoever_may_wait_for_others_than_the_circle_is_not_said_to_be_of_it() -> None:
    """Rank 0 also calls collectives with rank 4, which nobody of the circle waits for."""
    job = Rows(5, dp=range(4), ep=range(4), tp=(0, 4))
    job.dump(4, call("tp", 1, done=True, backend="gloo"))
    for rank in (1, 2, 3):
        done = [call(group, 1, done=True, backend="gloo") for group in ("dp", "ep")]
        job.dump(rank, *done, call("dp" if rank == 1 else "ep", 2, backend="gloo"))
    assert 0 not in with_stacks(job, 0).verdict().cycle


def test_a_stack_in_the_only_group_that_calls_so_is_in_it() -> None:
    """All have entered then, and nobody is missed."""
    job = Rows(2, pair=(0, 1)).dump(0, call("pair", 1, done=True, backend="gloo"), call("pair", 2, backend="gloo"))
    assert with_stacks(job, 0, 1).verdict().undecided == ["all_entered_no_counters"]
