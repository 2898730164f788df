"""One small data-parallel training over gloo in the ways that people start one, with one fault or none.

    LAUNCHER … launcher_workload.py FORM FAULT

`launcher_matrix.py` starts it. The loop is the framework's own where it has one; the faults lie in the data set and in
the model, so that they are the same everywhere.
"""

import logging
import os
import resource
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch._C import _distributed_c10d as c10d
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler

FORM, FAULT = sys.argv[-2:]  # a launcher may put its own before them
WORK = Path(os.environ["JOB_WORK"])  # signals and dumps are asked for by files in it
WORLD, STEPS, AT, BATCH, WIDTH = 4, 14, 5, 4, 32
CULPRIT = {
    "killed": 2,
    "stopped": 2,
    "exception": 1,
    "mismatch": 3,
    "data_stall": 2,
    "memory": 1,
    "retry": 1,
    "slow": 2,
}
TIMEOUT = timedelta(seconds=90 if FORM in ("fabric", "lightning") else 12)  # there, also for meeting at the start
log = logging.getLogger("train")


def rank() -> int:
    return dist.get_rank() if dist.is_initialized() else 0


# --- faults --------------------------------------------------------------------------------------------------------


def ask_for(signal_name: str) -> None:
    """Somebody outside sends the signal; the process knows nothing of it."""
    (WORK / "signal.tmp").write_text(f"{os.getpid()} {signal_name}")
    (WORK / "signal.tmp").rename(WORK / "signal.request")


def take_memory() -> None:
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + 2**28, used + 2**28))
    torch.ones(2**32)


def read_twice() -> None:
    for attempt in (1, 2):
        try:
            if attempt == 1:
                raise OSError(5, "Input/output error", "/data/shards/shard-00017.tar")
        except OSError:
            log.exception("reading the shard failed, trying again (1 of 3)")


def alarm() -> None:
    """Lines that look bad and mean nothing."""
    warnings.warn("invalid value encountered: nan in the running mean of an empty metric", RuntimeWarning, stacklevel=2)
    log.warning("heartbeat to the metrics server timed out, 0 errors so far; will be tried again")
    log.error("could not upload the profile: connection reset by peer")


ON_DATA: dict[str, Callable[[], object]] = {
    "exception": lambda: {"bos": 1}["eos_token_id"],
    "data_stall": lambda: time.sleep(600),
    "retry": read_twice,
    "memory": take_memory,
}
ON_FORWARD: dict[str, Callable[[], object]] = {
    "killed": lambda: ask_for("SIGKILL"),
    "stopped": lambda: ask_for("SIGSTOP"),
    "mismatch": lambda: dist.all_reduce(torch.ones(7)),
    "warnings": alarm,
}


def due(step: int) -> bool:
    restarted = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") != "0"
    return step == AT and not restarted and rank() == CULPRIT.get(FAULT, rank())


# --- the job -------------------------------------------------------------------------------------------------------


