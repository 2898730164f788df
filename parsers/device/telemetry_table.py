"""Telemetry that a site's own collector writes, in any form of parsers/forms/framings.py: of devices, adapters and ports, over time.

A row names somebody by one of `rank`, `host` or `node`, and optionally `gpu` (also `index`, `device_index`), `pci`, `uuid`,
and `port` or `nic` for a part of the host; an `instance` is a host with the port of its exporter; `time` (also `timestamp`) is seconds since 1970 or ISO 8601. What was measured
stands either in columns, each named as one of parsers/text/quantities.py or as a tool that is known there prints it, or in the two
columns `metric` and `value`.

    time,host,gpu,temperature_c,sm_clock_mhz,power_w
    1740669002,gpu-017,3,97,1185,311.2
    {"time": "2025-02-27T15:10:02", "host": "gpu-017", "port": "mlx5_0", "metric": "port_bytes_sent", "value": 91823311}

Printed by: a site's own collector.
Versions: 1 of this table.
Source: this project's own definition of the format.
"""

from collections.abc import Set
from typing import Any

from parsers.forms import framings
from parsers.forms.reading import first_told, real, utc_ns, whole
from parsers.schema.parser import FileParser, Source
from parsers.schema.rules import pci
from parsers.schema.tables import Tables
from parsers.text.patterns import regex
from parsers.text.quantities import measured, scaled

_TIME = ("time", "timestamp", "ts")
_HOST = ("host", "node", "hostname", "nodename", "instance")
_EXPORTER = regex(r":\d{1,5}\Z")
_INDEX = ("gpu", "index", "device_index", "gpu_index", "gpu_id", "local_rank")
_ADDRESS = ("pci", "pci_bus_id", "bus_id")
_PART = ("port", "nic", "hca", "device", "interface")
_WHOSE, _WHICH = {"rank", *_HOST}, {*_TIME, *_INDEX, *_ADDRESS, *_PART, "uuid"}
_WHO = {*_TIME, *_HOST, *_INDEX, *_ADDRESS, *_PART, "rank", "uuid", "metric", "value"}


def _is_header(names: Set[str]) -> bool:
    if names.isdisjoint(_WHOSE) or names.isdisjoint(_WHICH):
        return False
    return {"metric", "value"} <= names or any(measured(name)[0] for name in names - _WHO)


def accepts(path: str, head: bytes) -> bool:
    """By the columns of the first row: most of those that say nothing of who and when must be known measures."""
    names = framings.names(path, head)
    if not _is_header(names):
        return False
    others = names - _WHO
    return 2 * sum(measured(name)[0] is not None for name in others) >= len(others)


def parse(source: Source) -> Tables:
    """devices, a row per measure; `unread` for rows that name nobody."""
    return framings.read_table(source, "devices", lambda said, _text: _measures(said, source), "no row of telemetry")


def _measures(said: dict[str, Any], source: Source) -> list[dict[str, Any]]:
    host, address, uuid = first_told(said, _HOST), first_told(said, _ADDRESS), said.get("uuid")
    parts = [str(said[name]) for name in _PART if said.get(name) not in (None, "")]
    who = {
        "host": _EXPORTER.sub("", str(host)) if host is not None else source.host,
        "rank": whole(said.get("rank")),
        "device_index": whole(first_told(said, _INDEX)),
        "pci": pci(str(address)) if address else None,
        "uuid": str(uuid) if uuid else None,
        "part": "/".join(parts) or None,
        "time_ns": utc_ns(first_told(said, _TIME)),
    }
    if who["host"] is None and who["rank"] is None:
        return []
    pairs = [(str(said["metric"]), said.get("value"))] if said.get("metric") else list(said.items())
    found: list[dict[str, Any]] = []
    for name, value in pairs:
        if (said.get("metric") or name not in _WHO) and value not in (None, ""):
            quantity, number = scaled(name, real(value))
            found.append(who | {"metric": name, "quantity": quantity, "value": number, "text": str(value)[:200]})
    return found


PARSER = FileParser(name="telemetry_table", accepts=accepts, parse=parse)
