"""Where a log begins anew: the lines of one file at which the next launch of the job starts to print.

Each sign of a restart gives an interval of lines (after, until] in which the launch must have begun; the fewest lines
that explain all signs of a file are its restarts. Signs: a rendezvous with a higher restart_count or another world size;
an agent that says it restarts its workers; a rank that starts again under another pid, introduces itself anew after an end, or
ends again as another process; processes that were stopped or ended
and whose devices others take over; a job that its scheduler put back into the queue; step numbers that fall, where a line
between says why, or where the same numbers are printed again; steps of tensor statistics that fall for every rank.

Fooled by: step numbers that begin anew with each epoch (they fall to the start, and nothing between says why: no sign);
ranks that print into one file without their number (a fall of a few steps alone is no sign).
"""

from collections import defaultdict
from functools import partial

import polars as pl

from forensics.model.told import told_by
from parsers.schema.event_kinds import RENDEZVOUS
from parsers.schema.tables import Tables

_DISORDER = 3  # steps that ranks may be apart which print into one file
_REQUEUED = r"(?i)\brequeue"
_no_sign = partial(pl.DataFrame, schema={"after": pl.Int64(), "until": pl.Int64(), "file": pl.String()})
# What shows that a launch runs; a restart that nothing of this kind follows never came about.
_LIFE = ("job_start", "comm_init_start", "comm_init_complete", "checkpoint_load")
# What explains why step numbers fall: a beginning does; an end may stand before late lines of other ranks.
_BEGINS = ("job_start", "checkpoint_load", "membership")
_ENDS = ("exit", "first_failure", "closing_signal", "exception")
_INTRODUCED = ("introduction", "process line", "Ray Train")  # `how` of what processes say of themselves
_STOPS = ("exit", "first_failure", "closing_signal")  # what launchers say of the end of processes


def restarts(tables: Tables) -> dict[str, list[int]]:
    """File → the lines at which another launch begins, ascending; files with one launch are left out."""
    counted = _counted_anew(tables["tensors"])
    kinds = (_recounted, _told, _new_process, _introduced_anew, _ended_again, _taken_over, _fallen)
    signs = pl.concat([sign(tables) for sign in kinds])
    if not signs.height:
        return counted
    last = dict(_life(tables, signs).group_by("file").agg(pl.col("line").max()).iter_rows())
    found: dict[str, list[int]] = defaultdict(list)
    # Fewest points that hit every interval: always the nearest end of those not hit yet.
    for after, until, file in signs.select("after", "until", "file").sort("file", "until", "after").iter_rows():
        if last.get(file, -1) >= until and not (found[file] and found[file][-1] > after):
            found[file].append(until)
    return dict(sorted({**counted, **{file: lines for file, lines in found.items() if lines}}.items()))


def _counted_anew(tensors: pl.DataFrame) -> dict[str, list[int]]:
    """Files of tensor statistics in which steps fall, if they fall equally often for every rank: a launch of all ranks.

    Rows out of order tell nothing, nor does evaluation, which may count for itself."""
    if not tensors.height or tensors["seq"].null_count() < tensors.height:
        return {}
    who = ("file", "rank")
    rows = tensors.select(*who, "line", "step", "phase").filter(pl.col("phase").ne_missing(pl.lit("eval")))
    rows = rows.with_columns(pl.col(*who, "step").shift(1).name.suffix("_before"))
    falls = rows.filter(pl.col("step") < pl.col("step_before"))
    falls = falls.filter(pl.all_horizontal(pl.col(name) == pl.col(f"{name}_before") for name in who)).drop_nulls("line")
    told = falls.group_by("rank").agg(pl.col("file").n_unique().alias("files"), pl.len().alias("count"))
    is_alike = told["count"].n_unique() == 1 and told["files"].to_list() == [1] * told.height
    if told.height < max(1, tensors["rank"].n_unique()) or not is_alike:
        return {}
    return {file: sorted(lines) for file, lines in falls.group_by("file").agg("line").sort("file").iter_rows()}


