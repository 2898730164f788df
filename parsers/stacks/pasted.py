"""Thread dumps inside ordinary logs: faulthandler at the end of a training log, py-spy and gdb run by a watchdog.

    [rank3]: Fatal Python error: Segmentation fault
    [rank3]:
    [rank3]: Current thread 0x00007f00bb (most recent call first):
    [rank3]:   File "/opt/app/train.py", line 12 in step
    [2026-01-31 10:11:12 TP0] Pyspy dump for PID 4242:                         (SGLang: whose dump comes next)
    Process 4242: python train.py
    Thread 4242 (active+gil): "MainThread"
        all_reduce (torch/distributed/distributed_c10d.py:2501)
    Thread 1 (Thread 0x7f11 (LWP 4700) "python"):
    #0  0x00007f69 in poll () from /lib64/libc.so.6

Files that hold little else have parsers of their own (py_spy, faulthandler, native_stacks); this one reads the same
lines elsewhere, each printer's apart. Table `stacks`, a row per thread and snapshot, `line` = its header, frames
innermost first; events: `segfault` where the interpreter says that it died so, `other` for its other fatal errors.
`claimed`: the frames. A dump of more than AFTER lines without a header is read up to there.

Printed by: CPython's faulthandler, py-spy and gdb, into an ordinary log.
Versions: as those of py_spy, faulthandler and native.
Source: CPython's `Python/traceback.c`, py-spy's `dump.rs`, the form of gdb's backtraces.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Mapping
from itertools import count
from typing import Any

import msgspec
import polars as pl

from parsers.schema.lines import Row, claimed, event, reporter, streams
from parsers.schema.parser import LineParser
from parsers.schema.tables import Tables, tables_of
from parsers.stacks.thread_lines import (
    FATAL,
    FAULTHANDLER_FRAME,
    FAULTHANDLER_OUTERMOST,
    FAULTHANDLER_THREAD,
    GDB_FRAME,
    GDB_THREAD,
    LINE_CHARACTERS,
    PY_SPY_FRAME,
    PY_SPY_THREAD,
    Frame,
    fatal_columns,
    faulthandler_frame,
    gdb_frame,
    py_spy_frame,
)
from parsers.text.patterns import regex

AFTER = 200
MAX_FRAMES = 500
_PROCESS = regex(r"Process (?P<pid>\d{1,10}): |.*\bAttaching to (?:.*, )?process (?P<attached>\d{1,10})")
_ANNOUNCED = regex(r"(?i)\bdump (?:for|of) (?:PID|process) (?P<pid>\d{1,10})\b")
_BETWEEN = regex(r"\s*$|Python v\d|  \.\.\.$| {8,}\S")
_HEADS = (("faulthandler", FAULTHANDLER_THREAD), ("py-spy", PY_SPY_THREAD), ("gdb", GDB_THREAD))
_FRAMES: Mapping[str, tuple[re.Pattern[str], Callable[[re.Match[str]], Frame]]] = {
    "faulthandler": (FAULTHANDLER_FRAME, faulthandler_frame),
    "py-spy": (PY_SPY_FRAME, py_spy_frame),
    "gdb": (GDB_FRAME, lambda found: gdb_frame(found["rest"])),
}


class _Thread(msgspec.Struct):
    row: Row
    source: str
    header: re.Match[str]
    pid: int | None
    frames: list[Frame] = msgspec.field(default_factory=list)

    @property
    def name(self) -> str | None:
        return self.header["name"] or None

    @property
    def thread(self) -> str | None:
        return self.header["lwp" if self.source == "gdb" else "id"]

    @property
    def is_outermost_module(self) -> bool:
        return bool(self.frames) and self.frames[-1]["function"] in FAULTHANDLER_OUTERMOST


def parse(lines: pl.DataFrame) -> Tables:
    """stacks, events, claimed; ranks: whose dump a line announces."""
    stacks: list[dict[str, Any]] = []
    events: list[dict[str, Any]] = []
    places: list[tuple[str, int]] = []
    for stream in streams(lines):
        threads = _threads(stream, events, places)
        stacks += _rows(threads)
    return tables_of(stacks=stacks, events=events, claimed=claimed(dict.fromkeys(places)), ranks=_announced(lines))


def _announced(lines: pl.DataFrame) -> list[dict[str, Any]]:
    """Rows of `ranks`: a process prints that the dump of the one of this number follows, which is its own."""
    rows = []
    for row in lines.filter(pl.col("text").str.contains("ump (?:for|of) ")).iter_rows(named=True):
        who = reporter(row)
        if who["rank"] is not None and (found := _ANNOUNCED.search(row["text"][:LINE_CHARACTERS])):
            rows.append(who | {"pid": int(found["pid"]), "how": "its own dump"})
    return rows


def _threads(
    stream: list[dict[str, Any]], events: list[dict[str, Any]], places: list[tuple[str, int]]
) -> list[_Thread]:
    """The threads that one printer's lines show."""
    threads: list[_Thread] = []
    is_open, pid = False, None
    for row in stream:
        text = row["text"][:LINE_CHARACTERS].rstrip()
        header = next(((by, found) for by, pattern in _HEADS if (found := pattern.match(text))), None)
        if header is not None:
            threads.append(_Thread(row, *header, pid))
            is_open = True
        elif is_open and (frame := _frame(threads[-1].source, text)):
            if len(threads[-1].frames) < MAX_FRAMES:
                threads[-1].frames.append(frame)
        elif found := FATAL.match(text):
            made = fatal_columns(found)
            events.append(event(row, made.pop("kind"), pid=row["process"], **made))  # its interpreter's own words
            is_open = False
        elif found := _PROCESS.match(text):
            pid, is_open = int(found["pid"] or found["attached"]), False
        elif not (is_open and _BETWEEN.match(text)):
            is_open = False
            continue
        places.append((row["file"], row["line"]))
    return [thread for thread in threads if thread.frames]


