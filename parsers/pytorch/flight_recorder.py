"""PyTorch Flight Recorder dumps: the last collectives of one rank, as pickle or JSON.

Printed by: ProcessGroupNCCL, ProcessGroupMCCL (torch_musa) and, in newer builds, ProcessGroupGloo, on a timeout or on
request; file name = a prefix of the job's choice and the rank (`nccl_trace_rank_3`, `comm_lib_trace_rank_3`,
`mccl_trace_rank_3`, `job_dump_3`).
Versions: dump schema 2.0 to 2.10. A JSON sample:

    {"version": "2.9", "nccl_version": "2.27.3",
     "pg_config": {"5": {"name": "5", "desc": "TP", "ranks": "[0, 1]"}},
     "pg_status": {"1": {"last_enqueued_collective": "8", "last_started_collective": "-1",
                         "last_completed_collective": "7"}},
     "entries": [{"record_id": 7, "pg_id": 1, "process_group": ["5", "TP"], "collective_seq_id": 8, "p2p_seq_id": 0,
                  "op_id": 8, "profiling_name": "nccl:all_reduce", "time_created_ns": 1700000000000000000,
                  "input_sizes": [[4, 2]], "input_dtypes": ["Float"], "output_sizes": [[4, 2]],
                  "output_dtypes": ["Float"], "state": "scheduled", "time_discovered_started_ns": 0,
                  "time_discovered_completed_ns": 0, "retired": false, "timeout_ms": 600000, "is_p2p": false}]}

Tables: `operations` (a row per entry, `record` = its index), `groups` (a row per `pg_config` entry), `progress` (a row
per `pg_status` entry), `settings` (versions), `ranks` (the rank that the file name claims; it stands nowhere else),
`unread`. The reason of an `unread` row begins with "cut: " where whole entries were saved from a damaged file: entries
at its END are then missing, so nothing that is not there may be called absent.
Pickles are untrusted input: see safe_pickle. Lists in them may be shared a million times, hence the budgets below.
Source: torch/csrc/distributed/c10d/FlightRecorder.hpp and FlightRecorderDetail.hpp.
"""

import gc
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from itertools import chain
from typing import Any

import msgspec
import polars as pl

from parsers.pytorch import flight_rows, safe_pickle
from parsers.pytorch.flight_columns import (
    OPERATION_KEYS,
    group_of,
    int_or_none,
    is_bearable,
    operation_columns,
    picked_columns,
    split_name,
)
from parsers.schema.parser import FileParser, Source
from parsers.schema.tables import TableName, Tables, conform, table, tables_of
from parsers.text import cut_json, lenient
from parsers.text.patterns import regex

MAX_ENTRIES = 250_000  # the buffer holds 2,000 unless the job asks for more
MAX_GROUPS = 100_000
MAX_MEMBERS = 8_000_000  # of all groups of one dump together …
FREE_MEMBERS = 300_000  # … and as many as the dump has bytes, beyond these: one text may stand for many groups
LONG = 512  # members of a group that only one of many dumps spells out
MAX_TEXT = 1_000
SMALL = 64 << 10  # bytes of a dump in which few entries repeat a form

_NAME = regex(r"(?:(?:nccl|mccl|comm_lib|xccl)_trace_rank_|_dump_)(\d{1,7})(?:\.\w{1,8})?$")
_PRINTED, _PRINTED_BYTES = regex(rb"\s*\{\s*'"), 16 << 20  # what Python prints of an unpickled dump
_KEYS = (b"pg_config", b"pg_status", b"comm_lib_version", b"nccl_version", b"profiling_name", b"entries")
_DEPTH = 3  # root dict, its values, the members of those
_WORDS = ("enqueued", "started", "completed")
_MEMBERS = regex(r"\s*\[\s*(?:\d{1,9}\s*(?:,\s*\d{1,9}\s*)*)?\]\s*", re.ASCII)


def accepts(path: str, head: bytes) -> bool:
    """A pickle or a JSON object that shows keys of the format; or a file whose name says so, whatever it holds."""
    if _NAME.search(path):
        return True
    start = head.lstrip()[:1] if head[:1] != b"\x80" else b"\x80"
    return start in (b"\x80", b"{") and sum(key in head for key in _KEYS) > 1 and b"version" in head


class _Dump(msgspec.Struct):
    """One decoded dump: its parts in their expected types, and what could not be read."""

    path: str
    rank: int | None
    host: str | None
    document: Mapping[Any, Any]
    size: int
    entries: list[dict[Any, Any]]
    problems: list[str] = msgspec.field(default_factory=list)
    rows: flight_rows.Rows | None = None  # then `entries` are its forms

    def part(self, key: str) -> dict[Any, Any]:
        value = self.document.get(key)
        return value if isinstance(value, dict) else {}


