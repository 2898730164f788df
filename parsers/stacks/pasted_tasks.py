"""Kernel stacks of tasks that somebody asked for between other commands, each below the line that names its process.

    [ops@n07 ~]$ sudo cat /proc/4700/stack
    [<0>] rpc_wait_bit_killable+0x24/0xa0 [sunrpc]
    [<0>] nfs4_proc_getattr+0x61/0xf0 [nfsv4]

Files that hold little else are read by proc_stack.py. Table `stacks`, as there; the host is that of the prompt or the heading above.

Printed by: the kernel, through cat.
Versions: kernels 4.14 to 6.x.
Source: Linux's fs/proc/base.c.
"""

from io import BytesIO
from typing import Any

import polars as pl

from parsers.schema.lines import reporter
from parsers.schema.parser import LineParser, Source
from parsers.schema.tables import Tables, tables_of
from parsers.stacks.kernel_tasks import FRAME, Tasks
from parsers.stacks.placed import once_by_file


def parse(lines: pl.DataFrame) -> Tables:
    """stacks, of processes whose number is told above; claimed: their frames."""
    stacks: list[dict[str, Any]] = []
    claimed: list[dict[str, Any]] = []
    for file, own in once_by_file(lines):
        # Who speaks is told line by line.
        tasks = Tasks(Source(path="", size=0, open=BytesIO))
        hosts: dict[int, str | None] = {}
        for row in own:
            hosts[row["line"]] = reporter(row)["host"]
            tasks.read(row["line"], row["text"])
            if FRAME.match(row["text"]):
                claimed.append({"file": file, "line": row["line"]})
        stacks += [one | {"file": file, "host": hosts[one["line"]]} for one in tasks.rows() if one["pid"] is not None]
    return tables_of(stacks=stacks, claimed=claimed)


PARSER = LineParser(name="pasted_tasks", anchors=(b"[<0>] ",), parse=parse, of_host=True, before=True)
