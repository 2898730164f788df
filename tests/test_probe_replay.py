"""A suspect step repeated on neighbours: a device that flips a bit, data that makes NaN, parameters that are others, and a sound job."""

from pathlib import Path

import pytest

from forensics import analyze
from tests.probe_runs import complaints, needs_torch, run

pytestmark = needs_torch

SCRIPT = """
import os, sys
from pathlib import Path
import torch, torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from forensics.probe import replay, watch

FOLDER, FAULT, ODD, RANK = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(os.environ["RANK"])
torch.set_num_threads(1)
dist.init_process_group("gloo")
torch.manual_seed(3)
model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.2), nn.ReLU(), nn.BatchNorm1d(8), nn.Linear(8, 4))
runner = DistributedDataParallel(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
calls = 0

def flip(module, args, output):
    # One bit of each number that the device makes: what is negative goes no further.
    global calls
    calls += 1
    if RANK == ODD and (FAULT == "device" or (FAULT == "once" and calls == 4)):
        bits = output.detach().clone().view(torch.int32)
        bits ^= 1 << 22
        return output + (bits.view(torch.float32) - output.detach())

model[0].register_forward_hook(flip)
batches = [torch.randn(6, 4, generator=torch.Generator().manual_seed(10 * step + RANK)) for step in range(3)]
if RANK == ODD and FAULT == "input":
    batches[2][1, 2] = float("nan")
if RANK == ODD and FAULT == "data":
    batches[2][:] = 3e38

def loss_of(model, batch):
    return model(batch).square().mean()

watched = watch(runner, FOLDER / "stats", optimizer=optimizer, modules="^$") if FAULT == "watched" else None
for batch in batches[:2]:
    optimizer.zero_grad()
    loss_of(runner, batch).backward()
    optimizer.step()
if RANK == ODD and FAULT == "state":
    with torch.no_grad():
        model[4].weight[1, 1] = float("inf")
optimizer.zero_grad()
before = {name: value.clone() for name, value in model.state_dict().items()}
chance = torch.get_rng_state()
found = replay(loss_of, runner, batches[2], FOLDER / "replays", step=2)
assert len(found) == 2 + min(2, dist.get_world_size() - 1), found
assert all(value.equal(before[name]) or not value.isfinite().all() for name, value in model.state_dict().items())
assert torch.get_rng_state().equal(chance) and all(p.grad is None for p in model.parameters())
"""


def _answer(folder: Path, fault: str, odd: int, world: int) -> tuple[str, str | None, list[int], list[int], str]:
    (folder / "job").mkdir()
    codes = run(SCRIPT, folder / "job", fault, str(odd), world=world, port=29631)
    assert codes == [0] * world, complaints(folder / "job")
    verdict = analyze(folder / "job" / "replays").verdict
    return verdict.kind, verdict.cause, verdict.ranks, verdict.suspects.ranks, verdict.domain


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ("device", ("numerics", "replica_divergence", [2], [], "infrastructure")),
        ("once", ("numerics", "replica_divergence", [2], [], "infrastructure")),
        ("input", ("numerics", "bad_input", [2], [], "workload")),
        ("data", ("numerics", "nan_birth", [2], [], "workload")),
        ("state", ("numerics", "bad_state", [2], [], "unknown")),
    ],
)
def test_device_data_or_parameters(
    tmp_path: Path, fault: str, expected: tuple[str, str | None, list[int], list[int], str]
) -> None:
    assert _answer(tmp_path, fault, 2, 4) == expected


def test_of_two_that_differ_nobody_is_named(tmp_path: Path) -> None:
    assert _answer(tmp_path, "device", 1, 2)[2:4] == ([], [0, 1])


def test_a_sound_step_accuses_nobody(tmp_path: Path) -> None:
    assert _answer(tmp_path, "none", 9, 3)[2:4] == ([], [])


def test_a_probe_that_watches_writes_nothing_of_it(tmp_path: Path) -> None:
    _answer(tmp_path, "watched", 9, 2)
    rows = [line for path in (tmp_path / "job" / "stats").glob("*.jsonl") for line in path.read_text().splitlines()]
    assert rows and not [row for row in rows if '"step": 2' in row]
