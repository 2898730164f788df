"""Native stacks by gdb, cuda-gdb and pstack (`thread apply all bt`), and by eu-stack.

    Attaching to process 4700
    [New LWP 4712]
    Thread 2 (Thread 0x7f12 (LWP 4712) "pt_autograd_0"):
    #0  0x00007f69 in poll () from /lib64/libc.so.6
    #1  0x00007f70 in worker (self=0x1) at /src/worker.cpp:12
    Thread 1 (Thread 0x7f11 (LWP 4700) "python"):
    #0  …

    0x00007f69 in poll () from /lib64/libc.so.6                                 gdb -p 4700 -batch -ex bt
    #0  0x00007f69 in poll () from /lib64/libc.so.6
    [Inferior 1 (process 4700) detached]

    PID 4700 - process                                                          eu-stack
    TID 4700:
    #0  0x00007f69 poll

Table `stacks`, a row per thread and snapshot, `line` = its header, thread = LWP, frames innermost first, source `gdb`.
The pid is what gdb attached to, what a heading names (`== pstack 4711`), what eu-stack or the file's name says. The main thread is the one whose LWP is the pid;
where the pid is unknown, the one whose outermost frame starts a program, else `Thread 1` (gdb's numbering of a live
process; of a core the thread that crashed). `bt` alone heads no thread and shows the main one: its pid is that of what gdb then leaves, or its file's; so does pstack where there is one thread. Frames of Python that gdb's extension explains are read as such. `unread`:
a cut file, frames without a thread.

Printed by: gdb, cuda-gdb, pstack, eu-stack.
Versions: gdb 7 to 16, any elfutils.
Source: the forms of these tools.
"""

import re
from collections import defaultdict
from itertools import count
from typing import Any

import msgspec

from parsers.forms.reading import all_bytes
from parsers.schema.parser import FileParser, Source
from parsers.schema.tables import Tables, tables_of
from parsers.stacks.placed import place
from parsers.stacks.thread_lines import GDB_FRAME, GDB_THREAD, LINE_CHARACTERS, Frame, gdb_frame, peer_of
from parsers.text.patterns import regex

MAX_BYTES = 64 << 20
MAX_FRAMES = 1000  # a runaway recursion has a hundred thousand
MAX_PROBLEMS = 100
_TID = regex(r"TID (?P<lwp>\d{1,10})(?: \((?P<name>[^)]*)\))?:$")
_PID = regex(
    r"PID (?P<pid>\d{1,10}) - (?:process|core)|Attaching to (?:.*, )?process (?P<attached>\d{1,10})|\W{0,8}(?:pstack|eu-stack -p|gdb (?:-\S{1,40} ){0,6}-p)[ :#]{1,2}(?P<headed>\d{2,10})\b"
)
_LEFT = regex(
    r"(?:\[Inferior \d{1,4} \((?:process|LWP)|Detaching from program: \S+, process) (?P<pid>\d{1,10})(?:\) detached\])?$"
)
_REST = regex(r"\s+((?:at|from|in) \S.*|- ?\d+)$|\s+/\S+:\d+(?::\d+)?$")  # gdb and eu-stack break long frames
_NOISE = regex(
    r"\[(?:New|Switching to|Inferior|Thread debugging|Current thread|Detaching)|Using host libthread_db|warning: |"
    r"Reading symbols|Core was generated|Program terminated|Missing separate debug|--Type <RET>|\(cuda-gdb\)|"
    r"\(gdb\)|GNU gdb|Detaching|0x[0-9a-f]+ in .* \(\)|<signal handler|\d+\t|  File \"|Traceback \(most recent call f"
)
_FORMS = (GDB_FRAME, GDB_THREAD, _TID, _NOISE, _REST, _PID)
_FILE_PID = regex(r"(?:^|[/_.-])(?:pid|pstack|gdb|stacks?|bt)[_.-]?(\d{2,10})(?=$|[_.-])")
_STARTS = frozenset({"_start", "main", "__libc_start_main", "__libc_start_call_main", "Py_BytesMain", "_dl_start_user"})


def accepts(path: str, head: bytes) -> bool:
    """Mostly lines of such a dump, with a thread's header and a frame among them. A byte is looked for in a tenth of the time of a word."""
    del path
    if b"#" not in head or b"#0 " not in head:
        return False
    text = head.decode("utf-8", "replace")
    filled = [line for raw in text.split("\n")[:2000] if (line := raw[:LINE_CHARACTERS].rstrip())]
    known = sum(any(form.match(line) for form in _FORMS) for line in filled)
    # What pstack prints of a process of one thread: its frames alone, down to where a program starts.
    is_bare = known == len(filled) and any(thread.starts_program for thread in _threads(text, None, []))
    return 2 * known > len(filled) and (is_bare or any(_header(line) or _LEFT.match(line) for line in filled))


