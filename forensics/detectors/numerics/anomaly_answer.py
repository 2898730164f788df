"""Who made a bad value, as far as the rules of the contract allow to say: named ranks, suspects, or the workload.

`workload` is said only where the rows of all members are there and no rank's own row was bad before; where ranks hold
parts of a module instead of replicas, its result may be made by all of them together, and nobody is named for it.
"""

from collections.abc import Sequence, Set
from typing import Any

import msgspec
import polars as pl

from forensics.detectors.numerics.anomaly_rows import Row, same, value_of
from forensics.graph.numerics.arrivals import came_in, entrances, gradient_groups, is_sent_back
from forensics.graph.numerics.births import Births
from forensics.graph.numerics.feeders import in_line
from forensics.graph.numerics.growth import headroom_bits
from forensics.graph.numerics.hidden import (
    Site,
    earliest,
    has_parts,
    is_sampled,
    lone_ranks,
    name_of,
    site_of,
    whole_parts,
    without_echoes,
)
from forensics.graph.numerics.taint import Root
from forensics.graph.numerics.tensor_rules import STATES
from forensics.model.names import Cause, Domain, Reason


class Answer(msgspec.Struct, frozen=True):
    """`lead`: the root whose first bad row is the first anomaly."""

    lead: Root
    ranks: tuple[int, ...] = ()
    suspects: tuple[int, ...] = ()
    undecided: tuple[Reason, ...] = ()
    domain: Domain = "unknown"
    cause: Cause | None = None


def answer_of(births: Births, roots: Sequence[Root]) -> Answer:
    """`roots`: in order; those of the newest launch that were not gone after their step, or all; without arrivals."""
    every, roots = roots, without_echoes(births, roots)
    shared = _shared(births, roots)
    if shared:
        return _everywhere(births, shared, roots)
    clear = _Clear(births, roots)
    certain = [root for root in roots if root.rank is not None and root.birth in ("op", "comm") and clear.is_own(root)]
    certain = _unsent(births, certain)
    arrived = [root for root in roots if root.birth in ("state", "input") and clear.is_own(root)]
    if certain:  # a bad input beside them may be of their making
        arrived = [root for root in arrived if root.birth == "state"]
        return _named(births, sorted(certain + arrived, key=lambda root: order(births, root)), roots)
    states = [root for root in arrived if root.birth == "state"]
    if states:  # a bad input of a later pipeline stage may be their doing
        arrived = states
    alike = len(set(entrances(births).values())) == 1 and not births.silent
    if not states and any(_is_first(births, root, arrived) for root in roots if root.birth == "window"):
        arrived = []  # who sent them that input was bad before
    made = [root for root in every if root.birth == "op" and root not in roots and not states]
    if arrived and any(births.ops["step"][one.at] == births.ops["step"][arrived[0].at] for one in made):
        # Either made it together with who was given it, or gave it to that one.
        ranks = {root.rank for root in (*arrived, *made) if root.rank is not None}
        return Answer(arrived[0], suspects=tuple(sorted(ranks)), undecided=("tied_explanations",))
    if arrived and (states or alike or births.history["kind"].is_in(["send", "recv"]).any()):
        return _named(births, arrived, roots)
    if clear.doubtful:
        return _doubted(births, clear)
    return _suspected(births, roots)


def _unsent(births: Births, certain: Sequence[Root]) -> list[Root]:
    """Without births of which no input is recorded, in a step in which another rank made a bad value of a good input: they may have been sent it."""
    step, ins = births.ops["step"], births.ops["ins"]
    shown = {(step[root.at], root.rank) for root in certain if root.birth == "op" and ins[root.at]}
    steps = {at for at, _ in shown}
    return [root for root in certain if root.birth != "op" or ins[root.at] or step[root.at] not in steps]


def order(births: Births, root: Root) -> tuple[int, int, int, int]:
    """By step, then by how many calls happened before; never by time."""
    micro = births.ops["microbatch"][root.at]
    return births.ops["step"][root.at], root.order, -1 if micro is None else micro, births.ops["rank"][root.at]


