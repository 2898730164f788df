"""Hosts that the scheduler calls failed."""

from typing import Any

import pytest

from forensics.detectors import DETECTORS
from forensics.detectors.hardware.node_failure import DETECTOR
from tests.log_cases import case, judged

RANKS: list[dict[str, Any]] = [
    {"rank": rank, "how": "init", "host": f"n{rank // 2}", "world_size": 8} for rank in range(8)
]
FAILED = {"kind": "scheduler", "code": "node_failure", "host": "n1", "severity": "fatal"}
WAITS = [{"kind": "collective_timeout", "rank": rank, "seq": 7} for rank in (0, 1, 4, 5, 6, 7)]


def test_the_host_is_named_and_no_rank() -> None:
    found = judged(case([FAILED, *WAITS], ranks=RANKS), *DETECTORS)
    assert (found.kind, found.finding.hosts, found.finding.ranks) == ("hang", ("n1",), ())


@pytest.mark.parametrize("code", ["node_failure", "node_fail", "NodeNotReady"])
def test_the_words_of_several_schedulers(code: str) -> None:
    (found,) = DETECTOR.detect(case([FAILED | {"code": code}, *WAITS], ranks=RANKS))
    assert found.hosts == ("n1",)


def test_a_host_outside_the_job() -> None:
    assert DETECTOR.detect(case([FAILED | {"host": "n9"}, *WAITS], ranks=RANKS)) == ()
