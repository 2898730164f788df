"""`nvidia-smi -q` (text), drivers 450 to 580: state of each GPU, a metric per row.

    ==============NVSMI LOG==============
    Timestamp                                 : Thu Mar 14 20:46:07 2024
    Driver Version                            : 535.86.10
    Attached GPUs                             : 8
    GPU 00000000:3B:00.0
        GPU UUID                              : GPU-1f0c…
        ECC Errors
            Volatile
                SRAM Uncorrectable Parity     : 0
        Remapped Rows
            Pending                           : Yes

The indentation is the structure, so every layout reads alike: a metric is the path of headings in lower case, such as
`ecc errors/volatile/sram uncorrectable parity`. What was renamed carries its newer name: `clocks event reasons` (until
535.54 `clocks throttle reasons`). `text` is what is printed, with unit; `value` its number, or 1 and 0 for yes and no,
active and not active, enabled and disabled. `N/A` has no row. The stamp has no zone and is read as UTC.

Printed by: nvidia-smi -q.
Versions: drivers 450 to 580; SRAM thresholds since 535, event reasons instead of throttle reasons since 535.54.
Source: nvidia-smi's manual; the indentation of the report itself.
"""

from typing import Any

from parsers.forms.reading import real, text_lines
from parsers.schema.parser import FileParser, Source
from parsers.schema.rules import integer, pci
from parsers.schema.tables import Tables, tables_of
from parsers.text.patterns import regex
from parsers.text.stamps import formed_ns

_GPU = regex(r"^GPU (?P<pci>[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7])\s*$")
_VERSION = regex(rb"(?m)^Driver Version +: \d")  # mx-smi has a "Driver Version:" in a box
_FIELD = regex(r"^(?P<indent> *)(?P<name>\S[^:]{0,80}?) *(?:: (?P<value>.*)|:)?$")
_WORDS = {
    "yes": 1.0, "no": 0.0, "active": 1.0, "not active": 0.0, "enabled": 1.0, "disabled": 0.0, "on": 1.0, "off": 0.0,
}  # fmt: skip
_RENAMED = {"clocks throttle reasons": "clocks event reasons", "gpu power readings": "power readings"}
_ABSENT = {"n/a", "[n/a]", "not supported", "[not supported]", ""}
_SKIPPED = ("processes", "capabilities", "accounted processes")
# What may differ between hosts by mistake, as settings: metric → name.
_SETTINGS = {
    "mig mode/current": "mig_mode", "ecc mode/current": "ecc_mode", "persistence mode": "persistence_mode",
    "compute mode": "compute_mode", "vbios version": "vbios", "product name": "gpu_name",
    "applications clocks/graphics": "application_clock", "gsp firmware version": "gsp_firmware",
    "power readings/current power limit": "power_limit", "power readings/power limit": "power_limit",
    "max clocks/sm": "max_clock_sm",
}  # fmt: skip
_HEAD = ("timestamp", "driver version", "cuda version", "attached gpus")
_LINES = 400_000


def accepts(_path: str, head: bytes) -> bool:
    """By the banner or the first fields."""
    start = head[:4096]
    return b"NVSMI LOG" in start or (b"Attached GPUs" in start and _VERSION.search(start) is not None)


def parse(source: Source) -> Tables:
    """devices (metric = path of headings), settings (driver, CUDA version, modes); processes → ranks claims (pid)."""
    reader = _Reader(source)
    for number, text in text_lines(source, _LINES):
        reader.read(number, text)
    return reader.tables()


class _Reader:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.devices: list[dict[str, Any]] = []
        self.settings: list[dict[str, Any]] = []
        self.ranks: list[dict[str, Any]] = []
        self.lines: list[int] = []
        self.time_ns: int | None = None
        self.gpus: list[dict[str, Any]] = []
        self.path: list[tuple[int, str]] = []
        self.is_open = False  # inside the block of a GPU, whose lines are indented

    def read(self, number: int, text: str) -> None:
        if gpu := _GPU.match(text):
            self.gpus.append({"pci": pci(gpu["pci"]), "uuid": None, "device_index": None})
            self.path, self.is_open = [], True
            return self.lines.append(number)
        field = _FIELD.match(text)
        if text.startswith("="):
            return self.lines.append(number) if "NVSMI LOG" in text else None
        if field is None:
            self.is_open = self.is_open and not text[:1].strip()
            return None
        depth, name = len(field["indent"]), field["name"].lower().strip()
        if not depth:
            self.is_open = False
            return self._head(number, name, field["value"].strip()) if name in _HEAD and field["value"] else None
        if not self.is_open:
            return None
        while self.path and self.path[-1][0] >= depth:
            self.path.pop()
        value = field["value"]
        if value is None:
            self.path.append((depth, _RENAMED.get(name, name)))
            return self.lines.append(number)
        # Indented fields may follow a field with a value, too ("HW Slowdown : Active", then its reasons).
        self._field(number, "/".join([*(part for _, part in self.path), name]), value.strip())
        self.path.append((depth, name))
        return None

    def _head(self, number: int, name: str, value: str) -> None:
        self.lines.append(number)
        if name == "timestamp":
            self.time_ns = formed_ns(value) if self.time_ns is None else self.time_ns
        elif name in ("driver version", "cuda version") and value.lower() not in _ABSENT:
            self._setting(number, name.split()[0], value, "version")

    def _field(self, number: int, metric: str, value: str) -> None:
        gpu = self.gpus[-1]
        if metric.startswith(_SKIPPED):
            if metric.endswith("process id") and (pid := integer(value)):
                self.ranks.append({"pid": pid, "_gpu": gpu, "how": "nvidia-smi", "line": number})
            return self.lines.append(number)
        if metric == "gpu uuid":
            gpu["uuid"] = value
        elif metric == "minor number":
            gpu["device_index"] = integer(value)
        if value.lower() in _ABSENT:
            return self.lines.append(number)
        if name := _SETTINGS.get(metric):
            self._setting(number, name, value, f"gpu {gpu['pci']}")
        number_value = _WORDS.get(value.lower(), real(value))
        self.devices.append({"_gpu": gpu, "metric": metric, "value": number_value, "text": value, "line": number})
        return None

    def _setting(self, number: int, name: str, value: str, scope: str) -> None:
        row = {"name": name, "value": value, "scope": scope, "host": self.source.host}
        self.settings.append(row | {"file": self.source.path, "line": number})

    def tables(self) -> Tables:
        common = {"host": self.source.host, "file": self.source.path}
        # The minor number follows the order of the bus ids; without it the place in the list is the index.
        for index, gpu in enumerate(self.gpus):
            gpu["device_index"] = index if gpu["device_index"] is None else gpu["device_index"]
        devices = [row.pop("_gpu") | row | common | {"time_ns": self.time_ns} for row in self.devices]
        ranks = [row.pop("_gpu") | row | common for row in self.ranks]
        claimed = [{"file": self.source.path, "line": line} for line in self.lines]
        return tables_of(devices=devices, settings=self.settings, ranks=ranks, claimed=claimed)


PARSER = FileParser(name="nvidia_smi_q", accepts=accepts, parse=parse)
