"""A main thread that waits for a thread of its own stands where that one does; and threads that tell nothing."""

from pathlib import Path

import pytest

from forensics import analyze
from tests.sources import written

ABSENT = 2
WAITS = ["all_reduce (torch/distributed/distributed_c10d.py:2806)", "train (w/train.py:214)"]
GET = ["wait (threading.py:327)", "get (queue.py:171)", "__next__ (w/loader.py:146)", "train (w/train.py:203)"]
RESULT = [
    "wait (threading.py:327)",
    "result (concurrent/futures/_base.py:451)",
    "batch (w/loader.py:99)",
    "train (w/train.py:203)",
]
JOIN = [
    "_wait_for_tstate_lock (threading.py:1116)",
    "join (threading.py:1096)",
    "finish (w/loader.py:70)",
    "train (w/train.py:203)",
]
EVENT = ["wait (threading.py:331)", "wait (threading.py:629)", "ready (w/loader.py:30)", "train (w/train.py:203)"]
RUN = ["_fill (w/loader.py:131)", "run (threading.py:982)"]
POOL = [
    "_load (w/loader.py:88)",
    "run (concurrent/futures/thread.py:58)",
    "_worker (concurrent/futures/thread.py:83)",
    "run (threading.py:982)",
]
READ, LOCK, PUT = "read (fsspec/spec.py:1915)", "acquire (filelock/_api.py:332)", "put (queue.py:140)"


def process(rank: int, main: list[str], *others: list[str]) -> list[str]:
    pid = 4200 + rank
    lines = [f"Process {pid}: python train.py --rank {rank} --world-size 4", "Python v3.11.7 (/usr/bin/python3)", ""]
    for at, frames in enumerate((main, *others)):
        name = "MainThread" if not at else f"worker-{at}"
        lines += [f'Thread {pid + 40 * at} (idle): "{name}"', *(f"    {frame}" for frame in frames)]
        lines += [] if at else ["    <module> (w/train.py:301)"]
    return [*lines, ""]


def site(folder: Path, main: list[str], *others: list[str]) -> str | None:
    files: dict[str, list[str]] = {}
    for rank in range(4):
        own = (
            process(rank, main, *others)
            if rank == ABSENT
            else process(rank, WAITS, ["wait (threading.py:327)", PUT, *RUN])
        )
        files |= {f"rank_{rank}_{look}.txt": own for look in (1, 2)}
    verdict = analyze(str(written(folder, files))).verdict
    assert verdict.ranks == [ABSENT]
    return verdict.site


@pytest.mark.parametrize(
    ("main", "other", "told"),
    [
        (GET, [READ, *RUN], "storage_io"),
        (RESULT, [READ, *POOL], "storage_io"),
        (JOIN, [READ, *RUN], "storage_io"),
        (EVENT, [READ, *RUN], "storage_io"),
        (GET, ["save_state_dict (torch/distributed/checkpoint/state_dict_saver.py:99)", *RUN], "checkpoint_io"),
        (GET, ["raw_decode (json/decoder.py:353)", *RUN], "compute"),
    ],
)  # fmt: skip
def test_who_waits_for_a_thread_stands_where_that_does(
    main: list[str], other: list[str], told: str, tmp_path: Path
) -> None:
    assert site(tmp_path, main, other, ["get (queue.py:180)", "run (w/metrics.py:31)"]) == told


@pytest.mark.parametrize(
    "others",
    [
        [["wait (threading.py:327)", PUT, *RUN]],  # it waits, too
        [[READ, "run (w/metrics.py:31)", "run (threading.py:982)"]],  # of another part of the program
        [[READ, *RUN], ["raw_decode (json/decoder.py:353)", *RUN]],  # which of the two?
        [[LOCK, *RUN]],
        [],
    ],
)
def test_else_it_waits_for_a_lock(others: list[list[str]], tmp_path: Path) -> None:
    assert site(tmp_path, GET, *others) == "lock"


def test_a_thread_that_watches_every_process_is_waited_for_by_none(tmp_path: Path) -> None:
    """It took these dumps: who waits for a pool is no nearer to the others for it."""
    watches = ["select (selectors.py:415)", "communicate (subprocess.py:2115)", "watch (w/train.py:12)"]
    main = [
        "wait (threading.py:327)",
        "result (concurrent/futures/_base.py:451)",
        "ready (w/train.py:77)",
        "train (w/train.py:203)",
    ]
    compiles = ["compile_schema (grammar/compiler.py:126)", "_init (w/backend.py:140)", *POOL[1:]]
    files = {
        f"rank_{rank}.txt": process(rank, main, compiles, watches) if rank == ABSENT else process(rank, WAITS, watches)
        for rank in range(4)
    }
    verdict = analyze(str(written(tmp_path, files)), hung=True).verdict
    assert (verdict.kind, verdict.ranks, verdict.site) == ("hang", [ABSENT], "lock")
