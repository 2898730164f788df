"""Desync reports: whom they may name, and whose numbers they use."""

import json
from typing import Any

import pytest

from forensics.detectors.ranks.absent import DETECTOR
from tests.log_cases import case, judged

DEFAULT = {"rank": 0, "group": "0", "desc": "default_pg", "last_enqueued": 9, "file": "a.log", "line": 2}


def report(
    lagging: list[int], others: list[int], rank: int = 0, reported_by: int | None = None, **columns: Any
) -> dict[str, Any]:
    said = {
        "lagging": [{"ranks": lagging, "state": "finished", "count": 6, "missing": 7}],
        "snapshot": [{"count": 7, "state": "started", "op": "all_reduce", "ranks": others}],
        "reported_by": reported_by,
    }
    names = {"names_ranks": lagging, "names_rank_space": "group", "detail": json.dumps(said)}
    return {"kind": "desync", "rank": rank, "op": "all_reduce", **names, **columns}


def test_one_of_four_in_the_default_group_is_named() -> None:
    found = judged(case([report([3], [0, 1, 2])], progress=[DEFAULT]), DETECTOR)
    assert (found.kind, found.cause, found.ranks, found.is_proven) == ("hang", "rank_absent", (3,), True)


def test_a_group_of_two_names_nobody() -> None:
    (found,) = DETECTOR.detect(case([report([1], [0])], progress=[DEFAULT]))
    assert (found.ranks, found.suspect_ranks, found.undecided) == ((), (0, 1), ("two_member_mismatch",))


def test_numbers_of_a_group_are_mapped_through_its_members() -> None:
    dp = {"rank": 1, "group": "dp1", "members": [1, 5, 9, 13], "members_space": "global"}
    (found,) = DETECTOR.detect(case([report([2], [0, 1, 3], rank=1, group="dp1")], groups=[dp]))
    assert found.ranks == (9,)


def test_unknown_group_names_nobody() -> None:
    other = DEFAULT | {"group": "7", "desc": "dp"}
    (found,) = DETECTOR.detect(case([report([2], [0, 1, 3])], progress=[other], expected=16))
    assert (found.ranks, found.undecided) == ((), ("membership_unknown",))


def test_a_report_that_blames_most_is_not_believed() -> None:
    (found,) = DETECTOR.detect(case([report([1, 2, 3], [0])], progress=[DEFAULT]))
    assert (found.ranks, found.suspect_ranks) == ((), (0, 1, 2, 3))


def test_reports_that_disagree_name_nobody() -> None:
    rows = [report([3], [0, 1, 2]), report([2], [0, 1, 3])]
    (found,) = DETECTOR.detect(case(rows, progress=[DEFAULT]))
    assert (found.ranks, found.undecided) == ((), ("tied_explanations",))


@pytest.mark.parametrize(("rank", "named"), [(1, (3,)), (0, ())], ids=["number 1 is rank 1", "number 0 proves nothing"])
def test_the_reporters_own_number_tells_whose_numbers_they_are(rank: int, named: tuple[int, ...]) -> None:
    row = report([3], [0, 1, 2], rank=rank, reported_by=rank)
    (found,) = DETECTOR.detect(case([row]))
    assert found.ranks == named


def test_silent_without_a_report() -> None:
    assert DETECTOR.detect(case([{"kind": "collective_timeout", "rank": 0, "seq": 7}])) == ()
