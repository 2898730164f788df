"""`simulate_numerics`: a job, a fault and a seed in; statistics, logs and the truth out."""

import io
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import polars as pl

from parsers.schema.merging import merge
from parsers.schema.tables import TableName, table
from samples.simulator.bundle import write_bundle
from samples.simulator.job import Job
from samples.simulator.numerics import logs
from samples.simulator.numerics.faults import LOG_ONLY, MAKERS, Injections, NumericFault, Placing, Plant, needed
from samples.simulator.numerics.flow import Flow
from samples.simulator.numerics.model import Model, NumericNoise
from samples.simulator.numerics.rows import frame, lines
from samples.simulator.numerics.run import NumericRun
from samples.simulator.numerics.shapes import Site
from samples.simulator.numerics.training import program
from samples.simulator.numerics.truth import Kept, truth

TRIES = 12


@dataclass(frozen=True)
class NumericIncident(NumericRun):
    """`truth` is what a reader should answer; it is never part of the bundle's files."""

    truth: dict[str, Any]

    def files(self, fmt: Literal["jsonl", "parquet"] = "jsonl") -> Iterator[tuple[str, bytes]]:
        """(path in the bundle, content) of every file."""
        for (launch, rank), rows in sorted(self.statistics.items()):
            path = self.path(launch, rank, fmt)
            if fmt == "jsonl":
                yield path, lines(rows)
                continue
            made, out = frame(rows, path, None, fmt).drop("file", "line", "record"), io.BytesIO()
            made.select(column for column in made if column.null_count() < len(made)).write_parquet(out)
            yield path, out.getvalue()
        if text := logs.text(self):
            yield logs.PATH, text.encode()

    def write(self, folder: Path, fmt: Literal["jsonl", "parquet"] = "jsonl") -> None:
        """Writes the bundle below `folder`/bundle and truth.json beside it. Raises FileExistsError if it is there."""
        write_bundle(folder, self.files(fmt), self.truth)

    def evidence(self) -> dict[TableName, pl.DataFrame]:
        """The evidence tables of the bundle (as JSON Lines), without the way through bytes."""
        many = self.noise.form.attempts
        frames, files = [], []
        for (launch, rank), rows in self.statistics.items():
            path = self.path(launch, rank, "jsonl")
            frames.append(frame(rows, path, launch if many else None, "jsonl"))
            files.append({"file": path, "rank": rank, "attempt": launch if many else None, "parsers": ["tensor_stats"]})
        parts: list[dict[TableName, pl.DataFrame]] = [
            {"steps": table("steps", logs.rows(self)), "files": table("files", files)}
        ]
        if frames:
            parts.append({"tensors": pl.concat(frames)})
        return merge(parts)


def simulate_numerics(
    job: Job,
    fault: NumericFault | None = None,
    seed: int = 0,
    noise: NumericNoise | None = None,
    model: Model | None = None,
) -> NumericIncident:
    """Same arguments, same incident. Raises ValueError where the job has no place for the fault."""
    fault, noise = fault or NumericFault(), noise or NumericNoise()
    rng = random.Random(f"numerics:{seed}")
    model = needed(fault.kind, model or Model())
    if fault.kind in LOG_ONLY:
        kept = _kept(job, noise, rng, frozenset(), [])
        return NumericIncident(job, model, fault, (), noise, kept, seed, truth(job, model, fault, (), noise, kept))
    sites = _sites(job, model)
    for _ in range(TRIES):
        flows = _run(job, model, fault, sites, rng)
        if _happened(flows):
            culprits = frozenset(birth.site.rank for flow in flows for birth in flow.injections.births)
            modules = sorted({site.module for site in sites})
            kept = _kept(job, noise, rng, culprits, modules)
            said = truth(job, model, fault, flows, noise, kept)
            return NumericIncident(job, model, fault, flows, noise, kept, seed, said)
    raise ValueError(f"{fault} never takes effect")


def _sites(job: Job, model: Model) -> list[Site]:
    """All operations of one step without a fault."""
    flow = Flow(job, model, Injections(), range(job.first_step, job.first_step + 1))
    flow.run([program(flow, rank) for rank in range(job.world)])
    return list(dict.fromkeys(row.site for state in flow.states for row in state.rows))


def _run(job: Job, model: Model, fault: NumericFault, sites: list[Site], rng: random.Random) -> tuple[Flow, ...]:
    step = job.first_step + (fault.step if fault.step is not None else rng.randrange(min(1, job.steps - 1), job.steps))
    moved = [site._replace(step=step) for site in sites]
    first = [sites[0]._replace(step=job.first_step), *moved[1:]]
    plants = MAKERS[fault.kind](Placing(job, model, fault, first if fault.step != 0 else moved, step, rng))
    flows = []
    launches = 1 + max((plant.launch for plant in plants), default=0)
    for launch in range(launches):
        own: list[Plant] = [plant for plant in plants if plant.launch == launch]
        steps = range(job.first_step, job.first_step + job.steps)
        flow = Flow(job, model, Injections(own), steps, launch)
        flows.append(flow.run([program(flow, rank) for rank in range(job.world)]))
    return tuple(flows)


def _happened(flows: tuple[Flow, ...]) -> bool:
    """Every plant that makes something bad has done so."""
    for flow in flows:
        made = {birth.plant for birth in flow.injections.births}
        if any(
            plant not in made for plant in flow.injections.plants if plant.what not in ("sent", "slots", "gradient")
        ):
            return False
    return True


def _kept(job: Job, noise: NumericNoise, rng: random.Random, culprits: frozenset[int], modules: list[str]) -> Kept:
    def some(fraction: float) -> set[int]:
        return {rank for rank in range(job.world) if rng.random() < fraction} if fraction else set()

    lost, cut = some(noise.lost), some(noise.truncated)
    if noise.culprit_lost:
        lost |= culprits
    if noise.culprit_lost is False:
        lost, cut = lost - culprits, cut - culprits
    if len(lost) == job.world:
        lost.discard(min(lost))
    hooked = None
    if noise.modules < 1:
        hooked = frozenset(module for module in modules if rng.random() < noise.modules)
    return Kept(
        ranks=frozenset(range(job.world)) - lost,
        share={rank: rng.uniform(0.3, 0.95) for rank in sorted(cut)},
        modules=hooked,
        skew_s={rank: round(rng.uniform(-1, 1) * noise.skew_s, 3) for rank in range(job.world)},
    )
