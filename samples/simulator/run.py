"""A simulated job that has come to rest, and what each rank's recorder and main thread then hold."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from samples.simulator.engine import Engine
from samples.simulator.faults import Plan
from samples.simulator.job import Job
from samples.simulator.noise import Draw, Noise
from samples.simulator.recorder import History, Record, dump, records, status
from samples.simulator.stacks import Frame, main_thread


@dataclass(frozen=True)
class Run:
    """What files and evidence tables are made of; the truth is not in it."""

    job: Job
    plan: Plan
    engine: Engine
    noise: Noise
    draw: Draw
    seed: int

    @cached_property
    def history(self) -> History:
        return History(self.job)

    def until(self, rank: int) -> float:
        """When the rank's recorder was dumped, simulated ms."""
        return self.draw.early_ms.get(rank, self.draw.end_ms)

    def records(self, rank: int) -> list[Record]:
        """The entries that the rank's recorder holds, newest last."""
        return records(self.job, self.engine, self.plan, rank, self.history, self.noise.recorder, self.until(rank))

    def status(self, rank: int) -> dict[int, list[int]]:
        timing = self.noise.recorder.timing
        return status(self.job, self.engine, self.plan, rank, self.history, timing, self.until(rank))

    def dump(self, rank: int) -> dict[str, Any]:
        """The rank's Flight Recorder dump as an object."""
        shift = self.draw.skew_ns[self.job.host(rank)]
        return dump(self.job, rank, self.records(rank), self.status(rank), self.noise.recorder, shift)

    def frames(self, rank: int) -> tuple[Frame, ...]:
        """The main thread at the end, innermost first; empty where the process does not answer."""
        return main_thread(self.engine, self.plan, rank)
