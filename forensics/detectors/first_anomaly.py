"""Where was the first NaN or Inf born? From tensor statistics; the causal core is in forensics.graph.taint."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from forensics.case import Case, Detector
from forensics.detectors.anomaly_actions import actions_for, to_collect
from forensics.detectors.anomaly_context import (
    checkpoint_before,
    growth_claims,
    hardware_near,
    repeat_claims,
    step_claims,
)
from forensics.detectors.anomaly_rows import Row, describe, first_anomaly, ref, speaker, value_of, where
from forensics.graph.births import Births, find_births
from forensics.graph.growth import headroom_bits
from forensics.graph.taint import Root
from forensics.graph.tensor_rules import STATES
from forensics.model.finding import Claim, Finding
from forensics.model.incident import Cause, Domain, Reason, Severity, TensorRow, ranges
from parsers.rank_list import rank_list

_SHOWN = 200


@dataclass(frozen=True, slots=True)
class _Answer:
    """Who, by the rules of the contract. `lead`: the root whose first bad row is the first anomaly."""

    lead: Root
    ranks: tuple[int, ...] = ()
    suspects: tuple[int, ...] = ()
    undecided: tuple[Reason, ...] = ()
    domain: Domain = "unknown"
    cause: Cause | None = None
    strong: bool = False


def detect(case: Case) -> tuple[Finding, ...]:
    """At most one finding: the root or roots of the newest launch that holds a bad value."""
    tensors = case.tables["tensors"]
    expected = case.expected or _stated_members(tensors)
    births = find_births(tensors, expected)
    if births is None or not births.spread.roots:
        return ()
    roots = [root for root in births.spread.roots if not root.ended] or births.spread.roots
    roots = sorted(roots, key=lambda root: _order(births, root))
    return (_finding(case, births, roots, _answer(births, roots)),)


def _stated_members(tensors: pl.DataFrame) -> frozenset[int]:
    return frozenset(rank for text in tensors["group_ranks"].drop_nulls().unique() for rank in rank_list(text) or ())


def _order(births: Births, root: Root) -> tuple[int, int, int, int]:
    """By step, then by how many calls happened before; never by time."""
    micro = births.ops["microbatch"][root.at]
    return births.ops["step"][root.at], root.order, -1 if micro is None else micro, births.ops["rank"][root.at]


# --- who -------------------------------------------------------------------------------------------------------------


def _answer(births: Births, roots: Sequence[Root]) -> _Answer:
    shared = _shared_site(births, roots)
    if shared is not None:
        gap: tuple[Reason, ...] = ("sampled_statistics",) if births.gapped else ()
        return _Answer(shared, domain="workload", cause=_cause(births, shared), undecided=gap, strong=not gap)
    certain = [root for root in roots if root.rank is not None and root.birth in ("op", "comm")]
    arrived = [root for root in roots if root.birth in ("state", "input")]
    if certain:
        arrived = [root for root in arrived if _same_entrance(births, root, certain)]
        return _named(births, sorted(certain + arrived, key=lambda root: _order(births, root)), roots)
    states = [root for root in arrived if root.birth == "state"]
    if states:  # a bad input of a later pipeline stage may be their doing
        arrived = [root for root in arrived if _same_entrance(births, root, states)]
    alike = len(set(_entrances(births).values())) == 1 and not births.silent
    if arrived and (states or alike or births.history["kind"].is_in(["send", "recv"]).any()):
        return _named(births, arrived, roots)
    return _suspected(births, roots)


def _shared_site(births: Births, roots: Sequence[Root]) -> Root | None:
    """The first of more than two roots in one operation that are at least half of the ranks that ran it."""
    sites: dict[tuple[Any, ...], list[Root]] = {}
    for root in roots:
        if root.rank is not None:
            key = tuple(births.ops[name][root.at] for name in ("step", "phase", "module", "op"))
            sites.setdefault(key, []).append(root)
    for (_, _, module, op), found in sites.items():
        hit = {root.rank for root in found if root.rank is not None}
        if len(hit) > 2:
            same = pl.col("module").eq_missing(module) & pl.col("op").eq_missing(op)
            ran = set(
                births.history.filter(same)["rank"].to_list()
            )  # of large files a clean rank shows it in few steps
            if any(2 * len(hit) >= len(replicas & ran) for replicas in (ran, _replicas(births, found[0]))):
                return found[0]
    return None


def _replicas(births: Births, root: Root) -> set[int]:
    """Ranks with the same part of the module: the stated group over which its gradient is summed; else all."""
    module = births.ops["module"][root.at] or ""
    sync = births.rows.filter(
        (pl.col("rank") == root.rank) & (pl.col("phase") == "grad_sync") & pl.col("kind").is_not_null()
    )
    own = sync.filter(pl.col("module").fill_null("").str.replace(r"\.(?:weight|bias)$", "") == module)
    groups = own["group_ranks"].drop_nulls()
    return set(rank_list(groups[0]) or ()) if len(groups) else set(births.ranks | births.silent)


def _same_entrance(births: Births, root: Root, certain: Sequence[Root]) -> bool:
    """A bad arrival beside a certain birth counts as a root of its own only on a rank that begins its step with the
    same module: on a later pipeline stage it may have come through a message that nobody recorded."""
    if root.birth == "state":
        return True
    entrances = _entrances(births)
    return any(entrances.get(root.rank) == entrances.get(other.rank) for other in certain)


def _entrances(births: Births) -> dict[int | None, str | None]:
    """Rank → the module that its forward pass begins with; of large files, in the step of which most rows are kept."""
    forward = births.history.lazy().filter(
        (pl.col("phase").fill_null("forward") == "forward") & pl.col("kind").is_null()
    )
    steps = (
        forward.group_by("rank", "step")
        .agg(pl.col("module").first(), pl.len())
        .sort("len", "step", descending=[True, False])
    )
    return dict(steps.group_by("rank").agg(pl.col("module").first()).collect().iter_rows())


def _named(births: Births, named: Sequence[Root], roots: Sequence[Root]) -> _Answer:
    ranks = tuple(sorted({root.rank for root in named if root.rank is not None}))
    lead = named[0]
    gap = bool(births.gapped & set(ranks)) and any(_state_unseen(births, root) for root in named)
    unseen = {rank for root in roots if root.birth == "missing" for rank in root.suspects}
    undecided: list[Reason] = ["sampled_statistics"] if gap else []
    if unseen:
        undecided.append("culprit_among_missing")
    if len(ranks) > 1 and gap:
        return _Answer(lead, suspects=tuple(sorted(set(ranks) | unseen)), undecided=tuple(undecided))
    assumed = any(root.assumed for root in named)
    if assumed:
        undecided.append("membership_unknown")
    strong = not gap and not assumed and not unseen
    return _Answer(lead, ranks, tuple(sorted(unseen)), tuple(undecided), cause=_cause(births, lead), strong=strong)


def _state_unseen(births: Births, root: Root) -> bool:
    """No row shows the parameters of the operation clean in this step, so a gap before it may hide the real birth."""
    step, rank = births.ops["step"][root.at], births.ops["rank"][root.at]
    module = births.ops["module"][root.at] or ""
    mine = (pl.col("rank") == rank) & (pl.col("step") == step) & (pl.col("base") == "param")
    return births.rows.filter(mine & (pl.col("module") == module) & ~pl.col("bad").fill_null(True)).is_empty()


def _suspected(births: Births, roots: Sequence[Root]) -> _Answer:
    """Only births that nobody saw whole: the smallest set that must hold the culprit."""
    lead = roots[0]
    window = any(root.birth == "window" for root in roots)
    unseen = births.unseen_at(births.ops["step"][lead.at]) if window else frozenset()
    if len(roots) == 1 and window and lead.rank is not None and lead.suspects == {lead.rank} and not unseen:
        reasons: tuple[Reason, ...] = ("sampled_statistics",)
        return _Answer(lead, (lead.rank,), undecided=reasons, cause=_cause(births, lead))
    sets = [root.suspects for root in roots if root.suspects]
    common = frozenset.intersection(*sets) if sets and all(root.birth == "missing" for root in roots) else frozenset()
    suspects = common or unseen.union(*sets)  # a window may hide a call that nobody recorded
    suspects |= _unseen_senders(births, suspects)
    if any(root.birth == "input" for root in roots):
        suspects |= _earlier_stages(births, roots)
    undecided: list[Reason] = []
    if unseen or any(root.birth == "missing" for root in roots):
        undecided.append("culprit_among_missing")
    if window:
        undecided.append("sampled_statistics")
    if any(root.assumed for root in roots):
        undecided.append("membership_unknown")
    if any(root.birth == "input" for root in roots):
        undecided.append("membership_unknown")
    if not undecided:
        undecided.append("tied_explanations")
    cause = _cause(births, lead) if lead.birth in ("comm", "overflow") else None
    return _Answer(lead, (), tuple(sorted(suspects)), tuple(undecided), cause=cause)


def _unseen_senders(births: Births, suspects: frozenset[int]) -> frozenset[int]:
    """Silent ranks that may have sent a message to a silent suspect: messages of others show how far they go."""
    messages = births.ops.filter(pl.col("kind").is_in(["send", "recv"]) & pl.col("peer").is_not_null())
    ahead = (
        pl.when(pl.col("kind") == "send")
        .then(pl.col("peer") - pl.col("rank"))
        .otherwise(pl.col("rank") - pl.col("peer"))
    )
    distances = messages.select(ahead.alias("ahead"))["ahead"].unique().to_list()
    found, todo = set(suspects), list(suspects & births.silent)
    while todo:
        here = todo.pop()
        new = {here - ahead for ahead in distances} & births.silent - found
        found |= new
        todo += new
    return frozenset(found)


def _earlier_stages(births: Births, roots: Sequence[Root]) -> frozenset[int]:
    """Where no call was recorded, a bad input may have come from any rank that begins its step with another module."""
    entrances = _entrances(births)
    hit = {entrances.get(root.rank) for root in roots if root.birth == "input"}
    others = {rank for rank, entrance in entrances.items() if rank is not None and entrance not in hit}
    return frozenset(others) | births.silent


def _cause(births: Births, root: Root) -> Cause | None:
    """By the first bad value of the root, contract rule 14."""
    if root.birth == "missing":
        return None
    if root.birth == "overflow":
        return "overflow"
    if root.birth == "comm":
        return "comm_corruption"
    row = _bad_row(births, root.at)
    if row["base"] in STATES:
        return "bad_state"
    if root.birth == "input":
        return "bad_input"
    if _disagreeing_forward(births, row) is not None:
        return "nan_birth"
    return "overflow" if value_of(row) == "inf" or _is_exhausted(births, root.at, row) else "nan_birth"


def _is_exhausted(births: Births, at: int, row: Row) -> bool:
    """What went into the operation was within one doubling of the largest number of its format."""
    peak = births.ops["peak"][at]
    bits = headroom_bits(peak, row) if peak is not None and births.ops["kind"][at] is None else None
    return bits is not None and bits < 1


def _bad_row(births: Births, at: int) -> Row:
    return births.row(births.ops["first_bad"][at])


def _disagreeing_forward(births: Births, row: Row) -> Row | None:
    """The clean forward row of which a bad recompute row is the copy."""
    if row["phase"] != "recompute":
        return None
    same = [pl.col(name).eq_missing(row[name]) for name in ("rank", "step", "microbatch", "chunk", "module", "tensor")]
    found = births.rows.filter(pl.all_horizontal(*same, pl.col("phase") == "forward"))
    clean = found.filter(~pl.col("bad").fill_null(True))
    return clean.row(0, named=True) if clean.height == found.height and clean.height else None


# --- what is said ----------------------------------------------------------------------------------------------------


def _finding(case: Case, births: Births, roots: Sequence[Root], answer: _Answer) -> Finding:
    lead = answer.lead
    row = _bad_row(births, lead.at)
    clean = _clean_before(births, row)
    local = [root for root in roots if root.rank in answer.ranks and root.birth in ("op", "state", "window")]
    hardware = hardware_near(case, [_bad_row(births, root.at) for root in local])
    who = answer.ranks or answer.suspects
    return Finding(
        detector=DETECTOR.name,
        cause=answer.cause,
        ranks=tuple(rank for rank in answer.ranks if rank >= 0),
        links=lead.links,
        suspect_ranks=tuple(rank for rank in answer.suspects if rank >= 0),
        domain="infrastructure" if hardware.claims else answer.domain,
        devices=hardware.devices,
        first_anomaly=first_anomaly(row, lead.rank, describe(clean) if clean else None, answer.cause),
        undecided=answer.undecided,
        claims=(
            *_claims(births, roots, answer, row, clean),
            *growth_claims(births, row),
            *repeat_claims(case, births),
            *step_claims(case, births, row),
            *hardware.claims,
        ),
        severity=_severity(births, lead),
        actions=(
            *hardware.actions,
            *actions_for(answer.cause, lead.ended, who, row, checkpoint_before(case, row["step"])),
        ),
        collect=to_collect(answer.undecided, answer.suspects),
        tensors=tuple(_tensor_rows(births, answer)),
        summary=_summary(births, answer, row),
    )


def _clean_before(births: Births, row: Row) -> Row | None:
    place = row["place"]
    mine = births.rows.filter(
        (pl.col("rank") == row["rank"])
        & (pl.col("place") < place)
        & pl.col("role").is_not_null()
        & ~pl.col("bad").fill_null(True)
    )
    return mine.row(-1, named=True) if mine.height else None


def _claims(births: Births, roots: Sequence[Root], answer: _Answer, row: Row, clean: Row | None) -> list[Claim]:
    rank = row["rank"]
    claims = [Claim(f"{speaker(rank)}: first bad value, {value_of(row)} in {where(row)}", "for", (ref(row),))]
    if clean is not None:
        claims.append(Claim(f"{speaker(rank)}: last row proven clean before it", "for", (ref(clean),)))
    forward = _disagreeing_forward(births, row)
    if forward is not None:
        claims.append(Claim("the forward pass of the same module was clean", "for", (ref(forward),)))
    if answer.cause == "bad_state":
        claims.append(Claim("the state was bad on arrival: the cause lies before this step", "for"))
    for root in roots:
        if root is not answer.lead:
            other = _bad_row(births, root.at)
            text = f"{speaker(other['rank'])}: {'independent' if root.rank in answer.ranks else 'possible'} birth"
            claims.append(Claim(f"{text} in {where(other)}", "for", (ref(other),)))
    infected = sorted(births.spread.first.items())
    for echo, (at, _) in [item for item in infected if item[0] != rank][:3]:
        found = _bad_row(births, at)
        claims.append(Claim(f"{speaker(echo)}: infected later, in {where(found)}", "for", (ref(found),)))
    if births.silent:
        claims.append(Claim(f"no statistics of ranks {ranges(births.silent)}", "unseen"))
    if births.spread.conflicts:
        claims.append(Claim("ranks state different members of one group", "against"))
    if births.spread.mismatch:
        claims.append(Claim("the calls of some ranks do not line up; their order is doubtful", "against"))
    claims += [Claim(warning, "unseen") for warning in births.warnings[:20]]
    return claims


def _severity(births: Births, lead: Root) -> Severity:
    if lead.ended:
        return "minor"
    state = pl.col("base").is_in(list(STATES)) | pl.col("phase").is_in(["grad_sync", "optimizer"])
    return "fatal" if births.rows.filter(state & pl.col("bad") & pl.col("role").is_not_null()).height else "severe"


def _tensor_rows(births: Births, answer: _Answer) -> list[TensorRow]:
    roots = {root.at for root in births.spread.roots if root.rank is not None}
    shown = []
    first = sorted(births.spread.first.items(), key=lambda item: (item[1][0] not in roots, item[0]))
    for rank, (at, _) in [item for item in first if item[0] >= 0][:_SHOWN]:
        row = _bad_row(births, at)
        names = {name: row[name] for name in ("step", "microbatch", "phase", "module", "op", "tensor")}
        local = births.ops["kind"][at] is None
        role = "root" if at in roots else "echo" if local else "infected"
        shown.append(TensorRow(rank=rank, value=value_of(row), role=role, **names))
    unseen = [rank for rank in answer.suspects if rank in births.silent]
    nothing: dict[str, Any] = dict.fromkeys(("step", "microbatch", "phase", "module", "op", "tensor"))
    shown += [TensorRow(rank=rank, value="not observed", role="unobserved", **nothing) for rank in unseen]
    return [row for row in shown if row.rank >= 0][:_SHOWN]


def _summary(births: Births, answer: _Answer, row: Row) -> str:
    value = {"nan": "NaN", "inf": "Inf"}[value_of(row)]
    place = where(row)
    others = len(births.spread.first.keys() - set(answer.ranks))
    reach = f" It reached {others} other rank{'s' if others > 1 else ''}." if others else ""
    if answer.lead.ended:
        return f"{value} in {place} was gone after the step: parameters were seen clean."
    if answer.domain == "workload":
        return f"{value} was born in {place} on many ranks alike: data, model or settings, not one device."
    if len(answer.ranks) == 1:
        verbs = {"bad_state": "found", "bad_input": "received", "comm_corruption": "received"}
        how = verbs.get(answer.cause or "", "made")
        who = speaker(answer.ranks[0])
        return f"{who[0].upper()}{who[1:]} {how} {value} in {place}.{reach}"
    if answer.ranks:
        return f"Ranks {ranges(answer.ranks)} hold independent births; the first is {value} in {place}.{reach}"
    if answer.suspects:
        return f"{value} first shows in {place}; which of ranks {ranges(answer.suspects)} it comes from cannot be told."
    return f"{value} first shows in {place}; where it comes from cannot be told."


DETECTOR = Detector(name="first_anomaly", needs=("tensors",), detect=detect, about="bad_value")
