"""Small real trainings, four ranks over gloo, in many forms of parallelism, with one fault each or none.

One process per rank runs all cases in turn, each with a model and a probe of its own. The probe is `forensics.probe`;
nothing else of `forensics` is imported here. `numerics_matrix.py` starts this. NUMERICS_SMALL=1: two layers and plain SGD,
statistics of the fault's step and the one before only, and of modules those outside of the other layer.
`numerics_msprobe.py` records the same with another tool.
"""

import itertools
import json
import logging
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.pipelining import PipelineStage, Schedule1F1B
from torch.distributed.tensor import DTensor
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint

from forensics.probe import watch

RANK, WORLD = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
SMALL = os.environ.get("NUMERICS_SMALL") == "1"
WIDTH, LENGTH, BATCH = 16, 8, 4
LAYERS, STEPS = (2, 3) if SMALL else (3, 4)
AT = 2  # the step of a fault
NEAR = r"^(?:embed|head\.\d|layers\.1\.(?:\w+\.)*(?:w\w|act|mask|softmax|router|\w+_norm))$"  # leaves around a fault
log = logging.getLogger("train")


# --- the model -----------------------------------------------------------------------------------------------------


class CausalMask(nn.Module):
    """Scores of later positions become -Inf; `blind`: one row sees nothing at all."""

    blind = False

    def forward(self, scores: torch.Tensor) -> torch.Tensor:
        length = scores.shape[-1]
        hidden = torch.ones(length, length).triu(1).bool()
        if self.blind:
            hidden[3] = True
        return scores.masked_fill(hidden, float("-inf"))


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(4))
        self.mask, self.softmax = CausalMask(), nn.Softmax(-1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        query, key, value = self.wq(x), self.wk(x), self.wv(x)
        weights = self.softmax(self.mask(query @ key.transpose(-1, -2) / WIDTH**0.5))
        return self.wo(weights @ value)


class FeedForward(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w1, self.act, self.w2 = nn.Linear(WIDTH, 4 * WIDTH), nn.SiLU(), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.w2(self.act(self.w1(x)))


class Exchange(torch.autograd.Function):
    """all_to_all of equal parts; its backward pass is the same exchange."""

    @staticmethod
    def forward(_: Any, x: torch.Tensor) -> torch.Tensor:
        received = torch.empty_like(x)
        dist.all_to_all_single(received, x.contiguous())
        return received

    @staticmethod
    def backward(_: Any, gradient: torch.Tensor) -> torch.Tensor:
        received = torch.empty_like(gradient)
        dist.all_to_all_single(received, gradient.contiguous())
        return received


class Experts(nn.Module):
    """One expert per rank: every rank sends each expert an equal share of its positions."""

    def __init__(self) -> None:
        super().__init__()
        self.router, self.expert = nn.Linear(WIDTH, WIDTH), FeedForward()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        routed = self.router(x).reshape(-1, WIDTH)
        return Exchange.apply(self.expert(Exchange.apply(routed))).reshape(x.shape)


class Block(nn.Module):
    def __init__(self, experts: bool, recomputed: bool) -> None:
        super().__init__()
        self.recomputed = recomputed
        self.attention_norm, self.attention = nn.LayerNorm(WIDTH), Attention()
        self.ffn_norm, self.feed_forward = nn.LayerNorm(WIDTH), Experts() if experts else FeedForward()

    def _forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.attention_norm(x))
        return x + self.feed_forward(self.ffn_norm(x))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return checkpoint(self._forward, x, use_reentrant=False) if self.recomputed else self._forward(x)


class Model(nn.Module):
    """`own`: which of `depth` layers this part of the model has; the first part has `embed`, the last one `head`."""

    def __init__(self, own: Sequence[int], depth: int, experts: bool = False, recomputed: bool = False) -> None:
        super().__init__()
        self.embed = nn.Linear(WIDTH, WIDTH) if 0 in own else nn.Identity()
        self.layers = nn.ModuleDict({str(layer): Block(experts, recomputed) for layer in own})
        self.head = nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 4)) if depth - 1 in own else nn.Identity()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.embed(x)
        for layer in self.layers.values():
            x = layer(x)
        return self.head(x)


