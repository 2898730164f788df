"""Fingerprints of collectives: a majority of all members names, anything less does not."""

import json
from pathlib import Path
from typing import Any

import pytest

from forensics import analyze
from forensics.detectors import DETECTORS
from forensics.detectors.ranks.mismatch import DETECTOR
from reports.answer import actions
from tests.log_cases import case, judged


def one(rank: int, op: str = "all_reduce", shape: str = "[4]", incomplete: bool = False) -> dict[str, Any]:
    return {"rank": rank, "op": op, "shape": shape, "dtypes": "Float", "seq": 7, "incomplete": incomplete}


def row(a: dict[str, Any], b: dict[str, Any]) -> dict[str, Any]:
    names = {"names_ranks": [a["rank"], b["rank"]], "names_rank_space": "group"}
    return {"kind": "fingerprint_mismatch", "rank": a["rank"], "detail": json.dumps({"a": a, "b": b}), **names}


ODD = one(2, shape="[8]")
ALL = [row(one(0), ODD), row(one(1), ODD), row(one(3), ODD), row(ODD, one(0))]


@pytest.mark.parametrize("expected", [None, 4], ids=["all printed", "size known"])
def test_one_against_three_is_named(expected: int | None) -> None:
    found = judged(case(ALL, expected=expected), DETECTOR)
    assert (found.cause, found.ranks, found.is_proven) == ("collective_mismatch", (2,), True)


def test_two_of_eight_are_no_majority() -> None:
    (found,) = DETECTOR.detect(case([row(one(0), ODD), row(one(1), ODD)], expected=8))
    assert (found.ranks, found.suspect_ranks) == ((), (0, 1, 2))


def test_two_ranks_are_both_suspects() -> None:
    (found,) = DETECTOR.detect(case([row(one(1), one(0, shape="[8]"))]))
    assert (found.ranks, found.suspect_ranks, found.undecided) == ((), (0, 1), ("two_member_mismatch",))


@pytest.mark.parametrize("other", [one(0, shape="[8]"), one(0, op="all_gather")], ids=["size", "operation"])
def test_calls_that_differ_are_a_matter_of_code_and_not_of_kernels(tmp_path: Path, other: dict[str, Any]) -> None:
    shown = [
        f"Rank {side['rank']} is running collective: CollectiveFingerPrint(SequenceNumber=7, OpType={side['op'].replace('_', '').upper()}, "
        f"TensorShape={side['shape']}, TensorDtypes=Float, TensorDeviceTypes=TensorOptions(dtype=float (default), device=cuda))"
        for side in (one(1), other)
    ]
    (tmp_path / "train.log").write_text(
        f"[rank1]: RuntimeError: Detected mismatch between collectives on ranks. {shown[0]}, but {shown[1]}.\n"
    )
    incident = analyze(tmp_path).incidents[0]
    first, *rest = actions(incident)
    assert (incident.verdict.cause, incident.verdict.ranks) == ("collective_mismatch", [])
    assert first.kind == "check_code" and first.look and first.then
    assert not {"kernel", "port"} & {kind for action in rest for kind in action.setup}


def test_a_fingerprint_that_never_came_is_nobodys_call() -> None:
    (found,) = DETECTOR.detect(case([row(one(1), one(0, op="gather", incomplete=True))], expected=2))
    assert (found.ranks, found.suspect_ranks) == ((), (0, 1))


def test_the_exception_on_the_same_line_accuses_nobody() -> None:
    mismatch = row(one(1), one(0, shape="[8]")) | {"line": 5}
    raised = {"kind": "exception", "code": "RuntimeError", "rank": 1, "line": 5}
    best = judged(case([mismatch, raised]), *DETECTORS)
    assert (best.finding.detector, best.ranks) == ("mismatch", ())


def test_silent_without_fingerprints() -> None:
    assert DETECTOR.detect(case([{"kind": "exception", "code": "RuntimeError", "rank": 1}])) == ()
