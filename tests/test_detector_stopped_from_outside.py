"""Stops from outside: told as what ended the job, and no rank's fault."""

from typing import Any

import pytest

from forensics.detectors.ranks.stopped_from_outside import DETECTOR
from tests.log_cases import case, judged


def scheduler(code: str) -> dict[str, Any]:
    return {"kind": "scheduler", "code": code, "severity": "info"}


def interrupted(*ranks: int) -> list[dict[str, Any]]:
    return [{"kind": "exit", "code": "SIGINT", "rank": rank} for rank in ranks]


@pytest.mark.parametrize(
    ("rows", "cause"),
    [
        (interrupted(0, 1), "stopped_by_hand"),
        ([scheduler("cancelled")], "stopped_by_hand"),
        ([scheduler("time_limit")], "time_limit"),
        ([scheduler("preemption")], "preempted"),
    ],
    ids=["Ctrl-C", "cancelled", "time limit", "preempted"],
)
def test_who_stopped_it(rows: list[dict[str, Any]], cause: str) -> None:
    found = judged(case(rows), DETECTOR)
    assert (found.kind, found.cause, found.ranks, found.suspects) == ("crash", cause, (), ())


def test_a_stop_explains_no_wait() -> None:
    """Somebody stops a job that hangs: the hang is what has to be explained."""
    waits = [{"kind": "collective_timeout", "rank": rank, "seq": 7} for rank in (0, 1)]
    found = judged(case([*waits, *interrupted(0, 1)]), DETECTOR)
    assert all(symptom.kind != "waiting" for symptom in found.candidate.explained)


def test_silent_where_nobody_stopped_it() -> None:
    assert DETECTOR.detect(case([{"kind": "exit", "code": "1", "rank": 0}])) == ()
