"""Whose figure went bad alone: of what all ranks record of a step under the same name, one rank's was no number, and all others' were.

What anybody calls its figures does not matter; that the others went on to be bad does. So a name counts whose figures most ranks had as
numbers at first (a mask is -Inf from its beginning on everybody), and a step after which, within a few, most ranks lose a figure or their
loss, to the end. In the step itself every other rank of the job must have shown that very figure as a number, and no rank one that the
odd one has not lost as well: what all lose together came after. Of the odd rank's own, the first in its record is where it began.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec
import polars as pl

from forensics.facts.figures.first_in_order import first_in_order
from forensics.facts.figures.held_parts import Key, as_told, in_common
from forensics.facts.figures.own_values import OwnLoss
from forensics.facts.rows.event_rows import detail
from parsers.schema.tables import Tables
from parsers.text import vocabulary
from parsers.text.patterns import regex
from parsers.text.vocabulary import words_of
from parsers.training.told_values import BROKEN, is_broken

_SPREAD = 3  # steps within which most others follow
_PEERS, _OTHERS = 3, 3  # of one work, of which one is unlike the others; steps that show another work
_LISTED = 3  # other lines of one form, that make a list
_BEFORE = -1  # of what is told before any step
_PATH = regex(r"(?<![\w./])[A-Za-z_]\w*(?:\.(?!py\b)\w+)+(?![\w]|\.\w)")
_TRAINED = pl.col("phase").fill_null("train") == "train"
_EDGE = " =:([,|+])/"
_OF_INF = frozenset(("inf", "infs", "overflow", "overflows", "overflowed"))
STATE = frozenset([
    "param", "params", "parameter", "parameters", "weight", "weights", "exp", "moment", "moments", "adam", "adamw", "optim", "optimizer",
    "master", "momentum", "variance", "state", "ckpt", "shard", "shards",
])  # fmt: skip
GRADIENT = frozenset(("grad", "grads", "gradient", "gradients", "gnorm"))
MADE = GRADIENT | {"loss", "losses"}
_UPDATED = frozenset(("update", "updates", "updated", "w"))


class OddValue(msgspec.Struct, frozen=True):
    """`step`: null before any; `of`, `name`, `value`: its first bad figure; `others`: all that it lost alone in that step, as `of name`;
    `kept`: what every rank had as a number then; `row`: where it stands, `beside`: a line of another rank that shows the same figure."""

    rank: int
    step: int | None
    of: str
    name: str
    value: str
    others: tuple[str, ...]
    kept: tuple[str, ...]
    row: Mapping[str, Any]
    beside: Mapping[str, Any]
    is_last: bool = False  # do the records of all end with that step?
    opens: bool = False  # is that record the first of the step on its rank?
    is_proven: bool = False  # was what the rank was given a number, as `beside` shows? (passed_on.py)
    first_step: int | None = None  # of what is told before any, where the rank tells one later
    is_held: bool = False  # is it of a part that this rank alone holds?
    is_of_peers: bool = False  # do not all ranks do this work?
    is_checked: bool = False  # did the rank's own check end it, before others could follow?
    is_ahead: bool = False  # did all ranks show nothing but numbers in that step, up to that figure?
    is_given: bool = False  # did it stay a number on all while what they compute was lost? Then no parameter is in it


def odd_value(tables: Tables, job: frozenset[int]) -> OddValue | None:
    """Tables of an attempt, and its ranks → the first step in which one rank alone lost a figure, where it was so."""
    values = tables["values"]
    if len(job) < 2 or not values["bad"].is_not_null().any():
        return None
    values = in_common(without_passing(values), job)
    whole, job = job, peers_of(values, tables["steps"], job)
    told = told_values(values.filter(pl.col("rank").is_in(sorted(job))))
    told = told.filter(~_is_of_printer())
    lost = lost_losses(tables["steps"], whole)
    steps = sorted(told.filter("bad")["step"].unique().to_list())
    for step in steps:
        if any(before < step for before in lost):
            return None
        rows = told.filter(pl.col("step") == step)
        ranks = {key: _ranks(own) for key, own in _by_key(rows.filter("bad"))}
        alone = {key: min(who) for key, who in ranks.items() if len(who) == 1}
        some = [who for who in ranks.values() if len(who) > 1 and len(who) < len(job)]
        if not alone:
            continue
        (first, *more) = sorted(set(alone.values()))
        shown = values.filter(pl.col("step").fill_null(_BEFORE) == step)
        ahead = None if step == _BEFORE else first_in_order(rows, shown, _lost_lines(tables["steps"], step), ranks, job)
        first = first if ahead is None else ahead
        begun = _begun((values, tables["steps"]), rows, first) if step == _BEFORE else None
        since = step if begun is None else begun - 1
        is_last = step == steps[0] and _is_the_end(values, rows, first, job)
        is_followed = _is_followed(told, lost, since, job) or _is_shared(rows, ranks, first, job, tables)
        is_checked = step == _BEFORE and not is_followed and _raised_of_it(tables["events"], first)
        if not (is_last or is_followed or is_checked):
            continue
        if ahead is None and (more or some or not (lost.get(step, frozenset()) <= {first} or lost[step] >= job)):
            return None
        found = _found(first, step, rows, alone, job) or (
            _found_otherwise(first, values, rows, job) or _found_in_part(first, values, rows, alone, job)
            if step == _BEFORE
            else None
        )
        if found is None:
            if step == _BEFORE:
                continue
            return None
        is_given = _is_given(told, lost, found, job)
        if not is_given and (given := _given(told, lost, rows, found, job)) is not None:
            found, is_given = given, True
        held = as_told(tables["values"], str(found.row["file"]), found.row["line"], (found.of, found.name))
        of, name = held or (found.of, found.name)
        return msgspec.structs.replace(
            found, opens=_opens(values, found), is_last=is_last, is_checked=is_checked, is_given=is_given, first_step=begun, of=of, name=name,
            is_held=held is not None, is_of_peers=job != whole,
            is_ahead=ahead is not None,
        )  # fmt: skip
    return None


def peers_of(values: pl.DataFrame, steps: pl.DataFrame, job: frozenset[int]) -> frozenset[int]:
    """The ranks of a job that tell the figures which went bad, where every other rank tells steps before that of another work, as who learns from what these make. Else
    the whole job: of whose record is lost nothing is known."""
    own = values.filter(pl.col("rank").is_in(sorted(job)) & pl.col("step").is_not_null())
    told = told_values(own).filter(~_is_of_printer())
    first = told.filter("bad")["step"].min()
    peers = frozenset(told["rank"].to_list())
    # Stages of a pipeline are of one size; who learns is one, or few.
    if not isinstance(first, int) or peers == job or len(peers) <= 2 * len(job - peers) or len(peers) < _PEERS:
        return job
    before = pl.col("step") < first
    shown = [rows.filter(before & ~pl.col("rank").is_in(sorted(peers))).select("rank", "step") for rows in (own, steps)]
    counts = pl.concat(shown).unique().group_by("rank").len()
    others = frozenset(counts.filter(pl.col("len") >= _OTHERS)["rank"].to_list())
    return peers if peers | others >= job else job


def undoubted(tables: Tables, job: frozenset[int], own: OwnLoss | None) -> OwnLoss | None:
    """The same loss of some ranks, unless another rank lost a figure of its own by that step: what a rank looked up in another's part of a table is in its
    loss, and in no fault of its own."""
    values = tables["values"]
    if own is None or len(job) < 2 or not values["bad"].is_not_null().any():
        return own
    told = told_values(without_passing(values.filter(pl.col("rank").is_in(sorted(job))))).filter(~_is_of_printer())
    of_all = pl.col("bad").all().over("of", "name", "step")
    lost = _ranks(told.filter(pl.col("bad") & ~of_all & (pl.col("step") <= own.step)))
    return None if lost - {row["rank"] for row in own.rows} else own


def without_passing(values: pl.DataFrame) -> pl.DataFrame:
    """The same, where a rank tells one record a step and each is of something else (a shard that was read, a batch): that tells no two
    figures apart, so it is no part of their names."""
    own_names = pl.concat_list(
        pl.col("fine").cast(pl.String).str.split(" ").fill_null([]),
        pl.col("bad").str.replace_all(r"=\S+", "").str.split(" ").fill_null([]),
    )
    numbered = values.with_row_index("_row").with_columns(
        pl.col("of").cast(pl.String), own_names.list.sort().list.join(" ").alias("_names")
    )
    told = numbered.filter(~pl.col("of").str.contains("#")).drop_nulls(["step", "rank"])
    own = told.group_by("rank", "_names").agg(
        pl.len().alias("_rows"), pl.col("step").n_unique().alias("_steps"), pl.col("of").n_unique().alias("_parts")
    )
    are_many = (2 * pl.col("_parts") > pl.col("_rows")) & (pl.col("_parts") > 1)
    is_passing = (pl.col("_rows") == pl.col("_steps")) & are_many
    names = own.group_by("_names").agg(is_passing.all().alias("_passes")).filter("_passes")
    if not names.height:
        return values
    passing = told.join(names, on="_names", how="semi")["_row"]
    of = pl.when(pl.col("_row").is_in(passing.implode())).then(pl.lit("")).otherwise("of")
    return numbered.with_columns(of.cast(values.schema["of"]).alias("of")).drop("_row", "_names")


def _is_given(told: pl.DataFrame, losses: Mapping[int, frozenset[int]], found: OddValue, job: frozenset[int]) -> bool:
    """Later, when most had lost some other figure, or their loss, was this one a number on every rank of the job? A count of Inf alone says nothing of that:
    what comes of it is NaN."""
    if found.step is None or not _OF_INF.isdisjoint(words_of(found.name)):
        return False
    is_it = (pl.col("of") == found.of) & (pl.col("name") == found.name)
    after = told.filter(pl.col("step") > found.step)
    lost = after.filter(pl.col("bad")).group_by("step").agg(pl.col("rank").n_unique().alias("_lost"))
    steps = {*lost.filter(2 * pl.col("_lost") > len(job))["step"].to_list()}
    steps |= {step for step, ranks in losses.items() if 2 * len(ranks) > len(job)}
    own = after.filter(is_it & pl.col("step").is_in(sorted(steps)))
    return own.height > 1 and not own["bad"].any() and _ranks(own) == job


def _given(
    told: pl.DataFrame, losses: Mapping[int, frozenset[int]], rows: pl.DataFrame, found: OddValue, job: frozenset[int]
) -> OddValue | None:
    """The same, by what else the rank lost alone in that step and was given, whatever its place in a record: a table has its columns in any order."""
    for row in _lost_by(rows, found.rank).iter_rows(named=True):
        key = f"{row['of']} {row['name']}"
        said = frozenset(words_of(_called(row["of"], row["name"])))
        one = msgspec.structs.replace(found, of=row["of"], name=row["name"], value=row["value"], row=row)
        if key in found.others and not said & (MADE | STATE) and _is_given(told, losses, one, job):
            return msgspec.structs.replace(one, beside=_beside(rows, row))
    return None


def _lost_by(rows: pl.DataFrame, rank: int) -> pl.DataFrame:
    """The bad figures of a rank among those of a step, in their order."""
    return rows.filter(pl.col("bad") & (pl.col("rank") == rank)).sort("file", "line", "place")


def _beside(rows: pl.DataFrame, lost: Mapping[str, Any]) -> dict[str, Any]:
    """The same figure of another rank, which has it as a number."""
    same = pl.col("of").eq(lost["of"]) & pl.col("name").eq(lost["name"]) & ~pl.col("bad")
    return rows.filter(same).sort("rank").row(0, named=True)


def _opens(values: pl.DataFrame, found: OddValue) -> bool:
    own = values.filter((pl.col("rank") == found.rank) & pl.col("step").eq_missing(pl.lit(found.step)))
    return str(own.sort("file", "line")["of"][0]) == found.of


def _found(rank: int, step: int, rows: pl.DataFrame, alone: Mapping[Key, int], job: frozenset[int]) -> OddValue | None:
    fine = {key: _ranks(own) for key, own in _by_key(rows.filter(~pl.col("bad")))}
    compared = [key for key in alone if fine.get(key, set()) == job - {rank}]
    own = [row for row in _lost_by(rows, rank).iter_rows(named=True) if (row["of"], row["name"]) in alone]
    lines = [row for row in own if (row["of"], row["name"]) in compared]
    # Where what it lost first is not to be compared, it may have been so on others as well.
    if not lines or (own[0]["of"], own[0]["name"]) not in compared:
        return None
    first = lines[0]
    kept = tuple(f"{of} {name}" for (of, name), who in fine.items() if who == job)
    told = tuple(f"{row['of']} {row['name']}" for row in lines)
    at = None if step == _BEFORE else step
    return OddValue(rank, at, first["of"], first["name"], first["value"], told, kept, first, _beside(rows, first))


def _found_otherwise(rank: int, values: pl.DataFrame, rows: pl.DataFrame, job: frozenset[int]) -> OddValue | None:
    """The same of a line that goes on otherwise behind a bad figure (`bad=3 at 17..19` where a good one has its size): the others' go alike up to that
    figure, one of each, and the odd rank has lines of theirs about something else."""
    own = _lost_by(rows, rank).row(0, named=True)
    if not str(own["name"]).isdigit():
        return None
    lead = "#".join(str(own["of"]).split("#")[: int(own["name"]) + 1])
    before = values.filter(pl.col("step").is_null() & pl.col("rank").is_in(sorted(job)))
    before = before.with_columns(pl.col("of", "fine").cast(pl.String))
    form = pl.col("of").str.replace_all(r"\d+", "#")
    alike = before.filter(pl.col("of").str.starts_with(lead + "#")).with_columns(form.alias("_form"))
    others = alike.filter(pl.col("rank") != rank)
    is_fine = pl.col("bad").is_null() & pl.col("fine").str.split(" ").list.contains(own["name"])
    is_one_each = alike.height == len(job) and _ranks(alike) == job and others["_form"].n_unique() == 1
    if not is_one_each or not others.select(is_fine.all()).item():
        return None
    elsewhere = before.filter((pl.col("rank") == rank) & pl.col("bad").is_null() & (form == others["_form"][0]))
    if not elsewhere.height:
        return None
    beside = others.sort("rank", "file", "line").row(0, named=True) | {"name": own["name"]}
    told = (f"{own['of']} {own['name']}",)
    return OddValue(rank, None, str(own["of"]), own["name"], own["value"], told, (), own, beside)


def _found_in_part(
    rank: int, values: pl.DataFrame, rows: pl.DataFrame, alone: Mapping[Key, int], job: frozenset[int]
) -> OddValue | None:
    """The same of what each rank tells of a part of its own (a shard that was loaded), under names that all have: those of the others are numbers
    in all of their parts."""
    before = values.filter(pl.col("step").is_null() & pl.col("fine").is_not_null() & pl.col("rank").is_in(sorted(job)))
    before = before.with_columns(pl.col("fine").cast(pl.String).str.split(" ").alias("name")).explode("name")
    shown = {str(name): _ranks(own) for (name,), own in before.partition_by("name", as_dict=True).items()}
    own = _lost_by(rows, rank).row(0, named=True)
    beside = before.filter((pl.col("name") == own["name"]) & (pl.col("rank") != rank)).sort("rank", "file", "line")
    if str(own["name"]).isdigit() or shown.get(own["name"], set()) - {rank} != job - {rank}:
        return None
    told = tuple(f"{of} {name}" for of, name in alone)
    return OddValue(rank, None, str(own["of"]), own["name"], own["value"], told, (), own, beside.row(0, named=True))


def told_values(values: pl.DataFrame, *, at_first: bool = False) -> pl.DataFrame:
    """rank, step, microbatch, of, name, value, bad, place, file, line: a row for each figure of a name that is bad anywhere, but not on most from its
    beginning (`at_first`: these, too); of one that a rank tells twice in a step, the bad one."""
    values = values.with_columns(pl.col("step").fill_null(_BEFORE), pl.col("of", "fine").cast(pl.String))
    columns = ["rank", "step", "microbatch", "of", "file", "line", "time_ns"]
    apart = pl.col("pair").str.splitn("=", 2)
    bad = values.filter(pl.col("bad").is_not_null()).select(*columns, pl.col("bad").str.split(" ").alias("pair"))
    bad = bad.with_columns(pl.int_ranges(pl.col("pair").list.len()).alias("place")).explode("pair", "place")
    bad = bad.select(
        *columns, "place", apart.struct.field("field_0").alias("name"), apart.struct.field("field_1").alias("value")
    ).with_columns(pl.lit(True).alias("bad"))
    named = bad.select("of", "name").unique()
    fine = values.filter(pl.col("fine").is_not_null() & pl.col("of").is_in(named["of"].unique().implode()))
    fine = fine.select(*columns, pl.col("fine").str.split(" ").alias("name")).explode("name")
    fine = fine.join(named, on=["of", "name"], how="semi").with_columns(pl.lit(False).alias("bad"))
    told = pl.concat([bad, fine], how="diagonal").sort("bad", descending=True, maintain_order=True)
    told = told.unique(["rank", "step", "of", "name"], keep="first", maintain_order=True)
    is_first = pl.col("step") == pl.col("step").min().over("of", "name")
    usual = pl.col("bad").filter(is_first).mean().over("of", "name")
    is_of_one = (pl.col("step") == _BEFORE) & (pl.col("rank").n_unique().over("of", "name") == 1)  # a part of its own
    return told if at_first else told.filter(((usual < 0.5) | is_of_one) & ~_comes_and_goes())


def _comes_and_goes() -> pl.Expr:
    """Of a figure that most ranks had as a number again after it was none, each in steps of its own: what has no value now and then (the level of silence,
    a mean of no sample)."""
    of_all = pl.col("bad").all().over("of", "name", "step")
    last = pl.col("step").filter(~pl.col("bad")).max().over("rank", "of", "name")
    is_back = pl.col("bad") & ~of_all & (pl.col("step") < last) & (pl.col("step") != _BEFORE)
    back = pl.col("rank").filter(is_back).n_unique().over("of", "name")
    return (back > 1) & (2 * back > pl.col("rank").n_unique().over("of", "name"))


def _is_of_printer() -> pl.Expr:
    """Of a figure that one rank alone ever tells, and tells as a number first: what is of all, by who prints for them. Nobody's is beside it."""
    is_alone = pl.col("rank").n_unique().over("of", "name") == 1
    was_fine = (~pl.col("bad")).any().over("of", "name")
    return is_alone & was_fine & (pl.col("step") != _BEFORE)


