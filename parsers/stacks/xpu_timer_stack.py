"""Stacks that xpu_timer (DLRover) takes of a hung process: RANK-WORLDSIZE.stacktrace, for example 00003-00008.stacktrace.

A Protocol Buffers message `Stacktrace`: native stacks (1: by gdb, with 1 thread number, 2 name, 3 frames), Python
stacks (2: by py-spy, with 1 pid, 3 name, 4 thread number, 5 active, 6 owns the interpreter lock, 7 frames), 3 pid, 4
rank, 11 state of the process. A frame has 1 function, 2 file (with `:line` where known). It is walked by hand: no
class is built from the file, and the number of fields is limited. As `protoc --decode_raw` shows one::

    2 { 1: 4711  3: "MainThread"  5: 1  7 { 1: "all_reduce"  2: "distributed_c10d.py:2501" } }
    3: 4711
    4: 3
    11: "S (sleeping)"

Table `stacks`: a row per thread, `record` = its index, frames innermost first, source `py-spy` or `gdb`; `ranks`: rank
and pid (how = xpu_timer stack). `unread`: a cut message, what stands before the cut is kept.

Printed by: xpu_timer of DLRover.
Versions: any that use this protocol.
Source: DLRover, xpu_timer/protos/hosting_service.proto.
"""

from collections.abc import Iterator
from typing import Any

from parsers.forms.reading import all_bytes
from parsers.schema.parser import FileParser, Source
from parsers.schema.tables import Tables, tables_of
from parsers.text.patterns import regex

MAX_BYTES = 64 << 20
MAX_FIELDS = 2_000_000
_NAME = regex(r"(?:^|/)(\d{5})-(\d{5})\.stacktrace$")
_LINE = regex(r"(?P<file>.+):(?P<line>\d{1,9})$")
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_SEVEN_BITS, _VARINT_BYTES = 0x7F, 10


class _Cut(ValueError):
    """The message ends or breaks."""


def accepts(path: str, head: bytes) -> bool:
    """By its name, and a first field that such a message may begin with."""
    return _NAME.search(path) is not None and (not head or head[0] in b"\x0a\x12\x18\x20\x2a\x32\x3a\x42\x4a\x52\x5a")


def parse(source: Source) -> Tables:
    """Tables of one file; never raises on content."""
    problems: list[dict[str, Any]] = []
    try:
        data = all_bytes(source, MAX_BYTES)
    except Exception as error:  # archives and remote files raise whatever their readers raise
        data, problems = b"", [{"reason": f"cannot be read: {error}"[:1000]}]
    if data is None:
        data, problems = b"", [{"bytes": source.size, "reason": f"larger than {MAX_BYTES} bytes"}]
    native: list[bytes] = []
    python: list[bytes] = []
    said: dict[int, Any] = {}
    try:
        for number, value in _fields(data):
            if number in (1, 2) and isinstance(value, bytes):
                (native if number == 1 else python).append(value)
            else:
                said[number] = value
    except _Cut as cut:
        problems.append({"reason": f"cut: {cut}"})
    named = _NAME.search(source.path)
    pid = _small(said.get(3))
    told: dict[str, Any] = {"rank": int(named[1]) if named else source.rank, "host": source.host, "file": source.path}
    rows = [*_threads(python, pid, 7, "py-spy", problems), *_threads(native, pid, 3, "gdb", problems)]
    rows = [row | told | {"record": record} for record, row in enumerate(rows)]
    claim = told | {"pid": pid, "world_size": int(named[2]) if named else None, "how": "xpu_timer stack", "record": 0}
    unread = [problem | {"file": source.path} for problem in problems[:100]]
    return tables_of(stacks=rows, ranks=[claim] if pid is not None else [], unread=unread)


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """(field, value) of a message; raises _Cut where it ends or breaks."""
    at, count = 0, 0
    while at < len(data):
        count += 1
        if count > MAX_FIELDS:
            raise _Cut("too many fields")
        key, at = _varint(data, at)
        kind = key & 7
        if kind == _VARINT:
            value, at = _varint(data, at)
            yield key >> 3, value
            continue
        size = {_FIXED64: 8, _FIXED32: 4}.get(kind)
        if kind == _BYTES:
            size, at = _varint(data, at)
        if size is None or at + size > len(data):
            raise _Cut(f"a field of {size} bytes at byte {at} of {len(data)}")
        yield key >> 3, data[at : at + size]
        at += size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for nth, byte in enumerate(data[at : at + _VARINT_BYTES]):
        value |= (byte & _SEVEN_BITS) << 7 * nth
        if byte <= _SEVEN_BITS:
            return value & ((1 << 64) - 1), at + nth + 1
    raise _Cut(f"a number at byte {min(at + _VARINT_BYTES, len(data))}")


def _threads(
    messages: list[bytes], pid: int | None, frames: int, by: str, problems: list[dict[str, Any]]
) -> Iterator[dict[str, Any]]:
    for message in messages:
        said: dict[int, Any] = {}
        stack: list[dict[str, Any]] = []
        try:
            for number, value in _fields(message):
                if number == frames and isinstance(value, bytes):
                    stack.append(_frame(dict(_fields(value))))
                else:
                    said[number] = value
        except _Cut as cut:
            problems.append({"reason": f"cut: {cut}"})
        is_python = by == "py-spy"
        thread = said.get(4 if is_python else 1)
        name = _text(said.get(3 if is_python else 2))
        own = _small(said.get(1)) if is_python and 1 in said else pid
        yield {
            "pid": own,
            "thread": str(thread) if isinstance(thread, int) else None,
            "thread_name": name,
            "is_main": name == "MainThread" or (isinstance(thread, int) and thread == own),
            "status": (("active" if said.get(5) else "idle") + ("+gil" if said.get(6) else "")) if is_python else None,
            "snapshot": 0,
            "frames": stack,
            "source": by,
        }


def _frame(said: dict[int, Any]) -> dict[str, Any]:
    function, file = _text(said.get(1)), _text(said.get(2))
    if found := _LINE.match(file or ""):
        return {"function": function, "file": found["file"], "line": int(found["line"])}
    return {"function": function, "file": None if file == "??" else file, "line": None}


def _small(value: Any) -> int | None:
    return value if isinstance(value, int) and value < 1 << 32 else None


def _text(value: Any) -> str | None:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) and value else None


PARSER = FileParser(name="xpu_timer_stack", accepts=accepts, parse=parse, whole=True)
