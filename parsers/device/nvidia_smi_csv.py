"""`nvidia-smi --query-gpu=… --format=csv` (also with nounits): a row per GPU and moment, a metric per column.

    timestamp, index, pci.bus_id, uuid, temperature.gpu, power.draw [W], ecc.mode.current
    2025/02/27 15:10:02.113, 0, 00000000:3B:00.0, GPU-1f0c…, 41, 311.20 W, Enabled

Needs the header (`noheader` leaves nothing to go by) and one of index, pci.bus_id, uuid. Metrics keep the names of the
query, without the unit. The stamp has no zone and is read as UTC.

Printed by: nvidia-smi --query-gpu, --query-compute-apps.
Versions: drivers 450 to 580.
Source: nvidia-smi --help-query-gpu.
"""

from typing import Any

from parsers.forms.reading import csv_cells, real, text_lines
from parsers.schema.parser import FileParser, Source
from parsers.schema.rules import integer, pci
from parsers.schema.tables import Tables, tables_of
from parsers.text.patterns import regex
from parsers.text.stamps import formed_ns

_KEYS = {"index", "pci.bus_id", "gpu_bus_id", "uuid", "gpu_uuid", "timestamp"}
_TELLTALES = {
    "temperature.gpu", "utilization.gpu", "memory.used", "memory.total", "power.draw", "pstate", "driver_version",
    "name", "ecc.mode.current", "mig.mode.current", "clocks.sm", "clocks.current.sm", "serial", "pid",
    "used_gpu_memory",
}  # fmt: skip
_SETTINGS = {
    "driver_version": "driver", "mig.mode.current": "mig_mode", "ecc.mode.current": "ecc_mode", "name": "gpu_name",
    "vbios_version": "vbios", "persistence_mode": "persistence_mode", "compute_mode": "compute_mode",
}  # fmt: skip
_BUS = regex(r"[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7]$")
_UUID = regex(r"(?:GPU|MIG)-\S+$")
_KEY_FORMS = {
    "index": regex(r"\d{1,4}$"), "pci.bus_id": _BUS, "gpu_bus_id": _BUS, "uuid": _UUID, "gpu_uuid": _UUID,
}  # fmt: skip
_WORDS = {"active": 1.0, "not active": 0.0, "enabled": 1.0, "disabled": 0.0, "yes": 1.0, "no": 0.0}
_ABSENT = {"", "n/a", "[n/a]", "[not supported]", "not supported"}
_COLUMNS = 400


def _names(text: str) -> list[str]:
    return [part.split(" [")[0].strip().lower() for part in text.split(",")[:_COLUMNS]]


def accepts(_path: str, head: bytes) -> bool:
    """By the names in the first line."""
    first = head.split(b"\n", 1)[0][:8192]
    if b"," not in first:
        return False
    names = set(_names(first.decode("utf-8", "replace")))
    return bool(names & (_KEYS - {"timestamp", "index"}) | ({"index"} & names)) and bool(names & _TELLTALES)


def parse(source: Source) -> Tables:
    """devices, settings; ranks from `--query-compute-apps` (pid). A row that does not fit its header is `unread`."""
    devices: list[dict[str, Any]] = []
    settings: dict[tuple[Any, ...], dict[str, Any]] = {}
    ranks: list[dict[str, Any]] = []
    unread: list[dict[str, Any]] = []
    lines: list[dict[str, Any]] = []
    names: list[str] = []
    for number, text in text_lines(source):
        if not names or _names(text) == names:
            names = _names(text)
            lines.append({"file": source.path, "line": number})
            continue
        if not text.strip():
            continue
        values = [value.strip() for value in csv_cells(text[:65536])]
        if len(values) != len(names):
            reason = f"{len(values)} values for {len(names)} columns"
            unread.append({"file": source.path, "line": number, "reason": reason})
            continue
        said = dict(zip(names, values, strict=True))
        if not any(form.match(said[name]) for name, form in _KEY_FORMS.items() if name in said):
            unread.append({"file": source.path, "line": number, "reason": "names no device"})
            continue
        place = {"file": source.path, "line": number, "host": source.host}
        device = _device(said) | place
        if pid := integer(said.get("pid")):
            ranks.append(device | {"pid": pid, "how": "nvidia-smi"})
        time_ns = formed_ns(said.get("timestamp", ""), "%Y/%m/%d %H:%M:%S.%f")
        for name, value in said.items():
            if name in _KEYS or name == "pid" or value.lower() in _ABSENT:
                continue
            if known := _SETTINGS.get(name):
                row = {"name": known, "value": value, "scope": f"gpu {device['pci'] or device['uuid']}"} | place
                settings.setdefault((row["name"], row["value"], row["scope"]), row)
            measured = {"metric": name, "value": _WORDS.get(value.lower(), real(value)), "text": value}
            devices.append(device | measured | {"time_ns": time_ns})
    return tables_of(devices=devices, settings=settings.values(), ranks=ranks, unread=unread, claimed=lines)


def _device(said: dict[str, str]) -> dict[str, Any]:
    address = said.get("pci.bus_id") or said.get("gpu_bus_id")
    return {
        "device_index": integer(said.get("index")),
        "pci": pci(address) if address else None,
        "uuid": said.get("uuid") or said.get("gpu_uuid"),
    }


PARSER = FileParser(name="nvidia_smi_csv", accepts=accepts, parse=parse)