def lost_losses(steps: pl.DataFrame, job: frozenset[int]) -> dict[int, frozenset[int]]:
    """Step → the ranks whose loss of the training was no number in it; all, where one rank prints it for the job."""
    told = pl.col("step").is_not_null() & pl.col("loss").is_not_null()
    rows = steps.filter(_TRAINED & pl.col("rank").is_in(sorted(job)) & told)
    is_of_all = rows["rank"].n_unique() == 1  # who alone prints one prints that of all
    # Who tells two of a step tells the mean of all beside its own; one larger than any training comes to is lost as one that is no number is.
    lost = rows.group_by("step", "rank").agg((~(pl.col("loss").abs() < BROKEN)).all().alias("_lost"))
    rows = lost.filter("_lost").group_by("step").agg("rank")
    return {step: job if is_of_all else frozenset(ranks) for step, ranks in rows.iter_rows()}


def _lost_lines(steps: pl.DataFrame, step: int) -> pl.DataFrame:
    """The lines of that step in which a loss of the training is no number, or larger than any."""
    is_lost = ~(pl.col("loss").abs() < BROKEN)
    return steps.filter(_TRAINED & (pl.col("step") == step) & pl.col("rank").is_not_null() & is_lost)


def _is_followed(told: pl.DataFrame, lost: Mapping[int, frozenset[int]], step: int, job: frozenset[int]) -> bool:
    """Did most ranks lose a figure, or their loss, soon after, and most still at the end?"""
    after = told.filter(pl.col("bad") & (pl.col("step") > step))
    seen: defaultdict[int, set[int]] = defaultdict(set)
    for at, rank in after.select("step", "rank").iter_rows():
        seen[at].add(rank)
    for at, ranks in lost.items():
        if at > step:
            seen[at] |= ranks
    later = sorted({one for one in (*told["step"].unique().to_list(), *lost) if one > step})
    most = [2 * len(seen[at]) > len(job) for at in later]
    return any(most[:_SPREAD]) and any(most[-_SPREAD:])


