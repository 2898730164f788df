"""What a run goes on with after a restart: a state that was bad when it was saved or is bad as it was loaded, a loss that leaps."""

from collections.abc import Sequence
from itertools import pairwise
from math import isfinite

import msgspec
import polars as pl

from forensics.case import Case
from forensics.detectors.numerics.loss_advice import has_loaded
from forensics.detectors.numerics.loss_lines import Row, first_nan, line_ref, streams_of, when
from forensics.facts.durations.checkpoints import before_step
from forensics.facts.figures.loss_spikes import BACK, FEW, Spike, finite_lines, normal_before
from forensics.facts.figures.odd_values import MADE, STATE, called, loaded_alike, lost_by_all
from forensics.facts.rows.event_rows import refs
from forensics.model.finding import Claim, Finding
from forensics.model.incident import FirstAnomaly, to_do
from forensics.model.middle import median
from forensics.model.ref import Ref
from forensics.model.said import sentence
from forensics.words import advice
from forensics.words import losses as words
from parsers.text.vocabulary import words_of

_ANEW = 0.7  # of the way back to the first loss of the run
_FALLEN = 0.15  # of the loss before the restart, how far it had come from there
_BEYOND_NOISE = 8  # times how much the lines before the restart vary
_BEHIND = 3  # lines after a restart, all above those before it


def loaded_state(case: Case, found: Finding, streams: Sequence[Sequence[Row]], row: Row) -> Finding | None:
    """A finding that the first loss of a run was bad, and that line → the same of what was loaded; None where that is not shown."""
    if (saved := _bad_before(case, row)) is not None:
        return _inherited(case, found, row, saved)
    return _loaded_bad(case, found, row) if not found.ranks and _is_loaded_bad(case, streams, row) else None


def _bad_before(case: Case, row: Row) -> Row | None:
    """The line of the attempt before from which on all were bad until after the step that this one loaded: what was saved
    there was bad already."""
    loads = case.events.filter((pl.col("kind") == "checkpoint_load") & pl.col("step").is_not_null())
    loaded = loads["step"].unique().to_list()
    if not case.steps_before.height or len(loaded) != 1 or row["step"] is None or loaded[0] >= row["step"]:
        return None
    for part in streams_of(case.steps_before):
        told = [one for one in part if one["step"] is not None]
        bad = [first_nan([one]) is not None for one in told]
        saved = [at for at, one in enumerate(told) if one["step"] <= loaded[0]]
        if not saved or not all(bad[saved[-1] :]):
            continue
        at = saved[-1]
        while at and bad[at - 1]:
            at -= 1
        return told[at]
    return None


def _is_loaded_bad(case: Case, streams: Sequence[Sequence[Row]], row: Row) -> bool:
    """Whether the first loss of a run that went on from a checkpoint was bad, of all who print one: it was computed from what was loaded
    alone. That it went on, a line says, or the attempt before, whose loss in that step was fine."""
    heads = [rows[0] for rows in streams if rows[0]["step"] == row["step"]]
    if row["step"] is None or any(one["loss"] is None or isfinite(one["loss"]) for one in heads):
        return False
    loads = case.events.filter((pl.col("kind") == "checkpoint_load") & (pl.col("step") <= row["step"]))
    was_fine = case.steps_before.height and any(
        one["step"] == row["step"] and rows[0]["step"] < row["step"]
        for rows in streams_of(case.steps_before)
        if rows and rows[0]["step"] is not None
        for one in finite_lines(rows)
    )
    return bool(was_fine or loads.height)


def _loaded_bad(case: Case, found: Finding, row: Row) -> Finding:
    """The same finding, of a state that was bad as it was loaded; that the data of all were, is not ruled out."""
    text = words.BAD_AT_ONCE(step=row["step"])
    return msgspec.structs.replace(
        found,
        cause="bad_state",
        suspect_ranks=(),
        undecided=("tied_explanations",),
        claims=(*found.claims, Claim(text, "for", (line_ref(row),)), *_loads(case)),
        actions=(
            to_do("check_config", words.WHAT_WAS_LOADED, words.GOES_ON_WITH_OTHERS),
            to_do("rollback", before_step(row["step"]), words.NOT_FINITE),
        ),
        collect=(words.PARAMETERS_NOT_LOADED,),
        summary=sentence(text),
    )


def _loads(case: Case) -> list[Claim]:
    """Where lines say that a checkpoint was loaded."""
    loaded = case.events.filter(pl.col("kind") == "checkpoint_load").sort("file", "line")
    return [Claim(words.CHECKPOINT_LOADED, "for", refs(loaded.iter_rows(named=True), 2))] if loaded.height else []


def loaded_by_all(case: Case, found: Finding) -> Finding | None:
    """A finding that names nobody → the same of a state that every rank found bad, alike, before its first step, or in an earlier step than the finding's;
    None where they did not."""
    rows = [] if found.ranks else loaded_alike(case.tables["values"], case.job_told_of)
    if not rows:
        return None if found.ranks else _lost_before(case, found)
    is_new = case.tables["steps"]["step"].min() in (0, 1) and not has_loaded(case)
    form = advice.BAD_ON_ALL_AT_FIRST if is_new else words.BAD_ON_ALL_AS_LOADED
    text = form(name=called(rows[0]), value=rows[0]["bad"].partition("=")[2])
    action = to_do("rollback", "job", words.NOT_FINITE)
    if is_new:
        action = to_do("check_code", called(rows[0]), advice.NOT_INITIALISED)
    shown = tuple(Ref(file=str(row["file"]), line=row["line"], text=called(row)) for row in rows[:2])
    return msgspec.structs.replace(
        found,
        cause="bad_state",
        suspect_ranks=(),
        undecided=(),
        domain="workload",
        first_anomaly=FirstAnomaly(
            step=found.first_anomaly.step, module=called(rows[0]), value="nan", signature="loaded_state"
        ),
        claims=(Claim(text, "for", shown), *found.claims),
        actions=(action,),
        summary=sentence(text),
    )


