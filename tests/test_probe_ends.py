"""Whatever ends a training, the rows up to then are on disk."""

from pathlib import Path

import pytest

from parsers import read
from tests.probe_runs import needs_torch, run

pytestmark = needs_torch

# Children of one process that has loaded PyTorch: each trains, and is ended in its own way in step 3.
ENDS = """
import itertools, os, signal, sys
from pathlib import Path
import polars, torch
from torch import nn
from forensics.probe import watch

def train(folder, end, form):
    torch.set_num_threads(1)
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    probe = watch(model, folder, optimizer=optimizer, rank=0, form=form)
    for step in range(5):
        if step == 2:
            model[2].weight.data[0, 0] = float("nan")
        out = model(torch.ones(3, 4))
        if step == 3:
            end()
        out.sum().backward()
        optimizer.step()

def raised():
    raise RuntimeError("the training's own")

ends = {
    "killed": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "terminated": lambda: os.kill(os.getpid(), signal.SIGTERM),
    "aborted": os.abort,
    "exited": lambda: sys.exit(3),
    "raised": raised,
    "os_exit": lambda: os._exit(4),
}
codes = []
for (name, end), form in itertools.product(ends.items(), ("jsonl", "parquet")):
    child = os.fork()
    if not child:
        train(Path(sys.argv[1]) / form / name / "tensor_stats", end, form)
    _, status = os.waitpid(child, 0)
    codes.append(f"{name} {os.waitstatus_to_exitcode(status)}")
(Path(sys.argv[1]) / "codes").write_text("\\n".join(codes))
"""


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ends")
    run(ENDS, folder)
    return folder


def test_the_probe_changes_no_end(ended: Path) -> None:
    assert dict.fromkeys((ended / "codes").read_text().splitlines()) == dict.fromkeys(
        ["killed -9", "terminated -15", "aborted -6", "exited 3", "raised 1", "os_exit 4"]
    )


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
@pytest.mark.parametrize("end", ["killed", "terminated", "aborted", "exited", "raised", "os_exit"])
def test_rows_up_to_the_end_are_on_disk(ended: Path, end: str, form: str) -> None:
    tensors = read(str(ended / form / end)).tables["tensors"].sort("seq")
    bad = tensors.filter(tensors["nan_count"] > 0)
    assert bad.row(0, named=True)["step"] == 2
    assert (bad["module"][0], bad["phase"][0], bad["tensor"][0]) == ("2", "forward", "param.weight")
    last = tensors.row(-1, named=True)
    assert (last["step"], last["module"], last["tensor"]) == (3, "2", "output")
    assert tensors["seq"].to_list() == list(range(tensors.height))
