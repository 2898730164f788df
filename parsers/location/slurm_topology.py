"""Slurm's map of switches and blocks: `topology.conf`, `scontrol show topology`.

    SwitchName=leaf1 Nodes=gpu-[001-016]                             topology.conf, tree
    SwitchName=spine Switches=leaf[1-4]
    BlockName=b1 Nodes=gpu-[001-018]                                 topology.conf, block
    SwitchName=leaf1 Level=0 LinkSpeed=1 Nodes=gpu-[001-016]         scontrol show topology
    SwitchName=spine Level=1 LinkSpeed=1 Nodes=gpu-[001-064] Switches=leaf[1-4]
    BlockName=b1 BlockIndex=0 Nodes=gpu-[001-018] BlockSize=18

A name is the site's own: what Slurm calls a switch may be a rack. A switch above others has the hosts of those below it.

Printed by: scontrol show topology, and the site in topology.conf.
Versions: Slurm 2.0 to 25.05; blocks since 23.11.
Source: topology.conf(5), scontrol(1).
"""

from collections.abc import Mapping
from typing import Any

import polars as pl

from parsers.host_list import host_list
from parsers.parser import LineParser
from parsers.patterns import regex
from parsers.tables import SCHEMAS, Tables, conform, empty, table

_ROW = regex(r"^\s*(?P<sort>Switch|Block)Name=(?P<name>\S{1,200})(?P<rest>(?:\s+\w+=\S*)*)\s*(?:#.*)?$")
_FIELD = regex(r"(\w+)=(\S*)")
_DEPTH = 16  # switches above switches
_ROWS = 100_000  # of one file
_ALL = 1_000_000  # of files that are read together: every node may have kept the same map
_SCHEMA = SCHEMAS["locations"]


class _Place:
    def __init__(self, found: Mapping[str, str], file: str, line: int, at_most: int) -> None:
        fields = {name.lower(): value for name, value in _FIELD.findall(found["rest"])}
        self.sort, self.name, self.file, self.line = found["sort"].lower(), found["name"], file, line
        self.hosts = host_list(fields.get("nodes", ""), at_most)
        self.below = host_list(fields.get("switches", ""), at_most)


def parse(lines: pl.DataFrame) -> Tables:
    """locations: a row per host and switch or block, level 0 nearest to the host; the map itself is `claimed`."""
    frames: list[pl.DataFrame] = []
    claimed: list[dict[str, Any]] = []
    lost: list[dict[str, Any]] = []
    total = _ALL
    for (file,), part in lines.group_by("file", maintain_order=True):
        places: dict[str, _Place] = {}
        left = min(_ROWS, total)
        for line, text in part.select("line", "text").iter_rows():
            if found := _ROW.match(text):
                one = places.setdefault(found["name"], _Place(found.groupdict(), str(file), line, left))
                left = max(0, left - len(one.hosts) - len(one.below))
                claimed.append({"file": file, "line": line})
        kept, is_cut = _rows(places, min(_ROWS, total))
        if not left or is_cut:
            lost.append({"file": file, "reason": f"a map of more than {min(_ROWS, total)} hosts and switches was cut"})
        frames.append(kept)
        total -= kept.height
    located = pl.concat([empty("locations"), *frames])
    return {"locations": located, "claimed": table("claimed", claimed), "unread": table("unread", lost)}


def _rows(places: Mapping[str, _Place], at_most: int) -> tuple[pl.DataFrame, bool]:
    """A row of `locations` for each host of each place, and whether there are more than these."""
    known: dict[str, tuple[int, frozenset[str]]] = {}
    made: list[tuple[list[str], str, str, int, str, int]] = []
    left, is_cut = at_most, False
    for place in places.values():
        level, hosts = _under(place, places, known, _DEPTH)
        is_cut |= len(hosts) > left
        if hosts and left:
            made.append((sorted(hosts)[:left], place.sort, place.name, level, place.file, place.line))
            left -= len(made[-1][0])
    columns = {
        "host": pl.List(pl.String),
        **{name: _SCHEMA[name] for name in ("sort", "name", "level", "file", "line")},
    }
    return conform("locations", pl.DataFrame(made, schema=columns, orient="row").explode("host")), is_cut


def _under(
    place: _Place, places: Mapping[str, _Place], known: dict[str, tuple[int, frozenset[str]]], depth: int
) -> tuple[int, frozenset[str]]:
    """(level, hosts) of a place: its own, and those of the switches below it. Of a circle each is asked once."""
    if place.name not in known:
        known[place.name] = (0, frozenset(place.hosts))
        below = [_under(places[name], places, known, depth - 1) for name in place.below if name in places and depth]
        hosts = frozenset(place.hosts).union(*(some for _, some in below))
        known[place.name] = (max((level + 1 for level, _ in below), default=1 if place.below else 0), hosts)
    return known[place.name]


PARSER = LineParser(name="slurm_topology", anchors=(b"SwitchName=", b"BlockName="), parse=parse)
