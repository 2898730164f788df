"""Processes that ended with an error, where the launcher alone speaks."""

from typing import Any

import pytest

from forensics.detectors.failed_exit import DETECTOR
from tests.log_cases import case


def ended(code: str, *ranks: int) -> list[dict[str, Any]]:
    return [{"kind": "exit", "code": code, "rank": rank} for rank in ranks]


@pytest.mark.parametrize(
    ("rows", "suspects"),
    [
        ([*ended("1", 5), *ended("-15", 0, 1, 2, 3, 4, 6, 7)], (5,)),
        (ended("1", *range(8)), ()),
        ([*ended("-6", 0, 1, 2, 3, 5, 6, 7), *ended("-15", 4)], (4,)),
        ([*ended("1", 0, 1, 2, 3, 5, 6, 7), *ended("-15", 4)], ()),
        ([*ended("-6", 0, 1), *ended("-15", 2, 3)], ()),
    ],
    ids=["one failed", "all failed", "one did not abort", "one did not fail", "half and half"],
)
def test_who_has_to_be_looked_at(rows: list[dict[str, Any]], suspects: tuple[int, ...]) -> None:
    (found,) = DETECTOR.detect(case(rows))
    assert (found.kind, found.cause, found.ranks, found.strong) == ("crash", None, (), False)
    assert (found.suspect_ranks, found.undecided) == (suspects, ("tied_explanations",))


@pytest.mark.parametrize(
    "rows",
    [
        ended("-15", 0, 1),
        ended("0", 0, 1),
        [*ended("1", 5), *ended("0", 0)],
        [*ended("1", 5), {"kind": "gpu_oom", "rank": 3}],
        [*ended("1", 5), {"kind": "collective_timeout", "rank": 3, "seq": 4}],
        [*ended("1", 5), {"kind": "peer_closed", "rank": 3}],
    ],
    ids=["stopped", "ended", "others ended well", "somebody died", "somebody timed out", "somebody lost a peer"],
)
def test_where_more_is_told(rows: list[dict[str, Any]]) -> None:
    assert DETECTOR.detect(case(rows)) == ()
