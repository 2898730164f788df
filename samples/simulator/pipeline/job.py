"""Steps of 1F1B pipelines: gathering parameters, micro-batches forward and backward with sends and receives between stages, reducing
gradients among the replicas of a stage, one sum over all ranks, the optimizer. Faults are factors on single times.

The next work begins as soon as the last is done and what it needs has come; a send goes on beside it. Ranks that share layers
(tensor parallel) work as long as the slowest of them. Noise depends on seed, rank, step and operation alone, so that a job without
its fault differs by nothing else.
"""

import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from statistics import fmean
from typing import NamedTuple

FORWARD, BACKWARD, GATHER, REDUCE, CLIP, OPTIMIZER = 40.0, 80.0, 12.0, 25.0, 3.0, 10.0
TRANSFER = 2.0
_SINGLE, _COMMON = 0.015, 0.02  # standard deviations of logarithms: of one time, of a step


class Row(NamedTuple):
    rank: int
    step: int
    kind: str
    start_ms: float
    end_ms: float
    dp: int
    pp: int
    tp: int


class Layout(NamedTuple):
    dp: int
    pp: int
    tp: int

    @property
    def world(self) -> int:
        return self.dp * self.pp * self.tp

    def rank(self, dp: int, pp: int, tp: int) -> int:
        return (pp * self.dp + dp) * self.tp + tp

    def place(self, rank: int) -> tuple[int, int, int]:
        return rank // self.tp % self.dp, rank // self.tp // self.dp, rank % self.tp


Factor = Callable[[int, int, str, int], float]  # rank, step, kind, number → times as long
Stall = Callable[[int, int, str, int], float]  # … → milliseconds before it, in which nothing is timed


