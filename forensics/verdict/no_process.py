"""Of a bundle in which nothing tells of a process: files that hold nothing, or measurements alone. Then nothing stands still or failed as far as it
shows, and the log of whatever wrote it is what is missing."""

from collections.abc import Sequence

import polars as pl

from forensics.case import Case
from forensics.model.said import Said, joined
from forensics.words import checked as words
from parsers.schema.tables import TableName

_SHOWN = 3
_NOTHING = 4  # bytes: the brackets of an empty document and the end of its line
_BENCHMARKS = "nccl_tests"
_OF_PROCESSES: Sequence[TableName] = (
    "ranks",
    "groups",
    "links",
    "operations",
    "progress",
    "transfers",
    "stacks",
    "steps",
    "values",
    "events",
)


def no_process(case: Case) -> tuple[Said, Said] | None:
    """(what there is, what to ask for); None where a process is told of, or a line that nobody reads may tell of one."""
    files = case.tables["files"]
    if not files.height or any(case.tables[name].height for name in _OF_PROCESSES):
        return None
    held = files.filter(pl.col("bytes") > _NOTHING)
    if not held.height:
        names = files["file"].sort().head(_SHOWN).to_list()
        return words.HOLD_NOTHING(files=joined(names, ", ")), words.WHAT_WROTE_THEM
    kinds = sorted({kind for listed in held["parsers"].to_list() for kind in listed})
    if not kinds or any(not listed for listed in held["parsers"].to_list()):
        return None
    if kinds == [_BENCHMARKS]:
        sizes = case.tables["timings"].select("name", "level").unique().filter(pl.col("level") == 1).height
        return words.BENCHMARK_ALONE(rows=words.SIZES(sizes)), words.REST_OF_BENCHMARK
    told = joined([kind.replace("_", " ") for kind in kinds[:_SHOWN]], ", ")
    return words.MEASURED_ALONE(kinds=told), words.LOG_OF_ITS_RUN
