"""Initialisations that began and never completed: who did not come is a suspect, never more."""

import json
from typing import Any

import pytest

from forensics.detectors.launch.init_never_completed import DETECTOR
from tests.log_cases import case, judged


def init(number: int, size: int = 4, what: str = "start", comm: str = "0xaa") -> dict[str, Any]:
    said = {"group_rank": number, "size": size, "comm_id": comm}
    place = {"host": "n0", "pid": 40 + number, "rank": number, "rank_space": "group", "group": comm}
    return {"kind": f"comm_init_{what}", "severity": "info", "detail": json.dumps(said), **place}


def test_who_never_began_is_suspect() -> None:
    found = judged(case([init(0), init(1), init(3)], expected=4), DETECTOR)
    assert (found.kind, found.cause, found.ranks, found.suspects) == ("launch", "missing_ranks", (), (2,))
    assert found.undecided == ("culprit_among_missing", "single_snapshot") and not found.is_proven


def test_a_process_that_only_found_its_network_is_mentioned() -> None:
    address = {"host": "n0", "pid": 42, "address": "10.0.0.2", "how": "NCCL bootstrap address"}
    (found,) = DETECTOR.detect(case([init(0), init(1), init(3)], ranks=[address], expected=4))
    assert "n0, process 42" in found.summary


def test_numbers_of_another_communicator_are_no_ranks() -> None:
    (found,) = DETECTOR.detect(case([init(0), init(1), init(3)], expected=8))
    assert (found.suspect_ranks, found.undecided[0]) == ((), "culprit_among_missing")


def test_all_began_and_none_completed() -> None:
    (found,) = DETECTOR.detect(case([init(number) for number in range(4)], expected=4))
    assert (found.cause, found.suspect_ranks, found.undecided[0]) == (None, (), "all_entered_no_counters")


@pytest.mark.parametrize(
    "more",
    [
        [init(0, what="complete")],
        [{"kind": "collective_timeout", "rank": 0, "seq": 1}],
        [{"kind": "segfault", "rank": 2}],
    ],
    ids=["completed", "communicated", "a process died"],
)
def test_silent(more: list[dict[str, Any]]) -> None:
    assert DETECTOR.detect(case([init(0), init(1), init(3), *more], expected=4)) == ()


def test_silent_without_an_initialisation() -> None:
    assert DETECTOR.detect(case([{"kind": "job_end", "rank": 0}])) == ()