def _is_first(births: Births, root: Root, arrived: Sequence[Root]) -> bool:
    """Whether another rank was bad at least as early in the same step, so that its value may have come to all of these."""
    step = births.ops["step"][root.at]
    return bool(arrived) and all(births.ops["step"][one.at] >= step and one.rank != root.rank for one in arrived)


# --- the same on many ranks ------------------------------------------------------------------------------------------


def _shared(births: Births, roots: Sequence[Root]) -> list[Root]:
    """The first of more than two roots in one operation that are at least half of the ranks that ran it."""
    sites: dict[tuple[Any, ...], list[Root]] = {}
    for root in roots:
        if root.rank is not None:
            key = tuple(births.ops[name][root.at] for name in ("step", "phase", "module", "op"))
            sites.setdefault(key, []).append(root)
    for (_, _, module, op), found in sites.items():
        hit = {root.rank for root in found if root.rank is not None}
        if len(hit) > 2 and not _is_sent(births, found, roots):
            alike = pl.col("module").eq_missing(module) & pl.col("op").eq_missing(op)
            # Of large files a clean rank shows it in few steps.
            ran = set(births.history.filter(alike)["rank"].to_list())
            if any(2 * len(hit) >= len(replicas & ran) for replicas in (ran, _replicas(births, found[0]))):
                return found
    return []


def _is_sent(births: Births, found: Sequence[Root], roots: Sequence[Root]) -> bool:
    """Is no input of these recorded, and did another rank make a bad value of a good input in that step, by an operation of another name?"""
    step, ins = births.ops["step"], births.ops["ins"]
    if any(ins[root.at] for root in found):
        return False
    name, at = name_of(births, found[0]), step[found[0].at]
    return any(
        root.birth == "op" and ins[root.at] and step[root.at] == at and name_of(births, root) != name for root in roots
    )


def _replicas(births: Births, root: Root) -> frozenset[int]:
    """Ranks with the same part of the module: the stated group over which its gradient is summed; else all."""
    groups = gradient_groups(births, births.ops["module"][root.at])
    return groups.get(-1 if root.rank is None else root.rank) or births.ranks | births.silent


def _own_sync(births: Births, root: Root) -> pl.DataFrame:
    """The root's rank's calls for the gradient of the root's module."""
    module = births.ops["module"][root.at] or ""
    sync = (pl.col("rank") == root.rank) & (pl.col("phase") == "grad_sync") & pl.col("kind").is_not_null()
    named = pl.col("module").fill_null("").str.replace(r"\.(?:weight|bias)$", "") == module
    return births.rows.filter(sync & named)


def _everywhere(births: Births, hit: Sequence[Root], roots: Sequence[Root]) -> Answer:
    """The same operation turned bad on many ranks: the workload, unless one of them, or a rank without rows, may have
    spread it by communication that no row shows."""
    lead = hit[0]
    lost = _lost(births, lead)
    if lost:  # what was made from clean inputs came from the ranks that nobody saw
        also = frozenset() if lead.birth == "op" else _unproven(births, roots)
        return Answer(lead, suspects=tuple(sorted(lost | also)), undecided=("culprit_among_missing",))
    cause, gap = _cause(births, lead), births.gapped
    site = site_of(births, name_of(births, lead))
    if _is_arrival(births, lead, site):
        held = _unproven(births, roots)
        reason: Reason = "sampled_statistics" if gap else "tied_explanations" if held else "culprit_among_missing"
        return Answer(lead, suspects=tuple(sorted(held)), undecided=(reason,), cause=cause)
    ranks = {root.rank for root in hit if root.rank is not None}
    if not _is_widespread(births, lead, ranks):
        ranks |= {root.rank for root in roots if root.rank is not None}
        ranks |= _other_stages(births, hit) if is_sent_back(births, lead) else frozenset()
        return Answer(lead, suspects=tuple(sorted(ranks)), undecided=("tied_explanations",), cause=cause)
    if _is_joint(births, lead, site, ranks):
        return Answer(lead, suspects=tuple(sorted(ranks)), undecided=("tied_explanations",), cause=cause)
    reasons: tuple[Reason, ...] = ("sampled_statistics",) if gap else ()
    return Answer(lead, domain="workload", cause=cause, undecided=reasons)