def _frame(source: str, text: str) -> Frame | None:
    form, made = _FRAMES[source]
    found = form.match(text)
    return made(found) if found else None


def _rows(threads: list[_Thread]) -> list[dict[str, Any]]:
    seen: defaultdict[tuple[Any, ...], count[int]] = defaultdict(count)
    looks = [(thread, next(seen[thread.source, thread.pid, thread.thread])) for thread in threads]
    with_module = {at for thread, at in looks if thread.is_outermost_module}
    rows = []
    for thread, at in looks:
        is_main = _is_main(thread, at in with_module)
        groups = thread.header.groupdict()
        own = {
            "pid": _pid(thread, is_main),
            "thread": thread.thread,
            "thread_name": thread.name,
            "is_main": is_main,
            "status": "current" if groups.get("current") else groups.get("status"),
            "snapshot": at,
            "time_ns": thread.row["time_ns"],
            "frames": thread.frames,
            "source": thread.source,
        }
        rows.append(reporter(thread.row) | own)
    return rows


def _is_main(thread: _Thread, has_module: bool) -> bool:
    if thread.source == "faulthandler":
        return thread.is_outermost_module or (not has_module and thread.header["current"] is not None)
    if thread.source == "py-spy":
        return thread.name == "MainThread" or (thread.pid is not None and thread.thread == str(thread.pid))
    return thread.thread == str(thread.pid) if thread.pid is not None else thread.header["number"] == "1"


def _pid(thread: _Thread, is_main: bool) -> int | None:
    """On Linux the main thread has its process' number; faulthandler prints another one."""
    own = thread.thread
    if thread.pid is not None or not is_main or thread.source == "faulthandler" or own is None:
        return thread.pid
    return int(own) if own.isascii() and own.isdigit() and len(own) <= len(str(1 << 32)) else None


PARSER = LineParser(
    name="pasted_stacks",
    anchors=(
        b"hread 0x", b"urrent thread (most", b"Thread (most recent call first)", b"Stack (most recent call first)",
        b" (active): ", b" (idle): ", b" (active+gil)", b" (idle+gil)", b"(LWP ", b"ttaching to process",
        b"Fatal Python error: ", b"ump for PID ", b"ump for pid ",
    ),
    parse=parse,
    after=AFTER,
)  # fmt: skip
