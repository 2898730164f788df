"""Do the logs of replicas show that they hold different parameters, or train at different rates?

Hashes of parameters and figures of many digits are equal on replicas, bit by bit. Who printed what most print in every step before,
and then something else, holds other parameters from then on. Of two nobody can be told, unless one alone lost a figure in that step, so
that its update was another one or was left out. A learning rate that some print after a
restart, and that none had before, is how their configuration differs; what else it changed is not known, so they are suspects.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from forensics.case import Case, Detector
from forensics.detectors.numerics.loss_advice import roll_back
from forensics.facts.figures.left_replicas import Left, left_replicas, odd_rate, spoken
from forensics.facts.figures.odd_values import called, told_values
from forensics.facts.figures.own_values import is_told
from forensics.model.finding import Claim, Finding
from forensics.model.incident import Action, FirstAnomaly, to_do
from forensics.model.ref import Ref
from forensics.model.said import sentence
from forensics.model.texts import ranks_text
from forensics.words import advice
from forensics.words import numerics as words

_TWO = 2
_SHOWN = 4  # names of speakers


def detect(case: Case) -> tuple[Finding, ...]:
    """At most one finding: replicas that part, with the rates that differ then; else the rates alone."""
    steps, names = spoken(case.tables)
    told = is_told(case.tables, case.job_told_of)
    replicas = case.job_told_of if told or case.is_data_parallel else frozenset()
    left = left_replicas(steps, case.steps_before, replicas, is_told=told)
    rate = odd_rate(steps, case.steps_before)
    if left is not None:
        return (_parted(case, left, rate, names),)
    return (_drifted(case, rate),) if rate is not None else ()


def _parted(case: Case, left: Left, rate: Left | None, names: Sequence[str]) -> Finding:
    who = left.few or left.members
    is_ranked = min(left.members) >= 0
    lost = _lost_alone(case, left) if is_ranked and not left.few else None
    named = who if left.is_sure and is_ranked else ()
    if lost is not None:
        named = who = (lost["rank"],)
    form = words.LOG_NEVER_ALIKE if left.is_first else words.LOG_LEFT if left.few or lost else words.LOG_PARTED
    form = words.LOG_TWO_SIDES if left.is_first and not left.few else form
    by_rate = rate is not None and set(rate.few) == set(who) and rate.step <= left.step
    shown = _told(names, who)
    others = left.sides[0] if lost is None else tuple(one for one in left.members if one not in who)
    halves = _told(names, left.sides[-1]) if form is words.LOG_TWO_SIDES else shown
    text = form(who=halves, name=left.name, step=left.step, others=_told(names, others))
    look = to_do("inspect_hardware", shown, words.DIFFER_SILENTLY)
    if lost is not None:
        look = to_do("check_code", advice.WHAT_LEAVES_OUT, advice.LEFT_OUT_ALONE)
    elif len(left.sides) == len(left.members) > _TWO:
        look = to_do("check_code", advice.WHAT_AVERAGES(name=left.name), advice.ALL_APART)
    return Finding(
        cause="replica_divergence",
        ranks=named,
        suspect_ranks=() if named or not is_ranked else who,
        undecided=() if named else ("replica_tie",),
        first_anomaly=FirstAnomaly(
            rank=named[0] if named else None, step=left.step, value="finite", signature="replica_divergence"
        ),
        claims=(
            Claim(text, "for", _refs(left)),
            *(() if lost is None else (_claim_of(lost),)),
            *(_rate_claims(rate) if rate is not None and set(rate.few) <= set(who) else ()),
        ),
        severity="severe",
        domain="workload" if by_rate else "unknown",
        actions=_by_rate(rate, left)
        if rate is not None and by_rate
        else _by_restart(case, left, who)
        or (look, roll_back(case, left.step, words.DIVERGED, who if is_ranked else ())),
        collect=() if named else (words.REPLAY_ELSEWHERE,),
        summary=sentence(text),
    )


def _lost_alone(case: Case, left: Left) -> Mapping[str, Any] | None:
    """Of two that had agreed: the figure that one of them lost in the step in which they part, while the other had all that it tells as numbers."""
    if len(left.members) != _TWO or left.agreed < _TWO:
        return None
    values = case.tables["values"].filter(pl.col("rank").is_in(left.members))
    told = told_values(values).filter(pl.col("step") == left.step).sort("file", "line", "place")
    bad = told.filter("bad")
    others = told.filter(~pl.col("bad")).select("of", "name")
    compared = bad.join(others, on=["of", "name"], how="semi", maintain_order="left")
    return compared.row(0, named=True) if compared.height and bad["rank"].n_unique() == 1 else None


def _claim_of(lost: Mapping[str, Any]) -> Claim:
    name, who = called({"of": lost["of"], "bad": f"{lost['name']}="}), ranks_text([lost["rank"]])
    text = advice.LOST_WHERE_THEY_PART(who=who, name=name, value=lost["value"])
    return Claim(text, "for", (Ref(file=str(lost["file"]), line=lost["line"], text=f"{name} {lost['value']}"),))


def _told(names: Sequence[str], ranks: Sequence[int]) -> str:
    """Ranks, or what rows or files are named after whose ranks nobody tells."""
    if min(ranks) >= 0:
        return ranks_text(ranks)
    told = [names[-1 - one] for one in ranks]
    return ", ".join(told) if len(told) <= _SHOWN else words.OTHERS_AS(number=len(told), name=told[0])


def _by_restart(case: Case, left: Left, who: Sequence[int]) -> tuple[Action, ...]:
    """Who parts in the first step after a restart was started otherwise, whatever its device does; of a later step nothing is told."""
    if not case.steps_before.height or left.is_first or left.step != case.tables["steps"]["step"].min():
        return ()
    rates = case.tables["steps"].filter(pl.col("step") == left.step).unique("rank")["learning_rate"]
    if rates.len() and not rates.null_count() and rates.n_unique() == 1:  # as they are set, they are alike
        return ()
    target = advice.LOADED_AND_SETTINGS(who=ranks_text(who))
    return (
        to_do("check_config", target, advice.EQUAL_UNTIL_RESTART),
        to_do("restart_job", words.FROM_LOADED, words.EQUAL_UNTIL_THEN),
    )


def _by_rate(rate: Left, left: Left) -> tuple[Action, ...]:
    """Whose settings differ computes something else, whatever its device does. What all had in common before they were read is good."""
    one, other = rate.place[min(rate.few)], rate.place[rate.sides[0][0]]
    reason = words.OTHER_RATE(rate=one[2], others=other[2])
    check = to_do("check_config", words.RATE_OF(who=ranks_text(rate.few)), reason)
    again = to_do("restart_job", words.FROM_LOADED, words.EQUAL_UNTIL_THEN)
    return (check, again) if rate.step == left.step and not left.is_first else (check,)


def _drifted(case: Case, rate: Left) -> Finding:
    (claim,) = _rate_claims(rate)
    return Finding(
        cause="config_drift",
        domain="workload",
        suspect_ranks=rate.few,
        undecided=("tied_explanations",),
        first_anomaly=FirstAnomaly(step=rate.step, value="finite", signature="config:lr"),
        claims=(claim,),
        severity="severe",
        actions=(
            to_do("check_config", ranks_text(rate.few), words.RATES_DIFFER),
            roll_back(case, rate.step, words.DIVERGED, rate.few),
        ),
        summary=sentence(claim.text),
    )


def _rate_claims(rate: Left) -> tuple[Claim, ...]:
    one, other = rate.place[min(rate.few)], rate.place[rate.sides[0][0]]
    text = words.RATE_AFTER_RESTART(who=ranks_text(rate.few), rate=one[2], others=other[2], step=rate.step)
    return (Claim(text, "for", _refs(rate)),)


def _refs(left: Left) -> tuple[Ref, ...]:
    """A line of each side."""
    shown = [left.place[side[0]] for side in (*left.sides[1:4], left.sides[0])]
    return tuple(Ref(file=file, line=line, text=f"step={left.step} {left.name}={value}") for file, line, value in shown)


DETECTOR = Detector("replica_figures", (), detect, "bad_value")