def _unproven(births: Births, roots: Sequence[Root]) -> frozenset[int]:
    """Ranks of which nothing shows that what arrived bad was not theirs: all where steps are not observed; else those
    that hold it, unless their own update in the step before was seen clean."""
    if births.gapped:
        return births.ranks | births.silent
    found = {(root.rank, births.ops["step"][root.at]) for root in roots if root.rank is not None}
    rows = births.rows.filter((pl.col("phase") == "optimizer") & (pl.col("base") == "param"))
    clean = rows.group_by("rank", "step").agg(pl.col("bad").any().alias("is_bad")).filter(~pl.col("is_bad"))
    proven = {(rank, step + 1) for rank, step, _ in clean.iter_rows()} if roots[0].birth == "state" else set()
    return frozenset(rank for rank, step in found if (rank, step) not in proven) or births.silent


def _lost(births: Births, root: Root) -> frozenset[int]:
    """Ranks whose rows at the root's place are not there: silent, or their file is cut before it."""
    step, phase, module = (births.ops[name][root.at] for name in ("step", "phase", "module"))
    return births.unseen_at(step, phase, module)


def _is_arrival(births: Births, root: Root, site: Site) -> bool:
    """A parameter that came bad into its step may have been gathered from a shard of any rank, unless its gradient is
    summed whole: then each rank keeps all of it. A gradient that came bad into its update may have been summed."""
    if root.birth == "window" and births.ops["phase"][root.at] == "optimizer":
        return not births.recorded_calls
    if root.birth != "state" or births.ops["phase"][root.at] == "optimizer" or site.shown:
        return False
    return "all_reduce" not in _own_sync(births, root)["kind"].to_list()


def _is_joint(births: Births, root: Root, site: Site, ranks: Set[int]) -> bool:
    """No two of these ranks hold the same part, so one group may have made it together."""
    parts = whole_parts(births, births.ops["step"][root.at]) if root.birth == "window" else site.parts
    return not site.shown and has_parts(parts) and len({parts.get(rank) for rank in ranks}) == len(ranks)


def _is_widespread(births: Births, root: Root, ranks: Set[int]) -> bool:
    """On several replicas of one part of the module, where groups tell: the tensor-parallel peers of one replica compute the
    same together. Data that came bad is the same on all of them whoever they are."""
    groups = gradient_groups(births, births.ops["module"][root.at])
    mine = [groups[rank] for rank in ranks if len(groups.get(rank, ())) > 1]
    if root.birth == "input" or not mine:
        return True
    return any(len(group & ranks) > 1 and 2 * len(group & ranks) >= len(group) for group in mine)


# --- single ranks ----------------------------------------------------------------------------------------------------


class _Clear:
    """Tells births that are surely the rank's own from those that another rank, seen or lost, may have caused through
    communication that no row shows. `doubtful`: the latter; `others`: whose doing they may be."""

    def __init__(self, births: Births, roots: Sequence[Root]) -> None:
        self._births = births
        self._lone = lone_ranks(births)
        self._sites: dict[tuple[Any, ...], tuple[Site, set[int]]] = {}
        for root in roots:
            if root.rank is not None and births.ops["kind"][root.at] is None and root.birth in ("op", "state"):
                name = name_of(births, root)
                self._sites.setdefault(name, (site_of(births, name), set()))[1].add(root.rank)
        self.doubtful: list[Root] = []
        self.others: set[int] = set()
        self.lost: set[int] = set()

    def is_own(self, root: Root) -> bool:
        """Asked once of each root."""
        known = self._sites.get(name_of(self._births, root)) if root.rank is not None else None
        if known is None or known[0].shown:
            return True
        site, together = known
        lost = _lost(self._births, root)
        others = self._state(root, site, lost) if root.birth == "state" else self._made(root, site, together, lost)
        if others is None:
            return True
        self.doubtful.append(root)
        self.lost |= lost
        self.others |= others | lost
        return False

    def _state(self, root: Root, site: Site, lost: frozenset[int]) -> set[int] | None:
        """A parameter that arrived bad: the rank's own where another rank has it clean; else it may be gathered."""
        if self._births.ops["phase"][root.at] == "optimizer" or site.ran - site.fed:
            return None
        many = lost or len(site.fed) > 1 or not (self._births.counted or root.rank in _unproven(self._births, [root]))
        return set(site.fed) if many else None

    def _made(self, root: Root, site: Site, together: set[int], lost: frozenset[int]) -> set[int] | None:
        """A bad output from clean inputs: the rank's own unless ranks with other parts of the module share in it."""
        assert root.rank is not None
        apart = {rank for rank, part in site.parts.items() if part != site.parts.get(root.rank)}
        apart = {rank for rank in apart if not in_line(root.rank, rank, self._births.fed)}
        if root.rank in site.parts and apart and (apart & together or site.scatters):
            return apart if site.scatters else apart & together
        alone = set(site.parts) == {root.rank} and len(lost) >= len(self._lone)
        parted = root.rank in site.parts and bool(apart)
        return set() if (lost and alone) or ((lost or site.is_uneven) and parted) else None


