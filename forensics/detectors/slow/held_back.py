"""Whose measures account for a fall of the job's throughput: the one device that became slower as the job did, in the same
measure and at the same time; or the one host whose link is worse than all others, where the waits are what grew. A link that
was worse long before the fall does not account for it, however seldom one looked, nor does that of an adapter beside a faster one.

Time and place alone name nobody: the device must run a rank of the job (or its host a process of it), no other may stand
apart likewise, and what it lost must be enough for what the job lost. Where a clock is missing, a device that became slower
while it was watched is the best explanation only where its driver says that it throttles.
"""

from collections.abc import Sequence

import polars as pl

from forensics.case import Case
from forensics.facts.durations.phase_times import with_sort
from forensics.facts.hosts.telemetry import Apart
from forensics.model.hosts import short_hosts
from parsers.kernel.nic import LINK_SPEED

_INTERVALS = 3.0  # of the sampling, or of the printed steps, between the device's change and the job's
_LEAST_S = 60.0
_ENOUGH = 0.5  # of the job's loss: the device's loss of clock; the growth of the waits
_LONGER = 1.3  # waits after the fall, against those before
_FASTER = 1.5  # times the speed of such links: one of another kind


def by_device(case: Case, point: pl.DataFrame, share: float) -> Sequence[Apart]:
    """`point`: the first row of the lower level (time_ns). `share`: how much of its throughput the job lost."""
    slowed = [one for one in case.apart if one.effect == "slows"]
    if len({(one.host, one.pci, one.index, one.rank) for one in slowed}) != 1:
        return ()
    clocks = [one for one in slowed if one.quantity == "sm_clock_mhz"]
    time_ns = point["time_ns"][0]
    if not clocks or clocks[0].is_from_start:
        return ()
    one = clocks[0]
    is_then = _is_near(one, time_ns) if time_ns is not None and one.since_ns is not None else _is_told_why(slowed)
    is_of_job = one.rank is not None or one.host in case.job_hosts
    enough = (one.centre - one.value) / one.centre >= _ENOUGH * share
    return (one, *(other for other in slowed if other is not one)) if is_of_job and is_then and enough else ()


def _is_told_why(slowed: Sequence[Apart]) -> bool:
    """Where nothing tells when the device, or the job, became slower: does the driver say why the device did?"""
    return any(one.quantity.startswith("throttle_") for one in slowed)


def _is_near(one: Apart, time_ns: int) -> bool:
    """Was it otherwise until about then?"""
    near_s = max(_INTERVALS * (one.interval_s or 0.0), _LEAST_S)
    return one.since_ns is not None and abs(one.since_ns - time_ns) / 1e9 <= near_s


def by_link(case: Case, point: pl.DataFrame) -> Sequence[Apart]:
    """`point`: the first row of the lower level (step, time_ns)."""
    links = [one for one in case.apart if one.effect == "link" and one.host]
    slower = [one for one in links if one.quantity == "port_gbps"]
    if not slower or len({one.host for one in links}) != 1:
        return ()
    onset, time_ns = int(point["step"][0]), point["time_ns"][0]
    printed_s = _printed_s(case, point)
    is_then = all(_is_since(one, time_ns, printed_s) and not _is_beside_better(case, one) for one in slower)
    by_rank = (case.phase_times["sort"] == "wait").any()
    if _begin_anew(case, point):
        waits = _is_waiting_since(case, point)
    else:
        waits = _is_waiting(case, onset) if by_rank else _is_alike_waiting(case, onset)
    return (*slower, *(one for one in links if one not in slower)) if is_then and waits else ()


def _is_since(one: Apart, time_ns: int | None, printed_s: float) -> bool:
    """Is no look at it contrary: worse long before the fall, however seldom one looked, or still well long after it? What a kernel
    says of a link is of the moment at which it came up: without a time, perhaps of long before, if it says so once."""
    if time_ns is None or one.since_ns is None:
        return one.moments > 1 or one.metric != LINK_SPEED
    before_s, near_s = (time_ns - one.since_ns) / 1e9, max(_INTERVALS * printed_s, _LEAST_S)
    if one.metric == LINK_SPEED:
        return abs(before_s) <= near_s
    return (_is_near(one, time_ns) and before_s <= near_s) or (one.is_from_start and before_s <= 0)


