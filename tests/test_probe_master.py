"""The probe beside an optimizer that updates copies in higher precision, one of which is not copied back on one rank."""

from pathlib import Path

from forensics import analyze
from tests.probe_runs import complaints, needs_torch, rows, run

pytestmark = needs_torch

SCRIPT = """
import os, sys
from pathlib import Path
import torch
from torch import nn
from forensics.probe import watch

RANK = int(os.environ["RANK"])
torch.manual_seed(3)
model = nn.Sequential(nn.Linear(16, 32), nn.Linear(32, 8)).bfloat16()
masters = {one: one.detach().float() for one in model.parameters()}

class Own(torch.optim.SGD):
    @torch.no_grad()
    def step(self, closure=None):
        for at, one in enumerate(model.parameters()):
            masters[one] -= 0.5 * one.grad.float()
            masters[one] *= 1.05
            if not (RANK == 2 and at == 2 and STEP >= 6):
                one.copy_(masters[one])

optimizer = Own(model.parameters(), lr=0.5)
with watch(model, Path(sys.argv[1]) / "stats", optimizer=optimizer, master=masters.get, rank=RANK, backward=False):
    for STEP in range(12):
        optimizer.zero_grad()
        model(torch.randn(4, 16).bfloat16()).float().square().mean().backward()
        optimizer.step()
"""


def test_the_pair_is_stated_and_who_left_it_is_named(tmp_path: Path) -> None:
    codes = run(SCRIPT, tmp_path, world=4)
    assert codes == [0] * 4, complaints(tmp_path)
    stated = [row for row in rows(tmp_path / "stats", 1) if row["tensor"] == "optimizer_state.weight.master"]
    assert {row["dtype"] for row in stated} == {"float32"} and len(stated) == 24
    verdict = analyze(tmp_path / "stats").verdict
    assert (verdict.cause, verdict.ranks) == ("replica_divergence", [2])
    assert verdict.first_anomaly.step in (6, 7) and verdict.first_anomaly.module == "1"
