"""Whose memory or disk was full decides what helps and which log tells of it."""

from typing import Any

import pytest

from forensics.detectors.ranks.ended_unplaced import ended_unplaced
from forensics.facts.ends.whose_memory import holder_of
from forensics.model.finding import Finding
from forensics.verdict.advice.actions import Known, actions_of
from tests.log_cases import case

CGROUP = "Memory cgroup out of memory: Killed process 88 (python) anon-rss:8kB"
HOST = "Out of memory: Killed process 88 (python) anon-rss:8kB"
RAY = "Memory on the node (IP: 10.0.0.5, ID: ab) where the task (actor ID: x, pid=88, memory used=9GB) was running was 61/62GB"


def _found(kind: str, code: str | None, text: str, host: str = "n1") -> Finding:
    row: dict[str, Any] = {"kind": kind, "code": code, "text": text, "severity": "fatal", "pid": 88, "host": host}
    (found,) = ended_unplaced(case([row]))
    return found


@pytest.mark.parametrize(
    ("kind", "code", "text", "holder"),
    [
        ("host_oom", "cgroup", CGROUP, "limit"),
        ("host_oom", "OOMKilled", "Reason: OOMKilled", "limit"),
        ("host_oom", "host", HOST, None),
        ("host_oom", "NODE_OUT_OF_MEMORY", RAY, "ray"),
        ("disk_full", "shm", "NCCL WARN Error while creating shared memory segment nccl-shm-recv-1", "shared"),
        ("disk_full", None, "OSError: [Errno 28] No space left on device: '/dev/shm/torch_1'", "shared"),
        ("disk_full", None, "OSError: [Errno 28] No space left on device: '/ckpt/a.pt'", None),
        ("gpu_oom", None, "CUDA out of memory, shared memory 48 KB", None),
    ],
)
def test_whose(kind: str, code: str | None, text: str, holder: str | None) -> None:
    assert holder_of(kind, code, text) == holder


@pytest.mark.parametrize(
    ("kind", "code", "text", "said", "helps"),
    [
        ("host_oom", "cgroup", CGROUP, "memory limit of its job or container", "--mem"),
        ("host_oom", "NODE_OUT_OF_MEMORY", RAY, "Ray's memory monitor", "raylet.out"),
        ("disk_full", "shm", "include/shm.h:48 NCCL WARN Error while creating shared memory segment", "/dev/shm", "--shm-size"),
    ],
)  # fmt: skip
def test_the_answer_and_the_step_say_so(kind: str, code: str, text: str, said: str, helps: str) -> None:
    found = _found(kind, code, text)
    assert said in found.summary and "its host ran out" not in found.summary
    assert helps in found.actions[0].reason


def test_the_kernels_log_is_not_asked_for_what_the_kernel_did_not_do() -> None:
    by_ray, by_kernel = (
        [one.command or "" for one in actions_of(_found("host_oom", code, text), "supported", Known())]
        for code, text in (("NODE_OUT_OF_MEMORY", RAY), ("host", HOST))
    )
    assert not any("dmesg" in command for command in by_ray)
    assert any("dmesg" in command for command in by_kernel)


def test_full_shared_memory_is_measured_as_such() -> None:
    found = _found("disk_full", "shm", "NCCL WARN Error while creating shared memory segment")
    commands = [one.command for one in actions_of(found, "supported", Known())]
    assert commands[0] == "ssh n1 df -h /dev/shm"
    other = _found("disk_full", None, "No space left on device: '/ckpt/a.pt'")
    assert "df -i" in str(actions_of(other, "supported", Known())[0].command)


@pytest.mark.parametrize("kind", ["host_oom", "gpu_oom", "disk_full"])
def test_every_reason_has_a_subject(kind: str) -> None:
    reason = _found(kind, None, "no more of it").actions[0].reason
    assert not reason.startswith(("was ", "ran ", "found ", "raised "))
