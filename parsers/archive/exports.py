"""Exports of log stores as the lines that were logged: what stands in a document, in nested records, in cells, or newest first.

    {"status": "success", "data": {"resultType": "streams", "result": [{"stream": {"pod": "w-3"}, "values": [["17…", "a line"]]}]}}
    {"took": 3, "hits": {"hits": [{"_index": "logs", "_source": {"@timestamp": "2026-…", "message": "a line", "kubernetes": {…}}}]}}
    {"_index": "logs", "_source": {"@timestamp": "2026-…", "message": "a line"}}                  a record in each line
    {"jsonPayload": {"message": "a line"}, "resource": {"labels": {"task_name": "w-3"}}, "timestamp": "2026-…"}
    {"timestamp": 1774000000038, "logStreamName": "job/w-3-1774000694", "message": "a line"}      a record in each line
    {"events": [{"logStreamName": "job/w-3-1774000694", "timestamp": 1774000000038, "message": "a line"}, …]}
    [{"line": "a line", "timestamp": "17…", "fields": {"pod": "w-3"}}, …]
    "@timestamp","kubernetes.pod.name","message"⏎"Nov 24, 2026 @ 09:00:00.010","w-3","a line"
    2026-11-24T09:00:02Z {pod="w-3"} a line⏎2026-11-24T09:00:01Z {pod="w-3"} the line before it

Each becomes a line of JSON with `time`, `log`, and the pod or host where it is told, in order of time, so that whoever reads collectors'
lines reads these, and tracebacks stand upright (a notebook becomes what it printed, notebooks.py, a conversation what was pasted into it, conversations.py); a line's number is that of the record in this order. Documents without lines of a log in
most of their records stay as they are. Nothing is executed; what cannot be decoded stays as it is.

Printed by: Loki (query_range, logcli), Grafana's download of Explore, Elasticsearch and OpenSearch (_search, elasticdump),
Kibana's and Grafana's CSV, CloudWatch (aws logs filter-log-events, get-log-events, results of Logs Insights), Google Cloud (gcloud logging read), consoles of Volcengine and Alibaba Cloud (CSV).
Source: Loki's documentation (reference/loki-http-api, query/logcli), Elasticsearch's (search-your-data, ECS: @timestamp, message,
kubernetes.pod.name in Filebeat's fields), FilteredLogEvent in the API reference of CloudWatch Logs, LogEntry in that of Cloud Logging, elasticdump's README, Kibana's documentation of CSV reports.
"""

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import msgspec

from parsers.archive import conversations, notebooks
from parsers.text import stamps, vocabulary
from parsers.text.patterns import regex

MOST_BYTES = 64 << 20
HEAD = 1 << 16
TEXTS = (
    "log", "message", "line", "msg", "raw", "textpayload", "jsonpayload.message", "内容", "日志内容", "日志", "content",
)  # fmt: skip
TIMES = ("time", "ts", "timestamp", "realtime_timestamp", "date", "时间", "日志时间", "时间戳")
_MARKS = (b'"_source"', b'"stream"', *notebooks.MARKS, *conversations.MARKS, *(f'{text}"'.encode() for text in TEXTS))
_DEPTH = 4  # records within each other: kubernetes.pod.name
_FEW, _MOSTLY = 2, 0.9  # records, and the share of them with a line of a log
_MOMENTS = 4  # so many that differ, of lines that are no records: a late line after others of one moment is none
_PODS = ("pod", "pod_name", "pod.name", "task_name", "实例", "实例名称", "实例名", "容器组")
_KIBANA = regex(r"([A-Z][a-z]{2}) (\d{1,2}), (\d{4}) @ (\d\d:\d\d:\d\d(?:\.\d{1,9})?)$")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_NAMING = regex(
    r"(?i)(?:^|[._])(?:addr(?:ess)?|instance|worker|unit|task|machine|member|replica|process|container|filename)(?:_?(?:id|name))?\Z"
)
_WORD = regex(r"[\w.:@/\[\]-]{1,200}")
_STREAMS = ("logstreamname", "logstream")
_CREATED = regex(r"-\d{10,13}\Z")  # when a stream was begun
_UNITS = {10: 1_000_000_000, 13: 1_000_000, 16: 1_000, 19: 1}  # of digits since 1970, by how many they are


class _Logged(NamedTuple):
    """A line of a log: when, its text, its record with the fields of inner ones."""

    time_ns: int | None
    text: str
    record: dict[str, Any]


def may_be(head: bytes) -> bool:
    """Is it worth reading the whole file? By its first bytes."""
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if start[:1] in (b"{", b"["):
        start = start.lower()
        return any(mark in start for mark in _MARKS)
    line = start.partition(b"\n")[0].decode("utf-8", "replace")
    return _columns(line) is not None or (start[:1].isdigit() and _is_newest_first(start))


def lines_of(data: bytes) -> bytes | None:
    """A whole file → the lines that were logged, oldest first; None where it is no export, or its lines are read as they are."""
    start = data.lstrip(b"\xef\xbb\xbf \t\r\n")
    if start[:1] in (b"{", b"["):
        return _of_json(start)
    if _columns(start.partition(b"\n")[0].decode("utf-8", "replace")) is not None:
        return _written(_of_cells(start.decode("utf-8", "replace")))
    return _upright(start.splitlines()) if _is_newest_first(start[:HEAD]) else None


