"""DeepSpeed's launcher: which processes it starts, and how the first that failed ended.

    [2026-01-31 10:11:12,345] [INFO] [launch.py:151:main] dist_world_size=16
    [2026-01-31 10:11:12,345] [INFO] [launch.py:145:main] nnodes=2, num_local_procs=8, node_rank=1
    [2026-01-31 10:11:12,345] [INFO] [launch.py:162:main] global_rank_mapping=defaultdict(<class 'list'>, {'a': [0, 1], 'b': [2, 3]})
    [2026-01-31 10:11:12,345] [INFO] [launch.py:256:main] process 4711 spawned with command: ['python', '-u', 'a.py', '--local_rank=3']
    [2026-01-31 10:11:13,345] [INFO] [launch.py:318:sigkill_handler] Killing subprocess 4711
    [2026-01-31 10:11:13,345] [ERROR] [launch.py:324:sigkill_handler] ['python', '-u', 'a.py', '--local_rank=7'] exits with return code = -9
    [2026-01-31 10:11:13,345] [INFO] [launch.py:349:main] Process 4711 exits successfully.
    [2026-01-31 10:11:13,345] [INFO] [launch.py:328:sigkill_handler] Main process received SIGTERM, exiting

It asks its processes one after the other whether they have ended, and kills all as soon as one has: a return code is from before its own kills.
The command beside a return code is that of the last process it started, whoever failed: it names no rank, unless it is another one's.
Of a subprocess that it kills nothing is said but that it was asked to end: `closing_signal`.

Each launcher says which of the listed nodes it is, and which ranks run on each: so the process that it starts with a local
rank has a rank, where all versions count alike (some give the place on the node, some the rank modulo its processes).

Printed by: deepspeed.launcher.launch.
Versions: 0.3 to 0.17.
Source: DeepSpeed, launcher/launch.py.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from parsers.schema.lines import PRINTER, Row, reporter
from parsers.schema.parser import LineParser
from parsers.schema.rules import Rule, integer, read_rules
from parsers.schema.tables import Tables, tables_of
from parsers.text.patterns import regex
from parsers.text.signals import SIGNALS

_PLACE = r"\[launch\.py:\d{1,6}:\w{1,40}\] "
_NODE = regex(rf"{_PLACE}nnodes=\d{{1,6}}, num_local_procs=\d{{1,5}}, node_rank=(\d{{1,6}})")
_MAPPING = regex(rf"{_PLACE}global_rank_mapping=.{{0,60}}?\{{(.{{1,{1 << 20}}})\}}")
_OF_NODE = regex(r"[\[(]((?:\d{1,7}, ?)*\d{1,7})[\])]")
_WORLD = regex(rf"{_PLACE}dist_world_size=(\d{{1,7}})")
_OF_COMMAND = regex(r"'--local_rank=(\d{1,4})'.{0,12000}?\] exits with return code = ")
_SPAWNED = regex(rf"{_PLACE}process (\d{{1,9}}) spawned with command: .{{0,20000}}?'--local_rank=(\d{{1,4}})'")


def _ended(groups: Mapping[str, str]) -> Mapping[str, Any]:
    code = integer(groups["back"]) or 0
    name = SIGNALS.get(-code, groups["back"])
    severity = "info" if name in ("SIGTERM", "SIGINT") else "error"
    return {"code": name, "severity": severity, "detail": {"back": None, "by": "deepspeed", "polled": True}}


RULES = (
    Rule(regex(r"(?P<command>\['.{1,12000}?'\]) exits with return code = (?P<back>-?\d{1,5})\b"), "exit", refine=_ended),
    Rule(regex(rf"{_PLACE}Killing subprocess (?P<pid>\d{{1,9}})"), "closing_signal", "info"),
    Rule(regex(rf"{_PLACE}Process (?P<pid>\d{{1,9}}) exits successfully"), "exit", "info", "0"),
    Rule(
        regex(rf"{_PLACE}(?:Main process r|R)eceived (?P<code>SIG\w{{2,8}}), exiting"), "closing_signal", "warning"
    ),
    Rule(regex(rf"{_PLACE}(?:nnodes=|global_rank_mapping=|dist_world_size=|WORLD INFO|Setting [A-Z_]+=|process )"), None),
)  # fmt: skip


class _Launcher:
    """What one launcher says at its start."""

    def __init__(self) -> None:
        self.nodes: set[int] = set()
        self.mappings: set[tuple[tuple[int, ...], ...]] = set()

    def rank(self, local: int) -> int | None:
        """The rank of the process that it starts with this local rank; None where it is not told, or told in two ways."""
        if len(self.nodes) != 1 or len(self.mappings) != 1:
            return None
        [node], [mapping] = self.nodes, self.mappings
        ranks = mapping[node] if node < len(mapping) else ()
        is_clear = local < len(ranks) and ranks[local] % len(ranks) == local
        return ranks[local] if is_clear else None


def _launchers(rows: Iterable[Row]) -> defaultdict[tuple[Any, ...], _Launcher]:
    """Lines → what each printer, told apart by what stands before its lines, says of itself."""
    found: defaultdict[tuple[Any, ...], _Launcher] = defaultdict(_Launcher)
    for row in rows:
        if node := _NODE.search(row["text"]):
            found[_printer(row)].nodes.add(int(node[1]))
        elif mapping := _MAPPING.search(row["text"]):
            ranks = (tuple(map(int, one.split(","))) for one in _OF_NODE.findall(mapping[1]))
            found[_printer(row)].mappings.add(tuple(ranks))
    return found


def _printer(row: Row) -> tuple[Any, ...]:
    return tuple(row[name] for name in PRINTER)


def parse(lines: pl.DataFrame) -> Tables:
    """events exit and closing_signal of processes whose rank is not told; ranks: world size, pid and rank by local rank."""
    ranks: list[dict[str, Any]] = []
    launchers = _launchers(lines.iter_rows(named=True))
    last: dict[tuple[Any, ...], int] = {}
    failed: list[tuple[str, int, int, int | None]] = []
    for row in lines.iter_rows(named=True):
        who, printer = {key: reporter(row)[key] for key in ("host", "file", "line")}, _printer(row)
        if found := _WORLD.search(row["text"]):
            ranks.append(who | {"world_size": int(found[1]), "how": "deepspeed launcher"})
        elif found := _SPAWNED.search(row["text"]):
            last[printer] = local = int(found[2])
            own = {"rank": launchers[printer].rank(local), "pid": int(found[1]), "local_rank": local}
            ranks.append(who | own | {"how": "deepspeed launcher"})
        elif (found := _OF_COMMAND.search(row["text"])) and last.get(printer, int(found[1])) != int(found[1]):
            failed.append((row["file"], row["line"], int(found[1]), launchers[printer].rank(int(found[1]))))
    told = dict(read_rules(lines, RULES, rank=None, local_rank=None))
    return told | tables_of(events=_with_failed(told["events"], failed), ranks=ranks)


def _with_failed(events: pl.DataFrame, failed: list[tuple[str, int, int, int | None]]) -> pl.DataFrame:
    """Ends with the place, and where it is told the rank, of a process that was not the last to be started."""
    if not failed:
        return events
    kinds: dict[str, Any] = {"file": events.schema["file"], "line": pl.Int64, "_local": pl.Int64, "_rank": pl.Int64}
    told = pl.DataFrame(failed, kinds, orient="row")
    whose = events.join(told, on=["file", "line"], how="left", maintain_order="left")
    space = pl.when(pl.col("_rank").is_not_null()).then(pl.lit("global")).otherwise("rank_space")
    rank, local_rank = pl.coalesce("rank", "_rank"), pl.coalesce("local_rank", "_local")
    whose = whose.with_columns(local_rank=local_rank, rank_space=space, rank=rank)
    return whose.select(events.columns).cast(events.schema)


PARSER = LineParser(name="deepspeed_launcher", anchors=(b"[launch.py:", b" exits with return code = "), parse=parse)
