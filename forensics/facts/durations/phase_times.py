"""How long each rank took for what in each step: one table from all sources that print it.

| column | meaning |
|---|---|
| `rank`, `step` | |
| `phase` | as printed, with the name of the operation where there is one: `backward`, `comm AlltoAll` |
| `sort` | `work` of the device, `host`, `wait` (communication, in which the early wait for the late), `call` (one such call:
  its `step` is its number), `whole` (the step) |
| `ms`, `tokens` | |
| `stage` | pipeline stage (facts/durations/roles.py) |
| `step_ms` | what the step took the ranks of this stage at the median: printed, else the sum of its phases; of a call,
  the time since the one before it ended; null where unknown |
| `rank_ms` | the same of this rank alone |
| `host`, `file`, `line`, `name` | the row that says so |

Where the named phases are most of a printed step, what they leave of it is a phase of the host, too (`REST`): what nobody knows the name
of. That it is no wait is shown by the others, who wait in a timed phase while one spends its time there.
"""

import polars as pl

from forensics.facts.durations.roles import Roles
from forensics.facts.durations.wait_columns import with_wait_columns
from forensics.model.told import told_by
from parsers.schema.tables import Tables, spelled
from parsers.text.durations import sort_of

REST = "rest of the step"
_ACCOUNTED = 0.8  # of a step, at the median: what its named phases must be for the rest of it to count
# Of a step: a rest that is longer than the others'; of it, what they wait; of such steps.
_MUCH, _MET, _HELD = 0.15, 0.5, 0.8
_BESIDE = 1.5  # times the step: what takes so long is no part of it
_SOON = 0.2  # of the others' wait: so soon after the last rank had enqueued it a call ended
_UNKNOWN = pl.lit(None, dtype=pl.Float64)
SCHEMA = {
    "rank": pl.Int64, "step": pl.Int64, "phase": pl.String, "sort": pl.String, "ms": pl.Float64, "tokens": pl.Int64,
    "stage": pl.Int64, "step_ms": pl.Float64, "rank_ms": pl.Float64, "host": pl.String, "file": pl.String, "line": pl.Int64, "name": pl.String,
}  # fmt: skip


_KERNELS = ("compute", "memcpy")  # phases of a trace that are sums of its kernels


def are_of_kernels(tables: Tables, rank: int, phase: str | None) -> bool:
    """Are the times of a rank in a phase those of its device's kernels, as a profiler timed them there? No load of a host makes these longer."""
    if phase not in _KERNELS:
        return False
    own = tables["timings"].filter((pl.col("rank") == rank) & (pl.col("phase") == phase))
    traces = tables["files"].filter(pl.col("parsers").list.contains("kineto"))["file"].to_list()
    return own.height > 0 and bool(own["file"].cast(pl.String).is_in(traces).all())


def _no_times() -> pl.DataFrame:
    return pl.DataFrame(schema=SCHEMA)


@told_by("timings", "steps", "operations", nothing=_no_times)
def phase_times(tables: Tables, roles: Roles) -> pl.DataFrame:
    """Timings and step lines that tell rank and step → a row per rank, step and phase (schema SCHEMA)."""
    timed = _timings(tables["timings"])
    # A step that is timed by name is not timed a second time by the line of the step.
    steps = _steps(tables["steps"]).join(timed.filter(pl.col("sort") == "whole"), on=["rank", "step"], how="anti")
    rows = pl.concat([timed, steps, _calls(tables["operations"], tables["groups"])])
    if rows.is_empty():
        return _no_times()
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
    summed = pl.concat([summed, _rest(summed)])
    stages = roles.stages(summed["rank"].unique().to_list())
    placed = summed.with_columns(stage=pl.col("rank").replace_strict(stages, return_dtype=pl.Int64))
    return _with_steps(placed).select(*SCHEMA).sort("phase", "step", "rank")


