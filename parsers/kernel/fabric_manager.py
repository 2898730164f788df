"""fabricmanager.log of the NVIDIA Fabric Manager (NVSwitch systems), 450 to 575.

    [Feb 27 2025 15:10:02] [ERROR] [tid 12727] detected NVSwitch non-fatal error 12028 on fid 0 on NVSwitch pci bus id \
00000000:86:00.0 physical id 3 port 61
    [Feb 27 2025 15:10:03] [WARNING] [tid 12727] failed to train NVLink …
    [Feb 27 2025 15:10:04] [INFO] [tid 1808] multicast group 0 is allocated.

The stamp has no zone: time_basis is `local`. Payload lines without a stamp belong to the line above. An NVSwitch error
number is an SXid. Only warnings and errors become events.

Printed by: NVIDIA's Fabric Manager, into fabricmanager.log.
Versions: 450 to 575.
Source: NVIDIA's Fabric Manager user guide.
"""

from typing import Any

import polars as pl

from parsers.schema.lines import claimed, event
from parsers.schema.parser import LineParser
from parsers.schema.rules import Rule, bodies, columns
from parsers.schema.tables import Tables, tables_of
from parsers.text.patterns import regex
from parsers.text.stamps import formed_ns

_HEAD = regex(
    r"\[(?P<stamp>[A-Z][a-z]{2} [ \d]\d \d{4} \d\d:\d\d:\d\d)\] \[(?P<level>[A-Z]{3,9})\] \[tid (?P<tid>\d+)\] "
)
_PAYLOAD = "Message payload details:"
_SEVERITIES = {"WARNING": "warning", "ERROR": "error", "CRITICAL": "fatal", "FATAL": "fatal"}
_DEVICE = r"pci bus id:? (?P<pci>[0-9a-fA-F:.]{7,16})"


_RULES = (
    Rule(
        regex(
            r"detected NVSwitch (?P<level>non-fatal|fatal) error (?P<number>\d{1,9}) on fid (?P<fid>\d+) "
            rf"on NVSwitch {_DEVICE}(?: physical id (?P<physical>\d+))?(?: port (?P<port>\d+))?"
        ),
        "gpu_error", code="sxid:{number}", refine=lambda groups: {"severity": "fatal" if groups["level"] == "fatal" else "error"},
    ),
    Rule(regex(rf"(?i:nvlink).{{0,200}}?{_DEVICE}"), "link_down", code="nvlink"),
    Rule(regex(r"(?i:nvlink).{0,200}(?:fail|down|inactive|not active|contain)"), "link_down", code="nvlink"),
    Rule(regex(_DEVICE), "gpu_error", code="fabric_manager"),
    Rule(regex(r"."), "other", code="fabric_manager"),
)  # fmt: skip


def parse(lines: pl.DataFrame) -> Tables:
    """events gpu_error (code sxid:N), link_down, other, from lines of level WARNING and above; the rest is claimed."""
    rows: list[dict[str, Any]] = []
    understood: list[tuple[str, int]] = []
    for row in lines.iter_rows(named=True):
        # A collector may take this stamp for its own decoration, so the raw line is what counts.
        parts = bodies(row["raw"] or "", _HEAD)
        if not parts and (row["text"] or "").startswith(_PAYLOAD):
            understood.append((row["file"], row["line"]))
        for head, body in parts:
            severity = _SEVERITIES.get(head["level"])
            found = next(((rule, match) for rule in _RULES if (match := rule.pattern.search(body))), None)
            if severity is None or found is None:
                understood.append((row["file"], row["line"]))
                continue
            rule, match = found
            said = columns(rule, match.groupdict())
            said["severity"] = said["severity"] if rule.refine else severity
            stamp = {"time_ns": formed_ns(head["stamp"], "%b %d %Y %H:%M:%S"), "time_basis": "local"}
            rows.append(event(row, str(rule.kind), rank=None, local_rank=None, **stamp, **said))
    return tables_of(events=rows, claimed=claimed(dict.fromkeys(understood)))


PARSER = LineParser(name="fabric_manager", anchors=(b"] [tid ", _PAYLOAD.encode()), parse=parse)
