"""Whose memory, or whose disk, was full: the host's, a limit's below it, shared memory's. Each has another remedy, and another log
that tells of it.

"ray": Ray's memory monitor, a process of its own, ended it, and no kernel knows. "limit": a cgroup of the scheduler or of a container
was full, not the host. "shared": /dev/shm, which a container has little of. Null: the host's memory or a disk, for all that is told. Who
was killed may be a process that the printer had started, not itself ("worker"): most often for memory, which the kernel's log tells.
Sources: Ray, Out-Of-Memory Prevention; Slurm cgroup.conf, ConstrainRAMSpace; Kubernetes, Assign Memory Resources;
NCCL, Troubleshooting, Shared memory; docker run --shm-size.
"""

from typing import Literal

from forensics.model.finding import Finding
from parsers.text.patterns import regex

Holder = Literal["ray", "limit", "shared", "worker"]
_SHARED = regex(r"/dev/shm\b|\bshm\.(?:h|cc)\b|\bnccl-shm|shared memory|shm_open|posix_fallocate", 2)
_LIMIT = regex(r"\bcgroup\b|\bOOMKilled\b|\bCONSTRAINT_MEMCG\b|memory limit", 2)
_WORKER = regex(
    r"(?i)\b(?:worker|(?:sub|child )process|DataLoader process)(?: process)?\b(?: \(?pid[^)\n]{1,40}\)?|[ :#]{1,2}\d{1,9})?(?: \w+){0,2} "
    r"killed by (?:signal:? ?)?(?:Killed|SIGKILL|9\b)"
)
_RAY = "NODE_OUT_OF_MEMORY"


def holder_of(cause: str | None, code: str | None, text: str) -> Holder | None:
    """By the code and the words of the record that tells of it."""
    if cause == "disk_full":
        return "shared" if code == "shm" or _SHARED.search(text) else None
    if cause == "killed":
        return "worker" if lost_worker(text) else None
    if cause != "host_oom":
        return None
    if code == _RAY or _RAY in text or "memory usage threshold" in text:
        return "ray"
    return "limit" if code in ("cgroup", "OOMKilled") or _LIMIT.search(text) else None


def lost_worker(text: str) -> bool:
    """Does an exception say that a process, which the one that raised it had started, was killed by SIGKILL?"""
    return _WORKER.search(text) is not None


def holder_in(finding: Finding) -> Holder | None:
    """The same of a finding, by its first anomaly and the line that it cites first."""
    code = (finding.first_anomaly.signature or "").partition(":")[2] or None
    texts = [ref.text for claim in finding.claims if claim.direction == "for" for ref in claim.refs[:1]]
    return holder_of(finding.cause, code, texts[0] if texts else "")
