"""Stacks that a program prints of its own threads, by `traceback.format_stack` or `extract_stack` over `sys._current_frames()`.

    [TRT-LLM] [RANK 1] [E] Thread 139000001 stack trace:
      File "/opt/trt/pyexecutor/py_executor.py", line 1402, in _executor_loop
        self.step()
      File "/opt/serving/connector.py", line 188, in save_layer
    Traceback for thread 4711 (python) [Has the GIL] (most recent call last):   (pystack)
        (Python) File "/opt/app/train.py", line 12, in step
            batch = next(batches)
        (C) File "???", line 0, in poll (libc.so.6)
    # ThreadID: 139000001                                                     (a recipe as old as threads)
    Stack of thread MainThread (139000001):

A header is a line that names a thread by its number and has such a frame right behind it; no exception was raised, so it is no
traceback. What follows without a label of its own is still of the printer of the header. Frames stand outermost first. The main
thread is the one that began with the module, or the only one; a dumper from outside numbers threads as the system does, and the main
one has the number of its process.

Printed by: hang detectors of frameworks (TensorRT-LLM's `print_all_stacks`), handlers of signals in programs' own code, pystack.
Versions: Python 3; TensorRT-LLM 1.0 and later; pystack 1.
Source: CPython's `Lib/traceback.py` (`StackSummary.format`); tensorrt_llm/_torch/pyexecutor/hang_detector.py. Not read: pystack's
traceback_formatter.py; its form is as users print it.
"""

from collections import Counter, defaultdict
from itertools import count
from typing import Any

import msgspec
import polars as pl

from parsers.schema.lines import Row, claimed, reporter
from parsers.schema.parser import LineParser
from parsers.schema.tables import Tables, tables_of
from parsers.stacks.thread_lines import FAULTHANDLER_OUTERMOST, LINE_CHARACTERS, Frame
from parsers.text.patterns import regex

AFTER = 200
_PID_DIGITS = 10
_HEADER = regex(
    r"(?i)(?:.{0,200}[^a-z])?thread(?:[ _-]?(?:id|ident))?[^\d\n]{0,80}?(?P<id>\d{3,20})\b(?:[^\d\n]{0,40}| [^\n]{0,160}\(most recent call last\):)$"
)
_OF_SYSTEM_THREAD = regex(r"Traceback for thread \d")
_NAME = regex(r"\b(?P<name>MainThread|Thread-\d{1,6}[^\s,:]{0,60})")
_FRAME = regex(
    r'\s*(?:\([A-Za-z+]{1,10}\) )?File "(?P<file>[^"\n]{1,1024})", line (?P<line>\d{1,9}), in (?P<function>\S[^\n]{0,200})$'
)
_SOURCE = regex(r" {4,}\S")
_OF_SYSTEM = regex(r"\bos\.(?P<function>[a-z_]{3,20})\(")


class _Thread(msgspec.Struct):
    row: Row
    thread: str
    name: str | None
    frames: list[Frame] = msgspec.field(default_factory=list)
    source: str = ""  # the line of the last frame

    @property
    def whole(self) -> list[Frame]:
        """Innermost first. A call of the system is no frame of Python's: the line tells it."""
        called = _OF_SYSTEM.search(self.source)
        system = [{"function": called["function"], "file": "os.py", "line": None}] if called else []
        return [*system, *self.frames[::-1]]


def parse(lines: pl.DataFrame) -> Tables:
    """stacks, claimed."""
    threads: list[_Thread] = []
    places: list[tuple[str, int]] = []
    opened: dict[tuple[Any, ...], _Thread] = {}
    last: _Thread | None = None
    for row in lines.sort("file", "line").iter_rows(named=True):
        text = row["text"][:LINE_CHARACTERS].rstrip()
        key = _printer(row)
        framed = _FRAME.match(text)  # one of threading.py has a number behind the word, too
        if framed is None and (found := _HEADER.match(text)):
            name = _NAME.search(text)
            last = opened[key] = _Thread(row, found["id"], name["name"] if name else None)
            threads.append(last)
            continue
        is_bare = key[1:] == (None, None, None) and last is not None and last.row["file"] == key[0]
        if (one := opened.get(key) or (last if is_bare else None)) is None:
            continue
        if framed is not None:
            function, line = framed["function"].partition(" (")[0], int(framed["line"])
            one.frames.append({"function": function, "file": framed["file"], "line": line or None})
            one.source = ""
        elif one.frames and _SOURCE.match(text):
            one.source = text
        else:
            opened = {own: thread for own, thread in opened.items() if thread is not one}
            last = None if last is one else last
            continue
        places.append((row["file"], row["line"]))
    told = [one for one in threads if one.frames]
    return tables_of(stacks=_rows(told), claimed=claimed(places))


def _printer(row: Row) -> tuple[Any, ...]:
    return row["file"], row["rank"], row["task"], row["process"]


def _rows(threads: list[_Thread]) -> list[dict[str, Any]]:
    """Dumps of one printer: a thread seen again begins the next."""
    several = Counter(printer for printer, _ in {(_printer(one.row), one.thread) for one in threads})
    outermost = {_printer(one.row): one.thread for one in threads if _is_module(one)}
    seen: defaultdict[tuple[Any, ...], count[int]] = defaultdict(count)
    rows = []
    for one in threads:
        key = (*_printer(one.row), one.thread)
        own = reporter(one.row) | {"pid": one.row["process"], "thread": one.thread, "thread_name": one.name}
        own |= {"frames": one.whole, "snapshot": next(seen[key]), "time_ns": one.row["time_ns"], "source": "threads"}
        if own["pid"] is None and _OF_SYSTEM_THREAD.search(one.row["text"]):
            main = outermost.get(_printer(one.row), one.thread if several[_printer(one.row)] == 1 else None)
            own["pid"] = int(main) if main is not None and len(main) <= _PID_DIGITS else None
        is_main = one.name == "MainThread" or _is_module(one)
        rows.append(own | {"is_main": is_main or several[_printer(one.row)] == 1})
    return rows


def _is_module(one: _Thread) -> bool:
    return one.frames[0]["function"] in FAULTHANDLER_OUTERMOST


PARSER = LineParser(
    name="thread_traces",
    anchors=(
        b"tack trace:", b"raceback for thread ", b"hreadID", b"hread ID", b"tack of thread", b"tack for thread",
        b"hread ident",
    ),
    parse=parse,
    after=AFTER,
)  # fmt: skip