def _of_json(data: bytes) -> bytes | None:
    first = data.partition(b"\n")[0]
    alone = _decoded(first)
    if isinstance(alone, dict) and len(first) + 1 < len(data.rstrip()):  # a record in each line
        if not isinstance(alone.get("_source"), dict) and not _is_nested(alone) and not _is_of_stream(alone):
            lines = data.splitlines()
            told = [time for line in lines[: _FEW * 500] if (time := _time_of(_decoded(line))) is not None]
            return _upright(lines) if _falls(told) else None
        return _written(_logged(_decoded(line) for line in data.splitlines()))
    found = _decoded(data)
    match found:
        case {"data": {"result": [{"stream": dict(), "values": list()}, *_] as streams}}:
            return _written(_of_streams(streams))
        case {"hits": {"hits": [dict(), *_] as hits}}:
            return _written(_logged(hits))
        case [dict(), *_]:
            return _written(_logged(found)) or conversations.lines_of(found)
        case {"nbformat": _}:
            return notebooks.lines_of(found)
        case dict():
            lists = [own for own in found.values() if isinstance(own, list) and own and isinstance(own[0], dict)]
            if len(lists) == 1 and _time_of(lists[0][0]) is not None and (logged := _written(_logged(lists[0]))):
                return logged
            return conversations.lines_of(found)
    return None


def _is_nested(record: dict[str, Any]) -> bool:
    """Does a record tell its moment, and its line in a record within it, which holds nothing else that counts?"""
    inner = next((own for name, own in record.items() if _bare(name) == "jsonpayload" and isinstance(own, dict)), {})
    others = (cell for name, cell in _flat(inner, "", 0) if _bare(name) not in TEXTS)
    is_line = isinstance(inner.get("message"), str) and all(isinstance(cell, str) for cell in others)
    return (is_line or isinstance(record.get("textPayload"), str)) and _time_of(record) is not None


def _is_of_stream(record: dict[str, Any]) -> bool:
    """Does a record tell its moment, its line, and which stream it is from by that alone?"""
    stream, text = _field(record, _STREAMS, str), _field(record, TEXTS, str)
    return None not in (stream, text, _time_of(record)) and not {*record} & {"rank", "host", "pod", "hostname"}


def _of_streams(streams: Sequence[Any]) -> Iterator[_Logged | None]:
    """Loki's: labels, and pairs of nanoseconds and a line, newest first unless it was asked otherwise."""
    for stream in streams:
        match stream:
            case {"stream": dict(labels), "values": list(values)}:
                pairs = [pair for pair in values if isinstance(pair, list) and len(pair) > 1]
                whole = [_of_record({**labels, "ts": time, "line": line}) for time, line, *_ in pairs]
                told = [one.time_ns for one in whole if one is not None and one.time_ns is not None]
                yield from reversed(whole) if _falls(told) else whole


def _of_cells(text: str) -> Iterator[_Logged | None]:
    try:
        yield from _logged(map(_with_labels, csv.DictReader(io.StringIO(text, newline=""))))
    except csv.Error:
        yield None


def _with_labels(record: dict[Any, Any]) -> dict[Any, Any]:
    """A row of cells, with the labels of its stream that one cell holds as an object."""
    held = record.get("labels")
    labels = _decoded(held.encode()) if isinstance(held, str) and held[:1] == "{" else None
    return {**record, "labels": labels} if isinstance(labels, dict) else record


def _logged(records: Iterable[Any]) -> Iterator[_Logged | None]:
    """None where a record holds no line."""
    whole = [_of_record(record.get("_source", record)) if isinstance(record, dict) else None for record in records]
    told = [one.time_ns for one in whole if one is not None and one.time_ns is not None]
    yield from reversed(whole) if _falls(told) else whole


def _of_record(record: Any) -> _Logged | None:
    if not isinstance(record, dict):
        return None
    flat = dict(_flat(record, "", 0))
    text = _field(flat, TEXTS, str)
    return None if text is None else _Logged(_time_of(flat), text, flat)


def _field(record: Mapping[str, Any], words: Sequence[str], kind: Any = object) -> Any:
    """The value under the first of some names, however a store decorates them: `@message`, `_raw`, `Message`."""
    named = {_bare(name): name for name in reversed([*record])}
    return next((found for word in words if word in named and isinstance(found := record[named[word]], kind)), None)


@lru_cache(maxsize=8192)  # names of fields are few, and each record has them all
def _bare(name: str) -> str:
    return name.lstrip("@_").lower()


def _flat(record: dict[Any, Any], before: str, depth: int) -> Iterator[tuple[str, Any]]:
    for key, value in record.items():
        if isinstance(value, dict) and depth < _DEPTH:
            yield from _flat(value, f"{before}{key}.", depth + 1)
        else:
            yield f"{before}{key}", value