def _is_beside_better(case: Case, one: Apart) -> bool:
    """Has its host another adapter whose link came up, faster than such links are, or nobody knows how fast? Then what the job sends
    may go through that one, and this is one to manage the host by."""
    if one.pci is None:
        return False
    rows = case.tables["devices"].filter(pl.col("quantity") == "port_gbps").with_columns(short_hosts())
    own = rows.filter((pl.col("host") == one.host) & (pl.col("pci") != one.pci))
    came_up = case.events.filter(pl.col("kind") == "link_up").with_columns(short_hosts())
    others = came_up.filter((pl.col("host") == one.host) & (pl.col("pci") != one.pci))["pci"]
    is_faster = bool((own["value"] > _FASTER * one.centre).any())
    return is_faster or not {*others} <= {*own["pci"]}


def _printed_s(case: Case, point: pl.DataFrame) -> float:
    """How long it is from one printed step of a log to the next."""
    times = case.tables["steps"].filter(pl.col("file") == point["file"][0])["time_ns"].drop_nulls().unique().sort()
    return (_median(times.diff().drop_nulls()) or 0.0) / 1e9


def _begin_anew(case: Case, point: pl.DataFrame) -> bool:
    """Does the log count its steps anew again and again, as in each epoch? Then a step's number tells nothing of when it was."""
    steps = case.tables["steps"].filter(pl.col("file") == point["file"][0])["step"].drop_nulls()
    return steps.n_unique() * 2 < len(steps)


def _is_waiting_since(case: Case, point: pl.DataFrame) -> bool:
    """The same by the moments of lines that time parts of a step, of all who print such; without moments by those of one log."""
    timed = with_sort(case.tables["timings"]).filter(pl.col("sort").is_not_null() & pl.col("value_ms").is_finite())
    time_ns = point["time_ns"][0]
    if time_ns is None or timed["time_ns"].null_count():
        timed, late = timed.filter(pl.col("file") == point["file"][0]), pl.col("line") >= point["line"][0]
    else:
        late = pl.col("time_ns") >= time_ns
    timed = timed.filter(pl.col("level").fill_null(0) == pl.col("level").fill_null(0).min().over("file", "line"))
    is_wait, is_part = pl.col("sort") == "wait", pl.col("sort") != "whole"
    lines = timed.with_columns(late.alias("_late")).group_by("file", "line", "_late").agg(
        pl.col("value_ms").filter(is_wait).sum().alias("ms"), pl.col("value_ms").filter(is_part).sum().alias("step_ms")
    )  # fmt: skip
    sides = [lines.filter(pl.col("_late") == is_late) for is_late in (False, True)]
    return _has_grown([_median(one["ms"]) for one in sides], [_median(one["step_ms"]) for one in sides])


def _is_waiting(case: Case, onset: int) -> bool:
    """Is the time that was lost since then spent in communication, on all ranks alike?"""
    times = case.phase_times
    before, after = times.filter(pl.col("step") < onset), times.filter(pl.col("step") >= onset)
    waits = [_middle(part.filter(pl.col("sort") == "wait"), "ms") for part in (before, after)]
    return _has_grown(waits, [_middle(part, "step_ms") for part in (before, after)])


def _is_alike_waiting(case: Case, onset: int) -> bool:
    """The same by the extremes over all ranks: even who waits shortest waits longer, where the last to come does not."""
    timed = with_sort(case.tables["timings"]).filter((pl.col("sort") == "wait") & pl.col("min_ms").is_finite())
    timed = timed.filter(pl.col("level").fill_null(0) == pl.col("level").fill_null(0).min().over("file", "step"))
    waits = timed.group_by("file", "step").agg(pl.col("min_ms").sum().alias("ms"))
    late = pl.col("step") >= onset
    steps = case.tables["steps"].filter(pl.col("elapsed_ms") > 0)
    return _has_grown(
        [_median(waits.filter(~late)["ms"]), _median(waits.filter(late)["ms"])],
        [_median(steps.filter(~late)["elapsed_ms"]), _median(steps.filter(late)["elapsed_ms"])],
    )


def _has_grown(waits: Sequence[float | None], steps: Sequence[float | None]) -> bool:
    """Both of a time before the fall and one after it."""
    match (*waits, *steps):
        case (float(early), float(late), float(short), float(long)):
            return late >= _LONGER * early and late - early >= _ENOUGH * (long - short)
    return False


def _middle(rows: pl.DataFrame, column: str) -> float | None:
    """Of all ranks and steps."""
    by_step = rows.group_by("rank", "step").agg(pl.col("ms").sum(), pl.col("step_ms").max())
    return _median(by_step[column])


def _median(values: pl.Series) -> float | None:
    found = values.median()
    return float(found) if isinstance(found, int | float) else None
