"""Of a bundle in which nothing tells of a process: files that hold nothing, or measurements alone. Then nothing stands still or failed as far as it
shows, and the log of whatever wrote it is what is missing."""

from collections.abc import Sequence

import polars as pl

from forensics.case import Case
from forensics.model.said import Said, joined, sentence
from forensics.model.texts import ranks_text
from forensics.model.told import values
from forensics.words import checked as words
from parsers.schema.tables import TableName

_SHOWN = 3
_NOTHING = 4  # bytes: the brackets of an empty document and the end of its line
_BENCHMARKS, _DUMPS = "nccl_tests", "msprobe"
_TIMER = "XPU_TIMER_COMMON_HANG"
_OF_PROCESSES: Sequence[TableName] = (
    "ranks", "groups", "links", "operations", "progress", "transfers", "stacks", "steps", "values", "events",
)  # fmt: skip


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
    is_beside = not held["file"].cast(pl.String).str.ends_with("dump.json").any()
    if kinds == [_DUMPS] and is_beside and not case.tables["tensors"].height:
        return words.CALLS_ALONE, words.DUMP_BESIDE
    told = joined([kind.replace("_", " ") for kind in kinds[:_SHOWN]], ", ")
    summary = words.MEASURED_ALONE(kinds=told)
    devices = case.tables["devices"]
    timers = values(devices.filter(pl.col("metric").str.starts_with(_TIMER) & (pl.col("value") == 0))["rank"])
    if timers:  # above 0 it is an event, and tells of a process
        summary = sentence(joined((words.NONE_HUNG(who=ranks_text(timers), gauge=_TIMER), words.NO_OTHER_RECORD), ". "))
    return summary, words.LOG_OF_ITS_RUN