def _trained(tables: Tables) -> pl.DataFrame:
    steps = tables["steps"].filter((pl.col("phase") == "train").fill_null(True) & pl.col("holder").is_null())
    return steps.drop_nulls(["line", "step"])


def _events(tables: Tables, *kinds: str) -> pl.DataFrame:
    return tables["events"].filter(pl.col("kind").is_in(kinds) & pl.col("line").is_not_null())


def _rendezvous(tables: Tables) -> pl.DataFrame:
    """file, line, host, count, size: what an agent says when its workers begin."""
    counts = tables["settings"].filter((pl.col("name") == "restart_count") & pl.col("line").is_not_null())
    counts = counts.select("file", "line", "host", pl.col("value").cast(pl.Int64, strict=False).alias("count"))
    sizes = tables["ranks"].filter((pl.col("how") == RENDEZVOUS) & pl.col("line").is_not_null())
    sizes = sizes.select("file", "line", pl.col("world_size").alias("size")).unique(["file", "line"])
    return counts.join(sizes, on=["file", "line"], how="full", coalesce=True).sort("file", "line")


def _life(tables: Tables, those: pl.DataFrame) -> pl.DataFrame:
    """file, line of all that only a running launch prints, in the files of `those`: also what a process says of itself that introduced itself there."""
    known = tables["ranks"].filter(pl.col("how").is_in(_INTRODUCED)).select("file", "pid").drop_nulls().unique()
    own = tables["events"].filter(pl.col("line").is_not_null()).join(known, on=["file", "pid"], how="semi")
    parts = [_trained(tables), _events(tables, *_LIFE), _rendezvous(tables), own]
    listed = [part.join(those.select("file").unique(), on="file", how="semi").select("file", "line") for part in parts]
    return pl.concat(listed).unique().sort("line", "file")


@told_by("settings", "ranks", nothing=_no_sign)
def _recounted(tables: Tables) -> pl.DataFrame:
    """An agent counts its restarts; agents of several hosts may say the same number into one file."""
    said = _rendezvous(tables)
    changed = pl.col("count") > pl.col("count").cum_max().shift(1).over("file")
    resized = pl.col("size") != pl.col("size").forward_fill().shift(1).over("file")
    return (
        said.with_columns(pl.col("line").shift(1).over("file").alias("after"))
        .filter(changed.fill_null(False) | resized.fill_null(False))
        .select("after", pl.col("line").alias("until"), "file")
    )


@told_by("events", kinds=("membership", "scheduler"), nothing=_no_sign)
def _told(tables: Tables) -> pl.DataFrame:
    """An agent or a scheduler announces a restart; it begins with the next line of a running launch."""
    said = _events(tables, "membership").filter(pl.col("code").is_in(["failed", "unhealthy"]))
    queued = _events(tables, "scheduler").filter(pl.col("text").str.contains(_REQUEUED))
    return _begun_after(tables, pl.concat([said, queued]).select("file", pl.col("line").alias("after")))


def _begun_after(tables: Tables, places: pl.DataFrame) -> pl.DataFrame:
    """`places` (file, after, …) with `until`: the next line of a running launch."""
    life = _life(tables, places)
    begun = life.with_columns(pl.col("line").alias("until")).sort("until")
    joined = places.sort("after").join_asof(
        begun, left_on="after", right_on="until", by="file", strategy="forward", allow_exact_matches=False,
        check_sortedness=False,
    )  # fmt: skip
    # Before anything ran there was nothing to start again.
    first = life.group_by("file").agg(pl.col("line").min().alias("first"))
    joined = joined.join(first, on="file").filter(pl.col("until").is_not_null() & (pl.col("first") <= pl.col("after")))
    return joined.select("after", "until", "file", *(name for name in places.columns if name not in ("file", "after")))


