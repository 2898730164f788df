"""A map of hosts that a site writes itself: JSON Lines or CSV, a row per host, or per host and port.

`host` (also `node`, `hostname`), any number of columns that name a place (rack, row, room, pdu, switch, leaf, spine, pod,
zone, …: parsers/location/places.py), and `port` or `nic` where a row is about one port of the host.

    host,rack,row,pdu
    gpu-017,r03,2,p6
    {"host": "gpu-017", "port": "mlx5_3", "leaf": "leaf-3d"}

Printed by: a site's own inventory.
Versions: 1 of this table.
Source: this project's own definition of the format.
"""

from typing import Any

from parsers.forms import framings
from parsers.forms.reading import first_told
from parsers.location.places import PLACES
from parsers.schema.parser import FileParser, Source
from parsers.schema.tables import Tables

_HOST = ("host", "node", "hostname")
_PART = ("port", "nic", "hca", "adapter")


def accepts(path: str, head: bytes) -> bool:
    """By the columns of the first row: a host, and besides it most of them places."""
    names = {name.lower() for name in framings.names(path, head)}
    if names.isdisjoint(_HOST):
        return False
    others = names - {*_HOST, *_PART}
    return bool(others & PLACES) and 2 * len(others & PLACES) >= len(others)


def parse(source: Source) -> Tables:
    """locations, a row per host and place; `unread` for rows that name no host."""
    return framings.read_table(source, "locations", _places, "no row of a map of hosts")


def _places(cells: dict[str, Any], _text: str) -> list[dict[str, Any]]:
    said = {name.lower(): value for name, value in cells.items()}
    host, part = first_told(said, _HOST), first_told(said, _PART)
    if host is None:
        return []
    who = {"host": str(host), "part": str(part) if part else None}
    told = [(name, str(value)) for name, value in said.items() if name in PLACES and value not in (None, "")]
    return [who | {"sort": name, "name": value[:200]} for name, value in told]


PARSER = FileParser(name="rack_map", accepts=accepts, parse=parse)