def _raised_of_it(events: pl.DataFrame, rank: int) -> bool:
    """Did a check of the rank itself end it, that found a bad value? Then nobody else had the time to follow."""
    raised = events.filter((pl.col("kind") == "nan_assert") & (pl.col("rank") == rank))
    return any(detail(row).get("raised") is True for row in raised.iter_rows(named=True))


def _is_the_end(values: pl.DataFrame, rows: pl.DataFrame, rank: int, job: frozenset[int]) -> bool:
    """Is it the last step that anybody records, in which the rank lost one figure after another, to its last record?"""
    own = values.filter(pl.col("rank").is_in(sorted(job)))
    ends = own.group_by("rank").agg(pl.col("step").max())["step"].unique().to_list()
    lost = rows.filter(pl.col("bad") & (pl.col("rank") == rank))
    last = own.filter(pl.col("rank") == rank).sort("file", "line").tail(1)
    return ends == [lost["step"][0]] and lost.select("of", "name").n_unique() > 1 and last["bad"].is_not_null().all()


def _begun(told: Iterable[pl.DataFrame], rows: pl.DataFrame, rank: int) -> int | None:
    """The first step that a rank tells after what it lost before any: a log may hold an earlier launch. Of a file that tells none, the first that its others tell."""
    lost = _lost_by(rows, rank).row(0, named=True)
    own = pl.concat([one.filter(pl.col("rank") == rank).select("file", "line", "step") for one in told]).drop_nulls()
    own = own.with_columns(pl.col("file").cast(pl.String))
    if str(lost["file"]) not in own["file"]:
        return min(own["step"].to_list(), default=None)
    own = own.filter((pl.col("file") == str(lost["file"])) & (pl.col("line") > lost["line"]))
    return next(iter(own.sort("line")["step"].to_list()), None)


