"""What stands beside the proof: schedulers, checks, how much of a host is lost."""

import json
from typing import Any

from tests.hang_tables import Rows


def lost(rank: int = 5, world: int = 16) -> Rows:
    """One rank is killed, all others time out."""
    job = Rows(world).placed()
    job.event("exit", rank=rank, code="SIGKILL", severity="error")
    for other in range(world):
        if other != rank:
            job.timeout(other, "world", 7)
    return job


def claims(job: Rows) -> list[tuple[str, str]]:
    return [(one.claim, one.direction) for one in job.incident(hung=False).evidence]


def said(job: Rows, words: str) -> list[str]:
    return [direction for text, direction in claims(job) if words in text]


def test_one_process_of_a_host_is_told_apart_from_the_host() -> None:
    assert said(lost(), "one process or device failed, not the host") == ["for"]


def test_a_job_that_is_called_running_though_a_process_ended() -> None:
    job = lost().event("scheduler", code="running", severity="info")
    assert said(job, "still calls the job running") == ["for"]
    assert said(lost(), "still calls the job running") == []


def checked(**results: bool) -> Rows:
    job = lost()
    for host, ok in results.items():
        told: dict[str, Any] = {"code": "ok" if ok else "failed", "severity": "info" if ok else "error"}
        job.event("node_check", host=host, detail=json.dumps({"test": "matmul"}), **told)
    return job


def test_whether_its_host_was_checked_before_the_job() -> None:
    assert said(
        checked(node0=True, node1=True), "before the job node0 passed matmul; a passed check clears nobody"
    ) == ["unseen"]
    assert said(checked(node1=True, node2=True), "node0 was not checked before the job") == ["unseen"]
    assert said(checked(node0=False, node1=True, node2=True, node3=True), "node0 failed matmul") == ["for"]
    before, after = (
        lost().verdict(hung=False),
        checked(node0=False, node1=True, node2=True, node3=True).verdict(hung=False),
    )
    assert (before.ranks, before.cause, before.status) == (after.ranks, after.cause, after.status)
