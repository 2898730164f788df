"""The probe and the course of a training: steps, files, restarts, the loss, the optimizer, compiled models."""

import importlib.util
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from forensics.probe import watch
from parsers import read
from tests.probe_runs import brief, complaints, needs_torch, rows, run

pytestmark = [needs_torch, pytest.mark.filterwarnings("default")]
if importlib.util.find_spec("torch") is not None:
    import torch
    from torch import nn


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    torch.set_num_threads(1)
    yield


def small() -> Any:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))


def train(model: Any, optimizer: Any, steps: int = 2) -> None:
    for _ in range(steps):
        optimizer.zero_grad()
        model(torch.ones(3, 4)).sum().backward()
        optimizer.step()


def sgd(model: Any) -> Any:
    return torch.optim.SGD(model.parameters(), lr=0.1)


def test_steps_that_a_loss_scaler_skips_are_steps(tmp_path: Path) -> None:
    model = nn.Linear(4, 1)
    optimizer, scaler = sgd(model), torch.amp.GradScaler("cpu", init_scale=2.0)
    with watch(model, tmp_path, optimizer=optimizer, rank=0):
        for step in range(4):
            optimizer.zero_grad()
            loss = model(torch.ones(2, 4)).sum() * (float("inf") if step == 1 else 1.0)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
    found = rows(tmp_path)
    assert [(row["step"], row["microbatch"]) for row in found if (row["phase"], row["tensor"]) == ("forward", "input")] == [
        (0, 0), (1, 0), (2, 0), (3, 0),
    ]  # fmt: skip
    updated = {row["step"] for row in found if row["phase"] == "optimizer" and row["tensor"].startswith("param")}
    skipped = [row for row in found if row["phase"] == "optimizer" and row["step"] == 1]
    assert updated == {0, 2, 3} and all(row["tensor"].startswith("grad_in") for row in skipped) and skipped


def test_the_loss_the_gradients_the_optimizers_state_and_the_parameters(tmp_path: Path) -> None:
    model = nn.Linear(4, 1)
    optimizer = torch.optim.AdamW(model.parameters())
    with watch(model, tmp_path, optimizer=optimizer, rank=0):
        train(model, optimizer, steps=1)
    found = rows(tmp_path)
    assert brief([row for row in found if row["op"] == "loss"], "phase", "module", "tensor", "numel") == [
        ("forward", "loss", "output", 1)
    ]
    assert [row["tensor"] for row in found if row["phase"] == "optimizer"] == [
        "grad_in.weight", "grad_in.bias",
        "optimizer_state.weight.exp_avg", "optimizer_state.weight.exp_avg_sq",
        "optimizer_state.bias.exp_avg", "optimizer_state.bias.exp_avg_sq",
        "param.weight", "param.bias",
    ]  # fmt: skip


def test_a_restart_is_another_attempt_and_keeps_the_earlier_file(tmp_path: Path) -> None:
    for form in ("jsonl", "jsonl", "parquet", "parquet"):
        model = small()
        optimizer = sgd(model)
        with watch(model, tmp_path / "tensor_stats", optimizer=optimizer, rank=0, form=form):
            train(model, optimizer)
    assert {path.name for path in (tmp_path / "tensor_stats").iterdir()} == {
        "rank_0.jsonl", "rank_0_attempt_1.jsonl",
        "rank_0_attempt_2_part_000000.parquet", "rank_0_attempt_3_part_000000.parquet",
    }  # fmt: skip
    tensors = read(str(tmp_path)).tables["tensors"]
    heights = tensors.group_by("attempt").len().sort("attempt")
    assert heights["attempt"].fill_null(0).to_list() == [0, 1, 2, 3] and heights["len"].n_unique() == 1


def test_two_probes_in_a_process_have_their_own_files_and_names_and_one_order(tmp_path: Path) -> None:
    first, second = small(), small()
    one, two = watch(first, tmp_path, optimizer=sgd(first), rank=0), watch(second, tmp_path, rank=0)
    first(torch.ones(1, 4))
    second(torch.ones(1, 4))
    one.close()
    second(torch.ones(1, 4))
    two.close()
    assert {path.name for path in tmp_path.iterdir()} == {"rank_0.jsonl", "rank_0_1.jsonl"}
    found = rows(tmp_path)
    assert [row["seq"] for row in found] == list(range(len(found)))
    assert {row["module"] for row in found} == {"0", "1", "2", "model_2.0", "model_2.1", "model_2.2"}
    assert not first[0]._forward_hooks and not second[0]._forward_hooks


def test_two_processes_of_one_rank_never_share_a_file(tmp_path: Path) -> None:
    """Two that a launcher gave the same rank, or the next one before the last has ended."""
    script = """
import sys
from pathlib import Path
import torch
from torch import nn
from forensics.probe import watch
model = nn.Linear(4, 4)
with watch(model, Path(sys.argv[1]) / "stats", rank=0):
    for _ in range(50):
        model(torch.ones(2, 4))
"""
    assert run(script, tmp_path, world=2) == [0, 0], complaints(tmp_path)
    files = sorted((tmp_path / "stats").iterdir())
    assert [path.name for path in files] == ["rank_0.jsonl", "rank_0_attempt_1.jsonl"]
    for path in files:
        found = [json.loads(line) for line in path.read_text().splitlines()]
        assert [row["seq"] for row in found] == list(range(len(found))) and len(found) == 50 * 2 + 2


