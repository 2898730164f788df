"""Which ranks compute from data of their own and share nothing with others before gradients are averaged, and whose loss went bad.

Tensor-parallel mates print the same loss, and stages of a pipeline but the last print none. So where most ranks of the
job print a loss that is no other rank's, over several steps, the layout is plain data parallel; arguments may say so, too. Then a
bad value that a rank made before the averaging is that rank's alone. Where ranks print the loss of others in parts of one size, a
part is a replica of the model: the value is of one of its ranks. Experts take what other ranks send, whatever loss these print; where anything
tells of them, or of an axis along which ranks share the work on one sample, differing losses prove nothing.
A trainer that has no stages of a pipeline tells by its frames below a failure that a loss is of the rank that computed it, and of its mates in a layer.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec
import polars as pl

from parsers.schema.tables import TableName, Tables
from parsers.text.layouts import DIVIDED, OF_EXPERTS
from parsers.text.patterns import regex

_STEPS = 5  # with a finite loss of most ranks, for ranks to share it
_DIFFER = 4  # such steps, for each to have its own: mates would print the same in every one
_RANKS = 3  # of which one is unlike the others
_TELL = 3 * _DIFFER  # losses that say as much, of more ranks in fewer steps
_BY_CHANCE = 1 / 3  # of its steps may a rank print another's loss: four digits are few
NO_STEP = -1  # of what was bad at moments of which no step is told
_ROUNDED = 5e-4  # of a loss, between the largest and the least of all ranks: the same one, each rounded on its way
_OUTLIER = 1e6  # times the loss of the others, or 1 where that is less
_ONES = ("tensor_model_parallel_size", "pipeline_model_parallel_size")
_EXPERTS = ("expert_model_parallel_size", "expert_parallel_size", "ep_size", "moe_ep_size")
_MANY = (OF_EXPERTS, "num_experts", "num_moe_experts")
_OF_EXPERTS = (
    r"(?i)(?:^|[^a-z])(?:moe|experts?|routers?|dispatch(?:ed)?|a2a|all[_-]?(?:to|2)[_-]?all|unpermuted?)(?:[^a-z]|$)"
)
_NAMES: Mapping[TableName, tuple[str, ...]] = {
    "values": ("of", "fine", "bad"),
    "steps": ("figures",),
    "timings": ("name", "phase"),
}
_DIVIDED = (*_ONES, "context_parallel_size")

_LOSS = r"(?i)[^ =]*loss(?:es)?\b"
_STAGELESS = regex(
    r"/(?:pytorch_)?lightning/(?:pytorch|fabric|trainer|loops)/|/transformers/trainer\.py$|/torch/nn/parallel/distributed\.py$|/(?:mmengine|mmcv|ignite)/|"
    r"/composer/trainer/|/(?:timm|fastai|detectron2|catalyst)/"
)
_STAGES = regex(r"(?i)pipelin|megatron|deepspeed/runtime/pipe|colossalai|[/_.](?:pp|tp|mp)_|tensor_parallel")


class OwnLoss(msgspec.Struct, frozen=True):
    """The lines of the ranks whose loss was bad in the first such step, by rank; `is_finite`: far from the others', and no NaN. `name`: what the
    figure is called, in `loss` of the lines; `times`: how far it is at least; `is_back`: whether it came near the others' again, where that is known;
    `beside`: what else of the rank is far in that step; `is_carried`: the losses of all others rose right after it."""

    step: int
    rows: Sequence[Mapping[str, Any]]
    is_finite: bool
    name: str = "loss"
    times: float = 1e6
    is_back: bool | None = None
    beside: tuple[str, ...] = ()
    is_carried: bool = False


def is_data_parallel(tables: Tables, job: frozenset[int]) -> bool:
    """Tables of an attempt, and its ranks → whether the values of each rank are its own. False where nothing tells."""
    if len(job) < 2 or has_experts(tables) or is_divided(tables):
        return False
    # What two ranks print may differ for other reasons.
    is_shown = len(job) > 2 and _losses_differ(tables["steps"], max(job) + 1) and _is_one_work(tables)
    return is_shown or is_told(tables, job)


def mates(tables: Tables, job: frozenset[int]) -> tuple[frozenset[int], ...]:
    """The ranks in parts of several that each print one loss over several steps, all of one size and three or more, where every rank of
    the job prints it; else none."""
    if not tables["steps"]["loss"].count():
        return ()
    own = _own(tables["steps"], max(job, default=0) + 1)
    own = own.filter(pl.len().over("step") == len(job))
    told = own.group_by("rank").agg(pl.col("step"), pl.col("loss")).filter(pl.col("step").list.len() >= _STEPS)
    parts = told.group_by("step", "loss").agg("rank")["rank"].to_list()
    sizes = {len(part) for part in parts}
    is_whole = len(sizes) == 1 and sizes != {1} and sum(len(part) for part in parts) == len(job)
    return tuple(frozenset(part) for part in parts) if is_whole and len(parts) > 2 and not has_experts(tables) else ()


def own_loss(tables: Tables, job: frozenset[int], parts: Sequence[frozenset[int]]) -> OwnLoss | None:
    """Tables, ranks, the parts that share a loss → whose loss went bad first, where that of more than half of the job was fine in
    that step and, with parts of more than one, all of a part went bad and all others were fine."""
    if not tables["steps"]["loss"].count():
        return None
    train = pl.col("phase").fill_null("train") == "train"
    every = tables["steps"].filter(train & pl.col("rank").is_in(sorted(job)) & pl.col("loss").is_not_null())
    told = _in_parts(every.filter(pl.col("step").is_not_null()), job)
    size = pl.when(pl.col("loss").is_finite()).then(pl.col("loss").abs())
    usual = pl.max_horizontal(size.median().over("step"), pl.lit(1.0))
    told = told.with_columns(
        (~pl.col("loss").is_finite()).alias("_lost"), (size > _OUTLIER * usual).fill_null(False).alias("_far")
    )
    bad = pl.col("_lost") | pl.col("_far")
    step = told.filter(bad)["step"].min()
    if not isinstance(step, int):
        return None if any(len(part) > 1 for part in parts) else _at_moments(every, job)
    rows = told.filter(pl.col("step") == step)
    fine = rows.filter(~bad).height
    # Of two, one that is no number beside one that is; how large a loss may be is told by more.
    is_of_two = len(job) == 2 and fine == 1 and bool(rows.filter("_lost").height)
    if 2 * fine <= len(job) and not is_of_two:
        return None
    found = rows.filter(bad).sort("rank")
    ranks = frozenset(found["rank"].to_list())
    if ranks & counts_apart(every, job):
        return None
    is_of_parts = all(part <= ranks or not part & ranks for part in parts)
    if any(len(part) > 1 for part in parts) and not (is_of_parts and rows.height == len(job)):
        return None
    return OwnLoss(step, found.drop("_lost", "_far").to_dicts(), not found["_lost"].any())


def _at_moments(told: pl.DataFrame, job: frozenset[int]) -> OwnLoss | None:
    """Of gauges, whose moments tell no step: the rank whose loss was no number at two moments, while each of all others showed one then or later, and
    none that was bad before. Ranks are within a step of each other, so it began there. Of one file, whose moments are by one clock."""
    told = told.filter(pl.col("time_ns").is_not_null()).sort("time_ns")
    bad = told.filter(~pl.col("loss").is_finite())
    told, bad = (rows.filter(pl.col("file").is_in(bad["file"].head(1).implode())) for rows in (told, bad))
    if len(job) < _RANKS or not bad.height or {*told["rank"].unique()} != job:
        return None
    odd = bad.filter(pl.col("rank") == bad["rank"][0])
    others = told.filter(pl.col("rank") != odd["rank"][0])
    lost = pl.col("time_ns").filter(~pl.col("loss").is_finite()).min()
    fine = others.group_by("rank").agg(
        pl.col("time_ns").filter(pl.col("time_ns") < lost.fill_null(1 << 62)).max().alias("until")
    )
    if odd.height < 2 or not (fine["until"] >= odd["time_ns"][1]).fill_null(False).all():
        return None
    return OwnLoss(NO_STEP, odd.head(1).to_dicts(), False)


def is_told(tables: Tables, job: frozenset[int]) -> bool:
    """By arguments and in words: nothing but replicas, or as many as the job has ranks where what these print does not deny it."""
    settings = tables["settings"]
    if not settings.height:
        return False
    said = {
        name: set(settings.filter(pl.col("name") == name)["value"].to_list())
        for name in (*_ONES, "data_parallel_size", "world_size")
    }
    if any(said[name] - {"1"} for name in _ONES):
        return False
    alone = said["data_parallel_size"]
    if all(said[name] for name in _ONES) or (len(alone) == 1 and alone == said["world_size"]):
        return True
    is_whole = alone == {str(len(job))} and job == frozenset(range(len(job))) and not said["world_size"]
    return is_whole and not _losses_shared(tables["steps"], len(job))


def has_no_stages(tables: Tables, ranks: Collection[int]) -> bool:
    """Whether each of these ranks raised something within a trainer that gives all ranks the whole model, or layers of it that mates compute together, and no frame of
    anybody is of what cuts a model into stages."""
    stacks = tables["stacks"].filter(pl.col("source") == "traceback").select("rank", "frames")
    told = [(rank, [str(frame["file"] or "") for frame in frames]) for rank, frames in stacks.iter_rows()]
    if has_experts(tables) or any(_STAGES.search(file) for _, files in told for file in files):
        return False
    return {*ranks} <= {rank for rank, files in told if any(map(_STAGELESS.search, files))}


def has_experts(tables: Tables) -> bool:
    """Whether arguments, or the names of modules that were checked or of figures, tell of experts that may be on other ranks."""
    settings, events = tables["settings"], tables["events"]
    spread = settings.filter(pl.col("name").is_in(_EXPERTS))["value"]
    many = settings.filter(pl.col("name").is_in(_MANY) & ~pl.col("value").is_in(["0", "1", "None"]))
    checked = events.filter(
        (pl.col("kind") == "nan_assert") & pl.col("detail").str.contains(r'"module": "[^"]*(?i:expert|moe)')
    )
    told = ((tables.get(name), columns) for name, columns in _NAMES.items())
    named = any(
        rows[column].cast(pl.String).str.contains(_OF_EXPERTS).any()
        for rows, columns in told
        if rows is not None
        for column in columns
    )
    is_told = not {*spread} <= {"1", "0", "None"} or (bool(many.height) and not spread.len())
    return is_told or bool(checked.height or named or events.filter(pl.col("kind") == "expert_load").height)


def is_divided(tables: Tables) -> bool:
    """Whether anything tells of an axis along which ranks share the work on one sample."""
    settings = tables["settings"]
    larger = pl.col("name").is_in(_DIVIDED) & ~pl.col("value").is_in(["0", "1", "None"])
    return bool(settings.filter(larger | (pl.col("name") == DIVIDED)).height)


def are_of_all(tables: Tables, job: frozenset[int]) -> bool:
    """Is the loss that ranks print that of all, on each of them?"""
    return _are_alike(_own(tables["steps"], max(job, default=0) + 1))


def _are_alike(most: pl.DataFrame) -> bool:
    """Do the losses of a step differ by no more than each may have rounded it?"""
    loss = pl.col("loss")
    spread = (
        most.group_by("step").agg(((loss.max() - loss.min()) / loss.abs().max()).alias("spread"))["spread"].median()
    )
    return isinstance(spread, float) and spread <= _ROUNDED


def _is_one_work(tables: Tables) -> bool:
    """Has no rank a loss under names that another one never tells, as an encoder and a decoder, or two nets that learn from each other, have?"""
    values = tables.get("values")
    if values is None or not values.height:
        return True
    names = pl.concat_str(
        pl.col("fine").cast(pl.String), pl.col("bad"), separator=" ", ignore_nulls=True
    ).str.extract_all(_LOSS)
    told = values.filter(pl.col("rank").is_not_null()).select("rank", names.alias("name")).explode("name").drop_nulls()
    own = [frozenset(found) for found in told.unique().group_by("rank").agg("name")["name"].to_list()]
    return not own or bool(frozenset.intersection(*own))


def counts_apart(steps: pl.DataFrame, job: frozenset[int]) -> frozenset[int]:
    """The ranks whose records begin and end as many steps before those of most, which begin and end alike: they count from another number."""
    told = steps.filter(pl.col("rank").is_in(sorted(job)) & pl.col("step").is_not_null())
    ends = told.group_by("rank").agg(pl.col("step").min().alias("first"), pl.col("step").max().alias("last"))
    usual = ends.group_by("first", "last").len().filter(2 * pl.col("len") > len(job))
    if len(job) < _RANKS or usual.height != 1:
        return frozenset()
    first, last, _ = usual.row(0)
    shift = first - pl.col("first")
    return frozenset(ends.filter((shift > 0) & (shift == last - pl.col("last")))["rank"].to_list())


def _own(steps: pl.DataFrame, world: int) -> pl.DataFrame:
    """The finite losses of ranks in steps in which most tell one; `shared`: two tell the same."""
    train = pl.col("phase").fill_null("train") == "train"
    own = steps.filter(train & pl.col("rank").is_between(0, world - 1) & pl.col("loss").is_finite())
    own = own.with_columns(pl.coalesce("step", "time_ns").alias("step"))  # what a panel shows of one moment
    own = _comparable(own.filter(pl.col("step").is_not_null()))
    own = own.filter(2 * pl.len().over("step") > world).sort("step")
    return own.with_columns((pl.len().over("step", "loss") > 1).alias("shared"))


def _comparable(steps: pl.DataFrame) -> pl.DataFrame:
    """One loss of each rank and step: of several, what stands where most ranks tell theirs (files of one shape of name). A console of
    rank 0 beside files of all prints the mean of all."""
    shape = pl.col("file").cast(pl.String).str.replace_all(r"\d+", "#")
    alike = pl.col("rank").n_unique().over("_shape")
    listed = steps.with_columns(shape.alias("_shape")).with_columns(alike.alias("_alike"))
    listed = listed.sort("_alike", "file", "line", descending=[True, False, False])
    first = listed.unique(["rank", "step"], keep="first", maintain_order=True)
    return first.drop("_shape", "_alike").sort("file", "line")


def _in_parts(steps: pl.DataFrame, job: frozenset[int]) -> pl.DataFrame:
    """The same as _comparable; of steps of which every rank tells equally many losses, one after the other, those of the part (a micro-batch) in which
    one was bad first."""
    count = pl.len().over("step", "rank", "file")
    told = steps.sort("file", "line").with_columns(
        pl.int_range(pl.len()).over("step", "rank", "file").alias("_part"), count.alias("_parts")
    )
    is_alike = (pl.col("_parts").n_unique() == 1) & (pl.len() == len(job) * pl.col("_parts").first())
    lost = ~pl.col("loss").is_finite()
    first = pl.col("_part").filter(lost).min()
    told = told.with_columns(pl.when(is_alike.over("step")).then(first.over("step")).alias("_first"))
    told = told.filter((pl.col("_part") == pl.col("_first").fill_null(0)) | pl.col("_first").is_null())
    return _comparable(told.drop("_part", "_parts", "_first"))


def _losses_shared(steps: pl.DataFrame, world: int) -> bool:
    """Do ranks print the loss of another in most of several steps?"""
    most = _own(steps, world)
    return most["step"].n_unique() >= _DIFFER and most["shared"].sum() > _BY_CHANCE * most.height


def _losses_differ(steps: pl.DataFrame, world: int) -> bool:
    """Of more than half of the ranks: two of these would be mates, or print nothing, if there were any other layout. Many ranks say so in
    fewer steps, in none of which two of them may print the same then."""
    most = _own(steps, world)
    ranks = most.group_by("rank").agg(pl.len().alias("steps"), pl.col("shared").mean())
    if _are_alike(most):
        return False
    if most["step"].n_unique() in range(2, _DIFFER) and most.height >= _TELL and not most["shared"].any():
        return 2 * ranks.filter(pl.col("steps") > 1).height > world
    ranks = ranks.filter(pl.col("steps") >= _DIFFER)
    return 2 * ranks.height > world and bool((ranks["shared"] <= _BY_CHANCE).all())
