"""DLRover: the event log of its exporter (events_*.log) and lines of its job master and elastic agent (0.3 to 0.6).

    [2025-04-21T23:31:09.074419] [426] [22b7ca89] [AtorchTrainerV2] [#step] [BEGIN] {"global_step": 177018, "epoch": 0}
    [2025-04-22T00:42:46.143943] [426] [abb4c809] [DLROVER_AGENT] [#save] [END] {"global_step": 177215}
    Fault nodes: [3, 5] Straggler nodes: [7]
    The node 3 is breakdown because the node check failed
    Node 3 is abnormal and will be relaunched | Relaunch node worker-3 | Relaunch node job-worker-3 to 8
    Network check rank 3 status [3: False]
    Network check rendezvous round 1; node rank 3 of 6, host 10.4.7.13
    Straggler: {3: 6.110}.

An event line gives job, step and save with its own clock (no zone: local). A node number is the order in DLRover's
rendezvous, not a rank: `rank_space` and `names_rank_space` are `node`. A node that is launched anew is told by the name of
its pod and the number of the next one, whose pod is named alike.

Printed by: DLRover's master, elastic agent and event exporter.
Versions: 0.3 to 0.6.
Source: dlrover/python (training_event, master; the relaunch: master/node/training_node.py).
"""

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import polars as pl

from parsers.forms.reading import json_object, whole
from parsers.schema.lines import event
from parsers.schema.parser import LineParser
from parsers.schema.rules import LINE_CHARACTERS, Rule, columns, integer, matches
from parsers.schema.tables import Tables, tables_of
from parsers.text.patterns import regex

_EVENT = regex(
    r"\[(?P<stamp>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?)\] \[(?P<pid>\d{1,10})\] \[(?P<id>\w{1,64})\] "
    r"\[(?P<target>[\w.-]{1,64})\] \[#?(?P<name>[\w.-]{1,64})\] \[(?P<type>BEGIN|END|INSTANT)\](?: (?P<content>\{.*))?"
)
_KINDS = {
    ("save", "END"): "checkpoint_save", ("save", "BEGIN"): "checkpoint_save",
    ("persist", "END"): "checkpoint_persist", ("persist", "BEGIN"): "checkpoint_persist",
    ("load", "END"): "checkpoint_load", ("load", "BEGIN"): "checkpoint_load",
    ("train", "BEGIN"): "job_start", ("init", "BEGIN"): "job_start", ("start", "INSTANT"): "job_start",
    ("train", "END"): "job_end", ("network_check", "END"): "node_check", ("rendezvous", "END"): "membership",
    ("fault_detect", "INSTANT"): "node_check", ("process_fail", "INSTANT"): "exception",
    ("worker_relaunch", "INSTANT"): "membership", ("process_restart", "INSTANT"): "membership",
}  # fmt: skip


def _numbers(text: str) -> list[int]:
    return [number for part in re.findall(r"\d+", text)[:100_000] if (number := integer(part)) is not None]


def _faults(groups: Mapping[str, str]) -> Mapping[str, Any]:
    nodes = _numbers(groups["nodes"])
    is_slow = groups["what"].lower().startswith(("straggler", "slow"))
    said: dict[str, Any] = {"names_ranks": nodes, "names_rank_space": "node", "detail": {"nodes": None, "what": None}}
    if is_slow:
        return said | {"kind": "straggler", "severity": "warning" if nodes else "info"}
    return said | {"code": "failed" if nodes else "ok", "severity": "error" if nodes else "info"}


def _keys(groups: Mapping[str, str]) -> Mapping[str, Any]:
    """`{3: 6.110}`: node and its seconds."""
    nodes = [number for key in re.findall(r"(\d+):", groups["nodes"]) if (number := integer(key)) is not None]
    said = {"names_ranks": nodes, "names_rank_space": "node", "detail": {"nodes": None}}
    return said | {"severity": "warning" if nodes else "info"}


def _status(groups: Mapping[str, str]) -> Mapping[str, Any]:
    """One node's result of one round."""
    is_ok = groups["ok"] == "True"
    return {**_node(groups), "code": "ok" if is_ok else "failed", "severity": "info" if is_ok else "warning"}


def _node(groups: Mapping[str, str]) -> Mapping[str, Any]:
    return {"names_ranks": _numbers(groups["node"]), "names_rank_space": "node", "detail": {"node": None}}


def _relaunched(groups: Mapping[str, str]) -> Mapping[str, Any]:
    """`job-worker-3 to 8`: pod job-worker-8 in place of job-worker-3."""
    stem, node, new = groups.get("stem") or "node ", groups["node"], groups.get("new")
    pods = {"old": f"{stem}{node}", "new": None if new is None else f"{stem}{new}"}
    return {**_node(groups), "detail": {"node": None, "stem": None, **pods}}


