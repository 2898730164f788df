"""How MPI's launchers tell that a process ended: Open MPI's orterun and prte, and Hydra of MPICH, Intel MPI and MVAPICH.

    mpirun noticed that process rank 3 with PID 4711 on node n07 exited on signal 9 (Killed).
    MPI_ABORT was invoked on rank 3 in communicator MPI_COMM_WORLD with errorcode 1.
    [n07:04711] *** Process received signal ***
    [n07:04711] Signal: Segmentation fault (11)
    =   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES
    =   RANK 3 PID 4711 RUNNING AT n07            MPICH:   =   PID 4711 RUNNING AT n07
    =   KILLED BY SIGNAL: 9 (Killed)              or    =   EXIT CODE: 9

The rank is one of MPI_COMM_WORLD: where a launcher per node is started it is the node's number, so it is a global rank only of
a job whose processes mpirun itself starts. MPICH tells no rank, and its exit code is what wait() gave for a process that a signal
ended: the signal, and 128 more with a core; 1 and 2 are left as they are, for older ones may print
exit's. `exit`: code = signal or exit code, pid, host, rank_space global.

Printed by: Open MPI 1.x to 5.x, MPICH, Intel MPI, MVAPICH.
Versions: Open MPI 1.8 to 5.0, Hydra 3.x and 4.x.
Source: help-mpi-api.txt of Open MPI, opal/util/stacktrace.c, help-prun.txt of prrte, mpiexec/pmiserv_cb.c of MPICH's Hydra. Not
read: Intel MPI and MVAPICH; RANK and KILLED BY SIGNAL as users print them.
"""

import signal
from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from parsers.lines import Row, claimed, event, streams
from parsers.parser import LineParser
from parsers.patterns import regex
from parsers.rules import Rule, columns, matches
from parsers.tables import Tables, table


def _named(number: int) -> str:
    known = {int(one): one.name for one in signal.Signals}
    return known.get(number, str(number))


def _ended(groups: Mapping[str, str]) -> dict[str, Any]:
    made: dict[str, Any] = {"rank_space": "global"} if "rank" in groups else {}
    code = (
        _named(int(groups["signal"])) if "signal" in groups else groups.get("status", "MPI_ABORT")
    )  # else on the next line
    severity = "info" if code in ("SIGTERM", "SIGINT", "0") else "error"
    return made | {"code": code, "severity": severity, "detail": {"signal": None, "status": None, "by": "mpi"}}


_HOST = r"(?P<host>[A-Za-z0-9][\w.-]{0,252})"
RULES = (
    Rule(
        regex(rf"noticed that process rank (?P<rank>\d{{1,7}}) with PID (?P<pid>\d{{1,9}}) on node {_HOST} exited on signal "
                   r"(?P<signal>\d{1,3})"),
        "exit", refine=_ended,
    ),
    Rule(regex(r"MPI_ABORT was invoked on rank (?P<rank>\d{1,7}) in communicator MPI_COMM_WORLD\b(?:.{0,200}?errorcode (?P<status>-?\d{1,9}))?"),
         "exit", refine=_ended),
    Rule(regex(rf"\[{_HOST}:0*(?P<pid>\d{{1,9}})\] Signal: .{{1,60}}? \((?P<signal>\d{{1,3}})\)"), "exit", refine=_ended),
    Rule(regex(r"\[[\w.-]+:\d+\] (?:\*\*\* (?:Process received signal|End of error message)|Signal code: |Failing at address: )"), None),
)  # fmt: skip
_WHO = regex(rf"^=\s+(?:RANK (?P<rank>\d{{1,7}}) )?PID (?P<pid>\d{{1,9}}) RUNNING AT {_HOST}")
_HOW = regex(r"^=\s+(?:KILLED BY SIGNAL: (?P<signal>\d{1,3})|EXIT CODE: (?P<status>-?\d{1,9}))")
_FRAME = regex(r"^=\s+(?:BAD TERMINATION|CLEANING UP|YOU CAN IGNORE)")


def parse(lines: pl.DataFrame) -> Tables:
    """events exit."""
    rows: list[dict[str, Any]] = []
    known: list[tuple[str, int]] = []
    for stream in streams(lines):
        for row, made in _read(stream):
            rows += made
            known += [] if made else [(row["file"], row["line"])]
    return {"events": table("events", rows), "claimed": claimed(known)}


def _read(stream: list[dict[str, Any]]) -> Iterator[tuple[Row, list[dict[str, Any]]]]:
    """Each line that is understood, with its events."""
    who: dict[str, str] | None = None
    for row in stream:
        text = row["text"]
        if found := _WHO.match(text):
            who = found.groupdict()
            yield row, []
        elif found := _HOW.match(text):
            groups = {name: value for name, value in {**(who or {}), **found.groupdict()}.items() if value is not None}
            if (
                who is not None
                and who["rank"] is None
                and (status := int(groups.get("status", "0"))) % 128 > 2
                and status < 256
            ):
                groups["signal"] = str(status % 128)
            yield row, [event(row, "exit", **columns(Rule(_HOW, "exit", refine=_ended), groups))]
            who = None
        elif _FRAME.match(text):
            yield row, []
        else:
            for rule, match in matches(text, RULES):
                groups = {name: value for name, value in match.groupdict().items() if value is not None}
                yield row, [] if rule.kind is None else [event(row, rule.kind, **columns(rule, groups))]


PARSER = LineParser(
    name="mpi",
    anchors=(
        b"noticed that process rank", b"MPI_ABORT was invoked", b"] Signal: ", b"*** Process received signal", b"*** End of error message",
        b"] Signal code: ", b"] Failing at address", b" RUNNING AT ", b"BAD TERMINATION", b"KILLED BY SIGNAL: ", b"=   EXIT CODE: ",
        b"=   CLEANING UP", b"=   YOU CAN IGNORE",
    ),
    parse=parse,
)  # fmt: skip
