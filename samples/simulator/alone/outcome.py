"""`simulate_alone`: an incident of which one kind of evidence is left."""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from samples.simulator.alone import hosts, looks, printed, ras, running
from samples.simulator.alone.answers import Answer
from samples.simulator.bundle import write_bundle
from samples.simulator.faults import Fault
from samples.simulator.job import Job
from samples.simulator.noise import Noise
from samples.simulator.outcome import Incident, simulate

EvidenceKind = Literal["logs", "stacks", "ras", "kernel", "running"]
EVIDENCE: tuple[EvidenceKind, ...] = ("logs", "stacks", "ras", "kernel", "running")


class _Way(NamedTuple):
    """How a kind of evidence is drawn, written and judged; the form is the kind's own."""

    draw: Callable[[random.Random], tuple[Noise, Any]]
    files: Callable[[Incident, Any], Iterator[tuple[str, bytes]]]
    answer: Callable[[Incident, Any], Answer]


_WAYS: dict[EvidenceKind, _Way] = {
    "logs": _Way(
        lambda rng: (printed.draw(rng), None), lambda run, _: printed.files(run), lambda run, _: printed.answer(run)
    ),
    "stacks": _Way(looks.draw, looks.files, looks.answer),
    "ras": _Way(ras.draw, ras.files, ras.answer),
    "kernel": _Way(hosts.draw, hosts.files, hosts.answer),
    "running": _Way(running.draw, running.files, running.answer),
}


@dataclass(frozen=True)
class Alone:
    """`truth`: what a perfect observer of the files could say; it is never one of them."""

    kind: EvidenceKind
    run: Incident
    form: Any
    truth: Answer

    def files(self) -> Iterator[tuple[str, bytes]]:
        """(path in the bundle, content) of every file."""
        return _WAYS[self.kind].files(self.run, self.form)

    def write(self, folder: Path) -> None:
        """Writes the bundle below `folder`/bundle and truth.json beside it. Raises FileExistsError if it is there."""
        write_bundle(folder, self.files(), self.truth)


def simulate_alone(kind: EvidenceKind, job: Job, fault: Fault | None = None, seed: int = 0) -> Alone:
    """Same arguments, same incident; its losses and forms are drawn. Raises ValueError where the job has no place for
    the fault, or where the fault says what the kind of evidence cannot be of."""
    fault = fault or Fault()
    if kind == "running" and fault.kind != "none":
        raise ValueError("a running job has no fault")
    if fault.kind in ("slow", "store_timeout"):
        raise ValueError(f"nothing alone tells of {fault.kind}")
    noise, form = _WAYS[kind].draw(random.Random(f"{kind}:{seed}"))
    run = simulate(job, fault, seed, noise)
    return Alone(kind, run, form, _WAYS[kind].answer(run, form))
