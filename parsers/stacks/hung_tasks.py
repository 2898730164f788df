"""Kernel stacks of tasks that a kernel found blocked, below the line that says so.

    INFO: task fit:4711 blocked for more than 122 seconds.
          Not tainted 6.8.0-45-generic #45
    task:fit   state:D stack:0     pid:4711  ppid:1
    Call Trace:
     <TASK>
     __schedule+0x2d0/0x830
     rpc_wait_bit_killable+0x24/0xa0 [sunrpc]

Table `stacks`, a row for each time that a task was found so, `line` = its first frame, innermost first, a module in square brackets is the frame's
file, source `kernel`. Frames with a question mark were only found on the stack, and are left out, and so is the scheduler.

Printed by: the kernel (kernel/hung_task.c, lib/dump_stack.c).
Versions: kernels 3.10 to 6.x.
Source: check_hung_task in kernel/hung_task.c, printk_stack_address of the architectures.
"""

from collections import defaultdict
from itertools import count
from typing import Any

import polars as pl

from parsers.schema.lines import reporter
from parsers.schema.parser import LineParser
from parsers.schema.tables import Tables, table
from parsers.text.patterns import regex

AFTER = 48
_TASK = regex(r"\btask \S{1,64}:(?P<pid>\d{1,10}) blocked (?:for more than|in I/O wait)")
_FRAME = regex(
    r"\s*(?P<function>[A-Za-z_][\w.]{1,120})\+0x[0-9a-f]{1,8}/0x[0-9a-f]{1,8}(?: \[(?P<module>[\w-]{1,60})\])?\s*"
)
_SCHEDULER = regex(r"(?:_{0,2}|io_)schedule(?:_\w{1,40})?")  # where every task that sleeps stands
_FEWEST = 2


def parse(lines: pl.DataFrame) -> Tables:
    """stacks, of the tasks that a kernel found blocked."""
    rows: list[dict[str, Any]] = []
    seen: defaultdict[tuple[str, str | None, int], count[int]] = defaultdict(count)
    task: dict[str, Any] | None = None
    for row in lines.iter_rows(named=True):
        text = str(row["text"] or "")
        if (found := _TASK.search(text)) is not None:
            pid = int(found["pid"])
            task = {
                "pid": pid, "thread": str(pid), "is_main": True, "host": reporter(row)["host"], "time_ns": row["time_ns"], "frames": [],
                "source": "kernel", "snapshot": next(seen[row["file"], row["host"], pid]), "file": row["file"], "line": row["line"],
            }  # fmt: skip
            rows.append(task)
        elif task is not None and row["file"] == task["file"] and (frame := _FRAME.fullmatch(text)) is not None:
            if not task["frames"] and _SCHEDULER.fullmatch(frame["function"]):
                continue
            task["frames"].append({"function": frame["function"], "file": frame["module"], "line": None})
    return {"stacks": table("stacks", [row for row in rows if len(row["frames"]) >= _FEWEST])}


PARSER = LineParser(
    name="hung_tasks",
    anchors=(b"blocked for more than", b"blocked in I/O wait"),
    parse=parse,
    of_host=True,
    after=AFTER,
)
