"""The small pictures of the first screen: where in the machine the named ranks are, and when it stopped."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from forensics.model.drawn import TimelineItem
from forensics.model.incident import Incident, Place
from forensics.model.said import Said, capital, joined
from reports.html.drawings import labels
from reports.html.drawings.axis import is_coarse, relative
from reports.html.drawings.ranks import short
from reports.layout import cells, cut, holds, ranks_phrase, seconds, spans

_WIDTH = 340
_CELLS = 32  # more are one bar
_VALUE = 19  # characters beside it
_STRIPS = 6


class Strip(NamedTuple):
    """One way to say where: the hosts, the GPUs of the host, an axis of the job. `cells`: the path of all, `marked`: of
    those that hold a named rank."""

    name: str
    value: str
    y: int
    cells: str
    marked: str


class Picture(NamedTuple):
    width: int
    height: int
    strips: list[Strip]
    is_suspected: bool


class Step(NamedTuple):
    """`at`: seconds since 1970; `item`: the event, None of the stop itself."""

    relative: str
    text: str
    is_stop: bool
    at: float
    item: TimelineItem | None


def place(incident: Incident) -> Picture | None:
    """Where the named ranks are, else the suspects; nothing where neither hosts nor axes say more than the rank."""
    verdict, views = incident.verdict, incident.views
    ranks = sorted({*verdict.ranks, *verdict.cycle} or set(verdict.suspects.ranks))
    rows = [*_hosts(incident, ranks), *_devices(verdict.places, ranks)]
    for axis in views.mesh if ranks else ():
        at = sorted({rank // axis.stride % axis.size for rank in ranks})
        rows.append((short(axis.name), axis.size, at, _some(at, axis.size)))
    if not ranks and not rows:
        return None
    world = max((last for cell in views.grid for _, last in spans(cell.ranks)), default=0) + 1
    if ranks and not views.mesh and world > 1:
        rows.insert(0, ("rank", world, ranks, _some(ranks, world)))
    strips = [
        Strip(name, value, 4 + 24 * number, _cells(size, range(size)), _cells(size, at))
        for number, (name, size, at, value) in enumerate(rows[:_STRIPS])
    ]
    is_suspected = not (verdict.ranks or verdict.cycle or verdict.hosts)
    return Picture(_WIDTH, 24 * len(strips) + 4, strips, is_suspected) if strips else None


def _hosts(incident: Incident, ranks: Sequence[int]) -> list[tuple[str, int, list[int], str]]:
    hosts = incident.views.hosts
    named = set(incident.verdict.hosts)
    at = [number for number, host in enumerate(hosts) if (holds(host.ranks, ranks) if ranks else host.host in named)]
    if not at:
        return []
    value = hosts[at[0]].host if len(at) == 1 else f"{len(at):,}"
    whole = labels.OF_ALL(some=value, size=len(hosts)) if len(hosts) > 1 else value
    return [(labels.HOST, len(hosts), at, whole if cells(whole) <= _VALUE else cut(value, _VALUE))]


def _devices(places: Iterable[Place], ranks: Sequence[int]) -> list[tuple[str, int, list[int], str]]:
    at = sorted({place.device.index for place in places if place.rank in ranks and place.device.index is not None})
    return [(labels.GPU, max(8, at[-1] + 1), at, _some(at, 0))] if at and at[-1] < 64 else []


def _some(at: Sequence[int], size: int) -> str:
    text = ", ".join(map(str, at[:3])) + (", …" if len(at) > 3 else "")
    return labels.OF_ALL(some=text, size=size) if size else text


def _cells(size: int, at: Iterable[int]) -> str:
    """Squares side by side, or, of many, their share of one bar; at least three pixels of it."""
    left, width = 60, 134
    if size <= _CELLS:
        step = min(14, width // size)
        wide = step - 2 if step > 3 else step - 1
        return "".join(f"M{left + step * index} 0h{wide}v13h-{wide}z" for index in at)
    if isinstance(at, range):
        return f"M{left} 0h{width}v13h-{width}z"
    return "".join(f"M{left + min(width * index // size, width - 3)} 0h3v13h-3z" for index in at)


class Zero(NamedTuple):
    """A moment in seconds since 1970, what it is, and what happened then, empty where that is no event."""

    at: float
    label: Said
    text: str = ""


def has_stopped(incident: Incident) -> bool:
    """Does the verdict say that the job stood still or ended?"""
    return incident.verdict.kind in ("hang", "crash")


def zero(incident: Incident) -> Zero | None:
    """The moment from which all times of the page count: when it stopped, else the first anomaly, else the first event.

    Of a crash the stop is what happened to the named rank; else its last step or completed operation."""
    items = _timed(incident)
    own = next(((at, _told(item)) for at, item in items if item.lane == "culprit"), None)
    if own is None or incident.verdict.kind != "crash":
        own = _last_sign(incident)
    if own is not None:
        return Zero(own[0], labels.STOP, own[1])
    if (first := seconds(incident.verdict.first_anomaly.time_utc)) is not None:
        return Zero(first, labels.FIRST_ANOMALY)
    return Zero(items[0][0], labels.FIRST_EVENT) if items else None


def stop(incident: Incident) -> list[Step]:
    """What came just before zero, the stop itself where it is known, and what came of it; at most five, in order of time."""
    items, at_zero = _timed(incident), zero(incident)
    if at_zero is None or (not at_zero.text and len(items) < 2):
        return []
    if not at_zero.text:
        return [_step(at, item, at_zero.at) for at, item in items[-4:]]
    others = [(at, item) for at, item in items if (at, _told(item)) != (at_zero.at, at_zero.text)]
    before = [_step(at, item, at_zero.at) for at, item in others if at < at_zero.at][-2:]
    after = [_step(at, item, at_zero.at) for at, item in others if at >= at_zero.at][:2]
    return [*before, Step("0", at_zero.text, True, at_zero.at, None), *after]


def _timed(incident: Incident) -> list[tuple[float, TimelineItem]]:
    return [(at, item) for item in _telling(incident) if (at := seconds(item.time_utc)) is not None]


def _last_sign(incident: Incident) -> tuple[float, str] | None:
    """Of a job that hung or crashed: when the first of the named or suspected ranks last did something, and its name."""
    if not has_stopped(incident):
        return None
    stops = [(at, track) for track in incident.views.tracks if (at := seconds(track.stopped_utc)) is not None]
    if not stops:
        return None
    at, track = min(stops, key=lambda stop: stop[0])
    return at, labels.STOPPED(who=capital(ranks_phrase(track.ranks, 2)))


def _step(at: float, item: TimelineItem, zero: float) -> Step:
    return Step(relative(at - zero, is_coarse=is_coarse(item.time_utc)), _told(item), False, at, item)


def _telling(incident: Incident) -> list[TimelineItem]:
    """What ranks did, and records of hardware that hold a named rank; what others' hardware did is no part of the story."""
    verdict = incident.verdict
    named = {*verdict.ranks, *verdict.cycle}
    return [item for item in incident.views.timeline if item.lane != "system" or holds(item.ranks, named)]


def _told(item: TimelineItem) -> str:
    return joined((f"{item.count:,} × " if item.count > 1 else "", item.label), "")