def _rest(summed: pl.DataFrame) -> pl.DataFrame:
    """Rows of what the named phases of a step leave of it, with the columns of `summed`; none where they are not most of it, or where
    one has more of it than the others without their waiting for it."""
    step = ["rank", "step"]
    whole = summed.filter(pl.col("sort") == "whole").unique(step, keep="first", maintain_order=True)
    parts = summed.filter(pl.col("sort").is_in(["work", "host", "wait"]))
    parts = parts.filter(pl.col("level") == pl.col("level").min().over("rank", "step", "head"))
    waits = pl.col("ms").filter(pl.col("sort") == "wait")
    known = parts.group_by(step).agg(
        pl.col("ms").sum().alias("_named"), waits.sum().alias("_wait"), waits.len().alias("_waits")
    )
    both = whole.join(known, on=step, maintain_order="left").filter(pl.col("_waits") > 0)
    share = both.select((pl.col("_named") / pl.col("ms")).median()).item()
    if share is None or not _ACCOUNTED <= share <= 1:
        return summed.clear()
    both = both.with_columns((pl.col("ms") - pl.col("_named")).clip(0).alias("_rest"))
    more = pl.col("_rest") - pl.col("_rest").median().over("step")
    awaited = pl.col("_wait").median().over("step") - pl.col("_wait")
    much = both.select(
        ((more > _MUCH * pl.col("ms")) & (pl.len().over("step") > 2)).alias("much"),
        (awaited >= _MET * more).alias("met"),
    )
    much = much.filter("much")
    if not much.height or much["met"].mean() < _HELD:  # type: ignore[operator]
        return summed.clear()
    named = {"phase": REST, "head": REST, "sort": "host"}
    rest = both.with_columns(pl.col("_rest").alias("ms"), *(pl.lit(text).alias(name) for name, text in named.items()))
    return rest.select(summed.columns)


def _timings(timings: pl.DataFrame) -> pl.DataFrame:
    place = pl.coalesce("line", "record").alias("line")
    is_told = pl.col("rank").is_not_null() & pl.col("step").is_not_null() & pl.col("value_ms").is_finite()
    lower = pl.col("phase").str.to_lowercase()
    told = with_sort(timings.filter(is_told))
    # A name that repeats the phase (data_time, optimizer-inner-step) says it all.
    repeats = pl.col("name").str.to_lowercase().str.replace_all("-", "_").str.starts_with(lower)
    both = pl.concat_str(lower, "name", separator=" ", ignore_nulls=True)
    told = told.select(
        "rank", "step", pl.when(repeats.fill_null(False)).then("name").otherwise(both).alias("phase"), lower.alias("head"),
        "sort", pl.col("value_ms").alias("ms"), "tokens", "host", "file",
        place, pl.coalesce("name", "phase").alias("name"), pl.col("level").fill_null(0), _UNKNOWN.alias("between"),
    ).filter(pl.col("ms") >= 0)  # fmt: skip
    return with_wait_columns(told).filter(pl.col("sort").is_not_null())


def with_sort(timings: pl.DataFrame) -> pl.DataFrame:
    """Rows of timings with `sort`, by the words of the phase; null where they tell none."""
    sorts = {phase: sort_of(phase) for phase in timings["phase"].drop_nulls().unique().to_list()}
    known = {phase: sort for phase, sort in sorts.items() if sort is not None}
    return timings.with_columns(sort=pl.col("phase").replace_strict(known, default=None, return_dtype=pl.String))


def _steps(steps: pl.DataFrame) -> pl.DataFrame:
    training = pl.col("phase").is_null() | (pl.col("phase") == "train")
    told = steps.filter(training & (pl.col("elapsed_ms") > 0)).drop_nulls(["rank", "step"])
    return told.select(
        "rank", "step", pl.lit("step").alias("phase"), pl.lit("step").alias("head"), pl.lit("whole").alias("sort"), pl.col("elapsed_ms").alias("ms"),
        "tokens", pl.lit(None, dtype=pl.String).alias("host"), "file", pl.coalesce("line", "record").alias("line"), pl.lit("step").alias("name"),
        pl.lit(0, dtype=pl.Int64).alias("level"), _UNKNOWN.alias("between"),
    )  # fmt: skip


