"""Short logs as programs write them, and what an honest reader says: kind, cause, who is named, who is suspected.

Beside each stands the nearest log of which the same must not be said.
"""

from collections.abc import Mapping
from pathlib import Path

import pytest

from forensics.model.incident import Verdict
from tests.analysed import primary

HCCL_CALL = "[rank5]: RuntimeError: run:op/Maker.cpp:40 OPS function error: HcclAllGather, error code is {}"
HCCL_WAIT = "[rank5]: EI0006: [PID: 63] 2026-01-31-10:11:12.123.456 Getting socket times out. Reason: Remote Rank did not send the data in time."
MONITOR = "[rank9]:[F ProcessGroupNCCL.cpp:1169] [PG 0 Rank 9] ProcessGroupNCCL's watchdog got stuck for 480 seconds without making progress"
ENDED = "E0311 13:04:12.3 1 torch/distributed/elastic/multiprocessing/api.py:826] failed (exitcode: {}) local_rank: 1 (pid: 71) of binary: python"
WATCHDOG = "[Rank {0}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=31, OpType=ALLREDUCE, Timeout(ms)=600000) ran for 60000{0} milliseconds before timing out."
SHM = [
    "(EngineCore pid=9) INFO 01-31 10:11:12 [shm_broadcast.py:7] No available shared memory broadcast block found in 60 seconds."
]
ENGINE_DEAD = "(APIServer pid=8) ERROR 01-31 10:15:12 [a.py:7] vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue."
TERMINATE = "terminate called after throwing an instance of 'std::runtime_error'"


def verdict(folder: Path, files: Mapping[str, list[str]]) -> Verdict:
    for name, lines in files.items():
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return primary(folder).verdict


Answer = tuple[str, str | None, list[int], list[int]]
CASES: Mapping[str, tuple[list[str], Answer]] = {
    "a rank that waited for a socket of HCCL is a victim, and its exception repeats it": (
        [HCCL_CALL.format(6), HCCL_WAIT],
        ("hang", None, [], []),
    ),
    "what HCCL refuses of its caller is the caller's own": ([HCCL_CALL.format(1)], ("crash", "exception", [5], [])),
    "a watchdog that got stuck shows a wait, and its monitor aborts the process": (
        [MONITOR, ENDED.format(-6)],
        ("hang", None, [], []),
    ),
    "another end is no work of a monitor": ([MONITOR, ENDED.format(-11)], ("crash", "segfault", [], [])),
    "what takes a process down after its wait is no fault of its own, though its words are lost": (
        [*(f"[E ProcessGroupNCCL.cpp:737] {WATCHDOG.format(rank)}" for rank in (2, 1)), TERMINATE, ENDED.format(-6)],
        ("hang", None, [], []),
    ),
    "an exception of C++ with its words is one": (
        [TERMINATE, "  what():  shard index 7 is out of range", ENDED.format(-6)],
        ("crash", None, [], []),  # native code raises it for whatever happened, to itself or to others
    ),
    "a server whose engine did not answer waited": (
        [
            *SHM,
            "(EngineCore pid=9) ERROR 01-31 10:15:12 [core.py:9] TimeoutError: RPC call to sample_tokens timed out.",
            ENGINE_DEAD,
        ],
        ("hang", None, [], []),
    ),
    "an engine that raised something of its own did not": (
        [*SHM, "(EngineCore pid=9) ERROR 01-31 10:15:12 [core.py:9] KeyError: 'lm_head'", ENGINE_DEAD],
        ("crash", "exception", [], []),
    ),
    "an engine that was busy for a minute, and served afterwards, has no fault": (
        [*SHM, "(EngineCore pid=9) INFO 01-31 10:15:12 [core.py:9] init engine took 141.02 seconds"],
        ("unknown", None, [], []),
    ),
    "a program's word of a hang is no log of a host": (["my_lib: Hang detected"], ("unknown", None, [], [])),
    "who speaks is who waited": (
        ["rank 7: reduce_scatter timed out after 600 s", "world_size=8"],
        ("hang", None, [], []),
    ),
    "Slurm puts a job that it preempts back into its queue": (
        ["slurmstepd: error: *** JOB 71 ON n4 CANCELLED AT 2026-01-31T10:11:12 DUE TO JOB REQUEUE ***"],
        ("crash", "preempted", [], []),
    ),
    "a cancellation without a reason is somebody's": (
        ["slurmstepd: error: *** JOB 71 ON n4 CANCELLED AT 2026-01-31T10:11:12 ***"],
        ("crash", "stopped_by_hand", [], []),
    ),
    "the highest rank seen is the least size of a job: who is between may not be all who are missing": (
        [f"[rank{rank}]:[E711 04:17:38.4 ProcessGroupNCCL.cpp:607] {WATCHDOG.format(rank)}" for rank in (0, 1, 3, 4)],
        ("hang", None, [], []),
    ),
    "of a job whose size is told they are": (
        [
            "[rank0]: WORLD_SIZE=5",
            *(
                f"[rank{rank}]:[E711 04:17:38.4 ProcessGroupNCCL.cpp:607] {WATCHDOG.format(rank)}"
                for rank in (0, 1, 3, 4)
            ),
        ],
        ("hang", None, [], [2]),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_a_log_says(name: str, tmp_path: Path) -> None:
    lines, expected = CASES[name]
    found = verdict(tmp_path, {"train.log": lines})
    assert (found.kind, found.cause, found.ranks, found.suspects.ranks) == expected, found.summary


def test_an_exception_that_repeats_a_wait_is_nobody_elses(tmp_path: Path) -> None:
    waits = [f"[E ProcessGroupNCCL.cpp:737] {WATCHDOG.format(rank)}" for rank in (2, 1)]
    found = verdict(tmp_path, {"train.log": [*waits, TERMINATE, f"  what():  {WATCHDOG.format(1)}"]})
    assert found.kind == "hang" and "ranks 1-2, as the group counts them, timed out in all_reduce" in found.summary
