"""`dcgmi dmon -e …` (DCGM 2 to 4): fields of each GPU, a line per GPU and interval.

    #Entity   GPUTL  POWER    TMPTR   XID
    ID               W        C
    GPU 0     75     185.300  41      0
    GPU 1     N/A    181.020  40      0

Columns are read by name, as their order need not be that of the request; the header repeats. Metrics are
`dcgm/<name>` in lower case. `XID` is the last Xid that DCGM saw, not a count: it becomes a metric and no event.

Printed by: dcgmi dmon of NVIDIA's Data Center GPU Manager.
Versions: DCGM 2 to 4, with either header (`#Entity` over `ID`, older `# Entity` over `Id`).
Source: DCGM's user guide and its list of field identifiers.
"""

import re
from typing import Any

from parsers.forms.reading import real, text_lines
from parsers.schema.parser import FileParser, Source
from parsers.schema.tables import Tables, tables_of
from parsers.text.patterns import regex

_HEADER = regex(r"^# ?Entity\s+\S")
_UNITS = regex(r"^\s*I[Dd](?:\s|$)|^[-\s]+$")
_ROW = regex(r"^(?P<kind>GPU(?:-I|-CI)?|Switch|Link|CPU|Core)\s+(?P<id>[\d/]{1,12})\s+(?P<values>\S.*)$")


def accepts(_path: str, head: bytes) -> bool:
    """By its header."""
    start = head[:4096]
    return b"Entity" in start and re.search(rb"(?m)^# ?Entity\s+[A-Z]", start) is not None


def parse(source: Source) -> Tables:
    """devices: dcgm/<column>; lines that do not fit the header are `unread`."""
    rows: list[dict[str, Any]] = []
    claimed: list[dict[str, Any]] = []
    unread: list[dict[str, Any]] = []
    names: list[str] = []
    for number, text in text_lines(source):
        place = {"file": source.path, "line": number}
        if _HEADER.match(text):
            names = text.lstrip("# ").split()[1:400]
            claimed.append(place)
        elif (found := _ROW.match(text)) and names:
            values = found["values"].split()
            if len(values) != len(names):
                unread.append(place | {"reason": f"{len(values)} values for {len(names)} columns"})
                continue
            rows += _metrics(found["kind"], found["id"], names, values, place | {"host": source.host})
        elif names and _UNITS.match(text):
            claimed.append(place)
    return tables_of(devices=rows, claimed=claimed, unread=unread)


def _metrics(
    kind: str, number: str, names: list[str], values: list[str], place: dict[str, Any]
) -> list[dict[str, Any]]:
    prefix = "dcgm" if kind == "GPU" else f"dcgm/{kind.lower()}/{number}"
    device = {"device_index": int(number) if kind == "GPU" and number.isascii() and number.isdigit() else None}
    return [
        place | device | {"metric": f"{prefix}/{name.lower()}", "value": real(value), "text": value}
        for name, value in zip(names, values, strict=True)
        if value != "N/A"
    ]


PARSER = FileParser(name="dcgmi_dmon", accepts=accepts, parse=parse)
