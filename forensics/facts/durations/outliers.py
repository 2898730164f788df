"""Which ranks take longer than their peers for the same work, by votes over steps.

In each step a rank's deviation is its time less the median of its peers, as a share of that median (of a twentieth of the
step, where the phase is next to nothing). The scale is the median absolute deviation of the same step, so a slow step of
all, a ramp of the batch or a synchronous checkpoint moves nobody. A rank votes where it lies beyond the scale (`weak`) or
far beyond it (`strong`). Whoever votes more often than chance allows, and whose median deviation stands out among the
medians of its peers (no two devices are equally fast), is slow; so is who votes strongly now and then, at no fixed beat.
The chance of a vote is what the peers show, at least that of the noise which the thresholds let pass.
"""

from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from math import comb

import msgspec
import polars as pl

from forensics.model.middle import median

_PEERS = 3  # at least, the rank included
_PRESENT = 0.6  # of the ranks have a figure of the step
_WEAK, _STRONG, _SIGMAS = 0.025, 0.15, 6.0  # shares of the peers' median, and deviations
_BY_CHANCE, _STRONG_BY_CHANCE = 0.16, 0.04  # of a normal deviation above one sigma; of heavy tails
_LEAST, _LEAST_VOTES, _LEAST_SHARE = 0.06, 3, 0.1
_APART, _FEW = 4.0, 12.0  # times the spread of the ranks' medians, more where there are few of them
SIGMA = 1.4826  # median absolute deviation → standard deviation
_FLOOR = 0.005  # no series is believed to be quieter
_SMALL = 0.05  # of the step: phases below are measured against this
_MATTERS = 0.03  # of the step: more work, or a shorter wait
_MATTERS_CALL = 0.3  # of the wait, where the length of a step is not known
_ALPHA = 1e-3  # for the whole group
_CANDIDATES = 64
_ALWAYS = 0.85  # of the steps agree with one period


class Outlier(msgspec.Struct, frozen=True):
    """A rank that stands out in one phase. `begin`, `end`: steps of the period, both held; `is_steady`: in most steps of it.

    `excess_ms`: median over the period (over the voting steps, where it is on and off). `level_ms`: its peers' median.
    `step_ms`: the step's length then; `share`: its excess summed over all steps, as a share of their time, of which no step
    is shorter than what it takes this rank; null where that is not known.
    `places`, `peer_places`: rows of its own figures and of its peers', the first ones: file, line, name."""

    rank: int
    stage: int
    phase: str
    sort: str
    votes: int
    steps: int
    begin: int
    end: int
    from_start: bool
    to_end: bool
    is_steady: bool
    excess_ms: float
    level_ms: float
    share: float | None
    step_ms: float | None
    peers: tuple[int, ...]
    places: tuple[tuple[str, int | None, str], ...]
    peer_places: tuple[tuple[str, int | None, str], ...]

    @property
    def is_always(self) -> bool:
        """As long as there are records of it?"""
        return self.from_start and self.to_end and self.is_steady

    @property
    def ratio(self) -> float:
        return self.excess_ms / self.level_ms if self.level_ms else float("inf")


class SlowPhases(msgspec.Struct, frozen=True):
    """`slower`: longer at work of the device or host. `late`: shorter waits, so the others wait for them. `waits`: longer
    waits. `whole`: longer steps, by their own clock."""

    slower: tuple[Outlier, ...]
    late: tuple[Outlier, ...]
    waits: tuple[Outlier, ...]
    whole: tuple[Outlier, ...]


def slow_phases(times: pl.DataFrame) -> SlowPhases:
    """Rows of phase_times → who stands out in what; a share of the step too small to matter is left out."""
    waits, work = times.filter(pl.col("sort").is_in(["wait", "call"])), pl.col("sort").is_in(["work", "host"])
    slower = [one for one in outliers(times.filter(work)) if one.share is None or one.share >= _MATTERS]
    whole = outliers(times.filter(pl.col("sort") == "whole"))
    late = [one for one in outliers(waits, -1) if _is_late(one)]
    return SlowPhases(tuple(slower), tuple(late), tuple(outliers(waits)), tuple(whole))


