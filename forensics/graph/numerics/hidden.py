"""Communication that no row shows: DDP, FSDP and DTensor exchange gradients, shards and partial results by themselves.

A module whose result several ranks make together (a row-parallel linear layer, an expert) turns bad on all of them at
once, from inputs that are clean on all but one. Whether ranks hold replicas of a module or parts of it is seen by its
parameters: replicas have equal figures, parts have not.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import prod
from typing import Any

import msgspec
import polars as pl

from forensics.graph.numerics.births import Births
from forensics.graph.numerics.feeders import in_line
from forensics.graph.numerics.taint import Root
from forensics.model.told import values

_SITE = ("step", "microbatch", "chunk", "phase", "module", "op")
_FIGURES = ("module", "tensor", "min", "max", "mean", "l2norm", "absmax", "checksum")
_AFTER = ("backward", "grad_sync", "optimizer")


class Site(msgspec.Struct, frozen=True):
    """One operation as all ranks run it. `ran`: ranks with rows of it; `fed`: those whose input or parameter was bad
    there; `parts`: rank → number of its part of the module, empty where no parameters are recorded; `shown`: calls made
    during the forward pass are recorded; `scatters`: its output has fewer rows than its input, so each rank has kept a
    slice of what all have made; `extremes`: of the parameters only the smallest and the largest value were compared."""

    ran: frozenset[int]
    fed: frozenset[int]
    parts: Mapping[int, int]
    shown: bool
    scatters: bool
    extremes: bool

    def are_replicas(self, ranks: Iterable[int]) -> bool:
        """Whether all of these ranks are known to hold the same."""
        found = {self.parts.get(rank) for rank in ranks}
        return len(found) == 1 and None not in found

    @property
    def is_uneven(self) -> bool:
        """Some part has fewer holders than another: a rank that held it left nothing. Extremes of short numbers agree by
        chance, on a few ranks of many: that would leave more to be missing than half of those that are there."""
        holders = Counter(self.parts.values())
        missing = max(holders.values(), default=0) * len(holders) - len(self.parts)
        return missing > 0 and not (self.extremes and 2 * missing > len(self.parts))

    def may_be_joint(self, ranks: Iterable[int]) -> bool:
        """Whether these ranks may have made the result together, unseen."""
        if self.shown:
            return False
        return not self.are_replicas(ranks) if self.parts else True


def name_of(births: Births, root: Root) -> tuple[Any, ...]:
    """What an operation is called on every rank."""
    return tuple(births.ops[name][root.at] for name in _SITE)


def site_of(births: Births, name: Sequence[Any]) -> Site:
    """`name`: of `name_of`."""
    same = [pl.col(column).eq_missing(pl.lit(value)) for column, value in zip(_SITE, name, strict=True)]
    rows = births.rows.filter(pl.all_horizontal(same))
    into = rows.filter(pl.col("role").is_in(["in", "state"]) & pl.col("bad"))
    step, module = name[0], name[_SITE.index("module")]
    same_module = births.rows.filter(pl.col("module").eq_missing(pl.lit(module)))
    return Site(
        ran=frozenset(rows["rank"].to_list()),
        fed=frozenset(into["rank"].to_list()),
        parts=_parts(same_module, step),
        shown=_is_shown(births, step),
        scatters=_scatters(rows),
        extremes=_are_extremes(same_module),
    )


def whole_parts(births: Births, step: int) -> Mapping[int, int]:
    """As `Site.parts`, of the whole model; ranks that run other modules have no number."""
    shared = births.rows.filter(pl.col("base") == "param")
    common = shared.group_by("module").agg(pl.col("rank").n_unique().alias("ranks"))
    several = common.filter(pl.col("ranks") > 1)["module"].implode()
    return _parts(shared.filter(pl.col("module").is_in(several)), step)


def replicas_of(births: Births, module: str | None, step: int) -> Mapping[int, int]:
    """Rank → number of its part of a module: ranks whose parameters of it are equal in every figure hold the same."""
    return _parts(births.rows.filter(pl.col("module").eq_missing(pl.lit(module))), step)


def has_parts(parts: Mapping[int, int]) -> bool:
    """Whether some ranks hold other figures than others."""
    return len(set(parts.values())) > 1


def _parts(rows: pl.DataFrame, step: int) -> Mapping[int, int]:
    """Ranks with equal parameters have equal numbers; by the newest pass that most ranks show clean. What is bad on one
    rank in a pass is compared on none."""
    params = rows.filter((pl.col("base") == "param") & (pl.col("step") <= step))
    tensor = ["step", "phase", "module", "tensor"]
    spoiled = params.filter("bad").select(tensor).unique()
    clean = params.filter(~pl.col("bad")).join(spoiled, on=tensor, how="anti", nulls_equal=True, maintain_order="left")
    first = clean.unique(["rank", "step", "phase", "module", "tensor"], keep="first", maintain_order=True)
    figures = pl.struct(_FIGURES).sort_by("module", "tensor").alias("figures")
    whole = first.group_by("step", "phase", "rank", maintain_order=True).agg(figures)
    passes = whole.group_by("step", "phase").agg(pl.len(), pl.col("rank", "figures"))
    if not passes.height:
        return {}
    best = passes.sort("len", "step", "phase", descending=[True, True, False], nulls_last=True).row(0, named=True)
    numbers: dict[str, int] = {}
    return {
        rank: numbers.setdefault(str(held), len(numbers))
        for rank, held in zip(best["rank"], best["figures"], strict=True)
    }


def _are_extremes(rows: pl.DataFrame) -> bool:
    """Whether nothing but extremes tells a parameter from another."""
    params = rows.filter(pl.col("base") == "param")
    return not any(params[name].is_not_null().any() for name in ("mean", "l2norm", "checksum"))


def _scatters(rows: pl.DataFrame) -> bool:
    """By the shapes, where they are recorded: all dimensions but the last count the rows of a tensor."""
    sizes: dict[str, int] = {}
    for role, text in rows.filter(pl.col("role").is_in(["in", "out"])).select("role", "shape").iter_rows():
        shape = json.loads(text) if text else []
        if isinstance(shape, list) and len(shape) > 1 and all(isinstance(size, int) for size in shape):
            sizes[role] = max(sizes.get(role, 0), prod(shape[:-1]))
    return sizes.get("out", 0) < sizes.get("in", 0) and "out" in sizes


def lone_ranks(births: Births) -> frozenset[int]:
    """Ranks that share no module with another one."""
    rank = pl.col("rank")
    shared = (rank.min() != rank.max()).over("module")
    many = births.history.lazy().filter(pl.col("kind").is_null()).filter(shared).select(rank.unique()).collect()["rank"]
    return births.ranks - frozenset(many.to_list())


def is_sampled(births: Births, roots: Sequence[Root]) -> bool:
    """Whether a birth lies where statistics were left out: steps, layers, one side of the operations, or a tensor
    without figures right before it."""
    if births.gapped or _has_holes(births):
        return True
    local = births.history.select("kind", "role").filter(pl.col("kind").is_null())
    roles = values(local["role"])
    return not {"in", "out"} <= roles or any(_is_dark(births, root) for root in roots)


def _has_holes(births: Births) -> bool:
    """Of numbered layers some have no row: layers.0, layers.4, layers.8."""
    names = births.history.select(pl.col("module").unique())["module"]
    numbers = names.str.extract(r"\.(\d+)(?:\.|$)", 1).cast(pl.Int64).drop_nulls().unique()
    prefixes = names.str.extract(r"^(.*?)\.\d+(?:\.|$)", 1).drop_nulls().n_unique()
    return prefixes == 1 and len(numbers) > 1 and len(numbers) < numbers.max() - numbers.min() + 1  # type: ignore[operator]


def _is_dark(births: Births, root: Root) -> bool:
    start, end = births.ops["prev_ok"][root.at], births.ops["first_bad"][root.at]
    between = births.rows.filter(
        (pl.col("rank") == births.ops["rank"][root.at])
        & (pl.col("place") > (-1 if start is None else start)) & (pl.col("place") <= end)
    )  # fmt: skip
    return bool((between["bad"].is_null() & between["role"].is_not_null()).any())


def _is_shown(births: Births, step: int) -> bool:
    """Whether some rank shows a call before the last operation of its forward pass."""
    known = births.rows.select("rank", "step", "place", "phase", "kind", "role", "inferred")
    rows = known.filter((pl.col("step") == step) & pl.col("role").is_not_null())
    forward = pl.col("kind").is_null() & ~pl.col("phase").is_in(_AFTER).fill_null(False)
    called = pl.col("kind").is_not_null() & ~pl.col("inferred") & ~pl.col("phase").is_in(_AFTER).fill_null(False)
    ends = rows.group_by("rank").agg(
        pl.col("place").filter(forward).max().alias("end"), pl.col("place").filter(called).min().alias("call")
    )  # fmt: skip
    return bool((ends["call"] < ends["end"]).any())


def without_echoes(births: Births, roots: Sequence[Root]) -> list[Root]:
    """Roots but those born from clean inputs in an operation that another rank, which may have made it together with
    them, entered with a bad input or parameter. Where not all inputs are known, the other's own birth must be seen."""
    sites: dict[tuple[Any, ...], list[Root]] = {}
    for root in roots:
        is_told = any(births.ops[column][root.at] is not None for column in ("module", "op"))  # else any may be meant
        if root.birth in ("op", "window") and births.ops["kind"][root.at] is None and is_told:
            sites.setdefault(name_of(births, root), []).append(root)
    seen = {root.rank for root in roots if root.birth in ("op", "state", "input")}
    echoes: set[int] = set()
    for name, found in sites.items():
        site = site_of(births, name)
        for root in found:
            others = site.fed - {root.rank} if root.birth == "op" else (site.fed & seen) - {root.rank}
            others = frozenset(other for other in others if not in_line(root.rank, other, births.fed))
            if root.rank is not None and any(site.may_be_joint((root.rank, other)) for other in others):
                echoes.add(id(root))
    return [root for root in roots if id(root) not in echoes]


def earliest(births: Births, roots: Sequence[Root]) -> Sequence[Root]:
    """Of ranks that run the same program those whose first bad row stands first in the step; all where they differ."""
    steps = {births.ops["step"][root.at] for root in roots}
    programs = {_program(births, root) for root in roots}
    if len(roots) < 2 or len(steps) > 1 or len(programs) > 1:
        return roots
    offsets = [_offset(births, root) for root in roots]
    return [root for root, offset in zip(roots, offsets, strict=True) if offset == min(offsets)]


def _own_step(births: Births, root: Root) -> pl.DataFrame:
    mine = (pl.col("rank") == births.ops["rank"][root.at]) & (pl.col("step") == births.ops["step"][root.at])
    return births.rows.filter(mine)


def _program(births: Births, root: Root) -> tuple[tuple[str | None, ...], ...]:
    rows = _own_step(births, root).filter(pl.col("kind").is_null())
    return tuple(rows.select("phase", "module", "op").unique(maintain_order=True).iter_rows())


def _offset(births: Births, root: Root) -> int:
    first: Any = _own_step(births, root)["place"][0]
    return int(births.ops["first_bad"][root.at]) - int(first)
