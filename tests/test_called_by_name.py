"""All others gave up a call to one process by its name: whose name that is, tells its own log."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from forensics import analyze
from tests.sources import written

TIMEOUT = "RuntimeError: RPCErr:1:RPC ran for more than set timeout (9000 ms) and will now be marked with an error"
CALLS = (
    'rpc.rpc_sync("hub", add, args=(x,))',
    "fut = rpc.rpc_async('hub', add); fut.wait()",
    'rpc.remote(to="hub", func=add)',
)
HEADS = ("hub(rank 0) INFO", "INFO [hub, rank=0]", "INFO rank 0 (hub)")


def bundle(
    tmp_path: Path, calls: Sequence[str], head: str = HEADS[0], last: str = TIMEOUT, waiters: Sequence[int] = (1, 2, 3)
) -> Path:
    files = {"r0.log": [f"2026-01-31 10:11:{10 + step},000 {head} took update {step}" for step in range(4)]}
    for rank in (1, 2, 3):
        log = [
            f"2026-01-31 10:11:{10 + step},000 w{rank}(rank {rank}) INFO step {step} loss 2.{9 - step}"
            for step in range(4)
        ]
        trace = [
            "Traceback (most recent call last):",
            '  File "/job/t.py", line 35, in train',
            f"    {calls[rank % len(calls)]}",
        ]
        inner = [
            '  File "/x/site-packages/torch/distributed/rpc/api.py", line 842, in rpc_sync',
            "    return fut.wait()",
            last,
        ]
        files[f"r{rank}.log"] = log + (trace + inner if rank in waiters else [])
    return written(tmp_path, files)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("head", HEADS)
def test_who_bears_the_name_that_all_others_called_is_named(tmp_path: Path, call: str, head: str) -> None:
    verdict = analyze(bundle(tmp_path, [call], head)).verdict
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("hang", "rank_absent", [0])


@pytest.mark.parametrize(
    ("calls", "head", "waiters"),
    [
        (["dist.barrier()"], HEADS[0], (1, 2, 3)),
        ([CALLS[0], 'rpc.rpc_sync("cache", add)'], HEADS[0], (1, 2, 3)),
        ([CALLS[0]], "store INFO rank 0:", (1, 2, 3)),
        ([CALLS[0]], HEADS[0], (1, 2)),
    ],
    ids=["nobody called", "two names", "nobody bears it", "another one did not give up either"],
)
def test_nobody_is_named_else(tmp_path: Path, calls: list[str], head: str, waiters: tuple[int, ...]) -> None:
    assert analyze(bundle(tmp_path, calls, head, waiters=waiters)).verdict.ranks == []
