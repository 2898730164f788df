"""What each hop between two ranks bore, as programs that time their own sends print it, and which ranks a host has.

    world=16 hosts=n1:0-3,n2:4-7,n3:8-11,n4:12-15
    ring send profile   src -> dst   bytes      ms        GB/s
                          7 ->   8   1342177280     428.6    3.13
    [p2p] rank 7 -> rank 8: 3.13 GB/s        hop 7->8 bw=3.13GB/s

The rate is the figure before its unit, else that in the column of a line of names that ends with it. Hosts with ranges are read where
these follow each other from rank 0.

Printed by: training programs.
Versions: any.
Source: the forms above are ours.
"""

from typing import Any

import polars as pl

from parsers.schema.lines import claimed, reporter
from parsers.schema.parser import LineParser
from parsers.schema.tables import Tables, tables_of
from parsers.text.patterns import regex

HOP = "hop"
_CHARACTERS = 2000
_HOP = regex(
    r"(?:^|[\s(\[])(?:rank ?)?(?P<a>\d{1,6}) {0,8}(?:->|→|=>) {0,8}(?:rank ?)?(?P<b>\d{1,6})\b(?P<rest>.{0,200})"
)
_BEFORE_UNIT = regex(r"(?P<rate>\d+(?:\.\d+)?) ?(?P<unit>[GM])B/s\b")
_NAMES = regex(r"(?:->|→|=>).{0,200}\b(?P<unit>[GM])B/s\s*$")
_LAST = regex(r"(?P<rate>\d+(?:\.\d+)?)\s*$")
_HOSTS = regex(
    r"\bhosts?=(?P<all>[A-Za-z][\w.-]{0,252}:\d{1,6}-\d{1,6}(?:,[A-Za-z][\w.-]{0,252}:\d{1,6}-\d{1,6}){1,4095})(?![\w:-])"
)
# A library's own arrows (`init.cc:1388 -> 6`) are none of these.
_TOLD = (
    r"(?:^|[\s(\[])(?:rank ?)?\d{1,6} {0,8}(?:->|→|=>) {0,8}(?:rank ?)?\d{1,6}\b.*\d",
    r"(?:->|→|=>).{0,200}\b[GM]B/s",
    r"\bhosts?=[A-Za-z][\w.-]*:\d+-\d+,",
)
_PER_GB = {"G": 1.0, "M": 1e-3}


def parse(lines: pl.DataFrame) -> Tables:
    """timings: a row per hop, phase `hop`, name <a>-><b>, both ends ranks, value_ms of a gigabyte; ranks: who runs on which host."""
    rows: list[dict[str, Any]] = []
    ranks: list[dict[str, Any]] = []
    units: dict[str, str] = {}  # of the line of names above, by file
    is_told = pl.any_horizontal(pl.col("text").str.contains(one) for one in _TOLD)
    for row in lines.filter(is_told).iter_rows(named=True):
        text = row["text"][:_CHARACTERS]
        place = {"file": row["file"], "line": row["line"]}
        hop, names = _HOP.search(text), _NAMES.search(text)
        if hop is not None:
            said = _BEFORE_UNIT.search(hop["rest"]) or (_LAST.search(hop["rest"]) if row["file"] in units else None)
            if said is not None:
                factor = _PER_GB[said.groupdict().get("unit") or units[row["file"]]]
                rate = factor * float(said["rate"])
                told = {"phase": HOP, "name": f"{int(hop['a'])}->{int(hop['b'])}", "rank": int(hop["a"]), "level": 2}
                rows += [place | told | {"time_ns": row["time_ns"], "value_ms": 1000.0 / rate}] if rate > 0 else []
        elif names is not None:
            units[row["file"]] = names["unit"]
        if (hosts := _HOSTS.search(text)) is not None and reporter(row)["host"] is None:
            ranks += [place | one for one in _of_hosts(hosts["all"])]
    return tables_of(timings=rows, ranks=ranks, claimed=claimed((one["file"], one["line"]) for one in rows))


def _of_hosts(text: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for part in text.split(","):
        host, _, own = part.rpartition(":")
        first, last = map(int, own.split("-"))
        if first != len(found) or last < first or last - first > 4096:
            return []
        common = {"host": host, "how": "hosts and their ranks"}
        found += [common | {"rank": rank, "local_rank": rank - first} for rank in range(first, last + 1)]
    return [one | {"world_size": len(found)} for one in found]


PARSER = LineParser(
    name="hop_rates",
    anchors=(b"->", "→".encode(), b"=>", b"hosts=", b"host="),
    holds=regex("[0-9] {0,8}(?:->|=>|→) {0,8}(?:rank ?)?[0-9]|[GM]B/s|hosts?=[A-Za-z]".encode()),
    parse=parse,
)
