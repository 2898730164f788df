"""A line as it stands in records of collectors, JSON or logfmt: the text that was logged, when, and who said it.

    {"log": "a line\\n", "stream": "stderr", "time": "2026-…", "kubernetes": {"pod_name": "w-3"}}       docker, Loki, ELK, journald
    ts=2026-… pod=w-3 container=main level=error msg="a line"                                      promtail, Cloud Logging's sinks

Source: Docker's json-file driver, systemd.journal-fields(7), Loki's documentation, the grammar of github.com/kr/logfmt.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from parsers.schema.labels import NO_LABELS, Labels
from parsers.schema.names import CALLS, is_of_others
from parsers.text import lenient, stamps, vocabulary
from parsers.text.patterns import regex
from parsers.text.unanimous import sole

ANSI = regex(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_BETTER = {None: 0, "boot": 1, "local": 2, "utc": 3}
# A host has pods of several processes each: of one of its pods, that is who speaks.
_PLACES = ("pod_name", "pod", "host", "hostname", "_HOSTNAME", "node")
_TIMES = ("time", "ts", "timestamp", "@timestamp", "__REALTIME_TIMESTAMP")
_DEEP = 2
_PIDS = ("_PID", "pid", "process", "process_id")
_BARE = regex(r"[\w.:-]{1,255}")
_STAMP = regex(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S{0,20}")
_INSTANCE = regex(r"@(\d{1,3})\.service\Z")
_BAD_NUMBER = regex(r"(?P<before>[:,\[] ?)-?(?:NaN|Infinity|nan|inf)(?=\s{0,4}[,}\]])")
_PAIR = regex(r'(?P<name>[A-Za-z_][\w.-]*)=(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<bare>\S*))')


class Line(msgspec.Struct):
    """A line without its decoration, and what the decoration said. Columns as in parser.LINES."""

    text: str
    rank: int | None = None
    local_rank: int | None = None
    task: int | None = None
    host: str | None = None
    process: int | None = None
    time_ns: int | None = None
    time_basis: str | None = None
    partial: bool = False  # a CRI line whose rest stands in the next line
    is_mpi: bool = False  # the task is a rank of MPI
    is_rank: bool = False  # the task is the rank that its launcher gave it
    rest: str | None = None  # of the text, behind a label that was learnt
    heads: dict[str, str] | None = None  # names that were taken off, by their form
    container: str | None = None  # of a pod, which may hold several
    fields: str | None = None  # what a record tells beside its text, as `name=value`

    def stamp(self, stamp: stamps.Stamp) -> None:
        """Take a time if it says more than the one already there: with zone, without, since boot."""
        time_ns, basis = stamp
        if time_ns is not None and _BETTER[basis] > _BETTER[self.time_basis] and stamps.is_believed(time_ns, basis):
            self.time_ns, self.time_basis = time_ns, basis


class Habits(msgspec.Struct, frozen=True):
    """What holds for a whole file: when it was written, about, and what nearly all of its lines begin with."""

    around: stamps.Around | None = None  # what tells the year of stamps that print none
    hosts: bool = False  # a host name and a colon (pdsh, pod names)
    tasks: bool = False  # a host name, a number and a colon (PALS)
    bars: bool = False  # docker compose's `worker-1  | `
    container: str | None = None  # stern's pod and container, the latter's name
    # Intel MPI's rank in brackets, which it prints a second time itself where it tells of its start
    ranked: bool = False
    several: bool = False  # Hydra's, of whose processes several are on a node by its command
    labels: Labels = NO_LABELS  # what was learnt of who speaks (speakers.py)
    fields: bool = False  # is it asked what records tell beside their texts?


def of_json(line: Line, match: "re.Match[str]", _group: int, habits: Habits) -> None:
    """A line of a collector: a text, and a time beside or before it. Anything else stays as it is."""
    line.text = match.string
    try:
        record = msgspec.json.decode(match.string)
    except (msgspec.DecodeError, RecursionError):
        said = _with_bad_numbers(match.string) if habits.labels.names else None
        if isinstance(said, dict):  # a NaN in it
            _called(line, said, habits)
        return
    record = _of_stream(record)
    _called(line, record, habits)
    text = next((record[key] for key in ("log", "message", "MESSAGE", "line", "msg") if key in record), None)
    if isinstance(text, list) and all(isinstance(byte, int) and 0 <= byte < 256 for byte in text):
        text = ANSI.sub("", bytes(text).decode("utf-8", "replace"))  # journald's, of what is no plain text
    time = next((record[key] for key in _TIMES if key in record), None)
    time = time if time is not None or not isinstance(text, str) else _moment(record, habits)
    if not isinstance(text, str) or (time is None and line.time_ns is None):
        return
    if not any(map(_says_more, record, record.values())):  # a record of its own, whatever its message
        line.text = text.rstrip("\r\n")
        line.fields = " ".join(_fields(record)) if habits.fields else None
    if line.rank is None and re.fullmatch(r"[0-9]{1,7}", label := str(_label(record, "rank"))) and "[rank" not in text:
        line.rank = int(label)
    if isinstance(time, str):
        line.stamp(_epoch(time) if time.isascii() and time.isdigit() else stamps.parse_time(time, habits.around))
    pid = next((record[key] for key in _PIDS if key in record), None)
    if line.process is None and str(pid).isdecimal():
        line.process = int(str(pid))
    inner = (own for own in record.values() if isinstance(own, dict) and ("pod_name" in own or "pod" in own))
    where = {**next(inner, {}), **record}
    host = next((where[key] for key in _PLACES if key in where), None)
    if isinstance(host, str):
        line.host = line.host or host
    unit = _INSTANCE.search(str(record.get("_SYSTEMD_UNIT", "")))
    # as many instances as places there: else they count ranks, which no place is called by
    if unit and line.rank is None and line.host is not None:
        line.rank = habits.labels.names.places.get((line.host, int(unit[1])))
    container = where.get("container", where.get("container_name"))
    line.container = container if isinstance(container, str) else line.container


def _with_bad_numbers(text: str) -> Any:
    """An object with a NaN or an infinity in it, which JSON has no word for."""
    try:
        return msgspec.json.decode(_BAD_NUMBER.sub(r"\g<before>null", text))
    except (msgspec.DecodeError, RecursionError):
        return lenient.value(text)


def of_logfmt(line: Line, match: "re.Match[str]", _group: int, habits: Habits) -> None:
    """A line of fields, of which one says whose it is. Its text stays: what ended how may be said by any of them."""
    line.text = match.string
    record = pairs_of(match.string)
    _called(line, record, habits)
    host = next((record[key] for key in _PLACES if key in record), None)
    names = habits.labels.names
    if line.rank is None and names.fields:
        line.rank = sole(names.rank_at(host, record[name]) for name in names.fields if name in record)
    if host is not None:
        line.host = line.host or host
        line.stamp(stamps.parse_time(record[match[0].rstrip("=")], habits.around))


def pairs_of(text: str) -> dict[str, str]:
    """The fields of a line of logfmt."""
    return {found["name"]: found["quoted"] or found["bare"] or "" for found in _PAIR.finditer(text)}


def _called(line: Line, record: Mapping[str, object], habits: Habits) -> None:
    """Whose line it is, where all names in its record are one rank's."""
    names = habits.labels.names
    if names and line.rank is None:
        cells = dict(_cells(record))
        line.rank = names.counted(record)
        line.rank = names.of_cells(cells.values()) if line.rank is None else line.rank
        line.rank = names.of_bus(cells.values()) if line.rank is None else line.rank
        line.rank = names.of_seat(cells) if line.rank is None else line.rank


