"""Hosts that the scheduler calls failed."""

from typing import Any

import pytest

from forensics.analyze import about, detect
from forensics.detectors import DETECTORS
from forensics.detectors.hardware.node_failure import DETECTOR
from forensics.verdict.conclude import choose
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


LOST = {"kind": "other", "code": "node_lost", "names_hosts": ["n1"]}  # as rows of knowledge claim it


def _names(*rows: dict[str, Any]) -> list[tuple[tuple[str, ...], tuple[int, ...]]]:
    whole = case(list(rows), ranks=RANKS)
    findings, _ = detect(whole, DETECTORS)
    return [(one.finding.hosts, one.finding.ranks) for one in choose(whole, findings, about(DETECTORS)).chosen]


@pytest.mark.parametrize("host", ["n1", "n1.cluster.local"])
def test_a_node_that_a_launcher_lost_ends_the_job_without_a_word_of_its_processes(host: str) -> None:
    assert _names(LOST | {"names_hosts": [host]}) == [(("n1",), ())]


@pytest.mark.parametrize(
    "row", [LOST | {"names_hosts": ["n9"]}, LOST | {"severity": "warning"}], ids=["no node of it", "a warning"]
)
def test_of_another_node_or_with_a_warning_nothing_is_over(row: dict[str, Any]) -> None:
    assert _names(row) in ([], [((), ())])


def test_where_a_process_ended_by_itself_a_lost_node_is_no_symptom_of_its_own() -> None:
    assert _names({"kind": "exit", "code": "SIGSEGV", "rank": 7}, LOST)[0] == ((), (7,))


_LOST = {"kind": "other", "code": "node_lost", "severity": "fatal", "file": "master.log", "names_hosts": ["m7"]}
_PODS: list[dict[str, Any]] = [one | {"host": f"pod-{one['rank'] // 2}"} for one in RANKS]


@pytest.mark.parametrize(
    ("missed", "hosts"),
    [
        ({"file": "master.log", "text": "no heartbeat from worker-3 for 120 s"}, ("m7",)),
        ({"file": "agents.log", "text": "agent of worker-3 (m7.example.net) missed 4 beats"}, ("m7",)),
        ({"file": "agents.log", "text": "agent of worker-3 missed 4 beats, m70 answers"}, None),
    ],
)
def test_a_node_that_the_controller_of_the_job_misses_is_of_the_job(
    missed: dict[str, Any], hosts: tuple[str] | None
) -> None:
    found = DETECTOR.detect(case([_LOST, {"kind": "heartbeat_lost", **missed}, *WAITS], ranks=_PODS))
    assert [one.hosts for one in found] == ([hosts] if hosts else [])


def test_a_node_that_nobody_misses_is_of_another_job() -> None:
    assert DETECTOR.detect(case([_LOST, *WAITS], ranks=_PODS)) == ()


TAKEN = {"kind": "scheduler", "code": "preemption", "severity": "fatal"}
NOTICE = TAKEN | {"rank": 3, "text": "Received preemption notice with death_time 2026-03-01T10:01:40"}
SHUT = {"kind": "scheduler", "code": "NodeShutdown", "detail": '{"object": "pod/w-3"}'}
PLACED = {"kind": "scheduler", "code": "Scheduled", "detail": '{"node": "n1", "object": "pod/w-3"}'}


@pytest.mark.parametrize(
    ("rows", "hosts"),
    [
        ([TAKEN | {"text": "compute.instances.preempted   eu-b/instances/n1   DONE"}], ()),
        ([TAKEN | {"text": "Spot instance n1.local will be reclaimed"}], ()),
        ([NOTICE, SHUT, PLACED], ()),
        ([TAKEN | {"text": "compute.instances.preempted   eu-b/instances/n12   DONE"}], ("n1",)),
        ([SHUT, PLACED], ("n1",)),  # for maintenance, or for whatever
        ([NOTICE, PLACED], ("n1",)),
        ([NOTICE, SHUT, PLACED | {"detail": '{"node": "n2", "object": "pod/w-3"}'}], ("n1",)),
    ],
)
def test_a_node_that_a_cloud_takes_away_is_told_in_any_words(
    rows: list[dict[str, Any]], hosts: tuple[str, ...]
) -> None:
    found = DETECTOR.detect(case([FAILED, *WAITS, *rows], ranks=RANKS))
    assert tuple(host for one in found for host in one.hosts) == hosts