def _is_late(one: Outlier) -> bool:
    """Does it come so late that this matters? Of one that is late on and off, over all steps."""
    if one.step_ms is None:
        return one.is_steady and one.ratio <= -_MATTERS_CALL
    often = 1.0 if one.is_steady else one.votes / one.steps
    return often * one.excess_ms <= -_MATTERS * one.step_ms


def outliers(times: pl.DataFrame, sign: int = 1) -> list[Outlier]:
    """Rows of phase_times → who takes longer; `sign` -1: who takes less."""
    parts = deviations(times, sign).partition_by("stage", "phase") if times.height else []
    return [one for part in parts for one in _of_phase(part)]


def deviations(times: pl.DataFrame, sign: int) -> pl.DataFrame:
    """Each row with `centre` (its peers' median), `x` (its deviation), `weak` and `strong` (its votes)."""
    step, phase = ["stage", "phase", "step"], ["stage", "phase"]
    found = times.with_columns(
        centre=pl.col("ms").median().over(step), n=pl.len().over(step), all=pl.col("rank").n_unique().over(phase)
    ).filter((pl.col("n") >= _PEERS) & (pl.col("n") >= _PRESENT * pl.col("all")))
    base = pl.max_horizontal("centre", pl.col("step_ms").fill_null(0) * _SMALL, pl.lit(1e-6))
    found = found.with_columns(x=sign * (pl.col("ms") - pl.col("centre")) / base)
    sigma = pl.max_horizontal(SIGMA * pl.col("x").abs().median().over(step), pl.lit(_FLOOR))
    return found.with_columns(
        weak=pl.col("x") > pl.max_horizontal(pl.lit(_WEAK), sigma),
        strong=pl.col("x") > pl.max_horizontal(pl.lit(_STRONG), _SIGMAS * sigma),
    )


def _of_phase(rows: pl.DataFrame) -> Iterator[Outlier]:
    ranks = _by_rank(rows)
    if ranks.height < _PEERS:
        return
    unlikely = ranks.filter((pl.col("weak") >= _LEAST_VOTES) & (pl.col("weak") > 2 * _BY_CHANCE * pl.col("steps")))
    strong = ranks.filter(pl.col("strong") >= _LEAST_VOTES)
    tried = pl.concat([unlikely, strong]).unique("rank").sort("middle", "rank", descending=[True, False])
    for rank in tried["rank"].head(_CANDIDATES).sort().to_list():
        own = rows.filter(pl.col("rank") == rank).sort("step")
        if _is_slow(rows, ranks, own):
            yield _outlier(rows, own)