def _is_shared(
    rows: pl.DataFrame, ranks: Mapping[Key, set[int]], rank: int, job: frozenset[int], tables: Tables
) -> bool:
    """Did all lose a figure in that very step, behind what one lost alone? Then it went through a reduction, though the step may have been
    left out afterwards. Where a loss scale is told, an overflow is how that is found."""
    if tables["steps"]["loss_scale"].is_not_null().any() or (tables["events"]["kind"] == "loss_scale").any():
        return False
    lost = _lost_by(rows, rank).select("of", "name").iter_rows()
    at = [len(ranks.get((str(of), str(name)), ())) for of, name in lost]
    return bool(at) and at[0] == 1 and len(job) > 2 and len(job) in at


def _by_key(rows: pl.DataFrame) -> Iterator[tuple[Key, pl.DataFrame]]:
    for (of, name), own in rows.partition_by("of", "name", as_dict=True).items():
        yield (str(of), str(name)), own


def _ranks(rows: pl.DataFrame) -> set[int]:
    return set(rows["rank"].to_list())


def loaded_alike(values: pl.DataFrame, job: frozenset[int]) -> list[dict[str, Any]]:
    """What every rank of a job tells of its parameters or its optimizer's state before its first step, bad under the same name on all, whatever their
    parts of it hold: a row of each rank; none where any has it otherwise."""
    own = values.filter(pl.col("rank").is_in(sorted(job))).with_columns(pl.col("of").cast(pl.String))
    first = pl.col("line").filter(pl.col("step").is_not_null()).min().over("rank", "file")
    told = own.filter(pl.col("step").is_null() & (pl.col("line") < first.fill_null(pl.col("line") + 1)))
    bad = told.filter(pl.col("bad").is_not_null()).with_columns(pl.col("bad").str.split(" ")).explode("bad")
    is_masks = pl.col("bad").str.split("=").list.last().map_elements(is_broken, return_dtype=pl.Boolean)
    bad = bad.filter(~is_masks)
    bad = bad.with_columns(pl.col("bad").str.split("=").list.first().alias("name")).sort("rank", "file", "line")
    for (of, name), rows in bad.group_by("of", "name", maintain_order=True):
        if len(job) > 1 and _ranks(rows) == job and _is_of_state(str(of), str(name), told):
            return rows.unique("rank", keep="first", maintain_order=True).drop("name").to_dicts()
    return []


