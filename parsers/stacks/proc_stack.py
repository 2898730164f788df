"""Kernel stacks of tasks: /proc/PID/stack and /proc/PID/task/TID/stack, alone or several in one file under headings.

    ==> /proc/4700/task/4712/stack <==
    [<0>] rpc_wait_bit_killable+0x24/0xa0 [sunrpc]
    [<0>] nfs4_proc_getattr+0x61/0xf0 [nfsv4]
    [<0>] entry_SYSCALL_64_after_hwframe+0x44/0xa9
    == pid 4700 ==                                                     also `4700:`, `PID: 4700`, `/proc/4700/stack:`
    [<ffffffff8121a0f5>] poll_schedule_timeout+0x55/0xd0

Table `stacks`, a row per task, `line` = its first frame, frames innermost first, a module in square brackets is the
frame's file, source `kernel`. pid and thread come from the heading, else from the path; the task whose number is the
pid is the main one.

Printed by: the kernel, through cat or a collector's script.
Versions: kernels 2.6.29 to 6.x.
Source: Linux's fs/proc/base.c.
"""

from collections import Counter
from typing import Any

from parsers.parser import FileParser, Source
from parsers.patterns import regex
from parsers.reading import text_lines
from parsers.tables import Tables, table

MAX_FRAMES = 200
MAX_ROWS = 200_000
_FRAME = regex(
    r"\s*\[<(?:0|0x[0-9a-f]+|[0-9a-f]{8,16})>\] (?P<function>\S+?)(?:\+0x[0-9a-f]+/0x[0-9a-f]+)?"
    r"(?: \[(?P<module>[\w-]+)\])?$"
)
_PROC = regex(r"/?proc/(?P<pid>\d{1,10})(?:/task/(?P<tid>\d{1,10}))?/stack\b")
_HEADING = regex(
    r"(?i)[=\-#>\s]*(?:(?P<word>pid|process|tid|task)\s*[:=#]?\s*(?P<named>\d{1,10})\b|(?P<bare>\d{1,10})[:\s=\-#]*$)"
)
_PATH_PID = regex(r"(?:^|[/_.-])(\d{2,10})(?:[/_.-](?:kernel|proc))?[/_.-]stack|stack[_.-](?:pid[_.-]?)?(\d{2,10})\b")


def accepts(path: str, head: bytes) -> bool:
    """Mostly frames with brackets, no time stamps before them (the kernel's log has those)."""
    del path
    if b"<" not in head or b"[<" not in head:
        return False
    filled = [line for line in head.decode("utf-8", "replace").split("\n")[:400] if line.strip()]
    return 2 * sum(map(bool, map(_FRAME.match, filled))) > len(filled)


def parse(source: Source) -> Tables:
    """Tables of one file; never raises on content."""
    rows: list[dict[str, Any]] = []
    problems: list[dict[str, Any]] = []
    pid, tid = _from_path(source.path)
    is_open = False
    try:
        for number, line in text_lines(source):
            if found := _FRAME.match(line):
                if not is_open and len(rows) < MAX_ROWS:
                    rows.append({"pid": pid, "thread": tid, "frames": [], "line": number})
                    is_open = True
                if found["function"] != "0xffffffffffffffff" and rows and len(rows[-1]["frames"]) < MAX_FRAMES:
                    frame = {"function": found["function"], "file": found["module"], "line": None}
                    rows[-1]["frames"].append(frame)
                continue
            is_open = False
            pid, tid = _heading(line, pid, tid)
    except Exception as error:  # archives and remote files raise whatever their readers raise
        problems.append({"reason": f"cannot be read: {error}"[:1000]})
    if source.read_error:
        problems.append({"reason": f"cut: {source.read_error}"})
    unread = [problem | {"file": source.path} for problem in problems]
    return {"stacks": table("stacks", _finished(source, rows)), "unread": table("unread", unread)}


def _heading(line: str, pid: int | None, tid: str | None) -> tuple[int | None, str | None]:
    """The task that the next frames belong to."""
    if found := _PROC.search(line):
        return int(found["pid"]), found["tid"]
    if found := _HEADING.match(line):
        if (found["word"] or "").lower() in ("tid", "task"):
            return pid, found["named"]
        return int(found["named"] or found["bare"]), None
    return pid, tid


def _from_path(path: str) -> tuple[int | None, str | None]:
    if found := _PROC.search(path):
        return int(found["pid"]), found["tid"]
    if named := _PATH_PID.search(path):
        return int(named[1] or named[2]), None
    return None, None


def _finished(source: Source, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    seen: Counter[tuple[Any, Any]] = Counter()
    made = []
    for row in rows:
        pid, thread = row["pid"], row["thread"]
        key = (pid, thread)
        who = {"rank": source.rank, "local_rank": source.local_rank, "host": source.host, "file": source.path}
        is_main = None if pid is None else thread is None or int(thread) == pid
        thread = thread or (None if pid is None else str(pid))
        snapshot = seen[key] if pid is not None else 0
        made.append(row | who | {"thread": thread, "is_main": is_main, "snapshot": snapshot, "source": "kernel"})
        seen[key] += 1
    return made


PARSER = FileParser(name="proc_stack", accepts=accepts, parse=parse, whole=True)
