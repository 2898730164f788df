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
from parsers.tables import Tables, conform, empty, table

_ROW = regex(r"^\s*(?P<sort>Switch|Block)Name=(?P<name>\S{1,200})(?P<rest>(?:\s+\w+=\S*)*)\s*(?:#.*)?$")
_FIELD = regex(r"(\w+)=(\S*)")
_DEPTH = 16  # switches above switches
_ROWS = 100_000  # of one file
_ALL = 1_000_000  # of files that are read together: every node may have kept the same map


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
        rows = _rows(places).explode("host")
        kept = rows.head(min(_ROWS, total))
        if not left or kept.height < rows.height:
            lost.append({"file": file, "reason": f"a map of more than {min(_ROWS, total)} hosts and switches was cut"})
        frames.append(kept)
        total -= kept.height
    located = pl.concat([empty("locations"), *(conform("locations", frame) for frame in frames)])
    return {"locations": located, "claimed": table("claimed", claimed), "unread": table("unread", lost)}


def _rows(places: Mapping[str, _Place]) -> pl.DataFrame:
    """A row per place, its hosts in a list."""
    known: dict[str, tuple[int, frozenset[str]]] = {}
    under = [_under(place, places, known, _DEPTH) for place in places.values()]
    columns = {
        "host": [sorted(hosts) for _, hosts in under],
        "sort": [place.sort for place in places.values()],
        "name": [place.name for place in places.values()],
        "level": [level for level, _ in under],
        "file": [place.file for place in places.values()],
        "line": [place.line for place in places.values()],
    }
    return pl.DataFrame(columns, schema_overrides={"host": pl.List(pl.String)}).filter(pl.col("host").list.len() > 0)


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
