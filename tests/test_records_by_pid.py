"""Records that tell the pid of who wrote them: a launcher told which rank that is, and what the record quotes was raised by it. A pid that two
hosts have is nobody's."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from forensics import analyze
from tests.sources import raised, written

PLACES = ("north", "south")
PIDS = (7010, 7013, 8210, 8213)
RAISED = 'Traceback (most recent call last):\n  File "/w/fit.py", line 7, in step\n    check(loss)\nFloatingPointError: loss is nan at step 41'


def launcher(pids: Sequence[int] = PIDS) -> list[str]:
    """Each node's word on those that it began."""
    lines = ["north: ranks of the job: {'north': [0, 1], 'south': [2, 3]}, world_size=4"]
    return lines + [
        f"{PLACES[rank // 2]}: process {pid} began as: RANK={rank} LOCAL_RANK={rank % 2} WORLD_SIZE=4 python fit.py"
        for rank, pid in enumerate(pids)
    ]


def record(rank: int, pids: Sequence[int] = PIDS, **said: object) -> str:
    return f"{PLACES[rank // 2]}: " + json.dumps(
        {"ts": "2026-03-01T10:00:00Z", "level": "info", "pid": pids[rank], **said}
    )


def steps(pids: Sequence[int] = PIDS) -> list[str]:
    return [record(rank, pids, step=at, loss=2.0 + rank / 7 - at / 100) for at in range(0, 41, 5) for rank in range(4)]


FORMS = {
    "a text": {"msg": "gave up", "exc_info": RAISED},
    "a list of lines": {"message": "fatal", "stack": RAISED.split("\n")},
    "structlog": {"event": "fatal", "exception": [{"exc_type": "FloatingPointError", "exc_value": "loss is nan at step 41", "frames": []}]},
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("rank", [1, 2])
def test_whose_record_it_is(tmp_path: Path, form: str, rank: int) -> None:
    lines = [*launcher(), *steps(), record(rank, level="error", **FORMS[form])]
    assert raised(tmp_path, {"job.log": lines}) == [rank]


def test_what_ranks_print_is_their_own_by_their_pids(tmp_path: Path) -> None:
    found = analyze(
        written(tmp_path, {"job.log": [*launcher(), *steps(), record(2, level="error", **FORMS["a text"])]})
    )
    assert (found.verdict.kind, found.verdict.ranks) == ("numerics", [2])


def test_a_pid_of_two_hosts_is_nobodys_without_a_host(tmp_path: Path) -> None:
    twice = (7010, 7013, 7010, 7013)
    said = record(2, twice, level="error", **FORMS["a text"]).partition(": ")[2]
    assert raised(tmp_path, {"job.log": [*launcher(twice), *steps(twice), said]}) == [None]


def test_a_pid_that_nobody_began_is_nobodys(tmp_path: Path) -> None:
    said = record(2, (1, 2, 9999, 3), level="error", **FORMS["a text"])
    assert raised(tmp_path, {"job.log": [*launcher(), *steps(), said]}) == [None]
