"""DeepSpeed's launcher: which processes it starts, and how the first that failed ended.

    [2026-01-31 10:11:12,345] [INFO] [launch.py:151:main] dist_world_size=16
    [2026-01-31 10:11:12,345] [INFO] [launch.py:145:main] nnodes=2, num_local_procs=8, node_rank=1
    [2026-01-31 10:11:12,345] [INFO] [launch.py:256:main] process 4711 spawned with command: ['python', '-u', 'a.py', '--local_rank=3']
    [2026-01-31 10:11:13,345] [INFO] [launch.py:318:sigkill_handler] Killing subprocess 4711
    [2026-01-31 10:11:13,345] [ERROR] [launch.py:324:sigkill_handler] ['python', '-u', 'a.py', '--local_rank=7'] exits with return code = -9
    [2026-01-31 10:11:13,345] [INFO] [launch.py:349:main] Process 4711 exits successfully.
    [2026-01-31 10:11:13,345] [INFO] [launch.py:328:sigkill_handler] Main process received SIGTERM, exiting

The command beside a return code is that of the last process it started, whoever failed: it names no rank. Of a subprocess
that it kills nothing is said but that it was asked to end: `closing_signal`.

Printed by: deepspeed.launcher.launch.
Versions: 0.3 to 0.17.
Source: DeepSpeed, launcher/launch.py.
"""

import signal
from collections.abc import Mapping
from typing import Any

import polars as pl

from parsers.lines import reporter
from parsers.parser import LineParser
from parsers.patterns import regex
from parsers.rules import Rule, integer, read_rules
from parsers.tables import Tables, table

_PLACE = r"\[launch\.py:\d{1,6}:\w{1,40}\] "
_WORLD = regex(rf"{_PLACE}dist_world_size=(\d{{1,7}})")
_SPAWNED = regex(rf"{_PLACE}process (\d{{1,9}}) spawned with command: .{{0,20000}}?'--local_rank=(\d{{1,4}})'")


def _ended(groups: Mapping[str, str]) -> Mapping[str, Any]:
    code = integer(groups["back"]) or 0
    signals = {int(one): one.name for one in signal.Signals}
    name = signals.get(-code, groups["back"])
    severity = "info" if name in ("SIGTERM", "SIGINT") else "error"
    return {"code": name, "severity": severity, "detail": {"back": None, "by": "deepspeed"}}


RULES = (
    Rule(regex(r"(?P<command>\['.{1,12000}?'\]) exits with return code = (?P<back>-?\d{1,5})\b"), "exit", refine=_ended),
    Rule(regex(rf"{_PLACE}Killing subprocess (?P<pid>\d{{1,9}})"), "closing_signal", "info"),
    Rule(regex(rf"{_PLACE}Process (?P<pid>\d{{1,9}}) exits successfully"), "exit", "info", "0"),
    Rule(
        regex(rf"{_PLACE}(?:Main process r|R)eceived (?P<code>SIG\w{{2,8}}), exiting"), "closing_signal", "warning"
    ),
    Rule(regex(rf"{_PLACE}(?:nnodes=|global_rank_mapping=|dist_world_size=|WORLD INFO|Setting [A-Z_]+=|process )"), None),
)  # fmt: skip


def parse(lines: pl.DataFrame) -> Tables:
    """events exit and closing_signal of processes whose rank is not told; ranks: world size, pid by local rank."""
    ranks: list[dict[str, Any]] = []
    for row in lines.iter_rows(named=True):
        who = {key: reporter(row)[key] for key in ("host", "file", "line")}
        if found := _WORLD.search(row["text"]):
            ranks.append(who | {"world_size": int(found[1]), "how": "deepspeed launcher"})
        elif found := _SPAWNED.search(row["text"]):
            ranks.append(who | {"pid": int(found[1]), "local_rank": int(found[2]), "how": "deepspeed launcher"})
    return dict(read_rules(lines, RULES, rank=None, local_rank=None)) | {"ranks": table("ranks", ranks)}


PARSER = LineParser(
    name="deepspeed_launcher",
    anchors=(b"[launch.py:", b" exits with return code = "),
    parse=parse,
)
