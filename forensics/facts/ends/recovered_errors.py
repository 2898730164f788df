"""Errors that their printer outlived: a caught exception, a port that came back, what a process prints after its end.

They stay what they are: a column `recovered` marks them, and no end of a process, no wait and no verdict rests on them.

An error ended a process only if nothing of it comes later. It did not where the same printer (file and rank) afterwards
- says that the job ended well; or
- completes a step, by a later time stamp of the same kind, also in another file of that rank; or
- completes a step and then fails in another way; or
- shows otherwise that a program had caught it (caught_errors.py). Later lines alone prove nothing: a program that writes into a file
  prints its last steps when it ends, after its traceback.
An end after which the same printer completes a further step was none of the job, and is marked alike.
What a process prints of broken connections after its end is the leaving of the others; what it prints of the store after
the end that rank 0 tells of is the leaving of rank 0. Once a scheduler has ended the job, for its time limit or for another
job, or somebody its launcher, or that launcher all its processes, what is raised, breaks and is stopped is the leaving of all: handlers of a signal fail, workers of
loaders are gone, peers are lost. A wait that ran out began before.
A failure of another day is none of this attempt (other_days.py).
"""

import polars as pl

from forensics.facts.ends.caught_errors import caught_errors
from forensics.facts.ends.other_days import of_another_day
from forensics.facts.ends.process_ends import BY_ITS_RUNTIME, is_stopped_launcher
from forensics.facts.rows.hearsay import hearsay
from forensics.model.told import has_kind
from parsers.schema.event_kinds import WORKERS
from parsers.schema.tables import TableName, Tables

# Never hardware: a device that reported an error goes on for a while; but a process that its runtime aborts does not. Never bad values: training goes on with NaN, but where a
# program caught the exception that told of one.
_ERRORS = (
    "exception", "gpu_oom", "cuda_error", "disk_full", "peer_closed", "connect_failed", "remote_error", "completion_error",
    "port_error", "store_timeout", "missing_members", "collective_timeout", "heartbeat_lost", "barrier_missing",
    "comm_abort", "comm_warning",
)  # fmt: skip
_LEAVING = (
    "peer_closed", "connect_failed", "remote_error", "store_timeout", "heartbeat_lost", "dump_signal", "comm_abort",
    "comm_warning",
)  # fmt: skip
_OF_STORE = ("store", "store_lost")
# Tell of a wait, unless they tell that the store is gone.
_RUNS_OUT = ("store_timeout", "heartbeat_lost", "dump_signal")
_RAISED = ("exception", "gpu_oom", "cuda_error", "disk_full", "completion_error")  # what a stop may bring about, too
_BY_CLOCK = ("time_limit", "preemption")  # stops that no failure of the job brings about
_STOPPED = ("SIGTERM", "SIGKILL")
_EXITS = ("exit", "first_failure")
_KILLS = ("host_oom", "segfault")  # of a kernel: before a process began it ended another one
_STALL, _GOES_ON = "horovod_stall", 2  # steps
_PRINTER = ["file", "rank"]
_PLACE = ["file", "line"]


def recovered_errors(tables: Tables) -> pl.Series:
    """Tables of one attempt, ranks global → for each row of `events`, whether it is an error that its printer outlived."""
    events = tables["events"].with_row_index("_event")
    steps = tables["steps"].filter((pl.col("phase") == "train").fill_null(True) & pl.col("step").is_not_null())
    is_error = pl.col("kind").is_in(_ERRORS) | (BY_ITS_RUNTIME & (pl.col("severity") == "error"))
    errors = events.filter(is_error & pl.col("line").is_not_null())
    failed = events.filter(pl.col("kind").is_in([*_ERRORS, *_EXITS, *_KILLS]))
    found = [caught_errors(events, steps, _ERRORS), of_another_day(failed, tables)]
    if has_kind(events, "job_end"):
        ends = _ends(events, steps)
        found += [_before_an_end(errors, ends), _after_an_end(events, ends), _store_gone(events, steps)]
        found += [_ends_too_early(events, steps), _of_nobody(failed, ends, steps)]
    if has_kind(events, "scheduler") or has_kind(events, "closing_signal"):
        found.append(_after_a_stop(events))
    if steps.height and errors.height:
        found.append(_before_a_step(errors, steps))
    outlived = pl.concat(found)
    if not len(outlived):
        return pl.repeat(False, events.height, eager=True).alias("recovered")
    told = events.filter(pl.col("_event").is_in(outlived.implode()) & (pl.col("kind") == "exception")).select(_PLACE)
    bad = events.filter((pl.col("kind") == "nan_assert") & pl.col("detail").str.contains('"raised": true'))
    same = bad.join(told.unique(), on=_PLACE, how="semi")["_event"]
    return events["_event"].is_in(pl.concat([outlived, same]).implode()).alias("recovered")


