"""Stacks by py-spy: `py-spy dump` as text (0.3, 0.4) or `--json`, and notes that such dumps were pasted into.

    Process 4242: python train.py
    Python v3.11.7 (/usr/bin/python3.11)

    Thread 4242 (active+gil): "MainThread"
        all_reduce (torch/distributed/distributed_c10d.py:2501)
            Arguments:
                tensor: <Tensor at 0x7f...>
        <module> (train.py:12)
    Process 4250: python train.py
    Parent Process 4242: python train.py

Also read: `node01: ` or `3: ` before each line (pdsh, srun -l; lines of several sources may mix), headings such as
`Node 48:` or `=== Rank 3: http://trn01:40123 ===` (torch's debug server, `ranks` has whom it names), several `Thread` headers over one common list of frames (a row each), and listings of the innermost frame
of each process under the name of its host:

    trace-node01
        broadcast
        all_reduce

numbers of processes above frames that somebody took the headers from (`## 62017`), and what variables each process was given, above its dump (`RANK=11 LOCAL_RANK=3`), where some stand above the first.

Table: `stacks`, a row per thread and snapshot, `line` = its header (`record` in JSON), frames innermost first. Child
processes (data loader workers) carry `parent_pid`, and their top process' rank. `unread`: py-spy's own errors, damaged
lines.

Printed by: py-spy dump, with or without --json, --native, --locals.
Versions: 0.3 and 0.4.
Source: py-spy's `dump.rs` and its README; of the headings of the debug server see thread_lines.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import count, pairwise
from typing import Any

import msgspec
import polars as pl

from parsers.forms.headed import prompted
from parsers.forms.reading import text_lines
from parsers.schema.parser import FileParser, Source
from parsers.schema.tables import Tables, table, tables_of
from parsers.stacks.placed import place
from parsers.stacks.thread_lines import (
    HEADING,
    LINE_CHARACTERS,
    NO_ANSWER,
    PY_SPY_FRAME,
    PY_SPY_THREAD,
    SECTION,
    are_of_programs,
    claim_of,
    heading,
    peer_of,
    py_spy_frame,
)
from parsers.text import cut_json
from parsers.text.patterns import regex
from parsers.text.stamps import ISO, parse_time
from parsers.text.vocabulary import of_process
from parsers.who.scripts.arguments import HOW, told

MAX_BYTES = 64 << 20
MAX_PROBLEMS = 100
AT_ONCE, ROWS = 256, 10_000  # files, and rows that are objects at a time

_PREFIX = regex(r"(?P<who>\d{1,6}|[A-Za-z][\w.-]*): (?=Process \d|Python v|Parent Process|Thread |    |$)")
_PROCESS = regex(r"Process (?P<pid>\d{1,10}): ")
_PARENT = regex(r"Parent Process (?P<pid>\d{1,10}): ")
_JOINT = regex(rb"\]\s*\n\s*\[")  # with --subprocesses an array follows the other; inside JSON a comma would stand
_ARRAY = regex(rb"\s*\[\s*(?:[\[{\]\"]|-?\d+(?:\.\d+)?\s*[,\]]|\Z)")  # of JSON, no name in brackets
_MARK = regex(rb"Thread (?:0x|\d)|\n {4}\S+ \([^()\n]+\.py:\d+\)\r?\n {4}\S")  # of the lines that `accepts` asks for
_NUMBERED = regex(r"(?i)[=\-#>*\s]{0,12}(?:(?:pid|process)\s{0,2}[:=#]?\s{0,2})?(?P<pid>\d{2,10})[\s:=\-#*]{0,12}$")
_OTHERS = 3  # lines that are none of a dump: then it is a session, of which others read the rest
_LOCALS = regex(r" {8,}\S|\t\t")
_HELD = regex(r"\s{2,40}(?P<name>[A-Za-z_]\w{0,40}): (?P<value>\d{1,7})$")
_NUMBERS = 32  # of a stack
_BARE = regex(r"(?: {4}|\t)(?P<function>[\w.<>]+)$")
_UNPLACED = regex(r"(?: {4}|\t)(?P<function>[A-Za-z_<][^\s()]*)(?: \((?P<place>[^()]*)\))?(?: [^\s()][^()]*)?$")
_NODE = regex(r"(?P<host>(?:[Nn]ode|[Hh]ost) [\w.-]+?):?$")
_GATHERED = regex(r"(?P<host>[A-Za-z][\w.-]*) \| (?:CHANGED|SUCCESS|FAILED)\b")  # ansible
_MOMENT = regex(ISO)
_SENT = regex(  # a command that was sent to where it samples, with what stands before it at a prompt
    r"(?:[^\w\s]{1,3} ?|\S{1,80}[$#%>] |)(?:sudo )?(?:[a-z./-]{1,40} (?:\S{1,80} ){0,8}?(?:exec|rsh)|ssh) (?P<to>.{0,300}?)[\"']?(?:\S{0,60}/)?py-spy (?:dump|record)\b.*"
)
_VALUED = regex(r"-(?:[a-zA-Z]*[necuwplJF]|o|-\w{1,20})")  # options with a value behind them
_TARGET = regex(r"(?:[\w.-]{1,64}@|(?:pod|pods|deploy)/)?(?P<name>[A-Za-z0-9][\w.-]{1,252})")
_LISTED = regex(r"trace-(?P<host>[\w.-]+)$")
_GIVEN = r"(?:export )?[A-Z][A-Z_]{2,40}=[\w.:/-]{0,80}"
_VARIABLES = regex(rf"{_GIVEN}(?:[ ;]{{1,4}}{_GIVEN}){{0,15}}[ ;]{{0,4}}$")
_VARIABLE = regex(r"\b([A-Z][A-Z_]{2,40})=(\d{1,7})(?![\w.])")
_NOISE = regex(r"Python v\d|-{20,}$|```|\d+ in:$|$")
_ERROR = regex(r"(?:Error|Reason): .+")
_KNOWN = (  # commonest first
    PY_SPY_FRAME, PY_SPY_THREAD, _LOCALS, _PROCESS, _NOISE, _PARENT, _BARE, _NODE, _LISTED, SECTION, HEADING,
    NO_ANSWER, _ERROR, _VARIABLES, _NUMBERED,
)  # fmt: skip


def accepts(path: str, head: bytes) -> bool:
    """Mostly lines of such a dump, with a header among them; or a JSON array of threads."""
    return 0 <= _strangers(path, head) < _OTHERS


def accepts_session(path: str, head: bytes) -> bool:
    """Mostly lines of such dumps, and some that are none."""
    return _strangers(path, head) >= _OTHERS


def _strangers(path: str, head: bytes) -> int:
    """How many of the first lines are no dump's; -1 where most are none."""
    if _ARRAY.match(head):
        return -1 + (b'"frames"' in head and (b'"os_thread_id"' in head or b'"owns_gil"' in head))
    named = "py-spy" in path or "pyspy" in path
    if not (named or b"trace-" in head or _MARK.search(head)):  # cheap to find
        return -1
    lines = [_split(line)[1] for line in head.decode("utf-8", "replace").split("\n")[:400]]
    if not any(PY_SPY_THREAD.match(line) or _LISTED.match(line) or (named and _ERROR.match(line)) for line in lines):
        frames = (_NUMBERED.match(line) and PY_SPY_FRAME.match(after) for line, after in pairwise(lines))
        if not any(frames):
            return -1
    filled = [line for line in lines if line]
    known = sum(any(known.match(line) for known in _KNOWN) for line in filled)
    return len(filled) - known if 2 * known > len(filled) else -1