def test_probes_close_in_any_order_and_leave_pytorch_as_it_was(tmp_path: Path) -> None:
    before = (
        torch.autograd.backward,
        torch.amp.GradScaler.step,
        vars(torch._C._distributed_c10d.ProcessGroup)["allreduce"],
    )
    one, two = watch(small(), tmp_path, rank=0), watch(small(), tmp_path, rank=0)
    assert torch.autograd.backward is not before[0]
    one.close()
    assert torch.autograd.backward is not before[0]
    two.close()
    assert before == (
        torch.autograd.backward, torch.amp.GradScaler.step, vars(torch._C._distributed_c10d.ProcessGroup)["allreduce"],
    )  # fmt: skip


def test_operators_are_written_where_asked(tmp_path: Path) -> None:
    class Masked(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.masked_fill(torch.ones(3, 3).triu(1).bool(), float("-inf")).softmax(-1)

    model = Masked()
    with watch(model, tmp_path / "on", rank=0, operators=True):
        model(torch.zeros(3, 3))
    with watch(model, tmp_path / "off", rank=0):
        model(torch.zeros(3, 3))
    found = [row for row in rows(tmp_path / "on") if row["op"] in ("masked_fill", "_softmax")]
    assert brief(found, "op", "tensor", "inf_count", "nan_count") == [
        ("masked_fill", "input.0", 0, 0), ("masked_fill", "output", 3, 0),
        ("_softmax", "input.0", 3, 0), ("_softmax", "output", 0, 0),
    ]  # fmt: skip
    assert {row["op"] for row in rows(tmp_path / "off")} == {"Masked"}


@pytest.mark.parametrize(("fullgraph", "modules", "graphs"), [(False, {"a", "b", "loss"}, 3), (True, {"loss"}, 1)])
@pytest.mark.parametrize("before", [False, True])
def test_compiled_models_keep_their_names_and_whole_graphs_stay_whole(
    tmp_path: Path, before: bool, fullgraph: bool, modules: set[str], graphs: int
) -> None:
    class Two(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.b(torch.relu(self.a(x) * 2))

    seen = []

    def backend(graph: Any, _: Any) -> Any:
        seen.append(graph)
        return graph.forward

    torch._dynamo.reset()
    model = Two()
    compiled = torch.compile(model, backend=backend, fullgraph=fullgraph)
    with watch(model if before else compiled, tmp_path, rank=0):
        for _ in range(3):
            compiled(torch.ones(3, 4)).sum().backward()
    assert ({row["module"] for row in rows(tmp_path)}, len(seen)) == (modules, graphs)


def test_hooks_that_change_an_output_are_an_operation_of_their_own(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Identity())
    model[0].register_forward_hook(lambda module, given, made: made * float("nan"))
    with watch(model, tmp_path, rank=0):
        model(torch.ones(2))
    assert brief(rows(tmp_path), "module", "tensor", "nan_count") == [
        ("0", "input", 0), ("0", "output", 0), ("0", "input", 0), ("0", "output", 2),
    ]  # fmt: skip


def test_what_is_left_out_leaves_no_rows(tmp_path: Path) -> None:
    torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
    try:
        for folder, options in (("with", {}), ("without", {"collectives": False})):
            with watch(small(), tmp_path / folder, **options):
                torch.distributed.all_reduce(torch.ones(2))
    finally:
        torch.distributed.destroy_process_group()
    assert brief(rows(tmp_path / "with"), "op", "tensor") == [("all_reduce", "input"), ("all_reduce", "output")]
    assert rows(tmp_path / "without") == []


def test_a_bad_input_of_a_module_with_others_inside_is_written_before_they_run(tmp_path: Path) -> None:
    class Outer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Linear(2, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            seen.append(len(rows(tmp_path)))
            return self.inner(x)

    seen: list[int] = []
    model = nn.Sequential(Outer())
    with watch(model, tmp_path, rank=0, modules=".", params=False):
        model(torch.full((1, 2), float("nan")))
    assert seen == [1]
    assert brief(rows(tmp_path), "module", "tensor") == [
        ("0", "input"), ("0.inner", "input"), ("0.inner", "output"), ("0", "input"), ("0", "output"),
    ]  # fmt: skip


def test_one_row_per_layer(tmp_path: Path) -> None:
    model = small()
    options = {"modules": r"^\d$", "inputs": False, "params": False, "backward": False, "update": False}
    with watch(model, tmp_path, optimizer=sgd(model), rank=0, **options):
        train(model, sgd(model), steps=1)
    assert brief(rows(tmp_path), "module", "tensor") == [
        ("0", "output"), ("1", "output"), ("2", "output"), ("loss", "output"),
    ]  # fmt: skip
