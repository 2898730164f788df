"""A numeric job that has run, and the statistics that its ranks' hooks wrote."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from samples.simulator.job import Job
from samples.simulator.numerics.faults import LOG_ONLY, NumericFault
from samples.simulator.numerics.flow import Flow
from samples.simulator.numerics.model import Model, NumericNoise
from samples.simulator.numerics.rows import records
from samples.simulator.numerics.truth import Kept


@dataclass(frozen=True)
class NumericRun:
    """What files and evidence tables are made of; the truth is not in it. `flows`: one per launch."""

    job: Job
    model: Model
    fault: NumericFault
    flows: tuple[Flow, ...]
    noise: NumericNoise
    kept: Kept
    seed: int

    @cached_property
    def statistics(self) -> dict[tuple[int, int], list[tuple[Any, ...]]]:
        """(launch, rank) → rows of its file, in the order of `rows.COLUMNS`."""
        found: dict[tuple[int, int], list[tuple[Any, ...]]] = {}
        if self.fault.kind in LOG_ONLY:
            return found
        for launch, flow in enumerate(self.flows):
            for rank in sorted(self.kept.ranks):
                rows = [
                    row
                    for row in flow.states[rank].rows
                    if (row.site.step - self.job.first_step) % self.noise.every == 0
                ]
                made = list(
                    records(rows, self.job, self.model, self.noise.form, self.kept.modules, self.kept.skew_s[rank])
                )
                share = self.kept.share.get(rank, 1.0) if launch == len(self.flows) - 1 else 1.0
                found[launch, rank] = made[: int(len(made) * share)]
        if not self.noise.form.attempts:
            launches = range(len(self.flows))
            found = {(0, rank): [row for each in launches for row in found[each, rank]] for rank in self.kept.ranks}
        return found

    def path(self, launch: int, rank: int, fmt: str) -> str:
        folder = f"attempt_{launch}/" if self.noise.form.attempts else ""
        return f"{folder}tensor_stats/rank_{rank}.{fmt}"
