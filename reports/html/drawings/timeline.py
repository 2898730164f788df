"""The timeline: a track per class of ranks with its last operations, and events on the same axis."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from forensics.model.drawn import Span, TimelineItem, Track
from forensics.model.said import joined
from reports.html.drawings import labels
from reports.html.drawings.axis import Axis, Break, Tick, is_coarse, relative
from reports.html.drawings.place import Zero
from reports.layout import count, cut, plain, ranks_phrase, seconds

ITEMS = 40
_TRACKS = 5
_LEFT, _RIGHT, _TOP, _LANE = 222, 962, 30, 38
_MARK = 20  # pixels between two numbers


class Bar(NamedTuple):
    """An operation: from x, `width` wide; an open one runs into the gap after it."""

    x: float
    width: float
    text: str
    is_open: bool


class Moment(NamedTuple):
    number: int
    item: TimelineItem
    relative: str
    x: float  # of the mark
    at: float  # on the axis
    y: int
    is_drawn: bool


class Lane(NamedTuple):
    y: int
    state: str
    first: str
    second: str
    whole: str  # nothing of it cut
    bars: list[Bar]
    stopped: float | None


class Timeline(NamedTuple):
    width: int
    height: int
    left: int  # where time begins
    parts: list[tuple[float, float, float, float]]  # of the axis: left, right, pixels; begin, end, seconds from zero
    lanes: list[Lane]
    moments: list[Moment]
    ticks: list[Tick]
    breaks: list[Break]
    zero: str
    day: str  # of all events, or ""
    cut_off: int


def timeline(
    items: Sequence[TimelineItem], tracks: Sequence[Track], zero: Zero | None, *, has_stopped: bool
) -> Timeline | None:
    """Ticks count from `zero`, as all times of the page do; without it, where the job stopped, from when the first of who is
    named did; else from the first event."""
    shown = list(items[:ITEMS])
    drawn = [track if has_stopped else msgspec.structs.replace(track, stopped_utc=None) for track in tracks[:_TRACKS]]
    stops = [stop for track in drawn if (stop := seconds(track.stopped_utc)) is not None]
    told = [at for item in shown if (at := seconds(item.time_utc)) is not None]
    origin = next(iter((*([zero.at] if zero else []), *stops[:1], *told[:1])), None)
    if origin is None:
        return None
    axis = Axis([*told, *stops, *moments_of(drawn), origin], origin, _LEFT + 12, _RIGHT - 12)
    lanes, rows = _lanes(drawn, shown, axis)
    numbered = _numbered(shown, axis, rows, origin)
    label = zero.label if zero else labels.STOP if stops else labels.FIRST_EVENT
    height = _TOP + _LANE * len(lanes) + 4
    days = {item.time_utc.partition("T")[0] for item in shown}
    day = days.pop() if len(days) == 1 else ""
    parts = [
        (round(part.left, 2), round(part.right, 2), round(part.begin - origin, 6), round(part.end - origin, 6))
        for part in axis.parts
    ]
    return Timeline(
        _RIGHT + 12, height, _LEFT, parts, lanes, numbered, axis.ticks(), axis.breaks(), label, day, len(items) - len(shown)
    )  # fmt: skip


def moments_of(tracks: Sequence[Track]) -> list[float]:
    texts = [text for track in tracks for span in track.spans for text in (span.start_utc, span.end_utc)]
    return [at for text in texts if (at := seconds(text)) is not None]


def _lanes(tracks: Sequence[Track], items: Sequence[TimelineItem], axis: Axis) -> tuple[list[Lane], dict[str, int]]:
    """Tracks from the named rank down to those that wait, then hardware and system; which lane takes which events."""
    lanes = [
        Lane(
            _TOP + _LANE * at,
            track.state,
            cut(who(track.ranks), 24),
            cut(_held(track), 40),
            joined((ranks_phrase(track.ranks), _held(track)), " "),
            _bars(track, axis),
            None if (stop := seconds(track.stopped_utc)) is None else axis.at(stop),
        )
        for at, track in enumerate(tracks)
    ]
    rows = {"culprit": 0, "peers": next((at for at, one in enumerate(tracks) if one.state in ("waiting", "ok")), 0)}
    has_peers = any(item.lane == "peers" for item in items)
    if not lanes or (rows["peers"] == 0 and has_peers and lanes[0].state in ("culprit", "dead", "suspect")):
        rows["peers"] = len(lanes)
        lanes.append(_plain_lane(len(lanes), "waiting", labels.OTHER_RANKS))
    if any(item.lane == "system" for item in items):
        rows["system"] = len(lanes)
        lanes.append(_plain_lane(len(lanes), "system", labels.SYSTEM))
    return lanes, rows


def _plain_lane(at: int, state: str, name: str) -> Lane:
    return Lane(_TOP + _LANE * at, state, name, "", name, [], None)


def _held(track: Track) -> str:
    if track.held:
        return labels.HELD(operation=plain(track.held))
    return "" if track.spans else labels.NO_OPERATION


def who(ranks: str) -> str:
    """As ranges, where these are short; else how many."""
    total = count(ranks)
    return ranks_phrase(ranks) if total == 1 or len(ranks) <= 12 else labels.RANKS(total)


def _bars(track: Track, axis: Axis) -> list[Bar]:
    bars = []
    starts = [seconds(span.start_utc) for span in track.spans]
    for at, (span, start) in enumerate(zip(track.spans, starts, strict=True)):
        if start is None:
            continue
        end = seconds(span.end_utc)
        follower = next((later for later in starts[at + 1 :] if later is not None), None)
        x = axis.at(start)
        if span.is_open:
            width = axis.end - x
        elif end is not None:
            width = max(2, axis.at(end) - x)
        else:  # its end is not recorded: no longer than until the next began
            width = max(2, min(6, axis.at(follower) - x - 1)) if follower is not None else 4
        bars.append(Bar(x, round(width, 2), _told(span, start - axis.zero, end and end - start), span.is_open))
        if span.is_open:
            break  # what was enqueued behind it had not begun
    return bars


def _told(span: Span, start: float, took: float | None) -> str:
    begun = relative(start)
    if span.is_open:
        return labels.NEVER_COMPLETED(label=span.label, start=begun)
    if took is None:
        return labels.BEGAN(label=span.label, start=begun)
    return labels.TOOK(label=span.label, start=begun, took=relative(took).lstrip("+"))


def _numbered(items: Sequence[TimelineItem], axis: Axis, rows: dict[str, int], origin: float) -> list[Moment]:
    """Marks of one lane stand apart, in order of time; a line leads to the moment itself."""
    found, last = [], dict.fromkeys(rows, 0.0)
    for number, item in enumerate(items, 1):
        at = seconds(item.time_utc)
        lane = item.lane if item.lane in rows else "peers"
        x = 0 if at is None else max(axis.at(at), last[lane] + _MARK)
        if at is not None:
            last[lane] = x
        text = "" if at is None else relative(at - origin, is_coarse=is_coarse(item.time_utc))
        y = _TOP + _LANE * rows[lane] + _LANE // 2
        found.append(Moment(number, item, text, x, 0 if at is None else axis.at(at), y, at is not None))
    return _pulled_back(found)


def _pulled_back(moments: list[Moment]) -> list[Moment]:
    """Marks that were pushed beyond the right edge push the others of their lane to the left."""
    edge: dict[int, float] = {}
    out = []
    for moment in reversed(moments):
        if moment.is_drawn:
            x = min(moment.x, edge.get(moment.y, _RIGHT))
            edge[moment.y] = x - _MARK
            moment = moment._replace(x=x)
        out.append(moment)
    return out[::-1]
