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

import re
from collections.abc import Mapping
from typing import Any

import polars as pl

from parsers.schema.parser import LineParser
from parsers.schema.tables import SCHEMAS, Tables, conform, empty, tables_of
from parsers.text.host_list import named
from parsers.text.patterns import regex

_ROW = regex(r"^\s*(?P<sort>Switch|Block)Name=(?P<name>\S{1,200})(?P<rest>(?:\s+\w+=\S*)*)\s*(?:#.*)?$")
_FIELD = regex(r"(\w+)=(\S*)")
_DEPTH = 16  # switches above switches
_ROWS = 100_000  # of one file
_ALL = 1_000_000  # of files that are read together: every node may have kept the same map
_STEPS, _BYTES = 300_000, 2  # names read, hosts put together, rows made: of all files, and one more for so many bytes
_SCHEMA = SCHEMAS["locations"]
Hosts = dict[str, None]  # each once, in order


class _Left:
    """What may still be read: a few bytes name as many hosts as they like."""

    def __init__(self, lines: pl.DataFrame) -> None:
        self.rows = _ALL
        self.steps = _STEPS + int(lines["text"].str.len_bytes().sum()) // _BYTES

    @property
    def of_file(self) -> int:
        return max(0, min(_ROWS, self.rows, self.steps))


class _Place:
    def __init__(self, found: Mapping[str, str], line: int, at_most: int) -> None:
        fields = {name.lower(): value for name, value in _FIELD.findall(found["rest"])}
        self.sort, self.name, self.line = found["sort"].lower(), found["name"], line
        self.hosts = list(named(fields.get("nodes", ""), at_most))
        self.below = list(named(fields.get("switches", ""), at_most - len(self.hosts)))


def parse(lines: pl.DataFrame) -> Tables:
    """locations: a row per host and switch or block, level 0 nearest to the host; the map itself is `claimed`."""
    frames: list[pl.DataFrame] = []
    claimed: list[dict[str, Any]] = []
    lost: list[dict[str, Any]] = []
    left = _Left(lines)
    read: dict[tuple[tuple[int, str], ...], pl.DataFrame] = {}  # whole maps
    for (file,), part in lines.partition_by("file", as_dict=True).items():
        found = {line: match for line, text in part.select("line", "text").iter_rows() if (match := _ROW.match(text))}
        claimed += [{"file": file, "line": line} for line in found]
        same = tuple((line, match.string) for line, match in found.items())
        if same in read and read[same].height > left.rows:
            continue  # what it says stands in an earlier file
        at_most = left.of_file
        made, is_cut = (read[same], False) if same in read else _rows(found, left)
        if is_cut:
            lost.append({"file": file, "reason": f"a map of more than {at_most} hosts and switches was cut"})
        else:
            read[same] = made
        frames.append(made.with_columns(file=pl.lit(file)))
        left.rows -= made.height
    located = pl.concat([empty("locations"), *frames])
    return tables_of(locations=located, claimed=claimed, unread=lost)


def _rows(found: Mapping[int, re.Match[str]], left: _Left) -> tuple[pl.DataFrame, bool]:
    """A row of `locations` for each host of each place of a file, and whether there are more than these."""
    places: dict[str, _Place] = {}
    names = at_most = left.of_file
    for line, match in found.items():
        if match["name"] not in places:
            one = places[match["name"]] = _Place(match.groupdict(), line, names)
            names -= len(one.hosts) + len(one.below)
    left.steps -= at_most - names
    known: dict[str, tuple[int, Hosts]] = {}
    made: list[tuple[str, str, int, int]] = []
    everywhere: list[str] = []
    at: list[int] = []  # which place, of each host
    rows, is_cut = min(at_most, left.of_file), names <= 0
    for place in places.values():
        if not rows or left.steps <= 0:
            is_cut = True
            break
        level, hosts = _under(place, places, known, _DEPTH, left)
        if hosts:
            is_cut |= len(hosts) > rows
            own = sorted(hosts)[:rows]
            everywhere += own
            at += [len(made)] * len(own)
            made.append((place.sort, place.name, level, place.line))
            rows -= len(own)
            left.steps -= len(own)
    columns = {name: _SCHEMA[name] for name in ("sort", "name", "level", "line")}
    there = pl.DataFrame(made, schema=columns, orient="row")[pl.Series(at, dtype=pl.Int64)]
    return conform("locations", there.with_columns(host=pl.Series(everywhere, dtype=pl.String))), is_cut


def _under(
    place: _Place, places: Mapping[str, _Place], known: dict[str, tuple[int, Hosts]], depth: int, left: _Left
) -> tuple[int, Hosts]:
    """(level, hosts) of a place: its own, and those of the switches below it. Of a circle each is asked once."""
    if place.name not in known:
        hosts = dict.fromkeys(place.hosts)
        known[place.name] = (0, hosts)
        is_asked = depth and left.steps > 0
        below = [
            _under(places[name], places, known, depth - 1, left) for name in place.below if name in places and is_asked
        ]
        left.steps -= sum(len(some) for _, some in below)
        for _, some in below:
            hosts |= some
        known[place.name] = (max((level + 1 for level, _ in below), default=1 if place.below else 0), hosts)
    return known[place.name]


PARSER = LineParser(name="slurm_topology", anchors=(b"SwitchName=", b"BlockName="), parse=parse)
