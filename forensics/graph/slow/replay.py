"""The steps of a job done again over their program, with other durations.

A node begins when all that it waits for is done; a step ends with its last one. What is between two operations and nobody timed
is left out, so a replay of what was is shorter than the steps by that, and by what their order does not explain.
"""

from collections.abc import Callable, Iterable, Sequence

import polars as pl

from forensics.graph.slow.program import Program

_ROWS = 8192  # of durations that are replayed at once
Durations = Callable[[int], pl.Series]  # node → how long it takes in each row


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
