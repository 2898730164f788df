"""Calls that ranks log with a number of their own: who alone calls something else at the last number, whatever the lines are called."""

from collections.abc import Callable
from pathlib import Path

import pytest

from forensics import analyze
from forensics.model.incident import Verdict

RANKS, OUT, LAST = 6, 2, 31
Line = Callable[[int, int, str], str]  # rank, number, operation
LINES: dict[str, Line] = {
    "a wrapper": lambda rank, n, op: f"10:00:{n} rk{rank} oplog #{5000 + n} step 400 {op} bucket={n % 7} numel=2097152",
    "pairs": lambda rank, n, op: f"[10:00:{n}] comm call={n} op={op} bytes=4096",
    "Chinese": lambda rank, n, op: f"10:00:{n} 第 {n} 次通信 {op} 开始",
}


def job(
    folder: Path, line: str, last: dict[int, str], *, before: dict[int, str] | None = None, shift: int = 0
) -> Verdict:
    """`last`: the operation of those that call another one at the last number, `before` at the one before; `shift`: by how much one's count is ahead."""
    for rank in range(RANKS):
        lines = [f"10:00:00 rank {rank} of {RANKS} up"]
        for n in range(20, LAST + 1):
            op = ("all_gather", "reduce_scatter")[n % 2]
            op = last.get(rank, op) if n == LAST else (before or {}).get(rank, op) if n == LAST - 1 else op
            lines.append(LINES[line](rank, n + (shift if rank == OUT else 0), op))
        lines += [
            f"10:30:4{rank} RuntimeError: [unbound_buffer.cc:81] Timed out waiting 1800000ms for recv operation to complete"
        ]
        (folder / f"rank{rank}.log").write_text("\n".join(lines) + "\n")
    return analyze(folder).verdict


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("op", ["broadcast", "all_reduce"])
def test_who_calls_another_operation_at_the_last_number(tmp_path: Path, line: str, op: str) -> None:
    found = job(tmp_path, line, {OUT: op})
    assert (found.kind, found.cause, found.ranks) == ("hang", "collective_mismatch", [OUT])


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize(
    "how",
    [
        {"last": {}},
        {"last": {0: "broadcast", 1: "broadcast", 2: "broadcast"}},
        {"last": {OUT: "broadcast"}, "before": {1: "barrier"}},
        {"last": {OUT: "broadcast"}, "shift": 5},
    ],
    ids=["all alike", "half and half", "they differed before", "another count"],
)
def test_else_nobody_is_named(tmp_path: Path, line: str, how: dict[str, object]) -> None:
    assert job(tmp_path, line, **how).ranks == []  # type: ignore[arg-type]
