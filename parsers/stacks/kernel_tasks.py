"""Tasks as the kernel shows them in /proc: frames of their kernel stacks, and the one function that each sleeps in.

    ==> /proc/4700/task/4712/stack <==
    [<0>] rpc_wait_bit_killable+0x24/0xa0 [sunrpc]
    == pid 4700 ==                                                     also `4700:`, `PID: 4700`, `/proc/4700/stack:`, `#### /proc/4700`
    ==> /proc/4700/wchan <==
    fifo_open
    -- wchan                                                           below a heading of its process
    locks_lock_inode_wait

Source: Linux's fs/proc/base.c: proc_pid_wchan writes 0 for a task that runs or may not be asked, and no end of line. Not read:
the headings, which are those of loops that people write, and of `head`.
"""

from collections import defaultdict
from itertools import count
from typing import Any

from parsers.schema.parser import Source
from parsers.text.patterns import regex

MAX_FRAMES = 200
MAX_ROWS = 200_000
FRAME = regex(
    r"\s*\[<(?:0|0x[0-9a-f]+|[0-9a-f]{8,16})>\] (?P<function>\S+?)(?:\+0x[0-9a-f]+/0x[0-9a-f]+)?"
    r"(?: \[(?P<module>[\w-]+)\])?$"
)
WCHAN = regex(r"(?:^|/)proc[/_-]?(?P<pid>\d{1,10})/(?:task/(?P<tid>\d{1,10})/)?wchan$")
_PROC = regex(
    r"/?proc/(?P<pid>\d{1,10})(?:/task/(?P<tid>\d{1,10}))?(?:/(?P<what>stack|wchan|status)\b|/?(?=[\s:=\-#]*$))"
)
_PART = regex(r"[=\-#>\s\[]{0,12}(?P<what>stack|wchan|status)[\s:=\-#\]]*$")
_HEADING = regex(
    r"(?i)[=\-#>\s]*(?:(?P<word>pid|process|tid|task)\s*[:=#]?\s*(?P<named>\d{1,10})\b|(?P<bare>\d{1,10})[:\s=\-#]*$)"
)
_PATH_PID = regex(r"(?:^|[/_.-])(\d{2,10})(?:[/_.-](?:kernel|proc))?[/_.-]stack|stack[_.-](?:pid[_.-]?)?(\d{2,10})\b")
FUNCTION = regex(r"[A-Za-z_][\w.]{2,120}$")  # a bare 0: it runs


class Tasks:
    """Reads the lines of a file one by one; `rows` of `stacks`, a row per task, frames innermost first."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._rows: list[dict[str, Any]] = []
        self._pid, self._tid, self._what = _from_path(source.path)
        self._is_open = False

    def read(self, number: int, line: str) -> bool:
        """Is it a line of a stack, or says of which task the next is?"""
        if found := FRAME.match(line):
            frame = {"function": found["function"], "file": found["module"], "line": None}
            if not self._is_open:
                self._begin(number)
            if found["function"] != "0xffffffffffffffff" and self._rows and len(self._rows[-1]["frames"]) < MAX_FRAMES:
                self._rows[-1]["frames"].append(frame)
            return True
        self._is_open = False
        if self._what == "wchan" and FUNCTION.match(line.strip()):
            if not any(row["pid"] == self._pid and row["thread"] == self._tid for row in self._rows[-8:]):
                self._begin(number)
                if self._is_open:
                    self._rows[-1]["frames"].append({"function": line.strip(), "file": None, "line": None})
            self._is_open, self._what = False, ""
            return True
        return self._heading(line)

    def _begin(self, number: int) -> None:
        if len(self._rows) < MAX_ROWS:
            self._rows.append({"pid": self._pid, "thread": self._tid, "frames": [], "line": number})
            self._is_open = True

    def _heading(self, line: str) -> bool:
        """Does it say which task the next frames belong to?"""
        if found := _PROC.search(line):
            self._pid, self._tid, self._what = int(found["pid"]), found["tid"], found["what"] or ""
        elif found := _PART.match(line):
            self._what = found["what"]
        elif found := _HEADING.match(line):
            if (found["word"] or "").lower() in ("tid", "task"):
                self._tid = found["named"]
            else:
                self._pid, self._tid = int(found["named"] or found["bare"]), None
        else:
            return False
        return True

    def rows(self) -> list[dict[str, Any]]:
        """source `kernel`; the task whose number is the pid is the main one."""
        seen: defaultdict[tuple[Any, Any], count[int]] = defaultdict(count)
        made = []
        source = self._source
        who = {"rank": source.rank, "local_rank": source.local_rank, "host": source.host, "file": source.path}
        for row in self._rows:
            pid, thread = row["pid"], row["thread"]
            is_main = None if pid is None else thread is None or int(thread) == pid
            own = thread or (None if pid is None else str(pid))
            snapshot = next(seen[pid, thread]) if pid is not None else 0
            made.append(row | who | {"thread": own, "is_main": is_main, "snapshot": snapshot, "source": "kernel"})
        return made


def _from_path(path: str) -> tuple[int | None, str | None, str]:
    if found := WCHAN.search(path):
        return int(found["pid"]), found["tid"], "wchan"
    if found := _PROC.search(path):
        return int(found["pid"]), found["tid"], found["what"] or ""
    if named := _PATH_PID.search(path):
        return int(named[1] or named[2]), None, "stack"
    return None, None, ""