@dataclass(frozen=True)
class Job:
    """`design`: what the work is like without a fault; `fault`, `stall`: what is to be found."""

    layout: Layout
    micro_batches: int = 8
    steps: int = 12
    seed: int = 0
    jitter: float = _SINGLE
    design: Factor = field(default=lambda rank, step, kind, number: 1.0)
    fault: Factor | None = None
    stall: Stall | None = None

    def slower(self, *ranks: int, factor: float, when: Callable[[int], bool] = lambda step: True) -> "Job":
        """These ranks compute `factor` times as long in the steps for which `when` holds."""
        own = ("forward-compute", "backward-compute")
        return replace(
            self, fault=lambda r, step, kind, number: factor if r in ranks and kind in own and when(step) else 1.0
        )

    def without_fault(self) -> "Job":
        return replace(self, fault=None, stall=None)

    def mean_ms(self) -> float:
        return fmean(self._simulated[1])

    def rows(self) -> list[Row]:
        return self._simulated[0]

    def _took(self, base: float, rank: int, step: int, kind: str, number: int) -> float:
        noise = random.Random(f"{self.seed}:{rank}:{step}:{kind}:{number}")
        common = random.Random(f"{self.seed}:{step}").gauss(0, _COMMON)
        took = base * math.exp(noise.gauss(0, self.jitter) + common) * self.design(rank, step, kind, number)
        return took * (self.fault(rank, step, kind, number) if self.fault else 1.0)

    @cached_property
    def _simulated(self) -> tuple[list[Row], list[float]]:
        rows: list[Row] = []
        now, lengths = 0.0, []
        for step in range(self.steps):
            step_rows = list(self._step(step, now))
            rows += step_rows
            end = max(row.end_ms for row in step_rows)
            lengths.append(end - now)
            now = end + 1.0
        return rows, lengths

    def _step(self, step: int, begin: float) -> Iterator[Row]:
        layout = self.layout
        free = [begin] * layout.world  # when a rank has done its last work

        def row(rank: int, kind: str, start: float, end: float) -> Row:
            return Row(rank, step, kind, start, end, *layout.place(rank))

        for group in self._groups(lambda dp, pp, tp: (pp, tp)):
            yield from self._together(group, "params-all-gather", GATHER, step, free, row)
        for dp in range(layout.dp):
            yield from self._pipeline(dp, step, free, row)
        if layout.dp > 1:
            for group in self._groups(lambda dp, pp, tp: (pp, tp)):
                yield from self._together(group, "grads-reduce-scatter", REDUCE, step, free, row)
        yield from self._together(list(range(layout.world)), "grad-norm-all-reduce", CLIP, step, free, row)
        for rank in range(layout.world):
            end = free[rank] + self._took(OPTIMIZER, rank, step, "optimizer", 0)
            yield row(rank, "optimizer", free[rank], end)

    def _groups(self, key: Callable[[int, int, int], tuple[int, ...]]) -> list[list[int]]:
        found: dict[tuple[int, ...], list[int]] = {}
        for rank in range(self.layout.world):
            found.setdefault(key(*self.layout.place(rank)), []).append(rank)
        return list(found.values())

    def _together(
        self, group: list[int], kind: str, base: float, step: int, free: list[float],
        row: Callable[[int, str, float, float], Row],
    ) -> Iterator[Row]:  # fmt: skip
        if len(group) < 2:
            return
        came = {rank: free[rank] + (self.stall(rank, step, kind, 0) if self.stall else 0.0) for rank in group}
        end = max(came.values()) + max(self._took(base, rank, step, kind, 0) for rank in group)
        for rank in group:
            yield row(rank, kind, came[rank], end)
            free[rank] = end

    def _pipeline(
        self, dp: int, step: int, free: list[float], row: Callable[[int, str, float, float], Row]
    ) -> Iterator[Row]:
        """One replica: every stage in the order of 1F1B, as soon as what it needs has come."""
        layout, many = self.layout, self.micro_batches
        orders = [_order(stage, layout.pp, many) for stage in range(layout.pp)]
        sent: dict[tuple[str, int, int], float] = {}  # way, number, to which stage → when its send began
        at = [0] * layout.pp
        while any(at[stage] < len(orders[stage]) for stage in range(layout.pp)):
            for stage in range(layout.pp):
                while at[stage] < len(orders[stage]):
                    way, number = orders[stage][at[stage]]
                    from_stage = stage - 1 if way == "forward" else stage + 1
                    outer = not 0 <= from_stage < layout.pp
                    if not outer and (way, number, stage) not in sent:
                        break
                    ranks = [layout.rank(dp, stage, tp) for tp in range(layout.tp)]
                    ready = []
                    for rank in ranks:
                        posted = free[rank]
                        if not outer:
                            other = layout.rank(dp, from_stage, layout.place(rank)[2])
                            began = sent[way, number, stage]
                            took = self._took(TRANSFER, min(rank, other), step, f"{way}-link", number)
                            arrived = max(posted, began) + took
                            yield row(rank, f"{way}-recv", posted, arrived)
                            yield row(other, f"{way}-send", began, arrived)
                            posted = arrived
                        ready.append(posted + (self.stall(rank, step, f"{way}-compute", number) if self.stall else 0.0))
                    begin = max(ready) if layout.tp > 1 else ready[0]
                    base = FORWARD if way == "forward" else BACKWARD
                    took = max(self._took(base, rank, step, f"{way}-compute", number) for rank in ranks)
                    for rank in ranks:
                        yield row(rank, f"{way}-compute", begin, begin + took)
                        free[rank] = begin + took
                    to_stage = stage + 1 if way == "forward" else stage - 1
                    if 0 <= to_stage < layout.pp:
                        sent[way, number, to_stage] = begin + took
                    at[stage] += 1


def _order(stage: int, stages: int, many: int) -> list[tuple[str, int]]:
    warm = min(many, stages - stage - 1)
    order = [("forward", number) for number in range(warm)]
    for number in range(many - warm):
        order += [("forward", warm + number), ("backward", number)]
    return order + [("backward", number) for number in range(many - warm, many)]
