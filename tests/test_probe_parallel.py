"""The probe in parallel training: every communication with its group, members, number and parameter; nothing changes."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.probe_runs import brief, complaints, needs_torch, rows, run

pytestmark = needs_torch

# Four ranks run every form in turn. Each writes into a folder of its own; `facts` holds what only the process knows.
FORMS = """
import json, os, sys
from pathlib import Path
import torch, torch.distributed as dist
from torch import nn
from torch.distributed import isend, irecv
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe, ScheduleInterleaved1F1B
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.nn.parallel import DistributedDataParallel
from forensics.probe import watch

FOLDER, RANK = Path(sys.argv[1]), int(os.environ["RANK"])
torch.set_num_threads(1)
dist.init_process_group("gloo")
facts = {}

def net():
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 4))

def data(seed=RANK):
    return torch.randn(3, 4, generator=torch.Generator().manual_seed(seed))

def train(runner, model, optimizer, steps=2, batch=None):
    for _ in range(steps):
        optimizer.zero_grad()
        runner(data() if batch is None else batch).square().mean().backward()
        optimizer.step()
    return [getattr(p, "_local_tensor", p).detach().clone() for p in model.parameters()]

def ddp(folder, hook=False):
    model = net()
    runner = DistributedDataParallel(model)
    if hook:
        from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import fp16_compress_hook
        runner.register_comm_hook(None, fp16_compress_hook)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    if folder is None:
        return train(runner, model, optimizer)
    with watch(runner, folder, optimizer=optimizer, checksum=True):
        return train(runner, model, optimizer)

def equal(one, other):
    return all(torch.equal(a, b) for a, b in zip(one, other, strict=True))

facts["ddp"] = equal(ddp(FOLDER / "ddp"), ddp(None))
facts["ddp_hook"] = equal(ddp(FOLDER / "ddp_hook", hook=True), ddp(None, hook=True))

