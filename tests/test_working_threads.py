"""Stacks of processes whose main threads only keep them alive: who stands apart is told by the threads that do the job."""

from pathlib import Path

import pytest

from forensics import analyze
from tests.sources import written

WAIT = (
    "all_reduce (torch/distributed/distributed_c10d.py:2806)",
    "reduce_loss (job/loop.py:188)",
    "step (job/loop.py:231)",
)
LOAD = ("acquire (filelock/_api.py:344)", "part (job/cache.py:64)", "step (job/loop.py:209)")
BOOT = ("run (threading.py:982)", "_bootstrap_inner (threading.py:1045)", "_bootstrap (threading.py:1002)")
POOL = ("run (concurrent/futures/thread.py:58)", "_worker (concurrent/futures/thread.py:83)", *BOOT)
HELPER = ("wait (threading.py:331)", "_watch (job/watch.py:40)", *BOOT)

RAY = ("main_loop (ray/_private/worker.py:946)", "<module> (ray/_private/workers/default_worker.py:330)")
JOIN = (
    "_wait_for_tstate_lock (threading.py:1116)",
    "join (threading.py:1096)",
    "main (job/main.py:40)",
    "<module> (job/main.py:52)",
)
SLEEP = ("main (job/main.py:61)", "<module> (job/main.py:70)")
ASYNC = (
    "select (selectors.py:468)",
    "_run_once (asyncio/base_events.py:1884)",
    "run_forever (asyncio/base_events.py:603)",
    "<module> (job/actor.py:90)",
)
GRPC = (
    "wait (threading.py:320)",
    "wait_for_termination (grpc/_server.py:1332)",
    "serve (job/server.py:33)",
    "<module> (job/server.py:50)",
)
RESULT = (
    "wait (threading.py:320)",
    "result (concurrent/futures/_base.py:451)",
    "main (job/main.py:44)",
    "<module> (job/main.py:60)",
)
QUEUE = ("get (queue.py:171)", "main (job/main.py:31)", "<module> (job/main.py:60)")

Frames = tuple[str, ...]
Threads = list[tuple[str, Frames]]


def _dump(pid: int, main: Frames, threads: Threads) -> list[str]:
    lines = [
        f"Process {pid}: python -m job.main",
        "Python v3.11.9 (/usr/bin/python3.11)",
        "",
        f'Thread {pid} (idle): "MainThread"',
    ]
    lines += [f"    {one}" for one in main]
    for at, (name, frames) in enumerate(threads, 1):
        lines += [f'Thread {pid + 30 * at} (idle): "{name}"', *(f"    {one}" for one in frames)]
    return [*lines, ""]


def _bundle(tmp_path: Path, main: Frames, own: dict[int, Threads], mains: dict[int, Frames] | None = None) -> Path:
    files = {
        "run.log": [f"rank {rank} of {len(own)}, pid {4200 + 7 * rank} on n1" for rank in own]
        + [f"step {step} loss {3 - step / 9:.3f}" for step in range(9)]
    }
    files["stacks.txt"] = [
        line for rank, threads in own.items() for line in _dump(4200 + 7 * rank, (mains or {}).get(rank, main), threads)
    ]
    return written(tmp_path, files)


def _working(
    world: int, odd: int, name: str = "Training", start: Frames = ("loop (job/main.py:97)", *BOOT), wait: Frames = WAIT
) -> dict[int, Threads]:
    return {
        rank: [("watch", HELPER), (name.format(rank=rank), (*(LOAD if rank == odd else wait), *start))]
        for rank in range(world)
    }


def _verdict(bundle: Path) -> tuple[list[int], list[int]]:
    found = analyze(str(bundle), hung=True).verdict
    return list(found.ranks), list(found.suspects.ranks)


FORMS = [
    (RAY, _working(8, 3, "TrainingThread(run)")),
    (RAY, _working(12, 7)),
    (JOIN, _working(4, 1, "Thread-{rank} (loop)")),
    (SLEEP, _working(6, 0)),
    (ASYNC, _working(5, 4, "asyncio_0")),
    (GRPC, _working(4, 2, "grpc-worker")),
    (RESULT, _working(8, 5, "ThreadPoolExecutor-0_0", ("loop (job/main.py:97)", *POOL))),
    (QUEUE, _working(16, 15)),
    (JOIN, _working(4, 1, wait=("barrier (torch/distributed/distributed_c10d.py:4100)", "save (job/loop.py:300)", "step (job/loop.py:231)"))),
    (RAY, _working(4, 1, wait=("broadcast (torch/distributed/distributed_c10d.py:2422)", "sync (job/loop.py:90)", "step (job/loop.py:231)"))),
    (JOIN, {rank: threads[::-1] for rank, threads in _working(6, 2).items()}),
    (SLEEP, _working(3, 1)),
]  # fmt: skip


@pytest.mark.parametrize("form", range(len(FORMS)))
def test_whose_working_thread_stands_apart_is_named(tmp_path: Path, form: int) -> None:
    main, own = FORMS[form]
    odd = next(rank for rank, threads in own.items() if any(LOAD[0] in frames for _, frames in threads))
    assert _verdict(_bundle(tmp_path, main, own))[0] == [odd]


def _lost(own: dict[int, Threads], rank: int) -> dict[int, Threads]:
    return own | {rank: own[rank][:1]}


OTHERS = {
    "two processes": (RAY, _working(2, 1), {}),
    "all wait": (RAY, _working(6, 9), {}),
    "most load": (RAY, {rank: [("t", (*(WAIT if rank < 3 else LOAD), "loop (job/main.py:97)", *BOOT))] for rank in range(8)}, {}),
    "one has no such thread in what was kept": (RAY, _lost(_working(6, 2), 4), {}),
    "main threads at different lines": (JOIN, _working(6, 2), {rank: (f"main (job/main.py:{60 + rank})",) for rank in range(6)}),
    "two such threads in each": (RAY, {rank: [*own, ("u", (*WAIT, "other (job/main.py:99)", *BOOT))] for rank, own in _working(6, 2).items()}, {}),
    "two of one entry in each": (RAY, {rank: [*own, ("u", own[1][1])] for rank, own in _working(6, 2).items()}, {}),
    "main threads wait for ranks": (WAIT, {rank: [("t", (*(LOAD if rank == 2 else WAIT), "loop (job/main.py:97)", *BOOT))] for rank in range(6)}, {}),
}  # fmt: skip


@pytest.mark.parametrize("what", OTHERS)
def test_where_threads_do_not_decide_nobody_is_named(tmp_path: Path, what: str) -> None:
    main, own, mains = OTHERS[what]
    assert _verdict(_bundle(tmp_path, main, own, mains))[0] == []