class _Unread(ValueError):
    """Nothing of so many bytes can be read; the message says why."""

    def __init__(self, size: int, reason: str) -> None:
        super().__init__(reason)
        self.size = size


def parse(source: Source) -> Tables:
    """Tables of one dump; never raises on content."""
    return together([source])


def together(sources: Sequence[Source]) -> Tables:
    """Tables of several dumps: what a table costs is then paid once, not for each of thousands of dumps."""
    dumps: list[_Dump] = []
    unread: list[dict[str, Any]] = []
    with _without_collector():
        for source in sources:
            try:
                dumps.append(_read(source))
            except _Unread as error:
                unread.append({"file": source.path, "bytes": error.size, "reason": str(error)})
        return _tables(dumps, unread)


def _read(source: Source) -> _Dump:
    try:
        with source.open() as stream:
            data = stream.read(max(safe_pickle.MAX_BYTES, cut_json.MAX_BYTES) + 1)
    except Exception as error:  # archives and remote files raise whatever their readers raise
        raise _Unread(source.size, f"cannot be read: {error}"[:MAX_TEXT]) from error
    if not data.strip():
        raise _Unread(len(data), "empty file")
    if (dump := _by_forms(source, data)) is not None:
        return dump
    document, problem = _decode(data)
    if document is None:
        raise _Unread(len(data), problem or "not a flight recorder dump")
    dump = _dump(source, document, len(data), [note for note in (problem, source.read_error) if note])
    rows = flight_rows.apart(dump.entries)
    dump.rows = rows if is_bearable(rows) else None
    return dump


def _by_forms(source: Source, data: bytes) -> _Dump | None:
    """A whole pickle whose entries repeat a few forms; None where it is not known to be one."""
    if source.read_error or len(data) < SMALL:
        return None
    try:
        rows = flight_rows.read(data, OPERATION_KEYS, MAX_ENTRIES)
    except flight_rows.Unfit:
        return None
    dump = _dump(source, rows.document | {"entries": rows.forms}, len(data), [])
    dump.rows = rows
    return dump if not dump.problems and is_bearable(rows) else None


