"""The desync report of PyTorch's watchdog: which ranks, by the counters that all leave in the store, lag behind.

    [rank4]:[E320 02:07:08.4 ProcessGroupNCCL.cpp:607] Rank 4
     - [4] Timeout at collective: ALLREDUCE, #7
     - To our best knowledge, the lagging/dead/mismatched ranks that caused the desync are:
         [3] finished collective #6, but didn't join collective #7 (count from 1)
     - Snapshot of ranks' latest states:
       #7 started ranks:
         [4] started ALLREDUCE

Its ranks are those inside the group, and the `#n` is a counter of its own, not the sequence number.

Printed by: ProcessGroupNCCL and ProcessGroupMCCL of torch_musa, with desync debugging on.
Versions: PyTorch 1.11 to 2.15.
Source: torch/csrc/distributed/c10d: TraceUtils.h, ProcessGroupNCCL.cpp.
"""

import json
from typing import Any

import polars as pl

from parsers.forms.reading import integers
from parsers.schema.lines import Row, claimed, event, reporter, streams
from parsers.schema.parser import LineParser
from parsers.schema.tables import Tables, tables_of
from parsers.text.op_types import operation
from parsers.text.patterns import regex

_N = r"\d{1,18}"
_TIMEOUT = regex(rf"\[({_N})\] Timeout at collective: (\w+), #({_N})")
_LINE = regex(r"^\s*(?:- |#\d+ (?:started|finished) ranks:|\[[\d, ]+\] (?:joined|finished|started) )")
_LAGGING = regex(rf"\[(?P<ranks>[\d, ]+)\] (?P<state>joined|finished)[^#]*#(?P<at>{_N})(?:.*#(?P<missing>{_N}))?")
_NEVER = regex(r"ranks \[(?P<ranks>[\d, ]+)\] are the lagging ranks")
_SNAPSHOT = regex(rf"^\s*#(?P<at>{_N}) (?P<state>started|finished) ranks:")
_SNAPSHOT_RANKS = regex(r"^\s*\[(?P<ranks>[\d, ]+)\] (?P<state>started|finished) (?P<op>\w+)\s*$")
_HEADS = ("To our best knowledge", "Snapshot of ranks")


def parse(lines: pl.DataFrame) -> Tables:
    """events desync, one per report: names_ranks lag; detail: op, count, lagging, snapshot, reported_by."""
    begun = lines.filter(pl.col("text").str.contains(f"Timeout at collective: |{_HEADS[0]}"))["file"].unique()
    reader = _Reader()
    for stream in streams(_with_carried_rank(lines.filter(pl.col("file").is_in(begun.implode())))):
        reader.read(stream)
    return tables_of(events=reader.events, claimed=claimed(reader.claimed))


def _with_carried_rank(lines: pl.DataFrame) -> pl.DataFrame:
    """A report carries `[rankN]:` on its first line only: the others take it from the line above."""
    ranks: list[int | None] = []
    above: tuple[str, int, int | None] = ("", 0, None)
    for file, number, rank, text in lines.select("file", "line", "rank", "text").iter_rows():
        if rank is None and above[:2] == (file, number - 1) and _LINE.match(text):
            rank = above[2]
        ranks.append(rank)
        above = (file, number, rank)
    return lines.with_columns(pl.Series("rank", ranks, dtype=pl.Int64()))


class _Reader:
    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.claimed: list[tuple[str, int]] = []
        self._report: _Report | None = None

    def read(self, stream: list[dict[str, Any]]) -> None:
        for row in stream:
            if self._line(row):
                self.claimed.append((row["file"], row["line"]))
        self._end()

    def _line(self, row: Row) -> bool:
        text = row["text"]
        if found := _TIMEOUT.search(text):
            self._end()
            self._report = _Report(row, int(found[1]), found[2], int(found[3]))
            return True
        if self._report is None and _HEADS[0] in text:
            self._report = _Report(row, None, None, None)
        return self._report is not None and self._report.add(text)

    def _end(self) -> None:
        report, self._report = self._report, None
        if report is not None and report.lagging:
            self.events.append(report.event())


class _Report:
    """One desync report."""

    def __init__(self, row: Row, reported_by: int | None, op: str | None, count: int | None) -> None:
        self.row, self.reported_by, self.op, self.count = row, reported_by, op, count
        self.lagging: list[dict[str, Any]] = []
        self.snapshot: list[dict[str, Any]] = []
        self.at: int | None = None

    def add(self, text: str) -> bool:
        """Whether the line is part of the report."""
        if found := _NEVER.search(text):
            self.lagging.append({"ranks": integers(found["ranks"]), "state": "never joined"})
        elif found := _SNAPSHOT.match(text):
            self.at = int(found["at"])
        elif self.at is not None and (found := _SNAPSHOT_RANKS.match(text)):
            state = {"count": self.at, "state": found["state"], "op": operation(found["op"])}
            self.snapshot.append(state | {"ranks": integers(found["ranks"])})
        elif found := _LAGGING.search(text):
            missing = int(found["missing"]) if found["missing"] else None
            state = {"ranks": integers(found["ranks"]), "state": found["state"], "count": int(found["at"])}
            self.lagging.append(state | {"missing": missing})
        else:
            return any(head in text for head in _HEADS)
        return True

    def event(self) -> dict[str, Any]:
        """The row of `events`."""
        names = sorted({rank for entry in self.lagging for rank in entry["ranks"]})
        detail = {"op": operation(self.op), "count": self.count, "lagging": self.lagging, "snapshot": self.snapshot}
        detail |= {"reported_by": self.reported_by} if self.reported_by is not None else {}
        made: dict[str, Any] = {"severity": "error", "op": operation(self.op), "detail": json.dumps(detail)}
        if reporter(self.row)["rank"] is None and self.reported_by is not None:
            made |= {"rank": self.reported_by, "rank_space": "group"}
        return event(self.row, "desync", names_ranks=names, names_rank_space="group", **made)


PARSER = LineParser(
    name="desync",
    # The last of these: a report's first line may hold no more.
    anchors=(b"Timeout at collective: ", b"lagging", b"latest states", b"CCL.cpp:"),
    parse=parse,
    after=200,
    follows=regex(
        rb"To our best knowledge|Snapshot of ranks|#\d+ (?:started|finished) ranks:|\[[\d, ]+\] (?:joined|finished|started) "
    ),
)
