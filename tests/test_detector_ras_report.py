"""NCCL's RAS: members that are gone, members that are behind, and lists that blame nobody."""

import json
from typing import Any

import pytest

from forensics.detectors.ranks.ras_report import DETECTOR
from tests.log_cases import case, judged

WAIT = {"kind": "collective_timeout", "rank": 0, "seq": 7}


def mismatch(ranks: list[int], counts: list[tuple[int, int]], space: str = "global") -> dict[str, Any]:
    said = {"counts": [{"ranks": number, "operation": operation} for number, operation in counts], "op": "AllReduce"}
    names = {"names_ranks": ranks, "names_rank_space": space, "detail": json.dumps(said)}
    return {"kind": "ras_status", "code": "MISMATCH", "severity": "warning", "group": "ab12", **names}


def test_a_missing_member() -> None:
    gone = {"kind": "missing_members", "code": "INCOMPLETE", "names_ranks": [21], "names_rank_space": "global"}
    found = judged(case([gone, WAIT]), DETECTOR)
    assert (found.kind, found.cause, found.ranks, found.is_proven) == ("hang", "rank_died", (21,), True)


@pytest.mark.parametrize(
    ("row", "ranks", "suspects"),
    [
        (mismatch([5], [(31, 664), (1, 663)]), (5,), ()),
        (mismatch([5], [(31, 663), (1, 664)]), (), (5,)),
        (mismatch([5], [(2, 664), (2, 663)]), (), (5,)),
        (mismatch([5], [(31, 664), (1, 663)], space="group"), (), ()),
    ],
    ids=["behind", "ahead", "half", "unknown communicator"],
)
def test_counts(row: dict[str, Any], ranks: tuple[int, ...], suspects: tuple[int, ...]) -> None:
    (found,) = DETECTOR.detect(case([row, WAIT]))
    assert (found.ranks, found.suspect_ranks) == (ranks, suspects)


def test_communicators_that_disagree_name_nobody() -> None:
    rows = [mismatch([5], [(31, 664), (1, 663)]), mismatch([6], [(7, 9), (1, 8)])]
    (found,) = DETECTOR.detect(case([*rows, WAIT]))
    assert found.ranks == ()


def test_a_snapshot_without_a_time_out_is_no_proof() -> None:
    found = judged(case([mismatch([5], [(31, 664), (1, 663)])]), DETECTOR)
    assert (found.is_proven, found.ranks, found.suspects) == (False, (), (5,))
    assert found.undecided == ("single_snapshot",)


def test_a_rank_that_timed_out_itself_waits_elsewhere() -> None:
    own = {"kind": "collective_timeout", "rank": 5, "seq": 3, "group": "7"}
    (found,) = DETECTOR.detect(case([mismatch([5], [(31, 664), (1, 663)]), WAIT, own]))
    assert (found.ranks, found.suspect_ranks, found.undecided) == ((), (), ("conflicting_evidence",))


def test_silent_where_all_is_well() -> None:
    assert DETECTOR.detect(case([{"kind": "ras_status", "code": "OK", "severity": "info"}, WAIT])) == ()
