"""The network: where it failed, and when a closed connection is only an echo."""

import json
from typing import Any

import pytest

from forensics.detectors import DETECTORS
from forensics.detectors.hardware.network import DETECTOR
from tests.log_cases import case, judged


def failed(host: str, peer: str, code: str = "12", **columns: Any) -> dict[str, Any]:
    return {"kind": "completion_error", "code": code, "host": host, "names_hosts": [peer], **columns}


def port(host: str) -> dict[str, Any]:
    return {"kind": "port_error", "host": host, "detail": json.dumps({"library": "NCCL"})}


def test_a_pair_leaves_both_ends() -> None:
    found = judged(case([failed("n1", "n2")]), DETECTOR)
    assert (found.kind, found.cause, found.ranks, found.hosts) == ("crash", "network_fault", (), ())
    assert (found.finding.links, found.suspect_hosts, found.is_proven) == ((("n1", "n2"),), ("n1", "n2"), False)


def test_many_name_one() -> None:
    found = judged(case([failed("n1", "n9"), failed("n2", "n9"), failed("n3", "n9")]), DETECTOR)
    assert (found.hosts, found.is_proven, found.ranks) == (("n9",), True, ())


def test_an_address_is_the_host_that_listens_on_it() -> None:
    claims = [{"host": "n9.site.org", "address": "10.0.0.9", "how": "reverse lookup"}]
    (found,) = DETECTOR.detect(case([failed("n1", "10.0.0.9"), failed("n2", "n9")], ranks=claims))
    assert found.hosts == ("n9",)


@pytest.mark.parametrize("address", ["172.17.0.1", "127.0.0.1", "169.254.3.1", "fe80::1%eth0"])
@pytest.mark.parametrize(
    "claimed_by",
    [[], ["n8", "n9"], ["n9"]],
    ids=["nobody says whose it is", "several hosts have it", "only n9 tells its addresses"],
)
def test_an_address_that_every_host_has_is_nobodys_name(address: str, claimed_by: list[str]) -> None:
    claims = [{"host": host, "address": address, "how": "NCCL bootstrap address"} for host in claimed_by]
    found = judged(case([failed(f"n{at}", address) for at in (1, 2, 3)], ranks=claims), DETECTOR)
    assert (found.hosts, found.suspect_hosts, found.ranks) == ((), (), ())


def test_of_hosts_that_say_their_addresses_one_alone_took_the_bridge() -> None:
    claims = [{"host": f"n{at}", "address": f"10.0.0.{at}", "how": "NCCL bootstrap address"} for at in (1, 2, 3)]
    claims.append({"host": "n9", "address": "172.17.0.1", "how": "NCCL bootstrap address"})
    (found,) = DETECTOR.detect(case([failed(f"n{at}", "172.17.0.1") for at in (1, 2, 3)], ranks=claims))
    assert found.hosts == ("n9",)


def test_flushed_requests_are_secondary() -> None:
    rows = [failed("n1", "n9"), failed("n2", "n9"), failed("n3", "n4", code="5"), failed("n4", "n5", code="5")]
    (found,) = DETECTOR.detect(case(rows))
    assert found.hosts == ("n9",)


def test_a_port_that_reports_itself_is_a_second_observer() -> None:
    found = judged(case([port("n2"), failed("n1", "n2")]), DETECTOR)
    assert (found.hosts, found.status) == (("n2",), "established")


def test_a_port_that_reports_itself_is_surer_than_addresses() -> None:
    rows = [port("n2"), failed("n1", "10.0.0.2"), failed("n2", "10.0.0.3"), failed("n3", "10.0.0.2")]
    (found,) = DETECTOR.detect(case(rows))
    assert found.hosts == ("n2",)


def test_the_only_one_that_reports_is_a_suspect_and_its_peers_are_none() -> None:
    found = judged(case([failed("n3", "n1"), failed("n3", "n2"), failed("n3", "n4")]), DETECTOR)
    assert (found.hosts, found.suspect_hosts, found.is_proven) == ((), ("n3",), False)
    assert "no host in common" not in found.finding.summary


def test_several_hosts_whose_ports_report_themselves_are_the_suspects() -> None:
    pairs = [failed("n1", "n5"), failed("n1", "n8"), failed("n4", "n8"), failed("n2", "n6")]
    found = judged(case([port("n5"), port("n6"), *pairs]), DETECTOR)
    assert (found.hosts, found.suspect_hosts, found.finding.links) == ((), ("n5", "n6"), ())


def rack(**where: str) -> list[dict[str, Any]]:
    return [{"host": host, "sort": "switch", "name": name} for host, name in where.items()]


