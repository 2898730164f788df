"""Output of Slurm's `sacct`, with bars (`-P`) or in columns: how each step of a job ended.

    JobID|JobName|State|ExitCode|Start|End|NodeList
    4711.0|python|FAILED|1:0|2026-03-01T08:00:00|2026-03-01T10:11:12|gpu-[016-017]

    JobID           JobName      State ExitCode
    ------------ ---------- ---------- --------
    4711.0           python     FAILED      1:0

`ExitCode` is "status:signal". A job that was put back into the queue has a row for each of its runs (`--duplicates`): how
an earlier one ended is information. A state of RUNNING beside processes that have ended means a job that hangs on.

Printed by: sacct of Slurm.
Versions: 20.11 to 25.05.
Source: sacct(1).
"""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from parsers.forms.reading import text_lines
from parsers.schema.parser import FileParser, Source
from parsers.schema.tables import Tables, tables_of
from parsers.text.patterns import regex
from parsers.text.signals import SIGNALS

_HEADER = regex(r"^\s*(?:JobID|JobIDRaw)\b.*\bState\b")
_JOB = regex(r"\d{1,10}(?:[_+][\d\[\]%,-]+)?(?:\.\S{1,40})?\+?$")
_RULE = regex(r"^[-\s]+$")
_FATAL = {"FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "BOOT_FAIL", "DEADLINE"}
_STEP, _SEVERAL = regex(r"[^.]+\.\d{1,6}"), 2
_LINES = 200_000


def accepts(_path: str, head: bytes) -> bool:
    """By the header."""
    start = head[:4096]
    return b"JobID" in start and any(map(_HEADER.match, start.decode("utf-8", "replace").splitlines()[:5]))


def parse(source: Source) -> Tables:
    """events scheduler, a row per job step: code = state, severity by state, exit code and times in `detail`; exit, of steps with names of their own."""
    rows: list[dict[str, Any]] = []
    claimed: list[dict[str, Any]] = []
    unread: list[dict[str, Any]] = []
    names: list[str] = []
    spans: list[tuple[int, int]] = []
    header = ""
    for number, text in text_lines(source, _LINES):
        place = {"file": source.path, "line": number}
        if _HEADER.match(text):
            header, spans = text, []
            names = [name.strip() for name in text.strip("|").split("|")] if "|" in text else text.split()
            claimed.append(place)
        elif header and _RULE.match(text) and "-" in text:
            spans = [found.span() for found in re.finditer(r"-+", text)]
            claimed.append(place)
        elif header and text.strip():
            values = _values(text, header, spans)
            if not _JOB.match(values[0] if values else ""):
                unread.append(place | {"reason": "no row of sacct"})
            elif len(values) < len(names):
                unread.append(place | {"reason": f"{len(values)} values for {len(names)} columns"})
            else:
                rows.append(place | {"_job": values[0]} | _event(dict(zip(names, values, strict=False)), text, source))
    ends = [*_ends_of_steps(rows)]
    last = {row["_job"]: at for at, row in enumerate(rows)}
    for at, row in enumerate(rows):
        if last[row.pop("_job")] != at:
            row["severity"] = "info"
    return tables_of(events=rows + ends, claimed=claimed, unread=unread)


def _ends_of_steps(rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """How steps ended that are each called by a name of its own: where a launcher begins each process so, they are these."""
    told = {row["_job"]: (row, json.loads(row["detail"])) for row in rows if _STEP.fullmatch(row["_job"])}
    names = [said.get("JobName") for _, said in told.values()]
    if len(names) < _SEVERAL or None in names or len({*names}) < len(names):
        return
    for row, said in told.values():
        code = said.get("signal") or said.get("status", "0")
        if code != "0" and row["severity"] != "info":
            nodes = said.get("NodeList", "")
            host = nodes if nodes and not {*nodes} & {*"[],"} else None
            whose = {"kind": "exit", "code": code, "severity": "error", "host": host}
            yield (
                {key: row[key] for key in row if key != "_job"}
                | whose
                | {"detail": json.dumps({"names": [said["JobName"]], "only": "names", "step": True})}
            )


def _values(text: str, header: str, spans: list[tuple[int, int]]) -> list[str]:
    if "|" in header:
        return [value.strip() for value in text.split("|")]
    return [text[start:end].strip() for start, end in spans] if spans else text.split()


def _event(said: dict[str, str], text: str, source: Source) -> dict[str, Any]:
    state = said.get("State", "").split(" ")[0].rstrip("+")
    severity = "fatal" if state in _FATAL else "error" if state.startswith(("CANCEL", "TIMEOUT", "PREEMPT")) else "info"
    status, _, number = said.get("ExitCode", "").partition(":")
    detail = {key: value for key, value in said.items() if value}
    if number not in ("", "0"):
        detail["signal"] = SIGNALS.get(int(number), number) if number.isdecimal() else number
    elif status:
        detail["status"] = status
    ended = _time(said.get("End", ""))
    return {
        "kind": "scheduler", "code": state.lower() or None, "severity": severity, "text": text[:2000],
        "time_ns": ended, "time_basis": None if ended is None else "local", "attempt": source.attempt,
        "detail": json.dumps(detail, sort_keys=True),
    }  # fmt: skip


def _time(text: str) -> int | None:
    try:
        return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * 10**9
    except ValueError:
        return None


PARSER = FileParser(name="sacct", accepts=accepts, parse=parse)
