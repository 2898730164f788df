"""How MPI's launchers tell that a process ended: Open MPI's orterun and prte, and Hydra of MPICH, Intel MPI and MVAPICH.

    mpirun noticed that process rank 3 with PID 4711 on node n07 exited on signal 9 (Killed).
    MPI_ABORT was invoked on rank 3 in communicator MPI_COMM_WORLD with errorcode 1.
    [n07:04711] *** Process received signal ***
    [n07:04711] Signal: Segmentation fault (11)
    =   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES
    =   RANK 3 PID 4711 RUNNING AT n07            MPICH:   =   PID 4711 RUNNING AT n07
    =   KILLED BY SIGNAL: 9 (Killed)              or    =   EXIT CODE: 9

    mpiexec noticed that process rank 3 with PID 4711 on node n07 exited        and no more: the text ends there
    mpirun has exited due to process rank 3 with PID 4711 on                    Open MPI 1.3 to 1.10, the node and how on the next line
    [27]PETSC ERROR: Caught signal number 11 SEGV: Segmentation Violation, probably memory access out of range      PETSc's handler

    Abort(1) on node 3 (rank 3 in comm 0): application called MPI_Abort(MPI_COMM_WORLD, 1) - process 3      MPICH; then Hydra kills the others

    MPT ERROR: Rank 3(g:3) received signal SIGSEGV(11).           HPE MPT; below it: Process ID: 4711, Host: n07, Program: …

      Process name: [[29973,1],5]               Open MPI, of the first that ended other than well: the last number is the rank
      Exit code:    1

The rank is one of MPI_COMM_WORLD: where a launcher per node is started it is the node's number, so it is a global rank only of
a job whose processes mpirun itself starts. MPICH tells no rank, and its exit code is what wait() gave for a process that a signal
ended: the signal, and 128 more with a core; 1 and 2 are left as they are, for older ones may print
exit's. What is said to be killed by signal 9 or 15 behind the words of an abort, was told to stop: `closing_signal` beside `exit`. `exit`: code = signal or exit code, pid, host, rank_space global.

Printed by: Open MPI 1.x to 5.x, MPICH, Intel MPI, MVAPICH, HPE MPT.
Versions: Open MPI 1.8 to 5.0, Hydra 3.x and 4.x.
Source: help-mpi-api.txt of Open MPI, opal/util/stacktrace.c, help-prun.txt of prrte, mpiexec/pmiserv_cb.c of MPICH's Hydra, src/sys/error/signal.c of PETSc. Not
read: Intel MPI, MVAPICH and MPT; RANK, KILLED BY SIGNAL and MPT ERROR as users print them.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from parsers.schema.lines import Row, claimed, event, streams
from parsers.schema.parser import LineParser
from parsers.schema.rules import Rule, columns, matches
from parsers.schema.tables import Tables, tables_of
from parsers.text.patterns import regex
from parsers.text.signals import SIGNALS


def _ended(groups: Mapping[str, str]) -> dict[str, Any]:
    made: dict[str, Any] = {"rank_space": "global"} if "rank" in groups else {}
    signal, code = groups.get("signal"), groups.get("status", "MPI_ABORT")  # else on the next line
    code = code if signal is None else SIGNALS.get(int(signal), signal)
    severity = "info" if code in ("SIGTERM", "SIGINT", "0") else "error"
    return made | {"code": code, "severity": severity, "detail": {"signal": None, "status": None, "by": "mpi"}}


def _left(_groups: Mapping[str, str]) -> dict[str, Any]:
    return {"rank_space": "global", "code": None, "severity": "error"}


_HOST = r"(?P<host>[A-Za-z0-9][\w.-]{0,252})"
RULES = (
    Rule(
        regex(rf"noticed that process rank (?P<rank>\d{{1,7}}) with PID (?P<pid>\d{{1,9}}) on node {_HOST} exited on signal "
                   r"(?P<signal>\d{1,3})"),
        "exit", refine=_ended,
    ),
    Rule(regex(r"MPI_ABORT was invoked on rank (?P<rank>\d{1,7}) in communicator MPI_COMM_WORLD\b(?:.{0,200}?errorcode (?P<status>-?\d{1,9}))?"),
         "exit", refine=_ended),
    Rule(regex(r"application called MPI_Abort\(MPI_COMM_WORLD, (?P<status>-?\d{1,9})\) - process (?P<rank>\d{1,7})"), "exit", refine=_ended),
    Rule(regex(r"mpi(?:run|exec) has exited due to process rank (?P<rank>\d{1,7}) with PID (?P<pid>\d{1,9}) on\b"), "exit", refine=_left),
    Rule(regex(r"\[(?P<rank>\d{1,7})\]PETSC ERROR: Caught signal number (?P<signal>\d{1,3})\b"), "exit", refine=_ended),
    Rule(regex(rf"\[{_HOST}:0*(?P<pid>\d{{1,9}})\] Signal: .{{1,60}}? \((?P<signal>\d{{1,3}})\)"), "exit", refine=_ended),
    Rule(regex(r"\[[\w.-]+:\d+\] (?:\*\*\* (?:Process received signal|End of error message)|Signal code: |Failing at address: )"), None),
)  # fmt: skip
# How it ended stands in the next line, unless the text ends here.
_BROKEN_OFF = regex(
    rf"noticed that process rank (?P<rank>\d{{1,7}}) with PID (?P<pid>\d{{1,9}}) on node {_HOST} exited(?: on(?: signal)?)?\s*$"
)
_MPT = regex(r"MPT ERROR: Rank \d{1,7}\(g:(?P<rank>\d{1,7})\) received signal SIG[A-Z0-9]{2,10}\((?P<signal>\d{1,3})\)")
_MPT_WHERE = regex(rf"^\s*Process ID: (?P<pid>\d{{1,9}}), Host: {_HOST}, Program: ")
_WHO = regex(rf"^=\s+(?:RANK (?P<rank>\d{{1,7}}) )?PID (?P<pid>\d{{1,9}}) RUNNING AT {_HOST}")
_HOW = regex(r"^=\s+(?:KILLED BY SIGNAL: (?P<signal>\d{1,3})|EXIT CODE: (?P<status>-?\d{1,9}))")
_FIRST = regex(r"^\s*Process name:\s+\[(?:\[\d{1,9},\d{1,9}\]|[\w.@-]{1,255}),(?P<rank>\d{1,7})\]\s*$")
_CODE = regex(r"^\s*Exit (?:code|status):\s+(?P<status>-?\d{1,9})\s*$")
_TO_STOP = ("9", "15")  # signals
_FRAME = regex(r"^=\s+(?:BAD TERMINATION|CLEANING UP|YOU CAN IGNORE)")


def parse(lines: pl.DataFrame) -> Tables:
    """events exit; ranks of those that a line tells with their host and pid."""
    rows: list[dict[str, Any]] = []
    known: list[tuple[str, int]] = []
    words = ["application called MPI_Abort(", "MPI_ABORT was invoked on rank"]
    aborts = lines.filter(pl.col("text").str.contains_any(words))
    aborted = dict(aborts.group_by("file").agg(pl.col("line").min()).iter_rows())
    for stream in streams(lines):
        for row, made in _read(stream, aborted):
            rows += made
            known += [] if made else [(row["file"], row["line"])]
    placed = [
        {name: row[name] for name in ("rank", "pid", "host", "file", "line")} | {"how": "mpi"}
        for row in rows
        if row["kind"] == "exit" and row["text"].startswith("MPT ERROR") and row.get("pid") is not None
    ]
    return tables_of(events=rows, ranks=placed, claimed=claimed(known))


def _read(stream: list[dict[str, Any]], aborted: Mapping[str, int]) -> Iterator[tuple[Row, list[dict[str, Any]]]]:
    """Each line that is understood, with its events. `aborted`: file → the line in which a rank aborts the job."""

    def kinds(row: Row, groups: Mapping[str, str | None]) -> tuple[str, ...]:
        is_told = groups.get("signal") in _TO_STOP and aborted.get(row["file"], row["line"]) < row["line"]
        return ("exit", "closing_signal") if is_told else ("exit",)

    who: dict[str, str] | None = None
    first: str | None = None
    signalled: tuple[Row, dict[str, Any]] | None = None
    for row in stream:
        text = row["text"]
        if signalled is not None:
            head, made = signalled
            where = _MPT_WHERE.match(text) if row["line"] == head["line"] + 1 else None
            told = {} if where is None else {"pid": int(where["pid"]), "host": where["host"]}
            yield head, [event(head, "exit", **made, **told)]
            signalled = None
            if where is not None:
                yield row, []
                continue
        if found := _MPT.search(text):
            signalled = row, columns(Rule(_MPT, "exit", refine=_ended), found.groupdict())
        elif found := _BROKEN_OFF.search(text) if row is stream[-1] else None:
            yield row, [event(row, "exit", **columns(Rule(_BROKEN_OFF, "exit", refine=_left), found.groupdict()))]
        elif found := _FIRST.match(text):
            first = found["rank"]
            yield row, []
        elif found := _CODE.match(text) if first is not None else None:
            told = columns(Rule(_CODE, "exit", refine=_ended), {"rank": first or "", "status": found["status"]})
            first = None
            yield row, [event(row, "exit", **told)]
        elif found := _WHO.match(text):
            who = found.groupdict()
            yield row, []
        elif found := _HOW.match(text):
            groups = {name: value for name, value in {**(who or {}), **found.groupdict()}.items() if value is not None}
            status = int(groups.get("status", "0"))
            if who is not None and who["rank"] is None and status < 256 and status % 128 > 2:
                groups["signal"] = str(status % 128)
            told = columns(Rule(_HOW, "exit", refine=_ended), groups)
            yield row, [event(row, kind, **told) for kind in kinds(row, groups)]
            who = None
        elif _FRAME.match(text):
            yield row, []
        else:
            for rule, match in matches(text, RULES):
                own = kinds(row, match.groupdict()) if rule.kind is not None else ()
                yield row, [event(row, kind, **columns(rule, match.groupdict())) for kind in own]
    if signalled is not None:
        yield signalled[0], [event(signalled[0], "exit", **signalled[1])]


PARSER = LineParser(
    name="mpi",
    anchors=(
        b"noticed that process rank", b"MPI_ABORT was invoked", b"] Signal: ", b"*** Process received signal", b"*** End of error message",
        b"has exited due to process rank", b"PETSC ERROR: Caught signal", b"] Signal code: ", b"] Failing at address", b" RUNNING AT ", b"BAD TERMINATION", b"KILLED BY SIGNAL: ", b"=   EXIT CODE: ", b"Process name: [", b"Exit code: ", b"Exit status: ", b"application called MPI_Abort(", b"MPT ERROR: Rank ", b"Process ID: ",
        b"=   CLEANING UP", b"=   YOU CAN IGNORE",
    ),
    parse=parse,
    after=1,
)  # fmt: skip
