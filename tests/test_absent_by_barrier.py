"""Monitored barriers: rank 0 collects, so only its list counts."""

from typing import Any

import pytest

from forensics.detectors.ranks.absent import DETECTOR
from tests.log_cases import case, judged


def missing(ranks: list[int], rank: int | None = 0, **columns: Any) -> dict[str, Any]:
    names = {"names_ranks": ranks, "names_rank_space": "group"}
    return {"kind": "barrier_missing", "rank": rank, **names, **columns}


def test_the_list_of_rank_0_names() -> None:
    found = judged(case([missing([3, 5])], expected=8), DETECTOR)
    assert (found.kind, found.cause, found.ranks, found.is_proven) == ("hang", "rank_absent", (3, 5), True)


def test_lists_of_other_ranks_do_not_count() -> None:
    (found,) = DETECTOR.detect(case([missing([3]), missing([0], rank=1), missing([1], rank=2)], expected=4))
    assert found.ranks == (3,)
    assert DETECTOR.detect(case([missing([0], rank=1), missing([1], rank=2)], expected=4)) == ()


@pytest.mark.parametrize(("ranks", "size", "reason"), [
    ([1, 2, 3], 4, "tied_explanations"), ([1], 2, "two_member_mismatch"),
])  # fmt: skip
def test_half_and_more_may_be_right(ranks: list[int], size: int, reason: str) -> None:
    (found,) = DETECTOR.detect(case([missing(ranks)], expected=size))
    assert (found.ranks, found.undecided) == ((), (reason,))
    assert set(found.suspect_ranks) == {0, *ranks}


def test_a_group_has_as_many_members_as_it_numbers() -> None:
    """Where only the missing rank left a stack, and rank 0's lines tell no rank, one of six or more is few."""
    (found,) = DETECTOR.detect(case([missing([5], rank=None)], stacks=[{"rank": 5}]))
    assert found.ranks == (5,)
    (pair,) = DETECTOR.detect(case([missing([1], rank=None)], stacks=[{"rank": 0}, {"rank": 1}]))
    assert (pair.ranks, pair.undecided) == ((), ("two_member_mismatch",))
    (first,) = DETECTOR.detect(case([missing([1], rank=None)], stacks=[{"rank": 0}]))
    assert first.ranks == (1,)  # of how many, nothing tells


def test_numbers_of_a_group_are_mapped() -> None:
    dp = {"rank": 4, "group": "3", "desc": "dp", "members": [4, 6, 8], "members_space": "global"}
    (found,) = DETECTOR.detect(case([missing([1], rank=4, group="3")], groups=[dp]))
    assert found.ranks == (6,)


def test_unknown_members_name_nobody() -> None:
    tp = {"rank": 0, "group": "9", "desc": "tp", "last_enqueued": 3, "file": "a.log", "line": 1}
    (found,) = DETECTOR.detect(case([missing([1])], progress=[tp], expected=8))
    assert (found.ranks, found.undecided) == ((), ("membership_unknown",))
