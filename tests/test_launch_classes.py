"""What a launch failed by: a node, its sub-health, the network, storage; and what is the program's own."""

from pathlib import Path
from typing import Any

import pytest

from forensics import analyze
from forensics.facts.ends.storage_errors import storage_error
from forensics.model.incident import Incident
from reports.answer import answer as english
from reports.chinese import answer as chinese
from tests.hang_tables import Rows
from tests.test_detector_failed_node_check import FAILED, PARTNERS

STALE = "OSError: [Errno 116] Stale file handle: '/data/idx.bin'"


def launch(*events: dict[str, Any], world: int = 4, per_host: int = 2, steps: int = 0) -> Incident:
    """A job whose ranks say where they run, and then what `events` tell."""
    job = Rows(world, per_host=per_host).placed()
    for step in range(steps):
        job.add("steps", rank=0, step=step, loss=2.0)
    for row in events:
        job.event(**row)
    return job.incident(expected=world, hung=False)


def raised(text: str, rank: int | None = 2) -> dict[str, Any]:
    return {"kind": "exception", "rank": rank, "code": text.partition(":")[0], "text": text}


def failed_by(incident: Incident) -> list[str]:
    return [
        item.claim.rpartition("because of ")[2]
        for item in incident.evidence
        if "the launch failed because of" in item.claim
    ]


@pytest.mark.parametrize(
    ("text", "name", "path"),
    [
        (STALE, "ESTALE", "/data/idx.bin"),
        ("OSError: [Errno 116] Stale file handle", "ESTALE", None),
        ("OSError: [Errno 30] Read-only file system: '/ckpt/x.pt'", "EROFS", "/ckpt/x.pt"),
        ("OSError: [Errno 5] Input/output error: '/data/shard-3'", "EIO", "/data/shard-3"),
        ("OSError: [Errno 107] Transport endpoint is not connected: '/mnt/fuse/a'", "ENOTCONN", "/mnt/fuse/a"),
        ("OSError: [Errno 108] Cannot send after transport endpoint shutdown: '/lustre/a'", "ESHUTDOWN", "/lustre/a"),
        ("TimeoutError: [Errno 110] Connection timed out: '/data/a'", "ETIMEDOUT", "/data/a"),
    ],
)
def test_what_only_storage_answers(text: str, name: str, path: str | None) -> None:
    found = storage_error(text)
    assert found is not None
    assert (found.name, found.path) == (name, path)


@pytest.mark.parametrize(
    "text",
    [
        "FileNotFoundError: [Errno 2] No such file or directory: '/data/idx.bin'",
        "PermissionError: [Errno 13] Permission denied: '/data/idx.bin'",
        "OSError: [Errno 5] Input/output error",
        "OSError: [Errno 107] Transport endpoint is not connected",
        "TimeoutError: [Errno 110] Connection timed out",
        "OSError: [Errno 5] Input/output error: '/dev/nvidia0'",
        "OSError: [Errno 28] No space left on device: '/ckpt/x.pt'",
        "KeyError: 'Stale file handle'",
    ],
    ids=[
        "wrong path",
        "no right",
        "a terminal that is gone",
        "a socket",
        "a connection",
        "a device",
        "a full disk",
        "words",
    ],
)
def test_what_programs_sockets_and_terminals_answer(text: str) -> None:
    assert storage_error(text) is None
    assert launch(raised(text)).verdict.site is None


def test_storage_at_launch() -> None:
    incident = launch(raised(STALE))
    verdict = incident.verdict
    assert (verdict.kind, verdict.ranks, verdict.site, verdict.domain) == ("crash", [2], "storage_io", "infrastructure")
    assert failed_by(incident) == ["storage"]
    assert incident.actions[0].kind == "inspect_hardware"
    assert incident.actions[0].target == "the storage that holds /data/idx.bin"


def test_storage_that_fails_for_most_ranks_names_none_of_them() -> None:
    verdict = launch(*(raised(STALE, rank) for rank in range(4))).verdict
    assert (verdict.ranks, verdict.hosts, verdict.site, verdict.domain) == ([], [], "storage_io", "infrastructure")


def test_of_a_process_without_a_rank() -> None:
    incident = launch(raised(STALE, None))
    assert (incident.verdict.ranks, incident.verdict.site, failed_by(incident)) == ([], "storage_io", ["storage"])


@pytest.mark.parametrize(
    ("events", "by"),
    [
        ([{"kind": "gpu_lost", "host": "node1", "pci": "0000:00:00.0", "code": "xid:79", "severity": "fatal"},
          raised("RuntimeError: CUDA error: uncorrectable ECC error encountered")], "a node"),
        ([{"kind": "disk_full", "rank": 2, "text": "OSError: [Errno 28] No space left on device"}], "storage"),
        ([{"kind": "config_error", "rank": 2, "code": "no_interface", "text": "Bootstrap : no socket interface found"}], "the network"),
    ],
    ids=["node", "a full disk", "network"],
)  # fmt: skip
def test_the_other_classes(events: list[dict[str, Any]], by: str) -> None:
    assert failed_by(launch(*events)) == [by]


def test_a_program_of_its_own_and_a_job_that_ran_are_no_failed_launch() -> None:
    assert failed_by(launch(raised("KeyError: 'x'"))) == []
    assert failed_by(launch(raised(STALE), steps=9)) == []


def test_a_host_that_failed_its_checks_is_the_sub_health_of_a_node() -> None:
    job = Rows(2)
    for row in (*FAILED, *PARTNERS):
        job.event(**row)
    incident = job.incident(hung=False)
    assert (incident.verdict.hosts, failed_by(incident)) == (["n5"], [])
    assert any("a check found the sub-health of a node" in item.claim for item in incident.evidence)


def test_a_kernels_log_alone_tells_of_no_launch() -> None:
    lost = {"kind": "gpu_lost", "host": "node1", "pci": "0000:00:00.0", "code": "xid:79", "severity": "fatal"}
    assert failed_by(Rows(2).event(**lost).incident(hung=False)) == []


@pytest.mark.parametrize("test", ["allgather", "matmul"])
def test_a_check_of_hosts_tells_of_no_launch_where_no_job_is_told(tmp_path: Path, test: str) -> None:
    table = ["host,round,peers,test,ok,gb_per_s"]
    pairs = [[("n1", "n2"), ("n3", "n5")], [("n1", "n3"), ("n2", "n5")], [("n2", "n3"), ("n1", "n5")]]
    for turn, listed in enumerate(pairs):
        for one, other in listed:
            ok = "fail" if "n5" in (one, other) else "pass"
            table += [f"{one},{turn},{other},{test},{ok},200", f"{other},{turn},{one},{test},{ok},200"]
    (tmp_path / "preflight.csv").write_text("\n".join(table) + "\n")
    report = analyze(tmp_path)
    incident = report.incidents[report.primary]
    assert (incident.verdict.kind, incident.verdict.hosts, failed_by(incident)) == ("launch", ["n5"], [])
    assert (english(incident).label, chinese(incident).label) == ("CHECK FAILED", "检查未通过")
    assert (incident.actions[0].kind, "start without it" in incident.actions[0].reason) == ("drain_node", True)


def test_a_launch_that_failed_is_still_called_one() -> None:
    assert (
        english(launch(raised(STALE, 1), *({"kind": "store_timeout", "rank": rank} for rank in (0, 2, 3)))).label
        != "CHECK FAILED"
    )
