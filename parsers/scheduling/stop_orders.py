"""A person told a supervisor of services to stop some, and it did.

    sudo[49263]:   mia : TTY=pts/3 ; PWD=/home/mia ; USER=root ; COMMAND=/usr/bin/systemctl stop 'trainer@*'
    systemd[1]: Stopping trainer@3.service - TTS trainer 3...           systemd's word on each unit, of the pattern that was told
    sudo:   mia : TTY=pts/3 ; … COMMAND=/usr/bin/supervisorctl stop ddp:*          INFO waiting for ddp_03 to stop

An order that no unit of that name follows, in its file, came to nothing. One that does is an event `scheduler` with code cancelled, `detail.units` the first of
them, and what they were made of; whether they are the job's, forensics/detectors/ranks/stopped_from_outside.py asks. Each unit that is told to stop is a `closing_signal`.

Printed by: sudo beside systemd's journal, or supervisord's log.
Versions: sudo 1.8 and 1.9, systemd from 2010 on, supervisord 3 and 4.
Source: sudo's lib/eventlog, systemd's src/core/job.c, supervisor/supervisord.py; forms as journalctl prints them.
"""

import json
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any

import polars as pl

from parsers.schema.lines import event
from parsers.schema.parser import LineParser
from parsers.schema.tables import Tables, tables_of
from parsers.text.patterns import regex

_ORDER = regex(
    r"(?P<who>[\w.-]{1,64}) : .{0,400}\bCOMMAND=(?:\S{0,100}/)?(?:systemctl|service|supervisorctl)\b(?P<told>.{1,400})"
)
_STOP = regex(r"(?:stop|kill)")
_STOPPING = regex(
    r"systemd(?:\[\d{1,10}\])?: Stopping (?P<unit>[\w@.:-]{1,250}\.\w{1,10})\b|\bwaiting for (?P<program>[\w.:-]{1,250}) to stop\b"
)
_UNITS = 8


def parse(lines: pl.DataFrame) -> Tables:
    """events scheduler, closing_signal."""
    made: list[dict[str, Any]] = []
    for own in lines.filter("hit").sort("file", "line").partition_by("file", maintain_order=True):
        orders: list[tuple[dict[str, Any], list[str], list[str]]] = []
        for row in own.iter_rows(named=True):
            if (found := _ORDER.search(row["text"])) is not None and (targets := [*_targets(found["told"])]):
                orders.append((row, targets, []))
            elif (found := _STOPPING.search(row["text"])) is not None:
                name = found["unit"] or found["program"]
                detail = json.dumps({"names": [name]})
                made.append(event(row, "closing_signal", code="SIGTERM", severity="info", detail=detail))
                for _, patterns, units in orders:
                    if any(fnmatchcase(name, one) or fnmatchcase(name, f"{one}.service") for one in patterns):
                        units.append(name)
        made += [
            event(
                row,
                "scheduler",
                code="cancelled",
                severity="fatal",
                detail=json.dumps({"units": [*dict.fromkeys((*map(_template, units), *units))][:_UNITS]}),
            )
            for row, _, units in orders
            if units
        ]
    return tables_of(events=made)


def _targets(told: str) -> Iterator[str]:
    """Patterns of the units that a command stops, as its shell would have given them on."""
    words = [word.strip("'\"\\") for word in told.split()]
    if any(map(_STOP.fullmatch, words)):
        for word in words:
            if word and not word.startswith("-") and not _STOP.fullmatch(word):
                yield "*" if word == "all" else word.replace(":", "*")


def _template(unit: str) -> str:
    """The file that systemd made a unit of: `trainer@3.service` of `trainer@.service`."""
    name, at, rest = unit.partition("@")
    return f"{name}@.{rest.rpartition('.')[2]}" if at else unit


PARSER = LineParser(name="stop_orders", anchors=(b"COMMAND=", b": Stopping ", b" to stop"), parse=parse)