# --- faults --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fault:
    """`ranks`: who has it, None for the one that the form of parallelism says; `module`: where its first bad or
    disagreeing value is, in layer 1 or at the begin; `forms`: where it can show, all if empty."""

    causes: tuple[str | None, ...] = ()
    module: str | None = None
    ranks: tuple[int, ...] | None = None
    step: int = AT
    forms: tuple[str, ...] = ()
    spoils: Callable[[torch.Tensor], torch.Tensor] | None = None  # what the module's own output becomes


def one_value(value: float) -> Callable[[torch.Tensor], torch.Tensor]:
    def spoiled(made: torch.Tensor) -> torch.Tensor:
        factors = torch.ones_like(made)
        factors.view(-1)[5] = value
        return made * factors

    return spoiled


def beyond_half(made: torch.Tensor) -> torch.Tensor:
    """Large values go through half precision and back."""
    return (made * 1e7).half().float() * 1e-7


FEED = "feed_forward.w2"
COPIES = ("ddp", "all_reduce", "accumulate")  # forms in which every rank has a copy of each parameter
FAULTS = {
    "healthy": Fault(ranks=()),
    "act_nan": Fault(("nan_birth",), FEED, spoils=one_value(float("nan"))),
    "act_inf": Fault(("overflow",), FEED, spoils=one_value(float("inf"))),
    "overflow": Fault(("overflow",), FEED, spoils=beyond_half),
    "blind_row": Fault(("nan_birth",), "attention.softmax"),
    "weight_nan": Fault(("bad_state",), FEED),
    "optimizer_nan": Fault(("bad_state", "nan_birth"), FEED),
    "input_nan": Fault(("bad_input",), "embed"),
    "grad_nan": Fault(("nan_birth", "bad_state"), FEED),
    "bit_flip": Fault(("bad_state", "replica_divergence", "overflow"), FEED),
    "drift": Fault(("replica_divergence",), FEED, forms=COPIES),
    "comm_nan": Fault(("comm_corruption",), FEED, forms=("all_reduce",)),
    "everywhere": Fault(
        ("nan_birth", "overflow", None), FEED, ranks=tuple(range(WORLD)), spoils=one_value(float("nan"))
    ),
}


def spoil_output(module: nn.Module, step_of: Callable[[], int], spoils: Callable[[torch.Tensor], torch.Tensor]) -> None:
    """The module itself makes a bad value in step AT."""
    forward = module.forward

    def spoiled(*args: Any) -> torch.Tensor:
        made = forward(*args)
        if step_of() != AT:
            return made
        own = spoils(made.to_local() if isinstance(made, DTensor) else made)
        return DTensor.from_local(own, made.device_mesh, made.placements) if isinstance(made, DTensor) else own

    module.forward = spoiled  # type: ignore[method-assign]


class SpoiledGradient(torch.autograd.Function):
    """Hands a weight on; its gradient becomes NaN."""

    @staticmethod
    def forward(_: Any, weight: torch.Tensor) -> torch.Tensor:
        return weight.view_as(weight)

    @staticmethod
    def backward(_: Any, gradient: torch.Tensor) -> torch.Tensor:
        return gradient * float("nan")


def spoil_gradient(module: nn.Linear, step_of: Callable[[], int]) -> None:
    forward = module.forward

    def spoiled(x: torch.Tensor) -> torch.Tensor:
        if step_of() != AT:
            return forward(x)
        return nn.functional.linear(x, SpoiledGradient.apply(module.weight), module.bias)

    module.forward = spoiled  # type: ignore[method-assign]


def spoil_sum(weight: nn.Parameter, step_of: Callable[[], int]) -> Callable[[], None]:
    """The sum of this weight's gradients arrives with a NaN in it; returns what puts the process group right again."""
    group = torch._C._distributed_c10d.ProcessGroup
    original = group.allreduce

    def corrupted(self: Any, tensors: list[torch.Tensor], *args: Any, **more: Any) -> Any:
        work = original(self, tensors, *args, **more)
        given = tensors[0] if isinstance(tensors, list) else tensors
        if step_of() == AT and weight.grad is not None and given.data_ptr() == weight.grad.data_ptr():
            work.wait()
            given.view(-1)[7] = float("nan")
        return work

    group.allreduce = corrupted
    return lambda: setattr(group, "allreduce", original)