def test_hosts_whose_ports_went_down_together_are_named_with_what_they_share() -> None:
    pairs = [failed("n1", "n5"), failed("n2", "n6"), failed("n6", "n3"), failed("n5", "n4")]
    places = rack(**{f"n{at}": "leaf1" if at < 5 else "leaf2" for at in range(1, 7)})
    lives = [{"host": f"n{at}", "rank": at, "how": "NCCL init"} for at in range(1, 7)]
    found = judged(case([port("n5"), port("n6"), *pairs], ranks=lives, locations=places), DETECTOR)
    assert (found.hosts, found.suspect_hosts, found.is_proven) == (("n5", "n6"), (), True)


def test_a_host_whose_port_flapped_beside_them_is_not_named() -> None:
    """No transfer with n4 failed. n3 is the last of the chain, whose port says nothing."""
    pairs = [failed("n1", "n5"), failed("n2", "n6"), failed("n6", "n3"), failed("n5", "n2")]
    found = judged(case([port("n4"), port("n5"), port("n6"), *pairs]), DETECTOR)
    assert (found.hosts, found.suspect_hosts) == ((), ("n3", "n4", "n5", "n6"))


def test_of_several_ports_that_of_the_host_where_all_reports_meet_is_named_alone() -> None:
    """n2 lost its port, too, and names n5 as all others do: it may have come back."""
    pairs = [failed("n1", "n5"), failed("n2", "n5"), failed("n3", "n5")]
    found = judged(case([port("n2"), port("n5"), *pairs]), DETECTOR)
    assert found.hosts == ("n5",)


def test_with_time_outs_it_is_a_hang() -> None:
    found = judged(case([failed("n1", "n2"), {"kind": "collective_timeout", "rank": 0, "seq": 3}]), DETECTOR)
    assert found.kind == "hang"


def test_closed_connections_alone_have_no_cause() -> None:
    closed = {"kind": "peer_closed", "host": "n1", "names_hosts": ["10.0.0.2"]}
    found = judged(case([closed]), DETECTOR)
    assert (found.cause, found.hosts, found.suspect_hosts, found.is_proven) == (None, (), ("10.0.0.2", "n1"), False)


@pytest.mark.parametrize(
    "other",
    [
        {"kind": "exception", "code": "ValueError", "rank": 3},
        {"kind": "collective_timeout", "rank": 0, "seq": 3},
    ],
    ids=["somebody died", "somebody timed out"],
)
def test_closed_connections_are_the_echo_of_something_else(other: dict[str, Any]) -> None:
    assert DETECTOR.detect(case([{"kind": "peer_closed", "host": "n1", "names_hosts": ["n2"]}, other])) == ()


def test_a_death_outranks_the_transfers_it_broke() -> None:
    whole = case([failed("n1", "n9"), failed("n2", "n9"), {"kind": "gpu_oom", "rank": 3, "host": "n9"}])
    best = judged(whole, *DETECTORS)
    assert (best.cause, best.ranks) == ("gpu_oom", (3,))


def test_a_link_of_a_host_outside_the_job_does_not_count() -> None:
    down = {"kind": "link_down", "severity": "warning", "host": "n99"}
    assert DETECTOR.detect(case([down, {"kind": "exception", "code": "ValueError", "rank": 0, "host": "n1"}])) == ()


def test_a_port_that_failed_hours_before_the_wait_does_not_count() -> None:
    hour = 3_600_000_000_000
    wait = {"kind": "collective_timeout", "rank": 0, "seq": 3, "time_ns": 20 * hour, "time_basis": "utc", "value": 6e5}
    at = {"time_basis": "utc", "rank": 1}
    assert DETECTOR.detect(case([port("n2") | at | {"time_ns": 10 * hour}, wait])) == ()
    (found,) = DETECTOR.detect(case([port("n2") | at | {"time_ns": 20 * hour - 601 * 10**9}, wait]))
    assert found.hosts == ("n2",)


@pytest.mark.parametrize("code", ["10", "IBV_WC_REM_ACCESS_ERR", "REM_INV_REQ_ERR", "Invalid address"])
def test_what_the_other_end_refused_passed_every_link(code: str) -> None:
    (found,) = DETECTOR.detect(case([failed("n1", "n2", code=code)]))
    assert "refused by the other end" in found.summary and "after all retries" not in found.summary
    assert [(one.kind, one.target) for one in found.actions] == [("check_config", "n1, n2")]
    assert found.suspect_hosts == ("n1", "n2")


@pytest.mark.parametrize("codes", [("12",), ("10", "12"), ("Unresponsive remote",), ("13", "13")])
def test_one_that_was_not_answered_may_be_the_link(codes: tuple[str, ...]) -> None:
    (found,) = DETECTOR.detect(case([failed("n1", "n2", code=code) for code in codes]))
    assert "after all retries" in found.summary
    assert {one.kind for one in found.actions} == {"inspect_network"}


def test_a_port_that_reports_itself_is_looked_at_whatever_the_other_end_said() -> None:
    (found,) = DETECTOR.detect(case([failed("n1", "n2", code="10"), port("n2")]))
    assert {one.kind for one in found.actions} == {"inspect_network"}
