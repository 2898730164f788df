"""Whose own check found a bad value first: the same check watches all ranks of a job, and one found something a step before all others did.

What is bad in one rank's gradient is on all ranks after the next update. So where everybody's first finding is told, one rank's alone is earlier, and
those of all others are together in one later step, they were looked at and clean when it was not. It need not be told how the job is laid out: who
shares values with that rank would have shown them in the same step. Within one step it is as clear where the first of all others is what was reduced over all, and
the odd one's is its own: all looked at their own before that.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from forensics.facts.rows.event_rows import detail

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
    if later == {step} and len(own := [rank for rank in first if _reduced(first[rank]) is False]) == 1:
        is_of_all = all(_reduced(row) for rank, row in first.items() if rank != own[0])
        return first[own[0]] if is_of_all else None
    if len(later) != 1 or not 0 < later.pop() - step <= _SPREAD or first[odd]["code"] in _REDUCED:
        return None
    return first[odd]


def _reduced(row: Mapping[str, Any]) -> bool | None:
    """Was what it found reduced over all? None where it does not say."""
    told = detail(row).get("reduced")
    return told if isinstance(told, bool) else None
