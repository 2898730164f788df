"""Words that end a job only together: "finished 20 steps", and the last of the steps that were announced.

Alone they say that something is done. They are the end where every printer of steps says so after its last step, the number is
that of its steps (a file that tells nothing but the last step is no printer), nothing comes after the words in their file, and nothing in the attempt shows a failure, an operation that
never ended, or that somebody looked at a job that stood still. Else they say nothing, and are left out. A complaint, of whatever program,
that is stamped before the last of these steps, is no failure of what came to its end afterwards; nor is any where the scheduler says of the
job and all of its steps that they were completed, with exit code 0. What is told of a host that none of the ranks is on, where the hosts of all are known, of another day, or of a process
that is no rank's shows no failure of theirs; nor does an error that its printer outlived, or one in words of no rule that no rank and no host printed. What one printer tells three times in the same words ends nothing, unless
nobody is named and all of it stands behind the last step of its file, as where the processes of a job say it one after the other. Words that tell
epochs beside steps end nothing where these are fewer than three (behind the first epoch it may be said in other words), where their printer said them before with other numbers, where it counted its steps anew, and where what is left of its log begins so late that they may have been said before. A record of figures has no words to end
with: it came to its end with the step that is announced as the last.
"""

from collections.abc import Callable, Mapping
from typing import Any

import polars as pl

from forensics.assemble.starts.apart import numbered_lines
from forensics.model.hosts import short_hosts, short_of
from parsers.schema.event_kinds import CLOSING, LAST_STEP
from parsers.schema.tables import TableName, Tables
from parsers.text.patterns import regex
from parsers.text.stamps import DAY_NS
from parsers.training.progress import BARE_END

_BARE, _DIGITS = regex(BARE_END), regex(r"\d+")
_PRINTER = ["file", "rank", "local_rank"]
_IS_NOBODYS = pl.col("rank").is_null() & pl.col("local_rank").is_null()
_AGAIN = 3
_EPOCHS, _SEVERAL = r"(?i)\b([0-9]{1,9})[ _]epochs\b|\bepochs\W{1,3}([0-9]{1,9})\b", 3
_OF = r"\b([0-9]{1,15}) {0,4}(?:/|of) {0,4}[0-9]{1,15}\b"
_COMPLAINTS, _SOON_NS = ("other", "exception"), 10 * 10**9
_GRAVE = ["error", "fatal"]
_OF_PIDS = ["host_oom", "gpu_error"]  # in which a kernel or a driver tells the process


def with_closings(
    tables: Tables, identity: pl.DataFrame, outlived: Callable[[Tables], pl.Series]
) -> dict[TableName, pl.DataFrame]:
    """Tables of one attempt, ranks global, who is where, and which rows of `events` are errors that their printers outlived → the
    tables without the rows of job_end that are none."""
    tables = _without_parts(_without_repeated(tables))
    events = tables["events"]
    is_weak = ((pl.col("kind") == "job_end") & pl.col("code").is_in([CLOSING, LAST_STEP])).fill_null(False)
    weak = events.filter(is_weak)
    if not weak.height:
        return dict(tables)
    without = {**tables, "events": events.filter(~is_weak)}
    if not _is_end(tables, weak):
        return without
    left = without["events"].filter(~outlived(without) & ~_is_of_others(tables["steps"], identity))
    return without if _shows_trouble({**without, "events": left}, weak) else dict(tables)


def _without_repeated(tables: Tables) -> dict[TableName, pl.DataFrame]:
    """Without ends that one printer tells again and again in the same words, and not all behind its last step: a step, an epoch or a file is finished so."""
    events = tables["events"]
    ends = pl.col("kind") == "job_end"
    if not events.select((ends & pl.col("line").is_not_null()).any()).item():
        return dict(tables)
    template = pl.when(ends).then(pl.col("text").cast(pl.String).str.replace_all(r"\d+", "#"))
    told = events.with_columns(template.alias("_template"))
    again = pl.col("line").n_unique().over(*_PRINTER, "_template") >= _AGAIN
    # A log without a step tells nothing of where its steps end.
    last = tables["steps"].drop_nulls("line").group_by("file").agg(pl.col("line").max().alias("_last"))
    told = told.join(last, on="file", how="left", maintain_order="left")
    is_named = pl.col("rank").is_not_null() | pl.col("local_rank").is_not_null()
    among = is_named | (pl.col("line").min().over(*_PRINTER, "_template") < pl.col("_last")).fill_null(True)
    return {**tables, "events": told.filter(~(ends & again & among).fill_null(False)).drop("_template", "_last")}


