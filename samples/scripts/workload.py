"""The training job of the samples: small, real, multi-process PyTorch over gloo, with one fault per case.

Run by torchrun, by way of make_sample.py: `torchrun … workload.py CASE`. The fault of a case is in FAULTS: the ranks
that have it, the step, and what they do there. All other ranks run the healthy code.
"""

import ctypes
import fcntl
import logging
import os
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
from recording import TensorStatistics, dump_flight_recorder, dump_on_request, stacks_on_signal
from torch import nn
from torch.utils.data import DataLoader, Dataset

RANK, WORLD = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
WORK = Path(os.environ["JOB_WORK"])  # the driver's work folder
BUNDLE = WORK / "bundle"
TIMEOUT = timedelta(seconds=20)
log = logging.getLogger("train")


@dataclass
class Fault:
    """Which ranks misbehave at which step, in which of the workload's places, and how."""

    ranks: tuple[int, ...] = ()
    step: int = -1
    place: str = ""
    act: Callable[[], None] = field(default=lambda: None)
    every_step: bool = False  # from `step` on

    def at(self, place: str, step: int) -> bool:
        due = step >= self.step if self.every_step else step == self.step
        return RANK in self.ranks and place == self.place and due


def read_shard() -> None:
    """A shard that never arrives: the reader of a FIFO that nobody writes."""
    (WORK / "shard-00017.bin").open("rb").read()


def save_checkpoint() -> None:
    """A storage that does not take the bytes: the writer of a FIFO that nobody reads."""
    with (WORK / "checkpoint.pt").open("wb") as file:
        torch.save({"step": 0}, file)


