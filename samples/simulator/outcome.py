"""`simulate`: a job, a fault and a seed in; an incident out, which can write a bundle or give its evidence tables."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from parsers.schema.tables import TableName
from samples.simulator import evidence, logs
from samples.simulator.bundle import write_bundle
from samples.simulator.engine import Engine
from samples.simulator.faults import Fault, Plan, plan
from samples.simulator.job import Job
from samples.simulator.lines import pid
from samples.simulator.noise import Noise, draw
from samples.simulator.program import Program, ProgramClass, build, program_class
from samples.simulator.run import Run
from samples.simulator.stacks import pyspy_text
from samples.simulator.torch_pickle import pickled
from samples.simulator.truth import truth

TRIES = 20


@dataclass(frozen=True)
class Incident(Run):
    """`truth` is what a reader should answer; it is never part of the bundle's files."""

    truth: dict[str, Any]

    def files(self) -> Iterator[tuple[str, bytes]]:
        """(path in the bundle, content) of every file."""
        kept = self.draw.kept
        for rank in range(self.job.world):
            if rank in kept.recorders or (rank in self.draw.truncated and "fr" in self.noise.sources):
                data = pickled(self.dump(rank))
                yield recorder_path(rank), data[: len(data) * 2 // 3] if rank in self.draw.truncated else data
            elif rank in self.draw.empty and "fr" in self.noise.sources:
                yield recorder_path(rank), b""
            if rank in kept.stacks:
                text = pyspy_text(pid(self.job, rank), self.frames(rank))
                yield stack_path(rank), text.encode()
        yield from logs.files(self)

    def write(self, folder: Path) -> None:
        """Writes the bundle below `folder`/bundle and truth.json beside it. Raises FileExistsError if it is there."""
        write_bundle(folder, self.files(), self.truth)

    def evidence(self) -> dict[TableName, pl.DataFrame]:
        """The evidence tables of the bundle, without the way through bytes."""
        return evidence.tables(self)


def recorder_path(rank: int) -> str:
    return f"fr/nccl_trace_rank_{rank}"


def stack_path(rank: int) -> str:
    return f"stacks/pyspy_rank_{rank}.txt"


def simulate(job: Job, fault: Fault | None = None, seed: int = 0, noise: Noise | None = None) -> Incident:
    """Same arguments, same incident. Raises ValueError where the job has no place for the fault."""
    rng = random.Random(seed)
    noise, fault = noise or Noise(), fault or Fault()
    built: dict[ProgramClass, Program] = {}
    originals: list[Program] = []
    for rank in range(job.world):
        kind = program_class(job, rank)
        if kind not in built:
            built[kind] = build(job, kind)
        originals.append(built[kind])
    placed, engine = _run(job, fault, originals, rng)
    drawn = draw(job, placed, engine, noise, rng)
    return Incident(job, placed, engine, noise, drawn, seed, truth(job, placed, engine, drawn.kept))


def _run(job: Job, fault: Fault, originals: list[Program], rng: random.Random) -> tuple[Plan, Engine]:
    """Draws places for the fault until one makes somebody wait."""
    problem = ValueError(f"nobody waits for {fault}")
    for _ in range(TRIES):
        try:
            placed = plan(job, fault, originals, rng)
        except ValueError as error:
            problem = error
            continue
        engine = Engine(job, placed.programs, placed.faults).run()
        if fault.kind in ("none", "slow", "store_timeout") or _felt(engine, placed):
            return placed, engine
    raise problem


def _felt(engine: Engine, placed: Plan) -> bool:
    """A host waits for another's doing, and each culprit has come to its place."""
    stops = placed.faults.stops
    if any(engine.ranks[rank].at != at for rank, at in stops.items()):
        return False
    innocent = set(range(engine.job.world)) - set(placed.culprits)
    return any(not engine.ranks[rank].finished for rank in innocent)