def _time_of(record: Any) -> int | None:
    found = _field(record, TIMES) if isinstance(record, dict) else None
    if isinstance(found, str):
        if found.isascii() and found.isdigit():
            return int(found) * _UNITS[len(found)] if len(found) in _UNITS else None
        return stamps.parse_time(_plain(found))[0]
    if isinstance(found, int | float) and not isinstance(found, bool):
        digits = str(int(found)) if abs(found) < 1e19 else ""
        return int(found * _UNITS[len(digits)]) if len(digits) in _UNITS else None
    return None


def _plain(time: str) -> str:
    """Kibana's words for a time as others write it."""
    said = _KIBANA.match(time)
    if said is None or said[1] not in _MONTHS:
        return time
    return f"{said[3]}-{_MONTHS.index(said[1]) + 1:02}-{int(said[2]):02} {said[4]}"


def _written(logged: Iterable[_Logged | None]) -> bytes | None:
    """Lines of JSON in order of time, if most records hold a line; each line of a text of several is one."""
    whole = list(logged)
    told = [one for one in whole if one is not None]
    if len(told) < _FEW or len(told) < _MOSTLY * len(whole):
        return None
    told.sort(key=lambda one: one.time_ns if one.time_ns is not None else -1)
    lines = []
    places = [_place(one.record) for one in told]
    if not any(places) and (label := _apart(told)) is not None:
        places = [{"host": str(one.record.get(label, ""))} for one in told]
    names = _names(told)
    for one, where in zip(told, places, strict=True):
        time = _field(one.record, TIMES)
        rest = {name: one.record[name] for name in ("rank", "stream", "container") if name in one.record}
        named = {name: one.record.get(name) for name in names}
        others = {name: cell for name, cell in named.items() if cell is not None and cell not in where.values()}
        stamp = {} if time is None else {"time": _plain(time) if isinstance(time, str) else time}
        for text in one.text.splitlines() or [""]:
            lines.append(msgspec.json.encode({**others, **stamp, **where, **rest, "log": text}))
    return b"\n".join(lines) + b"\n"


def _place(record: dict[str, Any]) -> dict[str, str]:
    """The pod or the task, else the host: processes of one pod are fewer than those of its node."""
    for words in (_PODS, ("host", "hostname", "node", "node_name", "host.name", "node.name")):
        for name, value in record.items():
            plain = name.lower().removesuffix(".keyword")
            found = next((word for word in words if plain == word or plain.endswith(("." + word, "_" + word))), None)
            if isinstance(value, str) and value and found is not None:
                return {"pod" if found.startswith("pod") else "host": value}
    stream = _field(record, _STREAMS)
    named = _CREATED.sub("", stream.rpartition("/")[2]) if isinstance(stream, str) else ""
    return {"host": named} if named else {}


def _apart(told: Sequence[_Logged]) -> str | None:
    """The one field that tells processes apart by a name of theirs, each of several lines; the finest of several."""
    values: dict[str, Counter[str]] = {}
    for one in told:
        for name, value in one.record.items():
            if isinstance(value, str) and _WORD.fullmatch(value) and _NAMING.search(name):
                values.setdefault(name, Counter())[value] += 1
    found = {
        name: len(own) for name, own in values.items()
        if len(own) >= _FEW and min(own.values()) >= _FEW and own.total() == len(told)
    }  # fmt: skip
    finest = [name for name, many in found.items() if many == max(found.values())]
    return finest[0] if len(finest) == 1 else None


def _names(told: Sequence[_Logged]) -> list[str]:
    """Fields that hold another name in some records, and none of its own in each: what else those are called who speak."""
    values: dict[str, Counter[str]] = {}
    for one in told:
        for name, value in one.record.items():
            if isinstance(value, str) and _WORD.fullmatch(value) and not value.isdecimal():
                values.setdefault(name, Counter())[value] += 1
    return [
        name for name, own in values.items()
        if len(own) >= _FEW and max(own.values()) >= _FEW and not vocabulary.points_elsewhere(name)
    ]  # fmt: skip


def _columns(line: str) -> list[str] | None:
    """The names in a header that has a text and a time, else null."""
    try:
        names = next(csv.reader([line]), [])
    except csv.Error:
        return None
    bare = {*map(_bare, names)}
    return names if bare & set(TEXTS) and bare & set(TIMES) else None


def _is_newest_first(head: bytes) -> bool:
    """Do all lines of a beginning begin with a time, each no later than the one before, at several moments?"""
    lines = head.rpartition(b"\n")[0].splitlines() if len(head) >= HEAD else head.splitlines()
    told: list[int] = []
    for line in lines:
        time_ns, _ = stamps.parse_time(line[:64].decode("utf-8", "replace"))
        if time_ns is None or (told and time_ns > told[-1]):
            return False
        told.append(time_ns)
    return len({*told}) >= _MOMENTS


def _falls(times: Sequence[int]) -> bool:
    return len(times) > 1 and times[0] > times[-1] and all(a >= b for a, b in pairwise(times))


def _upright(lines: Sequence[bytes]) -> bytes:
    return b"\n".join(reversed(lines)) + b"\n"


def _decoded(data: bytes) -> Any:
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return None
