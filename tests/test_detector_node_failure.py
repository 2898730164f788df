"""Hosts that the scheduler calls failed."""

from typing import Any

import pytest

from forensics.detectors import DETECTORS
from forensics.detectors.hardware.node_failure import DETECTOR
from parsers.scheduling import slurm
from tests.lines import lines
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


def lost(rank: int, host: str) -> dict[str, Any]:
    return {"kind": "peer_closed", "code": "store", "rank": rank, "names_hosts": [host]}


STORE = [{"kind": "store_timeout", "code": "store_lost", "rank": rank} for rank in range(2, 8)]


def test_a_host_of_the_job_that_left_no_line_of_its_own() -> None:
    """The host of the key-value store: the others name it as the end of their connections."""
    told = [FAILED | {"host": "n0"}, *(lost(rank, "n0") for rank in range(2, 8)), *STORE]
    found = judged(case(told, ranks=RANKS[2:]), *DETECTORS)
    assert (found.finding.cause, found.finding.hosts, found.finding.ranks) == ("rank_died", ("n0",), ())


def test_a_host_of_another_job_stays_out_whoever_lost_connections() -> None:
    told = [FAILED | {"host": "n9"}, *(lost(rank, "n0") for rank in range(2, 8)), *STORE]
    assert DETECTOR.detect(case(told, ranks=RANKS[2:])) == ()


def test_whoever_prints_that_some_node_failed_is_not_that_node() -> None:
    text = "slurmstepd: error: *** STEP 7.0 ON n2 CANCELLED AT 2026-03-01T10:01:40 DUE TO NODE FAILURE, SEE SLURMCTLD LOG ***"
    rows = slurm.PARSER.parse(lines(text, path_host="n2"))["events"].rows(named=True)
    assert [row["code"] for row in rows] == ["node_failure"]
    assert DETECTOR.detect(case([*rows, *WAITS], ranks=RANKS)) == ()


@pytest.mark.parametrize(("host", "found"), [("n1", 0), ("n2", 1)], ids=["that node", "another one"])
def test_a_node_that_is_taken_away_failed_in_nothing(host: str, found: int) -> None:
    taken = {"kind": "scheduler", "code": "preemption", "host": host, "names_hosts": [host], "severity": "info"}
    assert len(DETECTOR.detect(case([FAILED | {"code": "NodeNotReady"}, taken, *WAITS], ranks=RANKS))) == found
