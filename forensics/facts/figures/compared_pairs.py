"""Which ranks' dumps were found to differ, pair by pair, where the same comparison found some the same before or beside it: what is never the
same (logs, shards) says nothing of replicas.

Odd is who is the same as nobody in that step, while each that it differs from is the same as somebody else; of two alone nobody is.
"""

from collections.abc import Sequence

import msgspec
import polars as pl

from parsers.numerics.compared_dumps import DIFFERS, SAME

_Pair = frozenset[int]


class Apart(msgspec.Struct, frozen=True):
    """`step`: the first in which a pair that was the same differs; `ranks`: of all such pairs, `odd`: who of them left the others."""

    step: int
    ranks: tuple[int, ...]
    odd: tuple[int, ...]
    rows: Sequence[dict[str, object]]


def apart(events: pl.DataFrame) -> Apart | None:
    """Events → the first step in which pairs parted; None where none did."""
    told = events.filter(pl.col("code").is_in([DIFFERS, SAME])).sort("step", "file", "line")
    rows = told.filter(pl.col("step").is_not_null()).to_dicts()
    same: set[_Pair] = set()
    for step in sorted({row["step"] for row in rows}):
        now = [row for row in rows if row["step"] == step]
        equal = {frozenset(row["names_ranks"]) for row in now if row["code"] == SAME}
        known = {rank for pair in same | equal for rank in pair}
        left = [row for row in now if row["code"] == DIFFERS and frozenset(row["names_ranks"]) <= known]
        if left:
            pairs = {frozenset(row["names_ranks"]) for row in left}
            ranks = {rank for pair in pairs for rank in pair}
            kept = {rank for pair in equal for rank in pair}
            odd = {rank for rank in ranks - kept if all(pair - {rank} <= kept for pair in pairs if rank in pair)}
            return Apart(step, tuple(sorted(ranks)), tuple(sorted(odd)), left)
        same |= equal
    return None
