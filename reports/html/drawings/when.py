"""The time axis of the first screen: who stopped, who waits, and what happened, from one zero. Small enough for a phone: names
stand above their lanes, and nothing is wider than the picture."""

from collections.abc import Sequence
from typing import NamedTuple

from forensics.model.drawn import TimelineItem, Track
from forensics.model.incident import Incident
from forensics.model.said import Said, joined
from reports.html.drawings import labels
from reports.html.drawings.axis import Axis, Break, Tick
from reports.html.drawings.place import Step, Zero, has_stopped, stop, zero
from reports.html.drawings.timeline import moments_of, who
from reports.layout import cut, plain, seconds

_LANES, _WIDTH, _SIDE = 3, 660, 12
_TOP, _LANE, _NAME, _BAR = 22, 44, 16, 14
_TICKS = 128  # pixels between two of them: their words must not meet where the picture is small
_MARK = 20


class Bar(NamedTuple):
    x: float
    width: float
    is_open: bool


class Lane(NamedTuple):
    y: int
    state: str
    name: str
    bars: list[Bar]
    stopped: float | None


class Mark(NamedTuple):
    """Of a moment, with its number in the timeline; `at`: its place on the axis, `x`: that of the number, beside others."""

    number: int
    at: float
    x: float
    y: int
    step: Step


class When(NamedTuple):
    """`zero`: what happened at 0. `moments`: what came before and after it, numbered as in the timeline."""

    width: int
    height: int
    lanes: list[Lane]
    marks: list[Mark]
    ticks: list[Tick]
    breaks: list[Break]
    at_zero: float
    zero: Said | str
    moments: list[tuple[int, Step]]


def when(incident: Incident) -> When | None:
    """None where there is nothing to draw: no operation, no stop, and fewer than two moments."""
    at_zero, steps = zero(incident), stop(incident)
    tracks = list(incident.views.tracks[:_LANES])
    if at_zero is None:
        return None
    stops = [at for track in tracks if (at := _stopped(incident, track, at_zero)) is not None]
    moments = [*moments_of(tracks), *stops, *(step.at for step in steps), at_zero.at]
    if len({*moments}) < 2:
        return None
    axis = Axis(moments, at_zero.at, _SIDE, _WIDTH - _SIDE)
    lanes = [_lane(at, track, axis, stopped=_stopped(incident, track, at_zero)) for at, track in enumerate(tracks)]
    if not lanes or (any(step.item is not None and step.item.lane != "culprit" for step in steps) and len(lanes) < 2):
        lanes.append(Lane(_TOP + _LANE * len(lanes), "system", labels.EVENTS, [], None))
    numbered = _numbered(steps, incident.views.timeline)
    marks = _marks(numbered, lanes, axis)
    ticks = _ticks(axis, at_zero.at)
    height = _TOP + _LANE * len(lanes) + 22
    told = at_zero.text or at_zero.label
    return When(_WIDTH, height, lanes, marks, ticks, axis.breaks(), axis.at(at_zero.at), told, numbered)


def _numbered(steps: Sequence[Step], items: Sequence[TimelineItem]) -> list[tuple[int, Step]]:
    numbers = {id(item): number for number, item in enumerate(items, 1)}
    return [(numbers[id(step.item)], step) for step in steps if step.item is not None]


def _stopped(incident: Incident, track: Track, at_zero: Zero) -> float | None:
    """Of a crash its end is the stop, whatever came last before it."""
    stopped = seconds(track.stopped_utc) if has_stopped(incident) else None
    return at_zero.at if stopped is not None and incident.verdict.kind == "crash" else stopped


def _lane(at: int, track: Track, axis: Axis, *, stopped: float | None) -> Lane:
    held = labels.HELD(operation=plain(track.held)) if track.held else ""
    name = cut(joined((who(track.ranks), labels.STATE[track.state], held), ", "), 78)
    return Lane(_TOP + _LANE * at, track.state, name, _bars(track, axis), None if stopped is None else axis.at(stopped))


def _bars(track: Track, axis: Axis) -> list[Bar]:
    bars = []
    for span in track.spans:
        begin, end = seconds(span.start_utc), seconds(span.end_utc)
        if begin is None:
            continue
        x = axis.at(begin)
        width = axis.end - x if span.is_open else 3 if end is None else max(3, axis.at(end) - x)
        bars.append(Bar(x, round(width, 2), span.is_open))
        if span.is_open:
            break  # what was enqueued behind it had not begun
    return bars


def _marks(numbered: Sequence[tuple[int, Step]], lanes: Sequence[Lane], axis: Axis) -> list[Mark]:
    """Numbers of one lane stand apart, in order of time, within the picture."""
    rows = {"culprit": 0, "peers": min(1, len(lanes) - 1), "system": len(lanes) - 1}
    found = [
        Mark(number, axis.at(step.at), axis.at(step.at), lanes[rows[step.item.lane]].y + _NAME + _BAR // 2, step)
        for number, step in numbered
        if step.item is not None
    ]
    edge = {mark.y: float(_WIDTH - _SIDE) for mark in found}
    for at in reversed(range(len(found))):
        x = min(found[at].x, edge[found[at].y])
        edge[found[at].y] = x - _MARK
        found[at] = found[at]._replace(x=round(x, 2))
    return found


def _ticks(axis: Axis, zero: float) -> list[Tick]:
    """0 always, and of the others those whose words stand apart from it and from each other."""
    kept = [Tick(round(axis.at(zero)), "0")]
    for tick in axis.ticks():
        if all(abs(tick.x - other.x) >= _TICKS * (0.6 if other.text == "0" else 1) for other in kept):
            kept.append(tick)
    return sorted(kept)
