"""Progress that DeepSpeed's engine prints on rank 0 for all.

    steps: 100 loss: 2.3451 iter time (s): 0.532 samples/sec: 15.038
    [2026-01-31 10:11:12,345] [INFO] [logging.py:96:log_dist] [Rank 0] step=10, skipped=2, lr=[1e-05], mom=[(0.9, 0.95)]
    [timer.py:260:stop] epoch=0/micro_step=20/global_step=10, RunningAvgSamplesPerSec=12.30, CurrSamplesPerSec=12.10
    [logging.py:96:log_dist] [Rank 0] time (ms) | fwd: 300.12 | bwd: 750.4 | bwd_inner: 640.1 | bwd_allreduce: 110.2 | step: 71.5

The last of these (`wall_clock_breakdown`) belongs to the step reported before it; its `step` is that of the optimizer, and what
`bwd_` names is a part of `bwd`.
DeepSpeed counts skipped steps from the start: `skipped` is what was added since the printer's line before, as other
frameworks print it; null in the first line, unless nothing was skipped. Only the first form has a place for a loss.

Printed by: DeepSpeed's engine.
Versions: 0.3 to 0.17.
Source: DeepSpeed, runtime/engine.py, runtime/pipe/engine.py, utils/timer.py.
"""

import polars as pl

from parsers.schema.parser import LineParser
from parsers.schema.tables import Tables, conform, empty
from parsers.training.progress import COUNT, NUMBER, number, rows, whole, with_reporter

_PIPELINE = rf"\bsteps: {COUNT} loss: "
_REPORT = rf"(?:\[Rank [0-9]+\] )?\bstep={COUNT}, skipped=[0-9]+, lr="
_TIMER = rf"\bepoch=[0-9]+/micro_step=[0-9]+/global_step={COUNT}, RunningAvgSamplesPerSec="
_BREAKDOWN = r"\btime \(ms\) \|((?: \w+: [0-9.]{1,20} ?(?:\||$))+)"


def parse(lines: pl.DataFrame) -> Tables:
    """steps; timings of the breakdown, parts of a phase with level 1; claimed: the timer's line where the report of the same step stands beside it."""
    known = with_reporter(lines)
    text = pl.col("text")
    pipeline = known.filter(text.str.contains(_PIPELINE))
    whole_lines = rows(
        pipeline,
        "deepspeed",
        step=whole(_PIPELINE),
        loss=number(rf"\bsteps: [0-9]+ loss: {NUMBER}"),
        elapsed_ms=number(rf"iter time \(s\): {NUMBER}") * 1000,
    )
    reported = known.filter(text.str.contains(_REPORT)).with_columns(
        pl.coalesce("rank", whole(r"\[Rank ([0-9]{1,9})\]")), total=whole(rf"\bskipped={COUNT}")
    )
    gone = pl.col("total").diff().over("file", "rank")
    added = pl.when(pl.col("total") == 0).then(0).when(gone >= 0).then(gone)
    reports = rows(reported, "deepspeed", step=whole(_REPORT), skipped=added)
    per_s = number(rf"\bCurrSamplesPerSec={NUMBER}")
    timed = rows(known.filter(text.str.contains(_TIMER)), "deepspeed", step=whole(_TIMER), per_s=per_s)
    seen = pl.concat([whole_lines, reports]).select("file", "step").unique()
    alone = timed.join(seen, on=["file", "step"], how="anti")
    beside = timed.join(seen, on=["file", "step"], how="semi")
    pace = beside.select("file", "step", "per_s").unique(["file", "step"], keep="last")
    reports = conform("steps", reports.drop("per_s").join(pace, on=["file", "step"], how="left", maintain_order="left"))
    steps = pl.concat([whole_lines, reports, alone]).sort("file", "line", maintain_order=True)
    claimed = conform("claimed", beside.select("file", "line"))
    return {"steps": steps, "timings": _breakdown(known, reports), "claimed": claimed}


def _breakdown(known: pl.DataFrame, reports: pl.DataFrame) -> pl.DataFrame:
    """Rows of timings for each `name: value` of a breakdown, with the step reported before it in its file."""
    found = known.filter(pl.col("text").str.contains(_BREAKDOWN)).with_columns(
        pl.coalesce("rank", whole(r"\[Rank ([0-9]{1,9})\]")),
        pair=pl.col("text").str.extract(_BREAKDOWN, 1).str.extract_all(rf"\w+: {NUMBER}"),
    )
    if found.is_empty() or reports.is_empty():
        return empty("timings")
    told = reports.select("file", "line", "step").sort("line")
    placed = found.sort("line").join_asof(told, on="line", by="file", strategy="backward", check_sortedness=False)
    pairs = placed.filter(pl.col("step").is_not_null()).explode("pair")
    name = pl.col("pair").str.extract(r"^(\w+): ", 1)
    phase = name.str.strip_suffix("_microstep")
    return conform(
        "timings",
        pairs.select(
            "rank", "host", "step", "time_ns", "file", "line", name=name,
            phase=phase.replace("step", "optimizer"),
            level=phase.str.contains("_").cast(pl.Int64),
            value_ms=pl.col("pair").str.extract(rf": {NUMBER}$", 1).cast(pl.Float64, strict=False),
        ).sort("file", "line", maintain_order=True),
    )  # fmt: skip


PARSER = LineParser(
    name="deepspeed", anchors=(b"steps: ", b", skipped=", b", RunningAvgSamplesPerSec=", b"time (ms) | "), parse=parse
)