def local(parameter: torch.Tensor) -> torch.Tensor:
    held = parameter.detach()
    return held.to_local() if isinstance(held, DTensor) else held


def flip_exponent(weight: torch.Tensor) -> None:
    bits = weight.view(-1)[:1].view(torch.int32)
    bits ^= 1 << 30


class Training:
    """One case: a model, its optimizer and the fault that a step may have."""

    def __init__(self, form: str, fault: str) -> None:
        self.form, self.fault, self.step = form, fault, 0
        self.culprits = FAULTS[fault].ranks if FAULTS[fault].ranks is not None else (1 if form == "pipeline" else 2,)
        self.hit = RANK in self.culprits and fault != "healthy"
        torch.manual_seed(7)
        own, depth = ([RANK], WORLD) if form == "pipeline" else (range(LAYERS), LAYERS)
        self.model = Model(own, depth, experts=form == "moe", recomputed=form == "accumulate")
        self.runner: nn.Module = self.model
        self._parallelize()
        stateful = not SMALL or fault == "optimizer_nan"
        self.optimizer = (torch.optim.AdamW if stateful else torch.optim.SGD)(self.model.parameters(), lr=0.01)
        self.restore: Callable[[], None] = lambda: None
        self._prepare_fault()

    def _parallelize(self) -> None:
        if self.form in ("ddp", "accumulate"):
            self.runner = DistributedDataParallel(self.model)
        elif self.form == "fsdp2":
            for layer in self.model.layers.values():
                fully_shard(layer)
            fully_shard(self.model)
        elif self.form == "tensor":
            mesh = init_device_mesh("cpu", (WORLD,), mesh_dim_names=("tp",))
            plan = {"layers.*.feed_forward.w1": ColwiseParallel(), "layers.*.feed_forward.w2": RowwiseParallel()}
            parallelize_module(self.model, mesh, plan)

    def part(self, name: str) -> nn.Module:
        """The module of layer 1 that a fault is in."""
        inner = "feed_forward.expert.w2" if self.form == "moe" and name == FEED else name
        return self.model.get_submodule(f"layers.1.{inner}")

    def _prepare_fault(self) -> None:
        if not self.hit:
            return
        if (spoils := FAULTS[self.fault].spoils) is not None:
            spoil_output(self.part(FEED), lambda: self.step, spoils)
        elif self.fault == "grad_nan":
            spoil_gradient(self.part(FEED), lambda: self.step)
        elif self.fault == "comm_nan":
            self.restore = spoil_sum(self.part(FEED).weight, lambda: self.step)

    def spoil_state(self) -> None:
        """Before a step. `drift` begins one step earlier: its first sign is after the update of step AT."""
        weight = self.part(FEED).weight if self.hit and self.fault != "input_nan" else None
        if self.hit and self.fault == "blind_row":
            self.part("attention.mask").blind = self.step == AT
        if not self.hit or self.step != AT or weight is None:
            return
        if self.fault == "weight_nan":
            local(weight).view(-1)[3] = float("nan")
        elif self.fault == "bit_flip":
            flip_exponent(local(weight))
        elif self.fault == "optimizer_nan":
            local(self.optimizer.state[weight]["exp_avg"]).view(-1)[3] = float("nan")
        elif self.fault == "drift":
            local(weight).mul_(1.001)

    def batch(self) -> torch.Tensor:
        """Each rank its own, but all members of a tensor or pipeline group the same."""
        seed = self.step if self.form in ("tensor", "pipeline") else self.step * WORLD + RANK
        made = torch.randn(BATCH, LENGTH, WIDTH, generator=torch.Generator().manual_seed(seed))
        if self.hit and self.fault == "input_nan" and self.step == AT:
            made[1, 2, 3] = float("nan")
        return made

    # --- a step of each form ---------------------------------------------------------------------------------------

    def run(self, recorded: Callable[[], AbstractContextManager[object]] = nullcontext) -> None:
        """`recorded`: around each step."""
        schedule = self._schedule() if self.form == "pipeline" else None
        for self.step in range(STEPS):
            self.spoil_state()
            batch = self.batch()
            with recorded():
                self.optimizer.zero_grad()
                loss = self._pipeline(schedule, batch) if schedule is not None else self._data_parallel(batch)
                self.optimizer.step()
            if loss is not None:
                log.info("step %d loss %.5f", self.step, loss)
        self.restore()

    def _schedule(self) -> Schedule1F1B:
        stage = PipelineStage(self.model, RANK, WORLD, torch.device("cpu"))
        return Schedule1F1B(stage, n_microbatches=4, loss_fn=lambda made, wanted: (made - wanted).square().mean())

    def _pipeline(self, schedule: Schedule1F1B, batch: torch.Tensor) -> float | None:
        losses: list[torch.Tensor] = []
        wanted = torch.zeros(BATCH, LENGTH, 4)
        if RANK == 0:
            schedule.step(batch)
        else:
            schedule.step(target=wanted, losses=losses) if RANK == WORLD - 1 else schedule.step()
        return torch.stack(losses).mean().item() if losses else None

    def _data_parallel(self, batch: torch.Tensor) -> float:
        parts = batch.chunk(2 if self.form == "accumulate" else 1)
        loss = torch.zeros(())
        for at, part in enumerate(parts):
            last = at == len(parts) - 1
            sync = self.runner.no_sync() if self.form == "accumulate" and not last else None  # type: ignore[operator]
            with sync or torch.enable_grad():
                loss = self.runner(part).square().mean()
                loss.backward()
        if self.form in ("all_reduce", "moe"):
            for name, parameter in self.model.named_parameters():
                if ".expert." not in name and parameter.grad is not None:
                    dist.all_reduce(parameter.grad)
                    parameter.grad /= WORLD
        if self.form == "accumulate":
            nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        return loss.item()


