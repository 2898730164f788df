"""Kernel stacks of tasks: /proc/PID/stack, /proc/PID/task/TID/stack and /proc/PID/wchan, alone or several in one file under headings.

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

from typing import Any

from parsers.forms.reading import text_lines
from parsers.schema.parser import FileParser, Source
from parsers.schema.tables import Tables, tables_of
from parsers.stacks.kernel_tasks import FRAME, FUNCTION, WCHAN, Tasks
from parsers.stacks.placed import place


def accepts(path: str, head: bytes) -> bool:
    """Mostly frames with brackets, no time stamps before them (the kernel's log has those); a `wchan` holds one word."""
    if WCHAN.search(path):
        return FUNCTION.match(head.decode("utf-8", "replace").strip()) is not None
    if b"<" not in head or b"[<" not in head:
        return False
    filled = [line for line in head.decode("utf-8", "replace").split("\n")[:400] if line.strip()]
    return 2 * sum(map(bool, map(FRAME.match, filled))) > len(filled)


def parse(source: Source) -> Tables:
    """Tables of one file; never raises on content."""
    tasks = Tasks(source)
    problems: list[dict[str, Any]] = []
    lines: list[str] = []
    claimed: list[dict[str, Any]] = []
    try:
        for number, line in text_lines(source):
            if tasks.read(number, line):
                claimed.append({"file": source.path, "line": number})
            lines.append("" if FRAME.match(line) else line)
    except Exception as error:  # archives and remote files raise whatever their readers raise
        problems.append({"reason": f"cannot be read: {error}"[:1000]})
    if source.read_error:
        problems.append({"reason": f"cut: {source.read_error}"})
    unread = [problem | {"file": source.path} for problem in problems]
    rows = tasks.rows()
    place(rows, source, lines)
    return tables_of(stacks=rows, claimed=claimed, unread=unread)


PARSER = FileParser(name="proc_stack", accepts=accepts, parse=parse)
