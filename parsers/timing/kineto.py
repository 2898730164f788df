"""Traces of the PyTorch profiler (Kineto, Chrome trace JSON, .json or .json.gz): times per step and phase only.

    {"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": 13, "world_size": 64},
     "traceEvents": [
      {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#12", "ts": 1000.0, "dur": 250000.0, "pid": 1, "tid": 1},
      {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_bf16", "ts": 1200.0, "dur": 900.0}, …

Per step: phase `all` (the step), `comm` (kernels of a collective library), `compute` (other kernels), `memcpy`, and
`optimizer`, `data` and `backward` by their annotations. Sums of durations, in which overlapping streams count twice.
The file is read as a stream; one event and a few numbers for each are held, whatever its size.

Printed by: torch.profiler (Kineto).
Versions: PyTorch since 1.8.1, which brought Kineto.
Source: the Chrome trace format and Kineto's output_json.cpp.
"""

import json
import re
import zlib
from array import array
from collections.abc import Iterator
from typing import Any

import polars as pl

from parsers.forms.reading import opened, real
from parsers.schema.parser import FileParser, Source
from parsers.schema.rules import integer
from parsers.schema.tables import Tables, conform, tables_of
from parsers.text.patterns import regex

_START = regex(r'"traceEvents"\s*:\s*\[')
_RANK = regex(r'"distributedInfo"\s*:\s*\{[^{}]*?"rank"\s*:\s*(\d{1,9})')
_WORLD = regex(r'"distributedInfo"\s*:\s*\{[^{}]*?"world_size"\s*:\s*(\d{1,9})')
_PROFILER_STEP = regex(r"ProfilerStep#(\d{1,12})")
_COMM = regex(r"nccl|mccl|rccl|hccl|AllReduce|AllGather|ReduceScatter|SendRecv|all_to_all", re.I)
_CHUNK = 1 << 18
_EVENT_CHARACTERS = 1 << 22
_EVENTS = 8_000_000
_PHASES = ("all", "comm", "compute", "memcpy", "optimizer", "data", "backward")


def accepts(_path: str, head: bytes) -> bool:
    """By the keys of a trace; a gzip file is looked into."""
    if head[:2] == b"\x1f\x8b":
        try:
            head = zlib.decompressobj(31).decompress(head, 1 << 16)
        except zlib.error:
            return False
    is_kineto = b'"schemaVersion"' in head[:65536] and b'"deviceProperties"' in head[:65536]
    return head.lstrip()[:1] == b"{" and (b'"traceEvents"' in head[:65536] or is_kineto)


def parse(source: Source) -> Tables:
    """timings: per step and phase, `value_ms`; without profiler steps one row per phase of the whole trace. ranks: world_size."""
    trace = _Trace(source)
    steps: list[tuple[int, float, float]] = []
    columns: dict[str, array[Any]] = {"phase": array("b"), "ts": array("d"), "dur": array("d")}
    for event in trace.events():
        name, start, length = str(event.get("name", "")), real(event.get("ts")), real(event.get("dur"))
        if event.get("ph") != "X" or start is None or length is None:
            continue
        found = _PROFILER_STEP.fullmatch(name)
        if found:
            steps.append((integer(found[1]) or 0, start, length))
        elif (phase := _phase(str(event.get("cat", "")).lower(), name)) is not None:
            columns["phase"].append(_PHASES.index(phase))
            columns["ts"].append(start)
            columns["dur"].append(length)
    unread = [{"file": source.path, "reason": trace.reason}] if trace.reason else []
    rank = trace.rank if trace.rank is not None else source.rank
    size = {"rank": rank, "world_size": trace.world, "how": "kineto", "file": source.path}
    sizes = [size] if rank is not None and trace.world is not None and rank < trace.world else []
    return tables_of(timings=_timings(columns, steps, source, rank), ranks=sizes, unread=unread)


