"""What hosts in question share, and when that is no more than chance. It accuses nobody."""

from typing import Any

import pytest

from forensics.detectors.hardware import odd_telemetry
from forensics.facts.rows.locations import Locations
from forensics.model.incident import Incident
from parsers.schema.tables import table
from reports import html
from tests.hang_tables import Rows
from tests.log_cases import case

HOSTS = 32


def at(host: int, name: str, sort: str = "switch", part: str | None = None) -> dict[str, Any]:
    return {"host": f"node{host}", "sort": sort, "name": name, "part": part}


def site(per_switch: int, sort: str = "switch") -> list[dict[str, Any]]:
    return [at(host, f"s{host // per_switch}", sort) for host in range(HOSTS)]


def failed(hosts: list[int], rows: list[dict[str, Any]]) -> Incident:
    """A rank a host; those of `hosts` are killed."""
    job = Rows(HOSTS, per_host=1).placed()
    for row in rows:
        job.add("locations", **row)
    for rank in hosts:
        job.event("exit", rank=rank, code="SIGKILL", host=f"node{rank}")
    return job.incident(expected=HOSTS, hung=False)


def told(incident: Incident) -> list[tuple[str, str]]:
    return [
        (item.direction, item.claim)
        for item in incident.evidence
        if " share " in item.claim or " stands at " in item.claim
    ]


def test_hosts_that_failed_on_one_switch() -> None:
    incident = failed([4, 5, 6], site(4))
    [(direction, text)] = told(incident)
    assert direction == "for"
    assert "node4, node5, node6 (all 3) share switch s1, which holds 4 of 32 hosts of this job: chance 0.0065" in text
    [target] = [action.target for action in incident.actions if "share" in action.target]
    assert target == "switch s1, which node4, node5, node6 share"


@pytest.mark.parametrize(
    ("hosts", "rows"),
    [
        ([4, 5], site(32)),
        ([4, 5], site(16)),
        ([0, 9], [*site(4), *[at(host, "row1", "row") for host in range(24)], *[at(host, "row2", "row") for host in range(24, 32)]]),
    ],
    ids=["one switch for all", "half of all", "most of all"],
)  # fmt: skip
def test_what_most_hosts_share_tells_nothing(hosts: list[int], rows: list[dict[str, Any]]) -> None:
    incident = failed(hosts, rows)
    [(direction, text)] = told(incident)
    assert direction == "unseen"
    assert text.endswith("no more than chance")
    assert not [action for action in incident.actions if "share" in action.target]


def test_hosts_apart_share_nothing() -> None:
    assert told(failed([0, 9, 17], site(4))) == []


def test_the_map_accuses_no_neighbour_and_changes_no_verdict() -> None:
    with_map, without = failed([4, 5, 6], site(4)), failed([4, 5, 6], [])
    assert with_map.verdict == without.verdict
    assert (with_map.verdict.ranks, "node7" in with_map.verdict.hosts) == ([4, 5, 6], False)


def test_of_one_host_its_neighbours_are_told() -> None:
    assert told(failed([5], site(4, "rack"))) == [
        ("unseen", "node5 stands at rack s1, with node4, node6, node7 of this job")
    ]


def test_rails_that_hold_the_same_hosts_are_one_place() -> None:
    rows = [at(host, f"leaf{host // 4}-{rail}", "switch", f"mlx5_{rail}") for host in range(HOSTS) for rail in range(8)]
    [(_, text)] = told(failed([4, 5, 6], rows))
    assert "share switch leaf1-0, switch leaf1-1, switch leaf1-2, switch leaf1-3, …" in text
    assert "over 8 places asked" in text


def test_hosts_of_others_are_no_part_of_the_count() -> None:
    rows = [*site(4), *({**at(0, "s1"), "host": f"other{number}"} for number in range(100))]
    assert "which holds 4 of 32 hosts of this job" in told(failed([4, 5, 6], rows))[0][1]


def test_the_page_has_the_map_with_who_is_in_question_first() -> None:
    job = Rows(HOSTS, per_host=1).placed().event("exit", rank=6, code="SIGKILL", host="node6")
    for row in [*site(4), *site(32, "zone")]:
        job.add("locations", **row)
    report = job.report(HOSTS, hung=False)
    rows = report.incidents[0].views.locations
    assert (rows[0].places, rows[0].size, rows[0].asked, len(rows)) == (["switch s1"], 4, ["node6"], 8)
    page = html.render(report)
    assert "Where hosts stand" in page
    assert "switch s1" in page


def test_ports_of_one_rail_that_lost_their_link_share_a_switch() -> None:
    rows = [at(host, f"leaf{host // 4}-{rail}", "switch", f"mlx5_{rail}") for host in range(HOSTS) for rail in range(8)]
    both = Locations(table("locations", rows), frozenset(f"node{host}" for host in range(HOSTS)))
    shared = both.shared_ports([(f"node{host}", "mlx5_3/1") for host in (4, 5, 6)])
    assert shared is not None
    assert (shared.name, shared.there, shared.placed, shared.is_likely) == ("switch leaf1-3", 4, 256, True)
    apart = both.shared_ports([("node4", "mlx5_3/1"), ("node5", "mlx5_4/1")])
    assert apart is None


def hot(hosts: list[int], rows: list[dict[str, Any]], metric: str = "temperature.gpu", part: str | None = None) -> str:
    devices = [
        {"host": f"node{host}", "device_index": None if part else 0, "part": part, "metric": metric,
         "value": 95.0 if host in hosts else 60.0, "time_ns": moment * 10**9}
        for host in range(HOSTS) for moment in range(4)
    ]  # fmt: skip
    ranks = [{"rank": host, "host": f"node{host}", "how": "init", "device_index": 0} for host in range(HOSTS)]
    found = odd_telemetry.DETECTOR.detect(case(devices=devices, ranks=ranks, locations=rows))
    assert all((one.ranks, one.hosts, one.suspect_hosts) == ((), (), ()) for one in found)
    return found[0].summary if found else ""


def test_a_rack_that_is_hot() -> None:
    assert "temperature apart: node4, node5, node6, node7 (all 4) share rack s1" in hot([4, 5, 6, 7], site(4, "rack"))
    assert "share" not in hot([4, 9, 17, 30], site(4, "rack"))
    assert "share" not in hot([4, 5, 6, 7], site(16, "rack"))
