"""`ps` in its usual sets of columns: which processes run, sleep, wait for a disk, or were stopped by a signal.

    $ ps -eo pid,ppid,stat,wchan:20,args                          a line before the table is left alone
      PID  PPID STAT WCHAN                COMMAND
     4711  4700 Sl   futex_do_wait        python -u train.py --rank 3
     4712  4700 Tl   do_signal_stop       python -u train.py --rank 4
     4713  4700 Ds   rpc_wait_bit_killabl python -u train.py --rank 5

Table `stacks`, a row per process, `status` as /proc/PID/status has it, source `ps`, `line` = the row; its frame is the state of a
stopped process, else the function of the kernel that it sleeps in, cut to the width of its
column: 6 where none was asked for. `ranks`: what its arguments tell (parsers/who/scripts/arguments.py).

Printed by: ps of procps-ng; that of busybox has headers of the same form.
Versions: procps-ng 3.3 to 4.0, checked against what 4.0.2 prints.
Source: src/ps/output.c (format_array) and wchan.c of procps-ng: `-` where a process runs, `?` where it may not be asked, and no
leading `_`. Not read: busybox.
"""

from typing import Any

from parsers.forms.reading import text_lines
from parsers.schema.parser import FileParser, Source
from parsers.schema.tables import Rows, Tables, table, tables_of
from parsers.stacks.process_looks import Looks, without_children
from parsers.stacks.process_table import form

_HEAD_LINES = 12  # lines that may stand before the table


def accepts(_path: str, head: bytes) -> bool:
    """One of the first lines is a table's header, and the next one a row of it."""
    if b"PID" not in head[:4096] and b"pid," not in head[:4096]:
        return False
    lines = head[:16384].decode("utf-8", "replace").split("\n")[:_HEAD_LINES]
    forms = [(number, found) for number, line in enumerate(lines) if (found := form(line))]
    return any(found.cells(line) for number, found in forms for line in lines[number + 1 : number + 2])


def parse(source: Source) -> Tables:
    """stacks, ranks; lines of other forms are left to others."""
    stacks = Rows("stacks")
    claimed: list[dict[str, Any]] = []
    looks = Looks()
    for number, text in text_lines(source):
        place = {"file": source.path, "line": number}
        if looks.read(text, place | {"host": source.host}, any_form=False):
            claimed.append(place)
    for row in looks.rows():
        stacks.append(row | {"source": "ps"})
    ranks = table("ranks", without_children(looks.claims))
    return tables_of(stacks=stacks.table(), ranks=ranks, claimed=claimed)


PARSER = FileParser(name="ps", accepts=accepts, parse=parse)
