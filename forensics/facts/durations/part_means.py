"""Who takes longer at a part of a step than its peers, and is waited for, by times that somebody put together for each rank: they tell no step.

A rank stands apart if its time is away from the median of its peers by far more than their spread and by what matters in a step. That the others wait
for it shows in the waits: its own is the shorter by most of what it takes longer.
"""

import msgspec
import polars as pl

from forensics.facts.durations.outliers import spread_of, spreads_apart
from forensics.facts.durations.phase_times import with_sort
from forensics.model.middle import median
from forensics.model.ref import Ref

_PEERS = 4  # at least, the rank included
_MATTERS, _FLOOR = 0.1, 0.02  # of a step: what it takes longer; of the peers' median: no spread is below
_MET = 0.5  # of what it takes longer, the others wait


class PartMean(msgspec.Struct, frozen=True):
    """A rank that takes longer at a part of a step than the others at the median. `waits`: what it waits less than they; null where no wait is told."""

    rank: int
    name: str
    sort: str
    value_ms: float
    centre_ms: float
    waits_ms: float | None
    peers: tuple[int, ...]
    refs: tuple[Ref, ...]

    @property
    def is_waited_for(self) -> bool:
        return self.waits_ms is not None and self.waits_ms >= _MET * (self.value_ms - self.centre_ms)


def part_means(timings: pl.DataFrame) -> list[PartMean]:
    """Rows of timings without a step, each of a part of it → who takes longer at his own work, the most first."""
    is_told = pl.col("step").is_null() & pl.col("rank").is_not_null() & (pl.col("level") == 0)
    rows = with_sort(timings.filter(is_told & pl.col("value_ms").is_finite()))
    rows = rows.filter(pl.col("sort").is_in(["work", "host", "wait"]))
    if rows.is_empty() or rows.select("rank", "phase").is_duplicated().any():
        return []
    ranks = sorted(set(rows["rank"]))
    waited = dict(rows.filter(pl.col("sort") == "wait").group_by("rank").agg(pl.col("value_ms").sum()).iter_rows())
    step = median([total for _, total in rows.group_by("rank").agg(pl.col("value_ms").sum()).iter_rows()])
    found: list[PartMean] = []
    for (phase,), own in rows.filter(pl.col("sort") != "wait").partition_by("phase", as_dict=True).items():
        values = dict(own.select("rank", "value_ms").iter_rows())
        if len(values) < max(_PEERS, len(ranks)):
            continue
        centre = median(values.values())
        spread = max(spread_of(values.values()), _FLOOR * centre)
        least = max(_MATTERS * step, spreads_apart(len(values)) * spread)
        for row in own.filter(pl.col("value_ms") - centre >= least).iter_rows(named=True):
            peers = tuple(rank for rank in ranks if rank != row["rank"])
            all_told = len(waited) == len(ranks)
            waits = median(waited[rank] for rank in peers) - waited[row["rank"]] if all_told else None
            ref = Ref(file=row["file"], line=row["line"], text=f"{row['name']}: {row['value_ms']:g} ms")
            found.append(PartMean(row["rank"], str(phase), row["sort"], row["value_ms"], centre, waits, peers, (ref,)))
    return sorted(found, key=lambda one: (one.centre_ms - one.value_ms, one.rank))
