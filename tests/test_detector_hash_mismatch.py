"""Replicas of the weights that differ by the job's own check: few are wrong; of half or more nobody is named."""

import pytest

from forensics.detectors.numerics import hash_mismatch
from tests.log_cases import case, judged


def _said(rank: int) -> dict[str, object]:
    detail = '{"parameter": "module.a.weight"}'
    return {"kind": "replica_mismatch", "code": "differs", "rank": rank, "names_ranks": [rank],
            "names_rank_space": "global", "detail": detail, "file": f"{rank}.log"}  # fmt: skip


def _raised(rank: int) -> list[dict[str, object]]:
    """The error that every rank of the job raises afterwards, as its traceback and as the check's own word."""
    same = {"rank": rank, "file": f"{rank}.log", "line": 9, "text": "AssertionError: Parameter hashes not matching"}
    return [
        same | {"kind": "exception", "code": "AssertionError"},
        same | {"kind": "replica_mismatch", "code": "raised"},
    ]


@pytest.mark.parametrize(
    ("differ", "ranks", "suspects"),
    [((5,), (5,), ()), ((1, 2, 3), (1, 2, 3), ()), (tuple(range(1, 8)), (), (0,)), ((4, 5, 6, 7), (), (0, 1, 2, 3))],
)
def test_who_differs(differ: tuple[int, ...], ranks: tuple[int, ...], suspects: tuple[int, ...]) -> None:
    rows = [row for rank in range(8) for row in _raised(rank)]
    found = judged(case([*map(_said, differ), *rows], expected=8), hash_mismatch.DETECTOR)
    assert (found.kind, found.ranks, found.finding.suspect_ranks) == ("numerics", ranks, suspects)
    assert found.finding.first_anomaly.module == "module.a.weight"


def test_a_raised_check_alone_says_nothing_of_anybody() -> None:
    assert hash_mismatch.DETECTOR.detect(case(_raised(0), expected=8)) == ()
