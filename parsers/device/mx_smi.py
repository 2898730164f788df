"""The default table of MetaX's `mx-smi` (2.1 to 2.2). Another vendor's tool has the same name: the header decides.

    mx-smi  version: 2.1.12
    =================== MetaX System Management Interface Log ===================
    Timestamp                                         : Mon Mar  9 14:23:48 2026
    Attached GPUs                                     : 8
    | MX-SMI 2.1.12                       Kernel Mode Driver Version: 2.12.13         |
    | MACA Version: 2.29.0.19             BIOS Version: 1.20.3.0                      |
    | 0           MetaX C500             | 0000:0e:00.0        | 0%                   |
    | 35C         54W / 350W             | 826/65536 MiB       |                      |
    | 0           4711   python3                            | 40960 MiB               |     (process list)

Other commands print `name : value` blocks under `GPU#0  MXC500  0000:0e:00.0`; their fields become metrics as they are.

Printed by: mx-smi of MetaX.
Versions: 2.1 and 2.2, with MACA 2.x.
Source: MetaX' public documents, and the form of the table itself.
"""

import re
from typing import Any

from parsers.forms.reading import real, text_lines
from parsers.schema.parser import FileParser, Source
from parsers.schema.rules import integer, pci
from parsers.schema.tables import Tables, tables_of
from parsers.text.patterns import regex
from parsers.text.stamps import formed_ns

_BDF = r"(?P<pci>[0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7])"
_VERSION = regex(r"(?P<name>MX-SMI|Kernel Mode Driver Version:|MACA Version:|BIOS Version:) *(?P<value>\d[\w.]{0,40})")
_STAMP = regex(r"^Timestamp\s+: (?P<stamp>\w{3} \w{3} [ \d]\d [\d:]{8} \d{4})")
_FIRST = regex(
    rf"^\|\s*(?P<index>\d{{1,3}})\s+(?P<name>[A-Za-z][^|]{{0,60}}?)\s*\|\s*{_BDF}\s*\|\s*(?P<utilization>\S+)"
)
_SECOND = regex(
    r"^\|\s*(?P<temperature>\S{1,8})\s+(?P<power>\S{1,8})\s*/\s*(?P<limit>\S{1,8})\s*\|"
    r"\s*(?P<used>\d+)/(?P<total>\d+) MiB"
)
_PROCESS = regex(
    r"^\|\s*(?P<index>\d{1,3})\s+(?P<pid>\d{1,10})\s+(?P<name>\S[^|]{0,80}?)\s*\|\s*(?P<used>\d+)(?: MiB)?\s*\|"
)
_BLOCK = regex(rf"^GPU#(?P<index>\d{{1,3}})\s+(?P<name>\S+)\s+{_BDF}")
_FIELD = regex(r"^\s+(?P<name>\S[^:]{0,80}?)\s*: (?P<value>\S.{0,200})$")
_NAMES = {
    "MX-SMI": "mx_smi", "Kernel Mode Driver Version:": "driver", "MACA Version:": "maca", "BIOS Version:": "vbios",
}  # fmt: skip
_LINES = 50_000
_HEAD = regex(rb"(?m)^=+ MetaX System Management Interface|^mx-smi +version:|^\| MX-SMI \d")
_FORM = regex(r"[|+=]|mx-smi |Timestamp +:|Attached GPUs +:|GPU#\d|\s+\S[^:]{0,80}?\s*: ?\S|End of Log|\s*-+\s*$")


def accepts(_path: str, head: bytes) -> bool:
    """By MetaX's own words in the header."""
    start = head[:4096]
    return any(word in start for word in (b"MetaX", b"mx-smi", b"MX-SMI")) and _HEAD.search(start) is not None


def parse(source: Source) -> Tables:
    """devices (temperature C, power W, used and total MiB, utilization %, or fields), settings, ranks (pid)."""
    reader = _Reader(source)
    for number, text in text_lines(source, _LINES):
        reader.read(number, text)
    devices = [row | {"time_ns": reader.time_ns} for row in reader.devices]
    return tables_of(devices=devices, settings=reader.settings, ranks=reader.ranks, claimed=reader.claimed)


class _Reader:
    def __init__(self, source: Source) -> None:
        self.place: dict[str, Any] = {"file": source.path, "host": source.host}
        self.devices: list[dict[str, Any]] = []
        self.settings: list[dict[str, Any]] = []
        self.ranks: list[dict[str, Any]] = []
        self.claimed: list[dict[str, Any]] = []
        self.addresses: dict[int, str] = {}
        self.gpu: dict[str, Any] = {}
        self.time_ns: int | None = None

    def read(self, number: int, text: str) -> None:
        place = self.place | {"line": number}
        if found := _FIRST.match(text) or _BLOCK.match(text):
            self._gpu(found, place)
        elif self.gpu and (found := _SECOND.match(text)):
            for name in ("temperature", "power", "limit", "used", "total"):
                self._metric(place, name, found[name])
        elif found := _PROCESS.match(text):
            index = int(found["index"])
            where = {"device_index": index, "pci": self.addresses.get(index)}
            self.ranks.append(place | where | {"pid": integer(found["pid"]), "how": "mx-smi"})
        elif self.gpu and (found := _FIELD.match(text)):
            self._metric(place, found["name"].lower(), found["value"].strip())
        else:
            self._head(place, text)

    def _gpu(self, found: re.Match[str], place: dict[str, Any]) -> None:
        self.gpu = {"device_index": int(found["index"]), "pci": pci(found["pci"])}
        self.addresses[int(found["index"])] = pci(found["pci"])
        scope = f"gpu {self.gpu['pci']}"
        self.settings.append(place | {"name": "gpu_name", "value": found["name"], "scope": scope})
        if "utilization" in found.groupdict():
            self._metric(place, "utilization", found["utilization"])

    def _head(self, place: dict[str, Any], text: str) -> None:
        versions = list(_VERSION.finditer(text[:400])) if text[:1] == "|" else []
        for found in versions:
            self.settings.append(place | {"name": _NAMES[found["name"]], "value": found["value"], "scope": "version"})
        if stamp := _STAMP.match(text):
            self.time_ns = formed_ns(stamp["stamp"])
        if not text.strip():
            return
        if not _FORM.match(text):
            self.gpu = {}  # the table is over: what follows belongs to a log
        elif not versions:
            self.claimed.append({"file": place["file"], "line": place["line"]})

    def _metric(self, place: dict[str, Any], name: str, text: str) -> None:
        if text.upper() != "N/A":
            value = real(text.rstrip("CW%"))
            self.devices.append(place | self.gpu | {"metric": name, "value": value, "text": text})


PARSER = FileParser(name="mx_smi", accepts=accepts, parse=parse)
