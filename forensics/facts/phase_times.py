"""How long each rank took for what in each step: one table from all sources that print it.

| column | meaning |
|---|---|
| `rank`, `step` | |
| `phase` | as printed, with the name of the operation where there is one: `backward`, `comm AlltoAll` |
| `sort` | `work` of the device, `host`, `wait` (communication, in which the early wait for the late), `call` (one such call:
  its `step` is its number), `whole` (the step) |
| `ms`, `tokens` | |
| `stage` | pipeline stage (facts/roles.py) |
| `step_ms` | what the step took the ranks of this stage at the median: printed, else the sum of its phases; of a call,
  the time since the one before it ended; null where unknown |
| `host`, `file`, `line`, `name` | the row that says so |
"""

from collections.abc import Iterable, Mapping

import polars as pl

from forensics.facts.roles import Roles
from parsers.tables import TableName, spelled

_SORTS: Mapping[str, tuple[str, ...]] = {
    "work": (
        "forward", "backward", "forward_backward", "forward_compute", "backward_compute", "compute", "optimizer", "fwd",
        "bwd", "recompute", "memcpy", "attention", "mlp",
    ),
    "host": (
        "data", "data_loading", "dataloader", "loader", "load", "h2d", "checkpoint", "save", "storage", "host",
        "python", "gc", "logging", "preparing", "preprocess", "tokenize", "idle",
    ),
    "wait": ("comm", "comm_exposed", "comm_wait", "communication", "wait", "barrier", "allreduce", "sync", "grad_sync"),
    "whole": ("all", "step", "iteration", "iter", "batch", "total"),
}  # fmt: skip
# Of a phase that is not listed, its words tell: the first row that holds one of them.
_WORDS: Mapping[str, frozenset[str]] = {
    "host": frozenset(("data", "dataloader", "loader", "loading", "load", "h2d", "checkpoint", "ckpt", "save", "storage", "io")),
    "wait": frozenset(
        ("comm", "communication", "allreduce", "reduce", "allgather", "gather", "alltoall", "all", "sync", "wait", "barrier",
         "broadcast", "dispatch", "combine")
    ),
    "work": frozenset(
        ("forward", "backward", "fwd", "bwd", "compute", "optimizer", "opt", "attn", "attention", "mlp", "ffn", "expert",
         "experts", "moe", "gemm", "matmul", "recompute", "kernel")
    ),
}  # fmt: skip
_UNKNOWN = pl.lit(None, dtype=pl.Float64)
SORT = {phase: sort for sort, phases in _SORTS.items() for phase in phases}
SCHEMA = {
    "rank": pl.Int64, "step": pl.Int64, "phase": pl.String, "sort": pl.String, "ms": pl.Float64, "tokens": pl.Int64,
    "stage": pl.Int64, "step_ms": pl.Float64, "host": pl.String, "file": pl.String, "line": pl.Int64, "name": pl.String,
}  # fmt: skip


def phase_times(tables: Mapping[TableName, pl.DataFrame], roles: Roles) -> pl.DataFrame:
    """Timings and step lines that tell rank and step → a row per rank, step and phase (schema SCHEMA)."""
    rows = pl.concat([_timings(tables["timings"]), _steps(tables["steps"]), _calls(tables["operations"])])
    if rows.is_empty():
        return pl.DataFrame(schema=SCHEMA)
    # What two files say of one thing counts once; what one says several times (micro-batches) adds up.
    what = ["rank", "step", "phase"]
    rows = rows.filter(pl.col("file") == pl.col("file").min().over(what))
    summed = rows.group_by(*what, "head", "sort", maintain_order=True).agg(
        pl.col("ms").sum(),
        pl.col("tokens").max(),
        pl.col("level").min(),
        pl.col("between").max(),
        pl.col("host", "file", "line", "name").first(),
    )
    stages = roles.stages(summed["rank"].unique().to_list())
    known = pl.DataFrame(
        {"rank": list(stages), "stage": list(stages.values())}, schema={"rank": pl.Int64, "stage": pl.Int64}
    )
    return _with_steps(summed.join(known, on="rank")).select(*SCHEMA).sort("phase", "step", "rank")


