"""Flight records that were taken before the wait: a later time-out outranks an earlier snapshot."""

import pytest

from tests.hang_tables import SECOND_NS, START_NS, Rows, call

TAKEN = 57  # second at which the newest calls of the records were made


def job(last: int = 40, world: int = 4) -> Rows:
    """Records of a running job: rank 1 is about to make a call that the others have just made. Each second is a step, up to
    `last` seconds after; then all ranks but number 2 give up."""
    job = Rows(world).placed()
    for rank in range(world):
        job.dump(rank, call("world", TAKEN - 1, done=True), *([call("world", TAKEN)] if rank != 1 else []))
    for second in range(-20, last):
        for rank in range(world):
            job.add("steps", rank=rank, step=200 + second, phase="train", time_basis="utc", file=f"logs/rank_{rank}.log",
                    time_ns=START_NS + (TAKEN + second) * SECOND_NS + rank)  # fmt: skip
    return job


def given_up(job: Rows, at: int | None = 700) -> Rows:
    stamp = {} if at is None else {"time_ns": START_NS + at * SECOND_NS, "time_basis": "utc"}
    for rank in (0, 1, 3):
        job.event("collective_timeout", rank=rank, op="all_reduce", value=600_000.0, **stamp)
    return job


@pytest.mark.parametrize("at", [700, None], ids=["with a time", "without"])
def test_later_time_outs_are_heard(at: int | None) -> None:
    """As if there were no records, and nobody of whom they show something is named."""
    verdict = given_up(job(), at).verdict(hung=False)
    assert (verdict.kind, verdict.ranks, verdict.suspects.ranks) == ("hang", [], [2])


def test_records_of_that_wait_itself_decide() -> None:
    assert given_up(job(last=0)).verdict(hung=False).ranks == [1]


def test_without_a_time_out_the_job_was_running() -> None:
    assert job().verdict(hung=False).undecided == ["no_hang"]


def test_a_wait_that_was_given_up_before_the_records_says_nothing_of_them() -> None:
    assert given_up(job(), at=20).verdict(hung=False).suspects.ranks != [2]
