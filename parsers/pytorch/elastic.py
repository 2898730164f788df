"""Lines of torchrun, the agent of torch.distributed.elastic, 1.9 to 2.15: which worker ended how, and who was stopped.

Whatever prefix style the agent uses (`ERROR:torch…`, `[date] torch…: [ERROR]`, `E0816 01:45:43.466000 …]`), the
message is the same, so it is searched for anywhere in the line:

    failed (exitcode: -9) local_rank: 5 (pid: 4711) of binary: /usr/bin/python3
    Sending process 4712 closing signal SIGTERM
    W0816 01:45:43.466000 4700 torch/multiprocessing/spawn.py:165] Terminating process 4712 via signal SIGTERM
    Received 15 death signal, shutting down workers
    Failures:
    [1]:
      time      : 2026-01-31_10:11:12
      host      : gpu-017
      rank      : 13 (local_rank: 5)
      exitcode  : -9 (pid: 4711)  (SIGKILL)
      error_file: <N/A>
      traceback : Signal 9 (SIGKILL) received by PID 4711
    Root Cause (first observed failure):
    …
    [default] Rendezvous complete for workers. Result:
      local_ranks=[0, 1]
    I0816 01:45:43.466000 4700 torch/distributed/elastic/agent/server/api.py:553]   global_ranks=[8, 9]

An agent's log says nothing of its own rank: `rank` is that of the worker a line is about, null where not printed.
"First observed" is what this one agent saw first. That a worker group finished is job_end with the code `workers`.

Printed by: torchrun, torch.distributed.launch, torch.multiprocessing.spawn.
Versions: PyTorch 1.9 to 2.15.
Source: torch/distributed/elastic (agent, multiprocessing, errors).
"""

import json
import re
from typing import Any

import polars as pl

from parsers.schema.event_kinds import RENDEZVOUS, WORKERS
from parsers.schema.lines import Row, claimed, event, streams
from parsers.schema.parser import LineParser
from parsers.schema.tables import Tables, tables_of
from parsers.text.patterns import regex
from parsers.text.signals import SIGNALS
from parsers.text.stamps import formed_ns

_FAILED = regex(
    r"failed \(exitcode: (?P<code>-?\d{1,18})\)(?: local_rank: (?P<local_rank>\d{1,18}) \(pid: (?P<pid>\d{1,18})\))?"
)
_CLOSING = regex(
    r"(?:Sending process (?P<pid>\d{1,18}) closing signal|Terminating process (?P<spawned>\d{1,18}) via signal) "
    r"(?:Signals\.)?(?P<code>\w+)"
)
_DEATH = regex(r"Received (?:Signals\.)?(?P<code>\w{1,18}) death signal|got signal: (?P<number>\d{1,18})")
_RENDEZVOUS = regex(
    r"RendezvousTimeoutError|[Tt]imed out (?:while )?waiting for (?:the )?(?:all |other )?[\w -]*rendezvous"
    r"|rendezvous[\w' -]* timed out"
)
_ENDED = regex(r"worker group successfully finished")
_RESTART = regex(r"Worker group (?P<code>FAILED|UNHEALTHY)\b.*will restart")
_FIELD = regex(r"^\s*(time|host|rank|exitcode|error_file|traceback|msg)\s*: ?(.*)$")
_RANK = regex(r"^(-?\d{1,18}) \(local_rank: (-?\d{1,18})\)")
_EXIT = regex(r"^(-?\d{1,18}) \(pid: (\d{1,18})\)\s*(?:\((SIG\w+)\))?")
_FILLING = regex(r"^\s*(?:[=*-]{8,}|\[\d{1,18}\]:|<NO_OTHER_FAILURES>|\S+ FAILED|<NA>)\s*$")
_RESULT = regex(
    r"^(?:[IWE]\d{4} [^\]]{8,200}:\d{1,6}\])?\s*(\w+)=(.*?)\s*$"
)  # since 2.3 each line of it has the head of a log
_SECTIONS = {"Failures:": False, "Other Failures:": False, "Root Cause": True}


def parse(lines: pl.DataFrame) -> Tables:
    """events exit, first_failure, closing_signal, missing_members, membership, job_end; ranks from tables."""
    reader = _Reader()
    for stream in streams(lines):
        reader.read(stream)
    known = claimed(reader.claimed)
    return tables_of(events=reader.events, ranks=reader.ranks, settings=reader.settings, claimed=known)


