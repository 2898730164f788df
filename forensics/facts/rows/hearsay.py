"""Lines of the bundle that are no word of the process, or of the launcher, that they seem to come from: printed text of a model, a
test or a drill in another rank's log, a report about another job. Marked as errors that were outlived are (`recovered`).

- As of another rank, in the own log of one: its path names one rank, all that processes say there of themselves (NCCL's
  init lines, layouts, addresses) is of that rank, and the other has a log of its own, or is none of the job.
- An exit that is told without a time, where every rank of the job says that it ended well, and a launcher of its workers.
- An exit of a rank that afterwards, by stamps of one kind, completes a step, gives up a wait or ends well in a file of its own: the dead do not
  speak, so it was somebody else of that number, a service, a worker, a server beside the job. So is an exit of nobody knows whom after which all of
  them do. Not where a log of the job tells the number of that process: then the clocks differ.
- An exit on a host that is none of the job's, where its size is told and all its ranks say of themselves where they run, on hosts named alike but for numbers.
- An assertion about ranks that all say that they ended well: it would have ended them.
- A bad loss that a file tells without a time and of no rank, in which no process of the job speaks (an export of a dashboard),
  where every rank says that it ended well and the last loss of each that prints any is finite: it would have stopped the job.
"""

import polars as pl

from forensics.model.told import has_kind, values
from parsers.schema.event_kinds import WORKERS
from parsers.schema.tables import Tables
from parsers.text.stamps import SECOND_NS

_EXITS = ("exit", "first_failure")
_INTRODUCED = "introduction"  # `ranks.how` of what a process says of itself
_ALIVE = ("job_end", "collective_timeout")  # what only a living process prints of itself, besides steps
_CLOCKS_NS = 15 * SECOND_NS  # by which the clocks of a launcher, of a process and of who collects their lines differ
# Zones differ by hours, and who tells of an end is late by less than that.
_ZONES_NS, _NEAR_NS = 3600 * SECOND_NS, 300 * SECOND_NS


def hearsay(tables: Tables, job: frozenset[int], seen: frozenset[int]) -> pl.Series:
    """Tables of one attempt, ranks global; `job`: its ranks where its size is told, else empty; `seen`: who left a record → for
    each row of `events` whether it is such a line."""
    events = tables["events"].with_row_index("_event")
    if not tables["ranks"].height and not has_kind(events, "job_end"):  # nobody says who speaks, or that it ended well
        return pl.repeat(False, events.height, eager=True).alias("hearsay")
    ended = frozenset(values(events.filter(pl.col("kind") == "job_end")["rank"]))
    found = [_in_anothers_log(events, tables, job), _told_of_the_living(events, tables, job | seen)]
    found.append(_told_of_other_hosts(events, tables["ranks"], job))
    if ended:
        found += [_told_of_the_well(events, ended, job | seen), _asserted_of_the_well(events, ended)]
        found.append(_bad_loss_of_nobody(events, tables, job | seen <= ended))
    return events["_event"].is_in(pl.concat(found).implode()).alias("hearsay")


def _in_anothers_log(events: pl.DataFrame, tables: Tables, job: frozenset[int]) -> pl.Series:
    own = _own_logs(tables)
    inside = events.join(own, on="file")
    if not inside.height:
        return inside["_event"]
    claims = tables["ranks"].drop_nulls("rank")
    pids = claims.drop_nulls("pid").group_by("pid").agg(pl.col("rank").unique())
    pids = pids.filter(pl.col("rank").list.len() == 1).select("pid", pl.col("rank").list.first().alias("_by_pid"))
    inside = inside.join(pids, on="pid", how="left", maintain_order="left")
    whose = pl.when(pl.col("rank_space") == "global").then("rank")
    inside = inside.with_columns(pl.coalesce(whose, "_by_pid").alias("_whose"))
    others = inside.filter(pl.col("_whose") != pl.col("_owner"))
    spoken_for = own["_owner"].unique().to_list()
    is_none = ~pl.col("_whose").is_in(sorted(job)) if job else pl.lit(False)
    return others.filter(pl.col("_whose").is_in(spoken_for) | is_none)["_event"]


def _own_logs(tables: Tables) -> pl.DataFrame:
    """file, _owner: the logs that are one rank's by their path and by all that is said in them of who speaks."""
    named = tables["files"].filter(pl.col("rank").is_not_null()).select("file", pl.col("rank").alias("_owner"))
    own = tables["ranks"].drop_nulls("rank").filter(pl.col("how") != "elastic failure table")  # of those it started
    said = own.group_by("file").agg(pl.col("rank").unique().alias("_said"))
    said = said.filter(pl.col("_said").list.len() == 1).select("file", pl.col("_said").list.first().alias("_said"))
    return named.join(said, on="file").filter(pl.col("_owner") == pl.col("_said")).select("file", "_owner")