def _lost_before(case: Case, found: Finding) -> Finding | None:
    at = found.first_anomaly.step
    values = case.tables["values"]
    row = None if at is None or not values["bad"].is_not_null().any() else lost_by_all(values, case.job_told_of, at)
    if row is None:
        return None
    name = called({"of": row["of"], "bad": f"{row['name']}="})
    text = words.LOST_BY_ALL(step=row["step"], name=name, value=row["value"])
    is_state = not (said := frozenset(words_of(name))).isdisjoint(STATE) and said.isdisjoint(MADE)
    return msgspec.structs.replace(
        found,
        cause="bad_state" if is_state else found.cause,
        first_anomaly=msgspec.structs.replace(found.first_anomaly, step=row["step"], module=name, op=None),
        since_step=None,
        claims=(Claim(text, "for", (Ref(file=str(row["file"]), line=row["line"], text=name),)), *found.claims),
        actions=(to_do("rollback", before_step(row["step"]), words.NOT_FINITE),),
        summary=sentence(text),
    )


def _inherited(case: Case, found: Finding, row: Row, before: Row) -> Finding:
    """The same finding, of a state that was bad when it was saved."""
    text = words.SAVED_WHILE_BAD(step=row["step"], before=before["step"])
    return msgspec.structs.replace(
        found,
        cause="bad_state",
        ranks=(),
        suspect_ranks=(),
        undecided=("tied_explanations",),
        claims=(*found.claims, Claim(text, "for", (line_ref(before),)), *_loads(case)),
        actions=(to_do("rollback", before_step(before["step"]), words.NOT_FINITE),),
        summary=sentence(text),
    )


def as_loaded(case: Case, found: Finding) -> Finding:
    """A finding of what is far from all others → where that is in the first step after a restart, the same of what was loaded."""
    place = next(iter(found.claims[0].refs), None)
    if place is None or place.line is None or found.cause == "bad_input":
        return found
    is_ahead = (pl.col("file").cast(pl.String) == place.file) & (pl.col("line") < place.line)
    told = case.tables["steps"].filter(is_ahead & pl.col("step").is_not_null())
    loads = case.events.filter((pl.col("kind") == "checkpoint_load") & is_ahead)
    if not loads.height or (told.height and loads["line"].max() < told["line"].max()):  # type: ignore[operator]
        return found
    last = loads.sort("line")["step"].drop_nulls().to_list()[-1:] or told.sort("line")["step"].to_list()[-1:]
    why = advice.FIRST_AFTER_RESTART
    check = to_do("check_config", words.WHAT_WAS_LOADED, why)
    back = [to_do("rollback", before_step(int(step)), why) for step in last]
    claims = (*found.claims, Claim(words.CHECKPOINT_LOADED, "for", refs(loads.iter_rows(named=True), 2)))
    return msgspec.structs.replace(found, cause="bad_state", claims=claims, actions=(check, *back))


def leap_of(case: Case, rows: Sequence[Row]) -> Spike | None:
    """A loss that leaps over a restart: the attempt before printed the steps before this one's first, and what this one goes on
    with is not what that had come to."""
    now = finite_lines(rows)
    if not now or not case.steps_before.height or now[0]["step"] is None:
        return None
    told = [row for part in streams_of(case.steps_before) for row in finite_lines(part) if row["step"] is not None]
    before = sorted((row for row in told if row["step"] < now[0]["step"]), key=when)[-BACK:]
    whole = [*before, *now]
    every = max((two["step"] - one["step"] for one, two in pairwise(before)), default=0)
    if len(before) < FEW or now[0]["step"] - before[-1]["step"] > every + 1:
        return None
    normal = normal_before(whole, [row["loss"] for row in whole], len(before), case.tolerances.loss)
    normal = _begun_anew(min(told, key=when)["loss"], before[-FEW:], now) if normal is None else normal
    return None if normal is None else Spike(now[0], now[0], normal, None)


def _begun_anew(start: float, before: Sequence[Row], now: Sequence[Row]) -> float | None:
    """The loss before a restart, where the lines behind it are back near what the run once began with: nothing of what it had learnt was taken over."""
    losses, behind = [row["loss"] for row in before], [row["loss"] for row in now[:_BEHIND]]
    normal, highest = median(losses), max(losses)
    fallen, noise = start - normal, median(abs(loss - normal) for loss in losses)
    is_plain = fallen > max(_FALLEN * normal, _BEYOND_NOISE * noise) and len(behind) == _BEHIND
    return normal if is_plain and behind[0] - normal > _ANEW * fallen and min(behind) > highest else None


def resumed_finding(case: Case, leap: Spike) -> Finding:
    first, why = leap.onset, words.GOES_ON_WITH_OTHERS
    text = words.LOSS_ROSE_OVER_RESTART(normal=f"{leap.normal:.4g}", loss=f"{first['loss']:.4g}", step=first["step"])
    return Finding(
        cause="bad_state",
        domain="workload",
        first_anomaly=FirstAnomaly(step=first["step"], value="finite", signature="loss_after_restart"),
        undecided=("tied_explanations",),
        claims=(Claim(text, "for", (line_ref(first),)), *_loads(case)),
        severity="severe",
        actions=(
            to_do("check_config", words.WHAT_WAS_LOADED, why),
            to_do("rollback", before_step(first["step"]), words.BUILDS_ON_IT),
        ),
        collect=(words.PARAMETERS_NOT_LOADED,),
        time_ns=first["time_ns"],
        summary=sentence(words.AND_WHY(what=text, why=why)),
    )
