"""A check in pairs: who failed beside every partner."""

import json

from forensics.detectors.hardware.failed_node_check import DETECTOR
from tests.log_cases import case


def check(host: str, peer: str, *, ok: bool) -> dict[str, object]:
    told = json.dumps({"peers": [peer], "test": "allgather"})
    return {
        "kind": "node_check",
        "host": host,
        "code": "ok" if ok else "failed",
        "severity": "info" if ok else "error",
        "detail": told,
    }


def hosts(*events: dict[str, object], **tables: list[dict[str, object]]) -> list[str]:
    return [host for one in DETECTOR.detect(case(list(events), **tables)) for host in one.hosts]


FAILED = (
    check("n5", "n4", ok=False),
    check("n5", "n1", ok=False),
    check("n4", "n5", ok=False),
    check("n1", "n5", ok=False),
)
PARTNERS = (check("n4", "n0", ok=True), check("n1", "n0", ok=True))


def test_it_failed_beside_both_and_they_passed_beside_others() -> None:
    assert hosts(*FAILED, *PARTNERS) == ["n5"]


def test_one_pair_that_failed_accuses_neither() -> None:
    assert hosts(FAILED[0], FAILED[2], *PARTNERS) == []


def test_partners_that_never_passed_may_be_the_bad_ones() -> None:
    assert hosts(*FAILED, PARTNERS[0]) == []


def test_who_passed_it_once_is_not_bad() -> None:
    assert hosts(*FAILED, *PARTNERS, check("n5", "n0", ok=True)) == []


def test_beside_a_job_the_check_before_it_names_nobody() -> None:
    assert hosts(*FAILED, *PARTNERS, ranks=[{"rank": 0, "world_size": 8, "how": "start line"}]) == []


def alone(host: str, test: str, *, ok: bool) -> dict[str, object]:
    return check(host, "", ok=ok) | {"detail": json.dumps({"test": test})}


def test_a_test_that_a_host_makes_alone_accuses_it() -> None:
    fine = [alone(f"n{number}", "ib_loopback", ok=True) for number in range(4)]
    failed = alone("n5", "ib_loopback", ok=False)
    assert hosts(*fine, failed) == ["n5"]
    assert hosts(*fine, failed, alone("n5", "ib_loopback", ok=True)) == []  # its last result
    assert hosts(failed, alone("n6", "ib_loopback", ok=False), fine[0]) == []  # most fail: the test, or what they share


def test_the_meaning_of_a_test_is_told() -> None:
    fine = [alone(f"n{number}", "ib_loopback", ok=True) for number in range(4)]
    (found,) = DETECTOR.detect(case([*fine, alone("n5", "ib_loopback", ok=False)]))
    assert "PCIe" in found.summary


def test_nodes_that_the_tool_calls_faulty_are_told_by_number_or_host() -> None:
    fault = {"kind": "node_check", "code": "failed", "names_ranks": [3], "names_rank_space": "node"}
    assert hosts(fault) == ["node 3"]
    who = {"kind": "membership", "code": "node_rank", "severity": "info", "names_ranks": [3], "names_rank_space": "node",
           "names_hosts": ["10.4.7.13"]}  # fmt: skip
    assert hosts(fault, who) == ["10.4.7.13"]
    assert hosts(fault | {"severity": "warning"}) == []  # one round of several
