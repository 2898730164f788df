"""What stands beside the proof: schedulers, checks, how much of a host is lost."""

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from forensics import analyze
from tests.hang_tables import SECOND_NS, START_NS, Rows


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
    assert said(lost(), "kept running, so the host was up") == ["for"]


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


def flapping(*moments: tuple[float, str], **more: Any) -> Rows:
    """One host's link, by second and whether it fell or rose, before everybody waits."""
    job = Rows(16).placed()
    for second, kind in moments:
        severity = "warning" if kind == "link_down" else "info"
        job.event(kind, host="node1", severity=severity, time_ns=START_NS + int(second * SECOND_NS), time_basis="utc",
                  detail=json.dumps({"interface": "ib0"}), file="node1/dmesg", **more)  # fmt: skip
    for rank in range(16):
        job.timeout(rank, "world", 7, time_ns=START_NS + 660 * SECOND_NS, time_basis="utc")
    return job


DOWN, UP = "link_down", "link_up"


@pytest.mark.parametrize(
    ("moments", "text"),
    [
        ([(50, DOWN), (55, UP)], "ib0 of node1 was down once, for 5 s"),
        ([(50, DOWN), (50, DOWN), (55, UP), (55, UP)], "ib0 of node1 was down once, for 5 s"),
        (
            [(40, DOWN), (41.5, UP), (50, DOWN), (58, UP)],
            "ib0 of node1 was down 2 times, 9.5 s in all, 8 s at the longest",
        ),
        ([(40, DOWN), (41, UP), (50, DOWN)], "ib0 of node1 was down once, for 1 s; it then went down for good"),
        ([(50, DOWN)], "ib0 of node1 went down, and no line says that it came back"),
    ],
    ids=["one fall", "told twice", "two falls", "the last for good", "no rise"],
)
def test_how_often_and_for_how_long_a_link_was_down(moments: list[tuple[float, str]], text: str) -> None:
    job = flapping(*moments)
    assert [claim for claim, direction in claims(job) if claim.startswith("ib0")] == [text]
    rises = [
        row.relation
        for row in job.incident(hung=False).views.hardware
        if row.code is None and "it was down" in row.relation
    ]
    assert len(rises) == sum(1 for before, (_, kind) in itertools.pairwise(moments) if (before[1], kind) == (DOWN, UP))


def test_a_rise_alone_or_without_a_time_or_on_another_link_is_no_flap() -> None:
    assert said(flapping((50, UP)), "was down") == []
    job = flapping((50, DOWN))
    job.event(UP, host="node1", severity="info", time_ns=START_NS + 55 * SECOND_NS, time_basis="utc",
              detail=json.dumps({"interface": "ib1"}), file="node1/dmesg")  # fmt: skip
    assert said(job, "no line says that it came back") == ["for"]
    job = flapping((50, DOWN)).event(
        UP, host="node1", severity="info", detail='{"interface": "ib0"}', file="node1/dmesg"
    )
    assert said(job, "no line says that it came back") == ["for"]


def test_a_flap_of_a_host_that_is_not_in_question_is_no_part_of_the_proof() -> None:
    job = lost()
    for second, kind in ((50, DOWN), (55, UP)):
        job.event(kind, host="node1", severity="warning", time_ns=START_NS + second * SECOND_NS, time_basis="utc",
                  detail='{"interface": "ib0"}', file="node1/dmesg")  # fmt: skip
    assert said(job, "was down") == []


@pytest.mark.parametrize("milliseconds", [20000, 600011])
def test_after_how_long_others_gave_up_is_not_how_long_it_stood_still(tmp_path: Path, milliseconds: int) -> None:
    for rank in range(4):
        lines = [
            f"2026-03-01 10:00:{4 + step:02}.000 [rank{rank}] INFO train: step {step} loss 2.{step}"
            for step in range(5)
        ]
        if rank != 2:
            lines.append(
                f"[rank{rank}]: RuntimeError: [unbound_buffer.cc:78] Timed out waiting {milliseconds}ms for recv operation to complete"
            )
        (tmp_path / f"rank_{rank}.log").write_text("\n".join(lines) + "\n")
    incident = analyze(tmp_path).incidents[0]
    told = [item.claim for item in incident.evidence if "gave up the wait" in item.claim]
    assert told == [f"ranks 0-1, 3 gave up the wait after {milliseconds / 1000:.1f} s".replace(".0 s", " s")]