def lost_by_all(values: pl.DataFrame, job: frozenset[int], until: int) -> dict[str, Any] | None:
    """What the ranks hold, or their gradients, that all who tell it lost in one step before that one, and none ever had as a number again: its first row."""
    own = without_passing(values.filter(pl.col("rank").is_in(sorted(job)) & pl.col("step").is_not_null()))
    told = told_values(own, at_first=True)
    is_lost = pl.col("bad").all().over("of", "name", "step")
    last = pl.col("step").filter(~is_lost).max().over("of", "name")
    is_once = (pl.col("step").filter(pl.col("step") < until).n_unique() == 1).over("of", "name")
    told = told.with_columns(last.alias("_last"), is_once.alias("_once"))
    since = told.filter(is_lost & (pl.col("step") > pl.col("_last").fill_null(_BEFORE)) & (pl.col("step") < until))
    for row in since.sort("step", "rank", "file", "line", "place").iter_rows(named=True):
        said = frozenset(words_of(_called(row["of"], row["name"])))
        # What never was a number may be empty; not so what was made so right before.
        if said & (STATE | _UPDATED | MADE) if row["_last"] is not None else said & STATE and row["_once"]:
            return row
    return None


def _is_of_state(of: str, name: str, told: pl.DataFrame) -> bool:
    """Is a figure of what a rank holds, by its words or, where these say nothing, by those of most lines of its form (a list of all parameters)?"""
    words = frozenset(words_of(_called(of, name)))
    if words & (STATE | MADE):
        return not words & MADE
    _, _, form = of.partition(" ")
    named = [one.partition(" ") for one in told["of"].unique().to_list() if one != of] if form else []
    beside = [frozenset(words_of(own)) for own, _, its_form in named if its_form == form]
    of_state = [one for one in beside if one & STATE and not one & MADE]
    return len(beside) >= _LISTED and 2 * len(of_state) > len(beside)