def _doubted(births: Births, clear: _Clear) -> Answer:
    lead = clear.doubtful[0]
    suspects = {root.rank for root in clear.doubtful if root.rank is not None} | clear.others
    if clear.lost or len(suspects) == 1:  # one alone is suspected only where another one may be missing
        return Answer(lead, suspects=tuple(sorted(suspects)), undecided=("culprit_among_missing",))
    reason: Reason = "sampled_statistics" if births.gapped else "tied_explanations"
    return Answer(lead, suspects=tuple(sorted(suspects)), undecided=(reason,), cause=_cause(births, lead))


def _named(births: Births, named: Sequence[Root], roots: Sequence[Root]) -> Answer:
    ranks = tuple(sorted({root.rank for root in named if root.rank is not None}))
    lead = named[0]
    gap = bool(births.gapped & set(ranks)) and any(_state_unseen(births, root) for root in named)
    unseen = {rank for root in roots if root.birth == "missing" for rank in root.suspects}
    undecided: list[Reason] = ["sampled_statistics"] if gap else []
    if unseen:
        undecided.append("culprit_among_missing")
    if len(ranks) > 1 and gap:
        return Answer(lead, suspects=tuple(sorted(set(ranks) | unseen)), undecided=tuple(undecided))
    if any(root.assumed for root in named):
        undecided.append("membership_unknown")
    return Answer(lead, ranks, tuple(sorted(unseen)), tuple(undecided), cause=_cause(births, lead))


def _state_unseen(births: Births, root: Root) -> bool:
    """No row shows the parameters of the operation clean in this step, so a gap before it may hide the real birth."""
    step, rank = births.ops["step"][root.at], births.ops["rank"][root.at]
    module = births.ops["module"][root.at] or ""
    mine = (pl.col("rank") == rank) & (pl.col("step") == step) & (pl.col("base") == "param")
    return births.rows.filter(mine & (pl.col("module") == module) & ~pl.col("bad").fill_null(True)).is_empty()


def _suspected(births: Births, roots: Sequence[Root]) -> Answer:
    """Only births that nobody saw whole: the smallest set that must hold the culprit."""
    lead = roots[0]
    window = any(root.birth == "window" for root in roots)
    sampled = is_sampled(births, roots)
    unseen = _lost(births, lead) if window else frozenset()
    alone = _first_window(births, roots) if window and not unseen else None
    if alone is not None and alone.rank is not None:
        reasons: tuple[Reason, ...] = ("sampled_statistics",) if sampled else ()
        return Answer(alone, (alone.rank,), undecided=reasons, cause=_cause(births, alone))
    sets = [root.suspects for root in roots if root.suspects]
    common = frozenset.intersection(*sets) if sets and all(root.birth == "missing" for root in roots) else frozenset()
    suspects = common or unseen.union(*sets)  # a window may hide a call that nobody recorded
    suspects |= _unseen_senders(births, suspects)
    inputs = [root for root in roots if root.birth == "input"]
    suspects |= _other_stages(births, inputs) if inputs else frozenset()
    cause = _cause(births, lead) if lead.birth in ("comm", "overflow") else None
    return Answer(lead, (), tuple(sorted(suspects)), _reasons(roots, bool(unseen), window and sampled), cause=cause)


