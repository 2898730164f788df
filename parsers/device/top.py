"""`top` in batch mode: how much of a host's processors was idle, and of its processes the state of each.

    top - 15:21:07 up 61 days,  2:10,  1 user,  load average: 412.31, 398.02, 305.77
    Tasks: 2101 total, 403 running, 1690 sleeping,   0 stopped,   0 zombie
    %Cpu(s): 93.1 us,  6.7 sy,  0.0 ni,  0.1 id,  0.0 wa,  0.0 hi,  0.1 si,  0.0 st
    Cpu(s):  2.1%us,  1.0%sy,  0.0%ni, 96.9%id,  0.0%wa                                     (procps 3.2)

      PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND
     4711 root      20   0  895876 316652  98456 T   0.0   1.3   0:03.27 python

A moment has no date, so its rows have no time, only their order. States: source `top`, as parsers/stacks/ps.py has them.

Printed by: top of procps.
Versions: procps 3.2 and procps-ng 3.3 to 4.0.
Source: top(1) and top.c of procps-ng.
"""

from typing import Any

from parsers.forms.reading import text_lines
from parsers.schema.parser import FileParser, Source
from parsers.schema.tables import Rows, Tables, tables_of
from parsers.stacks.process_table import Form, form, process
from parsers.text.patterns import regex

_HEAD = regex(rb"(?m)^top - \d\d:\d\d:\d\d up [^\n]{1,80}load average: ")
_LOAD = regex(r"top - \d\d:\d\d:\d\d up ")
_IDLE = regex(r"%?Cpu\(s\):.{1,80}?(?P<idle>\d{1,3}(?:\.\d{1,2})?)[ %]id\b")
_FORM = regex(r"Tasks:|Threads:|(?:MiB|KiB|GiB)? ?(?:Mem|Swap) ?:|\s*PID USER\b|\s*\d+ \S+ +(?:rt|-?\d+) +-?\d+ ")
MAX_MOMENTS = 100_000


def accepts(_path: str, head: bytes) -> bool:
    """By the line that every moment begins with."""
    return b"top - " in head[:4096] and _HEAD.search(head[:4096]) is not None


def parse(source: Source) -> Tables:
    """devices: top/cpu_idle in percent of all processors, a row per moment. stacks: a row per process and moment."""
    rows: list[dict[str, Any]] = []
    claimed: list[dict[str, Any]] = []
    stacks = Rows("stacks")
    header: Form | None = None
    moment = -1
    for number, text in text_lines(source):
        place = {"file": source.path, "line": number}
        if (found := _IDLE.match(text)) and len(rows) < MAX_MOMENTS:
            value = {"metric": "top/cpu_idle", "value": float(found["idle"]), "text": found["idle"]}
            rows.append(place | value | {"host": source.host})
            continue
        moment += _LOAD.match(text) is not None
        header = form(text) or header
        cells = header.cells(text) if header is not None and moment < MAX_MOMENTS else {}
        stack = process(cells)[0] if cells else None
        if stack is not None:
            del stack["parent"]  # a fork of it has its own row of the kind
            stacks.append(stack | place | {"source": "top", "host": source.host, "snapshot": moment})
        if found or cells or _LOAD.match(text) or _FORM.match(text):
            claimed.append(place)
    return tables_of(devices=rows, stacks=stacks.table(), claimed=claimed)


PARSER = FileParser(name="top", accepts=accepts, parse=parse)
