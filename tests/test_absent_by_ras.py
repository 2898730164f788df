"""NCCL's RAS: members that are dead or silent, members that are behind, and lists that blame nobody."""

import json
from typing import Any

import pytest

from forensics.detectors.ranks import absent, no_answer
from forensics.detectors.ranks import mismatch as mismatch_of_calls
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


def counted(ranks: dict[int, dict[str, int]], at_s: int = 0, group: str = "ab12") -> list[dict[str, Any]]:
    """Rows of a report in JSON: rank → kind → launched."""
    same = {"group": group, "how": "ras", "file": f"ras_{at_s}.json", "line": None, "record": 0}
    same |= {"time_ns": (1_769_854_000 + at_s) * 1_000_000_000}
    return [
        {"rank": rank, "desc": kind, "last_enqueued": number, **same}
        for rank, kinds in ranks.items()
        for kind, number in kinds.items()
    ]


BEHIND = {rank: {"all_reduce": 9 - (rank == 2), "broadcast": 4} for rank in range(4)}
SIZE = [{"group": "ab12", "size": 4, "how": "ras"}]
STATUS = {"kind": "ras_status", "code": "MISMATCH", "severity": "warning"}


def test_two_reports_with_the_same_numbers_are_a_witness_of_time() -> None:
    twice = [*counted(BEHIND), *counted(BEHIND, 60)]
    found = judged(case([STATUS], progress=twice, expected=4), absent.DETECTOR)
    assert (found.cause, found.ranks, found.undecided) == ("rank_absent", (2,), ("single_snapshot",))
    assert case([STATUS], progress=counted(BEHIND), expected=4).time_witness.stood == ()
    shortly = [*counted(BEHIND), *counted(BEHIND, 1)]
    assert case([STATUS], progress=shortly, expected=4).time_witness.stood == ()


def test_numbers_that_rise_show_a_running_job() -> None:
    later = {rank: {kind: number + 3 for kind, number in kinds.items()} for rank, kinds in BEHIND.items()}
    found = judged(case([STATUS], progress=[*counted(BEHIND), *counted(later, 60)], expected=4), absent.DETECTOR)
    assert (found.kind, found.ranks, found.suspects, found.undecided) == ("unknown", (), (), ("no_hang",))


def test_the_same_report_twice_is_one_look() -> None:
    copy = [row | {"file": "copy.json"} for row in counted(BEHIND)]
    assert case([STATUS], progress=[*counted(BEHIND), *copy], expected=4).time_witness.stood == ()


def test_several_that_are_behind_alike_may_all_be_victims() -> None:
    two = {rank: {"all_reduce": 9 - (rank > 5)} for rank in range(8)}
    (found,) = absent.DETECTOR.detect(case([STATUS, WAIT], progress=counted(two), expected=8))
    assert (found.ranks, found.suspect_ranks) == ((), (6, 7))


def test_more_of_one_kind_and_fewer_of_another_is_another_call() -> None:
    odd = {rank: {"all_reduce": 9 - (rank == 2), "broadcast": 4 + (rank == 2)} for rank in range(4)}
    found = judged(case([STATUS], progress=counted(odd), groups=SIZE, expected=4), mismatch_of_calls.DETECTOR)
    assert (found.cause, found.ranks) == ("collective_mismatch", (2,))
    pair = {rank: odd[rank] for rank in (1, 2)}
    assert mismatch_of_calls.DETECTOR.detect(case([STATUS], progress=counted(pair), expected=2)) == ()
    assert mismatch_of_calls.DETECTOR.detect(case([STATUS], progress=counted(BEHIND), expected=4)) == ()
