"""What goes wrong with the numbers, and where: plants that tamper with the flow, and what they did."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

from samples.simulator.job import Job
from samples.simulator.numerics.model import Bad, Model, Tensor, mixed
from samples.simulator.numerics.shapes import Comm, Site, State

NumericKind = Literal[
    "none", "nan_forward", "nan_backward", "nan_optimizer", "nan_recompute", "overflow", "bad_weight", "corrupt_weight",
    "bad_checkpoint", "bad_batch", "comm_one", "comm_all", "sum_overflow", "comm_message", "divergence", "param_divergence",
    "tie", "recompute_differs", "two_roots", "same_op", "skipped_then_root", "warm_up", "restart", "reborn", "experts",
    "loss_spike", "scale_collapse", "underflow",
]  # fmt: skip
NUMERIC_KINDS: tuple[NumericKind, ...] = NumericKind.__args__  # type: ignore[attr-defined]
LOG_ONLY = frozenset({"loss_spike", "scale_collapse"})
What = Literal["output", "param", "batch", "sent", "received", "slots", "gradient"]


@dataclass(frozen=True, slots=True)
class NumericFault:
    """`rank`: the culprit, drawn where None. `step`: counted from the first step of the launch, drawn where None."""

    kind: NumericKind = "none"
    rank: int | None = None
    step: int | None = None


@dataclass(frozen=True, slots=True)
class Plant:
    """One act of tampering. None matches anything. `value`: what the tensor becomes; flip = other finite bits, big =
    close to the largest number of its format. `fresh`: only on a rank that no birth has reached; `echo`: only on one
    that has been reached, and once. `launch`: which launch of the job."""

    what: What
    ranks: tuple[int, ...]
    step: int
    value: Literal["nan", "inf", "flip", "big", "zero"]
    microbatch: int | None = None
    phase: str | None = None
    module: str | None = None
    op: str | None = None
    fresh: bool = False
    echo: bool = False
    launch: int = 0


class Birth(NamedTuple):
    """What a plant did. `root`: no other birth had reached the rank."""

    number: int
    plant: Plant
    site: Site
    root: bool


@dataclass
class Injections:
    """The plants of one launch; `births` fills while the flow runs."""

    plants: Sequence[Plant] = ()
    births: list[Birth] = field(default_factory=list)
    _done: set[int] = field(default_factory=set)

    def _matching(self, what: What, site: Site) -> list[tuple[int, Plant]]:
        return [
            (number, plant)
            for number, plant in enumerate(self.plants)
            if plant.what == what and site.rank in plant.ranks and site.step == plant.step
            and plant.microbatch in (None, site.microbatch) and plant.phase in (None, site.phase)
            and plant.module in (None, site.module) and plant.op in (None, site.op)
        ]  # fmt: skip

    def _born(self, states: Sequence[State], number: int, plant: Plant, site: Site, tensor: Tensor) -> Tensor:
        reached = bool(states[site.rank].taint)
        birth = Birth(len(self.births), plant, site, not reached)
        self.births.append(birth)
        states[site.rank].taint |= {birth.number}
        if plant.value == "flip":
            return tensor._replace(content=mixed("flip", tensor.content))
        bad: Bad = "inf" if plant.value == "inf" else "nan"
        return tensor._replace(bad=bad, taint=frozenset({birth.number}))

    def begin(self, states: Sequence[State], rank: int, step: int) -> None:
        """Parameters that have changed since the step before."""
        for number, plant in enumerate(self.plants):
            if plant.what == "param" and rank in plant.ranks and plant.step == step and plant.module is not None:
                params = states[rank].params
                if plant.module in params:
                    site = Site(rank, step, None, "forward", plant.module.rsplit(".", 1)[0], "")
                    params[plant.module] = self._born(states, number, plant, site, params[plant.module])

    def batch(self, states: Sequence[State], site: Site, tensor: Tensor) -> Tensor:
        for number, plant in self._matching("batch", site):
            tensor = self._born(states, number, plant, site, tensor)
        return tensor

    def output(self, states: Sequence[State], site: Site, given: list[Tensor], made: Tensor) -> Tensor:
        """The result of a local operation."""
        for number, plant in self._matching("output", site):
            tainted = bool(states[site.rank].taint)
            clean = not any(tensor.bad in ("nan", "inf") for tensor in given)
            if not clean or made.bad == "nan" or (plant.fresh and tainted):
                continue
            if plant.echo and (not tainted or number in self._done):
                continue
            self._done.add(number)
            made = self._born(states, number, plant, site, made)
        return made

    def sent(self, comm: Comm) -> list[Tensor]:
        for _, plant in self._matching("sent", comm.site):
            if plant.value == "big":
                return [tensor._replace(size=60_000.0) for tensor in comm.given]
        return comm.given

    def received(
        self,
        states: Sequence[State],
        site: Site,
        members: Sequence[int],
        given: Sequence[list[Tensor]],
        made: list[Tensor],
    ) -> list[Tensor]:
        """What a member of a call gets; tampered with only where all that was given was clean."""
        for number, plant in self._matching("received", site):
            if not any(tensor.bad for tensors in given for tensor in tensors) and not made[0].bad:
                made = [self._born(states, number, plant, site, made[0]), *made[1:]]
        return made

    def slots(self, site: Site, made: list[Tensor]) -> list[Tensor]:
        """Of a bad output only every other slice is bad."""
        return [slice_._replace(bad="") if at % 2 else slice_ for at, slice_ in enumerate(made)] if self._matching(
            "slots", site
        ) else made  # fmt: skip

    def gradient(self, step: int, tensor: Tensor) -> Tensor:
        """The gradient of the loss, which may have become too small for its format."""
        gone = any(plant.what == "gradient" and step >= plant.step for plant in self.plants)
        return tensor._replace(size=0.0) if gone else tensor


# --- where -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Placing:
    """What there is to choose from: the sites of one step without a fault."""

    job: Job
    model: Model
    fault: NumericFault
    sites: Sequence[Site]
    step: int
    rng: random.Random

    def pick(self, wanted: Callable[[Site], bool]) -> Site:
        """Raises ValueError where no operation is as wanted."""
        own = self.fault.rank
        found = [site for site in self.sites if wanted(site) and own in (None, site.rank)]
        if not found:
            raise ValueError(f"the job has no place for {self.fault}")
        rank = self.rng.choice(sorted({site.rank for site in found}))
        return self.rng.choice([site for site in found if site.rank == rank])

    def group_of(self, site: Site) -> tuple[int, ...]:
        """Members of the call's group."""
        role = "tp" if site.phase == "comm" else "world" if site.module in ("grad_norm", "found_inf") else "dp"
        return self.job.groups[self.job.groups_of[site.rank][role]].members  # type: ignore[index]


