"""Whose process a kernel killed that counts processes otherwise than the container does: by the second number that a launcher told."""

from pathlib import Path

import pytest

from forensics import analyze

LAUNCHED = (
    "2026-01-31T10:00:00.000Z entry launched RANK={rank} LOCAL_RANK={rank} as pid {pid} (on node: {node})",
    "2026-01-31 10:00:00 supervisor: started rank={rank} local_rank={rank} pid={pid}, outside {node}",
    "2026-01-31 10:00:00 start: global_rank: {rank} pid: {pid} / {node} of the machine",
)
LOST = (
    "[rank{rank}]: torch.distributed.DistBackendError: NCCL error: remote process exited or there was a network error"
)
KILL = (
    "[9012.500000] pt_data_worker invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=984\n"
    "[9012.500900] Memory cgroup out of memory: Killed process {pid} (pt_main_thread) total-vm:79204480kB, anon-rss:68768048kB\n"
)


def write(folder: Path, form: str, killed: int, signalled: int | None, second: dict[int, int] | None = None) -> Path:
    """Four ranks in a container, which counts from 70; outside their numbers are 8070 and so on."""
    second = second or {}
    lines = [form.format(rank=rank, pid=70 + rank, node=second.get(rank, 8070 + rank)) for rank in range(4)]
    lines += [
        f"[rank{rank}]: 2026-01-31 10:00:0{step} step {step} loss 2.{step}" for step in range(1, 4) for rank in range(4)
    ]
    lines += [LOST.format(rank=rank) for rank in range(4) if rank != signalled]
    if signalled is not None:
        lines += [f"launcher: rank {signalled} (pid {70 + signalled}) exited with exit code -9"]
    (folder / "pod.log").write_text("\n".join(lines) + "\n")
    (folder / "dmesg_node.txt").write_text(KILL.format(pid=killed))
    return folder


@pytest.mark.parametrize("form", LAUNCHED)
def test_the_second_number_tells_the_rank(tmp_path: Path, form: str) -> None:
    verdict = analyze(write(tmp_path, form, 8072, 2)).verdict
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("crash", "host_oom", [2])


@pytest.mark.parametrize(
    ("killed", "signalled", "second"),
    [
        (9999, 2, None),  # a process that nobody knows
        (8071, 2, None),  # of another rank than that which was killed
        (8072, 2, dict.fromkeys(range(4), 8072)),  # a number of all
        (8072, None, None),  # nobody is known to have been killed
    ],
)
def test_else_it_tells_nobody(
    tmp_path: Path, killed: int, signalled: int | None, second: dict[int, int] | None
) -> None:
    verdict = analyze(write(tmp_path, LAUNCHED[0], killed, signalled, second)).verdict
    assert set(verdict.ranks) <= ({signalled} if signalled is not None else set())
    assert verdict.cause != "host_oom" or verdict.ranks == []
