"""Python stacks alone: one look at all processes, or two; of a job that hangs, or of one that runs."""

import random
from collections.abc import Iterator
from dataclasses import dataclass

from samples.simulator.alone.answers import Answer, named, nobody, running, suspected
from samples.simulator.lines import pid
from samples.simulator.moments import busy_moment, frames_at
from samples.simulator.noise import Noise
from samples.simulator.run import Run
from samples.simulator.stacks import Frame, pyspy_text

UNTELLING = ("gpu_sync", "unresponsive")  # sites that look like waiting, or like nothing


@dataclass(frozen=True, slots=True)
class Looks:
    """`count`: looks at each process. `folders`: each look in a folder of its own, else one file per process holds all.
    `apart`: steps between two looks at a healthy job. `busy`: a healthy job is looked at while a host loads data or logs."""

    count: int = 1
    folders: bool = False
    apart: float = 1.4
    busy: str | None = None


def draw(rng: random.Random) -> tuple[Noise, Looks]:
    lost = rng.choice((0.0, 0.0, 0.0, 0.05, 0.2))
    noise = Noise(lost_stacks=lost, sources=frozenset({"stacks"}))
    looks = Looks(
        count=rng.choice((1, 2)), folders=rng.random() < 0.5,
        busy=rng.choice((None, "load", "log", "compute")),
    )  # fmt: skip
    return noise, looks


def files(run: Run, looks: Looks) -> Iterator[tuple[str, bytes]]:
    """A py-spy text per process, or per process and look."""
    for rank in sorted(run.draw.kept.stacks):
        texts = [pyspy_text(pid(run.job, rank), frames) for frames in _frames(run, rank, looks)]
        if looks.folders:
            for number, text in enumerate(texts):
                yield f"look_{number}/pyspy_rank_{rank}.txt", text.encode()
        else:
            yield f"stacks/pyspy_rank_{rank}.txt", "\n".join(texts).encode()


def _frames(run: Run, rank: int, looks: Looks) -> list[tuple[Frame, ...]]:
    if run.plan.fault.kind != "none":
        return [run.frames(rank)] * looks.count
    begin, apart = _moment(run, looks), run.draw.end_ms / run.job.steps * looks.apart
    return [frames_at(run, rank, begin + number * apart) for number in range(looks.count)]


def _moment(run: Run, looks: Looks) -> float:
    """When the first look at a healthy job is taken, ms."""
    rng = random.Random(f"look:{run.seed}")
    found = busy_moment(run, rng.randrange(run.job.world), looks.busy) if looks.busy else None
    return found if found is not None else run.draw.end_ms * rng.uniform(0.2, 0.5)


def answer(run: Run, looks: Looks) -> Answer:
    """A process that does not wait is the culprit if a second look finds it in the same place; one look proves nothing."""
    plan, kept = run.plan, run.draw.kept.stacks
    if plan.fault.kind == "none":
        return running(run)
    if plan.fault.kind not in ("rank_absent", "rank_died"):
        return nobody(run)
    culprit = plan.culprits[0]
    causes = ("rank_absent", "rank_died")
    if culprit not in kept:
        return suspected(run, [culprit], *causes) if kept and culprit < max(kept) else nobody(run)
    if plan.site in UNTELLING:
        return nobody(run)
    if looks.count < 2:
        return suspected(run, [culprit], *causes)
    return named(run, "rank_absent") | {"site": [plan.site]}