def at(site: Site, value: Literal["nan", "inf", "flip", "big", "zero"], what: What = "output", **more: object) -> Plant:
    """A plant in one operation of one rank."""
    named = Plant(what, (site.rank,), site.step, value, site.microbatch, site.phase, site.module, site.op)
    return replace(named, **more)  # type: ignore[arg-type]


def _local(phase: str, *ops: str) -> Callable[[Site], bool]:
    wanted = ops or ("Linear", "LayerNorm", "softmax", "SwiGLU", "CrossEntropy", "Embedding", "add")
    return lambda site: site.phase == phase and site.op in wanted


def _in_phase(phase: str, value: Literal["nan", "inf"] = "nan") -> Callable[[Placing], list[Plant]]:
    def make(place: Placing) -> list[Plant]:
        ops = ("Adam",) if phase == "optimizer" else ()
        return [at(place.pick(_local(phase, *ops)), value)]

    return make


def _weight(place: Placing, first: bool) -> list[Plant]:
    site = place.pick(lambda site: site.phase == "optimizer")
    step = place.sites[0].step if first else place.step
    return [Plant("param", (site.rank,), step, "nan", module=f"{site.module}.weight")]


def _checkpoint(place: Placing) -> list[Plant]:
    site = place.pick(lambda site: site.phase == "optimizer" and "expert" not in site.module)
    tp, _, stage = place.job.place(site.rank)
    ranks = tuple(place.job.rank(tp, dp, stage) for dp in range(place.job.dp))
    return [Plant("param", ranks, place.sites[0].step, "nan", module=f"{site.module}.weight")]


def _batch(place: Placing) -> list[Plant]:
    site = place.pick(lambda site: site.module == "embed" and site.phase == "forward")
    _, dp, stage = place.job.place(site.rank)
    mates = tuple(place.job.rank(tp, dp, stage) for tp in range(place.job.tp))
    return [at(site, "nan", "batch", ranks=mates)]


def _sum(place: Placing, least: int, most: int = 1 << 30) -> Site:
    def wanted(site: Site) -> bool:
        summed = site.op == "all_reduce" and site.module not in ("grad_norm", "found_inf")
        return summed and least <= len(place.group_of(site)) <= most

    return place.pick(wanted)


def _comm(value: Literal["nan", "flip"], least: int, most: int = 1 << 30) -> Callable[[Placing], list[Plant]]:
    return lambda place: [at(_sum(place, least, most), value, "received")]


def _comm_all(place: Placing) -> list[Plant]:
    site = _sum(place, 2)
    return [at(site, "nan", "received", ranks=place.group_of(site))]


