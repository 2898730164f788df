"""Did one rank alone lose a figure, in what all ranks record under the same name, before the others did?

Where it stands tells the cause: in parameters or the optimizer's state, in what the step was given, in what a reduction gave to it
while all that went in were numbers; else the value itself, Inf or NaN. What stays a number on all ranks after the others were lost holds nothing
that was learnt: it is what a step is given, whatever it is called.
"""

from collections.abc import Mapping
from math import isfinite, nan
from typing import Any

import polars as pl

from forensics.case import Case, Detector
from forensics.detectors.numerics.loss_advice import of_batch, roll_back
from forensics.facts.figures.given_out import AN_EXPERT
from forensics.facts.figures.odd_values import GRADIENT, MADE, STATE, OddValue, called, is_its_own, module_of
from forensics.facts.figures.own_values import are_of_all, has_experts, is_divided
from forensics.facts.figures.passed_on import lost_first
from forensics.facts.figures.speakers import speakers
from forensics.model.finding import Claim, Finding
from forensics.model.incident import Action, FirstAnomaly
from forensics.model.names import Cause
from forensics.model.ref import Ref
from forensics.model.said import sentence
from forensics.model.texts import ranks_text
from forensics.words import losses as words
from parsers.forms.reading import real
from parsers.text.vocabulary import words_of
from parsers.training.told_values import is_broken

_READS = frozenset(["dataset", "reader", "loader"])  # what they print, but for what a part of a model called so makes
_DATA = _READS | {"batch", "batches", "sample", "samples", "pixel", "pixels", "image", "images", "data"}
_GIVEN = _DATA | {"input", "inputs", "reward", "rewards"}  # these may be what another rank sent
_HELD = STATE | {"w"}
_OWN = frozenset(["pre", "local", "own", "before", "unreduced", "self"])
_REDUCED = frozenset(["post", "reduced", "avg", "averaged", "allreduced", "global", "synced", "synchronized"])


def detect(case: Case) -> tuple[Finding, ...]:
    """At most one finding."""
    found, names = case.odd_value, None
    if case.tables["tensors"].height:
        return ()
    # Nobody tells a rank: who it is, is said by what its rows are named after.
    if found is None and (told := speakers(case.tables)) is not None:
        found, names = lost_first(told.tables, told.numbers), told.names
    if found is None:
        return ()
    cause = _cause(found)
    # What a rank was given by its own reader, or has loaded, is bad before anybody else takes part, whatever the layout.
    is_first = cause == "bad_input" and not _DATA.isdisjoint(_said(found))
    is_first |= found.is_given or (cause == "bad_state" and found.step is None)
    said = frozenset(words_of(called(found)))
    # A part's weights, where what all hold or take in was a number still: nobody gave it that in this step.
    is_first |= found.is_held and bool(found.kept) and bool(said & _HELD) and not said & MADE
    is_first |= found.is_of_peers and not said & GRADIENT  # a gradient may have come from who learns
    with_experts = has_experts(case.tables)  # who lost it may have been sent it
    is_first |= found.is_proven or (found.is_ahead and not with_experts) or is_its_own(found)
    # What it was sent would have gone on to its loss; and what one expert gives was made where that is.
    is_first |= with_experts and (_has_loss(case, found) or AN_EXPERT.search(called(found)) is not None)
    alone = names is None and (case.is_data_parallel or is_first)
    is_of_all = not said.isdisjoint(("loss", "losses")) and are_of_all(case.tables, case.job_told_of)
    may_be_others = with_experts or is_divided(case.tables) or is_of_all
    form = words.ODD_VALUE_AT_LAST if found.is_last else words.ODD_VALUE
    if found.step is None:
        checked = words.ODD_VALUE_CHECKED if case.tables["steps"].height else words.ODD_VALUE_AT_A_CHECK
        form = checked if found.is_checked else words.ODD_VALUE_AT_FIRST
    is_size = is_broken(found.value)
    if found.step is not None and isfinite(real(found.value) or nan):  # how many were bad
        form = words.ODD_SIZE if is_size else words.ODD_COUNT
    form = words.GAVE_WHAT_IT_WAS_NOT_GIVEN if found.is_proven else form
    who = ranks_text([found.rank]) if names is None else names[found.rank]
    text = form(who=who, name=called(found), value=found.value, step=found.step)
    beside = words.WAS_GIVEN
    if not found.is_proven:
        rank = found.beside["rank"]
        beside = words.NOT_BESIDE(rank=rank) if names is None else words.NOT_BESIDE_OF(who=names[rank])
    claims = [Claim(text, "for", (_ref(found.row, found.value),)), Claim(beside, "for", (_ref(found.beside, ""),))]
    if case.is_data_parallel:
        claims.append(Claim(words.PLAIN_DATA_PARALLEL, "for"))
    return (
        Finding(
            cause=cause,
            ranks=(found.rank,) if alone else (),
            suspect_ranks=() if alone or names is not None or may_be_others else (found.rank,),
            undecided=("membership_unknown",) if names is not None else () if alone else ("tied_explanations",),
            first_anomaly=FirstAnomaly(
                rank=found.rank if alone else None,
                step=found.first_step if found.step is None else found.step,
                microbatch=found.row.get("microbatch"),
                module=module_of(found),
                value="finite" if is_size else "inf" if cause == "overflow" else "nan",
            ),
            claims=tuple(claims),
            severity="fatal",
            actions=_actions(case, found, cause) if names is None else (),
            collect=(words.STATISTICS_AROUND_STEP,),
            time_ns=found.row["time_ns"],
            summary=sentence(text),
        ),
    )


