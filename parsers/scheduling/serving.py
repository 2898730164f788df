"""Watchdogs and dead workers of inference engines: vLLM, SGLang, TensorRT-LLM and TGI, which rollouts of reinforcement learning run on.

    ERROR 01-31 10:11:12 [multiproc_executor.py:231] Worker proc VllmWorker-2 died unexpectedly, shutting down executor.
    ERROR 01-31 10:11:12 [ray_executor_v2.py:464] RayWorkerProc rank=[3] died unexpectedly, shutting down executor.
    INFO 01-31 10:11:12 [shm_broadcast.py:501] No available shared memory broadcast block found in 60 seconds. This typically …
    TimeoutError: RPC call to execute_model timed out.
    [2026-01-31 10:11:12] Scheduler watchdog timeout (watchdog_timeout=300, soft=False)                     (SGLang 0.5)
    [2026-01-31 10:11:12] Watchdog timeout (watchdog_timeout=300)                                            (SGLang 0.4)
    [TRT-LLM] [RANK 3] [E] Hang detected after 300 seconds.
    2026-01-31T10:11:12.282563Z ERROR shard-manager: text_generation_launcher: Shard process was signaled to shutdown with signal 9 rank=2
    SIGQUIT received. signum=None, frame=None. It usually means one child failed.

The number of a worker is its place in the engine, `local_rank`; `rank=[3]` is the engine's rank. A missing broadcast block
says that workers are busy or hang: `comm_warning`, code shm_broadcast. SGLang's watchdog and TensorRT-LLM's hang detector speak after
a pass of the engine took too long: `heartbeat_lost`, value = the limit in seconds.

Printed by: vLLM's executors and shm_broadcast, SGLang's schedulers and their watchdog, TensorRT-LLM's executor,
TGI's launcher.
Versions: vLLM 0.6 to 0.14, SGLang 0.3 to 0.5, TensorRT-LLM 1.0 and later, TGI 1 to 3.
Source: multiproc_executor.py, ray_executor_v2.py and shm_broadcast.py of vLLM; watchdog.py and tokenizer_manager.py of SGLang; pyexecutor/hang_detector.py of
TensorRT-LLM; launcher/src/main.rs of text-generation-inference.
"""

from typing import Any

import polars as pl

from parsers.forms.reading import integers
from parsers.schema.lines import event
from parsers.schema.parser import LineParser
from parsers.schema.rules import Rule, read_rules
from parsers.schema.tables import Tables, table, tables_of
from parsers.text.patterns import regex
from parsers.who.labels.engine_labels import SHARD

_SHARD = regex(r"\btext_generation_launcher: Starting shard rank=(?P<rank>\d{1,4})\b")
_RANKED = regex(r"\bRayWorkerProc rank=\[(?P<ranks>[\d, ]{1,2000})\] died unexpectedly")
RULES = (
    Rule(
        regex(r"\bWorker proc (?P<worker>[\w.]{1,60}?-(?P<local_rank>\d{1,4})) died unexpectedly"), "exit", code="died"
    ),
    Rule(
        regex(r"No available shared memory broadcast block found in (?P<value>\d{1,6})"), "comm_warning", "warning", "shm_broadcast",
        refine=lambda _: {"detail": {"unit": "s"}},
    ),
    Rule(regex(r"RPC call to (?P<call>\w{1,80}) timed out"), "collective_timeout", code="rpc"),
    Rule(
        regex(r"\b[Ww]atchdog timeout \((?:self\.)?watchdog_\w+=(?P<value>\d{1,7}(?:\.\d{1,3})?)(?:, soft=(?P<soft>\w+))?"),
        "heartbeat_lost", refine=lambda groups: {"detail": {"unit": "s"}, "severity": "warning" if groups.get("soft") == "True" else "error"},
    ),
    Rule(regex(r"\bHang detected after (?P<value>\d{1,7}(?:\.\d{1,3})?) seconds"), "heartbeat_lost", refine=lambda _: {"detail": {"unit": "s"}}),
    Rule(
        regex(r"\bShard process was signaled to shutdown with signal (?P<signal>\d{1,2})\b.{0,80}?\brank=(?P<rank>\d{1,4})"), "exit",
        refine=lambda groups: {"code": f"-{groups['signal']}", "rank_space": "global", "detail": {"signal": None}},
    ),
    Rule(regex(r"SIGQUIT received\..{0,80}?one child failed"), "other", "error", "child_failed"),
)  # fmt: skip


def parse(lines: pl.DataFrame) -> Tables:
    """events exit, collective_timeout, heartbeat_lost, comm_warning, other; ranks: shards of an engine, whose ranks are its own."""
    ranked: list[dict[str, Any]] = []
    shards: list[dict[str, Any]] = []
    for row in lines.iter_rows(named=True):
        if found := _SHARD.search(row["text"]):
            place = {name: row[name] for name in ("host", "file", "line")}
            shards.append(place | {"rank": int(found["rank"]), "how": SHARD})
        if found := _RANKED.search(row["text"]):
            same = {"code": "died", "severity": "error", "rank_space": "global", "local_rank": None}
            ranked += [event(row, "exit", rank=rank, **same) for rank in integers(found["ranks"])[:64]]
    tables = read_rules(lines, RULES)
    return dict(tables) | tables_of(
        events=pl.concat([tables["events"], table("events", ranked)]).sort("file", "line", maintain_order=True),
        ranks=shards,
    )


PARSER = LineParser(
    name="serving",
    anchors=(
        b"died unexpectedly", b"shared memory broadcast block", b"RPC call to ", b"atchdog timeout (", b"Hang detected after ",
        b"Starting shard rank=", b"Shard process was signaled", b"one child failed",
    ),
    parse=parse,
)  # fmt: skip
