"""Stacks by CPython's faulthandler (3.8 to 3.14): on a signal, a timeout or a crash, to a file of their own.

    Fatal Python error: Segmentation fault

    Thread 0x00007f00aa (most recent call first):
      File "/opt/app/queue.py", line 10 in wait
      ...

    Current thread 0x00007f00bb [python3] (most recent call first):
      File "/opt/app/train.py", line 12 in step
      File "/opt/app/train.py", line 40 in <module>

    Extension modules: numpy.core (total: 1)

Table: `stacks`, a row per thread and snapshot, `line` = its header, frames innermost first, `status` = "current" for
the thread that ran the handler. Of dumps appended to one file, a thread seen again begins the next snapshot. The main
thread is the one whose outermost frame is a module's code; where none is seen so, the current thread is taken, else the last of
several: CPython walks its threads from the newest to the first.
Events: `segfault` or `other` for the fatal error. `unread`: damaged frames, a cut file. `claimed`: what stands between. Below a heading of torch's
debug server (`=== Rank 3: http://trn01:40123 ===`) stand the threads of that rank; `ranks`: who that is.

Printed by: CPython's faulthandler.
Versions: 3.8 to 3.14.
Source: CPython's `Python/traceback.c` and the documentation of `faulthandler`; of the headings see thread_lines.
"""

import re
from collections import Counter
from typing import Any

import msgspec

from parsers.schema.parser import FileParser, Source
from parsers.schema.tables import Tables, table, tables_of
from parsers.stacks.placed import place
from parsers.stacks.thread_lines import (
    FATAL,
    FAULTHANDLER_FRAME,
    FAULTHANDLER_OUTERMOST,
    FAULTHANDLER_THREAD,
    NO_ANSWER,
    are_of_programs,
    claim_of,
    fatal_columns,
    faulthandler_frame,
    heading,
)
from parsers.text.patterns import regex

MAX_BYTES = 64 << 20
MAX_PROBLEMS = 100
_MOST_THREADS = 100  # that CPython prints; of more, the first are left out

_OTHER = regex(r"  \.\.\.$|  <|Fatal Python error: |Timeout \(|Extension modules: |Python runtime state: |$")


def accepts(path: str, head: bytes) -> bool:
    """Mostly lines of such dumps, with a thread's header among them: a log that holds one stays a log."""
    del path
    if b"(most recent call first):" not in head:
        return False
    lines = [line.rstrip() for line in head.decode("utf-8", "replace").split("\n")[:400]]
    filled = [line for line in lines if line]
    forms = (FAULTHANDLER_THREAD, FAULTHANDLER_FRAME, _OTHER)
    known = sum(any(form.match(line) for form in forms) for line in filled)
    return 2 * known > len(filled) and any(map(FAULTHANDLER_THREAD.match, filled))


class _Thread(msgspec.Struct):
    header: re.Match[str]
    line: int
    snapshot: int
    section: re.Match[str] | None  # of torch's debug server
    frames: list[dict[str, Any]] = msgspec.field(default_factory=list)
    is_whole: bool = True  # False: the list of frames was shortened, its outermost is not known

    @property
    def dump(self) -> tuple[str | None, int]:
        """Whose dump it is part of, and which of them."""
        return self.section and self.section["rank"], self.snapshot

    @property
    def is_outermost_module(self) -> bool:
        return self.is_whole and bool(self.frames) and self.frames[-1]["function"] in FAULTHANDLER_OUTERMOST