def with_recovered(tables: Tables, job: frozenset[int], seen: frozenset[int]) -> dict[TableName, pl.DataFrame]:
    """Tables → the same, `events` with the column `recovered`: also what is only told of a rank (facts/rows/hearsay.py)."""
    marked = recovered_errors(tables) | hearsay(tables, job, seen)
    return {**tables, "events": tables["events"].with_columns(marked.alias("recovered"))}


def unrecovered(events: pl.DataFrame) -> pl.DataFrame:
    """Events without the errors that their printers outlived; where there are none, no copy."""
    has_some = "recovered" in events.columns and events["recovered"].any()
    return events.filter(~pl.col("recovered")) if has_some else events


def _ends(events: pl.DataFrame, steps: pl.DataFrame) -> pl.DataFrame:
    """file, rank, end: the line at which a printer says that the job ended, if it completes no step afterwards."""
    said = events.filter((pl.col("kind") == "job_end") & pl.col("line").is_not_null())
    said = said.group_by(_PRINTER).agg(pl.col("line").max().alias("end"))
    last = steps.group_by(_PRINTER).agg(pl.col("line").max().alias("_step"))
    joined = said.join(last, on=_PRINTER, how="left", nulls_equal=True)
    return joined.filter((pl.col("_step") < pl.col("end")).fill_null(True)).drop("_step")


def _ends_too_early(events: pl.DataFrame, steps: pl.DataFrame) -> pl.Series:
    """Ends after which the same printer completes a further step: of an epoch, a stage, or of something else."""
    said = events.filter((pl.col("kind") == "job_end") & (pl.col("code") != WORKERS).fill_null(True)).drop_nulls("line")
    done = steps.filter(pl.col("line").is_not_null()).select(*_PRINTER, "line", "step")
    told = said.select("_event", *_PRINTER, pl.col("line").alias("_end")).join(done, on=_PRINTER, nulls_equal=True)
    before = pl.col("step").filter(pl.col("line") < pl.col("_end")).max()
    after = pl.col("step").filter(pl.col("line") > pl.col("_end")).max()
    reached = told.group_by("_event").agg(before.alias("_before"), after.alias("_after"))
    return reached.filter(pl.col("_after") > pl.col("_before").fill_null(-1))["_event"]


def _before_an_end(errors: pl.DataFrame, ends: pl.DataFrame) -> pl.Series:
    own = errors.join(ends, on=_PRINTER, nulls_equal=True).filter(pl.col("line") < pl.col("end"))
    # The lines of a rank in another file have no order with its end: what it raised cannot have ended it before.
    elsewhere = errors.join(ends.select("rank").drop_nulls().unique(), on="rank", how="semi")
    elsewhere = elsewhere.join(ends, on=_PRINTER, how="anti", nulls_equal=True)
    return pl.concat([own["_event"], elsewhere["_event"]])


def _of_nobody(failed: pl.DataFrame, ends: pl.DataFrame, steps: pl.DataFrame) -> pl.Series:
    """Ends of nobody who is known, before the last step of a job of which every log says that it came to its end: of other programs there."""
    last = steps.filter(pl.col("file").is_in(ends["file"].implode())).select("time_ns", "time_basis").drop_nulls()
    if set(steps["file"]) - set(ends["file"]) or last.is_empty():
        return failed["_event"].clear()
    last = last.group_by("time_basis").agg(pl.col("time_ns").max().alias("_last"))
    own = failed.filter(pl.col("kind").is_in([*_EXITS, *_KILLS]) & pl.col("rank").is_null())
    return own.join(last, on="time_basis").filter(pl.col("time_ns") < pl.col("_last"))["_event"]


def _after_an_end(events: pl.DataFrame, ends: pl.DataFrame) -> pl.Series:
    left = events.filter(pl.col("kind").is_in(_LEAVING)).join(ends, on=_PRINTER, nulls_equal=True)
    return left.filter(pl.col("line") > pl.col("end"))["_event"]


def _store_gone(events: pl.DataFrame, steps: pl.DataFrame) -> pl.Series:
    """The store is rank 0's, who leaves when the job has ended: others lose it then, and nobody takes another step."""
    said = events.filter((pl.col("kind") == "job_end") & (pl.col("rank").fill_null(0) == 0))
    ended = said.group_by("file").agg(pl.col("line").min().alias("_end"))
    last = steps.group_by("file").agg(pl.col("line").max().alias("_step"))
    lost = events.filter(pl.col("kind").is_in(_LEAVING) & pl.col("code").is_in(_OF_STORE)).join(ended, on="file")
    lost = lost.join(last, on="file", how="left").filter(pl.col("line") > pl.max_horizontal("_end", "_step"))
    return lost["_event"]


