"""Which rank takes longer than its peers for the same work, and what of: the device's work, the host's, or uneven load.

Ranks of one stage are compared, phase by phase (facts/durations/outliers.py). A rank that was given more tokens in the measure in
which it takes longer is not slow: its load is; nor is one that says that it computes activations a second time, if most of
its peers do not, by no more than that takes. Who is longer in one phase and shorter in another has divided its time
otherwise. All ranks of a host whose processors, alone among its peers', have no time left are slow by their host, whatever
phase shows it. Where ranks may differ by design, they are suspects. That the others wait, by their own figures, is a second
witness. Where the steps can be replayed, only those are named whose removal heals them.
"""

from collections.abc import Collection, Mapping, Sequence

import polars as pl

from forensics.case import Case, Detector
from forensics.detectors.slow import peers
from forensics.detectors.slow.first_look import actions, as_fast_in, held_back, of_quota
from forensics.facts.durations.outliers import Outlier
from forensics.facts.rows.event_rows import Row, refs
from forensics.model.finding import Claim, Finding
from forensics.model.incident import FirstAnomaly, to_do
from forensics.model.names import Cause
from forensics.model.said import Said, joined
from forensics.words import slow as words

_LOAD = 0.5  # of the excess in time is explained by an excess in tokens of this share
_MORE = 1.25  # a second forward pass takes as long as the first, and what is written between
_FORWARD = ("forward", "fwd")
_NET = 0.5  # of the excess in a phase must be left of it over all phases


def detect(case: Case) -> tuple[Finding, ...]:
    """Case → at most one finding: the ranks that lose most, by one cause."""
    slow = [one for one in case.slow_phases.slower if _is_net(case, one) and peers.is_waited_for(case, one)]
    if not slow:
        return ()
    again = _again(case)
    loaded = {one.rank for one in slow if _load(case, one, again) is not None}
    if left := [one for one in slow if one.rank not in loaded]:
        return (_straggler(case, left),)
    return (_imbalance(case, slow, again),)


def _is_net(case: Case, one: Outlier) -> bool:
    """Does the rank take longer over all its work, not only in one phase of it?"""
    is_then = (pl.col("stage") == one.stage) & pl.col("step").is_between(one.begin, one.end)
    work = case.phase_times.filter(is_then & pl.col("sort").is_in(["work", "host"]))
    middles = work.group_by("phase", "rank").agg(pl.col("ms").median())
    centre = middles.group_by("phase").agg(pl.col("ms").median().alias("centre"))
    own = middles.filter(pl.col("rank") == one.rank).join(centre, on="phase")
    return not one.is_steady or float((own["ms"] - own["centre"]).sum()) >= _NET * one.excess_ms


def _again(case: Case) -> Mapping[int, Row]:
    """Ranks that say that they compute activations a second time → where; of most ranks that say nothing of the kind."""
    said = case.events.filter((pl.col("kind") == "recompute") & (pl.col("rank_space") == "global")).sort("file", "line")
    return {row["rank"]: row for row in said.unique("rank", keep="first", maintain_order=True).iter_rows(named=True)}


def _is_by_design(case: Case, one: Outlier, again: Collection[int]) -> bool:
    """Does a second forward pass, which few of its peers do, take as long as it takes longer?"""
    if one.rank not in again or one.sort != "work" or 2 * len({*again} & {*one.peers}) > len(one.peers):
        return False
    is_once = pl.col("phase").is_in(_FORWARD) & ~pl.col("rank").is_in(sorted(again))
    forward = case.phase_times.filter(is_once)["ms"].median()
    return one.excess_ms <= _MORE * (forward if isinstance(forward, float) else one.level_ms / 2)


def _load(case: Case, one: Outlier, again: Mapping[int, Row]) -> Claim | None:
    """What explains an excess of time: more tokens, by the rows of phases or by what the rank prints, or a second forward
    pass."""
    rows = case.phase_times.filter(pl.col("phase") == one.phase, pl.col("step").is_between(one.begin, one.end))
    tokens = rows.drop_nulls("tokens").group_by("rank").agg(pl.col("tokens").median())
    own = tokens.filter(pl.col("rank") == one.rank)["tokens"].to_list()
    others = tokens.filter(pl.col("rank") != one.rank)["tokens"].median()
    if own and isinstance(others, float) and others > 0 and own[0] / others - 1 >= _LOAD * one.ratio:
        what = words.TOKENS if one.sort == "work" else words.BYTES
        text = words.WORKS_ON(rank=one.rank, own=f"{own[0]:.6g}", what=what, phase=one.phase, others=f"{others:.6g}")
        return Claim(text, "for", peers.references(one.places[:1]))
    printed = case.events.filter((pl.col("kind") == "expert_load") & (pl.col("rank") == one.rank)).sort("file", "line")
    most = printed["value"].median()
    if isinstance(most, float) and most - 1 >= _LOAD * one.ratio:
        text = words.BUSIEST_EXPERT(rank=one.rank, times=f"{most:.3g}")
        text = words.AND_RECOMPUTES(load=text) if one.rank in again else text
        return Claim(text, "for", refs(printed.iter_rows(named=True), 1))
    if _is_by_design(case, one, again.keys()):
        return Claim(words.RECOMPUTES(rank=one.rank), "for", refs([again[one.rank]]))
    return None