def _without_parts(tables: Tables) -> dict[TableName, pl.DataFrame]:
    """Without ends that tell epochs beside steps and may be of a part of them."""
    events = tables["events"]
    is_told = (pl.col("kind") == "job_end") & (pl.col("code") == CLOSING) & pl.col("step").is_not_null()
    is_told &= pl.col("text").cast(pl.String).str.contains(r"(?i)\bepochs\b")
    ends = events.filter(is_told.fill_null(False) & pl.col("line").is_not_null())
    if ends.is_empty():
        return dict(tables)
    steps = tables["steps"].filter((pl.col("phase") == "train").fill_null(True) & pl.col("line").is_not_null())
    step, line = pl.col("step"), pl.col("line")
    own = steps.drop_nulls("step").group_by(_PRINTER).agg(
        step.min().alias("_first"), line.max().alias("_last"),
        (line.filter(step == step.min()).max() > line.filter(step == step.max()).min()).alias("_anew"),
    )  # fmt: skip
    seen = own.group_by("file").agg(pl.col("_first").min(), pl.col("_last").max(), pl.col("_anew").any())
    told = ends.join(seen, on="file", how="left").with_columns(
        # A log of several that name nobody holds the same words once for each, all behind its last step.
        _before=(line.n_unique().over(_PRINTER) > 1) & (line.min().over(_PRINTER) < pl.col("_last"))
    )
    said = [pl.col("text").cast(pl.String).str.extract(_EPOCHS, at).cast(pl.Int64, strict=False) for at in (1, 2)]
    is_few = pl.coalesce(*said) < _SEVERAL
    is_part = pl.any_horizontal("_before", "_anew", is_few, 2 * pl.col("_first") > pl.col("step"))
    parts = told.filter(is_part.fill_null(False)).select("file", "line").unique()
    ends_only = parts.with_columns(kind=pl.lit("job_end").cast(events.schema["kind"]))
    return {**tables, "events": events.join(ends_only, on=["file", "line", "kind"], how="anti", maintain_order="left")}


def _is_end(tables: Tables, weak: pl.DataFrame) -> bool:
    steps = tables["steps"].filter((pl.col("phase") == "train").fill_null(True) & pl.col("line").is_not_null())
    alone = steps.group_by("file").agg(pl.col("rank").drop_nulls().unique()).filter(pl.col("rank").list.len() == 1)
    owner: dict[str, int] = dict(alone.select("file", pl.col("rank").list.first()).iter_rows())
    steps, weak = _of_owner(steps, owner), _of_owner(weak, owner)
    last = steps.group_by(_PRINTER).agg(pl.col("step").max(), _last=pl.col("line").max(), _rows=pl.len())
    # A record of the last step alone is what a tracker keeps of the whole run, and no log of it.
    is_summary = (pl.col("_rows") == 1) & (pl.col("step") == pl.col("step").max()) & (pl.col("_rows").max() > 1)
    last = last.filter(~is_summary.fill_null(False))
    is_closing = pl.col("code") == CLOSING
    said = weak.group_by(_PRINTER).agg(
        pl.col("line").max().alias("_said"), pl.col("line").filter(is_closing).max().alias("_closed"),
        pl.col("step").filter(is_closing).last().alias("_of"),
    )  # fmt: skip
    both = last.join(said, on=_PRINTER, how="left", nulls_equal=True)
    is_record = pl.col("_said").is_null() & ~pl.col("file").is_in(weak["file"].unique().implode())
    both = both.filter(~(is_record & pl.col("step").is_in(_announced(weak))))
    counts = said.filter(pl.col("rank").is_not_null()).select("rank", pl.col("_of").alias("_own"))
    both = both.join(counts.unique("rank"), on="rank", how="left")  # whose log says so keeps a record of them beside it
    of_all = both["_of"].drop_nulls().unique().to_list()  # and what is nobody's stands beside those of all
    own = pl.when(_IS_NOBODYS & pl.lit(len(of_all) == 1)).then(pl.lit(min(of_all, default=None))).otherwise("_own")
    is_own = (own - pl.col("step")).is_in([0, 1]).fill_null(False)
    both = both.filter(~(is_record & is_own))
    untold = both.filter(pl.col("_of").is_null())
    if not all(_is_of_the_steps(tables["files"], row) for row in untold.iter_rows(named=True)):
        return False
    counted = (both["_of"] - both["step"]).is_in([0, 1]) | both["_of"].is_null()  # counted from 1 or from 0
    if not last.height or not bool(((both["_said"] >= both["_last"]).fill_null(False) & counted).all()):
        return False
    told = both if both.height else said  # records that all came to it
    closed = told.drop_nulls("_closed").group_by("file").agg(pl.col("_closed").max())
    ends = closed.join(tables["files"].select("file", "lines"), on="file", how="left")
    return bool((ends["_closed"] == ends["lines"]).fill_null(False).all())


def _of_owner(rows: pl.DataFrame, owner: Mapping[str, int]) -> pl.DataFrame:
    """What a log of one rank tells without its number is that rank's: a framework tells it, and the script beside it does not."""
    told = pl.col("file").cast(pl.String).replace_strict(owner, default=None, return_dtype=pl.Int64)
    return rows.with_columns(rank=pl.when(_IS_NOBODYS).then(told).otherwise(pl.col("rank")))


