"""Lines of the MetaX kernel driver, with its EID codes, and their catalogue.

Formats after MetaX documents 346, 448, 661 and 866 (old wording first; the EID came later):

    METAX.B10200.ATU.ERROR page fault at va 0x7f00
    METAX.B10200.ATU.ERROR EID (0001:02:00.0): 0x2101, page fault at va 0x7f00
    ERROR EID(0001:02:00.0): 0x110a,link abnormal,check cable,lane=3

Modules METAX, MXCD, MXGVM; `Bxxxxx` is a hexadecimal word: domain in bits 31:16, bus 15:8, device 7:3, function 2:0.
`code` is `eid:0x…`, null for the old wording. Meanings come from data/metax_eid.csv; a code that is not there stays
as it is. Found in kern.log (Ubuntu), messages (CentOS) and in what mx-report collects.

Printed by: the MetaX kernel driver (modules METAX, MXCD, MXGVM), into kern.log or messages.
Versions: old wording without, new wording with EID.
Source: MetaX documents 346, 448, 661 and 866 (developer.metax-tech.com).
"""

import json
import re
from functools import cache
from typing import Any

import polars as pl

from parsers.catalogues import listed
from parsers.schema.parser import LineParser
from parsers.schema.rules import pci, read_bodies
from parsers.schema.tables import Tables
from parsers.text.patterns import regex

_LEVEL = r"(?P<level>EMERG|ALERT|CRIT|ERROR|WARN|NOTICE|INFO|DEBUG)"
_HEAD = regex(
    rf"(?P<module>METAX|MXCD|MXGVM)\.B(?P<word>[0-9a-fA-F]{{1,8}})\.(?P<unit>[\w-]{{1,32}})\.{_LEVEL}\b:?\s*"
    rf"|(?<![\w.]){_LEVEL.replace('level', 'generic')} (?=EID ?\()"
)
_EID = regex(r"EID ?\((?P<pci>[0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7])\): ?(?P<eid>0x[0-9a-fA-F]{1,8})")
_SEVERITIES = {"EMERG": "fatal", "ALERT": "fatal", "CRIT": "fatal", "ERROR": "error", "WARN": "warning"}
_LOST = regex(r"fell? off the bus|device (?:is )?lost|pcie link (?:is )?(?:down|lost)|no longer accessible", re.I)
_LINK = regex(r"metaxlink\b.{0,60}\b(?P<state>down|up)\b", re.I)


@cache
def catalogue() -> dict[int, dict[str, str]]:
    """Rows of data/metax_eid.csv by EID: kind, severity, cause, impact, advice, source."""
    return {int(row["eid"], 16): row for row in listed("metax_eid.csv")}


def parse(lines: pl.DataFrame) -> Tables:
    """events gpu_error, gpu_lost, port_error, link_down, link_up; lines below a warning without EID are claimed."""
    return read_bodies(lines, _HEAD, _read)


def _read(head: re.Match[str], body: str) -> dict[str, Any] | None:
    severity = _SEVERITIES.get(head["level"] or head["generic"])
    coded = _EID.search(body)
    link = _LINK.search(body)
    if coded is None and severity is None and link is None:
        return None
    entry = catalogue().get(int(coded["eid"], 16), {}) if coded else {}
    detail: dict[str, str] = {name: entry[name] for name in ("cause", "impact", "advice") if name in entry}
    detail |= {name: head[name] for name in ("module", "unit") if head[name]}
    kind = entry.get("kind", "gpu_error")
    if _LOST.search(body):
        kind, severity = "gpu_lost", "fatal"
    elif link:
        kind = "link_up" if link["state"].lower() == "up" else "link_down"
    return {
        "kind": kind,
        "code": f"eid:0x{int(coded['eid'], 16):x}" if coded else None,
        "severity": severity or entry.get("severity", "info"),
        "pci": pci(coded["pci"]) if coded else _address(head["word"]),
        "detail": json.dumps(detail, sort_keys=True) if detail else None,
    }


def _address(word: str | None) -> str | None:
    if word is None:
        return None
    number = int(word, 16)
    return f"{number >> 16:04x}:{number >> 8 & 0xFF:02x}:{number >> 3 & 0x1F:02x}.{number & 7}"


PARSER = LineParser(
    name="metax", anchors=(b"METAX.B", b"MXCD.B", b"MXGVM.B", b"EID (", b"EID("), parse=parse, of_host=True
)
