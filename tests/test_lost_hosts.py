"""A server on a node of its own that was lost: its client is no culprit."""

from pathlib import Path
from typing import Any

import pytest

from forensics import analyze

HTTP = (
    '  File "/opt/env/lib/python3.11/site-packages/requests/adapters.py", line 688, in send',
    "    raise ConnectTimeout(e, request=request)",
    "requests.exceptions.ConnectTimeout: HTTPConnectionPool(host='{0}', port=8000): Max retries exceeded with url: /score/ "
    "(Caused by ConnectTimeoutError('Connection to {0} timed out.'))",
)
GRPC = (
    '  File "/opt/env/lib/python3.11/site-packages/grpc/_channel.py", line 1003, in _end_unary_response_blocking',
    "    raise _InactiveRpcError(state)",
    'grpc._channel._InactiveRpcError: <_InactiveRpcError of RPC that terminated with: status = StatusCode.UNAVAILABLE details = '
    '"failed to connect to all addresses; last error: UNKNOWN: {0}:50051: connection timed out">',
)  # fmt: skip
AIO = (
    '  File "/opt/env/lib/python3.11/site-packages/aiohttp/connector.py", line 1150, in _wrap_create_connection',
    "    raise client_error(req.connection_key, exc) from exc",
    "aiohttp.client_exceptions.ClientConnectorError: Cannot connect to host {0}:8000 ssl:default [Connect call failed]",
)
WRONG = (
    '  File "/job/rl.py", line 31, in ask',
    '    raise ValueError("no model on {0}")',
    "ValueError: no model on {0}",
)
DOWN = "[2026-02-19T10:28:13.002] error: Nodes srv-7 not responding, setting DOWN\n"
LATE = "[2026-02-19T12:28:13.002] error: Nodes srv-7 not responding, setting DOWN\n"
KUBE = "Events:\n  Normal  NodeNotReady  12m  node-controller  Node srv-7 status is now: NodeNotReady\n"


def job(at: Path, error: tuple[str, ...], asked: str, told: str | None) -> Any:
    log = ["2026-02-19 10:20:00 world size 4, node trn-1\n"]
    log += [f"[rank{rank}]: 2026-02-19 10:2{step}:10 step {step} loss 2.{step}\n" for step in range(5) for rank in range(4)]  # fmt: skip
    raised = [
        "Traceback (most recent call last):", '  File "/job/rl.py", line 88, in <module>', "    ask(batch)", *(line.format(asked) for line in error)
    ]  # fmt: skip
    log += [f"[rank0]: {line}\n" for line in raised]
    log += [
        "W0219 10:33:47.987040 20111 torch/distributed/elastic/multiprocessing/api.py:900] Sending process 20141 closing signal SIGTERM\n",
        "E0219 10:33:51.987040 20111 torch/distributed/elastic/multiprocessing/api.py:874] failed (exitcode: 1) local_rank: 0 (pid: 20140) of binary: /usr/bin/python\n",
    ]  # fmt: skip
    log += [
        "Root Cause (first observed failure):\n", "[0]:\n", "  time      : 2026-02-19_10:33:47\n", "  host      : trn-1\n",
        "  rank      : 0 (local_rank: 0)\n", "  exitcode  : 1 (pid: 20140)\n", "  error_file: <N/A>\n",
    ]  # fmt: skip
    (at / "trainer.log").write_text("".join(log))
    if told is not None:
        (at / "cluster.log").write_text(told)
    return analyze(at).incidents[0].verdict


@pytest.mark.parametrize("told", [DOWN, KUBE], ids=["slurm", "kubernetes"])
@pytest.mark.parametrize("error", [HTTP, GRPC, AIO], ids=["requests", "grpc", "aiohttp"])
def test_the_node_of_a_server_and_not_its_client(error: tuple[str, ...], told: str, tmp_path: Path) -> None:
    found = job(tmp_path, error, "srv-7", told)
    assert (found.ranks, found.hosts) == ([], ["srv-7"])


@pytest.mark.parametrize(
    ("error", "asked", "told"),
    [(HTTP, "srv-8", DOWN), (HTTP, "srv-7", LATE), (WRONG, "srv-7", DOWN), (HTTP, "srv-7", None)],
    ids=["another node", "the node was lost later", "its words tell of no other end", "no node was lost"],
)
def test_whose_failure_it_is_else(error: tuple[str, ...], asked: str, told: str | None, tmp_path: Path) -> None:
    found = job(tmp_path, error, asked, told)
    assert found.ranks == [0]
