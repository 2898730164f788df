"""What a rank of a numeric job holds, does and hands over: the shapes that its flow and its faults share."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from samples.simulator.job import Role
from samples.simulator.numerics.model import NOBODY, Tensor


class Site(NamedTuple):
    """One operation of one rank."""

    rank: int
    step: int
    microbatch: int | None
    phase: str
    module: str
    op: str


class Row(NamedTuple):
    """One tensor that a hook saw. `group`: index into the job's groups; `slot`: part of an exchange."""

    site: Site
    tensor: str
    value: Tensor
    group: int | None = None
    call: int | None = None
    peer: int | None = None
    tag: int | None = None


@dataclass(slots=True)
class Comm:
    """A request of a rank to communicate; `peer` of messages is a global rank."""

    site: Site
    role: Role
    given: list[Tensor]
    names: tuple[str, str] = ("input", "output")
    peer: int | None = None
    tag: int | None = None
    by_slot: bool = False  # `given` are the slices for each member, not one tensor


@dataclass(slots=True)
class State:
    """What a rank holds."""

    params: dict[str, Tensor] = field(default_factory=dict)
    grads: dict[str, Tensor] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)
    taint: frozenset[int] = NOBODY  # births whose values ever reached this rank
    counts: dict[Any, int] = field(default_factory=dict)