def _phase(category: str, name: str) -> str | None:
    if category == "kernel":
        return "comm" if _COMM.search(name) else "compute"
    if category in ("gpu_memcpy", "gpu_memset"):
        return "memcpy"
    if category in ("user_annotation", "cpu_op"):
        if name.startswith("Optimizer.step"):
            return "optimizer"
        if name.startswith("enumerate(DataLoader)"):
            return "data"
        return "backward" if name == "backward" else None
    return None


def _timings(
    columns: dict[str, "array[Any]"], steps: list[tuple[int, float, float]], source: Source, rank: int | None
) -> pl.DataFrame:
    kinds = {"phase": pl.Int64(), "ts": pl.Float64(), "dur": pl.Float64()}
    whole = pl.DataFrame({name: list(values) for name, values in columns.items()}, schema=kinds)
    # A profiler step is annotated on the host and on the device: one row, the longer, stands for it.
    known = pl.DataFrame(steps, schema={"step": pl.Int64, "ts": pl.Float64, "dur": pl.Float64}, orient="row")
    known = known.sort("dur").unique("step", keep="last").sort("ts")
    sums = whole.sort("ts")
    if known.height:
        sums = sums.join_asof(known.select("step", "ts"), on="ts", strategy="backward")
    else:
        sums = sums.with_columns(pl.lit(None, dtype=pl.Int64).alias("step"))
    sums = sums.group_by("step", "phase").agg(pl.col("dur").sum()).sort("step", "phase", nulls_last=True)
    everything = pl.concat([known.select("step", pl.lit(0, dtype=pl.Int64).alias("phase"), "dur"), sums])
    frame = everything.select(
        "step",
        pl.col("phase").replace_strict(dict(enumerate(_PHASES)), return_dtype=pl.String).alias("phase"),
        (pl.col("dur") / 1e3).alias("value_ms"),
        pl.lit(0, dtype=pl.Int64).alias("level"),
        pl.lit(rank, dtype=pl.Int64).alias("rank"),
        pl.lit(source.host, dtype=pl.String).alias("host"),
        pl.lit(source.path).alias("file"),
        pl.int_range(pl.len(), dtype=pl.Int64).alias("record"),
    )
    return conform("timings", frame)


class _Trace:
    """The events of a trace, one after the other; `rank`, `world` (its size) and `reason` (why it stopped) are known afterwards."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.rank: int | None = None
        self.world: int | None = None
        self.reason: str | None = None

    def events(self) -> Iterator[dict[str, Any]]:
        decoder, text, is_inside, count = json.JSONDecoder(), "", False, 0
        for piece in self._pieces():
            text += piece
            if not is_inside:
                found = _RANK.search(text)
                self.rank = self.rank if found is None else integer(found[1])
                size = _WORLD.search(text)
                self.world = self.world if size is None else integer(size[1])
                start = _START.search(text)
                text, is_inside = (text[start.end() :], True) if start else (text[-_CHUNK:], False)
            position = 0
            while is_inside:
                position = _skip(text, position)
                if text[position : position + 1] == "]":
                    if self.rank is None and (late := _RANK.search(text, position)):
                        self.rank = integer(late[1])
                    return
                try:
                    value, position = decoder.raw_decode(text, position)
                except (json.JSONDecodeError, RecursionError):
                    break
                count += 1
                if isinstance(value, dict):
                    yield value
                if count >= _EVENTS:
                    self.reason = f"more than {_EVENTS} events"
                    return
            text = text[position:]
            if len(text) > _EVENT_CHARACTERS:
                self.reason = "an event that does not end"
                return
        self.reason = self.reason or "the trace ends in the middle"

    def _pieces(self) -> Iterator[str]:
        with opened(self.source) as stream:
            try:
                while piece := stream.read(_CHUNK):
                    yield piece.decode("utf-8", "replace")
            except (OSError, EOFError, zlib.error) as error:
                self.reason = f"cannot be read to its end: {type(error).__name__}"


def _skip(text: str, position: int) -> int:
    while position < len(text) and text[position] in " \t\r\n,":
        position += 1
    return position


PARSER = FileParser(name="kineto", accepts=accepts, parse=parse, whole=True)
