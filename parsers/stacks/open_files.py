"""Which file a process writes: links of /proc/PID/fd, and rows of lsof.

    root@kn-31:/# ls -l /proc/2841190/fd
    lrwx------ 1 root root 64 Nov 29 15:53 2 -> /tmp/te/run_k0tq/attempt_0/2/stderr.log
    lr-x------ 1 root root 64 Nov 23 07:31 /proc/9011/fd/1 -> /log/dev_3.log
    python3   77126   trainer    1w      REG              259,3    828377 8701006 /work/log/workerlog.6

    /run/tr/slot3.pid:55390                                               and files in which a launcher keeps the number of a process, as grep prints them

Only what it writes: of a link its mode says so, of lsof the letter behind the number. Table `ranks`, a row for each process and file without a rank: `pid`, `host`, `name` = the
file; `local_rank` where the file's path tells one (parsers/text/path_hints.py) and no other file of that process another.

Printed by: ls of coreutils on /proc; lsof.
Versions: any of Linux.
Source: proc(5), fd; lsof(8), OUTPUT.
"""

from collections import defaultdict
from typing import Any

import polars as pl

from parsers.forms.headed import places_above
from parsers.schema.lines import reporter
from parsers.schema.parser import LineParser
from parsers.schema.tables import Tables, table
from parsers.stacks.placed import once_by_file
from parsers.text.path_hints import hints
from parsers.text.patterns import regex

HOW, KEPT = "open file", "pid file"
_LINK = regex(
    r"\s*l(?P<mode>[r-][w-])x?-{0,8}\S{0,3} .{0,120}?\s(?:/proc/(?P<own>\d{1,10})/fd/)?(?P<fd>\d{1,6}) -> (?P<path>/[^\s(]{1,400})\s*$"
)
_LISTED = regex(
    r"\s*\S{1,40}\s+(?P<pid>\d{1,10})\s+(?:\d{1,10}\s+)?\S{1,40}\s+\d{1,6}(?P<mode>[wu])\S?\s+REG\s.{1,120}?\s(?P<path>/\S{1,400})\s*$"
)
_KEPT = regex(r"\s*(?P<path>/\S{1,300}\.pid):\s*(?P<pid>\d{1,10})\s*$")
_OF = regex(r"/proc/(?P<pid>\d{1,10})/fd\b")
_LOG = regex(r"(?i)\.(?:log|out|err|txt)\b|log[._/-]|std(?:out|err)")
_MOST = 4096  # rows of a file


def parse(lines: pl.DataFrame) -> Tables:
    """ranks."""
    told: list[dict[str, Any]] = []
    for _, own in once_by_file(lines):
        pid: int | None = None
        headings: list[str | None] = [None]
        rows: list[dict[str, Any]] = []
        for row in own:
            text = row["text"]
            if kept := _KEPT.match(text):
                place = {"host": reporter(row)["host"], "file": row["file"], "line": row["line"]}
                told.append(place | {"pid": int(kept["pid"]), "name": kept["path"], "how": KEPT})
                continue
            found = _LINK.match(text) or _LISTED.match(text)
            if found is None:
                pid = int(above["pid"]) if (above := _OF.search(row["raw"])) else pid
                headings.append(row["raw"] if row["raw"].strip() else headings[-1])
                continue
            number = found.groupdict().get("pid") or found.groupdict().get("own") or pid
            is_written = found["mode"].endswith(("w", "u")) and _LOG.search(found["path"]) is not None
            if number is None or not is_written or len(rows) >= _MOST:
                continue
            who = reporter(row)
            place = {"host": who["host"], "file": row["file"], "line": row["line"], "below": len(headings) - 1}
            rows.append({"pid": int(number), "name": found["path"], **place})
        places = places_above(headings)
        last: str | None = None
        for at, one in enumerate(places):  # a prompt holds until the next one
            places[at] = last = one or last
        told += _with_numbers([row | {"host": row["host"] or places[row["below"]]} for row in rows])
    return {"ranks": table("ranks", told)}


def _with_numbers(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each process and file once, with the number at its host that its files alone tell."""
    numbers: defaultdict[tuple[Any, int], set[int]] = defaultdict(set)
    for row in rows:
        if (number := hints(row["name"].lstrip("/")).local_rank) is not None:
            numbers[row["host"], row["pid"]].add(number)
    seen: dict[tuple[Any, int, str], dict[str, Any]] = {}
    for row in rows:
        own = numbers[row["host"], row["pid"]]
        local = min(own) if len(own) == 1 else None
        del row["below"]
        seen.setdefault((row["host"], row["pid"], row["name"]), row | {"local_rank": local, "how": HOW})
    return list(seen.values())


PARSER = LineParser(
    name="open_files",
    anchors=(b" -> /", b" REG ", b"/fd", b".pid:"),
    holds=regex(rb"^.{0,200}l[r-][w-]x?-{0,8}.{0,140}\d -> /|\d[wu]\S? +REG |/proc/\d+/fd\b|\.pid:\s*\d+\s*$"),
    parse=parse,
    before=True,
)
