"""Bad values that only arrived: messages between pipeline stages are often not recorded, so a stage that got what another
one made looks like an origin of its own.

A gradient that comes bad into a stage whose forward pass was clean on every rank was sent from a later stage: what was
born in the forward pass of the same micro-batch explains it, unless such gradients also came into stages that it cannot
have sent them to. A bad input that begins the forward pass of one stage is explained by a birth of the same micro-batch
on another stage, into which nothing bad came on any rank; where stages call their parts alike, by a birth on whoever feeds
it. What arrives on more replicas than have a birth is not explained by it.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

import polars as pl

from forensics.graph.numerics.births import Births
from forensics.graph.numerics.feeders import ahead_of
from forensics.graph.numerics.hidden import replicas_of
from forensics.graph.numerics.taint import Root
from parsers.text.rank_list import rank_list

_SITE = ("step", "phase", "module", "op")
_FORWARD = pl.col("phase").fill_null("forward") == "forward"
_OUTWARD = ("op", "state", "comm", "overflow", "missing")  # births whose value is seen to be made there


def without_arrivals(births: Births, roots: Sequence[Root]) -> list[Root]:
    """Roots but those that a forward birth of another stage explains."""
    sources = [root for root in roots if root.birth in _OUTWARD and _is_forward(births, root)]
    if not sources:
        return list(roots)
    sites: dict[tuple[object, ...], list[Root]] = {}
    for root in roots:
        if root.birth == "input" or is_sent_back(births, root):
            sites.setdefault(tuple(births.ops[name][root.at] for name in _SITE), []).append(root)
    first = entrances(births)
    explained: set[int] = set()
    unexplained: set[object] = set()  # steps in which gradients came bad from elsewhere
    for (step, *_), found in sites.items():
        senders, most = _senders(births, found[0], sources, first), _most_replicas(births, found)
        for root in found:
            same = [one for one in senders if _is_one_pass(births, root, one)]
            if (same and most <= len({one.rank for one in same})) or _is_fed(births, root, sources):
                explained.add(id(root))
            elif root.birth != "input":
                unexplained.add(step)

    def is_explained(root: Root) -> bool:
        return id(root) in explained and (root.birth == "input" or births.ops["step"][root.at] not in unexplained)

    return [root for root in roots if not is_explained(root)]


Entrance = tuple[str | None, int]


def entrances(births: Births) -> dict[int | None, Entrance]:
    """Rank → the module that its forward pass begins with, in the step of which most rows are kept, and the first of the ranks that run what it runs
    behind it: stages may call what they receive alike."""
    forward = births.history.lazy().filter(_FORWARD & pl.col("kind").is_null())
    steps = forward.group_by("rank", "step").agg(pl.col("module").first(), pl.len())
    steps = steps.sort("len", "step", descending=[True, False])
    first = steps.group_by("rank").agg(pl.col("module").first()).collect()
    ran = forward.select("rank", "module").unique().collect()
    alike = _alike(ran.join(first, on=["rank", "module"], how="anti", nulls_equal=True))
    most = {module: alike[rank] for rank, module in first.sort("rank", descending=True).iter_rows() if rank in alike}
    return {rank: (module, alike.get(rank, most.get(module, 0))) for rank, module in first.iter_rows()}


def _alike(ran: pl.DataFrame) -> dict[int | None, int]:
    """Rank and module → rank → the first of those that are joined with it by modules that both run."""
    ran = ran.with_columns(pl.col("rank").alias("_first"))
    while ran.height:
        of_module = ran.with_columns(pl.col("_first").min().over("module"))
        joined = of_module.with_columns(pl.col("_first").min().over("rank"))
        if joined["_first"].equals(ran["_first"]):
            break
        ran = joined
    return dict(ran.select("rank", "_first").unique().iter_rows())


def gradient_groups(births: Births, module: str | None) -> Mapping[int, frozenset[int]]:
    """Rank → the ranks with the same part of a module: the stated group over which its gradient is summed."""
    sync = (pl.col("phase") == "grad_sync") & pl.col("kind").is_not_null() & pl.col("group_ranks").is_not_null()
    named = pl.col("module").fill_null("").str.replace(r"\.(?:weight|bias)$", "") == (module or "")
    calls = births.rows.filter(sync & named).unique("rank", keep="first", maintain_order=True)
    return {rank: frozenset(rank_list(text) or ()) for rank, text in calls.select("rank", "group_ranks").iter_rows()}


def _is_forward(births: Births, root: Root) -> bool:
    """A message of which only is told that it is one belongs to what its rank computes next."""
    phase = births.ops["phase"][root.at]
    if phase != "comm":
        return phase in ("forward", None)
    after = (pl.col("rank") == births.ops["rank"][root.at]) & (pl.col("place") > births.ops["first_bad"][root.at])
    later = births.rows.filter(after & pl.col("kind").is_null() & pl.col("role").is_not_null())
    return later.height > 0 and later["phase"][0] in ("forward", None)


def is_sent_back(births: Births, root: Root) -> bool:
    """A gradient that no recorded call brought."""
    is_backward = births.ops["phase"][root.at] == "backward" and came_in(births, root)
    return root.birth == "window" and is_backward and root.suspects == {root.rank}


def came_in(births: Births, root: Root) -> bool:
    """Whether the bad value came into its operation, or may have: no input of it is recorded."""
    role, ins = births.ops["first_role"][root.at], births.ops["ins"][root.at]
    return role == "in" or (role == "out" and not ins)


def _is_one_pass(births: Births, root: Root, source: Root) -> bool:
    """Of one micro-batch, as far as both tell theirs."""
    told = {births.ops["microbatch"][one.at] for one in (root, source)}
    return len(told - {None}) < 2


def _is_fed(births: Births, root: Root, sources: Sequence[Root]) -> bool:
    """Was it born in the same pass on one of those who feed this rank?"""
    step, ahead = births.ops["step"], ahead_of(root.rank, births.fed)
    born = [one for one in sources if one.rank in ahead and step[one.at] == step[root.at]]
    return root.birth == "input" and any(_is_one_pass(births, root, one) for one in born)


def _senders(births: Births, root: Root, sources: Sequence[Root], first: Mapping[int | None, Entrance]) -> list[Root]:
    """Births of the same step, on another stage, that may have sent it. `first`: of `entrances`."""
    step = births.ops["step"][root.at]
    found = [one for one in sources if births.ops["step"][one.at] == step]
    here = births.rows.filter((pl.col("step") == step) & _FORWARD & pl.col("role").is_not_null())
    if root.birth != "input":
        ran = set(here.filter(pl.col("module").eq_missing(pl.lit(births.ops["module"][root.at])))["rank"].to_list())
        return found if ran and ran.isdisjoint(here.filter("bad")["rank"].to_list()) else []
    came = here.filter((pl.col("role") == "in") & pl.col("bad") & pl.col("kind").is_null()).select("rank", "module")
    reached = {first[rank] for rank, module in came.unique().iter_rows() if rank in first and module == first[rank][0]}
    return [one for one in found if one.birth in ("op", "state") and first.get(one.rank) not in reached]


def _most_replicas(births: Births, found: Sequence[Root]) -> int:
    """On how many replicas of one part of the module these stand: by the groups that sum its gradient; where none is stated, by
    equal parameters, if ranks hold other parts of it, or all of them hold the same; 1 where neither tells."""
    step, module = (births.ops[name][found[0].at] for name in ("step", "module"))
    groups = gradient_groups(births, module)
    ranks = {root.rank for root in found if root.rank is not None}
    if groups.keys() & ranks:
        return max(len(groups[rank] & ranks) for rank in ranks if rank in groups)
    parts = replicas_of(births, module, step)
    return max(Counter(parts[rank] for rank in ranks if rank in parts).values(), default=1)