def parse(source: Source) -> Tables:
    """Tables of one file; never raises on content."""
    return together([source])


def together(sources: Sequence[Source]) -> Tables:
    """Tables of several files: a job leaves one for each rank, and a table costs more than what is in most."""
    parts: list[pl.DataFrame] = []
    claims: list[dict[str, Any]] = []
    stacks: list[dict[str, Any]] = []
    unread: list[dict[str, Any]] = []
    for source in sources:
        rows, problems = _read(source, claims)
        stacks += rows
        unread += problems
        if len(stacks) > ROWS or source is sources[-1]:
            parts.append(table("stacks", stacks))
            stacks.clear()
    return tables_of(stacks=pl.concat(parts), ranks=claims, unread=unread)


def _read(source: Source, claims: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Rows of `stacks` and of `unread`."""
    try:
        with source.open() as stream:
            data = stream.read(MAX_BYTES + 1)
    except Exception as error:  # archives and remote files raise whatever their readers raise
        return [], [{"file": source.path, "reason": f"cannot be read: {error}"[:1000]}]
    problems: list[dict[str, Any]] = []
    if source.read_error:
        problems.append({"reason": f"cut: {source.read_error}"})
    if len(data) > MAX_BYTES:
        problems.append({"bytes": max(source.size - MAX_BYTES, 1), "reason": f"cut: beyond {MAX_BYTES} bytes"})
    if is_json := _ARRAY.match(data) is not None:
        rows, rank = _json_rows(data[:MAX_BYTES], problems), source.rank
    else:
        said: list[dict[str, Any]] = []
        rows = _text_rows(data[:MAX_BYTES], problems, said)
        claims += [{"host": source.host} | claim | {"file": source.path} for claim in said]
        _mark_workers(rows)
        tops = {row["pid"] for row in rows if row.get("parent_pid") is None}
        rank = source.rank if len(tops) <= 1 else None  # several processes' dumps in one file: whose rank is it?
    seen: defaultdict[tuple[Any, ...], count[int]] = defaultdict(count)
    for row in rows:
        thread = (row.get("rank"), row.get("host"), row["pid"], row["thread"])
        who = {"rank": row.get("rank", rank), "host": row.get("host") or source.host, "file": source.path}
        row |= who | {"snapshot": next(seen[thread]) if row["thread"] is not None else 0, "source": "py-spy"}
    if not is_json and rank is None:
        place(rows, source, data[:MAX_BYTES].decode("utf-8", "replace").split("\n"))
    for problem in problems:
        problem["file"] = source.path
    return rows, problems[:MAX_PROBLEMS]


def _mark_workers(rows: Sequence[dict[str, Any]]) -> None:
    """A data loader's worker that was dumped by itself is a child of the process dumped before it, or of one that was not: then it has no
    main thread of the training."""
    workers = {row["pid"] for row in rows if row["is_main"] and any(map(_is_worker, row["frames"]))}
    parent = None
    for row in rows:
        if row.get("parent_pid") is not None or row["pid"] is None:
            continue
        if row["pid"] not in workers:
            parent = row["pid"]
        elif parent is not None:
            row["parent_pid"] = parent
        else:
            row["is_main"] = False


def _is_worker(frame: Mapping[str, Any]) -> bool:
    return frame["function"] == "_worker_loop" and str(frame["file"]).endswith("torch/utils/data/_utils/worker.py")


class _Stream(msgspec.Struct):
    """The lines of one source in the file, and what was read of the thread at hand."""

    host: str | None = None
    section: re.Match[str] | None = None  # of torch's debug server
    pid: int | None = None
    parent_pid: int | None = None
    is_listing: bool = False
    headers: list[tuple[int, re.Match[str]]] = msgspec.field(default_factory=list)
    frames: list[dict[str, Any]] = msgspec.field(default_factory=list)
    peer: int | None = None
    numbers: dict[str, int] = msgspec.field(default_factory=dict)  # what variables hold
    time_ns: int | None = None  # told above the process
    numbered: bool = False  # below a heading that is the number of a process, where its threads have no headers
    given: dict[str, int] = msgspec.field(default_factory=dict)  # rank and local rank, by the variables of the process
    above: dict[str, int] | None = None  # of the one that comes next; null where none stand above the first

    def flush(self) -> Iterator[dict[str, Any]]:
        """A row per header: notes stack several headers over the frames that their threads share."""
        for line, header in self.headers:
            thread, name = header["id"], header["name"] or None
            is_main = name == "MainThread" or (self.pid is not None and thread.split("/")[0] == str(self.pid))
            pid = self.pid
            if pid is None and is_main and thread.isascii() and thread.isdigit() and len(thread) <= len(str(1 << 32)):
                pid = int(thread)  # on Linux the main thread has its process' number
            yield {
                **self.given,
                **({"rank": int(self.section["rank"])} if self.section else {}),
                "pid": pid,
                "parent_pid": self.parent_pid,
                "host": self.host,
                "thread": thread,
                "thread_name": name,
                "is_main": is_main,
                "status": header["status"],
                "frames": list(self.frames),
                "peer": self.peer,
                "numbers": json.dumps(self.numbers) if self.numbers else None,
                "time_ns": self.time_ns,
                "line": line,
            }
        self.headers, self.frames, self.peer, self.numbers = [], [], None, {}

    def headless(self, line: int) -> Iterator[dict[str, Any]]:
        """The frames before the first header of a dump whose begin is lost; of the main thread if a module's code is there."""
        if self.frames and not self.headers:
            is_main = self.numbered or any(frame["function"] == "<module>" for frame in self.frames)
            own = {"pid": self.pid, "host": self.host, "thread": str(self.pid) if self.numbered else None}
            yield own | {"is_main": is_main, "frames": self.frames, "line": line}
            self.frames = []


def _split(line: str) -> tuple[str, str]:
    line = line[:LINE_CHARACTERS]
    found = _PREFIX.match(line)
    return (found["who"], line[found.end() :].rstrip()) if found else ("", line.rstrip())


def _text_rows(data: bytes, problems: list[dict[str, Any]], claims: list[dict[str, Any]]) -> list[dict[str, Any]]:
    streams: dict[str, _Stream] = {}
    rows: list[dict[str, Any]] = []
    lines = data.decode("utf-8", "replace").split("\n")
    several = are_of_programs(lines)
    for number, raw in enumerate(lines, start=1):
        who, line = _split(raw)
        if who not in streams:
            streams[who] = _Stream(host=None if who.isdigit() or not who else who)
        stream = streams[who]
        if header := PY_SPY_THREAD.match(line):
            rows.extend(stream.headless(number - 1))
            if stream.frames:
                rows.extend(stream.flush())
            stream.headers.append((number, header))
        elif (stream.headers or stream.numbered or not rows) and (frame := PY_SPY_FRAME.match(line)):
            stream.frames.append(py_spy_frame(frame))
        elif stream.headers and not _LOCALS.match(line) and (frame := _UNPLACED.match(line)):
            place = {"file": frame["place"], "line": None}  # words behind the place, or no place: still where it stands
            stream.frames.append({"function": frame["function"]} | place)
        elif stream.is_listing and (bare := _BARE.match(line)):
            rows.append(_listed_row(stream, number, bare["function"]))
        elif stream.headers and _LOCALS.match(line):
            if stream.peer is None and stream.frames:
                stream.peer = peer_of(stream.frames[-1]["function"], line)
            if (held := _HELD.match(line)) and len(stream.numbers) < _NUMBERS:
                stream.numbers.setdefault(held["name"], int(held["value"]))
        else:
            rows.extend(stream.headless(number - 1))
            rows.extend(stream.flush())
            _heading(stream, line, heading(line, of_programs=several), number, problems, claims)
    for stream in streams.values():
        rows.extend(stream.headless(number))
        rows.extend(stream.flush())
    return rows


def _heading(
    stream: _Stream,
    line: str,
    section: "re.Match[str] | None",
    number: int,
    problems: list[dict[str, Any]],
    claims: list[dict[str, Any]],
) -> None:
    """A line that is no thread and no frame: whose threads come next, and when they were seen, or why there are none."""
    if moment := _MOMENT.search(line):
        stream.time_ns = parse_time(moment[0])[0]
    numbered = _NUMBERED.match(line)
    if line:
        stream.numbered = numbered is not None
    if numbered:
        stream.pid, stream.parent_pid = int(numbered["pid"]), None
    elif _VARIABLES.match(line):
        if stream.pid is None or stream.above is not None:  # else each process's variables stand below its dump
            stream.above = (stream.above or {}) | _given(line)
    elif found := _PROCESS.match(line):
        stream.pid, stream.parent_pid = int(found["pid"]), None
        stream.given, stream.above = stream.above or {}, None if stream.above is None else {}
        if stream.section is not None:
            claims.append(claim_of(stream.section, stream.pid) | {"line": number})
        elif claim := told(line[found.end() :]):
            claims.append(claim | {"pid": stream.pid, "host": stream.host, "line": number})
    elif section is not None:
        stream.section, stream.host, stream.pid, stream.parent_pid = section, section["host"], None, None
    elif stream.section is not None and NO_ANSWER.match(line):
        problems.append({"line": number, "reason": f"no stack of rank {stream.section['rank']}: {line}"})
    elif found := _PARENT.match(line):
        stream.parent_pid = stream.parent_pid or int(found["pid"])
        # Its parent's arguments.
        claims[:] = [claim for claim in claims if claim["how"] != HOW or claim["pid"] != stream.pid]
    elif found := _NODE.match(line) or _LISTED.match(line) or _GATHERED.match(line):
        stream.host, stream.pid, stream.parent_pid = found["host"], None, None
        stream.is_listing = line.startswith("trace-")
    elif found := _SENT.match(line):
        stream.host, stream.pid, stream.parent_pid = _target(found["to"].split()), None, None
    elif _ERROR.match(line):
        problems.append({"line": number, "reason": f"py-spy: {line}"[:1000]})
    elif line.startswith(("    ", "Thread ")):
        problems.append({"line": number, "bytes": len(line), "reason": "cut: neither a thread nor a frame"})


def _target(words: Sequence[str]) -> str | None:
    """Where a command is sent: the first word that is no option and no option's value."""
    for before, word in pairwise(("", *words)):
        if not word.startswith("-") and not _VALUED.fullmatch(before):
            return found["name"] if (found := _TARGET.fullmatch(word)) else None
    return None


def _given(line: str) -> dict[str, int]:
    """What variables of a process tell of who it is."""
    told = ((of_process(name), int(number)) for name, number in _VARIABLE.findall(line))
    return {what: number for what, number in told if what in ("rank", "local_rank")}


def _listed_row(stream: _Stream, number: int, function: str) -> dict[str, Any]:
    frames = [{"function": function, "file": None, "line": None}]
    return {"pid": None, "host": stream.host, "thread": None, "is_main": True, "frames": frames, "line": number}


def _json_rows(data: bytes, problems: list[dict[str, Any]]) -> list[dict[str, Any]]:
    try:
        found, problem = cut_json.load_object(b'{"threads":' + _JOINT.sub(b",", data) + b"}", "threads")
    except cut_json.Refused as refusal:
        problems.append({"reason": str(refusal)})
        return []
    if problem:
        problems.append({"reason": f"cut: {problem}"})
    threads = found.get("threads")
    rows = []
    for record, thread in enumerate(threads if isinstance(threads, list) else []):
        if isinstance(thread, dict) and isinstance(thread.get("frames"), list):
            rows.append(_json_row(thread, record))
        else:
            problems.append({"record": record, "reason": "not a thread"})
    return rows


def _json_row(thread: dict[str, Any], record: int) -> dict[str, Any]:
    pid, own = _integer(thread.get("pid")), _integer(thread.get("os_thread_id"))
    info = thread.get("process_info")
    parent = info.get("parent") if isinstance(info, dict) else None
    number = own if own is not None else _integer(thread.get("thread_id"))
    name = _string(thread.get("thread_name"))
    active, gil = thread.get("active"), thread.get("owns_gil")
    return {
        "pid": pid,
        "parent_pid": _integer(parent.get("pid")) if isinstance(parent, dict) else None,
        "thread": None if number is None else str(number),
        "thread_name": name,
        "is_main": name == "MainThread" or (pid is not None and own == pid),
        "status": ("active" if active else "idle") + ("+gil" if gil is True else "") if type(active) is bool else None,
        "frames": [
            {
                "function": _string(frame.get("name")),
                "file": _string(frame.get("filename")) or _string(frame.get("short_filename")),
                "line": _integer(frame.get("line")),
            }
            for frame in thread["frames"]
            if isinstance(frame, dict)
        ],
        "record": record,
    }


def _integer(value: object) -> int | None:
    return value if type(value) is int and 0 <= value < 1 << 63 else None


def _string(value: object) -> str | None:
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) and value else None


def parse_session(source: Source) -> Tables:
    """Tables of one file, with the lines that are none of others; hosts by prompts."""
    tables = together([source])
    claimed: list[dict[str, Any]] = []
    prompts: set[str] = set()
    for number, text in text_lines(source):
        line = _split(text)[1]
        if line and any(known.match(line) for known in _KNOWN) and not _NUMBERED.match(line):
            claimed.append({"file": source.path, "line": number})
        elif line and (host := prompted(line)):
            prompts.add(host)
    stacks = tables["stacks"]
    if len(prompts) == 1:  # else somebody went from one to another
        stacks = stacks.with_columns(pl.col("host").fill_null(min(prompts)))
    return {**tables, "stacks": stacks, "claimed": table("claimed", claimed)}


SESSION = FileParser(name="py_spy_session", accepts=accepts_session, parse=parse_session)
PARSER = FileParser(name="py_spy", accepts=accepts, parse=parse, whole=True, together=together, at_once=AT_ONCE)
