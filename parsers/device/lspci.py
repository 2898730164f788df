"""`lspci -vvv` (pciutils): links that run below what they can, and pending errors, of accelerators, NICs and bridges.

    3b:00.0 3D controller: NVIDIA Corporation GH100 [H100 SXM5 80GB] (rev a1)
            LnkCap: Port #0, Speed 32GT/s, Width x16, ASPM not supported
            LnkSta: Speed 16GT/s (downgraded), Width x8 (downgraded)
            DevSta: CorrErr+ NonFatalErr- FatalErr- UnsupReq+ AuxPwr- TransPend-
            UESta:  DLP- SDES- TLP- FCP- CmpltTO+ CmpltAbrt- …
            Kernel driver in use: nvidia

Metrics per device: `lspci/class`, `lspci/width`, `lspci/speed_gt`, `lspci/width_max`, `lspci/speed_max_gt`,
`lspci/downgraded`, `lspci/errors`, `lspci/driver`. An idle GPU lowers its link speed: `downgraded` alone is no fault.

Printed by: lspci of pciutils, with -vv or -vvv.
Versions: pciutils 3.x.
Source: lspci(8) and the PCI Express capability registers that it spells out.
"""

import re
from typing import Any

from parsers.forms.reading import real, text_lines
from parsers.schema.parser import FileParser, Source
from parsers.schema.rules import pci
from parsers.schema.tables import Tables, tables_of
from parsers.text.patterns import regex

_DEVICE = regex(
    r"^(?P<pci>(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) (?P<kind>[A-Za-z0-9][^:]{1,60}): (?P<name>.{1,200})"
)
_LINK = regex(
    r"^\s+Lnk(?P<what>Cap|Sta):\s.*?Speed (?P<speed>[\d.]+)GT/s(?P<rest>.{0,40}?), Width x(?P<width>\d+)(?P<end>.*)"
)
_ERRORS = regex(r"^\s+(?P<what>DevSta|UESta|CESta):\s+(?P<flags>\S.*)")
_DRIVER = regex(r"^\s+Kernel driver in use: (?P<driver>\S+)")
_OF_INTEREST = regex(r"3D controller|VGA|Processing accelerators|Infiniband|Ethernet|Network|bridge|Non-Volatile", re.I)
_FLAGS = {
    "CorrErr", "NonFatalErr", "FatalErr", "DLP", "SDES", "TLP", "FCP", "CmpltTO", "CmpltAbrt", "RxOF", "MalfTLP",
    "ECRC", "RxErr", "BadTLP", "BadDLLP", "Rollover", "Timeout",
}  # fmt: skip
_LINES = 2_000_000


def accepts(_path: str, head: bytes) -> bool:
    """By device lines with capabilities below them."""
    start = head[:32768]
    if not any(word in start for word in (b"Control: I/O", b"Capabilities:", b"Kernel driver in use")):
        return False
    return any(_DEVICE.match(line) for line in start.decode("latin-1").split("\n"))


def parse(source: Source) -> Tables:
    """devices: the metrics above, of accelerators, network and storage adapters and bridges."""
    rows: list[dict[str, Any]] = []
    claimed: list[dict[str, Any]] = []
    device: str | None = None
    is_open = False  # a device's own lines are indented: an unindented one of somebody else ends them
    for number, text in text_lines(source, _LINES):
        if found := _DEVICE.match(text):
            device = pci(found["pci"]) if _OF_INTEREST.search(found["kind"]) else None
            said: list[tuple[str, float | None, str]] = [("class", None, f"{found['kind']}: {found['name']}")]
            is_open = True
        else:
            is_open = is_open and not text[:1].strip()
            said = _metrics(text) if device and is_open else []
        if device and said:
            place = {"file": source.path, "line": number, "host": source.host, "pci": device}
            rows += [place | {"metric": f"lspci/{name}", "value": value, "text": told} for name, value, told in said]
        elif found or (is_open and text[:1] in (" ", "\t")):
            claimed.append({"file": source.path, "line": number})
    return tables_of(devices=rows, claimed=claimed)


def _metrics(text: str) -> list[tuple[str, float | None, str]]:
    if found := _LINK.match(text):
        end = "_max" if found["what"] == "Cap" else ""
        speed = ("speed_max_gt" if end else "speed_gt", real(found["speed"]), found["speed"])
        link = [speed, (f"width{end}", real(found["width"]), found["width"])]
        if not end:
            is_down = "downgraded" in found["rest"] + found["end"]
            link.append(("downgraded", float(is_down), "yes" if is_down else "no"))
        return link
    if found := _ERRORS.match(text):
        flags = [flag[:-1] for flag in found["flags"].split() if flag.endswith("+") and flag[:-1] in _FLAGS]
        return [("errors", float(len(flags)), f"{found['what']} {' '.join(flags)}")] if flags else []
    if found := _DRIVER.match(text):
        return [("driver", None, found["driver"])]
    return []


PARSER = FileParser(name="lspci", accepts=accepts, parse=parse)