class Rows(Dataset[tuple[torch.Tensor, torch.Tensor]]):
    """Counts its own reads: `BATCH` of them are a step."""

    def __init__(self) -> None:
        self.read = 0

    def __len__(self) -> int:
        return STEPS * BATCH * WORLD

    def __getitem__(self, index: int) -> Any:
        step, first = divmod(self.read, BATCH)
        self.read += 1
        if first == 0 and due(step):
            ON_DATA.get(FAULT, lambda: None)()
        row = torch.randn(WIDTH, generator=torch.Generator().manual_seed(index))
        return {"x": row, "labels": row.sum()} if FORM == "hf" else (row, row.sum())


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, 1))
        self.step = 0

    def forward(self, x: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
        if self.step == 1:
            (WORK / "stepping").touch()
        if due(self.step):
            ON_FORWARD.get(FAULT, lambda: None)()
        time.sleep(0.9 if FAULT == "slow" and rank() == CULPRIT["slow"] and self.step >= AT else 0.15)
        self.step += 1
        return {"loss": (self.body(x).squeeze(-1) - labels).square().mean()}


def dump() -> None:
    """This rank's flight record."""
    name = f"trace_{rank()}" if FORM == "env" else f"comm_lib_trace_rank_{rank()}"
    (WORK / "bundle" / "fr").mkdir(exist_ok=True)
    (WORK / "bundle" / "fr" / name).write_bytes(c10d._dump_fr_trace(True, True, False))


def dump_when_asked() -> None:
    """Not for what was asked of the attempt before."""

    def watch() -> None:
        while not (WORK / "dump.request").exists():
            time.sleep(0.3)
        dump()

    (WORK / f"pid_{rank()}").write_text(str(os.getpid()))
    if not (WORK / "dump.request").exists():
        threading.Thread(target=watch, name="dump_watch", daemon=True).start()


@contextmanager
def recorded() -> Iterator[None]:
    """Writes the flight record when somebody asks for it, and when an error ends the training."""
    dump_when_asked()
    try:
        yield
    except Exception:
        dump()
        raise


def loop(model: nn.Module, data: Any, backward: Callable[[torch.Tensor], None], update: Callable[[], None]) -> None:
    """The loop of those who write their own; every rank says how long its part of a step took."""
    batches = iter(data)
    for step in range(STEPS):
        began = time.monotonic()
        x, labels = next(batches)
        read = time.monotonic()
        loss = model(x, labels)["loss"]
        forward = time.monotonic()
        backward(loss)
        update()
        took = time.monotonic() - began
        times = f"data_time {read - began:.3f} s forward_time {forward - read:.3f} s step_time {took:.3f} s"
        log.info("step %d/%d loss %.4f %s", step, STEPS, loss.item(), times)
    log.info("training finished")


def stepping(optimizer: torch.optim.Optimizer) -> Callable[[], None]:
    def update() -> None:
        optimizer.step()
        optimizer.zero_grad()

    return update


def plain() -> None:
    """Started by torchrun, by spawn, or with the environment set by hand. A restart meets at another port: gloo finds the
    addresses of the attempt before in the agent's store."""
    if FORM == "restart":
        port = int(os.environ["MASTER_PORT"]) + 1000 * (1 + int(os.environ["TORCHELASTIC_RESTART_COUNT"]))
        os.environ |= {"MASTER_PORT": str(port), "TORCHELASTIC_USE_AGENT_STORE": "False"}
    dist.init_process_group("gloo", timeout=TIMEOUT)
    say()
    with recorded():
        model, rows = DistributedDataParallel(Model()), Rows()
        data = DataLoader(rows, BATCH, sampler=DistributedSampler(rows, shuffle=False))
        optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
        loop(model, data, torch.Tensor.backward, stepping(optimizer))
        dist.barrier()
    dist.destroy_process_group()


def spawned(number: int) -> None:
    os.environ |= {"RANK": str(number), "LOCAL_RANK": str(number)}
    set_logs()
    plain()


def spawn() -> None:
    torch.multiprocessing.spawn(spawned, nprocs=WORLD)


def accelerate() -> None:
    from accelerate import Accelerator, InitProcessGroupKwargs

    accelerator = Accelerator(cpu=True, kwargs_handlers=[InitProcessGroupKwargs(backend="gloo", timeout=TIMEOUT)])
    say()
    model = Model()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    model, optimizer, data = accelerator.prepare(model, optimizer, DataLoader(Rows(), BATCH))
    with recorded():
        loop(model, data, accelerator.backward, stepping(optimizer))
        accelerator.wait_for_everyone()
    accelerator.end_training()


def fabric() -> None:
    from lightning.fabric import Fabric
    from lightning.fabric.strategies import DDPStrategy

    strategy = DDPStrategy(process_group_backend="gloo", timeout=TIMEOUT)
    fabric = Fabric(accelerator="cpu", devices=WORLD, strategy=strategy)
    fabric.launch()
    say()
    model = Model()
    model, optimizer = fabric.setup(model, torch.optim.AdamW(model.parameters(), 1e-3))
    data = fabric.setup_dataloaders(DataLoader(Rows(), BATCH))
    with recorded():
        loop(model, data, fabric.backward, stepping(optimizer))
        fabric.barrier()


def lightning() -> None:
    import lightning
    from lightning.pytorch.strategies import DDPStrategy

    class Module(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.model = Model()

        def training_step(self, batch: Any, _: int) -> torch.Tensor:
            loss = self.model(*batch)["loss"]
            self.log("train_loss", loss, prog_bar=True)
            return loss

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.AdamW(self.parameters(), 1e-3)

        def on_train_start(self) -> None:
            dump_when_asked()

        def on_exception(self, _: BaseException) -> None:
            dump()

    strategy = DDPStrategy(process_group_backend="gloo", timeout=TIMEOUT)
    kept = {"enable_checkpointing": False, "logger": False, "log_every_n_steps": 1}
    trainer = lightning.Trainer(accelerator="cpu", devices=WORLD, strategy=strategy, max_epochs=1, **kept)
    trainer.fit(Module(), DataLoader(Rows(), BATCH))


def hf() -> None:
    from transformers import Trainer, TrainingArguments

    kept: dict[str, Any] = {"report_to": [], "save_strategy": "no", "logging_steps": 1, "max_steps": STEPS}
    arguments = TrainingArguments(
        str(WORK / "out"), use_cpu=True, ddp_backend="gloo", ddp_timeout=TIMEOUT.seconds,
        per_device_train_batch_size=BATCH, **kept,
    )  # fmt: skip
    trainer = Trainer(Model(), arguments, train_dataset=Rows())
    with recorded():
        trainer.train()


def deepspeed() -> None:
    import deepspeed

    deepspeed.init_distributed(dist_backend="gloo", timeout=TIMEOUT)
    say()
    model = Model()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    config = {"train_micro_batch_size_per_gpu": BATCH, "steps_per_print": 1}
    engine, *_ = deepspeed.initialize(model=model, optimizer=optimizer, config=config)
    rows = Rows()
    data = DataLoader(rows, BATCH, sampler=DistributedSampler(rows, shuffle=False))
    with recorded():
        loop(engine, data, engine.backward, engine.step)
        dist.barrier()


def ray_loop(_: dict[str, Any]) -> None:
    import ray.train
    from ray.train.torch import prepare_data_loader, prepare_model

    set_logs()
    say()
    model = prepare_model(Model(), move_to_device=False)
    data = prepare_data_loader(DataLoader(Rows(), BATCH), move_to_device=False)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    with recorded():
        loop(model, data, torch.Tensor.backward, stepping(optimizer))
        ray.train.report({"done": 1})


def ray() -> None:
    import ray
    from ray.train import RunConfig, ScalingConfig
    from ray.train.torch import TorchConfig, TorchTrainer

    ray.init(num_cpus=WORLD + 1, include_dashboard=False)
    backend = TorchConfig(backend="gloo", timeout_s=TIMEOUT.seconds)
    kept = RunConfig(name="train", storage_path=str(WORK / "out"))
    scale = ScalingConfig(num_workers=WORLD, use_gpu=False)
    TorchTrainer(ray_loop, torch_config=backend, scaling_config=scale, run_config=kept).fit()


def say() -> None:
    log.info("rank %d of %d started, host %s pid %d", rank(), WORLD, os.uname().nodename, os.getpid())


def set_logs() -> None:
    """A trainer's usual logger; who printed a line is not told by it where a launcher tells it, or nobody does."""
    form = "%(asctime)s %(levelname)s %(name)s: %(message)s"
    logging.basicConfig(level=logging.INFO, stream=sys.stdout, format=form, force=True)


if __name__ == "__main__":
    torch.set_num_threads(1)
    set_logs()
    forms = {"spawn": spawn, "accelerate": accelerate, "fabric": fabric, "lightning": lightning, "hf": hf}
    forms |= {"deepspeed": deepspeed, "ray": ray}
    forms.get(FORM, plain)()
