"""Times of ranks as a table of phases, with the noise of a real job: all steps vary together, devices differ by one
hundredth, and now and then a step of one rank takes much longer.

rows = Timed(8).slower(5, "backward", 1.25).rows()      # everybody waits for rank 5 in comm
"""

import math
import random
from collections.abc import Callable
from typing import Any

WORK = {"forward": 100.0, "backward": 200.0, "optimizer": 15.0, "data": 3.0}
Factor = Callable[[int, int, str], float]


class Timed:
    """`ranks` that do `phases` (milliseconds) for `steps`, then wait for the slowest, and 20 ms more, in `comm`."""

    def __init__(self, ranks: int, steps: int = 50, seed: int = 3, **phases: float) -> None:
        self.ranks, self.steps, self.seed = ranks, steps, seed
        self.phases = phases or WORK
        self.factors: list[Factor] = []
        self.tokens: dict[int, int] = {}

    def slower(self, rank: int, phase: str, factor: float, when: Callable[[int], bool] = lambda step: True) -> "Timed":
        """One rank takes `factor` times as long in the phase, in the steps for which `when` holds."""
        self.factors.append(lambda r, step, name: factor if r == rank and name == phase and when(step) else 1.0)
        return self

    def by(self, factor: Factor) -> "Timed":
        """Any other change: (rank, step, phase) → factor."""
        self.factors.append(factor)
        return self

    def rows(self, waits: bool = True, **columns: Any) -> list[dict[str, Any]]:
        """Rows of `timings`."""
        noise = random.Random(self.seed)
        device = [math.exp(noise.gauss(0, 0.01)) for _ in range(self.ranks)]
        found: list[dict[str, Any]] = []
        for step in range(self.steps):
            common, done = math.exp(noise.gauss(0, 0.03)), [0.0] * self.ranks
            for rank in range(self.ranks):
                for phase, level in self.phases.items():
                    value = level * common * device[rank] * math.exp(noise.gauss(0, 0.03))
                    value *= 1 + noise.expovariate(2) if noise.random() < 0.03 else 1
                    for factor in self.factors:
                        value *= factor(rank, step, phase)
                    done[rank] += value
                    found.append(self._row(rank, step, phase, value, columns))
            for rank in range(self.ranks):
                value = max(done) - done[rank] + 20 * math.exp(noise.gauss(0, 0.1))
                if waits:
                    found.append(self._row(rank, step, "comm", value, columns))
        return found

    def _row(self, rank: int, step: int, phase: str, value: float, columns: dict[str, Any]) -> dict[str, Any]:
        return {
            "rank": rank, "step": step, "phase": phase, "value_ms": value, "level": 0, "tokens": self.tokens.get(rank),
            "host": f"node-{rank // 8}", **columns,
        }  # fmt: skip
