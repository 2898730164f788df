"""Did the training become slower, at one step or little by little, and stay slow?

Method: the one split of the series of throughput that leaves least squared error, on a running median where there are
enough points; accepted where the level falls beyond the noise of both sides and most points agree. A single slow step, a
recovery and a slow start are none. A drift is a fall from each tenth of the run to nearly every later one. Throughput is
what the log prints, else samples or steps per second: a job whose batch grows prints longer steps too, so plain step times
need more points. Where the same log times the parts of a step, it tells which of them grew.
"""

from collections.abc import Sequence
from itertools import combinations, islice
from typing import Any, NamedTuple

import polars as pl
from msgspec.structs import replace

from forensics.case import Case, Detector
from forensics.detectors.slow import held_back
from forensics.facts.durations.outliers import spread_of
from forensics.facts.durations.phase_times import with_sort
from forensics.facts.figures.jumped_figures import Jump, jumped_at
from forensics.facts.hosts.telemetry import Apart
from forensics.model.finding import Claim, Finding
from forensics.model.incident import SINKING, Action, Device, FirstAnomaly, to_do
from forensics.model.middle import median
from forensics.model.ref import Ref
from forensics.model.said import Said, first_clause, joined
from forensics.words import slow as words
from parsers.schema.event_kinds import MEAN
from parsers.text.durations import way_of

_PRINTERS = 64  # that are looked at: all ranks of a job keep the same pace
_LEAST = 5  # points of a printed throughput; of plain step times
_LEAST_TIMES = 24
_LEAST_FAR, _FAR = 8, 0.35  # of plain step times that stay on a level of their own, so much faster before
_LEAST_FARTHEST, _FARTHEST = 6, 5  # of plain step times, each of which is so many times as long as any before
_FALL = 0.03  # of the level before
_SIGMAS = 5
_FLOOR = 0.005  # of the level: no series is believed to be quieter
_AS_BEFORE = 0.2  # of the parts' time before: so much work that takes as long as ever
_GROWN, _ALIKE = 1.2, 0.8  # times the time before; of the part that grew most
_AGREE = 0.8  # of the points stand on their side of the middle
_SIDE = 2  # points on either side, at least
_TENTHS, _EACH = 10, 5  # parts of the run that a drift is seen by, and the points in each, at least
_FALLING = 0.9  # of the pairs of parts
_DRIFT = 0.05  # of the level of the first part
_LEVEL = 0.01  # of it: what sinks less in a time stays on one level
_PARTS, _SINKS_ON = 5, 0.1  # parts of what came after a fall, by which it is seen to go on; of the first part's level


def _series(case: Case) -> list[tuple[Said, pl.DataFrame]]:
    """(what was measured, frame of step, rate, file, line) per rank that prints: higher is faster."""
    is_train = pl.col("phase").is_null() | pl.col("phase").is_in(["train", MEAN])
    steps = case.tables["steps"].filter(is_train).drop_nulls("step")
    printer = ["file", "rank", "local_rank", "_mean"]
    steps = steps.with_columns(_mean=(pl.col("phase") == MEAN).fill_null(False))
    steps = _with_lengths(steps, case.tables["timings"])
    measured = steps.filter(pl.any_horizontal(pl.col("tflops", "per_s", "elapsed_ms").is_not_null()))
    measured = measured.filter(pl.len().over(printer) >= _LEAST)  # most ranks print too little to be looked at
    result = []
    for _, one in islice(measured.group_by(printer, maintain_order=True), _PRINTERS):
        one = _apart(_in_order(one.sort("line", "record")))
        batch = (pl.col("samples").diff() / pl.col("step").diff()).backward_fill(1)
        for name, column, rate, least in (
            (words.TFLOPS, "tflops", pl.col("tflops"), _LEAST),
            (words.SAMPLES_OR_TOKENS, "per_s", pl.col("per_s"), _LEAST),
            (words.SAMPLES, "elapsed_ms", 1000.0 * batch / pl.col("elapsed_ms"), _LEAST_TIMES),
            (words.STEPS, "elapsed_ms", 1000.0 / pl.col("elapsed_ms"), _LEAST_TIMES),
        ):
            if not one[column].count():
                continue
            points = one.select("step", rate.alias("rate"), "time_ns", "file", "line", "record", "_mean")
            points = points.filter(pl.col("rate").is_finite() & (pl.col("rate") > 0))
            if points.height >= least or (points.height >= _LEAST_FARTHEST and _falls_far(points["rate"].to_list())):
                result.append((name, points))
                break
    return result


