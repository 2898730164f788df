"""A caught exception of a process that goes on changes nothing, and what a process clears up after its end changes nothing either."""

import datetime as dt
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from samples.situations.job import Job, s
from samples.situations.own import BAD_SHARD, C10D, LOGGED, one_host, raised
from samples.situations.parts import STEP, others
from tests.relations import in_turn, pairs
from tests.test_blame_relations import weighed

LOUD, CULPRIT = 2, 5
FETCH = [
    ("/workspace/train/reader.py", 90, "fetch", "return self.client.get(key)"),
    ("/workspace/train/reader.py", 131, "get", "raise SlowDown(reply.status)"),
]
ERROR = "reader.SlowDown: 503 reduce your request rate"
Change = Callable[[Job, dt.datetime], None]


def stamped(job: Job, rank: int, t: dt.datetime, text: str) -> None:
    """A line without a level, with a stamp of its own."""
    job.out(rank, t, f"{t:%Y-%m-%d %H:%M:%S},{t.microsecond // 1000:03d} [rank{rank}] {text}")


def logged(job: Job, t: dt.datetime) -> None:
    """Below a record of the logger that caught it."""
    job.log(LOUD, t, "reader: GET of part-02610 failed, attempt 1 of 6", "ERROR")
    job.trace(LOUD, t + s(0.001), FETCH, ERROR)


def logged_as_one(job: Job, t: dt.datetime) -> None:
    """As the logger prints it: lines of one record."""
    frames = "".join(f'\n  File "{file}", line {line}, in {name}\n    {code}' for file, line, name, code in FETCH)
    job.log(LOUD, t, f"reader: GET failed\nTraceback (most recent call last):{frames}\n{ERROR}", "ERROR")


PRINTED: dict[str, Change] = {"below a record": logged, "in a record": logged_as_one}
LIFE: dict[str, Change] = {
    "what it did next": lambda job, t: stamped(job, LOUD, t + s(1.4), "reader: attempt 2 ok after 1.4 s"),
    "a heartbeat": lambda job, t: stamped(job, LOUD, t + s(30), "heartbeat 41"),
    "another of its threads": lambda job, t: stamped(job, LOUD, t + s(2), "(prefetch) 12 of 16 slots filled"),
    "a record": lambda job, t: job.log(LOUD, t + s(1.4), "reader: attempt 2 ok after 1.4 s"),
    "a warning": lambda job, t: job.log(LOUD, t + s(1.4), "reader: slow", "WARNING"),
}
LAYOUTS = ("srun_l", "flat", "mpirun")


def own_end(layout: str) -> tuple[Job, dt.datetime]:
    """(job, when it had made its last step): one rank raised an error of its own, and the others lost it where they wait."""
    job, end = one_host("caught", 21, layout=layout)
    raised(job, CULPRIT, end + s(5), BAD_SHARD, "ValueError: bad record header in /data/c4/shard_00911.bin")
    for rank in others(job, CULPRIT):
        lost(job, rank, end + s(6 + 0.01 * rank))
    return job, end


def lost(job: Job, rank: int, t: dt.datetime) -> None:
    frames = [*STEP, LOGGED, (C10D, 2938, "all_reduce", "work = group.allreduce([tensor], opts)")]
    job.trace(
        rank,
        t,
        frames,
        "torch.distributed.DistBackendError: NCCL error in: ../NCCLUtils.hpp:328, remote process exited",
    )


@cache
def unchanged(layout: str) -> tuple[Any, ...]:
    return weighed(own_end(layout)[0])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_job_itself_names_who_failed(layout: str) -> None:
    kind, cause, _, ranks, *_ = unchanged(layout)
    assert (kind, cause, ranks) == ("crash", "exception", [CULPRIT])


@pytest.mark.parametrize(("how", "layout"), in_turn(pairs(PRINTED, LIFE), LAYOUTS))
def test_a_caught_exception_of_a_process_that_went_on_changes_nothing(how: tuple[str, str], layout: str) -> None:
    """However it is printed and whatever its process did next; the layouts in turn (`make relations`: each)."""
    printed, life = how
    job, end = own_end(layout)
    PRINTED[printed](job, end + s(0.5))
    LIFE[life](job, end + s(0.5))
    assert weighed(job) == unchanged(layout)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("printed", PRINTED)
def test_nor_where_nothing_but_its_end_among_the_others_follows(layout: str, printed: str) -> None:
    job, end = own_end(layout)
    PRINTED[printed](job, end + s(0.5))
    assert weighed(job) == unchanged(layout)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_was_caught_in_a_place_and_outlived_is_caught_there_again(layout: str) -> None:
    job, end = own_end(layout)
    logged(job, end + s(0.5))
    LIFE["what it did next"](job, end + s(0.5))
    logged(job, end + s(3))
    assert weighed(job) == unchanged(layout)


CLEARED: dict[str, str] = {
    "a tracker": "tracker: uploading 12 of 12 files",
    "a handler": "atexit: 3 handlers done",
    "a loader": "loader: 4 workers joined",
    "a group": "destroy_process_group() took 0.4 s",
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("what", CLEARED)
def test_what_a_process_clears_up_after_its_last_traceback_is_no_life(layout: str, what: str) -> None:
    job, end = own_end(layout)
    stamped(job, CULPRIT, end + s(5.4), CLEARED[what])
    stamped(job, CULPRIT, end + s(5.9), CLEARED[what])
    assert weighed(job) == unchanged(layout)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_was_logged_and_raised_again_ended_its_process(layout: str) -> None:
    job, end = one_host("caught", 21, layout=layout)
    inner, error = BAD_SHARD[1:], "ValueError: bad record header in /data/c4/shard_00911.bin"
    job.log(CULPRIT, end + s(4.9), "step failed", "ERROR")
    job.trace(CULPRIT, end + s(4.901), inner, error)
    stamped(job, CULPRIT, end + s(4.95), "state of the loader written")
    raised(job, CULPRIT, end + s(5), BAD_SHARD, error)
    for rank in others(job, CULPRIT):
        lost(job, rank, end + s(6 + 0.01 * rank))
    assert weighed(job)[3] == [CULPRIT]
