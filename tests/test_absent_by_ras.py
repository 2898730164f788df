"""NCCL's RAS: members that are dead or silent, members that are behind, and lists that blame nobody."""

import json
from typing import Any

import pytest

from forensics.detectors.ranks import absent, no_answer
from tests.log_cases import case, judged

WAIT = {"kind": "collective_timeout", "rank": 0, "seq": 7}
Listed = list[tuple[int | None, int]]


def mismatch(
    listed: Listed, counts: list[tuple[int, int]], group: str = "ab12", line: int | None = None
) -> dict[str, Any]:
    """A complaint of the text form. `listed`: rank (null: of a communicator that is not mapped) and its number; `counts`:
    ranks and their number."""
    said = {
        "counts": [{"ranks": ranks, "operation": operation} for ranks, operation in counts],
        "listed": [{"rank": rank, "operation": operation} for rank, operation in listed],
        "op": "AllReduce",
    }
    row = {"kind": "ras_status", "code": "MISMATCH", "severity": "warning", "group": group, "detail": json.dumps(said)}
    return row if line is None else row | {"line": line}


def missing(ranks: list[int], dead: list[int] = (), **columns: Any) -> dict[str, Any]:  # type: ignore[assignment]
    said = {"detail": json.dumps({"dead": dead})} if dead else {}
    names = {"names_ranks": ranks, "names_rank_space": "global", "group": "ab12"}
    return {"kind": "missing_members", "code": "INCOMPLETE", **names, **said, **columns}


def test_a_dead_member_is_named() -> None:
    found = judged(case([missing([21], [21]), WAIT]), no_answer.DETECTOR)
    assert (found.kind, found.cause, found.ranks, found.is_proven) == ("hang", "rank_died", (21,), True)


def test_a_member_that_did_not_answer_may_be_innocent() -> None:
    found = judged(case([missing([21]), WAIT]), no_answer.DETECTOR)
    assert (found.cause, found.ranks, found.suspects) == (None, (), (21,))
    assert found.undecided == ("culprit_among_missing",)


def test_of_two_that_are_missing_the_dead_one() -> None:
    (found,) = no_answer.DETECTOR.detect(case([missing([4, 21], [21]), WAIT]))
    assert found.ranks == (21,)


def test_that_a_member_did_not_answer_is_no_witness_of_time() -> None:
    assert case([missing([21])]).time_witness.stood == ()


@pytest.mark.parametrize(
    ("row", "ranks", "suspects"),
    [
        (mismatch([(5, 663)], [(31, 664), (1, 663)]), (5,), ()),
        (mismatch([(5, 664)], [(31, 663), (1, 664)]), (), ()),
        (mismatch([], [(2, 664), (2, 663)]), (), ()),
        (mismatch([(None, 663)], [(31, 664), (1, 663)]), (), ()),
    ],
    ids=["behind", "ahead", "half", "unknown communicator"],
)
def test_counts(row: dict[str, Any], ranks: tuple[int, ...], suspects: tuple[int, ...]) -> None:
    (found,) = absent.DETECTOR.detect(case([row, WAIT]))
    assert (found.ranks, found.suspect_ranks) == (ranks, suspects)


def test_communicators_that_disagree_name_nobody() -> None:
    rows = [mismatch([(5, 663)], [(31, 664), (1, 663)]), mismatch([(6, 8)], [(7, 9), (1, 8)], "cd34")]
    (found,) = absent.DETECTOR.detect(case([*rows, WAIT]))
    assert (found.ranks, found.suspect_ranks) == ((), (5, 6))


def test_who_waits_for_another_is_not_the_one() -> None:
    rows = [mismatch([(5, 663), (6, 662)], [(30, 664), (1, 663), (1, 662)])]
    (found,) = absent.DETECTOR.detect(case([*rows, WAIT]))
    assert found.ranks == (6,)


def test_a_snapshot_without_a_time_out_is_no_proof() -> None:
    found = judged(case([mismatch([(5, 663)], [(31, 664), (1, 663)])]), absent.DETECTOR)
    assert (found.is_proven, found.ranks, found.suspects) == (False, (), (5,))
    assert found.undecided == ("single_snapshot",)


def test_a_rank_that_timed_out_itself_waits_elsewhere() -> None:
    own = {"kind": "collective_timeout", "rank": 5, "seq": 3, "group": "7"}
    (found,) = absent.DETECTOR.detect(case([mismatch([(5, 663)], [(31, 664), (1, 663)]), WAIT, own]))
    assert (found.ranks, found.suspect_ranks, found.undecided) == ((), (), ("conflicting_evidence",))


def test_silent_where_all_is_well() -> None:
    whole = case([{"kind": "ras_status", "code": "OK", "severity": "info"}, WAIT])
    assert absent.DETECTOR.detect(whole) == () == no_answer.DETECTOR.detect(whole)
