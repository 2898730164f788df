"""Did the dynamic loss scale of fp16 training collapse, or only warm up?

A scale that halves a few times and then stays is how it finds its level (minor). One that falls and falls, or reaches
its minimum, means that gradients overflow at every step: training no longer learns. Steps that follow the last overflow
without another one show that it stays, also where they print no scale.
"""

import math
from collections.abc import Mapping
from typing import Any

import polars as pl
from msgspec import structs

from forensics.case import Case, Detector
from forensics.facts.durations.checkpoints import before_step
from forensics.facts.figures.scale_falls import Fall, collapse, falls
from forensics.facts.figures.vanished_gradients import vanished
from forensics.model.finding import Claim, Finding
from forensics.model.incident import FirstAnomaly, to_do
from forensics.model.names import Severity
from forensics.model.ref import Ref
from forensics.model.said import Said, joined, sentence
from forensics.words import advice
from forensics.words import losses as words

Row = Mapping[str, Any]
_SOURCE = "Micikevicius et al. 2018, Mixed Precision Training, 3.2; PyTorch: torch.amp, GradScaler"


def detect(case: Case) -> tuple[Finding, ...]:
    """At most one finding: the collapse; else the overflows of a warm-up, as minor."""
    steps, events = case.tables["steps"], case.events
    if (fall := collapse(steps, events)) is not None:
        what = words.TO_ITS_MINIMUM if fall.is_minimum else words.DOWN_TO(scale=f"{fall.end['scale']:g}")
        found = _finding(fall, "fatal" if fall.is_minimum else "severe", what)
        return (_with_bad_loss(_of_settings(found, steps, fall), steps, fall),)
    for fall in falls(steps, events)[: 1 if vanished(steps) is None else 0]:
        return (_finding(fall, "minor", words.FOUND_ITS_LEVEL(scale=f"{fall.end['scale']:g}")),)
    return ()


def _finding(fall: Fall, severity: Severity, what: Said) -> Finding:
    minor, start, end = severity == "minor", fall.start, fall.end
    refs = tuple(
        dict.fromkeys(Ref(file=row["file"] or "", line=row["line"], text=_figures(row)) for row in (end, start))
    )
    text: Said = words.SCALE_AT_MINIMUM
    if start is not end or not fall.is_minimum:
        fell, step = words.SCALE_FELL, start["step"]
        text = fell(what=what) if step is None else words.SCALE_FELL_SINCE(step=step, what=what)
    action = to_do("check_config", words.PRECISION, words.OVERFLOW_IN_FP16)
    action = to_do("ignore", words.LOSS_SCALE, words.IT_SETTLED) if minor else action
    return Finding(
        cause="overflow" if minor else "loss_scale_collapse",
        domain="workload",
        first_anomaly=FirstAnomaly(step=start["step"], value="inf", signature="loss_scale"),
        claims=(Claim(text, "for", refs),),
        severity=severity,
        actions=(action,),
        time_ns=start["time_ns"],
        summary=sentence(text),
    )


def _of_settings(found: Finding, steps: pl.DataFrame, fall: Fall) -> Finding:
    """The same with the learning rate of that time, and what tells one setting from the other."""
    step, [action] = fall.start["step"], found.actions
    told = steps.filter(pl.col("learning_rate").is_not_null() & (pl.col("file") == fall.start["file"]))
    before = told.filter(pl.col("step") <= step) if step is not None else told.clear()
    rate = before.sort("step", "line")["learning_rate"].last() if before.height else None
    reason = action.reason if not isinstance(rate, float) else advice.AT_RATE(what=action.reason, rate=f"{rate:g}")
    look = advice.LOOK_AT_SCALE_IN_NO_STEP if step is None else advice.LOOK_AT_SCALE(step=step)
    action = structs.replace(action, reason=reason, look=look, then=advice.THEN_OF_SCALE, source=_SOURCE)
    return structs.replace(found, actions=(action,), collect=(words.STATISTICS_AROUND_STEP,))


def _with_bad_loss(found: Finding, steps: pl.DataFrame, fall: Fall) -> Finding:
    """The same with the loss, where it is bad from some step of the fall on to the end: a scale touches gradients alone."""
    began, file = fall.start["step"], fall.start["file"]
    told = steps.filter((pl.col("file") == file) & pl.col("loss").is_not_null() & pl.col("step").is_not_null())
    told = told.filter(pl.col("step") >= began).sort("step", "line") if began is not None else told.clear()
    bad = told.filter(~pl.col("loss").is_finite())
    if bad.is_empty():
        return found
    first = bad.row(0, named=True)
    if told.filter((pl.col("step") >= first["step"]) & pl.col("loss").is_finite()).height:
        return found
    value = "NaN" if math.isnan(first["loss"]) else "Inf"
    text = words.LOSS_BAD_MEANWHILE(step=first["step"], value=value)
    place = Ref(file=first["file"], line=first["line"], text=f"step={first['step']} loss={first['loss']}")
    return structs.replace(
        found,
        claims=(*found.claims, Claim(text, "for", (place,))),
        actions=(*found.actions, to_do("rollback", before_step(began), words.NO_SCALE_CURES_IT)),
        summary=joined((found.summary, sentence(text)), " "),
    )


def _figures(row: Row) -> str:
    text = row.get("text")
    return str(text) if text else f"step={row['step']} loss_scale={row.get('scale')}"


DETECTOR = Detector("loss_scale", (), detect, "bad_value")