@contextmanager
def _without_collector() -> Iterator[None]:
    """The garbage collector looks at each of the many small objects again and again, and finds none to free."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _decode(data: bytes) -> tuple[dict[Any, Any] | None, str | None]:
    """(document, why it is not whole)."""
    try:
        if data[:1] == b"\x80":
            document = safe_pickle.loads(data)
            return (document, None) if isinstance(document, dict) else (None, "pickle holds no dict")
        printed = lenient.value(data[:_PRINTED_BYTES].decode("utf-8", "replace")) if _PRINTED.match(data) else None
        if isinstance(printed, dict):
            return printed, None
        found, problem = cut_json.load_object(data, "entries")
        return (found, f"cut: {problem}" if problem else None) if found else (None, problem)
    except safe_pickle.Cut as cut:
        saved = _saved(cut.segments)
        return (saved, f"cut: {cut}") if saved else (None, f"cut: {cut}; nothing whole before that")
    except (safe_pickle.Refused, cut_json.Refused) as refusal:
        return None, str(refusal)


def _saved(segments: list[list[Any]]) -> dict[Any, Any]:
    """What is whole of a cut pickle: top-level values, and complete members of the one that was being read.

    `segments[0]` ends with the root dict, `segments[1]` holds its keys and values, `segments[2]` the members of the
    last value; whatever lies deeper belongs to a member that is not complete.
    """
    padded: list[list[Any]] = [*segments, [], []]
    root, pairs, members = padded[:_DEPTH]
    if not root or not isinstance(root[-1], dict):
        return {}
    named = zip(pairs[::2], pairs[1::2], strict=False)
    saved = root[-1] | {key: value for key, value in named if isinstance(key, str)}
    if members and pairs and len(pairs) % 2 == 0:
        if len(segments) > _DEPTH:
            members = members[:-1]
        inner = pairs[-1]
        if isinstance(inner, list):
            inner.extend(members)
        elif isinstance(inner, dict):
            named = zip(members[::2], members[1::2], strict=False)
            inner.update((key, value) for key, value in named if isinstance(key, str))
    return saved


def _dump(source: Source, document: dict[Any, Any], size: int, problems: list[str]) -> _Dump:
    name = _NAME.search(source.path)
    rank = source.rank if source.rank is not None or name is None else int(name[1])
    listed = document.get("entries")
    if listed is None and "pg_config" not in document and "pg_status" not in document:
        problems = [*problems, "no key of a flight recorder dump"]
    whole = listed if isinstance(listed, list) else []
    if len(whole) > MAX_ENTRIES:
        problems = [*problems, f"cut: {len(whole) - MAX_ENTRIES} entries beyond the first {MAX_ENTRIES}"]
        whole = whole[:MAX_ENTRIES]
    entries = [entry for entry in whole if type(entry) is dict and ("profiling_name" in entry or "state" in entry)]
    if len(entries) < len(whole):
        problems = [*problems, f"cut: {len(whole) - len(entries)} entries without name and state"]
    if listed is not None and not isinstance(listed, list):
        problems = [*problems, "entries are no list"]
    distinct = list({id(entry): entry for entry in entries}.values())
    if len(distinct) < len(entries):
        problems = [*problems, f"cut: {len(entries) - len(distinct)} entries that stand for one before"]
    return _Dump(source.path, rank, source.host, document, size, distinct, problems)


def _tables(dumps: Sequence[_Dump], unread: list[dict[str, Any]]) -> Tables:
    operations = list(_operations(dumps))
    pairs, backends = [_groups_of_ids(dump) for dump in dumps], [_backend(dump) for dump in dumps]
    known = list(zip(dumps, pairs, backends, strict=True))
    groups = [row for each in known for row in _group_rows(*each)]
    _shorten(groups)
    result: dict[TableName, pl.DataFrame] = tables_of(
        groups=groups,
        progress=chain.from_iterable(_progress_rows(*each) for each in known),
        settings=chain.from_iterable(map(_setting_rows, dumps)),
        ranks=[_rank_row(dump) for dump in dumps if dump.rank is not None],
        operations=pl.concat(operations) if operations else table("operations", []),
    )
    unread += [{"file": dump.path, "reason": reason} for dump in dumps for reason in dump.problems]
    result["unread"] = table("unread", unread)
    return {name: frame for name, frame in result.items() if frame.height}


def _shorten(groups: Sequence[dict[str, Any]]) -> None:
    """Of many ranks that list the same long group under one name, the first speaks for all: told by each, the members of the
    default group alone would grow with the square of the ranks."""
    told: dict[tuple[str | None, str | None], set[int]] = {}
    for row in groups:
        told.setdefault((row["group"], row["desc"]), set()).add(id(row["members"]))  # equal texts are one list
    seen: set[int] = set()
    for row in groups:
        members = row["members"]
        is_plain = row["rank"] is not None and len(told[row["group"], row["desc"]]) == 1
        if members is not None and len(members) > LONG and is_plain:
            row["members"] = None if id(members) in seen else members
            seen.add(id(members))


def _operations(dumps: Sequence[_Dump]) -> Iterator[pl.DataFrame]:
    """Entries of dumps in one frame, and of each that holds too many frames in one of its own."""
    bearable = [(dump, dump.rows) for dump in dumps if dump.rows is not None and dump.entries]
    if bearable:
        columns = picked_columns([rows for _, rows in bearable])
        yield _placed(columns, [(dump, len(rows.picks)) for dump, rows in bearable])
    for dump in dumps:
        if dump.rows is None and dump.entries:
            columns, notes = operation_columns(dump.entries)
            dump.problems.extend(notes)
            yield _placed(columns, [(dump, len(dump.entries))])


def _placed(columns: pl.DataFrame, dumps: Sequence[tuple[_Dump, int]]) -> pl.DataFrame:
    """Columns of so many entries of each dump → rows of `operations`."""
    told = [(dump.rank, dump.host, dump.path, count) for dump, count in dumps]
    schema = {"rank": pl.Int64, "host": pl.Categorical, "file": pl.Categorical, "record": pl.Int64}
    places = pl.DataFrame(told, schema=schema, orient="row")
    return conform("operations", columns.hstack(places.with_columns(record=pl.int_ranges("record")).explode("record")))


def _rank_row(dump: _Dump) -> dict[str, Any]:
    return {"rank": dump.rank, "host": dump.host, "how": "flight recorder file name", "file": dump.path}


def _groups_of_ids(dump: _Dump) -> dict[int, tuple[str | None, str | None]]:
    """pg_id → (group, desc), from the entries and, where names and ids can be aligned, from pg_config.

    A rank numbers its groups in the order of their making, and names made by a counter grow in that order, too. So
    both sorted lists align when they have one length and all names are integers; an entry that contradicts voids that.
    """
    seen: dict[int, tuple[str | None, str | None]] = {}
    for entry in dump.entries:
        number = entry.get("pg_id")
        if type(number) is int and number not in seen:
            pair = group_of(entry.get("process_group"))
            if pair != (None, None):
                seen[number] = pair
    ids = sorted(number for key in dump.part("pg_status") if (number := int_or_none(key)) is not None)
    config = dump.part("pg_config")
    told = (name for name in config if isinstance(name, str) and name.isascii() and name.isdigit())
    names = [name for name in told if int_or_none(name) is not None]
    if len(ids) != len(config) or len(names) != len(config):
        return seen
    aligned = {
        number: (name, _text(config[name].get("desc")) if isinstance(config[name], dict) else None)
        for number, name in zip(ids, sorted(names, key=int), strict=True)
    }
    if any(number in aligned and aligned[number][0] != pair[0] for number, pair in seen.items()):
        return seen
    return aligned | seen


def _backend(dump: _Dump) -> str | None:
    """nccl, mccl, gloo, …: one recorder serves one kind of backend."""
    for entry in dump.entries:
        if (name := split_name(entry.get("profiling_name"))[0]) is not None:
            return name
    config = dump.part("pg_config")
    if list(config) == [""]:
        return "gloo"
    return "nccl" if config and _text(dump.document.get("nccl_version")) else None


def _group_rows(
    dump: _Dump, pairs: Mapping[int, tuple[str | None, str | None]], backend: str | None
) -> Iterator[dict[str, Any]]:
    ids: dict[str | None, int] = {
        pair[0]: number for number, pair in sorted(pairs.items(), reverse=True) if pair[0] is not None
    }
    budget = min(MAX_MEMBERS, FREE_MEMBERS + dump.size)
    for record, (key, value) in enumerate(list(dump.part("pg_config").items())[:MAX_GROUPS]):
        if not isinstance(value, dict):
            dump.problems.append(f"pg_config: entry {record} is no object")
            continue
        name = _text(value.get("name")) or _text(key)
        members = _members(value.get("ranks"), budget)
        budget -= len(members or ())
        yield {
            "rank": dump.rank,
            "pg_id": ids.get(name),
            "group": name,
            "desc": _text(value.get("desc")),
            "members": members,
            # gloo keeps one nameless entry for the group made last, in that group's own numbering
            "members_space": "global" if name is not None else "group",
            "size": len(members) if members else None,
            "backend": backend,
            "how": "flight recorder pg_config",
            "file": dump.path,
            "record": record,
        }


def _members(value: object, budget: int) -> list[int] | None:
    """Members from "[0, 4]" or a list; null where abbreviated, unreadable or beyond the budget."""
    if isinstance(value, str):
        return _written(value) if _commas(value) < budget else None
    if isinstance(value, list | tuple) and len(value) <= budget and all(type(item) is int for item in value):
        return _possible(list(value))
    return None


@lru_cache(maxsize=64)
def _commas(text: str) -> int:
    return text.count(",")


@lru_cache(maxsize=64)
def _written(text: str) -> list[int] | None:
    """Every rank writes the members of the default group, so a text is looked at once."""
    if not _MEMBERS.fullmatch(text):
        return None
    return _possible([int(part) for part in text.strip("[] \t\r\n").split(",") if part.strip()])


def _possible(numbers: list[int]) -> list[int] | None:
    return numbers if numbers and all(0 <= number < 1 << 32 for number in numbers) else None


def _progress_rows(
    dump: _Dump, pairs: Mapping[int, tuple[str | None, str | None]], backend: str | None
) -> Iterator[dict[str, Any]]:
    scope = None if backend is None else "collective" if backend == "gloo" else "all"
    for record, (key, value) in enumerate(list(dump.part("pg_status").items())[:MAX_GROUPS]):
        number = int_or_none(key)
        if number is None or not isinstance(value, dict):
            dump.problems.append(f"pg_status: entry {record} is not understood")
            continue
        group, desc = pairs.get(number, (None, None))
        counts = {f"last_{word}": int_or_none(value.get(f"last_{word}_collective")) for word in _WORDS}
        yield {
            "rank": dump.rank,
            "pg_id": number,
            "group": group,
            "desc": desc,
            "scope": scope,
            **{column: count if count is not None and count >= 0 else None for column, count in counts.items()},
            "how": "flight recorder pg_status",
            "file": dump.path,
            "record": record,
        }


def _setting_rows(dump: _Dump) -> Iterator[dict[str, Any]]:
    names = {"version": "flight_recorder_version", "nccl_version": "nccl_version", "comm_lib_version": "nccl_version"}
    for key, name in names.items():
        if (value := _text(dump.document.get(key))) is not None:
            yield {"name": name, "value": value, "scope": "version", "rank": dump.rank, "file": dump.path}


def _text(value: object) -> str | None:
    return value[:MAX_TEXT] if isinstance(value, str) and value else None


PARSER = FileParser(name="flight_recorder", accepts=accepts, parse=parse, whole=True, together=together, at_once=24)
