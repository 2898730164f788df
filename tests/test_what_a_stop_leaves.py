"""A job that a scheduler stops: its processes do not go at once, and what those who go last say of the first is no fault; what was said before the stop is."""

from pathlib import Path

import pytest

from forensics import analyze
from forensics.model.incident import Verdict
from tests.sources import written

RANKS, FIRST = 4, 2
STOPS = {
    "cancelled": "slurmstepd: error: *** STEP 55120.0 ON jx-07 CANCELLED AT 2026-11-27T19:12:36 ***",
    "a job": "slurmstepd: error: *** JOB 55120 ON jx-07 CANCELLED AT 2026-11-27T19:12:36 ***",
    "time": "slurmstepd: error: *** JOB 55120 ON jx-07 CANCELLED AT 2026-11-27T19:12:36 DUE TO TIME LIMIT ***",
    "preempted": "slurmstepd: error: *** JOB 55120 ON jx-07 CANCELLED AT 2026-11-27T19:12:36 DUE TO PREEMPTION ***",
}
HEARTBEAT = (
    "F1127 19:12:5{r}.034595   8814{r} client.h:80] Terminating process because the JAX distributed service detected fatal errors. "
    "absl::Status: UNAVAILABLE: The following tasks are unhealthy (stopped sending heartbeats):",
    "/job:jax_worker/replica:0/task:2",
)
CLOSED = (
    "RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:525] Connection closed by peer [10.0.0.2]:4321",
)
NCCL = (
    "[rank{r}]:[E1127 19:12:5{r}.034595 ProcessGroupNCCL.cpp:552] [Rank {r}] Collective WorkNCCL(SeqNum=7, OpType=ALLREDUCE, NumelIn=4, NumelOut=4, "
    "Timeout(ms)=600000) raised the following async exception: NCCL error: remote process exited or there was a network error",
)
SAID = {"heartbeats": HEARTBEAT, "connections": CLOSED, "remote errors": NCCL}


def steps(rank: int) -> list[str]:
    return [f"step {at} loss {3 - at / 9:.4f}" for at in range(6)]


def one_log(
    stop: str, said: tuple[str, ...], *, before: tuple[str, ...] = (), late: bool = False
) -> dict[str, list[str]]:
    """All in the log of a launcher that sets the task before each line."""
    lines = [f"{rank}: process {rank} of {RANKS}, pid 8900{rank}" for rank in range(RANKS)]
    lines += [f"{rank}: {line}" for rank in range(RANKS) for line in steps(rank)]
    others = [f"{rank}: {line.format(r=rank)}" for rank in range(RANKS) if rank != FIRST for line in said]
    behind = [STOPS[stop], "srun: Job step aborted: Waiting up to 62 seconds for job step to finish."]
    return {"slurm-55120.out": [*lines, *before, *(others + behind if late else behind + others)]}


def own_logs(stop: str, said: tuple[str, ...]) -> dict[str, list[str]]:
    """Each process has a log of its own, and tells there that it was told to stop."""
    files = {
        f"rank_{rank}.log": [
            f"process {rank} of {RANKS}, pid 8900{rank}",
            *steps(rank),
            f"I1127 19:12:36.13045{rank}   8900{rank} preemption_notifier.cc:89] SIGTERM caught at 2026-11-27T19:12:36.065455+00:00",
            *(line.format(r=rank) for line in said if rank != FIRST),
        ]
        for rank in range(RANKS)
    }
    return files | {"slurm-55120.out": [STOPS[stop]]}


def verdict(folder: Path, files: dict[str, list[str]]) -> Verdict:
    return analyze(str(written(folder, files))).verdict


@pytest.mark.parametrize("stop", STOPS)
@pytest.mark.parametrize("said", SAID)
def test_what_comes_behind_the_stop_is_of_the_stop(tmp_path: Path, stop: str, said: str) -> None:
    found = verdict(tmp_path, one_log(stop, SAID[said]))
    assert (found.kind, found.ranks, found.suspects.ranks) == ("crash", [], [])
    assert found.cause in ("stopped_by_hand", "time_limit", "preempted")


@pytest.mark.parametrize("said", SAID)
def test_each_in_its_own_log_behind_its_own_word(tmp_path: Path, said: str) -> None:
    found = verdict(tmp_path, own_logs("cancelled", SAID[said]))
    assert (found.kind, found.cause, found.ranks, found.suspects.ranks) == ("crash", "stopped_by_hand", [], [])


def test_what_was_said_before_the_stop_stands(tmp_path: Path) -> None:
    found = verdict(tmp_path, one_log("cancelled", HEARTBEAT, late=True))
    assert found.suspects.ranks == [FIRST] or found.ranks == [FIRST]


def test_what_a_launcher_began_to_end_for_a_task_is_no_stop(tmp_path: Path) -> None:
    begun = (
        "srun: error: jx-08: task 2: Segmentation fault (core dumped)",
        "srun: Terminating StepId=55120.0",
    )
    assert verdict(tmp_path, one_log("cancelled", HEARTBEAT, before=begun)).cause != "stopped_by_hand"


def test_nobody_stopped_it(tmp_path: Path) -> None:
    files = own_logs("cancelled", HEARTBEAT)
    del files["slurm-55120.out"]
    assert verdict(tmp_path, files).cause != "stopped_by_hand" or not verdict(tmp_path, files).ranks