def take_compile_lock() -> None:
    """The kernel cache's lock, which the driver holds."""
    with (WORK / "compile.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)


def evaluate() -> None:
    """An evaluation much longer than that of the others."""
    weight = torch.randn(64, 64)
    until = time.monotonic() + 60
    while time.monotonic() < until:
        torch.tanh(weight @ weight)
        time.sleep(0.01)


def killed() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def invalid_read() -> None:
    ctypes.string_at(0)


def missing_key() -> None:
    vocabulary = {"a": 0}
    vocabulary["tokenizer_version"]


def broadcast_instead() -> None:
    dist.broadcast(torch.zeros(64), src=0)


def reduce_once_more() -> None:
    dist.all_reduce(torch.ones(3))


def slow_preprocessing() -> None:
    time.sleep(0.4)


def compute_again() -> None:
    """A device that is busy with something else besides."""
    weight = torch.randn(256, 256)
    for _ in range(24):
        weight = torch.tanh(weight @ weight)


def write_slowly() -> None:
    """A storage that takes its time."""
    with (WORK / f"shard_{RANK}.bin").open("wb") as file:
        for _ in range(24):
            file.write(bytes(1 << 20))
            os.fsync(file.fileno())


def wait_for_data() -> None:
    time.sleep(0.6)


FAULTS = {
    "healthy": Fault(),
    "healthy_tensors": Fault(),
    "data_stall": Fault((5,), 6, "data", read_shard),
    "wrong_collective": Fault((3,), 4, "gradients", broadcast_instead),
    "extra_collective": Fault((4,), 5, "gradients", reduce_once_more),
    "order_inversion": Fault((2, 3), 4, "order"),
    "rank_killed": Fault((4,), 5, "forward", killed),
    "segfault": Fault((1,), 4, "forward", invalid_read),
    "exception": Fault((2,), 5, "data", missing_key),
    "two_absent": Fault((2, 6), 4, "checkpoint", save_checkpoint),
    "barrier_absent": Fault((3,), 4, "evaluate", evaluate),
    "missing_at_start": Fault((3,), 0, "start", take_compile_lock),
    "pipeline_stall": Fault((2,), 3, "stage", take_compile_lock),
    "nan_birth": Fault((1,), 1, "mask"),
    "nan_weight": Fault((3,), 0, "load"),
    "slow_rank": Fault((6,), 3, "data", slow_preprocessing, every_step=True),
    "slow_compute": Fault((2,), 0, "compute", compute_again, every_step=True),
    "slow_storage": Fault((4,), 12, "save", write_slowly, every_step=True),
    "slow_loader": Fault((5,), 0, "load", wait_for_data, every_step=True),
    "healthy_phases": Fault(),
}
IN_PHASES = {"slow_compute", "slow_storage", "slow_loader", "healthy_phases"}
LATE_STEPS = {3, 4, 7, 12, 13, 17, 22, 23, 26}  # in which the loader of slow_loader is late
WITH_TENSORS = {"healthy_tensors", "nan_birth", "nan_weight"}


class Samples(Dataset[torch.Tensor]):
    """Random rows, the same for a rank in each run."""

    def __init__(self, fault: Fault) -> None:
        self.fault = fault
        self.rows = torch.randn(512, 8, 16, generator=torch.Generator().manual_seed(RANK))

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> torch.Tensor:
        if self.fault.at("data", index // 8) and index % 8 == 0:
            self.fault.act()
        return self.rows[index]


class Attend(nn.Module):
    """Causal attention of one head. A row of the mask without a single open place gives 0/0."""

    hide_row = False

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        mask = torch.ones(x.shape[1], x.shape[1]).tril().bool()
        if self.hide_row:
            mask[3] = False
        scores = (x @ x.transpose(1, 2) / x.shape[-1] ** 0.5).masked_fill(~mask, float("-inf"))
        return scores.softmax(-1) @ x


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm, self.attend = nn.LayerNorm(width), Attend()
        self.fc1, self.act, self.fc2 = nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attend(self.norm(x))
        return x + self.fc2(self.act(self.fc1(x)))


class Model(nn.Module):
    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.embed = nn.Linear(16, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(2))
        self.head = nn.Linear(width, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.embed(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def train(fault: Fault, statistics: bool, steps: int = 8) -> None:
    """Data parallel: two micro-batches a step, then one all_reduce per parameter."""
    torch.manual_seed(7)
    model = Model()
    if fault.at("load", 0):
        model.blocks[0].fc1.weight.data[3, 5] = float("nan")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    stats = TensorStatistics(BUNDLE / f"tensor_stats/rank_{RANK}.jsonl", RANK, model) if statistics else None
    loader = iter(DataLoader(Samples(fault), batch_size=4))
    for step in range(steps):
        began = time.monotonic()
        loss, data_s = torch.zeros(()), 0.0
        for microbatch in range(2):
            asked = time.monotonic()
            batch = next(loader)
            data_s += time.monotonic() - asked
            if stats:
                stats.step, stats.microbatch = step, microbatch
            if fault.at("forward", step):
                fault.act()
            model.blocks[1].attend.hide_row = microbatch == 1 and fault.at("mask", step)
            loss = model(batch).square().mean()
            loss.backward()
        all_reduce_gradients(model, fault, step, stats)
        optimizer.step()
        optimizer.zero_grad()
        step_s = time.monotonic() - began
        log.info("step %d loss %.5f step_time %.3f s data_time %.3f s", step, loss.item(), step_s, data_s)
        if not torch.isfinite(loss) and step > fault.step:
            log.error("loss is not finite at step %d, stopping", step)
            sys.exit(1)
        after_step(fault, step)


def train_in_phases(fault: Fault, steps: int = 30) -> None:
    """Data parallel, every rank with the time of each phase in the line of the step; each writes a shard in every step."""
    torch.manual_seed(7)
    model = nn.Sequential(*(layer for _ in range(8) for layer in (nn.Linear(256, 256), nn.Tanh())))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    batches = torch.randn(steps, 256, 256, generator=torch.Generator().manual_seed(RANK))
    for step in range(steps):
        times, since = {}, time.monotonic()

        def done(phase: str, times: dict[str, float] = times) -> None:
            nonlocal since
            times[phase], since = time.monotonic() - since, time.monotonic()

        if step in LATE_STEPS and fault.at("load", step):
            fault.act()
        batch = batches[step].clone()
        done("data")
        if fault.at("compute", step):
            fault.act()
        loss = model(batch).square().mean()
        done("forward")
        loss.backward()
        done("backward")
        if fault.at("save", step):
            fault.act()
        (WORK / f"activations_{RANK}.pt").write_bytes(bytes(4096))
        done("save")
        for parameter in model.parameters():
            assert parameter.grad is not None
            dist.all_reduce(parameter.grad)
        done("comm")
        optimizer.step()
        optimizer.zero_grad()
        done("optimizer")
        told = " ".join(f"{phase}_time {seconds:.4f} s" for phase, seconds in times.items())
        log.info("step %d loss %.5f step_time %.4f s %s", step, loss.item(), sum(times.values()), told)


def all_reduce_gradients(model: nn.Module, fault: Fault, step: int, stats: TensorStatistics | None) -> None:
    if fault.at("gradients", step):
        fault.act()
    for index, (name, parameter) in enumerate(model.named_parameters()):
        assert parameter.grad is not None
        call = step * len(list(model.parameters())) + index
        if stats:
            stats.all_reduce(name, "grad_in", parameter.grad, call, list(range(WORLD)))
        dist.all_reduce(parameter.grad)
        parameter.grad /= WORLD
        if stats:
            stats.all_reduce(name, "grad_out", parameter.grad, call, list(range(WORLD)))


def after_step(fault: Fault, step: int) -> None:
    if fault.at("checkpoint", step):
        fault.act()
    if fault.place == "evaluate" and step == fault.step:
        log.info("evaluating after step %d", step)
        if fault.at("evaluate", step):
            fault.act()
        dist.monitored_barrier(timeout=TIMEOUT, wait_all_ranks=True)


def train_two_groups(fault: Fault) -> None:
    """Two groups over the same ranks; half of them use the groups in the other order from the fault's step on."""
    groups = [dist.new_group(list(range(WORLD)), timeout=TIMEOUT, group_desc=name) for name in ("dp_group", "ep_group")]
    for step in range(8):
        for group in reversed(groups) if fault.at("order", step) else groups:
            dist.all_reduce(torch.ones(32), group=group)
        log.info("step %d done", step)


def train_pipeline(fault: Fault, stages: int = 4) -> None:
    """Pipeline of four stages, data parallel over two: rank = replica * stages + stage."""
    replica, stage = divmod(RANK, stages)
    columns = [dist.new_group([column + stages * r for r in range(2)], timeout=TIMEOUT) for column in range(stages)]
    weight = torch.ones(16)
    for step in range(8):
        for _ in range(3):
            x = torch.ones(16)
            if stage > 0:
                dist.recv(x, replica * stages + stage - 1)
            if fault.at("stage", step):
                fault.act()
            x = x * weight
            if stage < stages - 1:
                dist.send(x, replica * stages + stage + 1)
        dist.all_reduce(weight, group=columns[stage])
        weight /= 2
        log.info("step %d done", step)


def main(case: str) -> None:
    fault = FAULTS[case]
    form = f"%(asctime)s.%(msecs)03d [rank{RANK}] %(levelname)s train: %(message)s"
    logging.basicConfig(level=logging.INFO, stream=sys.stdout, format=form, datefmt="%Y-%m-%d %H:%M:%S")
    torch.set_num_threads(1)
    stacks_on_signal(BUNDLE / "stacks", RANK)
    dump_on_request(WORK, BUNDLE / "fr", RANK)
    log.info("starting pid=%d world=%d", os.getpid(), WORLD)
    if fault.at("start", 0):
        fault.act()
    dist.init_process_group("gloo", timeout=TIMEOUT)
    log.info("init done backend=gloo torch=%s", torch.__version__)
    if case == "order_inversion":
        train_two_groups(fault)
    elif case == "pipeline_stall":
        train_pipeline(fault)
    elif case in IN_PHASES:
        train_in_phases(fault)
    else:
        train(fault, statistics=case in WITH_TENSORS, steps=4 if case in WITH_TENSORS else 8)
    dist.barrier()
    if case not in IN_PHASES:
        dump_flight_recorder(BUNDLE / "fr", RANK)
    log.info("training finished")
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1])