def _straggler(case: Case, slow: Sequence[Outlier]) -> Finding:
    cost: dict[str, float] = {}
    for one in slow:
        cost[one.sort] = cost.get(one.sort, 0.0) + one.excess_ms
    sort = max(sorted(cost), key=lambda each: cost[each])
    chosen = sorted((one for one in slow if one.sort == sort), key=lambda one: (-one.excess_ms, one.rank))
    ranks = tuple(sorted({one.rank for one in chosen}))
    crowded = _crowded(case, ranks) if sort == "work" else []
    quotas = held_back(case, ranks)
    first = chosen[0]
    late = [one for one in case.slow_phases.late if one.rank in ranks]
    claims = [*map(peers.longer, chosen[:8]), *map(peers.waiting, late[:4])]
    claims += [peers.longer(one) for one in slow if one not in chosen][:4]
    measured = peers.measured(case, ranks) if sort == "work" else []
    fast = [] if crowded or measured or quotas else as_fast_in(case, chosen)
    shown = measured or (peers.hot(case, ranks) if sort == "work" else []) or of_quota(quotas)
    reason, why = peers.doubt(case, chosen)
    if sort == "work" and not crowded and case.roles.is_tensor_group(ranks):
        slowed = {one.rank for one in case.apart if one.effect == "slows"}
        if held := [one for one in chosen if slowed & set(ranks) == {one.rank}]:
            chosen, ranks, first = held, (held[0].rank,), held[0]
        else:
            reason, why = "tied_explanations", words.SHARE_EACH_LAYER
    doubts, besides = peers.caveat(case, chosen) if not reason else ((reason,), "")
    host = peers.slow_host(case, chosen) if why is words.MAY_BE_A_STAGE and sort == "work" else None
    form = words.SLOWER_AT if len(ranks) == 1 else words.ALL_SLOWER_AT
    who = peers.named(ranks, case)
    text = form(who=who, phases=_phases(chosen), course=peers.course(first))
    cost_text = peers.price(case, [one for one in slow if one.rank in ranks])
    by_device = sort == "work" and not crowded and not host and not quotas
    cause: Cause = "straggler_compute" if by_device else "straggler_host"
    of_host = (to_do("inspect_hardware", host, words.TAKES_LONGER),) if host else ()
    stacks = words.STACKS_IN(who=who, phases=_phases(chosen))
    return Finding(
        cause=cause,
        ranks=() if reason else ranks,
        hosts=(host,) if host else (),
        suspect_ranks=ranks if reason else (),
        site=peers.site_of(first.phase, sort),
        first_anomaly=FirstAnomaly(
            rank=first.rank if len(ranks) == 1 and not reason else None,
            step=first.begin,
            phase=first.phase.partition(" ")[0],
            signature="slow_rank",
        ),
        undecided=doubts,
        claims=(*claims, *crowded, *of_quota(quotas), *measured[:4]),
        actions=actions(case, chosen, "host" if crowded else sort, fast, quotas) if not reason else of_host,
        collect=() if quotas and not reason else (stacks if fast or sort == "host" else words.CLOCKS_LOAD_STAGES,),
        summary=joined(
            (
                words.SLOW(what=text),
                cost_text,
                peers.why(crowded or shown),
                besides,
                words.HOST_IS_SLOW(host=host) if host else peers.nobody(why),
            ),
            " ",
        ),
    )


def _crowded(case: Case, ranks: Sequence[int]) -> list[Claim]:
    """That something else takes the processors of the one host that these ranks are all of: they cannot feed their devices.
    Nothing, where one of these devices is held back."""
    if not peers.is_one_host(case, ranks) or peers.measured(case, ranks):
        return []
    host = peers.hosts(case)[ranks[0]]
    return [Claim(one.text, "for", one.refs) for one in case.apart if one.effect == "crowded" and one.host == host]


def _phases(slow: Sequence[Outlier]) -> Said:
    return joined(list(dict.fromkeys(one.phase for one in slow))[:4], ", ")


def _imbalance(case: Case, slow: Sequence[Outlier], again: Mapping[int, Row]) -> Finding:
    ranks = sorted({one.rank for one in slow})
    loads = [claim for one in slow if (claim := _load(case, one, again)) is not None]
    is_work, is_again = slow[0].sort == "work", slow[0].rank in again and _is_by_design(case, slow[0], again.keys())
    text = words.BY_IMBALANCE(
        who=peers.named(ranks, case),
        phases=_phases(slow),
        course=peers.course(slow[0]),
        why=words.TWICE if is_again else words.MORE_TOKENS if is_work else words.MORE_TO_WRITE,
    )
    uneven = words.SETTING_UNEVEN if is_again else words.ROUTING_UNEVEN if is_work else words.SHARDING_UNEVEN
    return Finding(
        cause="imbalance",
        domain="workload",
        first_anomaly=FirstAnomaly(step=slow[0].begin, phase=slow[0].phase, signature="imbalance"),
        claims=(*loads[:4], *map(peers.longer, slow[:4])),
        actions=(to_do("check_config", "job", uneven),),
        summary=joined((words.SLOW(what=text), peers.price(case, slow)), " "),
    )


DETECTOR = Detector("straggler", (), detect, "slow")
