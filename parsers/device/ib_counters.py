"""Counters of RDMA ports: files under /sys/class/infiniband as `grep '' …` prints them, and perfquery's list.

    /sys/class/infiniband/mlx5_0/ports/1/counters/symbol_error:0
    /sys/class/infiniband/mlx5_0/ports/1/hw_counters/local_ack_timeout_err:17
    # Port counters: Lid 112 port 1 (CapMask: 0x5A00)
    SymbolErrorCounter:..............12
    PortXmitData:....................91823311

A metric is `ib/<adapter>/<port>/<counter>`; perfquery names the port by its Lid. Counters run on from the last reset: what
counts is how much they grew, or who alone has any.

Printed by: the kernel's RDMA subsystem; perfquery of infiniband-diags.
Versions: kernels since 4.x; infiniband-diags 2 to 5x.
Source: the kernel's Documentation/ABI/stable/sysfs-class-infiniband; perfquery(8).
"""

import re
from typing import Any

from parsers.forms.reading import real, text_lines
from parsers.schema.parser import FileParser, Source
from parsers.schema.tables import Tables, tables_of
from parsers.text.patterns import regex

_FILE = regex(
    r"^\S*/infiniband/(?P<adapter>[\w.-]{1,64})/ports/(?P<port>\d{1,3})/(?:hw_)?counters/(?P<name>\w{1,64}):\s?(?P<value>\d{1,20})\s*$"
)
_PORT = regex(r"^# Port (?:extended )?counters: Lid (?P<lid>\d{1,6}) port (?P<port>\d{1,3})")
_LISTED = regex(r"^(?P<name>[A-Z]\w{2,40}):\.{2,}(?P<value>\d{1,20})\s*$")
_LINES = 500_000


def accepts(_path: str, head: bytes) -> bool:
    """By a counter's path, or perfquery's heading."""
    start = head[:8192]
    if b"/infiniband/" not in start and b"# Port " not in start:
        return False
    lines = start.decode("utf-8", "replace").splitlines()[:20]
    return any(_FILE.match(line) or _PORT.match(line) for line in lines)


def parse(source: Source) -> Tables:
    """devices: ib/<adapter>/<port>/<counter>, a count."""
    rows: list[dict[str, Any]] = []
    claimed: list[dict[str, Any]] = []
    port: str | None = None
    for number, text in text_lines(source, _LINES):
        place = {"file": source.path, "line": number, "host": source.host}
        if found := _FILE.match(text):
            rows.append(place | _count(f"{found['adapter']}/{found['port']}", found))
        elif found := _PORT.match(text):
            port = f"lid{found['lid']}/{found['port']}"
            claimed.append({"file": source.path, "line": number})
        elif port is not None and (found := _LISTED.match(text)):
            rows.append(place | _count(port, found))
    return tables_of(devices=rows, claimed=claimed)


def _count(port: str, found: re.Match[str]) -> dict[str, Any]:
    return {"metric": f"ib/{port}/{found['name']}", "value": real(found["value"]), "text": found["value"]}


PARSER = FileParser(name="ib_counters", accepts=accepts, parse=parse)
