"""A process of another program of the job was killed: ranks that raise something afterwards are not taken for the origin."""

from pathlib import Path

import pytest

import forensics

KERNEL = (
    "Mar 03 10:{when} {host} kernel: oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,"
    "oom_memcg=/svc,task_memcg=/svc,task={task},pid={pid},uid=0\n"
    "Mar 03 10:{when} {host} kernel: Memory cgroup out of memory: Killed process {pid} ({task}) total-vm:4112kB, anon-rss:2471kB, "
    "file-rss:2kB, shmem-rss:1kB, UID:0 pgtables:4kB oom_score_adj:0\n"
)
# What processes of no rank say of themselves.
WORDS = (
    "2026-03-03 09:00:00,010 {name} pid={pid} host={host} port=9101",
    "2026-03-03 09:00:00,010 INFO reward server up (host {host}, pid {pid}), 8 slots",
    "2026-03-03 09:00:00 [sampler-4] host={host} pid={pid} ready to serve",
    "2026-03-03 09:00:00 replay buffer shard 1: pid={pid} host: {host} capacity 400000",
    "2026-03-03 09:00:00 environment worker env-17 hostname={host} pid {pid}",
)


def _bundle(
    root: Path, word: str, *, host: str = "inf-2", pid: int = 7701, when: str = "20:10", task: str = "python3"
) -> Path:
    (root / "kern.log").write_text(KERNEL.format(when=when, host=host, pid=pid, task=task))
    (root / "side.log").write_text(
        word.format(name="engine-1", pid=7701, host="inf-2") + "\n2026-03-03 09:00:30 served 20\n"
    )
    for rank in range(4):
        first = f"2026-03-03 09:00:00 rank {rank} of 4 pid {2200 + rank} host=trn-1\n"
        raised = (
            "2026-03-03 10:20:14 step 90\nTraceback (most recent call last):\n"
            '  File "/home/rl/run.py", line 133, in step\n    raise EmptyBatch("no usable response")\n'
            f"EmptyBatch: no usable response\n2026-03-03 10:20:15 rank {rank} leaves\n"
        )
        waited = f"2026-03-03 10:19:14 step 90\n2026-03-03 10:19:15 rank {rank} waits\n"
        (root / f"rank{rank}.log").write_text(first + (raised if rank == 2 else waited))
    return root


@pytest.mark.parametrize("word", WORDS)
def test_what_was_raised_after_another_program_was_killed_accuses_nobody(tmp_path: Path, word: str) -> None:
    verdict = forensics.analyze(_bundle(tmp_path, word)).verdict
    assert (verdict.cause, verdict.ranks, verdict.hosts) == ("host_oom", [], ["inf-2"])


@pytest.mark.parametrize(
    "kill", [{"when": "20:50"}, {"host": "db-9"}, {"host": "db-9", "pid": 411}, {"pid": 880, "task": "node_exporter"}]
)
def test_a_later_kill_or_one_of_a_process_that_is_not_of_the_job_excuses_nobody(
    tmp_path: Path, kill: dict[str, str]
) -> None:
    bundle = _bundle(tmp_path, WORDS[0], **kill)
    assert forensics.analyze(bundle).verdict.ranks == [2]
