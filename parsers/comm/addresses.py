"""Which address belongs to which host: answers of name servers that somebody saved beside the logs.

Sample lines:

    9.0.16.10.in-addr.arpa      name = node7.ib0.cluster.example.
    9.0.16.10.in-addr.arpa domain name pointer node7.cluster.example.
    9.0.16.10.in-addr.arpa. 3600 IN PTR node7.cluster.example.

Printed by: nslookup, host, dig.
Versions: all; the answers to reverse lookups have not changed.
Source: RFC 1035, section 3.5: the octets of the address in reverse.
"""

from typing import Any

import polars as pl

from parsers.schema.parser import LineParser
from parsers.schema.tables import Tables, table
from parsers.text.patterns import regex

_ANSWER = regex(
    r"(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.in-addr\.arpa\.?\s+"
    r"(?:name = |domain name pointer |(?:\d+\s+)?IN\s+PTR\s+)([A-Za-z0-9](?:[\w.-]{0,250}))"
)


def parse(lines: pl.DataFrame) -> Tables:
    """ranks: host and address, no rank; how = reverse lookup."""
    rows: list[dict[str, Any]] = []
    for row in lines.iter_rows(named=True):
        for match in _ANSWER.finditer(row["text"][:4096]):
            address = ".".join(reversed(match.groups()[:4]))
            place = {"file": row["file"], "line": row["line"], "how": "reverse lookup"}
            rows.append(place | {"host": match[5].rstrip("."), "address": address})
    return {"ranks": table("ranks", rows)}


PARSER = LineParser(name="addresses", anchors=(b".in-addr.arpa",), parse=parse)