def _header(line: str) -> re.Match[str] | None:
    return GDB_THREAD.match(line) or _TID.match(line)


class _Thread(msgspec.Struct):
    header: re.Match[str] | None  # None where gdb heads no thread: then it shows the main one
    line: int
    pid: int | None
    frames: list[Frame] = msgspec.field(default_factory=list)
    open: str | None = None  # the frame at hand, as printed: its place may follow on the next line
    peer: int | None = None

    def close(self) -> None:
        if self.open is not None and len(self.frames) < MAX_FRAMES:
            self.frames.append(gdb_frame(self.open))
            if self.peer is None:
                self.peer = peer_of(self.frames[-1]["function"], self.open)
        self.open = None

    @property
    def lwp(self) -> int | None:
        return int(self.header["lwp"]) if self.header is not None else self.pid

    @property
    def starts_program(self) -> bool:
        return bool(self.frames) and str(self.frames[-1]["function"]).split("@")[0] in _STARTS


def parse(source: Source) -> Tables:
    """Tables of one file; never raises on content."""
    problems: list[dict[str, Any]] = []
    try:
        data = all_bytes(source, MAX_BYTES)
    except Exception as error:  # archives and remote files raise whatever their readers raise
        data, problems = b"", [{"reason": f"cannot be read: {error}"[:1000]}]
    if data is None:
        data, problems = b"", [{"bytes": source.size, "reason": f"larger than {MAX_BYTES} bytes"}]
    if source.read_error:
        problems.append({"reason": f"cut: {source.read_error}"})
    named = _FILE_PID.search(source.path)
    text, pid = data.decode("utf-8", "replace"), int(named[1]) if named else None
    threads = _threads(text, pid, problems)
    headed = [one for one in threads if one.header is not None]
    if pid not in {one.lwp for one in headed}:  # the number in the file's name counts something else
        for one in headed:
            one.pid = None if one.pid == pid else one.pid
    who = {"rank": source.rank, "local_rank": source.local_rank, "host": source.host, "file": source.path}
    unread = [problem | {"file": source.path} for problem in problems[:MAX_PROBLEMS]]
    stacks = [row | who for row in _rows(threads)]
    place(stacks, source, ["" if GDB_FRAME.match(line) else line for line in text.split("\n")])
    return tables_of(stacks=stacks, unread=unread)


def _threads(text: str, pid: int | None, problems: list[dict[str, Any]]) -> list[_Thread]:
    threads: list[_Thread] = []
    is_inside = False  # of a process that gdb has not left, with a thread
    for number, raw in enumerate(text.split("\n"), start=1):
        line = raw[:LINE_CHARACTERS].rstrip()
        if header := _header(line):
            if threads:
                threads[-1].close()
            threads.append(_Thread(header, number, pid))
            is_inside = True
        elif found := GDB_FRAME.match(line):
            if threads:
                threads[-1].close()
            if not is_inside and found["number"] == "0":
                threads.append(_Thread(None, number, None))
                is_inside = True
            if is_inside:
                threads[-1].open = found["rest"]
            elif len(problems) < MAX_PROBLEMS:
                problems.append({"line": number, "bytes": len(line), "reason": "cut: a frame without its thread"})
        elif threads and threads[-1].open is not None and (rest := _REST.match(line)):
            threads[-1].open += f" {rest[1] or 'at ' + line.strip()}"
        elif left := _LEFT.match(line):
            if is_inside and threads[-1].header is None:
                threads[-1].pid = int(left["pid"])
            is_inside = False
        elif process := _PID.match(line):
            pid = int(process["pid"] or process["attached"] or process["headed"])
            is_inside = False
    if threads:
        threads[-1].close()
    return [one for one in threads if one.header is not None or one.pid is not None or one.starts_program]


def _rows(threads: list[_Thread]) -> list[dict[str, Any]]:
    seen: defaultdict[tuple[int | None, int | None], count[int]] = defaultdict(count)
    looks = [(thread, next(seen[thread.pid, thread.lwp])) for thread in threads]
    starting = {(thread.pid, at) for thread, at in looks if thread.starts_program}
    return [
        {
            "pid": thread.pid,
            "thread": None if thread.lwp is None else str(thread.lwp),
            "thread_name": (thread.header["name"] or None) if thread.header is not None else None,
            "is_main": _is_main(thread, (thread.pid, at) in starting),
            "snapshot": at,
            "frames": thread.frames,
            "peer": thread.peer,
            "source": "gdb",
            "line": thread.line,
        }
        for thread, at in looks
    ]


def _is_main(thread: _Thread, one_starts_program: bool) -> bool:
    if thread.pid is not None:
        return thread.lwp == thread.pid
    if one_starts_program:
        return thread.starts_program
    return thread.header is not None and thread.header.groupdict().get("number") == "1"


PARSER = FileParser(name="native_stacks", accepts=accepts, parse=parse, whole=True)
