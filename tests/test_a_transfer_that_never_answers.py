"""Ranks that gave up, in one look at whose stacks another one stands in a transfer to a service, by its own code's names."""

from pathlib import Path

import pytest

from forensics import analyze
from tests.sources import written

GAVE_UP = "RuntimeError: Application timeout caused pair closure"
CLOSED = "RuntimeError: [/w/gloo/transport/tcp/pair.cc:9] Connection closed by peer [127.0.0.1]:4021."
INNER = {
    "a response": "Bucket.read_response (job/push.py:31)",
    "an upload": "upload_part (job/archive.py:12)",
    "a download": "Mirror.download_from_hub (job/mirror.py:77)",
}
OTHERS = {"its own exchange": "swap_halo (job/halo.py:31)", "a loss": "report (job/fit.py:31)"}


def bundle(tmp_path: Path, inner: str) -> Path:
    log = [f"rank {rank} of world size 3 is up, pid {5000 + rank}" for rank in range(3)]
    log += [f"[rank{rank}]: step {step} loss 2.{9 - step}" for step in range(5) for rank in range(3)]
    for rank, last in ((2, GAVE_UP), (1, CLOSED)):
        trace = [
            "Traceback (most recent call last):",
            '  File "/job/fit.py", line 9, in <module>',
            "    loss.backward()",
            last,
        ]
        log += [f"[rank{rank}]: {line}" for line in trace]
    wait = "broadcast (torch/distributed/distributed_c10d.py:4055)"
    files = {
        f"spy/{5000 + rank}.txt": [f"Process {5000 + rank}: python fit.py", "Python v3.11.7 (/usr/bin/python3)", "",
            f'Thread {5000 + rank} (idle): "MainThread"', f"    {wait if rank else inner}", "    <module> (job/fit.py:9)"]
        for rank in range(3)
    }  # fmt: skip
    return written(tmp_path, {"fit.log": log, **files})


@pytest.mark.parametrize("form", INNER)
def test_who_waits_for_a_service_is_absent(tmp_path: Path, form: str) -> None:
    verdict = analyze(bundle(tmp_path, INNER[form])).verdict
    assert (verdict.kind, verdict.cause, verdict.ranks, verdict.site) == ("hang", "rank_absent", [0], "storage_io")


@pytest.mark.parametrize("form", OTHERS)
def test_a_call_that_may_be_one_among_ranks_or_a_wait_for_a_device_names_nobody(tmp_path: Path, form: str) -> None:
    verdict = analyze(bundle(tmp_path, OTHERS[form])).verdict
    assert (verdict.kind, verdict.ranks) == ("hang", [])
