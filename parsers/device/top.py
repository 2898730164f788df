"""`top` in batch mode: how much of a host's processors was idle. Of its list of processes nothing is read.

    top - 15:21:07 up 61 days,  2:10,  1 user,  load average: 412.31, 398.02, 305.77
    Tasks: 2101 total, 403 running, 1690 sleeping,   0 stopped,   0 zombie
    %Cpu(s): 93.1 us,  6.7 sy,  0.0 ni,  0.1 id,  0.0 wa,  0.0 hi,  0.1 si,  0.0 st
    Cpu(s):  2.1%us,  1.0%sy,  0.0%ni, 96.9%id,  0.0%wa                                     (procps 3.2)

A moment has no date, so its rows have no time, only their order.

Printed by: top of procps.
Versions: procps 3.2 and procps-ng 3.3 to 4.0.
Source: top(1) and top.c of procps-ng.
"""

from typing import Any

from parsers.parser import FileParser, Source
from parsers.patterns import regex
from parsers.reading import text_lines
from parsers.tables import Tables, table

_HEAD = regex(rb"(?m)^top - \d\d:\d\d:\d\d up [^\n]{1,80}load average: ")
_LOAD = regex(r"top - \d\d:\d\d:\d\d up ")
_IDLE = regex(r"%?Cpu\(s\):.{1,80}?(?P<idle>\d{1,3}(?:\.\d{1,2})?)[ %]id\b")
_FORM = regex(r"Tasks:|Threads:|(?:MiB|KiB|GiB)? ?(?:Mem|Swap) ?:|\s*PID USER\b|\s*\d+ \S+ +(?:rt|-?\d+) +-?\d+ ")
MAX_MOMENTS = 100_000


def accepts(_path: str, head: bytes) -> bool:
    """By the line that every moment begins with."""
    return b"top - " in head[:4096] and _HEAD.search(head[:4096]) is not None


def parse(source: Source) -> Tables:
    """devices: top/cpu_idle in percent of all processors, a row per moment."""
    rows: list[dict[str, Any]] = []
    claimed: list[dict[str, Any]] = []
    for number, text in text_lines(source):
        place = {"file": source.path, "line": number}
        if (found := _IDLE.match(text)) and len(rows) < MAX_MOMENTS:
            value = {"metric": "top/cpu_idle", "value": float(found["idle"]), "text": found["idle"]}
            rows.append(place | value | {"host": source.host})
        elif found or _LOAD.match(text) or _FORM.match(text):
            claimed.append(place)
    return {"devices": table("devices", rows), "claimed": table("claimed", claimed)}


PARSER = FileParser(name="top", accepts=accepts, parse=parse)
