"""How often a control group of Linux was held back by its quota of processor time: its file cpu.stat.

    $ cat /sys/fs/cgroup/cpu/job/rank_pid_4711/cpu.stat            ==> /sys/fs/cgroup/job.slice/cpu.stat <==
    nr_periods 44                                                  usage_usec 812332412
    nr_throttled 36                                                nr_periods 1220
    throttled_time 2485806196                                      nr_throttled 1100
                                                                   throttled_usec 61200115
    /sys/fs/cgroup/job.slice/cpu.stat:nr_throttled 36              (grep . over several of them)

devices: cgroup/nr_periods and cgroup/nr_throttled, `part` = the path of the file; `text` = "1" or "2", the version of control groups by the unit
of its times, where it is told. A file that was copied as it is has its path from its own name.

Printed by: Linux, CFS bandwidth control of control groups.
Versions: cgroup v1 (throttled_time, nanoseconds) and v2 (throttled_usec).
Source: Documentation/scheduler/sched-bwc.rst and Documentation/admin-guide/cgroup-v2.rst.
"""

from typing import Any

import polars as pl

from parsers.schema.parser import LineParser
from parsers.schema.tables import Tables, tables_of
from parsers.text.patterns import regex

_PATH = regex(r"(?P<path>/?[^\s:'\"<>=]{0,300}\bcpu\.stat)(?![\w.])")
_COUNT = regex(
    r"(?:^|[\s:])(?P<name>nr_periods|nr_throttled|throttled_time|throttled_usec)[ \t=:]{1,4}(?P<value>\d{1,18})\s*$"
)
_VERSION = {"throttled_time": "1", "throttled_usec": "2"}


def parse(lines: pl.DataFrame) -> Tables:
    """Candidate lines → a row for each count, under the path that was named last in its file."""
    rows: list[dict[str, Any]] = []
    claimed: list[dict[str, Any]] = []
    file = path = None
    begin = 0
    for row in lines.iter_rows(named=True):
        if row["file"] != file:
            file, begin = row["file"], len(rows)
            path = row["file"] if (own := _PATH.search(row["file"])) and own.end() == len(row["file"]) else None
        text, place = row["text"], {"file": row["file"], "line": row["line"]}
        named, count = _PATH.search(text), _COUNT.search(text)
        if named:
            begin = len(rows) if named["path"] != path else begin
            path = named["path"]
        if count is None:
            continue
        claimed.append(place)
        if (version := _VERSION.get(count["name"])) is not None:
            for one in rows[begin:]:
                one["text"] = version
            begin = len(rows)
        elif path is not None:
            said = {"host": row["host"] or row["path_host"], "rank": row["rank"], "part": path}
            rows.append(place | said | {"metric": f"cgroup/{count['name']}", "value": float(count["value"])})
    return tables_of(devices=rows, claimed=claimed)


PARSER = LineParser(
    name="cpu_stat",
    anchors=(b"cpu.stat", b"nr_periods", b"nr_throttled", b"throttled_time", b"throttled_usec"),
    parse=parse,
    of_host=True,
)
