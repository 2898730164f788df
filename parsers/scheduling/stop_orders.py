"""A person told a supervisor of services to stop some, and it did; or ended a process by its number.

    sudo[49263]:   mia : TTY=pts/3 ; PWD=/home/mia ; USER=root ; COMMAND=/usr/bin/systemctl stop 'trainer@*'
    systemd[1]: Stopping trainer@3.service - TTS trainer 3...           systemd's word on each unit, of the pattern that was told
    sudo:   mia : TTY=pts/3 ; … COMMAND=/usr/bin/supervisorctl stop ddp:*          INFO waiting for ddp_03 to stop
    sudo[311]:   mia : TTY=pts/3 ; PWD=/home/mia ; USER=root ; COMMAND=/usr/bin/kill -9 41703
    mia@gn4:~$ sudo kill -TERM 41703          type=EXECVE msg=audit(1767603602.102:7): argc=3 a0="kill" a1="-9" a2="41703"

An order that no unit of that name follows, in its file, came to nothing. One that does is an event `scheduler` with code cancelled, `detail.units` the first of
them, and what they were made of; whether they are the job's, forensics/detectors/ranks/stopped_from_outside.py asks. Each unit that is told to stop is a `closing_signal`;
so is each process that a person's `kill` names, and `detail` says `by`: person.

Printed by: sudo beside systemd's journal, or supervisord's log; auditd; shells.
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
from parsers.text.signals import SIGNALS

_ORDER = regex(
    r"(?P<who>[\w.-]{1,64}) : .{0,400}\bCOMMAND=(?:\S{0,100}/)?(?:systemctl|service|supervisorctl)\b(?P<told>.{1,400})"
)
_STOP = regex(r"(?:stop|kill)")
_STOPPING = regex(
    r"systemd(?:\[\d{1,10}\])?: Stopping (?P<unit>[\w@.:-]{1,250}\.\w{1,10})\b|\bwaiting for (?P<program>[\w.:-]{1,250}) to stop\b"
)
_UNITS = 8
_KILL = regex(
    r"(?:\bCOMMAND=|[\w.-]{1,32}@(?P<at>[\w-][\w.-]{0,250})\b[^$#%>]{0,80}[$#] (?:sudo )?|\btype=EXECVE .{0,80}\ba0=)"
    r"\"?(?:/\S{0,100}/)?kill\b(?P<told>[^|;&]{1,200})"
)
_ARGUMENT = regex(r"\ba\d{1,2}=")  # of a command, as auditd numbers them
_SIGNAL = regex(r"-(?:[sn] |-signal[ =])?(?:(?:SIG)?(?P<name>[A-Z]{3,6})|(?P<number>\d{1,2}))(?!\S)")
_PID = regex(r"\d{2,10}")
_ENDING = ("SIGKILL", "SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGABRT")


def parse(lines: pl.DataFrame) -> Tables:
    """events scheduler, closing_signal."""
    made: list[dict[str, Any]] = []
    for own in lines.filter("hit").sort("file", "line").partition_by("file", maintain_order=True):
        orders: list[tuple[dict[str, Any], list[str], list[str]]] = []
        for row in own.iter_rows(named=True):
            if (found := _ORDER.search(row["text"])) is not None and (targets := [*_targets(found["told"])]):
                orders.append((row, targets, []))
            elif (found := _KILL.search(row["text"])) is not None:
                made += _killed(row, found["at"], found["told"])
            elif (found := _STOPPING.search(row["text"])) is not None:
                name = found["unit"] or found["program"]
                detail = json.dumps({"names": [name]})
                made.append(event(row, "closing_signal", code="SIGTERM", severity="info", detail=detail))
                for _, patterns, units in orders:
                    if any(fnmatchcase(name, one) or fnmatchcase(name, f"{one}.service") for one in patterns):
                        units.append(name)
        for row, _, units in orders:
            if units:
                told = json.dumps({"units": [*dict.fromkeys((*map(_template, units), *units))][:_UNITS]})
                made.append(event(row, "scheduler", code="cancelled", severity="fatal", detail=told))
    return tables_of(events=made)


def _killed(row: dict[str, Any], at: str | None, told: str) -> Iterator[dict[str, Any]]:
    """Those whom a person's command ends, on the host of its prompt, or of the line."""
    told = " ".join(word.strip("'\"") for word in _ARGUMENT.sub("", told).split()).strip()
    asked = _SIGNAL.match(told)
    code = "SIGTERM" if asked is None else f"SIG{asked['name']}" if asked["name"] else SIGNALS.get(int(asked["number"]))
    whose = {} if at is None else {"host": at}
    for word in told[asked.end() if asked else 0 :].split() if code in _ENDING else ():
        if _PID.fullmatch(word):
            said = {"pid": int(word), "code": code, "severity": "info", "detail": json.dumps({"by": "person"})}
            yield event(row, "closing_signal", **whose, **said)


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


PARSER = LineParser(
    name="stop_orders",
    anchors=(b"COMMAND=", b": Stopping ", b" to stop", b" kill -", b" kill ", b'"kill"'),
    parse=parse,
)