@told_by("events", kinds=("job_start",), nothing=_no_sign)
def _new_process(tables: Tables) -> pl.DataFrame:
    """The same rank says again that it starts, under a pid that it did not have before."""
    starts = _events(tables, "job_start").filter(pl.col("rank_space") == "global").drop_nulls(["pid", "rank"])
    who = ["file", "rank"]
    starts = starts.sort("file", "line").with_columns(
        pl.col("line").shift(1).over(who).alias("_before"), pl.col("pid").is_first_distinct().over([*who, "pid"]).alias("_new")
    )  # fmt: skip
    new = starts.filter(pl.col("_before").is_not_null() & pl.col("_new"))
    own = _trained(tables).select("file", "rank", pl.col("line").alias("_step")).sort("_step")
    new = new.sort("line").join_asof(own, left_on="line", right_on="_step", by=who, check_sortedness=False)
    after = pl.max_horizontal("_before", "_step").alias("after")
    return new.select(after, pl.col("line").alias("until"), "file")


@told_by("ranks", nothing=_no_sign)
def _introduced_anew(tables: Tables) -> pl.DataFrame:
    """After the end of a process, most ranks introduce themselves under pids that they did not have before, and the old ones are not
    told again. One process that is replaced is none."""
    again = _other_pids(tables, *_INTRODUCED)
    if not again.height:
        return _no_sign()
    said = tables["ranks"].filter(pl.col("how").is_in(_INTRODUCED))
    told = said.group_by("file").agg(pl.col("rank").n_unique().alias("_all"))
    again = again.join(told, on="file").filter(2 * pl.col("rank").n_unique().over("file") > pl.col("_all"))
    ended = _first_between(again.rename({"until": "line"}), _events(tables, *_ENDS).select("file", "line"), "_end")
    return ended.filter(pl.col("_end").is_not_null()).select("after", pl.col("line").alias("until"), "file")


@told_by("ranks", nothing=_no_sign)
def _ended_again(tables: Tables) -> pl.DataFrame:
    """An agent's table tells of the end of a rank whose end, as another process, it has told before: the later one began in between."""
    again = _other_pids(tables, "elastic failure table")
    if not again.height:
        return _no_sign()
    begun = _begun_after(tables, again.select("file", "after", _ended="until"))
    return begun.filter(pl.col("until") < pl.col("_ended")).drop("_ended")


def _other_pids(tables: Tables, *how: str) -> pl.DataFrame:
    """file, rank, after, until: where a file tells a pid of a rank in a way that told another one of it before, which never comes again."""
    who = ["file", "rank"]
    claims = tables["ranks"].filter(pl.col("how").is_in(how) & pl.col("line").is_not_null())
    claims = claims.drop_nulls(["rank", "pid"]).group_by([*who, "pid"]).agg(
        pl.col("line").min().alias("until"), pl.col("line").max().alias("_last")
    )  # fmt: skip
    claims = claims.sort(*who, "until").with_columns(pl.col("_last").shift(1).over(who).alias("after"))
    return claims.filter(pl.col("after") < pl.col("until")).select("file", "rank", "after", "until")