def _calls(operations: pl.DataFrame, groups: pl.DataFrame) -> pl.DataFrame:
    """Collectives that a library timed: the n-th of a communicator is one step of it, which began where the last one ended.

    A flight record tells no length, but when a rank came and when the call ended, both by its own clock: as all are done together,
    who came last waited least, whatever the clocks of the others say. A device starts where its host may have enqueued long before;
    where only the latter is told, a call counts if it ended as soon as the last had enqueued it."""
    columns = ("rank", "seq", "kind", "comm", "group", "pg_id", "duration_ms", "time_created_ns", "time_started_ns",
               "time_completed_ns", "is_p2p", "host", "file", "line", "record")  # fmt: skip
    calls = spelled(operations.select(columns)).filter(~pl.col("is_p2p").fill_null(False)).drop_nulls(["rank", "seq"])
    calls = calls.with_columns(comm=pl.coalesce("comm", _named_alike(calls, groups)))
    since = [(pl.col("time_completed_ns") - pl.col(name)) / 1e6 for name in ("time_started_ns", "time_created_ns")]
    timed = calls.with_columns(ms=pl.coalesce("duration_ms", *since)).filter(pl.col("ms") > 0).drop_nulls("comm")
    of_all = ["comm", "kind", "seq"]
    is_enqueued = pl.col("duration_ms").is_null() & pl.col("time_started_ns").is_null()
    is_at_once = pl.col("ms").min().over(of_all) <= _SOON * pl.col("ms").median().over(of_all)
    timed = timed.filter(~is_enqueued | is_at_once).sort("rank", "comm", "seq")
    between = pl.col("time_completed_ns").diff().over("rank", "comm") / 1e6
    return timed.select(
        "rank", pl.col("seq").alias("step"), pl.concat_str("kind", "comm", separator=" of ").alias("phase"), pl.lit("call").alias("head"),
        pl.lit("call").alias("sort"), "ms", pl.lit(None, dtype=pl.Int64).alias("tokens"), "host", "file",
        pl.coalesce("line", "record").alias("line"), pl.col("kind").alias("name"), pl.lit(0, dtype=pl.Int64).alias("level"),
        pl.when(between > 0).then(between).alias("between"),
    )  # fmt: skip


def _named_alike(calls: pl.DataFrame, groups: pl.DataFrame) -> pl.Series:
    """The name of each call's group, where all ranks that state its members state the same; else null."""
    told = groups.filter(pl.col("members").list.len() > 1).group_by("group").agg(n=pl.col("members").n_unique())
    one = told.filter(pl.col("n") == 1)["group"].to_list()
    return calls.select(pl.when(pl.col("group").is_in(one)).then("group"))["group"]


def _with_steps(rows: pl.DataFrame) -> pl.DataFrame:
    """With `step_ms`. Operations inside a phase (a higher level) are not added to it a second time, unless the phase has no
    row of its own. What takes most ranks longer than a step lies between two steps: its share of one is not known."""
    whole = rows.filter(pl.col("sort") == "whole").group_by("rank", "step").agg(pl.col("ms").max().alias("printed"))
    parts = rows.filter(pl.col("sort").is_in(["work", "host", "wait"]))
    parts = parts.filter(pl.col("level") == pl.col("level").min().over("rank", "step", "head"))
    parts = parts.group_by("rank", "step").agg(pl.col("ms").sum().alias("summed"), pl.len().alias("parts"))
    found = rows.join(whole, on=["rank", "step"], how="left").join(parts, on=["rank", "step"], how="left")
    own = pl.coalesce("printed", pl.when(pl.col("parts") > 1).then("summed"))
    own = pl.when(pl.col("sort") != "call").then(own).otherwise("between")
    found = found.with_columns(
        rank_ms=own, step_ms=own.median().over("stage", "step", pl.when(pl.col("sort") == "call").then("phase"))
    )
    is_beside = pl.col("ms").median().over("stage", "step", "phase") > _BESIDE * pl.col("step_ms")
    return found.with_columns(step_ms=pl.when(~is_beside.fill_null(False)).then("step_ms"))
