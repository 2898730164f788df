"""Two faults in one job, of different ranks, seconds apart: the test bench of whoever weighs findings against each other.

A fault is one function: what it leaves behind when it strikes a rank, whether the process ends by it, and what a verdict may call it.
"""

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from itertools import permutations

from samples.situations.job import Job, s
from samples.situations.parts import DATASET, XID79, basic, nodes, others, world
from samples.situations.stacks import faulthandler, pyspy

RANKS = (5, 11)  # of the first fault and of the second, on two hosts
SAVE = [*DATASET[:2], ("/workspace/train/checkpoint.py", 120, "save", "handle.write(blob)")]


@dataclass(frozen=True)
class Fault:
    """`strikes(job, rank, time)` writes its lines; `ends`: whether the process ends by it; `kind`, `causes`: what it may be called."""

    strikes: Callable[[Job, int, dt.datetime], None]
    ends: bool
    kind: str
    causes: tuple[str, ...]


def _task(j: Job, r: int, t: dt.datetime, how: str) -> None:
    j.srun(t, f"srun: error: {j.host(r)}: task {r}: {how}")


def _raises(j: Job, r: int, t: dt.datetime) -> None:
    j.trace(r, t, DATASET, "KeyError: 'shard_00417'")
    _task(j, r, t + s(0.4), "Exited with exit code 1")


def _out_of_space(j: Job, r: int, t: dt.datetime) -> None:
    j.trace(r, t, SAVE, "OSError: [Errno 28] No space left on device")
    _task(j, r, t + s(0.4), "Exited with exit code 1")


def _out_of_memory(j: Job, r: int, t: dt.datetime) -> None:
    j.oom(j.host(r), t, j.pid(r), "python3", memcg=f"/system.slice/slurmstepd.scope/job_{j.job}/step_0/user")
    _task(j, r, t + s(0.4), "Killed")


def _segfault(j: Job, r: int, t: dt.datetime) -> None:
    frames = '  File "/workspace/train/data/packing.py", line 131 in pack_sequences\n  File "/workspace/train/pretrain.py", line 77 in main'
    j.out(
        r,
        t,
        f"Fatal Python error: Segmentation fault\n\nCurrent thread 0x00007f03caa1db80 (most recent call first):\n{frames}",
        True,
    )
    _task(j, r, t + s(0.4), "Segmentation fault (core dumped)")


def _gpu_lost(j: Job, r: int, t: dt.datetime) -> None:
    j.kernel(j.host(r), t, XID79(j.pci(r)))
    j.kernel(j.host(r), t + s(0.1), f"NVRM: GPU {j.pci(r)}.0: GPU has fallen off the bus.")


def _bad_loss(j: Job, r: int, t: dt.datetime) -> None:
    j.log(r, t, "step 804 done loss nan grad_norm nan step_time 2.003 s")


def _stalls(j: Job, r: int, t: dt.datetime) -> None:
    pyspy(j, r, "data")


def _waits_for_a_lock(j: Job, r: int, t: dt.datetime) -> None:
    faulthandler(j, r, "lock")


FAULTS = {
    "raises": Fault(_raises, True, "crash", ("exception", "data")),
    "out_of_space": Fault(_out_of_space, True, "crash", ("storage", "exception")),
    "out_of_memory": Fault(_out_of_memory, True, "crash", ("host_oom",)),
    "segfault": Fault(_segfault, True, "crash", ("segfault", "killed")),
    "gpu_lost": Fault(_gpu_lost, False, "crash", ("gpu_fault",)),
    "bad_loss": Fault(_bad_loss, False, "numerics", ("nan_birth", "bad_input", "bad_state")),
    "stalls": Fault(_stalls, False, "hang", ("rank_absent",)),
    "waits_for_a_lock": Fault(_waits_for_a_lock, False, "hang", ("rank_absent",)),
}
PAIRS = tuple(permutations(FAULTS, 2))


def job_of(first: str, second: str, layout: str = "flat") -> Job:
    """Sixteen ranks make their steps; `first` strikes rank 5, `second` rank 11 a second and a half later; everybody else waits for
    them ten minutes long and gives up."""
    j, e = basic(f"{first}_{second}", nodes("pr", 2), 8, "2026-05-20T01:00:00", layout)
    for name, rank, after in ((first, RANKS[0], 0.6), (second, RANKS[1], 2.1)):
        FAULTS[name].strikes(j, rank, e + s(after))
    gone = {rank for name, rank in zip((first, second), RANKS, strict=True) if FAULTS[name].ends}
    missing = {rank for name, rank in zip((first, second), RANKS, strict=True) if name != "bad_loss"}
    f = world(j, 500, e, dt_=4, absent=sorted(missing))
    f.dump(skip=sorted(gone))
    j.all_timeout(e + s(604), 504, others(j, *missing))
    return j
