"""Rows of processes wherever they stand: below a prompt, behind names of hosts, with a header or without.

    root@titan02:~# docker top trainer-3 -o pid,ppid,stat,cmd | tail -n +2          the host is the prompt's
    41877               41811               Sl                  python3 -u train.py
    dl-perch: 62018 61995 Tl 03:09:17 211.7G python -u train.py                     or what stands before a row
    [h11n07] $ ps -eo pid,ppid,user,stat,wchan:20,args                              or the one word in which headings differ
      90377   90331 mve      tl   ptrace_stop          python -u train.py
    == 88213                                                                        /proc/PID/status in part, below its number or with it
    State:  T (stopped)
    State: T (stopped) Pid: 88213 TracerPid: 0            or all of it in one line, or each behind the file's name
    2: -> FLOCK  ADVISORY  WRITE 41877 00:31:9123404 0 EOF                          /proc/locks: who waits for a lock

Table `stacks`, a row per process and look, as parsers/stacks/ps.py has them. Who waits for a lock stands in the function of the kernel that does.

Printed by: ps of procps-ng, docker and podman top, loops and collectors around them; the kernel's /proc/locks.
Versions: procps-ng 3.3 to 4.0; kernels 2.6 to 6.x.
Source: src/ps/output.c of procps-ng; Linux's fs/locks.c (locks_show): `->` before who is blocked.
"""

from typing import Any

import polars as pl

from parsers.forms.headed import prompted
from parsers.schema.lines import reporter
from parsers.schema.parser import LineParser
from parsers.schema.tables import Rows, Tables, tables_of
from parsers.stacks.placed import once_by_file
from parsers.stacks.process_looks import Looks, without_children
from parsers.stacks.process_table import STATE, form, row_of_status
from parsers.text.patterns import regex

_AFTER = 8  # lines of a status, below that of the state
_STATES = tuple(f" {one} ".encode() for one in (
    "R", "S", "D", "T", "t", "Z", "Rl", "Sl", "Dl", "Tl", "tl", "Zl", "Rs", "Ss", "Ds", "Ts", "ts", "Zs", "Rsl", "Ssl", "Dsl", "Tsl", "tsl", "Zsl",
    "R+", "S+", "D+", "T+", "t+", "Z+", "Rl+", "Sl+", "Dl+", "Tl+", "tl+", "Zl+", "Ssl+", "SNl", "RNl", "TNl", "DNl", "SLl", "RLl", "S<l", "R<l",
))  # fmt: skip
_HOLDS = regex(
    rb"(?:^|[\s:])[1-9]\d{0,9}[ \t]+(?:\S{1,40}[ \t]+){0,9}?[RSDTtZX][<NLsl+]{0,4}[ \t]+\S|PID|: +-> |^.{0,120}?\bState:[ \t]+[A-Za-z] \([a-z ]+\)|/proc/\d{2,10}/status['\"]?[ \t\r]*(?:$|[|;&)>]|2>)"
)
_LOCK = regex(
    r"\s*(?:\d{1,9}: +)?(?:-> ?){1,8}(?P<how>FLOCK|POSIX|OFDLCK)\s+\w+\s+(?:READ|WRITE|RW)\s+(?P<pid>\d{1,10}) [0-9a-f]+:"
)
_FIELD = regex(
    r"(?:(?:/proc/)?(?P<of>\d{1,10})/status[:-]|(?<![^ \t,;|]))(?P<name>Name|State|Tgid|Pid):[ \t]*(?P<value>[^\s,;|](?:.{0,80}?))(?=[ \t,;|]+[A-Z][A-Za-z_]{1,30}:(?:[ \t]|\d)|[\s,;|]*$)"
)
_BEGINS = regex(r"(?:(?:/proc/)?\d{1,10}/status[:-])?[A-Z][A-Za-z_]{1,30}:[ \t]*\S")
_NUMBERED = regex(
    r"(?i)[=\-#>*\s]{0,12}(?:(?:(?:pid|process)\s{0,2}[:=#]?\s{0,2})?(?P<pid>\d{2,10})|(?:==> )?/?proc/(?P<proc>\d{2,10})(?:/status)?)[\s:=\-#*<]{0,12}$"
)
_ASKED = regex(r"/proc/(\d{2,10})/status\b")
_WAITS = {"FLOCK": "flock_lock_inode_wait", "POSIX": "posix_lock_inode_wait", "OFDLCK": "posix_lock_inode_wait"}


class Statuses:
    """Fields of /proc/PID/status, whichever somebody picked, of one process after the other."""

    def __init__(self) -> None:
        self._above: int | None = None
        self._fields: dict[str, str] = {}
        self._place: dict[str, Any] = {}
        self._rows: list[dict[str, Any]] = []
        self._host: str | None = None

    def read(self, text: str, place: dict[str, Any]) -> bool:
        """Is it a field?"""
        fields = [*_FIELD.finditer(text)] if _BEGINS.match(text) else []
        if not fields:
            self._end()
            self._host = prompted(text) or self._host
            above = _NUMBERED.match(text)
            asked = {*_ASKED.findall(text)} if above is None else set()  # by the command above
            self._above = int(above["pid"] or above["proc"]) if above else int(asked.pop()) if len(asked) == 1 else None
            return False
        for found in fields:
            named = int(found["of"]) if found["of"] else None
            if found["name"] in self._fields or (named is not None and named != self._above):
                self._end()
                self._above = named
            self._fields[found["name"]] = found["value"].strip()
            if found["name"] == "State":
                self._place = place
        if len(fields) > 1:  # all that is told of it
            self._end()
            self._above = None
        return True

    def _end(self) -> None:
        told, self._fields = self._fields, {}
        number = told.get("Pid") or told.get("Tgid") or str(self._above or "")
        state = STATE.match(told.get("State", ""))
        if state is None or not (number.isascii() and number.isdecimal()) or told.get("Tgid", number) != number:
            return
        host = self._place["host"] or self._host
        self._rows.append(row_of_status(number, state, told.get("Name")) | self._place | {"host": host})

    def rows(self) -> list[dict[str, Any]]:
        """Rows of `stacks`."""
        self._end()
        return self._rows


def parse(lines: pl.DataFrame) -> Tables:
    """stacks, ranks, claimed."""
    stacks, ranks = Rows("stacks"), list[dict[str, Any]]()
    claimed: list[dict[str, Any]] = []
    for file, own in once_by_file(lines):
        looks, statuses = Looks(), Statuses()
        for row in own:
            who = reporter(row)
            place = {"file": row["file"], "line": row["line"], "host": who["host"]}
            if waits := _LOCK.match(row["text"]):
                at = [{"function": _WAITS[waits["how"]], "file": None, "line": None}]
                pid = {"pid": int(waits["pid"]), "thread": waits["pid"], "is_main": True, "snapshot": 0}
                stacks.append(pid | place | {"frames": at, "source": "kernel"})
            elif statuses.read(row["text"], place) or (looks.read(row["text"], place) and form(row["text"])):
                claimed.append({"file": file, "line": row["line"]})
        for row in statuses.rows():
            stacks.append(row)
        for row in looks.rows():
            stacks.append(row | {"source": "ps"})
        ranks += without_children(looks.claims)
    return tables_of(stacks=stacks.table(), ranks=ranks, claimed=claimed)


PARSER = LineParser(
    name="process_rows",
    anchors=(*_STATES, b" PID", b"State:", b"/proc/", b"-> FLOCK", b"-> POSIX", b"-> OFDLCK"),
    holds=_HOLDS,
    parse=parse,
    before=True,
    after=_AFTER,
    leads=regex(rb"State:"),
)
