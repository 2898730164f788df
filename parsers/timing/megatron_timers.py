"""Times that Megatron-LM prints: `--timing-log-level`, and `--log-straggler`.

    (min, max) time across ranks (ms):
        forward-backward ...............................: (26094.39, 26095.09)
        optimizer ......................................: 3409.92              (max only)
    times across ranks (ms):
      forward-backward:
         rank  0: 1234.50
    time to initialize megatron (seconds): 1046.900
    [2024-03-14 23:07:56] | MnRtt/Rnk: 3453.08ms/8 | MxRtt/Rnk: 3468.20ms/0 | MnPwr/Rnk: 601796W/8 | …
    ^^^^ Bottom 4 Ranks with lowest  Etpt(TF): 296.02/0, 296.17/2,
    ^^^^ Top    4 Ranks with highest Etpt(TF): 297.28/15, 297.28/11,

The straggler lines name who is fastest and slowest even in a healthy run: severity info. Times per step are
of the step printed before them in the log.

Printed by: Megatron-LM.
Versions: those with --timing-log-level; the straggler lines those with --log-straggler.
Source: megatron/core/timers.py and utils.py (StragglerDetector).
"""

import json
import re
from typing import Any

import polars as pl

from parsers.schema.lines import Row, claimed, event, reporter
from parsers.schema.parser import LineParser
from parsers.schema.rules import LINE_CHARACTERS, integer
from parsers.schema.tables import Tables, tables_of
from parsers.text.patterns import regex

_HEAD = regex(r"(?:\(min, max\) time|max time|times) across ranks \(ms\):")
_TIMER = regex(
    r"(?P<name>[A-Za-z][\w/ -]{1,60}?) \.{2,}: "
    r"(?:\((?P<low>[\d.]{1,18}), (?P<high>[\d.]{1,18})\)|(?P<only>[\d.]{1,18}))"
)
_SECTION = regex(r"^\s+(?P<name>[A-Za-z][\w/-]{1,60}):\s*$")
_RANK = regex(r"^\s+rank\s+(?P<rank>\d{1,9}): (?P<ms>[\d.]{1,18})")
_PAIR = regex(
    r"(?P<end>Mn|Mx)(?P<name>[A-Za-z]{2,8})/Rnk: (?P<value>[\d.]{1,18})(?P<unit>ms|W|C|%|MHz|TF)?/(?P<rank>\d{1,9})"
)
_LIST = regex(
    r"\^{4} (?P<end>Bottom|Top)\s+\d+ Ranks with (?:lowest|highest)\s+Etpt\(TF\): (?P<ranks>[\d./, ]{3,4000})"
)
_INITIALIZED = regex(r"\btime to initialize (?P<name>\w{1,40}) \(seconds\): (?P<seconds>[\d.]{1,18})")
_ITERATION = regex(r"iteration\s+(?P<step>\d{1,12})/")
_PHASES = (
    ("init", ("-setup",)),
    ("data", ("batch-generator", "data", "batch")),
    ("comm", ("reduce", "gather", "send", "recv", "grads-sync", "communication", "sync")),
    ("forward_backward", ("forward-backward",)),
    ("forward", ("forward",)),
    ("backward", ("backward",)),
    ("optimizer", ("optimizer", "params", "clip")),
    ("checkpoint", ("checkpoint",)),
)


def parse(lines: pl.DataFrame) -> Tables:
    """timings (min_ms and max_ms, or value_ms per rank), and events straggler of the straggler detector."""
    reader = _Reader()
    for row in lines.sort("file", "line").iter_rows(named=True):
        reader.read(row)
    return tables_of(timings=reader.timings, events=reader.events, claimed=claimed(reader.claimed))


