"""Steps that were completed after flight records were taken: what these show as open was then completed, too.

Where somebody gave up a wait after that, the records are of another moment: they say who belongs together, and nothing of
that wait. A later time-out outranks an earlier snapshot.
"""

import polars as pl
from msgspec.structs import replace

from forensics.facts.waits.states import States
from forensics.model.taxonomy import RAN_OUT
from parsers.schema.tables import Tables

ZONE_NS = 15 * 60 * 1_000_000_000  # the least distance of two time zones
_GAVE_UP = (*RAN_OUT, "heartbeat_lost")


def steps_after_records(tables: Tables, opened: pl.DataFrame) -> pl.DataFrame:
    """Rows of `steps` of one printer, several, that are later than the newest entry of every flight record by more than a
    step takes. `opened`: what the records show as open.

    Its own record ends with the others' ones, within a step: so the steps came after the dumps, and by a clock that agrees with
    theirs. A printer whose rank is not told has that clock where the job runs on one host. No open operation may be older than a
    step: then the dumps themselves show what does not go on."""
    done = tables["steps"].filter((pl.col("phase") == "train").fill_null(True) & (pl.col("time_basis") != "boot"))
    done = done.drop_nulls(["step", "time_ns"]).sort("file", "rank", "time_ns", "line")
    created = opened["time_created_ns"]
    if not done.height or not created.len() or created.null_count():
        return done.clear()
    stamps = [pl.col(f"time_{what}_ns") for what in ("created", "started", "completed")]
    recorded = tables["operations"].lazy().group_by("rank").agg(pl.max_horizontal(stamps).max().alias("newest"))
    newest = recorded.drop_nulls().collect(engine="streaming")
    own = ["file", "rank"]
    done = done.unique([*own, "step"], keep="first", maintain_order=True).join(newest, on="rank", how="left")
    if tables["ranks"]["host"].drop_nulls().n_unique() == 1:
        nobodys = pl.when(pl.col("rank").is_null()).then(newest["newest"].min())
        done = done.with_columns(pl.coalesce("newest", nobodys).alias("newest"))
    done = done.drop_nulls("newest").with_columns(pl.col("time_ns").diff().over(own).alias("took"))
    # A stamp without zone is hours away from one with a zone, or of the same zone: the last one tells.
    last = (pl.col("time_ns").max() - pl.col("newest")).over(own)
    same = (pl.col("time_basis").over(own) == "utc") | (last.abs() < ZONE_NS)
    end, oldest = pl.lit(newest["newest"].max()), pl.lit(created.min())
    long = pl.col("took").max().over(own)
    whole = (end - pl.col("newest") < long) & (end - oldest < long)
    later = done.filter(same & whole & (pl.col("time_ns") - end > long))
    return later.filter(pl.col("step").n_unique().over(own) > 1).sort("file", "line")


def without_outdated(states: States, tables: Tables, events: pl.DataFrame) -> States:
    """What flight records show, without what they show as open, if steps were completed after they were taken and somebody
    gave up a wait then. `events`: without recovered errors."""
    if (end := states.open["time_created_ns"].max()) is None:
        return states
    earlier = (pl.col("time_basis") == "utc") & (pl.col("time_ns") < end)
    gave_up = events.filter(
        pl.col("kind").is_in(_GAVE_UP) & (pl.col("severity") != "info") & ~earlier.fill_null(False)
    )  # fmt: skip
    if not gave_up.height or not steps_after_records(tables, states.open).height:
        return states
    return replace(
        states, open=states.open.clear(), members=states.members.clear(), partial=states.recorded, stale=states.recorded,
        blind=frozenset(), entries=states.entries.filter("done"),
    )  # fmt: skip