FORMS = ("ddp", "all_reduce", "fsdp2", "tensor", "moe", "accumulate", "pipeline")


def truth(training: Training) -> dict[str, Any]:
    fault = FAULTS[training.fault]
    if not training.culprits:
        return {"kinds": ["healthy", "unknown"], "causes": [None], "ranks": [], "step": None, "module": None}
    module = fault.module
    if module is not None and module != "embed":
        inner = "feed_forward.expert.w2" if training.form == "moe" and module == FEED else module
        module = f"layers.1.{inner}"
    everywhere = len(training.culprits) == WORLD
    return {
        "kinds": ["numerics"], "causes": list(fault.causes), "ranks": [] if everywhere else list(training.culprits),
        "step": fault.step, "module": module,
    }  # fmt: skip


def possible(form: str, fault: str) -> bool:
    """A pipeline's culprit is its second stage, which reads no data; one of four stages is not everywhere."""
    allowed = not FAULTS[fault].forms or form in FAULTS[fault].forms
    return allowed and not (form == "pipeline" and fault in ("input_nan", "everywhere"))


def record(form: str, fault: str, folder: Path) -> None:
    training = begun(form, fault, folder)
    some: dict[str, Any] = {"steps": range(AT - 1, AT + 1)} if SMALL else {}
    if SMALL and form != "pipeline":
        some["modules"] = NEAR
    with watch(training.model, folder / "bundle" / "tensor_stats", optimizer=training.optimizer, **some):
        training.run()
    ended(training, folder)


def begun(form: str, fault: str, folder: Path) -> Training:
    """With a log of this rank."""
    logs = folder / "bundle" / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    handler = logging.FileHandler(logs / f"rank_{RANK}.log")
    line = f"%(asctime)s.%(msecs)03d [rank{RANK}] %(levelname)s train: %(message)s"
    handler.setFormatter(logging.Formatter(line, datefmt="%Y-%m-%d %H:%M:%S"))
    log.setLevel(logging.INFO)
    log.addHandler(handler)
    training = Training(form, fault)
    log.info("starting pid=%d world=%d", os.getpid(), WORLD)
    return training


def ended(training: Training, folder: Path) -> None:
    log.info("training finished")
    for handler in list(log.handlers):
        log.removeHandler(handler)
        handler.close()
    if RANK == 0:
        told = {"case": folder.name, **truth(training)}
        (folder / "truth.json").write_text(json.dumps(told, indent=1) + "\n")
    dist.barrier()


def main(folder: Path, wanted: str) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    for form, fault in itertools.product(FORMS, FAULTS):
        name = f"{form}__{fault}"
        if possible(form, fault) and wanted in name:
            record(form, fault, folder / name)
    dist.destroy_process_group()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "")
