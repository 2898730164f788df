"""The trainings of `numerics_workload.py`, recorded by MindStudio's msprobe (mindstudio-probe) instead of `forensics.probe`.

    python numerics_msprobe.py FOLDER [LEVELS] [CASES]      LEVELS: mix,L0,L1; CASES: those whose name has this in it

Statistics of the fault's step and the one before. PyTorch and the tool are imported once; each case has processes of its
own, forked, as the tool knows one folder per process.
"""

import multiprocessing
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

os.environ |= {"RANK": "0", "WORLD_SIZE": "4", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29672"}

import numerics_workload as workload
import torch
import torch.distributed as dist
from msprobe.pytorch import PrecisionDebugger

FORMS = ("ddp", "all_reduce", "tensor")  # gradients summed out of sight, in sight, and parts of a module on each rank


def record(rank: int, folder: Path, form: str, fault: str, level: str) -> None:
    """One rank of one case."""
    workload.RANK = rank
    os.environ["RANK"] = str(rank)
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    training = workload.begun(form, fault, folder)
    steps = [workload.AT - 1, workload.AT]
    debugger = PrecisionDebugger(
        task="statistics", level=level, dump_path=str(folder / "bundle" / "msprobe"), step=steps
    )

    @contextmanager
    def dumped() -> Iterator[None]:
        debugger.start(model=training.model)
        yield
        debugger.stop()
        debugger.step()

    training.run(dumped)
    workload.ended(training, folder)
    dist.destroy_process_group()


def main(folder: Path, levels: str, wanted: str) -> None:
    forks = multiprocessing.get_context("fork")
    for level in levels.split(","):
        for form in FORMS:
            for fault in workload.FAULTS:
                name = f"msprobe_{level}__{form}__{fault}"
                if not workload.possible(form, fault) or wanted not in name:
                    continue
                ranks = [
                    forks.Process(target=record, args=(rank, folder / name, form, fault, level))
                    for rank in range(workload.WORLD)
                ]
                for process in ranks:
                    process.start()
                for process in ranks:
                    process.join()
                print(name, [process.exitcode for process in ranks], flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *(sys.argv[2:4] + ["mix,L0,L1", ""][len(sys.argv[2:4]) :]))