def parse(source: Source) -> Tables:
    """Tables of one file; never raises on content."""
    try:
        with source.open() as stream:
            data = stream.read(MAX_BYTES + 1)
    except Exception as error:  # archives and remote files raise whatever their readers raise
        return {"unread": table("unread", [{"file": source.path, "reason": f"cannot be read: {error}"[:1000]}])}
    problems: list[dict[str, Any]] = []
    if source.read_error:
        problems.append({"reason": f"cut: {source.read_error}"})
    if len(data) > MAX_BYTES:
        problems.append({"bytes": max(source.size - MAX_BYTES, 1), "reason": f"cut: beyond {MAX_BYTES} bytes"})
    text = data[:MAX_BYTES].decode("utf-8", "replace")
    claims: list[dict[str, Any]] = []
    between: list[int] = []
    threads = _threads(text, problems, claims, between)
    with_module = {thread.dump for thread in threads if thread.is_outermost_module}
    last = {thread.dump: at for at, thread in enumerate(threads)}
    counts = Counter(thread.dump for thread in threads)
    with_main = with_module | {thread.dump for thread in threads if thread.header["current"] is not None}
    rows = [
        {
            **_who(source, thread.section),
            "thread": thread.header["id"],
            "thread_name": thread.header["name"] or None,
            "is_main": thread.is_outermost_module
            or (thread.dump not in with_module and thread.header["current"] is not None)
            or (thread.dump not in with_main and at == last[thread.dump] and 1 < counts[thread.dump] < _MOST_THREADS),
            "status": "current" if thread.header["current"] else None,
            "snapshot": thread.snapshot,
            "frames": thread.frames,
            "source": "faulthandler",
            "file": source.path,
            "line": thread.line,
        }
        for at, thread in enumerate(threads)
    ]
    place(rows, source, text.split("\n"))
    for row in (*problems, *claims):
        row["file"] = source.path
    return tables_of(
        stacks=rows,
        ranks=claims,
        claimed=[{"file": source.path, "line": line} for line in between],
        events=_fatal(source, text),
        unread=problems[:MAX_PROBLEMS],
    )


def _who(source: Source, section: re.Match[str] | None) -> dict[str, Any]:
    """Whose stack it is, as the heading says, else the path."""
    if section is not None:
        return {"rank": int(section["rank"]), "host": section["host"]}
    return {"rank": source.rank, "local_rank": source.local_rank, "host": source.host}


def _fatal(source: Source, text: str) -> list[dict[str, Any]]:
    """What killed the interpreter, where it says so before the dump."""
    who = {"rank": source.rank, "local_rank": source.local_rank, "host": source.host, "attempt": source.attempt}
    space = "global" if source.rank is not None else None
    return [
        fatal_columns(found) | who | {"rank_space": space, "text": line[:2000], "file": source.path, "line": number}
        for number, line in enumerate(text.split("\n"), start=1)
        if (found := FATAL.match(line))
    ]


def _threads(
    text: str, problems: list[dict[str, Any]], claims: list[dict[str, Any]], between: list[int]
) -> list[_Thread]:
    threads: list[_Thread] = []
    seen: set[tuple[str | None, str | None]] = set()
    snapshot, is_open = 0, False  # is_open: frames that follow belong to the last thread
    section: re.Match[str] | None = None
    lines = text.split("\n")
    several = are_of_programs(lines)
    for number, raw in enumerate(lines, start=1):
        line = raw.rstrip()
        if header := FAULTHANDLER_THREAD.match(line):
            thread = (section and section["rank"], header["id"])
            if thread in seen:
                snapshot += 1
                seen.clear()
            seen.add(thread)
            threads.append(_Thread(header, number, snapshot, section))
            is_open = True
        elif is_open and (frame := FAULTHANDLER_FRAME.match(line)):
            threads[-1].frames.append(faulthandler_frame(frame))
            between.append(number)
        elif is_open and line == "  ...":
            threads[-1].is_whole = False
            between.append(number)
        elif line.startswith("  File ") or (is_open and line.startswith("  ") and not _OTHER.match(line)):
            problems.append({"line": number, "bytes": len(line), "reason": "cut: not a whole frame"})
            if is_open:
                threads[-1].is_whole = False
        else:
            is_open = False
            if _OTHER.match(line):
                between.append(number)
            elif found := heading(line, of_programs=several):
                section = found
                claims.append(claim_of(found) | {"line": number})
            elif section is not None and NO_ANSWER.match(line):
                problems.append({"line": number, "reason": f"no stack of rank {section['rank']}: {line}"})
    return threads


PARSER = FileParser(name="faulthandler", accepts=accepts, parse=parse)