def _falls_far(rates: Sequence[float]) -> bool:
    """Two levels far from each other: of a batch that grows little by little there are more."""
    at = split(rates)
    if at is None or min(at, len(rates) - at) <= _SIDE:
        return False
    if min(rates[:at]) >= _FARTHEST * max(rates[at:]):
        return True
    if len(rates) < _LEAST_FAR:
        return False
    high, low = median(rates[:at]), median(rates[at:])
    sides = ((rates[:at], high), (rates[at:], low))
    is_flat = all(
        sum(abs(rate - level) < _FAR / 2 * level for rate in side) >= _AGREE * len(side) for side, level in sides
    )
    return high - low >= _FAR * high and is_flat


def _apart(printed: pl.DataFrame) -> pl.DataFrame:
    """A time that only rises, and evenly, is that since the start: what it rose by is a step's."""
    rose = pl.col("elapsed_ms").diff()
    told = printed.filter(pl.col("elapsed_ms").is_not_null())
    is_clock = told.select((rose > 0).all() & (rose.median() * pl.len() > pl.col("elapsed_ms").last() / 2)).item()
    if told.height < _LEAST_FAR or not is_clock:
        return printed
    return printed.with_columns(elapsed_ms=rose / pl.col("step").diff().clip(1))


def _in_order(printed: pl.DataFrame) -> pl.DataFrame:
    """The lines of one printer, a row per step. Counts that begin anew again and again are those of an epoch: they stay as printed."""
    begun = (printed["step"] <= printed["step"][0]).sum()
    if begun > 1 and (printed["step"].diff() < 0).sum() == begun - 1:
        return printed
    return printed.unique("step", keep="last", maintain_order=True).sort("step")


def _with_lengths(steps: pl.DataFrame, timings: pl.DataFrame) -> pl.DataFrame:
    """Steps whose lines print their length among the times of their parts get it from there."""
    lengths = with_sort(timings).filter((pl.col("sort") == "whole") & (pl.col("value_ms") > 0))
    lengths = lengths.group_by("file", "line").agg(pl.col("value_ms").max().alias("_ms"))
    joined = steps.join(lengths, on=["file", "line"], how="left", maintain_order="left")
    return joined.with_columns(elapsed_ms=pl.coalesce("elapsed_ms", "_ms")).drop("_ms")


def _smoothed(values: Sequence[float]) -> list[float]:
    if len(values) < 9:
        return list(values)
    return [values[0], *(median(values[i - 1 : i + 2]) for i in range(1, len(values) - 1)), values[-1]]


def split(values: Sequence[float]) -> int | None:
    """Index of the first point of the lower level; None where there is no lasting fall."""
    smooth = _smoothed(values)
    total, squares = [0.0], [0.0]
    for value in smooth:
        total.append(total[-1] + value)
        squares.append(squares[-1] + value * value)

    def error(start: int, end: int) -> float:
        return squares[end] - squares[start] - (total[end] - total[start]) ** 2 / (end - start)

    size = len(smooth)
    if size < 2 * _SIDE:
        return None
    at = min(range(_SIDE, size - _SIDE + 1), key=lambda i: error(0, i) + error(i, size))
    before, after = smooth[:at], smooth[at:]
    high, low = median(before), median(after)
    noise = max(spread_of(before), spread_of(after), _FLOOR * high)
    middle = (high + low) / 2
    agree = sum(value > middle for value in before) + sum(value < middle for value in after)
    falls = high - low >= _FALL * high and high - low >= _SIGMAS * noise
    return at if falls and agree >= _AGREE * size and smooth[-1] < middle else None