def fsdp(folder):
    model = net()
    fully_shard(model[0]); fully_shard(model[2]); fully_shard(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    if folder is None:
        return train(model, model, optimizer)
    with watch(model, folder, optimizer=optimizer):
        return train(model, model, optimizer)

facts["fsdp"] = equal(fsdp(FOLDER / "fsdp"), fsdp(None))

def tensor(folder):
    model = net()
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))["tp"]
    parallelize_module(model, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    if folder is None:
        return train(model, model, optimizer, batch=data(5))
    with watch(model, folder, optimizer=optimizer):
        return train(model, model, optimizer, batch=data(5))

facts["tensor"] = equal(tensor(FOLDER / "tensor"), tensor(None))

def pipeline(folder, kind=Schedule1F1B):
    chunks = 2 if kind is ScheduleInterleaved1F1B else 1
    torch.manual_seed(RANK)
    parts = [nn.Sequential(nn.Linear(4, 4), nn.Tanh()) for _ in range(chunks)]
    stages = [PipelineStage(part, at * 4 + RANK, 4 * chunks, torch.device("cpu")) for at, part in enumerate(parts)]
    schedule = kind(stages if chunks > 1 else stages[0], n_microbatches=4, loss_fn=nn.functional.mse_loss)
    optimizers = [torch.optim.SGD(part.parameters(), lr=0.1) for part in parts]
    probes = [
        watch(part, folder, optimizer=optimizer, **({"name": f"chunk{at}", "chunk": at} if chunks > 1 else {}))
        for at, (part, optimizer) in enumerate(zip(parts, optimizers)) if folder
    ]
    for step in range(2):
        whole = torch.randn(4, 4, generator=torch.Generator().manual_seed(step))
        if RANK == 0:
            schedule.step(whole)
        else:
            schedule.step(target=whole) if RANK == 3 else schedule.step()
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad()
    for probe in probes:
        probe.close()
    return [p.detach().clone() for part in parts for p in part.parameters()]

facts["pipeline"] = equal(pipeline(FOLDER / "pipeline"), pipeline(None))
for kind in (ScheduleGPipe, ScheduleInterleaved1F1B):
    facts[kind.__name__] = equal(pipeline(FOLDER / kind.__name__, kind), pipeline(None, kind))

pair = dist.new_group([1, 3])
with watch(net(), FOLDER / "calls"):
    right, left = (RANK + 1) % 4, (RANK - 1) % 4
    got = torch.empty(2)
    ops = [dist.P2POp(dist.isend, torch.full((2,), float(RANK)), right), dist.P2POp(irecv, got, left)]
    for work in dist.batch_isend_irecv(ops):
        work.wait()
    facts["batch"] = got.tolist() == [float(left)] * 2 and isend is dist.isend
    if RANK in (1, 3):
        dist.broadcast(torch.full((2,), float(RANK)), src=3, group=pair)
        work = dist.all_reduce(torch.full((2,), float("nan") if RANK == 3 else 1.0), group=pair, async_op=True)
        facts["work"] = isinstance(work, dist.Work)
        work.wait()
    parts = list(torch.arange(4.0).split(1))
    dist.all_gather(parts, torch.tensor([float(RANK)]))
    received = torch.empty(4)
    dist.all_to_all_single(received, torch.full((4,), float(RANK)))
    summed = dist._functional_collectives.all_reduce(torch.ones(2), "sum", dist.group.WORLD)
    facts["functional"] = summed.sum().item() == 8.0
dist.barrier()
(FOLDER / f"facts_{RANK}").write_text(json.dumps(facts))
dist.destroy_process_group()
"""
Call = tuple[Any, ...]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("parallel")
    codes = run(FORMS, made, world=4)
    assert codes == [0] * 4, complaints(made)
    return made


def calls(folder: Path, rank: int, step: int | None = None, **wanted: Any) -> list[dict[str, Any]]:
    return [
        row for row in rows(folder, rank)
        if row.get("group") is not None and step in (None, row["step"])
        and all(row.get(key) == value for key, value in wanted.items())
    ]  # fmt: skip


@pytest.mark.parametrize("rank", range(4))
def test_a_training_with_a_probe_gives_the_same_bits(folder: Path, rank: int) -> None:
    facts = json.loads((folder / f"facts_{rank}").read_text())
    assert facts == dict.fromkeys(facts, True)
    assert facts.keys() >= {
        "ddp", "ddp_hook", "fsdp", "tensor", "pipeline", "ScheduleGPipe", "ScheduleInterleaved1F1B", "batch", "functional",
    }  # fmt: skip


def test_nothing_was_complained_about(folder: Path) -> None:
    assert "was not recorded" not in complaints(folder)


@pytest.mark.parametrize("form", ["ddp", "ddp_hook"])
def test_gradients_of_ddp_are_calls_with_the_parameters_names(folder: Path, form: str) -> None:
    found = calls(folder / form, 1, step=1, phase="grad_sync")
    assert brief(found, "module", "op", "tensor", "group_ranks") == [
        (name, "all_reduce", tensor, "0-3")
        for name in ("0.weight", "0.bias", "2.weight", "2.bias") for tensor in ("grad_in", "grad_out")
    ]  # fmt: skip


def test_replicas_of_ddp_have_equal_checksums_after_the_call_and_not_before(folder: Path) -> None:
    sums: dict[Call, set[str]] = {}
    for rank in range(4):
        for row in calls(folder / "ddp", rank, phase="grad_sync"):
            sums.setdefault((row["call"], row["module"], row["tensor"]), set()).add(row["checksum"])
    assert {key[2]: len(found) for key, found in sums.items()} == {"grad_in": 4, "grad_out": 1}
    after = [
        {row["module"] + row["tensor"]: row["checksum"] for row in rows(folder / "ddp", rank)
         if row["phase"] == "optimizer" and row["tensor"].startswith("param") and row["step"] == 1}
        for rank in range(4)
    ]  # fmt: skip
    assert after[0] == after[1] == after[2] == after[3] and after[0]


def test_shards_of_fully_shard_are_gathered_and_gradients_scattered_by_name(folder: Path) -> None:
    gathers = calls(folder / "fsdp", 2, step=0, op="all_gather")
    assert brief(gathers, "module", "tensor")[:4] == [
        ("0", "param.weight"), ("0", "output"), ("0", "param.bias"), ("0", "output"),
    ]  # fmt: skip
    assert {row["group_ranks"] for row in gathers} == {"0-3"}
    reduced = calls(folder / "fsdp", 2, step=0, phase="grad_sync", op="reduce_scatter")
    assert brief(reduced, "module", "tensor") == [
        (name, tensor) for name in ("2.weight", "2.bias", "0.weight", "0.bias") for tensor in ("grad_in", "grad_out")
    ]  # fmt: skip


def test_calls_of_a_group_have_the_same_numbers_on_all_its_members(folder: Path) -> None:
    for form in ("ddp", "fsdp"):
        seen = [brief(calls(folder / form, rank, tensor="output"), "op", "call", "module", "step") for rank in range(4)]
        assert seen[0] == seen[1] == seen[2] == seen[3]


def test_communication_of_tensor_parallel_stands_inside_its_module(folder: Path) -> None:
    found = [
        row
        for row in rows(folder / "tensor", 3)
        if row["step"] == 0 and row["phase"] in ("forward", "comm") and row["op"] != "loss"
    ]
    assert brief(found[-5:], "module", "op", "tensor", "group_ranks") == [
        ("2", "Linear", "output", None),  # what this rank made
        ("2", "all_reduce", "input", "2-3"), ("2", "all_reduce", "output", "2-3"),
        ("2", "Linear", "input", None), ("2", "Linear", "output", None),  # what the others added
    ]  # fmt: skip


def test_messages_of_a_pipeline_match_at_both_ends(folder: Path) -> None:
    sent = brief(calls(folder / "pipeline", 1, op="send", peer=2), "call", "tag", "max", "min")
    taken = brief(calls(folder / "pipeline", 2, op="recv", peer=1), "call", "tag", "max", "min")
    assert sent == taken and len(sent) >= 8
    found = [row for row in rows(folder / "pipeline", 1) if (row["step"], row["module"]) == (1, "1")]
    assert [row["microbatch"] for row in found if row["tensor"] == "grad_output"] == [0, 1, 2, 3]


def test_chunks_of_an_interleaved_schedule_are_told_apart(folder: Path) -> None:
    found = [
        row for row in rows(folder / "ScheduleInterleaved1F1B", 1) if row["step"] == 1 and row["tensor"] == "output"
    ]
    passes = {(row["module"], row["chunk"], row["microbatch"]) for row in found if row.get("group") is None}
    assert passes == {(f"chunk{at}.{leaf}", at, micro) for at in (0, 1) for leaf in (0, 1) for micro in range(4)}


def test_calls_carry_group_members_number_and_the_other_end(folder: Path) -> None:
    found = calls(folder / "calls", 1)
    named = brief(found, "op", "tensor", "group_ranks", "peer", "nan_count")
    assert named[:7] == [
        ("send", "input", "0-3", 2, 0), ("recv", "output", "0-3", 0, 0),
        ("broadcast", "output", "1,3", 3, 0),
        ("all_reduce", "input", "1,3", None, 0), ("all_reduce", "output", "1,3", None, 2),
        ("all_gather", "input", "0-3", None, 0), ("all_gather", "output.0", "0-3", None, 0),
    ]  # fmt: skip
    assert len({(row["op"], row["group"], row["call"]) for row in found}) == 7


def test_a_bad_input_is_written_at_once_and_its_call_once_more_when_it_ends(folder: Path) -> None:
    bad = calls(folder / "calls", 3, op="all_reduce", group_ranks="1,3")
    assert brief(bad, "tensor", "nan_count") == [("input", 2), ("output", 2)]
