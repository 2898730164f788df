"""The timeline of an incident for trace viewers (Perfetto, chrome://tracing): tracks with their operations, and events.

Trace Event Format: `X` a span with `dur`, `i` an instant, `M` the name of a process or thread; times in microseconds.
Source: "Trace Event Format", Google, 2016. Zero is the first moment of the incident; `otherData.zero_utc` says when that was.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from forensics.model.drawn import Span, TimelineItem, Track
from forensics.model.incident import Document, Incident
from forensics.model.said import encoded
from reports import summary
from reports.layout import ranks_phrase, seconds
from reports.sanitize import clean
from reports.words import LANE, STATE

_EVENTS = 0  # the process that holds what no track does
_LANES = {"culprit": 1, "peers": 2, "system": 3}
_LEAST = 1  # microseconds: a span that has no end of its own is still seen


def render(report: Document) -> bytes:
    """One JSON document; the same report gives the same bytes."""
    incident = summary.primary(report)
    moments = sorted(_moments(incident)) if incident else []
    events = list(_events(incident, moments[0][0], moments[-1][0])) if incident and moments else []
    other = {"bundle": clean(report.bundle.name), "tool": f"{report.tool.name} {report.tool.version}"}
    if moments:
        other["zero_utc"] = moments[0][1]
    document = {"displayTimeUnit": "ms", "otherData": other, "traceEvents": events}
    return msgspec.json.encode(document, enc_hook=encoded, order="sorted") + b"\n"


def _moments(incident: Incident) -> Iterator[tuple[float, str]]:
    texts = [item.time_utc for item in incident.views.timeline]
    for track in incident.views.tracks:
        texts += [text for span in track.spans for text in (span.start_utc, span.end_utc) if text]
        texts += [track.stopped_utc] if track.stopped_utc else []
    for text in texts:
        at = seconds(text)
        if at is not None:
            yield at, text


def _events(incident: Incident, zero: float, end: float) -> Iterator[dict[str, Any]]:
    yield _name("process_name", _EVENTS, 0, "events")
    for lane, thread in _LANES.items():
        yield _name("thread_name", _EVENTS, thread, LANE[lane])
    for item in incident.views.timeline:
        at = seconds(item.time_utc)
        if at is not None:
            yield _instant(item, _micro(at - zero))
    for number, track in enumerate(incident.views.tracks, 1):
        yield _name("process_name", number, 0, f"{ranks_phrase(track.ranks)}: {STATE[track.state]}")
        yield {"ph": "M", "name": "process_sort_index", "pid": number, "tid": 0, "args": {"sort_index": number}}
        yield from _track(track, number, zero, end)


def _track(track: Track, process: int, zero: float, end: float) -> Iterator[dict[str, Any]]:
    """A thread per group, since operations of several groups overlap."""
    threads: dict[str, list[Span]] = {}
    for span in track.spans:
        threads.setdefault(span.label.partition(" of ")[2], []).append(span)
    for number, (group, spans) in enumerate(threads.items(), 1):
        yield _name("thread_name", process, number, f"rank {track.of}, {group}" if group else f"rank {track.of}")
        starts = [seconds(span.start_utc) for span in spans]
        for at, (span, start) in enumerate(zip(spans, starts, strict=True)):
            if start is None:
                continue
            follower = next((later for later in starts[at + 1 :] if later is not None), None)
            told = end if span.is_open else seconds(span.end_utc)
            stop = told if told is not None else follower if follower is not None else start
            yield {
                "ph": "X", "cat": "operation", "name": clean(span.label), "pid": process, "tid": number,
                "ts": _micro(start - zero), "dur": max(_LEAST, _micro(stop - start)),
                "args": {"completed": not span.is_open, "end recorded": span.end_utc is not None},
            }  # fmt: skip
    stopped = seconds(track.stopped_utc)
    if stopped is not None:
        yield {
            "ph": "i", "s": "p", "cat": "stop", "name": "last step or operation completed", "pid": process, "tid": 1,
            "ts": _micro(stopped - zero),
        }  # fmt: skip


def _instant(item: TimelineItem, at: int) -> dict[str, Any]:
    where = clean(summary.place(item.ref)) if item.ref else None
    return {
        "ph": "i", "s": "g" if item.lane == "culprit" else "t", "cat": item.lane, "name": clean(item.label), "pid": _EVENTS,
        "tid": _LANES[item.lane], "ts": at,
        "args": {"count": item.count, "ranks": item.ranks, "time": clean(item.time_utc), "where": where},
    }  # fmt: skip


def _name(what: str, process: int, thread: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": process, "tid": thread, "args": {"name": clean(name)}}


def _micro(seconds_: float) -> int:
    return round(seconds_ * 1e6)
