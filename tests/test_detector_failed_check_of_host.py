"""A host that had failed its check before the job: a second witness, and no more."""

import json
from typing import Any

import pytest

from tests.hang_tables import Rows


def job(missing: int, failed: str, hosts: int = 4) -> Rows:
    """Everybody but one rank times out; one host had failed matmul."""
    rows = Rows(8 * hosts).placed()
    for rank in range(8 * hosts):
        if rank != missing:
            rows.timeout(rank, "world", 7)
    for host in range(hosts):
        ok = f"node{host}" != failed
        told: dict[str, Any] = {"code": "ok" if ok else "failed", "severity": "info" if ok else "error"}
        rows.event("node_check", host=f"node{host}", detail=json.dumps({"test": "matmul"}), **told)
    return rows


def test_the_only_suspect_runs_on_the_host_that_had_failed() -> None:
    verdict = job(11, "node1").verdict(hung=False)
    assert (verdict.kind, verdict.cause, verdict.ranks, verdict.hosts) == ("hang", "gpu_fault", [], ["node1"])
    assert verdict.suspects.ranks == [11]
    assert "what the GPUs compute" in verdict.summary


@pytest.mark.parametrize("failed", ["node2", "none"])
def test_another_host_that_had_failed_is_not_accused(failed: str) -> None:
    verdict = job(11, failed).verdict(hung=False)
    assert (verdict.cause, verdict.hosts, verdict.suspects.ranks, verdict.suspects.hosts) == (None, [], [11], [])
