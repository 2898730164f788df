"""Whose own check found a bad value first: the same check watches all ranks of a job, and one found something a step before all others did.

What is bad in one rank's gradient is on all ranks after the next update. So where everybody's first finding is told, one rank's alone is earlier, and
those of all others are together in one later step, they were looked at and clean when it was not. It need not be told how the job is laid out: who
shares values with that rank would have shown them in the same step.
"""

from collections.abc import Mapping, Sequence
from typing import Any

_FEWEST = 3
_SPREAD = 3  # steps until the others follow
_REDUCED = ("loss", "grad_norm", "forward_loss")  # what a line may show of all


def first_checked(asserts: Sequence[Mapping[str, Any]], job: frozenset[int]) -> Mapping[str, Any] | None:
    """Rows of checks that failed, and the ranks of the job → that of the rank that was first alone."""
    first: dict[int, Mapping[str, Any]] = {}
    for row in asserts:
        named = row["names_ranks"] if row["names_rank_space"] in (None, "global") else None
        ranks = named or ([] if row["rank"] is None else [row["rank"]])
        if row["kind"] != "nan_assert" or len(ranks) != 1 or row["step"] is None:
            continue
        rank = ranks[0]
        if rank not in first or row["step"] < first[rank]["step"]:
            first[rank] = row
    if len(job) < _FEWEST or first.keys() != job:
        return None
    odd = min(first, key=lambda rank: (first[rank]["step"], rank))
    later = {row["step"] for rank, row in first.items() if rank != odd}
    step = first[odd]["step"]
    if len(later) != 1 or not 0 < later.pop() - step <= _SPREAD or first[odd]["code"] in _REDUCED:
        return None
    return first[odd]
