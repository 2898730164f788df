"""Lightning's and Fabric's launcher of subprocesses: which of them ended, after which it kills all others.

    [rank: 2] Child process with PID 4711 terminated with code -9. Forcefully terminating all other processes to avoid zombies

The rank is that of the process that ended, though the main process prints the line. An `exit`: code = exit code, or the name of
the signal, pid. What the others print or how they end afterwards is not theirs.

Printed by: lightning.fabric.strategies.launchers.subprocess_script.
Versions: Lightning 2.1 to 2.6.
Source: _ChildProcessObserver of that file.
"""

from collections.abc import Mapping
from typing import Any

import polars as pl

from parsers.schema.parser import LineParser
from parsers.schema.rules import Rule, read_rules
from parsers.schema.tables import Tables
from parsers.text.patterns import regex
from parsers.text.signals import ended


def _ended(groups: Mapping[str, str]) -> Mapping[str, Any]:
    number = int(groups["status"])
    return {"code": ended(number), "severity": "error" if number else "info", "detail": {"status": None}}


RULES = (
    Rule(
        regex(
            r"(?:\[rank: (?P<rank>\d{1,7})\] )?Child process with PID (?P<pid>\d{1,9}) terminated with code (?P<status>-?\d{1,5})\."
        ),
        "exit", refine=_ended,
    ),
)  # fmt: skip


def parse(lines: pl.DataFrame) -> Tables:
    """events exit."""
    return read_rules(lines, RULES)


PARSER = LineParser(name="lightning_launcher", anchors=(b"Child process with PID ",), parse=parse)