@told_by("events", kinds=("comm_init_start",), nothing=_no_sign)
def _taken_over(tables: Tables) -> pl.DataFrame:
    """After a launcher told of an end, communicators are set up on every device that had one, all by new processes, and the old
    ones are not heard again: a pod's log goes on when its container starts anew. Where some only come back, or the old
    ones still speak, worlds of one job share a log (a trainer beside engines of inference)."""
    who = ["file", "pid"]
    starts = _events(tables, "comm_init_start").drop_nulls(["pid", "local_rank"]).sort("file", "line")
    ends = _events(tables, *_STOPS).select("file", pl.col("line").alias("_end"))
    heard = tables["events"].drop_nulls("pid").group_by(who).agg(pl.col("line").max().alias("_heard"))
    pids = starts.group_by(who).agg(pl.col("line").min().alias("_first")).join(heard, on=who)
    devices = starts.group_by("file", "host", "local_rank").agg(pl.col("line").max())
    back = devices.group_by("file").agg(pl.col("line").min().alias("_back"))  # until then each device comes back
    gaps = starts.select("file", pl.col("line").shift(1).over("file").alias("after"), pl.col("line").alias("until"))
    gaps = gaps.join(back, on="file").filter(pl.col("until") <= pl.col("_back")).sort("until")
    for name, places in (("_end", ends), ("_first", pids), ("_heard", pids)):
        counted = places.select("file", name).drop_nulls().sort(name)
        counted = counted.with_columns(pl.int_range(pl.len()).over("file").alias(f"{name}_count"))
        gaps = gaps.join_asof(
            counted, left_on="until", right_on=name, by="file", allow_exact_matches=False, check_sortedness=False
        )  # fmt: skip
    told = (pl.col("_end") > pl.col("after")) & (pl.col("_first_count") == pl.col("_heard_count"))
    return gaps.filter(told).select("after", "until", "file").sort("file", "until")


@told_by("steps", nothing=_no_sign)
def _fallen(tables: Tables) -> pl.DataFrame:
    """Step numbers of one printer that fall, or are said again, for a reason; the launch begins where the reason stands."""
    who = ["file", "rank", "local_rank", "framework"]
    steps = _trained(tables).select(*who, "line", "step").sort("file", "line", maintain_order=True)
    # Where no line says a lower number than the line before it, no printer does.
    down = (pl.col("step").diff() <= 0) & (pl.col("file") == pl.col("file").shift(1))
    fallen = steps.filter(down).select("file").unique()
    if not fallen.height:
        return _no_sign()
    steps = steps.join(fallen, on="file", how="semi", maintain_order="left")
    falls = steps.with_columns(
        pl.col("step").shift(1).over(who).alias("_step"), pl.col("line").shift(1).over(who).alias("after")
    ).filter(pl.col("step") <= pl.col("_step"))
    if not falls.height:
        return _no_sign()
    queued = _events(tables, "scheduler").filter(pl.col("text").str.contains(_REQUEUED))
    reasons = (_events(tables, *_BEGINS), queued, _rendezvous(tables))
    strong = pl.concat([part.select("file", "line") for part in reasons])
    begins = pl.concat([part.select("file", "line") for part in (_events(tables, *_LIFE), _rendezvous(tables))])
    for name, places in (("_why", strong), ("_end", _events(tables, *_ENDS)), ("_begin", begins)):
        falls = _first_between(falls, places.select("file", "line"), name)
    far = pl.col("_step") - pl.col("step") > _DISORDER
    again = far & (2 * pl.col("step") > pl.col("_step"))
    # Ranks that tell their numbers are in no disorder: where all of them count anew after an end, they run again.
    members = steps.group_by("file").agg(_ranks=pl.col("rank").n_unique(), _of_none=pl.col("rank").null_count())
    falls = falls.join(members, on="file")
    together = pl.col("rank").n_unique().over("file", "_end") == pl.col("_ranks")
    together &= (pl.col("_ranks") > 1) & (pl.col("_of_none") == 0)
    told = pl.col("_why").is_not_null() | ((far | together) & pl.col("_end").is_not_null())
    return falls.filter(told | again).select("after", pl.coalesce("_begin", "line").alias("until"), "file")


def _first_between(falls: pl.DataFrame, places: pl.DataFrame, name: str) -> pl.DataFrame:
    """`falls` with the first line of `places` after `after` and before `line`, null where there is none."""
    listed = places.unique().select("file", pl.col("line").alias(name)).sort(name)
    joined = falls.sort("after").join_asof(
        listed, left_on="after", right_on=name, by="file", strategy="forward", allow_exact_matches=False,
        check_sortedness=False,
    )  # fmt: skip
    return joined.with_columns(pl.when(pl.col(name) < pl.col("line")).then(name).alias(name))
