"""Whose kernels take longer than its peers', by gauges that are a mean over many kernels: they tell no step.

The ranks of one pipeline stage are compared, kind by kind of kernel. A rank stands apart if its median over the moments is
away from that of its peers by what matters and by far more than their spread, and in every single moment on the same side. Of
several classes of one kind in a moment the fastest counts: not every rank has every class.
"""

from collections.abc import Iterator

import msgspec
import polars as pl

from forensics.facts.durations.outliers import spread_of, spreads_apart
from forensics.facts.durations.roles import Roles
from forensics.model.middle import median
from forensics.model.ref import Ref

_PEERS = 4  # at least, the rank included
_LONGER, _SHORTER = 0.06, 0.3  # of the peers' median: work, a wait
_FLOOR = 0.01  # no spread is below


class Mean(msgspec.Struct, frozen=True):
    """A rank that stands apart. `phase`: matmul, comm; `moments`: how many gauges; `share`: of its peers' median, signed."""

    rank: int
    phase: str
    kernel: str
    value_ms: float
    centre_ms: float
    moments: int
    peers: tuple[int, ...]
    refs: tuple[Ref, ...]

    @property
    def share(self) -> float:
        return self.value_ms / self.centre_ms - 1


def kernel_means(timings: pl.DataFrame, roles: Roles) -> list[Mean]:
    """Rows of timings without a step → who takes longer at its work, who waits shorter."""
    told = pl.col("step").is_null() & pl.col("phase").is_in(["matmul", "comm"]) & (pl.col("value_ms") > 0)
    rows = timings.filter(told).drop_nulls(["rank", "line"])
    if rows.is_empty():
        return []
    rows = rows.sort("value_ms", "line").unique(["rank", "phase", "name", "file"], keep="first", maintain_order=True)
    stages = roles.stages(rows["rank"].unique().to_list())
    rows = rows.with_columns(stage=pl.col("rank").replace_strict(stages, return_dtype=pl.Int64))
    return [one for part in rows.partition_by("stage", "phase", "name") for one in _of_kind(part)]


def _of_kind(rows: pl.DataFrame) -> Iterator[Mean]:
    ranks = rows.group_by("rank").agg(pl.col("value_ms").median().alias("ms")).sort("rank")
    if ranks.height < _PEERS:
        return
    values = ranks["ms"].to_list()
    centre = median(values)
    spread = max(spread_of(values), _FLOOR * centre)
    is_work = rows["phase"][0] == "matmul"
    least = max((_LONGER if is_work else _SHORTER) * centre, spreads_apart(ranks.height) * spread)
    for rank, value in ranks.iter_rows():
        own = rows.filter(pl.col("rank") == rank).sort("file", "line")
        away = (own["value_ms"] - centre) * (1 if is_work else -1)
        if (value - centre) * (1 if is_work else -1) >= least and float(away.min()) > least / 2:  # type: ignore[arg-type]
            refs = tuple(
                Ref(file=file, line=line, text=str(rows["name"][0]))
                for file, line in own.select("file", "line").head(2).iter_rows()
            )
            peers = tuple(other for other in ranks["rank"].to_list() if other != rank)
            phase, kernel = str(rows["phase"][0]), str(rows["name"][0])
            yield Mean(rank, phase, kernel, value, centre, own.height, peers, refs)
