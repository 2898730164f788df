"""Of a loss that is finite and far from all others: whose it is, and whether that rank was given what made it, made it, or holds it."""

from math import isfinite

import polars as pl

from forensics.case import Case
from forensics.detectors.numerics.loss_advice import far_states, roll_back
from forensics.detectors.numerics.loss_lines import line_ref
from forensics.facts.figures.own_values import OwnLoss
from forensics.facts.figures.scale_falls import collapse
from forensics.model.finding import Claim, Finding
from forensics.model.incident import FirstAnomaly
from forensics.model.names import Cause
from forensics.model.said import sentence
from forensics.model.texts import ranks_text
from forensics.words import advice
from forensics.words import losses as words
from parsers.text.vocabulary import words_of

_NEAR = 10  # times the usual loss
_LEAPT = 1e3  # times the largest loss before: the update took the others along
_GIVEN = frozenset(
    ("input", "inputs", "in", "x", "batch", "pixel", "pixels", "image", "images", "data", "sample", "samples")
)
_STATISTIC = frozenset(("abs", "absmax", "amax", "maxabs", "l2", "rms", "std", "mean", "norm", "local", "own", "peak"))


def far_finding(case: Case, own: OwnLoss) -> Finding:
    """A loss that is finite and beyond all others: what made it is a value no training comes to. Where the loss scale fell to the end
    from then on, that is what it led to."""
    fall = collapse(case.tables["steps"], case.events)
    led = fall is not None and (fall.start["step"] is None or fall.start["step"] >= own.step)
    ranks = tuple(row["rank"] for row in own.rows)
    alone = ranks if case.is_data_parallel else ()
    shown = {"loss": f"{own.rows[0]['loss']:.4g}", "name": own.name, "times": f"{own.times:,.0f}"}
    text = words.FAR_FROM_OTHERS(who=ranks_text(ranks), step=own.step, **shown)
    claims = [Claim(text, "for", tuple(line_ref(row) for row in own.rows[:10]))]
    states = far_states(case, ranks[0], own.step) if len(ranks) == 1 else []
    claims += [Claim(advice.ALL_ROSE_AFTER, "for")] if own.is_carried else []
    claims += [*states, *([Claim(words.PLAIN_DATA_PARALLEL, "for")] if alone else [])]
    return Finding(
        cause="loss_scale_collapse" if led else _far_cause(case, own),
        ranks=alone,
        suspect_ranks=() if alone else ranks,
        first_anomaly=FirstAnomaly(rank=alone[0] if alone else None, step=own.step, value="finite"),
        undecided=() if alone else ("tied_explanations",),
        claims=tuple(claims),
        severity="fatal",
        actions=(roll_back(case, own.step, states[0].text if states else words.FAR, ranks),),
        collect=(words.STATISTICS_AROUND_STEP,),
        time_ns=own.rows[0]["time_ns"],
        summary=sentence(text),
    )


def _far_cause(case: Case, own: OwnLoss) -> Cause:
    """What the rank was given, where that was as far; else by whether it came back."""
    words_of_them = [frozenset(words_of(name)) for name in own.beside]
    is_given = any(of & _GIVEN and of <= _GIVEN | _STATISTIC for of in words_of_them)
    return "bad_input" if is_given else "loss_spike" if _is_back(case, own) else "bad_state"


def _is_back(case: Case, own: OwnLoss) -> bool:
    """Did these ranks, later, come near the losses of the others again, or these to theirs in the next step? What they hold is not broken then, or no more than what all do:
    a value that no training comes to outlasts the update that it spoilt for all."""
    if own.is_back is not None:
        return own.is_back
    ranks = [row["rank"] for row in own.rows]
    later = case.tables["steps"].filter(pl.col("step") > own.step).drop_nulls(["loss", "rank"])
    last = later.filter(pl.col("step") == pl.col("step").max())
    theirs = last.filter(pl.col("rank").is_in(ranks))["loss"]
    usual = last["loss"].median()
    if len(theirs) and isinstance(usual, float) and bool((theirs < _NEAR * max(usual, 1.0)).all()):
        return True
    following = later.filter((pl.col("step") == own.step + 1) & (pl.col("phase").fill_null("train") == "train"))
    is_its = pl.col("rank").is_in(ranks)
    most = following.filter(~is_its)["loss"].abs().max()
    after = following.filter(is_its)["loss"].abs()
    if not isinstance(most, float) or not isfinite(most) or {*following["rank"]} != case.job_told_of:
        return False
    return most > _LEAPT * max(_usual_of(case, own), 1.0) and bool((after < _NEAR * most).all())


def _usual_of(case: Case, own: OwnLoss) -> float:
    """The largest loss of anybody before that step."""
    before = case.tables["steps"].filter((pl.col("step") < own.step) & pl.col("loss").is_finite())
    most = before["loss"].abs().max()
    return most if isinstance(most, float) else 0.0