class _Reader:
    def __init__(self) -> None:
        self.timings: list[dict[str, Any]] = []
        self.events: list[dict[str, Any]] = []
        self.claimed: list[tuple[str, int]] = []
        self.file: str | None = None
        self.step: int | None = None
        self.name: str | None = None
        self.is_open = False

    def read(self, row: Row) -> None:
        text = (row["text"] or "")[:LINE_CHARACTERS]
        if row["file"] != self.file:
            self.file, self.step, self.name, self.is_open = row["file"], None, None, False
        if found := _ITERATION.search(text):
            self.step = integer(found["step"])
        if began := _INITIALIZED.search(text):
            self._initialized(row, began)
        pairs = list(_PAIR.finditer(text))
        if pairs:
            self._straggler(row, pairs)
        elif found := _LIST.search(text):
            self._ranking(row, found)
        elif _HEAD.search(text):
            self.is_open, self.name = True, None
            self.claimed.append((row["file"], row["line"]))
        if self.is_open and not pairs:
            self._timers(row, text)

    def _timers(self, row: Row, text: str) -> None:
        if found := list(_TIMER.finditer(text)):
            for one in found:
                high = _number(one["only"]) if one["only"] else _number(one["high"])
                self._timing(row, one["name"].strip(), min_ms=_number(one["low"]), max_ms=high)
        elif (one_rank := _RANK.match(text)) and self.name:
            self._timing(row, self.name, value_ms=_number(one_rank["ms"]), rank=integer(one_rank["rank"]))
        elif section := _SECTION.match(text):
            self.name = section["name"]
            self.claimed.append((row["file"], row["line"]))
        elif not _HEAD.search(text):
            self.is_open = False

    def _timing(self, row: Row, name: str, **columns: Any) -> None:
        place = {name: row[name] for name in ("file", "line", "time_ns")} | {"step": self.step}
        phase = next((phase for phase, words in _PHASES if any(word in name for word in words)), "other")
        self.timings.append(place | {"phase": phase, "name": name, "level": 0} | columns)

    def _initialized(self, row: Row, found: re.Match[str]) -> None:
        if (seconds := _number(found["seconds"])) is not None:
            place = {name: row[name] for name in ("file", "line", "time_ns")} | {"rank": reporter(row)["rank"]}
            told = {"phase": "init", "name": found["name"], "value_ms": seconds * 1000, "level": 0}
            self.timings.append(place | told)

    def _straggler(self, row: Row, pairs: list[re.Match[str]]) -> None:
        ends: dict[str, dict[str, Any]] = {}
        for pair in pairs:
            one = ends.setdefault(pair["name"], {"unit": pair["unit"]})
            one["min" if pair["end"] == "Mn" else "max"] = [_number(pair["value"]), integer(pair["rank"])]
        for name in ("Rtt", "DRtt"):
            low, high = ends.get(name, {}).get("min"), ends.get(name, {}).get("max")
            if low or high:
                said = {"min_ms": low and low[0], "min_rank": low and low[1]}
                said |= {"max_ms": high and high[0], "max_rank": high and high[1]}
                self._timing(row, {"Rtt": "step", "DRtt": "batch-generator"}[name], **said)
        self._event(row, None, ends)

    def _ranking(self, row: Row, found: re.Match[str]) -> None:
        parts = [part.split("/") for part in found["ranks"].replace(" ", "").strip(",").split(",") if "/" in part]
        ranks = [rank for part in parts if (rank := integer(part[-1])) is not None]
        values = {part[-1]: _number(part[0]) for part in parts}
        self._event(row, ranks if found["end"] == "Bottom" else None, {"end": found["end"].lower(), "tflops": values})

    def _event(self, row: Row, ranks: list[int] | None, detail: dict[str, Any]) -> None:
        told = {"step": self.step, "names_ranks": ranks, "detail": json.dumps(detail, sort_keys=True)}
        self.events.append(event(row, "straggler", rank=None, severity="info", **told))


def _number(text: str | None) -> float | None:
    try:
        return float(text) if text else None
    except ValueError:
        return None


# A timer's line has no word of its own, so the lines after a heading come along; the iteration line tells the step. The lines
# of ranks are as many as the job has: each brings the next one along.
PARSER = LineParser(
    name="megatron_timers",
    anchors=(
        b"across ranks (ms):", b"elapsed time per iteration", b"Rtt/Rnk: ", b"Ranks with lowest", b"Ranks with highest",
        b"     rank ", b"time to initialize ",
    ),
    parse=parse,
    after=64,
    follows=regex(rb"\.\.: |\brank\s+\d+: |:\s*$"),
)  # fmt: skip