def _timings(timings: pl.DataFrame) -> pl.DataFrame:
    place = pl.coalesce("line", "record").alias("line")
    told = timings.filter(pl.col("rank").is_not_null() & pl.col("step").is_not_null() & pl.col("value_ms").is_finite())
    lower = pl.col("phase").str.to_lowercase()
    lower_names = told["phase"].drop_nulls().unique().str.to_lowercase().to_list()
    # A name that repeats the phase (data_time, optimizer-inner-step) says it all.
    repeats = pl.col("name").str.to_lowercase().str.replace_all("-", "_").str.starts_with(lower)
    both = pl.concat_str(lower, "name", separator=" ", ignore_nulls=True)
    return told.select(
        "rank", "step", pl.when(repeats.fill_null(False)).then("name").otherwise(both).alias("phase"), lower.alias("head"),
        lower.replace_strict(sorts(lower_names), default=None, return_dtype=pl.String).alias("sort"), pl.col("value_ms").alias("ms"), "tokens", "host", "file",
        place, pl.coalesce("name", "phase").alias("name"), pl.col("level").fill_null(0), _UNKNOWN.alias("between"),
    ).filter(pl.col("sort").is_not_null() & (pl.col("ms") >= 0))  # fmt: skip


def sorts(phases: Iterable[str]) -> dict[str, str | None]:
    """Phase, in lower case → its sort: as listed, else by its words; null where these say nothing."""
    return {phase: SORT.get(phase) or _by_words(phase) for phase in phases}


def _by_words(phase: str) -> str | None:
    words = set(phase.replace("-", "_").replace(" ", "_").split("_"))
    return next((sort for sort, known in _WORDS.items() if words & known), None)


def _steps(steps: pl.DataFrame) -> pl.DataFrame:
    training = pl.col("phase").is_null() | (pl.col("phase") == "train")
    told = steps.filter(
        training & pl.col("rank").is_not_null() & pl.col("step").is_not_null() & (pl.col("elapsed_ms") > 0)
    )
    return told.select(
        "rank", "step", pl.lit("step").alias("phase"), pl.lit("step").alias("head"), pl.lit("whole").alias("sort"), pl.col("elapsed_ms").alias("ms"),
        "tokens", pl.lit(None, dtype=pl.String).alias("host"), "file", pl.coalesce("line", "record").alias("line"), pl.lit("step").alias("name"),
        pl.lit(0, dtype=pl.Int64).alias("level"), _UNKNOWN.alias("between"),
    )  # fmt: skip


def _calls(operations: pl.DataFrame) -> pl.DataFrame:
    """Collectives that a library timed: the n-th of a communicator is one step of it, which began where the last one ended."""
    calls = operations.select(
        "rank", "seq", "kind", "comm", "duration_ms", "time_completed_ns", "is_p2p", "host", "file", "line", "record"
    )
    timed = calls.filter(
        pl.col("rank").is_not_null() & pl.col("seq").is_not_null() & (pl.col("duration_ms") > 0)
        & ~pl.col("is_p2p").fill_null(False) & pl.col("comm").is_not_null()
    ).sort("rank", "comm", "seq")  # fmt: skip
    between = pl.col("time_completed_ns").diff().over("rank", "comm") / 1e6
    return spelled(timed).select(
        "rank", pl.col("seq").alias("step"), pl.concat_str("kind", "comm", separator=" of ").alias("phase"), pl.lit("call").alias("head"),
        pl.lit("call").alias("sort"), pl.col("duration_ms").alias("ms"), pl.lit(None, dtype=pl.Int64).alias("tokens"), "host", "file",
        pl.coalesce("line", "record").alias("line"), pl.col("kind").alias("name"), pl.lit(0, dtype=pl.Int64).alias("level"),
        pl.when(between > 0).then(between).alias("between"),
    )  # fmt: skip


def _with_steps(rows: pl.DataFrame) -> pl.DataFrame:
    """With `step_ms`. Operations inside a phase (a higher level) are not added to it a second time, unless the phase has no
    row of its own."""
    whole = rows.filter(pl.col("sort") == "whole").group_by("rank", "step").agg(pl.col("ms").max().alias("printed"))
    parts = rows.filter(pl.col("sort").is_in(["work", "host", "wait"]))
    parts = parts.filter(pl.col("level") == pl.col("level").min().over("rank", "step", "head"))
    parts = parts.group_by("rank", "step").agg(pl.col("ms").sum().alias("summed"), pl.len().alias("parts"))
    found = rows.join(whole, on=["rank", "step"], how="left").join(parts, on=["rank", "step"], how="left")
    own = pl.coalesce("printed", pl.when(pl.col("parts") > 1).then("summed"))
    own = pl.when(pl.col("sort") != "call").then(own).otherwise("between")
    return found.with_columns(
        step_ms=own.median().over("stage", "step", pl.when(pl.col("sort") == "call").then("phase"))
    )
