"""How the devices of one host are linked, pair by pair: `topo -m`, and what a link bears, by p2pBandwidthLatencyTest or nvbandwidth.

            GPU0    GPU1    NIC0    CPU Affinity    NUMA Affinity       nvidia-smi, mx-smi, mthreads-gmi topo -m
    GPU0     X      NV18    PIX     0-47,96-143     0
    GPU1    NV18     X      SYS     0-47,96-143     0
    Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)     p2pBandwidthLatencyTest
       D\\D     0      1
         0 1652.31 389.10
         1 388.95 1660.47
    memcpy CE GPU(row) <- GPU(column) bandwidth (GB/s)                  nvbandwidth
               0         1
     0       N/A    276.07
     1    276.36       N/A

The name of a link is the maker's own (NV18, MX, XGMI, PIX, SYS), as printed. Of bandwidths only those between devices, one way,
are read: copies through the host, and both ways at once, are other figures.

Printed by: nvidia-smi, mx-smi, mthreads-gmi (topo -m), p2pBandwidthLatencyTest of the CUDA samples, nvbandwidth.
Versions: nvidia-smi 450 to 580; nvbandwidth 0.2 to 0.8.
Source: nvidia-smi topo --help and its legend; the sources of the CUDA samples and of nvbandwidth.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from parsers.forms.reading import real
from parsers.schema.lines import claimed, reporter
from parsers.schema.parser import LineParser
from parsers.schema.tables import Tables, tables_of
from parsers.text.patterns import regex

_DEVICE = r"(?:GPU|NIC|mlx\d?_|DCU|NPU)\d{1,3}"
_TOPOLOGY = regex(rf"^\s*(?P<names>GPU0(?:\s+{_DEVICE})+)(?:\s+\S.*)?$")
_LINK = regex(rf"^\s*(?P<name>{_DEVICE})\s+(?P<cells>\S.*)$")
_TITLE = regex(
    r"^(?:Unidirectional P2P=Enabled Bandwidth .*Matrix|memcpy \w\w GPU\(row\) (?:<-|->) GPU\(column\) bandwidth) ?\(GB/s\)"
)
_COLUMNS = regex(r"^(?:\s*D\\D)?(?P<names>(?:\s+\d{1,3})+)\s*$")
_FIGURE = r"(?:\d+(?:\.\d+)?|N/A)"
_FIGURES = regex(rf"^\s*(?P<name>\d{{1,3}})\s+(?P<cells>{_FIGURE}(?:\s+{_FIGURE})*)\s*$")
_MOST = 64  # lines of a matrix
_NAME = regex(r"[A-Z][A-Z0-9]{0,9}$")


def parse(lines: pl.DataFrame) -> Tables:
    """devices: pair/<a>-<b>/link as text, a before b in the header; pair/<a>-<b>/gb_per_s, both ways."""
    rows: list[dict[str, Any]] = []
    known: list[tuple[str, int]] = []
    reader = _Reader()
    for line in lines.iter_rows(named=True):
        made = list(reader.read(line))
        rows += [reporter_of(line) | one for one in made]
        if reader.is_mine:
            known.append((line["file"], line["line"]))
    return tables_of(devices=rows, claimed=claimed(known))


def reporter_of(line: dict[str, Any]) -> dict[str, Any]:
    """Who printed it: a host, and no rank, for a matrix is about all devices."""
    said = reporter(line)
    return {name: said[name] for name in ("host", "file", "line")} | {"time_ns": line["time_ns"]}


class _Reader:
    """Where in a matrix the lines are: its names in order, and what its cells are."""

    def __init__(self) -> None:
        self.names: Sequence[str] = ()
        self.is_speed = self.is_mine = False
        self.at: tuple[str, int] = ("", -1)

    def read(self, line: dict[str, Any]) -> Iterator[dict[str, Any]]:
        text, at = line["text"], (line["file"], line["line"])
        if at != (self.at[0], self.at[1] + 1):
            self.names, self.is_speed = (), False
        self.at, self.is_mine = at, True
        if header := _TOPOLOGY.match(text):
            self.names, self.is_speed = header["names"].split(), False
        elif _TITLE.match(text.strip()):
            self.names, self.is_speed = (), True
        elif self.is_speed and (columns := _COLUMNS.match(text)):
            self.names = [f"GPU{number}" for number in columns["names"].split()]
        elif self.names and (row := (_FIGURES if self.is_speed else _LINK).match(text)):
            yield from self._cells(row["name"] if not self.is_speed else f"GPU{row['name']}", row["cells"].split())
        else:
            self.names, self.is_speed, self.is_mine = (), False, False

    def _cells(self, own: str, cells: Sequence[str]) -> Iterator[dict[str, Any]]:
        if own not in self.names:
            return
        for number, (other, cell) in enumerate(zip(self.names, cells, strict=False)):
            if self.is_speed and other != own and (value := real(cell)) is not None:
                yield {"metric": f"pair/{own}-{other}/gb_per_s", "value": value, "text": cell}
            elif not self.is_speed and number > self.names.index(own) and _NAME.match(cell):
                yield {"metric": f"pair/{own}-{other}/link", "text": cell}


PARSER = LineParser(
    name="pair_matrix",
    anchors=(b"GPU0", b"Matrix (GB/s)", b"bandwidth (GB/s)"),
    parse=parse,
    after=_MOST,
    leads=regex(rb"^\s*GPU0\s+(?:GPU|NIC|mlx)|Unidirectional P2P=Enabled|GPU\(row\)"),
    follows=regex(rb"^\s*(?:(?:GPU|NIC|DCU|NPU)\d+\s|mlx\d?_\d+\s|D\\D|\d{1,3}\s)"),
)
