"""The steps of a job done again over their program, with other durations: what it would take if some of it were as long as it is elsewhere.

A node begins when all that it waits for is done; a step ends with its last one. What is between two operations and nobody timed
is left out, so a replay of what was is shorter than the steps by that, and by what their order does not explain.
An operation of one rank takes from its start to its end; one of several, from when the last of them came to when the first was done:
the rest is waiting for that one.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import cached_property
from typing import TypeVar

import msgspec
import polars as pl

from forensics.graph.slow.program import Layout, Place, Program, programs

_ROWS = 8192  # that are replayed at once
Label = TypeVar("Label", bound=Hashable)
Durations = Callable[[int], pl.Series]  # node → how long it takes in each row


class Part(msgspec.Struct, frozen=True, dict=True):
    """Steps of one form. `nodes`: node, step, ms, kind, sort, who (the rank, or ranks with a comma between), together (it is no own
    work), stage (of the first rank); sorted by node and step. `measured`: milliseconds of each step."""

    program: Program
    nodes: pl.DataFrame
    measured: pl.Series

    @cached_property
    def as_was(self) -> list[pl.Series]:
        """Of each node, a duration per step."""
        return self.as_table(self.nodes)

    def as_table(self, nodes: pl.DataFrame) -> list[pl.Series]:
        """The same of another column `ms`, in the order of `nodes`."""
        steps, ms = len(self.program.steps), nodes["ms"]
        return [ms.slice(node * steps, steps) for node in range(len(self.program.members))]

    def replayed(self, scenarios: Sequence[Sequence[pl.Series]]) -> list[pl.Series]:
        """Durations of each node in each scenario → milliseconds of each step in each."""
        steps = len(self.program.steps)
        ends = replayed(self.program, lambda node: pl.concat([took[node] for took in scenarios], rechunk=True))
        return [ends.slice(number * steps, steps) for number in range(len(scenarios))]

    def ms(
        self,
        label: Callable[[Sequence[Place]], Iterable[Label]],
        labels: Sequence[Label],
        inner: Sequence[pl.Series],
        outer: Sequence[pl.Series],
    ) -> dict[Label, pl.Series]:
        """Each label → milliseconds of each step, if nodes with that label take `inner` and all others `outer`."""
        index = {one: number for number, one in enumerate(labels)}
        blocks = [sorted({index[one] for one in label(members) if one in index}) for members in self.program.members]
        steps = len(self.program.steps)
        at_once = max(1, _ROWS // steps)
        found: dict[Label, pl.Series] = {}
        for first in range(0, len(labels), at_once):
            number = min(at_once, len(labels) - first)

            def took(node: int, first: int = first, number: int = number) -> pl.Series:
                chosen = {block - first for block in blocks[node]}
                return pl.concat([(inner if block in chosen else outer)[node] for block in range(number)], rechunk=True)

            ends = replayed(self.program, took)
            found |= {labels[first + block]: ends.slice(block * steps, steps) for block in range(number)}
        return found


def parts(operations: pl.DataFrame, layout: Layout) -> list[Part]:
    """Operations (rank, step, kind, number, sort, start_ms, end_ms) → the steps of each form with their program."""
    return [_part(operations, program, layout) for program in programs(operations, layout)]


def _part(operations: pl.DataFrame, program: Program, layout: Layout) -> Part:
    rows = [
        (*place, node, ",".join(map(str, sorted({rank for rank, _, _ in members}))))
        for node, members in enumerate(program.members)
        for place in members
    ]
    schema = {"rank": pl.Int64, "kind": pl.String, "number": pl.Int64, "node": pl.Int64, "who": pl.String}
    nodes = pl.DataFrame(rows, schema=schema, orient="row")
    stages = pl.DataFrame(
        {"rank": list(layout), "stage": [place.get("pp") for place in layout.values()]},
        schema={"rank": pl.Int64, "stage": pl.Int64},
    )
    own = operations.filter(pl.col("step").is_in(program.steps))
    took = (pl.col("end_ms").min() - pl.col("start_ms").max()).clip(0)
    first = pl.col("kind", "rank", "sort", "who").sort_by("rank").first()
    together = (pl.len() > 1) | (pl.col("sort") == "wait").any()
    each = own.join(nodes, on=["rank", "kind", "number"]).group_by("node", "step")
    made = each.agg(first, ms=took, together=together)
    made = made.join(stages, on="rank", how="left").with_columns(pl.col("stage").fill_null(0)).sort("node", "step")
    whole = own.group_by("step").agg(ms=pl.col("end_ms").max() - pl.col("start_ms").min()).sort("step")
    return Part(program, made, whole["ms"])


def replayed(program: Program, took: Durations) -> pl.Series:
    """Durations of each node in each row (milliseconds) → how long the step of each row takes."""
    left = [0] * len(program.members)
    for nodes in program.after:
        for node in nodes:
            left[node] += 1
    ends: dict[str, pl.Series] = {}
    last: pl.Series | None = None
    for level in program.levels:
        frame = pl.DataFrame(
            [took(node).alias(f"+{node}") for node in level] + [ends[name] for name in _names(program, level)]
        )
        done = frame.select(_end(node, program.after[node]) for node in level)
        finals = []
        for node in level:
            for one in program.after[node]:
                left[one] -= 1
                if not left[one]:
                    ends.pop(str(one), None)
            if left[node]:
                ends[str(node)] = done[str(node)]
            else:
                finals.append(pl.col(str(node)))
        if finals:
            ended = done.select(pl.max_horizontal(finals).alias("last")).to_series()
            last = ended if last is None else pl.select(pl.max_horizontal(last, ended)).to_series()
    return last if last is not None else pl.Series("last", [], dtype=pl.Float64)


def _names(program: Program, level: Sequence[int]) -> Iterable[str]:
    return dict.fromkeys(str(one) for node in level for one in program.after[node])


def _end(node: int, after: Sequence[int]) -> pl.Expr:
    took = pl.col(f"+{node}")
    begun = pl.max_horizontal(pl.col(str(one)) for one in after) + took if after else took
    return begun.alias(str(node))
