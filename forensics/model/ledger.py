"""What the attempts of a job cost: where the time went, what was lost and why, what training is left of it."""

from typing import Literal, get_args

import msgspec

from forensics.model.names import Cause, Kind
from forensics.model.ref import Ref

Stage = Literal["failed", "saved", "checked", "evicted", "relaunched", "rechecked", "resumed"]
STAGES: tuple[Stage, ...] = get_args(Stage)


class ChainLink(msgspec.Struct, frozen=True, kw_only=True):
    """One stage of what followed a failure; `time_utc` as its printer had it."""

    stage: Stage
    text: str
    time_utc: str | None = None
    ref: Ref | None = None


class PhaseTime(msgspec.Struct, frozen=True, kw_only=True):
    """`phase`: launch, training, checkpoint, evaluation, pause or stalled (facts/durations/spent.py); "init: …" is part of launch."""

    phase: str
    seconds: float


class AttemptRow(msgspec.Struct, frozen=True, kw_only=True):
    """One attempt: how it ended, how far it came, what of that was lost."""

    attempt: int
    kind: Kind
    cause: Cause | None
    planned: bool  # ended by the scheduler or a person, or well: no fault
    accused: list[str] = []  # "rank 3", "host node7": named, else suspected
    ranks: int | None = None  # how many it had
    hosts_joined: list[str] = []  # since the attempt before it
    hosts_left: list[str] = []
    hosts_returned: list[str] = []  # away in the attempt before, there in an earlier one
    restarted: str | None = None  # how it was begun anew: "processes" on the same hosts, or "hosts" were replaced
    first_step: int | None = None
    last_step: int | None = None
    resumed_from: int | None = None
    checkpoint: str | None = None  # what could be gone back to when it ended
    lost_steps: int | None = None
    lost_s: float | None = None  # stall and steps to be done again
    phases: list[PhaseTime] = []
    chain: list[ChainLink] = []  # from its failure to the next run, where lines tell of what lies between


class Interval(msgspec.Struct, frozen=True, kw_only=True):
    """How often to save, by the measured failure rate: Young 1974, and Daly 2006 with the higher terms."""

    failures: int
    between_failures_s: float
    save_s: float
    young_s: float
    daly_s: float
    steps: int | None = None  # Daly's in steps
    now_steps: int | None = None  # what the job does


class Ledger(msgspec.Struct, frozen=True, kw_only=True):
    """`wall_s`: from the first line to the last; `effective_s`: steps whose result was kept."""

    attempts: list[AttemptRow] = []
    wall_s: float | None = None
    effective_s: float | None = None
    lost_gpu_hours: dict[str, float] = {}  # cause → hours
    interval: Interval | None = None
    pace: list[str] = []  # of the newest attempt: how long a step takes, beside what it should
    notes: list[str] = []
