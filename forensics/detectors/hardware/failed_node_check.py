"""Did a host fail its check before the job, and was it the host and not its partner?

A test that a host makes alone accuses that host where it fails, and its last result counts. A check in pairs that fails accuses both. Whoever fails again beside another partner, while each of these partners passed
beside somebody else or failed only there, is the bad one. Only where nothing of a job is in the bundle: what a job shows of
itself tells more than a check before it.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from forensics.case import Case, Detector
from forensics.facts.hosts.checks import host_checks, hosts_of_nodes, meaning
from forensics.facts.rows.event_rows import detail, refs, rows
from forensics.model.finding import Claim, Finding
from forensics.model.incident import Action, FirstAnomaly
from forensics.model.said import Said, joined, sentence
from forensics.words import hardware as words

_ALONE = "alone"


def detect(case: Case) -> tuple[Finding, ...]:
    """Case → at most one finding: the hosts that failed beside every partner."""
    checks = [row for row in rows(case.events, "node_check") if row["host"]]
    failed: dict[str, dict[str, list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for row in checks:
        if row["code"] == "failed":
            failed[row["host"]][" ".join(detail(row).get("peers") or ()) or _ALONE].append(row)
    passed = {(row["host"], detail(row).get("test")) for row in checks if row["code"] == "ok"}
    alone = {host: one for host, one in host_checks(case.events).items() if one.failed}
    if alone and 2 * len(alone) > len({row["host"] for row in checks}):
        alone = {}  # most hosts fail it: the test, or what they share
    hosts = sorted(host for host, beside in failed.items() if _is_bad(host, beside, passed) or host in alone)
    nodes = _bad_nodes(case)
    if case.seen or not (hosts or nodes):
        return ()
    if not hosts:
        return (_of_nodes(case, nodes),)
    told = [row for host in hosts for listed in failed[host].values() for row in listed]
    tests = sorted({str(detail(row).get("test")) for row in told})
    known = [words.TEST_IS_OF(test=test, of=of[0]) for test in tests if (of := meaning(test)) is not None]
    failed_in = words.FAILED_TESTS if set(hosts) & alone.keys() else words.FAILED_BESIDE_ALL
    text = failed_in(hosts=joined(hosts, ", "), tests=joined(tests, ", "))
    text = words.TESTS_ARE_OF(text=text, tests=joined(known[:2], "; ")) if known else text
    return (_finding(hosts, text, told),)


def _bad_nodes(case: Case) -> list[int]:
    """Nodes that the tool itself calls faulty, by their numbers, after its rounds."""
    said = [row for row in rows(case.events, "node_check") if row["names_rank_space"] == "node"]
    return sorted({node for row in said if row["severity"] == "error" for node in row["names_ranks"] or ()})


def _of_nodes(case: Case, nodes: list[int]) -> Finding:
    names = hosts_of_nodes(case.events)
    hosts = tuple(names.get(node) or words.NODE(number=node) for node in nodes)
    said = [row for row in rows(case.events, "node_check") if set(row["names_ranks"] or ()) & set(nodes)]
    return _finding(hosts, words.CALLED_FAULTY(hosts=joined(hosts, ", ")), said)


def _finding(hosts: Sequence[str], text: Said, told: Sequence[dict[str, Any]]) -> Finding:
    drained = tuple(
        Action(
            kind="drain_node", target=host, command=None, reason=words.FAILED_CHECK, look=words.LOOK_AT_CHECK,
            then=words.THEN_OF_CHECK, source="DLRover: node check, in pairs",
        )
        for host in hosts
    )  # fmt: skip
    return Finding(
        hosts=tuple(hosts),
        domain="infrastructure",
        claims=(Claim(text, "for", refs(told)),),
        first_anomaly=FirstAnomaly(host=hosts[0] if len(hosts) == 1 else None, signature="node_check"),
        actions=drained,
        summary=sentence(text),
    )


def _is_bad(host: str, beside: dict[str, list[dict[str, Any]]], passed: set[tuple[str, Any]]) -> bool:
    """Did it fail a test beside two partners at least, never pass it, and did each of its partners pass it?"""
    tests = {detail(row).get("test") for listed in beside.values() for row in listed}
    partners = [peers.split() for peers in beside if peers != _ALONE]
    fine = all((peer, test) in passed for peers in partners for peer in peers for test in tests)
    return len(partners) > 1 and fine and not any((host, test) in passed for test in tests)


DETECTOR = Detector("failed_node_check", ("events",), detect, "never_started")
