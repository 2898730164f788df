"""What frameworks print of themselves when a training's numbers go bad: real runs on one CPU process, and the verdict.

    python framework_logs.py FOLDER [CASES]     those whose name has this in it; a framework that is not installed is left out

Each case is FOLDER/FRAMEWORK__FAULT/{bundle/train.log,truth.json}; the log is what a terminal would have got, progress bars
with their carriage returns included. The loop is the framework's own, the faults lie in the model and in its data.
"""

import importlib.util
import json
import logging
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

STEPS, AT, EVERY = 60, 41, 5  # steps are counted from 1; a line is printed every fifth step
FRAMEWORKS = {"hf": "transformers", "lightning": "lightning", "deepspeed": "deepspeed", "accelerate": "accelerate"}
CASES = {
    "hf": ("healthy", "nan_loss", "nan_gradient", "spike"),
    "lightning": ("healthy", "nan_loss", "spike"),
    "deepspeed": ("healthy", "nan_loss", "spike", "scale"),
    "accelerate": ("healthy", "nan_loss", "spike"),
}
TRUTH: dict[str, dict[str, Any]] = {
    "healthy": {"kinds": ["healthy", "unknown"], "causes": [None], "steps": [None]},
    "nan_loss": {"kinds": ["numerics"], "causes": ["nan_birth"], "steps": [AT, AT + EVERY - 1]},
    "nan_gradient": {"kinds": ["numerics"], "causes": ["nan_birth"], "steps": [AT, AT + EVERY - 1]},
    "spike": {"kinds": ["numerics"], "causes": ["loss_spike"], "steps": [AT - EVERY, AT + EVERY]},
    "scale": {"kinds": ["healthy", "unknown", "numerics"], "causes": [None, "loss_scale_collapse"], "steps": [None]},
}


# --- one run ---------------------------------------------------------------------------------------------------------


def model_of(fault: str) -> Any:
    """A regression whose loss, gradient or labels go wrong from step AT on; it counts its own forward passes."""
    import torch
    from torch import nn

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 1))
            self.step = 0
            self.body[0].weight.register_hook(self.gradient)

        def gradient(self, gradient: Any) -> Any:
            return gradient * float("nan") if fault == "nan_gradient" and self.step == AT else gradient

        def forward(self, x: Any, labels: Any) -> dict[str, Any]:
            self.step += 1
            if fault == "spike" and AT <= self.step < AT + 2 * EVERY:
                labels = labels * 30
            loss = (self.body(x).squeeze(-1) - labels).float().square().mean()
            if fault == "nan_loss" and self.step >= AT:
                loss = loss * float("nan")
            if fault == "scale" and self.step in (7, 8, 30):
                loss = loss * 1e30
            return {"loss": loss}

    torch.manual_seed(3)
    return Model()


def rows() -> list[dict[str, Any]]:
    import torch

    torch.manual_seed(5)
    return [{"x": row, "labels": row.mean()} for row in torch.randn(STEPS * 4, 16)]


def hf(fault: str) -> None:
    from transformers import Trainer, TrainingArguments

    arguments = TrainingArguments(
        "out", use_cpu=True, report_to=[], save_strategy="no", logging_steps=EVERY, max_steps=STEPS,
        per_device_train_batch_size=4, learning_rate=1e-3,
    )  # fmt: skip
    Trainer(model_of(fault), arguments, train_dataset=rows()).train()


