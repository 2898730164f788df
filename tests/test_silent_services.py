"""A service that the ranks ask stands still: each of them complains of it, one gives up first, and the others lose that one. Nobody of them is at fault."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from forensics import analyze
from forensics.model.incident import Verdict
from tests.sources import written

RANKS, FIRST = 6, 3
# What a client says each time that it got no answer, and what it raises in the end.
CLIENTS = {
    "requests": (
        "WARNING scorer: request error, please check: HTTPConnectionPool(host='scores-0', port=5000): Read timed out. (read timeout=600)",
        "requests.exceptions.ReadTimeout: HTTPConnectionPool(host='scores-0', port=5000): Read timed out. (read timeout=600)",
        "requests/adapters.py",
    ),
    "urllib3": (
        "WARNING urllib3.connectionpool: Retrying (Retry(total={left}, connect=None, read=None)) after connection broken by 'ReadTimeoutError(\"Read timed out.\")': /rank",
        "urllib3.exceptions.MaxRetryError: HTTPConnectionPool(host='scores-0', port=5000): Max retries exceeded with url: /rank (Caused by ReadTimeoutError(\"Read timed out.\"))",
        "urllib3/connectionpool.py",
    ),
    "httpx": (
        "WARNING scorer: attempt {tries} failed: httpx.ReadTimeout",
        "httpx.ReadTimeout: The read operation timed out",
        "httpx/_transports/default.py",
    ),
    "aiohttp": (
        "WARNING scorer: no answer from scores-0:5000 (try {tries})",
        "aiohttp.client_exceptions.ServerTimeoutError: Timeout on reading data from socket",
        "aiohttp/client.py",
    ),
    "grpc": (
        "WARNING scorer: rpc Rank to scores-0:5000 failed, DEADLINE_EXCEEDED, try {tries}",
        'grpc._channel._InactiveRpcError: <_InactiveRpcError of RPC that terminated with: status = StatusCode.DEADLINE_EXCEEDED details = "Deadline Exceeded">',
        "grpc/_channel.py",
    ),
    "redis": (
        "WARNING cache: timeout on scores-0:6379, try {tries}",
        "redis.exceptions.TimeoutError: Timeout reading from socket",
        "redis/connection.py",
    ),
    "own": (
        "WARNING scorer: scores-0 silent for {seconds} s",
        "scorer.errors.NoAnswer: scores-0 gave no answer in 3 tries",
        "scorer/client.py",
    ),
    "own words": (
        "WARN Bewerter scores-0 antwortet nicht ({tries}. Versuch)",
        "bewerter.KeineAntwort: scores-0 nach 3 Versuchen",
        "bewerter/kunde.py",
    ),
    "Chinese": (
        "警告 打分服务 scores-0 无响应，第 {tries} 次重试",
        "RuntimeError: 打分服务 scores-0 无响应",
        "scorer/client.py",
    ),
    "evaluation": ("INFO evaluate: batch {tries} of 90 of set val_b", "ValueError: label 71 of 64", "/app/metrics.py"),
    "socket": ("WARNING scorer: timed out, try {tries}", "TimeoutError: timed out", "socket.py"),
}
LOST = "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:268, remote process exited or there was a network error"


def job(folder: Path, client: str, *, alone: bool = False, ends: bool = True) -> Verdict:
    """`alone`: only the one that gave up had complained; `ends`: whether the others lose it."""
    warned, raised, file = CLIENTS[client]
    files: dict[str, Sequence[str]] = {}
    for rank in range(RANKS):
        lines = [f"2026-10-14 01:39:10 INFO up rank={rank} world_size={RANKS} pid={41200 + rank} host=w{rank // 3}"]
        lines += [
            f"2026-10-14 02:{minute:02}:00 INFO step {minute} reward 0.4{minute:02}" for minute in range(1, 40, 3)
        ]
        if rank == FIRST or not alone:
            lines += [
                f"2026-10-14 {2 + (40 + 10 * n) // 60:02}:{(40 + 10 * n) % 60:02}:{10 + rank} "
                + warned.format(tries=n, left=3 - n, seconds=600 * n)
                for n in (1, 2, 3)
            ]
        end = LOST if rank != FIRST else raised
        inner = ["    return sock.read(n)"] if rank == FIRST else ["    loss.backward()"]
        at = (
            f'  File "{file if file.startswith("/") else "/usr/lib/python3.10/site-packages/" + file}", line 667, in send'
            if rank == FIRST
            else '  File "/app/fit.py", line 88, in step'
        )
        if rank == FIRST or ends:
            lines += [
                f"2026-10-14 03:11:{20 if rank == FIRST else 25 + rank} ERROR leaving",
                "Traceback (most recent call last):",
                '  File "/app/fit.py", line 61, in step',
                "    rewards = ask(batch)",
                at,
                *inner,
                end,
            ]
        files[f"logs/rank{rank}.log"] = lines
    return analyze(written(folder, files)).verdict


@pytest.mark.parametrize("client", [name for name in CLIENTS if name != "evaluation"])
@pytest.mark.parametrize("ends", [True, False])
def test_who_gives_up_first_is_not_named(tmp_path: Path, client: str, ends: bool) -> None:
    verdict = job(tmp_path, client, ends=ends)
    assert not verdict.ranks, verdict.summary


@pytest.mark.parametrize("client", ["requests", "httpx", "own", "own words"])
def test_what_all_complained_of_is_said(tmp_path: Path, client: str) -> None:
    verdict = job(tmp_path, client)
    assert "most ranks had complained of the same" in verdict.summary and not verdict.suspects.ranks


@pytest.mark.parametrize("client", ["requests", "httpx"])
def test_who_alone_complained_is_named_as_before(tmp_path: Path, client: str) -> None:
    assert job(tmp_path, client, alone=True).ranks == [FIRST]


def test_lines_of_an_evaluation_are_no_complaint(tmp_path: Path) -> None:
    """All ranks print the same kind of line behind the last step, and one of them fails by an error of its own."""
    verdict = job(tmp_path, "evaluation")
    assert "complained" not in verdict.summary and verdict.ranks == [FIRST]