def _sum_overflow(place: Placing) -> list[Plant]:
    site = _sum(place, 2)
    members = place.group_of(site)
    return [at(site, "big", "sent", ranks=members), at(site, "inf", "received", ranks=members)]


def _message(place: Placing) -> list[Plant]:
    return [at(place.pick(lambda site: site.op == "recv"), "nan", "received")]


def _param_divergence(place: Placing) -> list[Plant]:
    if place.job.dp < 3 or place.model.sharded:
        raise ValueError("no majority over data-parallel replicas")
    site = place.pick(lambda site: site.phase == "optimizer" and "expert" not in site.module)
    return [at(site, "flip")]


def _two(place: Placing) -> list[Plant]:
    first = place.pick(_local("forward"))
    _, dp, stage = place.job.place(first.rank)

    def apart(site: Site) -> bool:
        _, other, its = place.job.place(site.rank)
        return _local("forward")(site) and other != dp and its == stage and site.module != first.module

    place = replace(place, fault=replace(place.fault, rank=None))
    return [at(first, "nan"), at(place.pick(apart), "nan", fresh=True)]


def _same(place: Placing) -> list[Plant]:
    """The same operation on all replicas; at least three ranks run it."""
    site = place.pick(_local("forward", "Linear", "SwiGLU"))
    ranks = tuple(sorted({other.rank for other in place.sites if other[1:] == site[1:]}))
    if len(ranks) < 3:
        raise ValueError("too few replicas")
    return [at(site, "nan", ranks=ranks)]


def _skipped(place: Placing) -> list[Plant]:
    first = place.pick(_local("backward", "Linear", "SwiGLU"))
    place = replace(place, fault=replace(place.fault, rank=None))
    second = place.pick(_local("optimizer", "Adam"))
    return [at(first, "inf", step=place.step - 1), at(second, "nan")]


def _restart(place: Placing) -> list[Plant]:
    first, second = place.pick(_local("forward")), place.pick(_local("forward"))
    return [at(first, "nan"), at(second, "nan", launch=1)]


def _reborn(place: Placing) -> list[Plant]:
    site = place.pick(lambda site: _local("forward", "Linear")(site) and site.module.endswith("attn.proj"))
    others = tuple(rank for rank in range(place.job.world) if rank != site.rank)
    if place.job.tp == 1:
        raise ValueError("nothing reaches another rank within the forward pass")
    return [at(site, "nan"), at(site, "nan", ranks=others, microbatch=None, module=None, op="SwiGLU", echo=True)]


def _experts(place: Placing) -> list[Plant]:
    site = place.pick(lambda site: _local("forward", "Linear")(site) and site.module.endswith("expert"))
    return [at(site, "nan"), at(site, "nan", "slots")]


def _underflow(place: Placing) -> list[Plant]:
    return [Plant("gradient", (), place.step, "zero")]


def _nothing(place: Placing) -> list[Plant]:
    return []


MAKERS: dict[str, Callable[[Placing], list[Plant]]] = {
    "none": _nothing, "loss_spike": _nothing, "scale_collapse": _nothing,
    "nan_forward": _in_phase("forward"), "nan_backward": _in_phase("backward"), "nan_optimizer": _in_phase("optimizer"),
    "nan_recompute": _in_phase("recompute"), "overflow": _in_phase("forward", "inf"),
    "bad_weight": lambda place: _weight(place, True), "corrupt_weight": lambda place: _weight(place, False),
    "bad_checkpoint": _checkpoint, "bad_batch": _batch,
    "comm_one": _comm("nan", 2), "comm_all": _comm_all, "sum_overflow": _sum_overflow, "comm_message": _message,
    "divergence": _comm("flip", 3), "param_divergence": _param_divergence, "tie": _comm("flip", 2, 2),
    "recompute_differs": lambda place: [at(place.pick(_local("recompute")), "flip")],
    "two_roots": _two, "same_op": _same, "skipped_then_root": _skipped,
    "warm_up": lambda place: [at(place.pick(_local("backward", "Linear", "SwiGLU")), "inf", step=place.step - 1)],
    "restart": _restart, "reborn": _reborn, "experts": _experts, "underflow": _underflow,
}  # fmt: skip


def needed(kind: NumericKind, model: Model) -> Model:
    """The model with what the fault needs to happen."""
    if kind in ("nan_recompute", "recompute_differs"):
        return replace(model, recompute=True)
    if kind in ("overflow", "sum_overflow"):
        return replace(model, dtype="float16", scaled=False)
    if kind in ("skipped_then_root", "warm_up"):
        return replace(model, dtype="float16", scaled=True)
    if kind == "underflow":
        return replace(model, dtype="float16")
    return replace(model, guards=True) if kind == "reborn" else model