def _reasons(roots: Sequence[Root], unseen: bool, sampled: bool) -> tuple[Reason, ...]:
    """Why nobody can be named."""
    found: list[Reason] = []
    if unseen or any(root.birth == "missing" for root in roots):
        found.append("culprit_among_missing")
    if sampled:
        found.append("sampled_statistics")
    if any(root.assumed or root.birth == "input" for root in roots):
        found.append("membership_unknown")
    return tuple(found) or ("tied_explanations",)


def _first_window(births: Births, roots: Sequence[Root]) -> Root | None:
    """The one rank that was bad before all others that run the same program, if it holds a replica of what they hold:
    what its neighbours hold in parts they may have given it."""
    first = earliest(births, roots)
    (lead, *others) = first
    if others or lead.rank is None or lead.suspects != {lead.rank}:
        return None
    if lead.birth == "input" and any(_is_made_ahead(births, one) for one in roots if one.rank != lead.rank):
        return None  # a stage before it may have given it that
    is_arrival = came_in(births, lead)
    if is_arrival and births.ops["phase"][lead.at] == "optimizer" and not births.recorded_calls:
        return None  # a gradient that others may have added to
    parts = whole_parts(births, births.ops["step"][lead.at]) if is_arrival and not births.recorded_calls else {}
    return None if has_parts(parts) else lead


def _is_made_ahead(births: Births, root: Root) -> bool:
    """Is it of a forward pass, which no gradient that was summed came before?"""
    return births.ops["phase"][root.at] in ("forward", None) and "grad" not in (births.ops["first_base"][root.at] or "")


def _unseen_senders(births: Births, suspects: frozenset[int]) -> frozenset[int]:
    """Silent ranks that may have sent a message to a silent suspect: messages of others show how far they go."""
    messages = births.ops.filter(pl.col("kind").is_in(["send", "recv"]) & pl.col("peer").is_not_null())
    far = pl.col("peer") - pl.col("rank")
    ahead = pl.when(pl.col("kind") == "send").then(far).otherwise(-far)
    distances = messages.select(ahead.alias("ahead"))["ahead"].unique().to_list()
    found, todo = set(suspects), list(suspects & births.silent)
    while todo:
        here = todo.pop()
        senders = {here - ahead for ahead in distances}
        new = {rank for rank in senders if rank in births.silent and rank not in found}
        found |= new
        todo += new
    return frozenset(found)


def _other_stages(births: Births, arrived: Sequence[Root]) -> frozenset[int]:
    """Where no call was recorded, what arrived may have come from any rank that begins its step with another module."""
    first = entrances(births)
    hit = {first.get(root.rank) for root in arrived}
    others = {rank for rank, entrance in first.items() if rank is not None and entrance not in hit}
    return frozenset(others) | births.silent


def _cause(births: Births, root: Root) -> Cause | None:
    """By the first bad value of the root, contract rule 14."""
    if root.birth == "missing":
        return None
    if root.birth == "overflow":
        return "overflow"
    if root.birth == "comm":
        return "comm_corruption"
    row = first_row(births, root)
    if row["base"] in STATES and not _is_made_by_update(births, row):
        return "bad_state"
    if root.birth == "input":
        return "bad_input"
    if disagreeing_forward(births, row) is not None:
        return "nan_birth"
    return "overflow" if value_of(row) == "inf" or _is_exhausted(births, root.at, row) else "nan_birth"


