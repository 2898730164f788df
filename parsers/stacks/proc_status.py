"""What the kernel says of processes in /proc/PID/status: whether they run, sleep, or were stopped by a signal; and what else of
/proc/PID a collector put into the same file, its stack and its wchan (kernel_tasks.py).

    ==> /proc/4700/status <==                               a heading where several are in one file
    Name:   python3
    State:  T (stopped)                                     R (running), S (sleeping), D (disk sleep), t (tracing stop), …
    Tgid:   4700
    Pid:    4700
    PPid:   4680

Table `stacks`, a row per process, `status` = the kernel's word in brackets, source `proc status`, `line` = that of its state;
of a stopped process that line is its only frame, others have none. The rank is the path's. Rows of threads, whose Pid is not
their Tgid, are left out. Where somebody picked lines of it, the first that comes again begins the next process. What else stands in the file is
left to others.

Printed by: the kernel, through cat, tail or a collector's script.
Versions: kernels 2.6 to 6.x.
Source: Linux's fs/proc/array.c.
"""

from typing import Any

from parsers.forms.reading import text_lines
from parsers.schema.parser import FileParser, Source
from parsers.schema.tables import Tables, tables_of
from parsers.stacks.kernel_tasks import Tasks
from parsers.stacks.process_table import STATE, row_of_status
from parsers.text.patterns import regex

MAX_ROWS = 100_000
_FIELD = regex(r"(?P<name>Name|State|Tgid|Pid):\s+(?P<value>\S.{0,80})$")
_OWN = regex(r"[A-Za-z_]{2,40}:\t|\s*\[<|==> /proc/|\s*$")
_NUMBER = regex(r"\d{1,10}")
_HEAD = regex(rb"(?m)^Name:\t[^\n]{1,100}\n(?:Umask:[^\n]*\n)?State:\t[A-Za-z] \([a-z ]+\)\r?\nTgid:\t\d")


def accepts(_path: str, head: bytes) -> bool:
    """By the first fields, which stand in this order since they exist."""
    return b"\nState:" in head[:4096] and _HEAD.search(head[:4096]) is not None


def parse(source: Source) -> Tables:
    """stacks, claimed; a file that cannot be read to its end is `unread`."""
    rows: list[dict[str, Any]] = []
    fields: dict[str, str] = {}
    problems: list[dict[str, Any]] = []
    claimed: list[dict[str, Any]] = []
    at = 0
    tasks = Tasks(source)
    try:
        for number, text in text_lines(source):
            found = _FIELD.match(text)
            if not found:
                tasks.read(number, text)
            if _OWN.match(text):
                claimed.append({"file": source.path, "line": number})
            if not found or len(rows) >= MAX_ROWS:
                continue
            if found["name"] in fields:  # the next process
                rows += _process(source, fields, at)
                fields = {}
            fields[found["name"]] = found["value"]
            at = number if found["name"] == "State" else at
        rows += _process(source, fields, at)
    except Exception as error:  # archives and remote files raise whatever their readers raise
        problems.append({"file": source.path, "reason": f"cannot be read: {error}"[:1000]})
    if source.read_error:
        problems.append({"file": source.path, "reason": f"cut: {source.read_error}"})
    return tables_of(stacks=rows + tasks.rows(), unread=problems, claimed=claimed)


def _process(source: Source, fields: dict[str, str], line: int) -> list[dict[str, Any]]:
    number = fields.get("Pid") or fields.get("Tgid", "")
    state, pid = STATE.match(fields.get("State", "")), _NUMBER.fullmatch(number.strip())
    if state is None or pid is None or fields.get("Tgid", number).strip() != pid[0]:
        return []
    who = {"rank": source.rank, "local_rank": source.local_rank, "host": source.host, "file": source.path}
    return [row_of_status(pid[0], state, fields.get("Name")) | who | {"line": line}]


PARSER = FileParser(name="proc_status", accepts=accepts, parse=parse)
