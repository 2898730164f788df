"""The default table of `mthreads-gmi` (Moore Threads, 1.9 to 2.4).

    Tue Jun 23 17:48:04 2026
    ---------------------------------------------------------------
        mthreads-gmi:2.4.1           Driver Version:5.1.0-server
    ---------------------------------------------------------------
    ID   Name           |PCIe                |%GPU  Mem
         Device Type    |Pcie Lane Width     |Temp  MPC Capable
                                             |      ECC Mode
    +-------------------------------------------------------------+
    0    MTT S4000      |00000000:12:00.0    |0%    4MiB(49152MiB)
         Physical       |16x(16x)            |43C   YES
                                             |      On-die, EDC

`ECC Mode` is N/A where it is off or not there; a mode that differs between hosts is a finding, so it is a setting, too.

Printed by: mthreads-gmi of Moore Threads.
Versions: 1.9 to 2.4.
Source: Moore Threads' public documents, and the form of the table itself.
"""

from typing import Any

from parsers.forms.reading import real, text_lines
from parsers.schema.parser import FileParser, Source
from parsers.schema.rules import pci
from parsers.schema.tables import Tables, tables_of
from parsers.text.patterns import regex

_VERSION = regex(r"mthreads-gmi:(?P<tool>\S{1,40})\s+Driver Version:(?P<driver>\S{1,60})")
_FIRST = regex(
    r"^(?P<index>\d{1,3})\s+(?P<name>\S[^|]{0,60}?)\s*\|(?P<pci>[0-9a-fA-F:.]{7,16})\s*\|(?P<utilization>\S{1,8})\s+"
    r"(?P<used>[\d.]+)MiB\((?P<total>[\d.]+)MiB\)"
)
_SECOND = regex(
    r"^\s+(?P<type>[A-Za-z][^|]{0,40}?)\s*\|(?P<width>\S{1,20})\s*\|(?P<temperature>\S{1,8})\s+(?P<mpc>\S+)"
)
_THIRD = regex(r"^(?:\s*\|)?\s+\|\s+(?P<ecc>\S.{0,40}?)\s*\|?$")
_LINES = 20_000
_HEAD = regex(rb"(?m)^ *mthreads-gmi:\S+ +Driver Version:")
# Rulers, headings, the process list, the stamp above.
_FORM = regex(
    r" *[-+=|][-+=| ]*$|ID +Name|[^|]*\|[^|]*\||\s+[^|]{0,60}\|\s|Processes:|\s+(?:ECC Mode|PID\b)|No running process"
    r"|[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d [\d:]{8} \d{4}$"
)


def accepts(_path: str, head: bytes) -> bool:
    """By the name of the tool beside the driver version."""
    start = head[:4096]
    return b"mthreads-gmi:" in start and _HEAD.search(start) is not None


def parse(source: Source) -> Tables:
    """devices (utilization %, used and total MiB, temperature C, ecc), settings (driver, ecc_mode, gpu_name)."""
    reader = _Reader(source)
    for number, text in text_lines(source, _LINES):
        reader.read(number, text)
    return tables_of(devices=reader.devices, settings=reader.settings, claimed=reader.claimed)


class _Reader:
    def __init__(self, source: Source) -> None:
        self.place: dict[str, Any] = {"file": source.path, "host": source.host}
        self.devices: list[dict[str, Any]] = []
        self.settings: list[dict[str, Any]] = []
        self.claimed: list[dict[str, Any]] = []
        self.gpu: dict[str, Any] = {}
        self.expects_ecc = False

    def read(self, number: int, text: str) -> None:
        if found := _VERSION.search(text):
            self._setting(number, "driver", found["driver"], "version")
            self._setting(number, "mthreads_gmi", found["tool"], "version")
        elif found := _FIRST.match(text):
            self.gpu = {"device_index": int(found["index"]), "pci": pci(found["pci"])}
            self._setting(number, "gpu_name", found["name"], f"gpu {self.gpu['pci']}")
            for name in ("utilization", "used", "total"):
                self._metric(number, name, found[name])
        elif self.gpu and (found := _SECOND.match(text)):
            self._metric(number, "temperature", found["temperature"])
            self._metric(number, "pcie_width", found["width"])
            self.expects_ecc = True
        elif self.expects_ecc and (found := _THIRD.match(text)):
            self._metric(number, "ecc", found["ecc"])
            self._setting(number, "ecc_mode", found["ecc"], f"gpu {self.gpu['pci']}")
            self.gpu, self.expects_ecc = {}, False
        elif _FORM.match(text):
            self.claimed.append({"file": self.place["file"], "line": number})

    def _metric(self, number: int, name: str, text: str) -> None:
        value = real(text.rstrip("C%").split("x")[0])
        if text != "N/A":
            self.devices.append(self.place | self.gpu | {"metric": name, "value": value, "text": text, "line": number})

    def _setting(self, number: int, name: str, value: str, scope: str) -> None:
        self.settings.append(self.place | {"name": name, "value": value, "scope": scope, "line": number})


PARSER = FileParser(name="mthreads_gmi", accepts=accepts, parse=parse)
