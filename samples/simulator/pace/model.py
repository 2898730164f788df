"""How long each rank takes, with the noise of a real job: all steps vary together, devices differ by one hundredth, single
times vary by three hundredths, and now and then one takes much longer. Who is done waits for the slowest."""

import math
import random
from collections.abc import Callable, Iterator
from typing import NamedTuple

WORK = {"forward": 100.0, "backward": 200.0, "optimizer": 15.0, "data": 3.0}
WAIT = "comm"
_COMMON, _DEVICE, _SINGLE, _WAITED = 0.03, 0.01, 0.03, 0.1  # standard deviations of logarithms
_TAIL = 0.03  # of the times take longer, by half as much again at the mean
_COMM_MS = 20.0
Factor = Callable[[int, int, str], float]


class Timing(NamedTuple):
    rank: int
    step: int
    phase: str
    ms: float


class Pace:
    """`ranks` that do `phases` (milliseconds) for `steps`, then wait for the slowest, and 20 ms more, in `comm`."""

    def __init__(self, ranks: int, steps: int = 50, seed: int = 3, **phases: float) -> None:
        self.ranks, self.steps, self.seed = ranks, steps, seed
        self.phases = phases or WORK
        self.factors: list[Factor] = []

    def slower(self, rank: int, phase: str, factor: float, when: Callable[[int], bool] = lambda step: True) -> "Pace":
        """One rank takes `factor` times as long in the phase, in the steps for which `when` holds."""
        self.factors.append(lambda r, step, name: factor if r == rank and name == phase and when(step) else 1.0)
        return self

    def by(self, factor: Factor) -> "Pace":
        """Any other change: (rank, step, phase) → factor."""
        self.factors.append(factor)
        return self

    def times(self) -> Iterator[Timing]:
        """Every time of every rank, step by step; the waits last."""
        noise = random.Random(self.seed)
        device = [math.exp(noise.gauss(0, _DEVICE)) for _ in range(self.ranks)]
        for step in range(self.steps):
            common, done = math.exp(noise.gauss(0, _COMMON)), [0.0] * self.ranks
            for rank in range(self.ranks):
                for phase, level in self.phases.items():
                    value = level * common * device[rank] * math.exp(noise.gauss(0, _SINGLE))
                    value *= 1 + noise.expovariate(2) if noise.random() < _TAIL else 1
                    for factor in self.factors:
                        value *= factor(rank, step, phase)
                    done[rank] += value
                    yield Timing(rank, step, phase, value)
            for rank in range(self.ranks):
                yield Timing(rank, step, WAIT, max(done) - done[rank] + _COMM_MS * math.exp(noise.gauss(0, _WAITED)))