def _is_of_the_steps(files: pl.DataFrame, row: Mapping[str, Any]) -> bool:
    """Do the last words of a log stand behind the same prefix as its last step? Else something else is done: a save, a file."""
    held = next(files.filter(pl.col("file") == row["file"]).iter_rows(named=True), None)
    lines = dict(numbered_lines(held)) if held is not None else {}
    words = _BARE.search(lines.get(row["_closed"], ""))
    if words is None:
        return True
    before, step = (_DIGITS.sub("#", text) for text in (words.string[: words.start()], lines.get(row["_last"], "")))
    return step.startswith(before.rstrip())


def _announced(weak: pl.DataFrame) -> list[int]:
    """The last step of the job as its lines tell it, or the last words of nobody in particular, counted from 1 or from 0."""
    text = weak.filter(pl.col("code") == LAST_STEP)["text"].cast(pl.String)
    told = text.str.extract(_OF, 1).cast(pl.Int64, strict=False)
    of_all = weak.filter((pl.col("code") == CLOSING) & _IS_NOBODYS)["step"]
    numbers = {*told.drop_nulls(), *of_all.drop_nulls()}
    return [number - less for number in sorted(numbers) for less in (0, 1)]


def _shows_trouble(tables: Tables, weak: pl.DataFrame) -> bool:
    operations = tables["operations"].select("state", "retired")
    unfinished = (pl.col("state") != "completed").fill_null(True) & ~pl.col("retired").fill_null(False)
    sampled = tables["stacks"].filter((pl.col("source") != "traceback").fill_null(True))
    grave = _not_outlived(tables["events"], weak)
    return bool(grave.height or sampled.height or operations.filter(unfinished).height)


def _is_of_others(steps: pl.DataFrame, identity: pl.DataFrame) -> pl.Expr:
    """Of another host, another day or another process than those of the ranks, of hosts that a scheduler names and nothing joins to them, or of
    nobody in words of no rule."""
    hosts = identity["host"].drop_nulls().unique()
    is_placed = not identity["host"].null_count() and set(steps["rank"]) <= set(identity["rank"])
    worked = steps.filter(pl.col("time_basis").is_in(["utc", "local"]))["time_ns"].max()
    elsewhere = pl.col("names_hosts").list.eval(short_of(pl.element().cast(pl.String)))
    of_none = (elsewhere.list.len() > 0) & (elsewhere.list.set_intersection(hosts.to_list()).list.len() == 0)
    nobody = _IS_NOBODYS & pl.col("host").is_null()
    return pl.any_horizontal(
        pl.col("rank").is_null() & ~short_hosts().is_in(hosts.implode()) & pl.lit(is_placed),
        of_other_processes(steps, identity),
        (pl.col("kind") == "scheduler") & of_none & ~pl.col("file").is_in(steps["file"].unique().implode()),
        pl.col("time_basis").is_in(["utc", "local"]) & (pl.col("time_ns") + DAY_NS < pl.lit(worked, dtype=pl.Int64())),
        nobody & (pl.col("kind") == "other") & pl.col("code").is_null() & ~pl.col("file").is_in(steps["file"].unique().implode()),
    ).fill_null(False)  # fmt: skip


def of_other_processes(steps: pl.DataFrame, identity: pl.DataFrame) -> pl.Expr:
    """What a kernel or a driver says of a process that is no rank's, where those of all ranks are known."""
    if identity.is_empty():
        return pl.lit(value=False)
    pids = identity["pid"].drop_nulls().unique()
    is_known = not (identity["host"].null_count() or identity["pid"].null_count())
    is_known &= set(steps["rank"]) <= set(identity["rank"])
    is_known &= 0 < identity.height == (identity["world_size"].max() or identity.height)
    return (pl.col("kind").is_in(_OF_PIDS) & ~pl.col("pid").is_in(pids.implode()) & pl.lit(is_known)).fill_null(False)


def _not_outlived(events: pl.DataFrame, weak: pl.DataFrame) -> pl.DataFrame:
    """Grave events; of complaints those that are not told to be older than the last step of everybody. What has no stamp is as old as the
    line of its file before it that has one."""
    states = events.filter((pl.col("kind") == "scheduler") & pl.col("detail").str.contains('"JobID"').fill_null(False))
    is_done = (pl.col("code") == "completed") & pl.col("detail").str.contains('"ExitCode": "0:0"')
    is_other = (pl.col("severity") != "info") | pl.col("code").is_in(["running", "pending", "completing", "suspended"])
    is_completed = states.filter(is_done).height > 0 and states.filter(is_other).is_empty()
    stamps = pl.col("time_ns", "time_basis").forward_fill().over("file")
    told = events.sort("file", "line", nulls_last=True).with_columns(stamps)
    grave = told.filter(pl.col("severity").is_in(_GRAVE))
    if is_completed:
        return grave.filter(~pl.col("kind").is_in(_COMPLAINTS))
    bases, ended = weak["time_basis"].unique().to_list(), weak["time_ns"].min()
    if len(bases) != 1 or weak["time_ns"].null_count() or not isinstance(ended, int):
        return grave
    is_older = (pl.col("time_basis") == bases[0]) & (pl.col("time_ns") + _SOON_NS < ended)
    return grave.filter(~(pl.col("kind").is_in(_COMPLAINTS) & is_older.fill_null(False)))
