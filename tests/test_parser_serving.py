"""Watchdogs and dead workers of inference engines."""

from typing import Any

import pytest

from parsers.scheduling.serving import PARSER
from tests.lines import lines


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ERROR 01-31 10:11:12 [multiproc_executor.py:231] Worker proc VllmWorker-2 died unexpectedly, shutting down executor.",
         [("exit", "died", None, 2, "error")]),
        ("ERROR [ray_executor_v2.py:464] RayWorkerProc rank=[3, 5] died unexpectedly, shutting down executor.",
         [("exit", "died", 3, None, "error"), ("exit", "died", 5, None, "error")]),
        ("No available shared memory broadcast block found in 60 seconds. This typically happens",
         [("comm_warning", "shm_broadcast", None, None, "warning")]),
        ("TimeoutError: RPC call to execute_model timed out.", [("collective_timeout", "rpc", None, None, "error")]),
        ("[2026-01-31 10:11:12] Scheduler watchdog timeout (watchdog_timeout=300, soft=False)",
         [("heartbeat_lost", None, None, None, "error")]),
        ("Scheduler watchdog timeout (watchdog_timeout=300, soft=True)", [("heartbeat_lost", None, None, None, "warning")]),
        ("Watchdog timeout (watchdog_timeout=300)", [("heartbeat_lost", None, None, None, "error")]),
        ("SIGQUIT received. signum=None, frame=None. It usually means one child failed.", [("other", "child_failed", None, None, "error")]),
        ("the plant died unexpectedly", []),
        ("watchdog_timeout=300", []),
    ],
)  # fmt: skip
def test_lines(text: str, expected: list[tuple[Any, ...]]) -> None:
    rows = PARSER.parse(lines(text))["events"].select("kind", "code", "rank", "local_rank", "severity").rows()
    assert rows == expected