class _Reader:
    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.ranks: list[dict[str, Any]] = []
        self.settings: list[dict[str, Any]] = []
        self.claimed: list[tuple[str, int]] = []
        self._is_root = False
        self._in_table = False
        self._record: dict[str, Any] = {}
        self._before: dict[str, Any] = {}  # fields that may be of a table, whose head is cut
        self._result: dict[str, Any] | None = None

    def read(self, stream: list[dict[str, Any]]) -> None:
        self._is_root, self._in_table, self._record, self._result = False, False, {}, None
        for row in stream:
            if self._result_line(row) or self._table_line(row) or self._single(row):
                self.claimed.append((row["file"], row["line"]))
        self._end_record()
        self._end_result()

    def _single(self, row: Row) -> bool:
        text = row["text"]
        about: dict[str, Any] = {"rank": None, "local_rank": None}
        if found := _FAILED.search(text):
            if found["pid"]:  # else the line is cut
                about |= {"local_rank": int(found["local_rank"]), "pid": int(found["pid"])}
            self.events.append(event(row, "exit", severity="error", code=_exit_code(found["code"]), **about))
        elif found := _CLOSING.search(text):
            about |= {"pid": int(found["pid"] or found["spawned"]), "code": found["code"], "severity": "info"}
            self.events.append(event(row, "closing_signal", **about))
        elif found := _DEATH.search(text):
            code = found["code"] or found["number"]
            code = _signal_name(int(code)) if code.isascii() and code.isdigit() else code
            self.events.append(event(row, "closing_signal", code=code, severity="warning", **about))
        elif _RENDEZVOUS.search(text):
            self.events.append(event(row, "missing_members", severity="error", code="rendezvous", **about))
        elif found := _RESTART.search(text):
            self.events.append(event(row, "membership", severity="warning", code=found["code"].lower(), **about))
        elif _ENDED.search(text):
            self.events.append(event(row, "job_end", severity="info", code=WORKERS, **about))
        else:
            return False
        return True

    def _table_line(self, row: Row) -> bool:
        text = row["text"]
        for title, is_root in _SECTIONS.items():
            if text.strip().startswith(title):
                self._end_record()
                self._is_root, self._in_table = is_root, True
                return True
        field = _FIELD.match(text)
        if field is None:
            self._before = {}
            filling = bool(_FILLING.match(text))
            if not filling and self._in_table and text.strip():
                self._end_record()
                self._in_table = False
            return filling
        key, value = field[1], field[2].strip()
        if not self._in_table and not _proves_table(key, value):
            self._before[key] = value
            return False
        self._record, self._before = self._before | self._record, {}
        if key in self._record:
            self._end_record()
        self._record[key] = value
        # The exit line is what an event quotes, else the rank's.
        if key == "exitcode" or "row" not in self._record or ("exitcode" not in self._record and key == "rank"):
            self._record["row"] = row
        return True

    def _end_record(self) -> None:
        record, self._record = self._record, {}
        rank, ended = _RANK.match(record.get("rank", "")), _EXIT.match(record.get("exitcode", ""))
        if rank is None and ended is None:
            return
        row = record["row"]
        time_ns = formed_ns(record.get("time", ""), "%Y-%m-%d_%H:%M:%S")
        about: dict[str, Any] = {
            "rank": int(rank[1]) if rank else None,
            "local_rank": int(rank[2]) if rank else None,
            "pid": int(ended[2]) if ended else None,
            "host": _shown(record.get("host")) or row["host"] or row["path_host"],
        }
        known = {key: record[key] for key in ("error_file", "traceback", "msg") if _shown(record.get(key))}
        stamp = {"time_ns": time_ns, "time_basis": "local"} if time_ns is not None else {}
        same = about | stamp | {"severity": "error", "detail": json.dumps(known)}
        same["code"] = (ended[3] or _exit_code(ended[1])) if ended else None
        self.events.append(event(row, "exit", **same))
        if self._is_root:
            self.events.append(event(row, "first_failure", **same))
        if rank:
            self.ranks.append(about | {"file": row["file"], "line": row["line"], "how": "elastic failure table"})

    def _result_line(self, row: Row) -> bool:
        if "Rendezvous complete for workers. Result:" in row["text"]:
            self._end_result()
            self._result = {"row": row}
            return True
        if self._result is None:
            return False
        if found := _RESULT.match(row["text"]):
            self._result[found[1]] = found[2]
            return True
        self._end_result()
        return False

    def _end_result(self) -> None:
        result, self._result = self._result, None
        if not result:
            return
        row = result["row"]
        place = {"file": row["file"], "line": row["line"], "host": row["host"] or row["path_host"]}
        locals_, globals_ = _numbers(result.get("local_ranks", "")), _numbers(result.get("global_ranks", ""))
        sizes = _numbers(result.get("global_world_sizes", ""))
        if len(locals_) == len(globals_):
            for local_rank, rank in zip(locals_, globals_, strict=True):
                claim = {"rank": rank, "local_rank": local_rank, "world_size": sizes[0] if sizes else None}
                self.ranks.append(place | claim | {"how": RENDEZVOUS})
        for name in ("restart_count", "master_addr", "master_port", "group_rank", "group_world_size"):
            if name in result:
                self.settings.append(place | {"name": name, "value": result[name], "scope": "launcher"})


def _proves_table(key: str, value: str) -> bool:
    """Whether a field can only be of a failure table, so that a table cut at its head is read, too."""
    return bool((key == "rank" and _RANK.match(value)) or (key == "exitcode" and _EXIT.match(value)))


def _shown(value: str | None) -> str | None:
    return value if value and value not in ("<N/A>", "<NA>") else None


def _numbers(text: str) -> list[int]:
    return [int(number) for number in re.findall(r"\b[0-9]{1,9}\b", text)]


def _signal_name(number: int) -> str:
    return SIGNALS.get(number, str(number))


def _exit_code(text: str) -> str:
    return _signal_name(-int(text)) if text.startswith("-") else text


PARSER = LineParser(
    name="elastic",
    anchors=(
        b"failed (exitcode: ", b"closing signal ", b"Terminating process ", b" death signal", b"SignalException: Process", b"ChildFailedError",
        b"Failures:", b"Root Cause", b"(local_rank: ", b"exitcode  : ", b"error_file: ", b"traceback : ", b"endezvous",
        b"worker group successfully finished", b"Worker group ",
    ),
    parse=parse,
    after=12,  # the result of a rendezvous; the head of a failure table
    before=True,  # the host, of a table whose head is cut
)  # fmt: skip
