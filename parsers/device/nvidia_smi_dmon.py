"""`nvidia-smi dmon`: a line per GPU and interval; with `-o D` and `-o T` each line has its date and time.

    # gpu   pwr gtemp mtemp    sm   mem   enc   dec  mclk  pclk
    # Idx     W     C     C     %     %     %     %   MHz   MHz
        0    71    29    37     0     0     0     0  2619   345
    #Date       Time        gpu   pwr gtemp
    #YYYYMMDD   HH:MM:SS    Idx     W     C
     20250227   15:10:02      0   311    41

Columns are read by name. Metrics are `dmon/<name>`. The stamp has no zone and is read as UTC; without one nothing says
when a line was printed, but the order stays.

Printed by: nvidia-smi dmon.
Versions: drivers 450 to 580.
Source: nvidia-smi dmon --help.
"""

from typing import Any

from parsers.forms.reading import real, text_lines, whole
from parsers.schema.parser import FileParser, Source
from parsers.schema.tables import Tables, tables_of
from parsers.text.patterns import regex
from parsers.text.stamps import formed_ns

_HEADER = regex(r"^#\s?(?:Date\s+)?(?:Time\s+)?gpu\s+(?:pwr|sm|pclk|mclk|fb|gtemp|temp|pviol|sbecc|rxpci)\b")
_UNITS = regex(r"^#\s?(?:YYYYMMDD\s+)?(?:HH:MM:SS\s+)?Idx\b")
_ROW = regex(r"^\s+?(?:\d{8}\s+)?(?:\d\d:\d\d:\d\d\s+)?\d{1,3}\s+[\d.\s-]+$")


def accepts(_path: str, head: bytes) -> bool:
    """By its two lines of headings."""
    start = head[:4096]
    if b"#" not in start or b"Idx" not in start:
        return False
    lines = start.decode("utf-8", "replace").splitlines()[:5]
    return any(_HEADER.match(line) for line in lines) and any(_UNITS.match(line) for line in lines)


def parse(source: Source) -> Tables:
    """devices: dmon/<column>; lines that do not fit the header are `unread`."""
    rows: list[dict[str, Any]] = []
    claimed: list[dict[str, Any]] = []
    unread: list[dict[str, Any]] = []
    names: list[str] = []
    for number, text in text_lines(source):
        place = {"file": source.path, "line": number}
        if _HEADER.match(text):
            names = text.lstrip("# ").lower().split()[:400]
            claimed.append(place)
        elif _UNITS.match(text):
            claimed.append(place)
        elif names and _ROW.match(text):
            values = text.split()
            if len(values) != len(names):
                unread.append(place | {"reason": f"{len(values)} values for {len(names)} columns"})
                continue
            rows += _metrics(dict(zip(names, values, strict=True)), place | {"host": source.host})
    return tables_of(devices=rows, claimed=claimed, unread=unread)


def _metrics(said: dict[str, str], place: dict[str, Any]) -> list[dict[str, Any]]:
    stamp = f"{said.pop('date', '')} {said.pop('time', '')}"
    device = {"device_index": whole(said.pop("gpu")), "time_ns": formed_ns(stamp, "%Y%m%d %H:%M:%S")}
    return [
        place | device | {"metric": f"dmon/{name}", "value": real(value), "text": value}
        for name, value in said.items()
        if value != "-"
    ]


PARSER = FileParser(name="nvidia_smi_dmon", accepts=accepts, parse=parse)
