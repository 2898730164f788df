"""The shape of a simulated training job: its size, its schedule, its process groups and who sits on which host."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

Schedule = Literal["1f1b", "interleaved", "zero3"]
Role = Literal["world", "dp", "tp", "pp", "embedding", "ep"]
ROLES: tuple[Role, ...] = ("world", "dp", "tp", "pp", "embedding", "ep")
DESCRIPTIONS: dict[Role, str] = {
    "world": "default_pg",
    "dp": "DATA_PARALLEL_GROUP",
    "tp": "TENSOR_MODEL_PARALLEL_GROUP",
    "pp": "PIPELINE_MODEL_PARALLEL_GROUP",
    "embedding": "EMBEDDING_GROUP",
    "ep": "EXPERT_MODEL_PARALLEL_GROUP",
}


@dataclass(frozen=True, slots=True)
class Group:
    """A process group: the name that the library prints, and its global ranks in group order."""

    name: str
    role: Role
    members: tuple[int, ...]


@dataclass(frozen=True)
class Job:
    """A job of tp * pp * dp ranks; rank = tp index + tp * (dp index + dp * stage), the order tp-dp-pp.

    `ep` divides `dp`. `chunks` counts virtual stages of the interleaved schedule, whose micro-batches are a multiple
    of `pp`. Only the last `steps` steps are simulated, counters start as if `first_step` steps had gone before.
    `run_ahead` is how many calls that its GPU waits for a host may enqueue beyond the oldest that its GPU has not
    finished. `p2p_sync`: the host waits after each batched point-to-point call. A checkpoint is written at the end of
    step `checkpoint_step`.
    """

    tp: int = 2
    pp: int = 2
    dp: int = 2
    ep: int = 1
    microbatches: int = 4
    layers: int = 2
    schedule: Schedule = "1f1b"
    chunks: int = 2
    steps: int = 2
    first_step: int = 118
    gpus_per_host: int = 8
    run_ahead: int = 48
    p2p_sync: bool = False
    batched: bool = True
    checkpoint_step: int | None = None
    timeouts_ms: dict[str, int] = field(default_factory=dict)  # role → ms, default 600,000

    def __post_init__(self) -> None:
        if min(self.tp, self.pp, self.dp, self.ep, self.microbatches, self.layers, self.steps, self.run_ahead) < 1:
            raise ValueError("all sizes must be at least 1")
        if self.dp % self.ep:
            raise ValueError("ep must divide dp")
        if self.schedule == "zero3" and (self.pp > 1 or self.tp > 1 or self.ep > 1):
            raise ValueError("zero3 shards over dp alone")
        if self.schedule == "interleaved" and (self.pp < 2 or self.microbatches % self.pp):
            raise ValueError("interleaved needs pp >= 2 and micro-batches that are a multiple of pp")

    @property
    def world(self) -> int:
        return self.tp * self.pp * self.dp

    def place(self, rank: int) -> tuple[int, int, int]:
        """(tp index, dp index, stage) of a rank."""
        return rank % self.tp, rank // self.tp % self.dp, rank // (self.tp * self.dp)

    def rank(self, tp: int, dp: int, stage: int) -> int:
        return tp + self.tp * (dp + self.dp * stage)

    def host_index(self, rank: int) -> int:
        return rank // self.gpus_per_host

    def host(self, rank: int) -> str:
        return f"node{self.host_index(rank):04d}"

    @cached_property
    def hosts(self) -> list[str]:
        return [f"node{index:04d}" for index in range(self.host_index(self.world - 1) + 1)]

    @property
    def last_step(self) -> int:
        return self.first_step + self.steps - 1

    def timeout_ms(self, role: Role) -> int:
        return self.timeouts_ms.get(role, 600_000)

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """All groups in the order of creation; names are running numbers over the whole job."""
        found: list[tuple[Role, tuple[int, ...]]] = [("world", tuple(range(self.world)))]
        tps, dps, stages = range(self.tp), range(self.dp), range(self.pp)
        if self.dp > 1:
            found += [("dp", tuple(self.rank(t, d, s) for d in dps)) for s in stages for t in tps]
        if self.tp > 1:
            found += [("tp", tuple(self.rank(t, d, s) for t in tps)) for s in stages for d in dps]
        if self.pp > 1:
            for d in dps:
                for t in tps:
                    found.append(("pp", tuple(self.rank(t, d, s) for s in stages)))
                    found.append(("embedding", (self.rank(t, d, 0), self.rank(t, d, self.pp - 1))))
        if self.ep > 1:
            found += [
                ("ep", tuple(self.rank(t, d, s) for d in range(first, first + self.ep)))
                for s in stages
                for first in range(0, self.dp, self.ep)
                for t in tps
            ]
        return tuple(Group(str(number), role, members) for number, (role, members) in enumerate(found))

    @cached_property
    def groups_of(self) -> list[dict[Role, int]]:
        """Per rank: role → index into `groups`."""
        mine: list[dict[Role, int]] = [{} for _ in range(self.world)]
        for index, group in enumerate(self.groups):
            for rank in group.members:
                mine[rank][group.role] = index
        return mine
