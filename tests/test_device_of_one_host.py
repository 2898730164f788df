"""What a process says of its device, and a kernel of one, in a bundle that names no host: then all is of one host."""

from pathlib import Path

import pytest

from forensics import analyze

LOST = "[rank{rank}] torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:2356, remote process exited or there was a network error"
OWN = "[rank{rank}] HW Exception by GPU node-{node} (Agent handle: 0x5601c3b0) reason :GPU Hang"
FAULT = "[Sat Jan 31 10:{minute:02d}:{second:02d} 2026] amdgpu 0000:{bus}:00.0: amdgpu: {{4}}uncorrectable hardware error(ERREVENT_ATHUB_INTERRUPT) detected!"


def write(folder: Path, own: tuple[int, ...], faults: tuple[tuple[int, str], ...], world: int = 4) -> Path:
    """Ranks `own` that their runtime aborts at 10:20:05, what the kernel said at which minute of which device."""
    lines = [
        f"2026-01-31 10:00:00 rank {rank} pid {7100 + rank} cuda:{rank} of world_size={world}" for rank in range(world)
    ]
    lines += [f"2026-01-31 10:{minute:02d}:00 step {minute} loss 2.{minute}" for minute in range(5, 20)]
    lines += [OWN.format(rank=rank, node=rank + 2) for rank in own]
    lines += [f"2026-01-31 10:20:05 rank {rank} (pid {7100 + rank}): Aborted (core dumped)" for rank in own]
    lines += [LOST.format(rank=rank) for rank in range(world) if rank not in own]
    (folder / "job.log").write_text("\n".join(lines) + "\n")
    (folder / "dmesg.txt").write_text(
        "".join(FAULT.format(minute=minute, second=1, bus=bus) + "\n" for minute, bus in faults)
    )
    return folder


@pytest.mark.parametrize("rank", [0, 3])
def test_the_one_process_and_the_one_device_belong_together(tmp_path: Path, rank: int) -> None:
    verdict = analyze(write(tmp_path, (rank,), ((20, "c6"),))).verdict
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("crash", "gpu_fault", [rank])


@pytest.mark.parametrize(
    ("own", "faults"),
    [
        ((), ((20, "c6"),)),  # no process says anything of its device
        ((1, 3), ((20, "c6"),)),  # two do
    ],
)
def test_else_no_device_is_blamed(tmp_path: Path, own: tuple[int, ...], faults: tuple[tuple[int, str], ...]) -> None:
    verdict = analyze(write(tmp_path, own, faults)).verdict
    assert verdict.cause != "gpu_fault" or verdict.ranks == []
    assert set(verdict.ranks) <= set(own)


@pytest.mark.parametrize(
    "faults",
    [
        ((20, "c6"), (20, "26")),  # the kernel speaks of two
        ((58, "c6"),),  # long after
    ],
)
def test_the_process_whose_runtime_ended_it_is_named_and_no_device_that_may_be_another(
    tmp_path: Path, faults: tuple[tuple[int, str], ...]
) -> None:
    verdict = analyze(write(tmp_path, (3,), faults)).verdict
    assert verdict.ranks == [3]
    assert all(device.pci is None for device in verdict.devices)


WAITED = "[rank{rank}]:[E131 10:30:05.0 ProcessGroupNCCL.cpp:632] [Rank {rank}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7, OpType=ALLREDUCE, NumelIn=4, NumelOut=4, Timeout(ms)=600000) ran for 600001 milliseconds before timing out."


@pytest.mark.parametrize("aborted", ["", "Fatal Python error: Aborted\n"])
def test_a_process_that_its_runtime_ended_died_though_the_others_waited_on(tmp_path: Path, aborted: str) -> None:
    folder = write(tmp_path, (2,), ((20, "c6"),))
    kept = [line for line in (folder / "job.log").read_text().splitlines() if "DistBackend" not in line]
    kept = [line for line in kept if "core dumped" not in line]
    waited = [WAITED.format(rank=rank) for rank in (0, 1, 3)]
    (folder / "job.log").write_text("\n".join([*kept, *([aborted.strip()] if aborted else []), *waited]) + "\n")
    verdict = analyze(folder).verdict
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("crash", "gpu_fault", [2])
