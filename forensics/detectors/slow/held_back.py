"""Whose measures account for a fall of the job's throughput: the one device that became slower as the job did, in the same
measure and at the same time; or the one host whose link is worse than all others, where the waits are what grew.

Time and place alone name nobody: the device must run a rank of the job (or its host a process of it), no other may stand
apart likewise, and what it lost must be enough for what the job lost.
"""

from collections.abc import Sequence

import polars as pl

from forensics.case import Case
from forensics.facts.telemetry import Apart

_INTERVALS = 3.0  # of the sampling, or of the printed steps, between the device's change and the job's
_LEAST_S = 60.0
_ENOUGH = 0.5  # of the job's loss: the device's loss of clock; the growth of the waits
_LONGER = 1.3  # waits after the fall, against those before


def by_device(case: Case, point: pl.DataFrame, share: float) -> Sequence[Apart]:
    """`point`: the first row of the lower level (time_ns). `share`: how much of its throughput the job lost."""
    slowed = [one for one in case.apart if one.effect == "slows"]
    if len({(one.host, one.pci, one.index, one.rank) for one in slowed}) != 1:
        return ()
    clocks = [one for one in slowed if one.quantity == "sm_clock_mhz"]
    time_ns = point["time_ns"][0]
    if not clocks or time_ns is None or clocks[0].since_ns is None or clocks[0].is_from_start:
        return ()
    one = clocks[0]
    is_of_job = one.rank is not None or one.host in case.job_hosts
    apart_s = abs(one.since_ns - time_ns) / 1e9 if one.since_ns is not None else None
    near = apart_s is not None and apart_s <= max(_INTERVALS * (one.interval_s or 0.0), _LEAST_S)
    enough = (one.centre - one.value) / one.centre >= _ENOUGH * share
    return (one, *(other for other in slowed if other is not one)) if is_of_job and near and enough else ()


def by_link(case: Case, onset: int) -> Sequence[Apart]:
    """`onset`: the step since which the job is slower."""
    links = [one for one in case.apart if one.effect == "link" and one.host]
    slower = [one for one in links if one.quantity == "port_gbps"]
    if not slower or len({one.host for one in links}) != 1 or not _is_waiting(case, onset):
        return ()
    return (*slower, *(one for one in links if one not in slower))


def _is_waiting(case: Case, onset: int) -> bool:
    """Is the time that was lost since then spent in communication, on all ranks alike?"""
    times = case.phase_times
    before, after = times.filter(pl.col("step") < onset), times.filter(pl.col("step") >= onset)
    waits = [_middle(part.filter(pl.col("sort") == "wait"), "ms") for part in (before, after)]
    steps = [_middle(part, "step_ms") for part in (before, after)]
    if None in waits or None in steps:
        return False
    (early, late), (short, long) = waits, steps
    assert early is not None and late is not None and short is not None and long is not None
    return late >= _LONGER * early and late - early >= _ENOUGH * (long - short)


def _middle(rows: pl.DataFrame, column: str) -> float | None:
    """Of all ranks and steps."""
    by_step = rows.group_by("rank", "step").agg(pl.col("ms").sum(), pl.col("step_ms").max())
    found = by_step[column].median()
    return float(found) if isinstance(found, int | float) else None
