"""Stacks that wait, of a job of which no line tells that anything is wrong: so they stand while it runs, too."""

from pathlib import Path

from forensics import analyze
from tests.sources import written

ACTOR = ["main_loop (ray/_private/worker.py:946)", "<module> (ray/_private/workers/default_worker.py:330)"]
REDUCES = ["all_reduce (torch/distributed/distributed_c10d.py:2806)", "run_step (fit/loop.py:231)"]
LOCKS = ["acquire (filelock/_api.py:330)", "open_cache (fit/cache.py:61)", "run_step (fit/loop.py:212)"]


def stack(pid: int, frames: list[str]) -> list[str]:
    head = [f"Process {pid}: ray::RayTrainWorker", "Python v3.11.9 (/opt/venv/bin/python3.11)", ""]
    main = [f'Thread {pid} (idle): "MainThread"', *(f"    {frame}" for frame in ACTOR)]
    return [*head, *main, f'Thread {pid + 50} (active): "TrainingThread"', *(f"    {frame}" for frame in frames)]


def test_one_look_at_a_job_is_no_failure(tmp_path: Path) -> None:
    log = [f"rank {rank}/4 pid {400 + rank} is up" for rank in range(4)]
    log += [f"step {step} loss {2 - step / 100:.4f}" for step in range(1, 40)]
    looks = {f"look_{rank}.txt": stack(400 + rank, LOCKS if rank == 2 else REDUCES) for rank in range(4)}
    verdict = analyze(written(tmp_path, {"train.log": log, **looks})).verdict
    assert (verdict.kind, verdict.ranks) == ("unknown", [])
    assert "went wrong" not in verdict.summary
    assert "does not tell whether it stands still" in verdict.summary