def _moment(record: Mapping[str, object], habits: Habits) -> str | None:
    """The one field that is a moment as a whole, whatever it is called (`t`, `eventTime`)."""
    found = [cell for cell in record.values() if isinstance(cell, str) and _STAMP.fullmatch(cell)]
    return found[0] if len(found) == 1 and stamps.parse_time(found[0], habits.around)[0] is not None else None


def _fields(record: Mapping[str, object]) -> Iterator[str]:
    """Numbers and names in a record."""
    for name, cell in _cells(record):
        if isinstance(cell, int | str) and not isinstance(cell, bool) and _BARE.fullmatch(str(cell)):
            yield f"{name}={cell}"


def _cells(record: Mapping[str, object], depth: int = 0) -> Iterator[tuple[str, object]]:
    """What a record tells of its process, and those within it that are of the same one: not what points elsewhere, nor what tells again what this one
    does; of names, those that a process is called by."""
    for name, cell in record.items():
        if isinstance(cell, dict):
            is_own = depth < _DEEP and not vocabulary.points_elsewhere(name) and not cell.keys() & record.keys()
            yield from _cells(cell, depth + 1) if is_own else ()
        elif not depth or not isinstance(cell, str) or (CALLS.search(name) and not is_of_others(name)):
            yield name, cell


def _says_more(name: object, cell: object) -> bool:
    """A field that counts steps, or says how a process ended."""
    if isinstance(cell, str) and cell.startswith(("exit status ", "signal: ")):
        return True
    said = vocabulary.meaning_of(name) if isinstance(name, str) else None
    return said is not None and said.meaning in ("step", "exit_code", "signal")


def _of_stream(record: dict[str, Any]) -> dict[str, Any]:
    """Loki's document of one line of one stream → labels, `line` and `ts`; anything else as it is."""
    match record:
        case {"streams": [{"stream": dict(labels), "values": [[time, line]]}]}:
            return {**labels, "line": line, "ts": time}
    return record


def _label(record: dict[str, Any], name: str) -> object:
    """A label of a record, which some collectors keep in a record of its own."""
    labels = next((found for key in ("fields", "labels") if isinstance(found := record.get(key), dict)), {})
    return record.get(name, labels.get(name))


def _epoch(digits: str) -> stamps.Stamp:
    """Seconds, milli-, micro- or nanoseconds since 1970, told apart by their length."""
    unit = {10: 1_000_000_000, 13: 1_000_000, 16: 1_000, 19: 1}.get(len(digits))
    return (int(digits) * unit, "utc") if unit else stamps.NONE