def _is_made_by_update(births: Births, row: Row) -> bool:
    """A parameter that the optimizer left bad, where the same step shows it clean before, and its gradient."""
    if row["phase"] != "optimizer" or row["base"] != "param":
        return False
    here = [pl.col(name) == row[name] for name in ("rank", "step", "module")]
    before = births.rows.filter(pl.all_horizontal(*here, pl.col("place") < row["place"]))
    clean = before.filter(pl.col("bad") == False)  # noqa: E712
    held = clean.filter((pl.col("tensor") == row["tensor"]) & (pl.col("phase") != "optimizer"))
    return bool(held.height) and bool(clean.filter(pl.col("base") == "param_grad").height) and not before["bad"].any()


def _is_exhausted(births: Births, at: int, row: Row) -> bool:
    """What went into the operation was within one doubling of the largest number of its format."""
    peak = births.ops["peak"][at]
    bits = headroom_bits(peak, row) if peak is not None and births.ops["kind"][at] is None else None
    return bits is not None and bits < 1


def first_row(births: Births, root: Root) -> Row:
    """The root's first bad row; where an operator took a parameter as an input, and the module around it shows that same
    parameter, the row of the parameter. An operator without module has that of the module around it."""
    row = _state_row(births, root) if root.birth == "state" else bad_row(births, root.at)
    parameter = _as_parameter(births, row) if row["role"] == "in" and row["shape"] is not None else None
    if parameter is not None:
        return parameter
    return row if row["module"] is not None else {**row, "module": _module_around(births, row)}


def _state_row(births: Births, root: Root) -> Row:
    """A state that was bad on arrival comes before what the operation made of it, in whichever order they are written."""
    row = bad_row(births, root.at)
    bad = (pl.col("operation") == row["operation"]) & pl.col("bad") & pl.col("role").is_in(["in", "state"])
    held = births.rows.filter(bad)
    return _since_held(births, held.row(0, named=True) if row["role"] == "out" and held.height else row)


def _since_held(births: Births, row: Row) -> Row:
    """The first row of an unbroken run in which that parameter was bad: rows of an embedding that nobody looks up do no harm until somebody does."""
    alike = same(row, "rank", "module", "tensor", "phase")
    earlier = births.history.filter(alike, pl.col("role") == "state", pl.col("place") < row["place"])
    for before in earlier.sort("place", descending=True).iter_rows(named=True):
        if not (before["nan"] or before["inf"]):
            break
        row = before
    return row


def _as_parameter(births: Births, row: Row) -> Row | None:
    here = [pl.col(name) == row[name] for name in ("rank", "step", "shape")]
    params = births.rows.filter(pl.all_horizontal(*here, pl.col("base") == "param", pl.col("role") == "state"))
    after = params.filter(pl.col("bad") & (pl.col("place") > row["place"])).head(1)
    figures = [after[name].eq_missing(pl.Series([row[name]])).all() for name in ("nan", "inf")]
    return after.row(0, named=True) if after.height and all(figures) else None


def _module_around(births: Births, row: Row) -> str | None:
    """The module that made a bad value of clean inputs and ended first after this operator: it holds the operator."""
    here = same(row, "rank", "step", "microbatch", "phase")
    later = births.rows.filter(here, pl.col("place") > row["place"], pl.col("module").is_not_null())
    made = pl.col("role") == "out"
    found = later.group_by("operation", maintain_order=True).agg(
        pl.col("module").first(),
        (pl.col("bad") & made).any().alias("spoils"),
        ((pl.col("bad") == False) & ~made).any().alias("known"),  # noqa: E712
        (pl.col("bad").fill_null(True) & ~made).any().alias("fed"),
    )
    around = found.filter(pl.col("spoils") & pl.col("known") & ~pl.col("fed"))
    return around["module"][0] if around.height else None


def bad_row(births: Births, at: int) -> Row:
    return births.row(births.ops["first_bad"][at])


def disagreeing_forward(births: Births, row: Row) -> Row | None:
    """The clean forward row of which a bad recompute row is the copy."""
    if row["phase"] != "recompute":
        return None
    alike = same(row, "rank", "step", "microbatch", "chunk", "module", "tensor")
    found = births.rows.filter(alike, pl.col("phase") == "forward")
    clean = found.filter(~pl.col("bad").fill_null(True))
    return clean.row(0, named=True) if clean.height == found.height and clean.height else None
