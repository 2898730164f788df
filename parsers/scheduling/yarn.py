"""Hadoop's YARN: containers that it killed because they took more memory than they were given.

    2026-01-31 10:11:12,733 WARN …ContainersMonitorImpl: Container [pid=2712,containerID=container_1779_0412_01_000005] is running
        268435456B beyond the 'PHYSICAL' memory limit. Current usage: 48.3 GB of 48 GB physical memory used; … Killing container.
    … completed container: container_1779_0412_01_000005, state=COMPLETE, exitStatus=-104, diagnostics=[…]Container [pid=2712,containerID=…

Event `exit`, code "Out Of Memory" as Slurm's of a task; its number is that of the shell that the container began with, so whose it was only the
container's name tells, and a host runs containers of others as well.

Printed by: YARN's node manager; quoted by application masters (TonY, Spark, Twill).
Versions: Hadoop 2.2 to 3.4.
Source: not read: apache/hadoop: ContainersMonitorImpl.java, formatErrorMessage; the forms are as users print them.
"""

import polars as pl

from parsers.schema.parser import LineParser
from parsers.schema.rules import Rule, read_rules
from parsers.schema.tables import Tables
from parsers.text.patterns import regex

RULES = (
    Rule(
        regex(
            r"Container \[pid=\d{1,10},containerID=(?P<container>container_\w{8,100})\] is running "
            r"(?:\d{1,20}B )?beyond (?:the '(?:PHYSICAL|VIRTUAL)' memory limit|(?:physical|virtual) memory limits)\b"
        ),
        "exit", "error", "Out Of Memory", lambda groups: {"detail": {"names": [groups["container"]], "container": None, "only": "names"}},
    ),
)  # fmt: skip


def parse(lines: pl.DataFrame) -> Tables:
    """events exit, of containers."""
    return read_rules(lines, RULES, rank=None)


PARSER = LineParser(name="yarn", anchors=(b",containerID=container_",), parse=parse)
