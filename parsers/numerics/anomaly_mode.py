"""What torch.autograd's anomaly mode says when a backward function returns NaN.

    …/autograd/graph.py:824: UserWarning: Error detected in MulBackward0. Traceback of forward call that caused the error:
      File "/job/model.py", line 36, in forward
        return self.scale * hidden
     (Triggered internally at ../torch/csrc/autograd/python_anomaly_mode.cpp:122.)
    RuntimeError: Function 'MulBackward0' returned nan values in its 0th output.

Event `nan_assert`, code = anomaly_mode, op = the function; `detail`: op, output (which of its outputs), forward (where
the forward call was, frames innermost first). The mode warns of any error in a backward function: where the log shows
another error after the warning, it is an event `other` with the same code; where the log ends before any, the warning is the
`nan_assert`, of severity warning, as the mode is switched on to find NaN. The rank is the printer's.

Printed by: torch.autograd.set_detect_anomaly.
Versions: PyTorch 1.x and 2.x.
Source: torch/csrc/autograd/python_anomaly_mode.cpp and engine.cpp.
"""

import json
import re
from typing import Any

import polars as pl

from parsers.schema.lines import Row, claimed, event, streams
from parsers.schema.parser import LineParser
from parsers.schema.tables import Tables, tables_of
from parsers.text.patterns import regex

MAX_FRAMES = 64
_WARNING = regex(r"Error detected in (?P<op>\w{1,200})\.")
_NAN = regex(r"Function '(?P<op>\w{1,200})' returned nan values in its (?P<output>\d{1,6})\w{0,2} output")
_FRAME = regex(r'\s*File "(?P<file>.*)", line (?P<line>\d{1,9}), in (?P<function>.*\S)\s*$')
_RAISED = regex(r"(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception)(?::|\s*$)")
_LEFT = regex(r"\s|Traceback of forward call|$")


def parse(lines: pl.DataFrame) -> Tables:
    """events nan_assert and other; claimed: the traceback of the forward call."""
    events: list[dict[str, Any]] = []
    places: list[tuple[str, int]] = []
    for stream in streams(lines):
        _Reader(events, places).read(stream)
    return tables_of(events=events, claimed=claimed(dict.fromkeys(places)))


class _Reader:
    """Reads one printer's lines: a warning waits for the error that follows its traceback."""

    def __init__(self, events: list[dict[str, Any]], places: list[tuple[str, int]]) -> None:
        self._events = events
        self._places = places
        self._warning: tuple[Row, str] | None = None
        self._frames: list[dict[str, Any]] = []  # outermost first
        self._is_open = False  # lines that follow belong to the forward traceback

    def read(self, stream: list[dict[str, Any]]) -> None:
        for row in stream:
            text = row["text"]
            if found := _NAN.search(text):
                self._found(row, found)
            elif found := _WARNING.search(text):
                self._end()
                self._warning, self._is_open = (row, found["op"]), True
            elif self._warning is not None and _RAISED.match(text):
                self._end("other")
            elif self._is_open:
                self._forward(row, text)
        self._end()

    def _forward(self, row: Row, text: str) -> None:
        self._is_open = _LEFT.match(text) is not None
        if self._is_open:
            self._places.append((row["file"], row["line"]))
        if (found := _FRAME.match(text)) and len(self._frames) < MAX_FRAMES:
            self._frames.append({"function": found["function"], "file": found["file"], "line": int(found["line"])})

    def _found(self, row: Row, found: re.Match[str]) -> None:
        frames: list[dict[str, Any]] = []
        if self._warning is not None and self._warning[1] == found["op"]:
            self._places.append((self._warning[0]["file"], self._warning[0]["line"]))
            self._warning, frames = None, self._frames[::-1]
        else:
            self._end("other")
        detail = {"op": found["op"], "output": int(found["output"]), "forward": frames}
        self._emit(row, "nan_assert", "error", found["op"], detail)
        self._frames, self._is_open = [], False

    def _end(self, kind: str = "nan_assert") -> None:
        """A warning that no error followed, or another one (kind other)."""
        if self._warning is not None:
            row, op = self._warning
            self._emit(row, kind, "warning", op, {"op": op, "forward": self._frames[::-1]})
        self._warning, self._frames, self._is_open = None, [], False

    def _emit(self, row: Row, kind: str, severity: str, op: str, detail: dict[str, Any]) -> None:
        made = event(row, kind, severity=severity, code="anomaly_mode", op=op, detail=json.dumps(detail))
        if kind == "nan_assert" and made["rank"] is not None:
            made |= {"names_ranks": [made["rank"]], "names_rank_space": made["rank_space"]}
        self._events.append(made)


PARSER = LineParser(
    name="anomaly_mode",
    anchors=(b"Error detected in ", b"returned nan values in its"),
    parse=parse,
    after=80,  # the traceback of the forward call
    follows=regex(
        rb'File "| {2}|Traceback (?:of forward|\(most recent)|Triggered internally|\w(?:Error|Exception)(?::|\s*$)'
    ),
)