def lightning(fault: str) -> None:
    import lightning
    import torch
    from lightning.pytorch.callbacks import TQDMProgressBar

    class Module(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.model = model_of(fault)

        def training_step(self, batch: Any, _: int) -> Any:
            loss = self.model(**batch)["loss"]
            self.log("train_loss", loss, prog_bar=True)
            return loss

        def configure_optimizers(self) -> Any:
            return torch.optim.AdamW(self.parameters(), 1e-3)

    kept: dict[str, Any] = {"enable_checkpointing": False, "logger": False, "callbacks": [TQDMProgressBar(EVERY)]}
    trainer = lightning.Trainer(accelerator="cpu", devices=1, max_epochs=1, **kept)
    trainer.fit(Module(), torch.utils.data.DataLoader(rows(), batch_size=4))


def batches() -> Iterator[dict[str, Any]]:
    import torch

    yield from torch.utils.data.DataLoader(rows(), batch_size=4)


def deepspeed(fault: str) -> None:
    os.environ |= {
        "RANK": "0",
        "LOCAL_RANK": "0",
        "WORLD_SIZE": "1",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": "29674",
    }
    import deepspeed
    import torch
    from deepspeed.accelerator import get_accelerator
    from deepspeed.utils.logging import set_log_level_from_string

    config: dict[str, Any] = {"train_micro_batch_size_per_gpu": 4, "steps_per_print": EVERY}
    if fault == "scale":
        get_accelerator().is_fp16_supported = lambda: True  # a CPU can, slowly
        config["fp16"] = {"enabled": True, "initial_scale_power": 12, "hysteresis": 1}
    set_log_level_from_string("info")
    deepspeed.init_distributed(dist_backend="gloo")
    model = model_of(fault)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    engine, *_ = deepspeed.initialize(model=model, optimizer=optimizer, config=config)
    log = logging.getLogger("train")
    for step, batch in enumerate(batches(), 1):
        given = {name: value.half() if fault == "scale" else value for name, value in batch.items()}
        loss = engine(**given)["loss"]
        engine.backward(loss)
        engine.step()
        if step % EVERY == 0:
            log.info("step %d/%d loss %.4f", step, STEPS, loss.item())


def accelerate(fault: str) -> None:
    import torch
    from accelerate import Accelerator
    from tqdm.auto import tqdm

    accelerator = Accelerator(cpu=True)
    model = model_of(fault)
    model, optimizer = accelerator.prepare(model, torch.optim.AdamW(model.parameters(), 1e-3))
    bar = tqdm(total=STEPS, desc="Steps")
    for batch in batches():
        loss = model(**batch)["loss"]
        accelerator.backward(loss)
        norm = accelerator.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        bar.update(1)
        bar.set_postfix(loss=loss.item(), grad_norm=norm.item())
    bar.close()
    accelerator.end_training()


RUN: dict[str, Callable[[str], None]] = {
    "hf": hf, "lightning": lightning, "deepspeed": deepspeed, "accelerate": accelerate,
}  # fmt: skip


# --- all of them -----------------------------------------------------------------------------------------------------


def record(case: Path, framework: str, fault: str) -> None:
    """A process of its own; both of its streams go to one file, as with `> train.log 2>&1`."""
    (case / "bundle").mkdir(parents=True, exist_ok=True)
    shared = {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", "PYTHONUNBUFFERED": "1", "TERM": "dumb"}
    with (case / "bundle" / "train.log").open("wb") as log:
        command = [sys.executable, str(Path(__file__).resolve()), "--run", framework, fault]
        subprocess.run(
            command, cwd=case, env={**os.environ, **shared}, stdout=log, stderr=subprocess.STDOUT, check=False
        )
    (case / "truth.json").write_text(json.dumps({"case": case.name, **TRUTH[fault]}, indent=1) + "\n")


def judge(case: Path) -> str:
    """What was answered; the truth is read after it."""
    from forensics import analyze

    report = analyze(case / "bundle")
    verdict = report.incidents[report.primary].verdict
    truth, step = json.loads((case / "truth.json").read_text()), verdict.first_anomaly.step
    first, last = truth["steps"][0], truth["steps"][-1]
    is_right = verdict.kind in truth["kinds"] and verdict.cause in truth["causes"] and not verdict.ranks
    is_right &= step is None if first is None else step is not None and first <= step <= last
    return f"{case.name:28} {'right' if is_right else 'WRONG':6} {verdict.kind}/{verdict.cause} {verdict.status} step {step}"


def main() -> None:
    if sys.argv[1] == "--run":
        logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s", force=True)
        RUN[sys.argv[2]](sys.argv[3])
        return
    folder, wanted = Path(sys.argv[1]), "".join(sys.argv[2:3])
    for framework, faults in CASES.items():
        for fault in faults if importlib.util.find_spec(FRAMEWORKS[framework]) else ():
            if wanted in f"{framework}__{fault}":
                record(folder / f"{framework}__{fault}", framework, fault)
    for truth in sorted(folder.glob("*/truth.json")):
        print(judge(truth.parent), flush=True)


if __name__ == "__main__":
    main()