def _by_rank(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.group_by("rank").agg(
        pl.len().alias("steps"), pl.col("weak").sum(), pl.col("strong").sum(), pl.col("x").median().alias("middle")
    )


def _is_slow(rows: pl.DataFrame, ranks: pl.DataFrame, own: pl.DataFrame) -> bool:
    if _is_lasting(ranks, own["rank"][0], 1):
        return True
    votes, strong = own["weak"].to_list(), own["strong"].to_list()
    begin, end = _densest(votes)
    if 0 < end - begin < len(votes):
        inside = pl.col("step").is_between(own["step"][begin], own["step"][end - 1])
        change = median(own.filter(inside)["x"]) - median(own.filter(~inside)["x"])
        if change >= _LEAST and _is_lasting(_by_rank(rows.filter(inside)), own["rank"][0], len(votes) ** 2):
            return True
    others = ranks.filter(pl.col("rank") != own["rank"][0])
    chance = max(_rate(others, "strong"), _STRONG_BY_CHANCE)
    count, size = sum(strong), len(strong)
    likely = tail(count, size, chance) * ranks.height < _ALPHA
    return likely and count >= max(_LEAST_VOTES, _LEAST_SHARE * size) and not _has_beat(strong)


def _is_lasting(ranks: pl.DataFrame, rank: int, tries: int) -> bool:
    """More votes than chance allows, and a median that stands out among those of its peers."""
    own, others = ranks.filter(pl.col("rank") == rank), ranks.filter(pl.col("rank") != rank)
    if not own.height or others.height < _PEERS - 1:
        return False
    size = ranks.height
    middles = ranks["middle"].to_list()
    centre = median(middles)
    spread = max(spread_of(middles), _FLOOR)
    middle, steps, votes = own["middle"][0], own["steps"][0], own["weak"][0]
    if middle < _LEAST or middle - centre < spreads_apart(size) * spread:
        return False
    chance = max(_rate(others, "weak"), _BY_CHANCE, 1 / size)
    return tail(votes, steps, chance) * size * tries < _ALPHA


def _rate(ranks: pl.DataFrame, votes: str) -> float:
    return float(ranks[votes].sum()) / max(float(ranks["steps"].sum()), 1.0)


def spread_of(values: Collection[float]) -> float:
    """The standard deviation, by the median of the distances from the median."""
    centre = median(values)
    return SIGMA * float(median(abs(value - centre) for value in values))


def spreads_apart(peers: int) -> float:
    """How many spreads away from its peers, itself included, somebody stands out: more where they are few."""
    return _APART + _FEW / peers


def tail(votes: int, steps: int, chance: float) -> float:
    """The chance of so many votes or more."""
    if chance >= 1 or steps > 1000:  # by the normal distribution's bound, where sums grow long
        spread = max((steps * chance * (1 - chance)) ** 0.5, 1e-9)
        z = (votes - steps * chance) / spread
        return 1.0 if z <= 0 else float(2.718281828459045 ** (-z * z / 2))
    return sum(comb(steps, k) * chance**k * (1 - chance) ** (steps - k) for k in range(votes, steps + 1))


def _densest(votes: Sequence[bool]) -> tuple[int, int]:
    """The run [begin, end) in which votes most outnumber the others."""
    best, begin, end, since, total = 0, 0, 0, 0, 0
    for at, vote in enumerate(votes):
        total += 1 if vote else -1
        if total <= 0:
            total, since = 0, at + 1
        elif total > best:
            best, begin, end = total, since, at + 1
    return begin, end


def _has_beat(votes: Sequence[bool]) -> bool:
    """At one distance from each other, from the first steps to the last: what a program does every so many steps. What begins or leaves
    off in between is none of its habits."""
    at = [number for number, vote in enumerate(votes) if vote]
    gaps = {later - earlier for earlier, later in pairwise(at)}
    if len(at) < 3 or len(gaps) != 1 or gaps == {1}:
        return False
    (gap,) = gaps
    return at[0] <= gap and len(votes) - at[-1] <= gap


def _outlier(rows: pl.DataFrame, own: pl.DataFrame) -> Outlier:
    """The period: votes at half of what the voting steps show at the median."""
    x = own["x"].to_list()
    high = median([value for value, weak in zip(x, own["weak"].to_list(), strict=True) if weak])
    votes = [value > high / 2 for value in x]
    begin, end = _densest(votes)
    agree = sum(votes[begin:end]) + sum(not vote for vote in (*votes[:begin], *votes[end:]))
    steady = agree >= _ALWAYS * len(votes)
    few = max(1, len(votes) // 20)
    shown = own.slice(begin, end - begin) if steady else own.filter(pl.Series(votes))
    first, last = (begin, end) if steady else (votes.index(True), len(votes))
    steps = own["step"]
    excess = median(shown["ms"] - shown["centre"])
    took = pl.when(pl.col("step_ms") > 0).then(pl.max_horizontal("step_ms", "rank_ms"))
    whole = float(own.select(took.sum()).item())
    columns = ("file", "line", "name")
    beside = rows.filter((pl.col("step") == shown["step"][0]) & (pl.col("rank") != own["rank"][0])).sort("rank")
    return Outlier(
        rank=int(own["rank"][0]), stage=int(own["stage"][0]), phase=str(own["phase"][0]), sort=str(own["sort"][0]),
        votes=sum(votes), steps=len(votes), begin=int(steps[first]), end=int(steps[last - 1]),
        from_start=first <= few, to_end=len(votes) - last <= few, is_steady=steady,
        excess_ms=excess, level_ms=median(shown["centre"]),
        step_ms=median(shown["step_ms"].drop_nulls()) if shown["step_ms"].drop_nulls().len() else None,
        share=float((own["ms"] - own["centre"]).sum()) / whole if whole else None,
        peers=tuple(rows["rank"].unique().sort().to_list()),
        places=tuple(shown.head(2).select(columns).rows()), peer_places=tuple(beside.head(1).select(columns).rows()),
    )  # fmt: skip