def _told_of_the_living(events: pl.DataFrame, tables: Tables, job: frozenset[int]) -> pl.Series:
    stamped = pl.col("rank").is_not_null() & pl.col("time_ns").is_not_null()
    exits = events.filter(pl.col("kind").is_in(_EXITS) & pl.col("time_ns").is_not_null())
    if not exits.height:
        return exits["_event"].clear()
    own = tables["ranks"].drop_nulls(["rank", "pid"]).select("pid", pl.col("file").alias("_own")).unique()
    # The number of a process that a log of the job tells.
    known = exits.join(own, on="pid").filter(pl.col("file") != pl.col("_own"))
    exits = exits.filter(~pl.col("_event").is_in(known["_event"].implode()))
    columns = "rank", "time_basis", "file", "time_ns"
    alive = events.filter(stamped & pl.col("kind").is_in(_ALIVE)).select(columns)
    lived = pl.concat([alive, tables["steps"].filter(stamped).select(columns)], how="vertical_relaxed")
    last = lived.group_by("rank", "time_basis", _own="file").agg(pl.col("time_ns").max().alias("_last"))
    last = last.filter(pl.col("rank").is_in(sorted(job)))
    by_rank = exits.filter(pl.col("rank_space") == "global").join(last, on=["rank", "time_basis"])
    of_one = by_rank.filter((pl.col("file") != pl.col("_own")) & _is_later())["_event"]
    nobodys = exits.filter(pl.all_horizontal(pl.col("rank", "local_rank").is_null())).drop("rank")
    # Few come before the last words of all: only these are held against each rank.
    each = last.group_by("time_basis", "rank").agg(pl.col("_last").max())
    whole = each.group_by("time_basis").agg(pl.len().alias("_ranks"), pl.col("_last").min())
    whole = whole.filter(pl.col("_ranks") == len(job)).select("time_basis", pl.col("_last").alias("_until"))
    nobodys = nobodys.join(whole, on="time_basis").filter(pl.col("_until") - pl.col("time_ns") > _CLOCKS_NS)
    beside = nobodys.join(last, on="time_basis").filter((pl.col("file") != pl.col("_own")) & _is_later())
    living = beside.group_by("_event").agg(pl.col("rank").n_unique().alias("_living"))
    of_none = living.filter(pl.col("_living") == len(job))["_event"]
    return pl.concat([of_one, of_none]).unique()


def _told_of_other_hosts(events: pl.DataFrame, claims: pl.DataFrame, job: frozenset[int]) -> pl.Series:
    exits = events.filter(pl.col("kind").is_in(_EXITS) & pl.col("host").is_not_null())
    elsewhere = ~pl.col("file").is_in(exits["file"].unique().implode())
    told = claims.filter((pl.col("how") == _INTRODUCED) & elsewhere).drop_nulls(["rank", "host"])
    if not exits.height or not job or not job <= {*told["rank"]}:
        return exits["_event"].clear()
    first = pl.col("host").cast(pl.String).str.split(".").list.first()
    hosts = told.select(first)["host"].unique()
    alike = first.str.replace_all(r"\d+", "#").is_in(hosts.str.replace_all(r"\d+", "#").implode())
    return exits.filter(alike & ~first.is_in(hosts.implode()))["_event"]


def _is_later() -> pl.Expr:
    """Was a process at work well after the stamp of an end, by more than clocks differ, and not by hours, as zones do?"""
    after = pl.col("_last") - pl.col("time_ns")
    is_zone = (after > _ZONES_NS // 2) & (pl.min_horizontal(after % _ZONES_NS, -after % _ZONES_NS) < _NEAR_NS)
    return (after > _CLOCKS_NS) & ~(is_zone & (pl.col("time_basis") != "utc"))


def _told_of_the_well(events: pl.DataFrame, ended: frozenset[int], job: frozenset[int]) -> pl.Series:
    timeless = pl.col("kind").is_in(_EXITS) & pl.col("time_ns").is_null()
    exits = events.filter(timeless & pl.col("rank").is_in(sorted(job)))
    launchers = events.filter((pl.col("kind") == "job_end") & (pl.col("code") == WORKERS))
    return exits["_event"] if job <= ended and launchers.height else exits["_event"].clear()


def _asserted_of_the_well(events: pl.DataFrame, ended: frozenset[int]) -> pl.Series:
    named = events.filter((pl.col("kind") == "nan_assert") & (pl.col("names_ranks").list.len() > 0))
    inside = pl.col("names_ranks").list.eval(pl.element().is_in(sorted(ended))).list.all()
    return named.filter(inside)["_event"]


def _bad_loss_of_nobody(events: pl.DataFrame, tables: Tables, all_ended: bool) -> pl.Series:
    told = events.filter((pl.col("kind") == "bad_loss") & pl.all_horizontal(pl.col("time_ns", "rank").is_null()))
    steps = tables["steps"].filter(pl.col("loss").is_not_null()).sort("file", "line")
    last = steps.group_by("file").agg(pl.col("loss").last().is_finite())
    if not all_ended or not told.height or not last.height or not last["loss"].all():
        return told["_event"].clear()
    ends = events.filter(pl.col("kind") == "job_end")
    speaks = pl.concat([frame["file"].cast(pl.String) for frame in (tables["steps"], tables["ranks"], ends)]).unique()
    return told.filter(~pl.col("file").cast(pl.String).is_in(speaks.implode()))["_event"]
