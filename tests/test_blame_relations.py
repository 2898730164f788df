"""Whose failure it is does not hang on frames around it, on what befell others, on what is quoted, or on files of others.

Each rewrite alone on one job in turn, and on each job all of a kind at once; `make relations` takes each alone on each job.
"""

from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from forensics import analyze
from samples.situations import CASES
from samples.situations.job import Job, s
from samples.situations.own import BAD_SHARD, MAIN, gave_up, one_host, raised
from samples.situations.parts import DATASET, others
from tests.blame_rewrites import FILES, FRAMES, KILLS, QUOTES, Rewrite, wrapped
from tests.relations import in_turn, pairs

RAISED = (
    "exc_srun_nokill",
    "exc_torchrun_fast",
    "a05_two_read_one_bad_file",
    "a09_preempted_after_the_crash",
    "a49_unread_log_beside",
)
BEFALLEN = (
    "exc_srun_nokill",
    "sigkill_no_kernel_torchrun",
    "a28_monitor_with_a_number",
    "a36_reaped_first",
    "writer_error_ended_well",
)
FLAT = (
    "exc_cut_log",
    "a28_monitor_with_a_number",
    "a36_reaped_first",
    "a43_collected_early",
    "writer_error_ended_well",
)


def weighed(job: Job) -> tuple[Any, ...]:
    """What a job's bundle comes to: kind, cause, status, ranks, hosts, suspects."""
    with TemporaryDirectory() as folder:
        job.write(Path(folder) / "bundle")
        report = analyze(Path(folder) / "bundle")
    found = report.incidents[report.primary].verdict
    return found.kind, found.cause, found.status, found.ranks, sorted(found.hosts), found.suspects.ranks


def made(name: str) -> Job:
    return CASES[name].make(name)


@cache
def unchanged(name: str) -> tuple[Any, ...]:
    return weighed(made(name))


def changed(name: str, *rewrites: Rewrite) -> tuple[Any, ...]:
    """What the job comes to after rewrites that may be mistaken for something of a rank in question."""
    expect, job = CASES[name].expect, made(name)
    told = [*(expect.get("told") or expect.get("ranks") or []), job.world - 2]
    for rewrite in rewrites:
        rewrite(job, told[0])
    return weighed(job)


def in_frames(name: str, around: Iterable[str]) -> None:
    job = made(name)
    for one in around:
        wrapped(job, FRAMES[one])
    assert job.files != made(name).files
    assert weighed(job) == unchanged(name)
    assert unchanged(name)[3] == CASES[name].expect["ranks"]


@pytest.mark.parametrize(("name", "around"), in_turn(RAISED, list(FRAMES)))
def test_an_own_exception_keeps_its_name_in_frames_of_a_framework(name: str, around: str) -> None:
    in_frames(name, [around])


@pytest.mark.parametrize("name", RAISED)
def test_an_own_exception_keeps_its_name_in_frames_of_all_frameworks(name: str) -> None:
    in_frames(name, FRAMES)


@pytest.mark.parametrize(("name", "whose"), in_turn(BEFALLEN, list(KILLS)))
def test_a_kill_of_somebody_else_changes_nothing(name: str, whose: str) -> None:
    assert changed(name, KILLS[whose]) == unchanged(name)


@pytest.mark.parametrize(("name", "how"), in_turn(BEFALLEN, list(QUOTES)))
def test_a_caught_exception_that_is_quoted_with_a_rank_changes_nothing(name: str, how: str) -> None:
    assert changed(name, QUOTES[how]) == unchanged(name)


@pytest.mark.parametrize("name", BEFALLEN)
@pytest.mark.parametrize("all_of", [KILLS, QUOTES], ids=["kills", "quotes"])
def test_all_of_them_change_nothing(name: str, all_of: dict[str, Rewrite]) -> None:
    assert changed(name, *all_of.values()) == unchanged(name)


@pytest.mark.parametrize(("name", "what"), pairs(FLAT, FILES))
def test_a_file_of_no_rank_of_the_job_changes_nothing(name: str, what: str) -> None:
    assert changed(name, FILES[what]) == unchanged(name)


ERRORS = {
    "raised by own code": (BAD_SHARD, "ValueError: bad record header in /data/c4/shard_00911.bin"),
    "key of own code": (DATASET, "KeyError: 'shard_00417'"),
    "full disk": ([*MAIN, ("/workspace/train/checkpointing.py", 233, "write_shard", "stream.write(block)")], "OSError: [Errno 28] No space left on device"),
}  # fmt: skip


def by_srun(job: Job, end: Any, ranks: list[int], error: str) -> None:
    for r in ranks:
        raised(job, r, end + s(1 + 0.01 * r), *ERRORS[error])
    gave_up(job, end, 77, *ranks)


def by_torchrun(job: Job, end: Any, ranks: list[int], error: str) -> None:
    for r in ranks:
        job.trace(r, end + s(1 + 0.01 * r), *ERRORS[error])
    ends = [(r, 1, "") for r in ranks] + [(r, -15, "SIGTERM") for r in others(job, *ranks)]
    job.torchrun_fail(job.hosts[0], end + s(2), ends, ranks[0], closing=others(job, *ranks))


LAUNCHERS: dict[str, Callable[[Job, Any, list[int], str], None]] = {"srun_l": by_srun, "torchrun": by_torchrun}
ALIKE = [(launcher, error, n) for launcher in LAUNCHERS for error in ERRORS for n in (2, 5, 8)]


@pytest.mark.parametrize(
    ("launcher", "error", "n"),
    ALIKE,
)
def test_the_same_exception_names_its_ranks_up_to_half_of_all_and_nobody_beyond(
    launcher: str, error: str, n: int
) -> None:
    job, end = one_host("alike", 20, layout=launcher)
    ranks = [2, 5, 0, 3, 6, 1, 4, 7][:n]
    LAUNCHERS[launcher](job, end, sorted(ranks), error)
    kind, *_, named, _, _ = weighed(job)
    assert (kind, named) == ("crash", sorted(ranks) if n == 2 else [])