def _after_a_stop(events: pl.DataFrame) -> pl.Series:
    """What comes after the first word of a stop in the file that holds it; and, of a process that a stopped launcher then
    stopped, so that it was alive until then, what its own files tell. What is stamped before the stop is not."""
    by_clock = (pl.col("kind") == "scheduler") & pl.col("code").is_in(_BY_CLOCK)
    to_all = (pl.col("kind") == "closing_signal") & pl.col("detail").str.contains('"to": "all"').fill_null(False)
    told = events.filter((by_clock | is_stopped_launcher() | to_all) & pl.col("line").is_not_null()).sort("line")
    stops = told.group_by("file").agg(
        pl.col("line").first().alias("_stop"), pl.col("time_ns").first().alias("_time"), pl.col("time_basis").first().alias("_basis")
    )  # fmt: skip
    broken = pl.col("kind").is_in(_LEAVING) & (~pl.col("kind").is_in(_RUNS_OUT) | pl.col("code").is_in(_OF_STORE))
    ended = pl.col("kind").is_in(_EXITS) & (pl.col("code").is_in(_STOPPED) | pl.col("code").str.contains(r"^\d+$"))
    left = events.filter((broken | ended | pl.col("kind").is_in(_RAISED)).fill_null(False))
    alive = events.filter((pl.col("kind") == "closing_signal") & pl.col("rank").is_not_null()).join(stops, on="file")
    alive = alive.filter(pl.col("line") > pl.col("_stop")).unique("rank", keep="first", maintain_order=True)
    elsewhere = left.join(alive.select("rank", "_stop", "_time", "_basis", _told="file"), on="rank")
    here = left.join(stops, on="file").filter(pl.col("line") > pl.col("_stop"))
    is_earlier = (pl.col("time_basis") == pl.col("_basis")) & (pl.col("time_ns") < pl.col("_time"))
    found = pl.concat([here, elsewhere.filter(pl.col("file") != pl.col("_told"))], how="diagonal_relaxed")
    return found.filter(~is_earlier.fill_null(False))["_event"]


def _before_a_step(errors: pl.DataFrame, steps: pl.DataFrame) -> pl.Series:
    """By the stamps of both; without them, where the same printer fails again after the step. A stall that is reported again for as long as it
    lasts was over where steps follow the last report."""
    later = steps.filter(pl.col("line").is_not_null()).group_by([*_PRINTER, "time_basis"]).agg(
        pl.col("line").max().alias("_line"), pl.col("time_ns").max().alias("_time")
    )  # fmt: skip
    joined = errors.join(later, on=[*_PRINTER, "time_basis"], nulls_equal=True)
    stamped = joined.filter((pl.col("_line") > pl.col("line")) & (pl.col("_time") > pl.col("time_ns")))
    elsewhere = steps.drop_nulls(["rank", "time_ns"]).group_by("rank", "time_basis", _other="file").agg(
        pl.col("time_ns").max().alias("_time")
    )  # fmt: skip
    # In one file the order of the lines is known, and stamps of two printers may be of two zones.
    elsewhere = errors.join(elsewhere, on=["rank", "time_basis"]).filter(
        (pl.col("_time") > pl.col("time_ns")) & (pl.col("_other") != pl.col("file"))
    )
    lines = steps.select(*_PRINTER, pl.col("line").cast(pl.Int64).alias("_line")).drop_nulls("_line").sort("_line")
    next_step = errors.sort("line").join_asof(
        lines.with_columns(pl.col("_line").alias("_next")), left_on="line", right_on="_line", by=_PRINTER, strategy="forward",
        allow_exact_matches=False, check_sortedness=False,
    )  # fmt: skip
    last = errors.group_by(_PRINTER).agg(pl.col("line").max().alias("_last"))
    again = next_step.join(last, on=_PRINTER, how="left", nulls_equal=True).filter(pl.col("_next") < pl.col("_last"))
    reports = errors.filter((pl.col("code") == _STALL).fill_null(False)).select("_event", *_PRINTER, "line")
    behind = reports.join(lines, on=_PRINTER, nulls_equal=True).filter(pl.col("_line") > pl.col("line"))
    over = behind.group_by("_event").len().filter(pl.col("len") >= _GOES_ON)
    return pl.concat([stamped["_event"], elsewhere["_event"], again["_event"], over["_event"]])