def _actions(case: Case, found: OddValue, cause: Cause) -> tuple[Action, ...]:
    """Where all hold the same parameters, and others came to numbers there, it is what this rank read."""
    back = roll_back(case, found.step, words.NOT_FINITE, (found.rank,))
    is_read = cause == "bad_input" or (case.is_data_parallel and cause in ("nan_birth", "overflow"))
    return of_batch(case, (found.rank,), found.step, back) if is_read and back.kind == "rollback" else (back,)


def _said(found: OddValue) -> frozenset[str]:
    said = frozenset(words_of(called(found)))
    return said - _READS if said & MADE else said


def _has_loss(case: Case, found: OddValue) -> bool:
    """Is the loss of the rank a number in the step in which a figure of it was none?"""
    steps = case.tables["steps"].filter((pl.col("rank") == found.rank) & (pl.col("step") == found.step))
    losses = steps["loss"].drop_nulls()
    return bool(losses.len()) and bool(losses.is_finite().all())


def _cause(found: OddValue) -> Cause:
    said = _said(found)
    kept = frozenset(word for name in found.kept for word in words_of(name))
    if said & _REDUCED and not said & STATE and kept & _OWN:
        return "comm_corruption"
    if (found.is_given and not said & MADE) or any(map(_is_of_batch, found.others)):
        return "bad_input"
    if said & (_HELD if found.is_held else STATE) and not said & MADE:
        return "bad_state"
    if found.opens and said & _GIVEN and not said & GRADIENT:
        return "bad_input"
    return "overflow" if "inf" in found.value or said & {"inf", "infs"} or is_broken(found.value) else "nan_birth"


def _is_of_batch(name: str) -> bool:
    """Is a figure, that the rank alone lost in that step, of what it read? Whatever else it lost came of that, wherever it is printed."""
    said = frozenset(words_of(name))
    return not _DATA.isdisjoint(said) and not said & (MADE | STATE)


def _ref(row: Mapping[str, Any], value: str) -> Ref:
    return Ref(file=str(row["file"]), line=row["line"], text=f"{row['of']} {row['name']} {value}".strip())


DETECTOR = Detector("odd_value", (), detect, "bad_value")
