"""What a reader of the statistics should answer, given what they still hold. Follows the rules of docs/contract."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from samples.simulator.job import Job
from samples.simulator.numerics.faults import LOG_ONLY, Birth, NumericFault
from samples.simulator.numerics.flow import Flow
from samples.simulator.numerics.model import Model, NumericNoise
from samples.simulator.numerics.shapes import Row

_OPS = frozenset({
    "nan_forward", "nan_backward", "nan_optimizer", "nan_recompute", "overflow", "two_roots", "same_op", "skipped_then_root",
    "restart", "reborn", "experts", "warm_up",
})  # fmt: skip
_CAUSES: Mapping[str, tuple[str | None, ...]] = {
    "nan_forward": ("nan_birth",), "nan_backward": ("nan_birth",), "nan_optimizer": ("nan_birth", "bad_state"),
    "nan_recompute": ("nan_birth",), "overflow": ("overflow",), "bad_weight": ("bad_state",), "corrupt_weight": ("bad_state",),
    "bad_checkpoint": ("bad_state",), "bad_batch": ("bad_input",), "comm_one": ("comm_corruption",),
    "comm_all": ("comm_corruption",), "sum_overflow": ("overflow",), "comm_message": ("comm_corruption",),
    "divergence": ("replica_divergence",), "param_divergence": ("replica_divergence",), "tie": ("replica_divergence",),
    "recompute_differs": ("replica_divergence",), "two_roots": ("nan_birth",), "same_op": ("nan_birth",),
    "skipped_then_root": ("nan_birth", "bad_state"), "restart": ("nan_birth",), "reborn": ("nan_birth",), "warm_up": ("overflow",),
    "experts": ("nan_birth",), "loss_spike": ("loss_spike",), "scale_collapse": ("loss_scale_collapse",), "underflow": ("underflow",),
    "none": (None,),
}  # fmt: skip


@dataclass(frozen=True)
class Kept:
    """What the files hold. `share`: of a file that is cut; `modules`: with hooks, None = all; `skew_s`: of each clock."""

    ranks: frozenset[int]
    share: Mapping[int, float] = field(default_factory=dict)
    modules: frozenset[str] | None = None
    skew_s: Mapping[int, float] = field(default_factory=dict)


def truth(
    job: Job, model: Model, fault: NumericFault, flows: Sequence[Flow], noise: NumericNoise, kept: Kept
) -> dict[str, Any]:
    """Keys: kinds, causes, ranks | ranks_any, links, suspects_must_include, undecided, decidable, step, microbatch, module,
    phase (of the first anomaly), severity, fault."""
    births = [birth for birth in flows[-1].injections.births if birth.root] if flows else []
    base: dict[str, Any] = {
        "fault": {"kind": fault.kind, "culprits": sorted({birth.site.rank for birth in births})},
        "kinds": ["numerics"], "causes": list(_CAUSES[fault.kind]), "ranks": [], "links": [], "suspects_must_include": [],
        "undecided": [], "decidable": True, "step": None, "microbatch": None, "module": None, "phase": None, "severity": [],
    }  # fmt: skip
    if fault.kind == "none":
        return base | {"kinds": ["healthy", "unknown"]}
    if fault.kind in LOG_ONLY or fault.kind == "underflow":
        step = flows[0].injections.plants[0].step if flows else None
        return base | {"step": step, "decidable": _whole(job, noise, kept, [])}
    answer = base | _who(job, fault, births, flows[-1]) | _first(births, flows[-1], fault)
    answer["decidable"] = _decidable(job, fault, births, noise, kept)
    if fault.kind == "warm_up":
        answer["severity"] = ["minor"]
    if not noise.form.params and answer["causes"] == ["bad_state"]:
        answer["causes"] = ["bad_state", "nan_birth", None]
    if not answer["decidable"]:
        answer["suspects_must_include"] = answer["suspects_must_include"] or answer["fault"]["culprits"]
        answer["ranks_any"] = [[], answer["ranks"]]
    return answer


def _who(job: Job, fault: NumericFault, births: Sequence[Birth], flow: Flow) -> dict[str, Any]:
    ranks = sorted({birth.site.rank for birth in births})
    if fault.kind == "skipped_then_root":
        later = [birth for birth in births if birth.plant.value == "nan"]
        ranks = sorted({birth.site.rank for birth in later})
    if fault.kind in ("same_op", "bad_checkpoint", "bad_batch"):
        return {"ranks": ranks, "ranks_any": _many(job, fault, ranks)}
    if fault.kind in ("comm_all", "sum_overflow"):
        return {"ranks": [], "suspects_must_include": ranks}
    if fault.kind == "comm_message":
        plant = births[0].plant
        row = next(row for row in flow.states[ranks[0]].rows if row.site == births[0].site)
        ends = [row.peer, plant.ranks[0]]
        return {"ranks": [], "links": [ends], "suspects_must_include": sorted(ends)}
    if fault.kind == "tie":
        group = next(
            row.group for row in flow.states[ranks[0]].rows if row.site == births[0].site and row.group is not None
        )
        return {"ranks": [], "suspects_must_include": list(job.groups[group].members), "undecided": ["replica_tie"]}
    return {"ranks": ranks}


def _many(job: Job, fault: NumericFault, ranks: list[int]) -> list[list[int]]:
    """The same on at least half of the replicas is the workload, not a device."""
    replicas = job.dp * (job.tp if fault.kind == "bad_batch" else 1)
    most = len(ranks) > 2 and 2 * len(ranks) >= replicas
    return [[]] if most and fault.kind != "bad_batch" else [ranks, []]


def _first(births: Sequence[Birth], flow: Flow, fault: NumericFault) -> dict[str, Any]:
    """Where the first anomaly is seen: the first row that shows it, of the first culprit."""
    found = [_row(birth, flow) for birth in births if fault.kind != "skipped_then_root" or birth.plant.value == "nan"]
    rows = [row for row in found if row is not None]
    if not rows:
        return {}
    site = min(
        rows, key=lambda row: (row.site.step, row.site.microbatch if row.site.microbatch is not None else -1)
    ).site
    modules = sorted({row.site.module for row in rows})
    return {
        "step": site.step,
        "microbatch": site.microbatch,
        "phase": site.phase,
        "module": site.module,
        "modules": modules,
    }


def _row(birth: Birth, flow: Flow) -> Row | None:
    rows = flow.states[birth.site.rank].rows
    if birth.plant.value == "flip":
        return next((row for row in rows if row.site == birth.site), None)
    return next((row for row in rows if birth.number in row.value.taint and row.value.bad), None)


def _whole(job: Job, noise: NumericNoise, kept: Kept, births: Sequence[Birth]) -> bool:
    return noise.every == 1 and kept.modules is None and len(kept.ranks) == job.world and not kept.share


def _decidable(job: Job, fault: NumericFault, births: Sequence[Birth], noise: NumericNoise, kept: Kept) -> bool:
    form = noise.form
    if not _whole(job, noise, kept, births) or not form.inputs:
        return False
    if fault.kind in ("divergence", "param_divergence", "tie"):
        return form.calls == "stated"
    return form.calls == "stated" or (form.calls == "named" and fault.kind in _OPS)
