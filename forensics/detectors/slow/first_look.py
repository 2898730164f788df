"""What to look at first, for a rank that takes longer: what its own figures leave open, and nothing that they rule out.

A device or a host that is slow is slow in all that it computes: who takes longer in one phase alone, and is as fast as its peers in
another, does more there. A quota of processor time that holds it back needs no further search. In data loading and checkpoints it is the
files that come first.
"""

from collections.abc import Sequence

import polars as pl

from forensics.case import Case
from forensics.detectors.slow import peers
from forensics.facts.durations.outliers import Outlier
from forensics.facts.durations.phase_times import are_of_kernels
from forensics.facts.durations.throttled import Throttled, throttled
from forensics.model.commands import cpu_limit
from forensics.model.finding import Claim
from forensics.model.incident import Action, to_do
from forensics.model.said import Said, joined
from forensics.model.told import values
from forensics.words import advice
from forensics.words import slow as words

_MUCH = 0.2  # of the peers' work in a step: less may be a phase too short to tell
_AS_FAST = 0.25  # of the excess share in its slow phases: below that it is as fast as they
_MANY = 8
# Waits, how long, and how little they differ, before a clock is taken for what ends them.
_OFTEN, _LONG_MS, _EVEN = 5, 50.0, 0.03


def held_back(case: Case, ranks: Sequence[int]) -> tuple[Throttled, ...]:
    """The quotas that hold these ranks back, where each of them is."""
    found = [one for one in throttled(case.tables, case.identity) if one.rank in ranks]
    return tuple(found) if {one.rank for one in found} == {*ranks} else ()


def of_quota(held: Sequence[Throttled]) -> list[Claim]:
    return [
        Claim(words.THROTTLED(rank=one.rank, throttled=one.throttled, periods=one.periods), "for", one.refs)
        for one in held[:_MANY]
    ]


def as_fast_in(case: Case, slow: Sequence[Outlier]) -> list[str]:
    """The other phases of work in which these ranks are measured, and as fast as their peers."""
    if not slow or any(one.sort != "work" for one in slow):
        return []
    phases, ranks = {one.phase for one in slow}, {one.rank for one in slow}
    begin, end = min(one.begin for one in slow), max(one.end for one in slow)
    is_there = pl.col("stage").is_in(sorted({one.stage for one in slow})) & pl.col("step").is_between(begin, end)
    work = case.phase_times.filter(is_there & (pl.col("sort") == "work"))
    own = pl.col("rank").is_in(sorted(ranks))
    middles = work.group_by("phase", "rank").agg(pl.col("ms").median())
    theirs = dict(middles.filter(~own).group_by("phase").agg(pl.col("ms").median()).iter_rows())
    slowest = dict(middles.filter(own).group_by("phase").agg(pl.col("ms").max()).iter_rows())
    measured = dict(middles.filter(own).group_by("phase").len().iter_rows())
    least, total = min(one.ratio for one in slow), sum(theirs.values())
    return sorted(
        phase
        for phase, level in theirs.items()
        if phase not in phases
        and measured.get(phase) == len(ranks)
        and level >= _MUCH * total
        and slowest[phase] <= (1 + _AS_FAST * least) * level
    )


def actions(
    case: Case, slow: Sequence[Outlier], sort: str, fast: Sequence[str], held: Sequence[Throttled]
) -> tuple[Action, ...]:
    """`sort`: host or work; `fast`: phases in which these are as fast as others."""
    ranks = sorted({one.rank for one in slow})
    who = joined((f"rank {rank}" for rank in ranks[:_MANY]), ", ")
    phases = joined(list(dict.fromkeys(one.phase for one in slow))[:4], ", ")
    if held:
        return tuple(_limit(case, one) for one in held[:_MANY])
    if fast:
        target = words.WHAT_IT_DOES_IN(who=who, phases=phases)
        reason = words.AS_FAST_IN(phases=joined(fast[:4], ", "))
        return (to_do("check_code", target, reason),)
    if sort == "work":
        mates = _fast_mates(case, ranks)
        reason = words.LONGER_IN_ALL(mates=words.RANKS_OF_ITS_HOST(mates)) if mates else words.TAKES_LONGER
        if all(are_of_kernels(case.tables, one.rank, one.phase) for one in slow):
            reason = words.KERNELS_LONGER
        return (to_do("inspect_hardware", who, reason),)
    if fixed := _fixed_wait(case, slow[0]):
        target = words.WHAT_WAITS_IN(who=who, phases=phases)
        return (to_do("check_code", target, fixed),)
    return (to_do("check_data", who, _of_host(slow)),)


def _fixed_wait(case: Case, one: Outlier) -> Said | None:
    """What takes just as long each time is waited for by the clock: no busy disk, processor or network is so even."""
    is_its = (pl.col("rank") == one.rank) & (pl.col("phase") == one.phase)
    own = case.phase_times.filter(is_its & pl.col("step").is_between(one.begin, one.end))
    waits = own.filter(pl.col("ms") > one.level_ms + one.excess_ms / 2)["ms"]
    middle, least, most = waits.median(), waits.min(), waits.max()
    if len(waits) < _OFTEN or not isinstance(middle, float) or middle < _LONG_MS:
        return None
    spread = (float(most) - float(least)) / middle  # type: ignore[arg-type]
    told = {"times": len(waits), "ms": f"{middle:.4g}", "percent": f"{100 * spread:.1f}"}
    return words.FIXED_WAIT(**told) if spread <= _EVEN else None


def _limit(case: Case, one: Throttled) -> Action:
    host = peers.hosts(case).get(one.rank)
    return Action(
        kind="check_config", target=words.LIMIT_OF(rank=one.rank, folder=one.folder),
        command=cpu_limit(host, one.folder, one.version),
        reason=words.HELD_BY_QUOTA(percent=f"{100 * one.share:.0f}"), look=advice.LOOK_AT_QUOTA, then=advice.THEN_OF_QUOTA,
        source="Linux: cgroup v1 cpu.cfs_quota_us, cgroup v2 cpu.max",
    )  # fmt: skip


def _fast_mates(case: Case, ranks: Sequence[int]) -> int:
    """How many other ranks of their hosts left figures."""
    place = peers.hosts(case)
    there = {place[rank] for rank in ranks if rank in place}
    timed = values(case.phase_times["rank"])
    return len({rank for rank in timed if place.get(rank) in there} - {*ranks})


def _of_host(slow: Sequence[Outlier]) -> Said:
    """What the phase is spent with, where its name tells."""
    phase = slow[0].phase
    if phase.startswith(("data", "load", "tokenize", "h2d")):
        return words.LOADS_LONGER(phase=phase)
    if phase.startswith(("checkpoint", "save", "storage")):
        return words.WRITES_LONGER(phase=phase)
    return words.HOST_KEEPS_WAITING
