"""What is lost, late, damaged or beside the point in a bundle."""

import random
from dataclasses import dataclass, field
from typing import Literal

from samples.simulator.engine import NEVER, Engine
from samples.simulator.faults import Plan
from samples.simulator.job import Job
from samples.simulator.recorder import Settings
from samples.simulator.truth import Kept

SOURCES = frozenset({"fr", "stacks", "logs", "nccl", "kernel", "launcher"})


@dataclass(frozen=True, slots=True)
class LogForm:
    """How processes log. `torch`: whose words the watchdog has. `merged`: all processes in one file, else two files each.
    `told`: who tells the members: a line per rank and group, NCCL's lines on the world alone, or nobody. `signals`: each
    process that lives sees the signal to dump of the first that gives up. `counters`: the watchdog's counters."""

    torch: Literal["1.12", "2.1", "2.7"] = "2.7"
    merged: bool = False
    told: Literal["groups", "world", "nothing"] = "world"
    signals: bool = False
    counters: bool = False


@dataclass(frozen=True, slots=True)
class Noise:
    """Fractions are of ranks (of hosts for `ecc_hosts`). `lost` takes everything of a rank, the other three one source.
    `culprit_lost`: True takes the culprits' files, False spares them, None leaves it to chance. `early`: recorders
    dumped before the job came to rest. `skew_s`: largest error of a host's clock. `unrelated_xid`: an Xid on a host
    that has no part in it."""

    lost: float = 0.0
    lost_recorders: float = 0.0
    lost_stacks: float = 0.0
    lost_logs: float = 0.0
    culprit_lost: bool | None = None
    truncated: float = 0.0
    empty: float = 0.0
    early: float = 0.0
    skew_s: float = 0.0
    ecc_hosts: float = 0.35
    unrelated_xid: bool = True
    sources: frozenset[str] = SOURCES
    recorder: Settings = field(default_factory=Settings)
    form: LogForm = field(default_factory=LogForm)


@dataclass(frozen=True)
class Draw:
    """The noise of one incident."""

    kept: Kept
    truncated: frozenset[int]
    empty: frozenset[int]
    skew_ns: dict[str, int]
    ecc: dict[str, int]  # host → device index
    unrelated: str | None
    end_ms: float  # when the job had come to rest
    early_ms: dict[int, float]


def draw(job: Job, plan: Plan, engine: Engine, noise: Noise, rng: random.Random) -> Draw:
    def some(fraction: float) -> set[int]:
        return {rank for rank in range(job.world) if rng.random() < fraction} if fraction else set()

    gone = some(noise.lost)
    lost = {name: gone | some(getattr(noise, f"lost_{name}")) for name in ("recorders", "stacks", "logs")}
    truncated, empty = some(noise.truncated), some(noise.empty)
    early = some(noise.early) - set(plan.culprits)
    for files in lost.values():
        if noise.culprit_lost:
            files |= set(plan.culprits)
    if noise.culprit_lost is False:
        for files in (*lost.values(), truncated, empty):
            files -= set(plan.culprits)
    everyone = set(range(job.world))
    dead = set(plan.culprits) if plan.fault.kind == "rank_died" else set()
    silent = set(plan.culprits) if plan.site == "unresponsive" else set()
    recorders = everyone - lost["recorders"] - dead - truncated - empty
    if "fr" not in noise.sources or plan.fault.kind == "store_timeout":
        recorders = set()
    stacks = everyone - lost["stacks"] - dead - silent
    if "stacks" not in noise.sources or plan.fault.kind == "store_timeout":
        stacks = set()
    hosts = job.hosts
    end = rest_time(engine) * 0.6 if plan.fault.kind == "slow" else rest_time(engine)
    involved = {job.host(rank) for rank in plan.culprits} | set(plan.hosts)
    others = [host for host in hosts if host not in involved]
    kept = Kept(
        recorders=frozenset(recorders),
        stacks=frozenset(stacks),
        logs=frozenset(everyone - lost["logs"] if "logs" in noise.sources else ()),
        kernels=frozenset(hosts if "kernel" in noise.sources else ()),
        launcher="launcher" in noise.sources,
        early=frozenset(early),
    )
    return Draw(
        kept, frozenset(truncated - dead), frozenset(empty - dead - truncated),
        {host: int(rng.uniform(-1, 1) * noise.skew_s * 1e9) for host in hosts},
        {host: rng.randrange(job.gpus_per_host) for host in hosts if rng.random() < noise.ecc_hosts},
        rng.choice(others) if noise.unrelated_xid and others else None,
        end, {rank: end * rng.uniform(0.5, 0.95) for rank in sorted(early)},
    )  # fmt: skip


def rest_time(engine: Engine) -> float:
    """When the last host came to rest, ms."""
    latest = max(rank.clock for rank in engine.ranks)
    for rank in engine.ranks:
        # A host may have enqueued many calls behind the last one that its GPU finished.
        latest = max(latest, *(op.completed for op in rank.ops if op.completed != NEVER), 0.0)
    return latest + 1.0
