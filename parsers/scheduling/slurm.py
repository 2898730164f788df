"""Lines of Slurm's srun and slurmstepd in job output, 20.11 to 25.05, and progress pulses that job scripts print.

    srun: error: gpu-017: task 13: Exited with exit code 1
    srun: error: gpu-017: tasks 8-11,15: Killed
    srun: error: gpu-018: task 20: Segmentation fault (core dumped)
    srun: error: gpu-019: task 31: Out Of Memory
    srun: error: gpu-[016-018]: tasks 0-19,21-23: Terminated
    srun: launch/slurm: _step_signal: Terminating StepId=4711.0
    srun: error: Node failure on gpu-019
    [2026-03-01T10:11:12.000] Killing JobId=4711 on failed node gpu-019                      (slurmctld; also: requeue job … due to failure of)
    [2026-03-01T10:11:12.000] error: Nodes gpu-019 not responding, setting DOWN
    slurmstepd: error: *** JOB 4711 ON gpu-016 CANCELLED AT 2026-03-01T10:11:12 DUE TO TIME LIMIT ***
    slurmstepd: error: *** STEP 4711.0 ON gpu-016 CANCELLED AT 2026-03-01T10:11:12 DUE TO TASK FAILURE ***      (nobody cancelled it: a task ended)
    [2026-03-01T10:11:12.000] error: *** STEP 4711.0 ON gpu-016 CANCELLED AT 2026-03-01T10:11:12 ***    (since 25.05)
    slurmstepd: error: Detected 1 oom_kill event in StepId=4711.0. Some of the step tasks have been OOM Killed.
    srun: Terminating StepId=4711.0
    PULSE: pretrain is running for 1-07:27:33 since 2026-02-28T20:28:38 (4711 on 'gpu' partition (gpu-[016-019])

A task number is the global rank where srun starts one task per process; where it starts one launcher per node it is the
node's number. So it stands in `detail.tasks` and never in `rank`; forensics/assemble/ends/placed_ends.py tells which it is. The words
of a signal are those of strsignal(); "Out Of Memory" is Slurm's own for a task that the kernel killed for memory.

Printed by: srun, slurmstepd and slurmctld of Slurm; job scripts (PULSE).
Versions: 20.11 to 25.05, which changed the words of a cancellation.
Source: Slurm's srun and slurmstepd, src/slurmctld/job_mgr.c and ping_nodes.c; the job scripts of BigScience.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import polars as pl

from parsers.schema.parser import LineParser
from parsers.schema.rules import Rule, integer, read_kernel
from parsers.schema.tables import Tables
from parsers.text.patterns import regex
from parsers.text.signals import SIGNALS, WORDS

_SIGNALS = {**WORDS, "Interrupt": "SIGINT", "Hangup": "SIGHUP", "Quit": "SIGQUIT"}
_REASONS = {
    "TIME LIMIT": "time_limit", "PREEMPTION": "preemption", "JOB REQUEUE": "preemption", "NODE FAILURE": "node_failure",
}  # fmt: skip
_TASK_ENDED = "TASK FAILURE"  # what srun's --kill-on-bad-exit answers with
_TASKS = 1_000_000


def _tasks(text: str) -> list[int]:
    """`8-11,15` → [8, 9, 10, 11, 15]; at most a million."""
    found: list[int] = []
    for part in text.strip("[]").split(","):
        first, _, last = part.partition("-")
        start, end = integer(first), integer(last or first)
        if start is not None and end is not None and start <= end and end - start + len(found) < _TASKS:
            found += range(start, end + 1)
    return found


def _on(host: str) -> dict[str, Any]:
    """One host; a list of several stays in the text."""
    return {"host": None} if "[" in host or "," in host else {"names_hosts": [host]}


def _ended(groups: Mapping[str, str]) -> Mapping[str, Any]:
    how = groups["how"].strip()
    code = groups.get("status") or next((name for text, name in _SIGNALS.items() if how.startswith(text)), how)
    severity = "info" if code in ("SIGTERM", "SIGINT", "0") else "error"
    detail = {"tasks": _tasks(groups["tasks"]), "how": None, "status": None}
    return {"code": code, "severity": severity, **_on(groups["host"]), "detail": detail}


def _signalled(groups: Mapping[str, str]) -> Mapping[str, Any]:
    number = integer(groups["number"])
    detail = {"tasks": _tasks(groups["tasks"]), "number": None}
    return {"code": SIGNALS.get(number or 0, f"signal {number}"), **_on(groups["host"]), "detail": detail}


def _cancelled(groups: Mapping[str, str]) -> Mapping[str, Any]:
    why = (groups.get("why") or "").strip()
    code = _REASONS.get(why, "cancelled")
    said: dict[str, Any] = {"code": code, "severity": "error"}
    if code == "node_failure":  # of some node: whoever prints it, or whose log it stands in, lives
        said |= {"severity": "fatal", "host": None}
    if why.upper() == _TASK_ENDED:  # some task of the step, wherever it ran
        said |= {"kind": "exit", "code": _TASK_ENDED, "host": None}
    try:
        moment = datetime.fromisoformat(groups.get("at", "")).replace(tzinfo=UTC)
        said |= {"time_ns": int(moment.timestamp()) * 10**9, "time_basis": "local"}
    except ValueError:
        pass
    return said


def _of_node(groups: Mapping[str, str]) -> Mapping[str, Any]:
    """slurmctld: the line is of its own host, and of a list it does not say whose job each was."""
    return {"host": None, **_on(groups["host"])}


_HOST = r"(?P<host>[A-Za-z0-9][\w.,\[\]-]{0,400})"  # also a list: gpu-[017,019]
_TASK_LIST = r"tasks? (?P<tasks>[\d,\[\]-]{1,4000})"
RULES = (
    Rule(
        regex(
            rf"srun: error: {_HOST}: {_TASK_LIST}: "
            r"(?P<how>Exited with exit code (?P<status>\d{1,3})|Killed|Terminated|Aborted|Bus error|Segmentation fault"
            r"|Interrupt|Hangup|Illegal instruction|Floating point exception|Quit"
            r"|[A-Z][\w ]{2,40})(?: \(core dumped\))?"
        ),
        "exit", refine=_ended,
    ),
    Rule(
        regex(rf"srun: error: {_HOST}: {_TASK_LIST}: .{{0,40}}?signal (?P<number>\d{{1,3}})"),
        "exit", refine=_signalled,
    ),
    Rule(
        regex(
            r"\*\*\* (?P<what>JOB|STEP) (?P<job>[\d._+a-z]{1,40})(?: STEPD)? (?:ON (?P<where>\S{1,120}) )?CANCELLED"
            r"(?: AT (?P<at>[\d:T-]{19}))?(?: DUE [Tt][Oo] (?P<why>[A-Za-z ]{1,40}?))?(?:,| \*\*\*|$)"
        ),
        "scheduler", refine=_cancelled,
    ),
    Rule(
        regex(
            r"Detected (?P<value>\d{1,9}) oom[-_]kill event(?:\(s\)|s)? in (?:StepId=|step )?(?P<job>\w[\w.]{0,38}\w)"
        ),
        "host_oom", "fatal", "cgroup",
    ),
    Rule(regex(r"Node failure on (?P<host>[\w.-]{1,120})"), "scheduler", "fatal", "node_failure"),
    Rule(
        regex(rf"(?:Killing|[Rr]equeue job) JobId=(?P<job>\S{{1,40}}) (?:on failed|due to failure of) node {_HOST}"),
        "scheduler", "fatal", "node_failure", refine=_of_node,
    ),
    Rule(regex(rf"Nodes {_HOST} not responding, setting DOWN"), "scheduler", "fatal", "node_failure", refine=_of_node),
    Rule(
        regex(
            r"srun: error: (?P<what>.{0,200}?(?:timed out|Unable to|Connection|launch failed|credential).{0,200})"
        ),
        "scheduler", "error", "srun",
    ),
    Rule(regex(r"(?:srun: )?(?P<what>Force Terminated (?:job|StepId=)\S*)"), "scheduler", "warning", "terminated"),
    Rule(
        regex(r"srun: (?:[\w/]{1,40}: ){0,2}(?P<what>Terminating (?:StepId=|job step )\S+)"),
        "scheduler", "info", "terminating",
    ),
    Rule(regex(r"srun: (?:Job step aborted|First task|launch/slurm:|forcing job termination|StepId=)"), None),
    Rule(
        regex(
            r"\bPULSE: (?P<name>\S{1,120}) is (?P<state>running|waiting|pending|\w{1,32})"
            r"(?: to be scheduled)?(?: for (?P<elapsed>[\d:-]{4,20}))?(?: since (?P<since>[\dT:-]{16,20}))?"
            r"(?: \((?P<job>[\w\[\]%,-]{1,60}) on (?P<where>.{1,400}))?"
        ),
        "scheduler", "info", "pulse:{state}",
    ),
)  # fmt: skip


def parse(lines: pl.DataFrame) -> Tables:
    """events exit (code = exit code or signal; tasks in detail), scheduler, host_oom."""
    return read_kernel(lines, RULES)


PARSER = LineParser(
    name="slurm",
    anchors=(
        b"srun: ", b"slurmstepd: ", b"*** JOB ", b"*** STEP ", b"Node failure on ", b"on failed node ", b"due to failure of node ", b"not responding, setting DOWN", b"oom_kill event",
        b"oom-kill event", b"Force Terminated", b"PULSE",
    ),
    parse=parse,
)  # fmt: skip