def is_its_own(found: OddValue) -> bool:
    """Did the rank lose a loss and the norm of its own gradients alone, which all others had as numbers in that step? Whatever the layout, what is not
    finite in the backward of another is in its gradients, too."""
    names = [_called(of, name).rpartition("… ")[2] for of, _, name in (one.rpartition(" ") for one in found.others)]
    said = [one for name in names if (one := vocabulary.meaning_of(name)) is not None]
    is_loss = any(word.endswith(("loss", "losses")) for name in names for word in words_of(name))  # `ploss` of a policy
    is_loss |= any(one.meaning in ("loss", "part_loss") for one in said)
    return is_loss and any(one.meaning == "own_grad_norm" for one in said)


def called(found: OddValue | Mapping[str, Any]) -> str:
    """What its first figure is called."""
    if isinstance(found, OddValue):
        return _called(found.of, found.name)
    return _called(found["of"], found["bad"].partition("=")[0])


def module_of(found: OddValue) -> str:
    """The one module that its record names by a path; else what its figure is called."""
    paths = {*_PATH.findall(found.of)}
    return paths.pop() if len(paths) == 1 else called(found)


def _called(of: str, name: str) -> str:
    """By the record and its name; in a line by the words before the first figure and before this one."""
    if not name.isdigit():
        return f"{of} {name}".strip()
    place = int(name)
    parts = [part.strip(_EDGE) for part in of.rpartition(" - ")[2].split("#")]
    if not place or not parts[0]:
        return parts[min(place, len(parts) - 1)]
    own = parts[place] if place < len(parts) else ""
    return f"{parts[0]} … {own}" if own else f"{parts[0]} [{place}]"
