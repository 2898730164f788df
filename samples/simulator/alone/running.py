"""Flight records alone, of a healthy job that runs: each rank's is dumped at a slightly different moment."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace

from samples.simulator.alone.answers import Answer, running
from samples.simulator.noise import Noise
from samples.simulator.outcome import Incident
from samples.simulator.recorder import NS_PER_MS, Settings
from samples.simulator.run import Run

APART_S = (0.002, 0.02, 0.1, 0.3)


@dataclass(frozen=True, slots=True)
class Apart:
    """Seconds between the first dump and the last one."""

    seconds: float = 0.1


def draw(rng: random.Random) -> tuple[Noise, Apart]:
    noise = Noise(
        lost_recorders=rng.choice((0.0, 0.0, 0.1)), skew_s=rng.choice((0.0, 0.05, 5.0, 3600.0)), sources=frozenset({"fr"}),
        recorder=Settings(timing=rng.random() < 0.5, ring=rng.choice((2000, 2000, 60))),
    )  # fmt: skip
    return noise, Apart(rng.choice(APART_S))


def dumped(run: Incident, apart: Apart) -> Incident:
    """The same job, each recorder dumped at a moment of its own in the middle of the run."""
    rng = random.Random(f"running:{run.seed}")
    begin = run.draw.end_ms * rng.uniform(0.35, 0.9)
    span = apart.seconds * 1e9 / NS_PER_MS
    moments = {rank: begin + rng.uniform(0.0, span) for rank in range(run.job.world)}
    return replace(run, draw=replace(run.draw, early_ms=moments))


def files(run: Incident, apart: Apart) -> Iterator[tuple[str, bytes]]:
    yield from dumped(run, apart).files()


def answer(run: Run, apart: Apart) -> Answer:
    return running(run)
