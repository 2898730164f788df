"""How near to the end of its number format a tensor came, and how it grew from step to step before."""

from collections.abc import Mapping
from math import comb, inf, log2
from typing import Any

import msgspec
import polars as pl

from forensics.graph.numerics.tensor_rules import LARGEST

STEPS = 8  # how many steps back a series is shown
_PLACE = ("rank", "module", "tensor", "phase")


class Growth(msgspec.Struct, frozen=True):
    """`series`: (step, largest absolute value) of one tensor, oldest first. `headroom_bits`: log2 of largest number of
    the format over the last value; None where the format is not known."""

    row: Mapping[str, Any]
    series: tuple[tuple[int, float], ...]
    headroom_bits: float | None

    @property
    def factor(self) -> float:
        """Last value over the median of those before."""
        before = sorted(value for _, value in self.series[:-1])
        return self.series[-1][1] / before[len(before) // 2] if before and before[len(before) // 2] > 0 else 1.0


def limit(row: Mapping[str, Any]) -> float | None:
    """The largest finite number of the row's format."""
    named = (LARGEST.get(str(row[name] or "").removeprefix("torch.").lower()) for name in ("format", "dtype"))
    return next((most for most in named if most is not None), None)


def headroom_bits(value: float, row: Mapping[str, Any]) -> float | None:
    """How many doublings are left before the format overflows."""
    most = limit(row)
    return log2(most / value) if most is not None and 0 < value < inf else None


def growth_of(frame: pl.DataFrame, row: Mapping[str, Any]) -> Growth | None:
    """The series of the row's tensor up to it; None where fewer than two steps were seen. `frame`: rows of one launch."""
    same = [pl.col(name).eq_missing(row[name]) for name in _PLACE]
    return _series(frame.filter(pl.all_horizontal(*same, pl.col("place") <= row["place"])))


def fastest(frame: pl.DataFrame, rank: int, place: int) -> Growth | None:
    """Of all local outputs of a rank up to a place the one that grew most, if its last value is far above those before."""
    is_its = (pl.col("rank") == rank) & (pl.col("place") <= place)
    mine = frame.filter(is_its & (pl.col("role") == "out") & pl.col("kind").is_null())
    sizes = mine.filter(pl.col("absmax").is_finite() & (pl.col("absmax") > 0))
    steps = sizes.group_by("module", "tensor", "phase", "step").agg(pl.col("absmax").max(), pl.col("place").max())
    last = steps.sort("step").group_by("module", "tensor", "phase", maintain_order=True).agg(
        (pl.col("absmax").last() / pl.col("absmax").head(pl.len() - 1).median()).alias("factor"),
        pl.col("place").last(), pl.len().alias("steps"),
    )  # fmt: skip
    last = last.filter((pl.col("steps") > 2) & pl.col("factor").is_not_null()).sort("factor", "place", descending=True)
    if not last.height or last["factor"][0] < 8:
        return None
    return growth_of(frame, mine.filter(pl.col("place") == last["place"][0]).row(0, named=True))


def _series(rows: pl.DataFrame) -> Growth | None:
    rows = rows.filter(pl.col("absmax").is_finite())
    steps = rows.group_by("step", maintain_order=True).agg(pl.col("absmax").max(), pl.col("place").last()).tail(STEPS)
    if steps.height < 2:
        return None
    series = tuple(steps.select("step", "absmax").iter_rows())
    last = rows.filter(pl.col("place") == steps["place"][-1]).row(0, named=True)
    return Growth(last, series, headroom_bits(series[-1][1], last))


def chance(hits: int, trials: int, share: float) -> float:
    """Probability of at least `hits` of `trials` where each falls on one place with probability `share`."""
    return sum(comb(trials, k) * share**k * (1 - share) ** (trials - k) for k in range(hits, trials + 1))