RULES = (
    Rule(
        regex(
            r"(?P<what>[Ff]ault nodes|[Ff]ailed nodes|[Aa]bnormal nodes|[Ss]traggler nodes|[Ss]tragglers|[Ss]low nodes)"
            r"(?: are)?:? ?(?:is )?(?P<nodes>[\[{(][\d,: .a-zA-Z]{0,20000}[\]})])"
        ),
        "node_check", refine=_faults,
    ),
    Rule(
        regex(r"[Nn]ode (?:rank )?(?P<node>\d{1,9}) is (?:breakdown|a fault node|abnormal)"),
        "node_check", "error", "failed", _node,
    ),
    Rule(regex(r"[Nn]ode (?:rank )?(?P<node>\d{1,9}) is a straggler"), "straggler", "warning", refine=_node),
    Rule(regex(r"\bStraggler: (?P<nodes>\{[\d:., ]{0,20000}\})"), "straggler", "warning", refine=_keys),
    Rule(regex(r"[Nn]etwork check rank (?P<node>\d{1,9}) status \[\d{1,9}: (?P<ok>True|False)\]"), "node_check", refine=_status),
    Rule(
        regex(r"\bnode rank (?P<node>\d{1,9}) of \d{1,9}, host (?P<host>[A-Za-z0-9][\w.:-]{0,120})"),
        "membership", "info", "node_rank", lambda groups: {**_node(groups), "names_hosts": [groups["host"]]},
    ),
    Rule(
        regex(
            r"[Rr]elaunch(?:ing)? (?:the )?node (?P<stem>[\w.-]{0,120}?)(?P<node>\d{1,9})(?: to (?P<new>\d{1,9}))?(?![\w-]|\.\w)"
        ),
        "membership", "warning", "relaunch", _relaunched,
    ),
    Rule(
        regex(r"[Nn]ode \w*?-?(?P<node>\d{1,9})\b.{0,60}?(?:no heartbeat|heartbeat timeout)"),
        "heartbeat_lost", "error", refine=_node,
    ),
)  # fmt: skip


def parse(lines: pl.DataFrame) -> Tables:
    """events checkpoint_*, job_*, node_check, straggler, membership, heartbeat_lost, exception; steps from #step."""
    events: list[dict[str, Any]] = []
    steps: list[dict[str, Any]] = []
    for row in lines.iter_rows(named=True):
        # The stamp in brackets may have been taken for decoration; the raw line has it in any case.
        found = list(_EVENT.finditer(row["raw"] or "", 0, LINE_CHARACTERS))
        for one in found:
            made = _read(one)
            step = made.pop("_step_row")
            if step is not None:
                steps.append(_step(row, step, made))
            else:
                events.append(event(row, made.pop("kind"), **made))
        if not found:
            for rule, match in matches(row["text"] or "", RULES):
                said = columns(rule, match.groupdict())
                events.append(event(row, said.pop("kind", None) or str(rule.kind), rank=None, local_rank=None, **said))
    return tables_of(events=events, steps=steps)


def _read(found: re.Match[str]) -> dict[str, Any]:
    content = json_object(found["content"] or "{}") or {}
    logs = content.get("logs")
    step = whole(content.get("global_step", content.get("step")))
    moment = datetime.fromisoformat(found["stamp"]).replace(tzinfo=UTC) if _is_time(found["stamp"]) else None
    kind = _KINDS.get((found["name"], found["type"]), "other")
    phase = {"BEGIN": "begin", "END": "end"}.get(found["type"], "instant")
    detail = {"target": found["target"], "name": found["name"], "phase": phase, "id": found["id"]}
    is_step = (found["name"] == "step" and found["type"] == "END") or isinstance(logs, dict)
    failed = content.get("success") is False or kind == "exception"
    return {
        "kind": kind,
        "severity": "error" if failed else "info",
        "pid": integer(found["pid"]),
        "step": step,
        "time_ns": None if moment is None else int(moment.timestamp()) * 10**9 + moment.microsecond * 1000,
        "time_basis": None if moment is None else "local",
        "detail": json.dumps(detail, sort_keys=True),
        "_step_row": (logs if isinstance(logs, dict) else {}) if is_step and step is not None else None,
    }


def _is_time(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def _step(row: Mapping[str, Any], logs: Mapping[str, Any], made: Mapping[str, Any]) -> dict[str, Any]:
    def number(name: str) -> float | None:
        value = logs.get(name)
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None

    return {
        "rank": row["rank"] if row["rank"] is not None else row["path_rank"],
        "step": made["step"],
        "phase": "train",
        "loss": number("loss"),
        "loss_seen": "loss" in logs,
        "grad_norm": number("grad norm"),
        "loss_scale": number("loss scale"),
        "skipped": whole(logs.get("number of skipped iterations")),
        "nan_iterations": whole(logs.get("number of nan iterations")),
        "elapsed_ms": number("elapsed time per iteration (ms)"),
        "tflops": number("TFLOPS"),
        "samples": whole(logs.get("consumed samples")),
        "framework": "dlrover",
        "time_ns": made["time_ns"],
        "time_basis": made["time_basis"],
        "file": row["file"],
        "line": row["line"],
    }


PARSER = LineParser(
    name="dlrover",
    anchors=(
        b"] [BEGIN]", b"] [END]", b"] [INSTANT]", b"ault nodes", b"ailed nodes", b"bnormal nodes", b"traggler nodes",
        b"tragglers", b"traggler: {", b"Network check rank", b"node rank ", b"low nodes", b" is breakdown", b" is a fault node", b" is a straggler", b"elaunch", b"heartbeat",
    ),
    parse=parse,
)  # fmt: skip