def _sinking(values: Sequence[float], parts: int) -> list[float]:
    """The levels of so many parts of a series, where nearly every later one is lower than every earlier one; else none."""
    size = len(values)
    if size < parts * _EACH:
        return []
    levels = [median(values[size * i // parts : size * (i + 1) // parts]) for i in range(parts)]
    pairs = [later < earlier for earlier, later in combinations(levels, 2)]
    return levels if sum(pairs) >= _FALLING * len(pairs) else []


def drift(values: Sequence[float]) -> tuple[float, float] | None:
    """Level of the first and of the last tenth, where the series sinks from tenth to tenth."""
    levels = _sinking(values, _TENTHS)
    return (levels[0], levels[-1]) if levels and levels[0] - levels[-1] >= _DRIFT * levels[0] else None


def sinks_on(values: Sequence[float]) -> float | None:
    """Of what came after a fall, the level of the last part, where it goes on sinking from part to part."""
    levels = _sinking(values, _PARTS)
    return levels[-1] if levels and levels[-1] <= (1 - _SINKS_ON) * levels[0] else None


def leaves_level(values: Sequence[float], at: int) -> int:
    """Of what sinks on and on, the first point below what was usual before; a split in the midst of it comes too late."""
    smooth = _smoothed(values)
    usual = smooth[: max(_SIDE, at // _PARTS)]
    limit = median(usual) - max(_SIGMAS * spread_of(usual), _FALL * median(usual))
    while at > _SIDE and smooth[at - 1] < limit:
        at -= 1
    return at


def _fall(values: Sequence[float]) -> int | None:
    """The first point of a lower level; or that from which it sinks on and on, after a time on one level: no split tells such two."""
    if (at := split(values)) is not None or len(values) < 2 * _PARTS * _EACH:
        return at
    at = leaves_level(values, len(values))
    third = at // 3
    if third < _EACH or at == len(values) or sinks_on(values[at:]) is None:
        return None
    early, late = median(values[:third]), median(values[2 * third : at])
    return at if early - late < _LEVEL * early else None


# What turns slow does so at once, on some host; what sinks evenly grows, mostly within the processes, and a restart tells.
_OF_DRIFT = (
    to_do("check_code", words.WHAT_GROWS, words.SINKS_EVENLY),
    to_do("restart_job", words.AT_NEXT_CHECKPOINT, words.RESTART_TELLS),
)


def detect(case: Case) -> tuple[Finding, ...]:
    """Case → at most one finding: the earliest fall of any rank's series, else its deepest drift."""
    series = _series(case)
    falls = [(at, name, points) for name, points in series if (at := _fall(points["rate"].to_list())) is not None]
    # Ranks of a job wait for each other: a fall that few print is theirs alone.
    if 2 * len(falls) >= max(len(series), 1):
        at, name, points = min(falls, key=lambda fall: (fall[2]["step"][fall[0]], fall[2]["file"][0]))
        rates = points["rate"].to_list()
        high, low, form = median(rates[:at]), median(rates[at:]), words.FELL
        if is_sinking := (last := sinks_on(rates[at:])) is not None:
            at, low, form = leaves_level(rates, at), last, words.FELL_AND_SINKS
            high = median(rates[:at])
        onset = int(points["step"][at])
        form = words.FELL_IN_MEANS if points["_mean"][at] else form
        text = form(step=onset, metric=name, **_levels(high, low))
        shown, share = points.slice(max(at - 1, 0), 2), (high - low) / high
        reason = held_back.by_device(case, points[at], share) or held_back.by_link(case, points[at])
        began = None if points["_mean"][at] else onset
        newest = int(points["step"][-(len(rates) - at) // _PARTS :][0]) if is_sinking else onset
        grown = _grown(case, points, onset, newest)
        jumped = jumped_at(case.tables["steps"].filter(pl.col("file") == points["file"][0]), onset)
        return (_finding(case, text, began, shown, name, reason, grown, jumped, is_sinking=is_sinking),)
    drifts = [(levels, name, points) for name, points in series if (levels := drift(points["rate"].to_list()))]
    if not drifts:
        return ()
    (high, low), name, points = min(drifts, key=lambda one: (one[0][1] / one[0][0], one[2]["file"][0]))
    first, last = int(points["step"][0]), int(points["step"][-1])
    text = words.SANK(first=first, last=last, metric=name, **_levels(high, low))
    found = _finding(case, text, first, pl.concat([points.head(1), points.tail(1)]), name, None)
    return (replace(found, actions=_OF_DRIFT),)


def _levels(high: float, low: float) -> dict[str, str]:
    less = words.LESS(percent=f"{100 * (high - low) / high:.0f}")
    return {"high": f"{high:.4g}", "low": f"{low:.4g}", "less": less}


class _Grown(NamedTuple):
    """The part of a step that grew most: what says so, what is done in it, and whether other work of the device, a share of the step
    that matters, takes as long as before: then the device is as fast as it was."""

    name: str
    claim: Claim
    sort: str
    is_alone: bool


def _grown(case: Case, points: pl.DataFrame, onset: int, newest: int) -> _Grown | None:
    """By the times in the same file, those from step `newest` on beside those before the onset; of those that grew alike the innermost."""
    timed = with_sort(case.tables["timings"]).filter(pl.col("sort").is_in(["work", "host", "wait"]))
    timed = timed.filter(pl.col("file") == points["file"][0]).drop_nulls("line")
    late, value = pl.col("step") >= onset, pl.col("value_ms")
    parts = timed.group_by("name", "level", "sort").agg(
        before=value.filter(~late).median(),
        after=value.filter(pl.col("step") >= newest).median(),
        line=pl.col("line").filter(late & (value > value.filter(~late).median() * _GROWN)).min(),
    )
    is_grown = pl.col("after") > _GROWN * pl.col("before")
    same = parts.filter(~is_grown & (pl.col("sort") == "work"))["before"].sum()
    is_alone = float(same) >= _AS_BEFORE * float(parts["before"].sum())
    parts = parts.filter(is_grown).with_columns(more=pl.col("after") - pl.col("before"))
    parts = parts.filter(pl.col("more") >= _ALIKE * pl.col("more").max()).sort("level", "more", descending=True)
    if parts.is_empty():
        return None
    name, before, after, line, sort = parts.select("name", "before", "after", "line", "sort").row(0)
    text = words.GREW_MOST(name=name, before=f"{before:.4g}", after=f"{after:.4g}")
    is_alone &= not way_of(name).towards  # within a pass the ranks wait for each other
    return _Grown(name, Claim(text, "for", (Ref(file=points["file"][0], line=line, text=name),)), sort, is_alone)


def _finding(
    case: Case,
    text: Said,
    onset: int | None,
    shown: pl.DataFrame,
    name: str,
    explained: Sequence[Apart] | None,
    grown: _Grown | None = None,
    jumped: Jump | None = None,
    *,
    is_sinking: bool = False,
) -> Finding:
    """`explained`: what was measured of the one device or host that accounts for the fall. Else whose device is held back is
    a suspect: nothing shows that the others waited for it."""
    claim = Claim(text, "for", tuple(_ref(row, name) for row in shown.iter_rows(named=True)))
    if explained:
        return _explained(text, onset, claim, explained, shown["time_ns"][-1])
    slowed = [one for one in case.apart if one.effect == "slows"]
    beside = words.MEASURED_APART(what=first_clause(slowed[0].text)) if slowed else ""
    parts = words.PART_OF_STEP(grew=grown.claim.text) if grown else ""
    leapt = []
    if jumped is not None:
        leapt = [Claim(_said(jumped), "for", (Ref(file=jumped.file, line=jumped.line, text=jumped.name),))]
    is_of_work = grown is not None and grown.sort == "work" and grown.is_alone and not slowed
    return Finding(
        cause="throughput_drop",
        suspect_ranks=tuple(sorted({one.rank for one in slowed if one.rank is not None})),
        suspect_hosts=tuple(sorted({one.host for one in slowed if one.rank is None and one.host})),
        domain="workload" if is_of_work else "unknown",
        claims=(
            claim,
            *((grown.claim,) if grown else ()),
            *leapt,
            *(Claim(one.text, "for", one.refs) for one in slowed[:4]),
        ),
        first_anomaly=FirstAnomaly(step=onset, signature=SINKING if is_sinking else "throughput_drop"),
        actions=(_action(grown, jumped, is_of_work=is_of_work),),
        collect=(words.TIMERS_AND_CLOCKS,),
        summary=joined(
            (
                words.SLOW(what=text),
                parts,
                words.OTHER_WORK_AS_BEFORE if is_of_work else words.WHICH_RANK_UNKNOWN,
                beside,
            ),
            " ",
        ),
    )


def _said(jumped: Jump) -> Said:
    before, after = f"{jumped.before:g}", f"{jumped.after:g}"
    return words.JUMPED(name=jumped.name, before=before, after=after, step=jumped.step)


def _action(grown: _Grown | None, jumped: Jump | None, *, is_of_work: bool) -> Action:
    if is_of_work and grown is not None:
        of_work = words.WORK_OF_ONE_PART(part=grown.name)
        reason = of_work if jumped is None else words.JUMPED_THEN(part=grown.name, jumped=_said(jumped))
        return to_do("check_config", "job", reason)
    if grown is not None and grown.sort == "host":
        return to_do("check_data", "job", words.HOSTS_KEEP_WAITING)
    return to_do("inspect_hardware", "job", words.ONE_SLOWS_ALL)


def _explained(text: Said, onset: int | None, claim: Claim, reason: Sequence[Apart], when_ns: int | None) -> Finding:
    """The one device or host whose measures account for the fall; `when_ns`: when that was, as far as told."""
    first = reason[0]
    is_link = first.effect == "link"
    target = first.who if not is_link else str(first.host)
    is_timed = is_link or (first.since_ns is not None and when_ns is not None)
    look = to_do("inspect_hardware", target, words.SLOWER_AS_THE_JOB)
    device = () if is_link else (Device(host=first.host, pci=first.pci, index=first.index, uuid=None),)
    return Finding(
        cause="straggler_network" if is_link else "straggler_compute",
        ranks=(first.rank,) if first.rank is not None and not is_link else (),
        hosts=(first.host,) if first.host else (),
        devices=device,
        domain="infrastructure",
        undecided=() if is_timed else ("clock_error_exceeds_gap",),
        claims=(claim, *(Claim(one.text, "for", one.refs) for one in reason[:4])),
        first_anomaly=FirstAnomaly(
            step=onset, host=first.host, rank=None if is_link else first.rank, signature="throughput_drop"
        ),
        actions=(to_do("inspect_network", target, words.ALL_WAIT_FOR_LINK) if is_link else look,),
        summary=joined((words.SLOW(what=text), words.ALL_WAIT_FOR_IT(what=first_clause(first.text))), " "),
    )  # fmt: skip


def _ref(row: dict[str, Any], name: str) -> Ref:
    line = row["line"] if row["line"] is not None else row["record"]
    return Ref(file=row["file"], line=line, text=f"step {row['step']}: {row['rate']:.5g} {name}")


DETECTOR = Detector("throughput_drop", ("steps",), detect, "slow")
