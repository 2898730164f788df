"""Checks of native code that failed: the fatal record of glog or absl, which aborts its process, with the stack behind it.

    F20260131 10:11:12.689000  4711 cuda_stream.cpp:248] Check failed: cudaEventQuery(event) : an illegal memory access was encountered
    *** Check failure stack trace: ***
        @     0x7f2c6a1e911d  google::LogMessage::Fail()
        @     0x7f2c64c80e22  job::Stream::Poll()
    2026-01-31 10:11:12.689: F tensorflow/core/….cc:97] Check failed: shape.dims() == 2 (3 vs. 2)
    F0000 00:00:1769854272.689101  4711 client.cc:48] Non-OK-status: status status: INTERNAL: …      (TF_CHECK_OK; absl before it is set up)

Events `exception`, code `Check failed`, severity fatal, the text from the message on; `detail`: place, and the frames, innermost first.

Printed by: glog and absl, so OneFlow, Caffe2, DGL, MXNet, TensorFlow, XLA.
Versions: glog 0.3 to 0.7 (a year in the stamp since 0.5), absl.
Source: google/glog: src/logging.cc (LogMessage::Init, DumpStackTraceAndExit); not read: abseil/abseil-cpp: absl/log/internal.
"""

import json
from typing import Any

import polars as pl

from parsers.pytorch.raised import derived
from parsers.schema.lines import Row, event, reporter, streams
from parsers.schema.parser import LineParser
from parsers.schema.tables import Tables, tables_of
from parsers.text.patterns import regex

_MOST = 64  # frames
_FATAL = regex(
    r"(?:^|[\s\[\]])F(?:\d{3,8} \d\d:\d\d:\d{2,10}\.\d{1,9})?\s+(?:\d{1,10}\s+)?(?P<place>[\w./<>+-]{1,300}:\d{1,6})\] (?P<message>(?:Check failed|Non-OK-status): .*)"
)
_HEAD = regex(r"\*\*\* Check failure stack trace: \*\*\*")
_FRAME = regex(r"^\s*@\s+0x[0-9a-f]{4,16}\s+(?P<function>\S.*?)\s*$")


def parse(lines: pl.DataFrame) -> Tables:
    """events exception; the lines of the stack are claimed."""
    events: list[dict[str, Any]] = []
    claimed: list[dict[str, Any]] = []
    checks: list[tuple[dict[str, Any], dict[str, Any]]] = []  # an event, and its detail, whose frames come later
    for stream in streams(lines):
        frames: list[list[Any]] | None = None
        for row in stream:
            if (found := _FATAL.search(row["text"], 0, 2000)) is not None:
                frames = []
                detail = {"place": found["place"], "frames": frames, "language": "c++", "from_line": row["line"]}
                events.append(_event(row, found["message"]))
                checks.append((events[-1], detail))
                if (known := derived(found["message"])) is not None:  # of a call to a device: what the device answered
                    events.append(event(row, severity="fatal", **{"detail": "{}"} | known))
            elif frames is not None and (frame := _FRAME.match(row["text"])) is not None:
                if len(frames) < _MOST:
                    frames.append([frame["function"][:300], None, None])
                claimed.append({"file": row["file"], "line": row["line"]})
            elif _HEAD.search(row["text"]):
                claimed.append({"file": row["file"], "line": row["line"]})
    for one, detail in checks:
        one["detail"] = json.dumps(detail)
    return tables_of(events=events, claimed=claimed)


def _event(row: Row, message: str) -> dict[str, Any]:
    pid = {} if reporter(row)["rank"] is not None or row["process"] is None else {"pid": row["process"]}
    return event(row, "exception", code="Check failed", severity="fatal", text=message[:2000], **pid)


PARSER = LineParser(
    name="check_failures",
    anchors=(b"] Check failed: ", b"] Non-OK-status: ", b"*** Check failure stack trace"),
    parse=parse,
    after=40,
    follows=regex(rb"@\s+0x[0-9a-f]{4,16}\s"),
)
