"""The probe for training scripts: what it writes is what the parser reads, and points to the module that made a NaN."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from forensics import analyze
from parsers import read

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")

TRAIN = """
import os, sys, torch
from torch import nn
from forensics.probe import watch

folder, fault, form = sys.argv[1], sys.argv[2], sys.argv[3]
rank, world = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
if world > 1:
    torch.distributed.init_process_group("gloo")
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
if fault == "forward":
    def spoil(module, given, made):
        return made * float("nan") if probe._step == 2 and rank == world - 1 else made
    model[1].register_forward_hook(spoil)
probe = watch(model, folder, optimizer=optimizer, form=form)
for step in range(4):
    optimizer.zero_grad()
    for _ in range(2):
        if fault == "recompute":
            out = torch.utils.checkpoint.checkpoint(model, torch.ones(3, 4, requires_grad=True), use_reentrant=False)
        else:
            out = model(torch.ones(3, 4, requires_grad=True))
        out.square().sum().backward()
    if world > 1:
        for parameter in model.parameters():
            torch.distributed.all_reduce(parameter.grad)
    optimizer.step()
probe.close()
assert not model[0]._forward_hooks and not model[0]._backward_hooks
if world > 1:
    torch.distributed.destroy_process_group()
"""


def train(folder: Path, fault: str = "none", form: str = "jsonl", world: int = 1) -> None:
    script = folder / "train.py"
    script.write_text(TRAIN)
    out = folder / "bundle" / "tensor_stats"
    path = [str(ROOT), *[entry for entry in sys.path if entry.endswith("site-packages")]]
    shared = {
        "PYTHONPATH": ":".join(path),
        "WORLD_SIZE": str(world),
        "MASTER_ADDR": "127.0.0.1",
        "OMP_NUM_THREADS": "1",
    }
    shared |= {"MASTER_PORT": "29617", "PATH": "/usr/bin:/bin"}
    command = [sys.executable, str(script), str(out), fault, form]
    started = [
        subprocess.Popen(command, env={**shared, "RANK": str(rank)}, stderr=subprocess.PIPE, text=True)
        for rank in range(world)
    ]
    for process in started:
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_what_is_written_is_read(tmp_path: Path, form: str) -> None:
    train(tmp_path, form=form)
    tables = read(str(tmp_path / "bundle")).tables
    tensors = tables["tensors"]
    assert tables["unread"].is_empty()
    assert tensors["step"].unique().sort().to_list() == [0, 1, 2, 3]
    assert set(tensors["phase"].unique()) == {"forward", "backward", "optimizer"}
    assert set(tensors["microbatch"].drop_nulls().unique()) == {0, 1}
    first = tensors.sort("seq").filter(tensors["module"] == "0").head(4)["tensor"].to_list()
    assert first == ["param.weight", "param.bias", "input", "output"]
    assert (tensors["nan_count"] == 0).all()


def test_recomputed_passes_are_told_apart(tmp_path: Path) -> None:
    train(tmp_path, fault="recompute")
    tensors = read(str(tmp_path / "bundle")).tables["tensors"]
    again = tensors.filter(tensors["phase"] == "recompute")
    forward = tensors.filter((tensors["phase"] == "forward") & tensors["tensor"].str.starts_with("output"))
    assert again.height > 0
    assert set(again["microbatch"].unique()) == set(forward["microbatch"].unique())


def test_the_module_that_made_a_nan_is_found(tmp_path: Path) -> None:
    train(tmp_path, fault="forward", world=2)
    report = analyze(tmp_path / "bundle")
    verdict = report.incidents[report.primary].verdict
    assert (verdict.ranks, verdict.cause) == ([1], "nan_birth")
    assert (verdict.first_anomaly.step, verdict.first_anomaly.module, verdict.first_anomaly.phase) == (
        2,
        "1",
        "forward",
    )


def test_importing_the_probe_does_not_import_torch() -> None:
    code = "import sys, forensics.probe; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0
