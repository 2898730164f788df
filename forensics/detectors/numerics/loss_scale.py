"""Did the dynamic loss scale of fp16 training collapse, or only warm up?

A scale that halves a few times and then stays is how it finds its level (minor). One that falls and falls, or reaches
its minimum, means that gradients overflow at every step: training no longer learns. Steps that follow the last overflow
without another one show that it stays, also where they print no scale.
"""

from collections.abc import Mapping
from typing import Any

from forensics.case import Case, Detector
from forensics.facts.scale_falls import collapse, falls
from forensics.model.finding import Claim, Finding
from forensics.model.incident import Action, FirstAnomaly
from forensics.model.names import Severity
from forensics.model.ref import Ref
from forensics.model.said import Said, sentence
from forensics.words import numerics as words

Row = Mapping[str, Any]


def detect(case: Case) -> tuple[Finding, ...]:
    """At most one finding: the collapse; else the overflows of a warm-up, as minor."""
    steps, events = case.tables["steps"], case.events
    if (fall := collapse(steps, events)) is not None:
        what = words.SCALE_AT_MINIMUM if fall.is_minimum else words.SCALE_FELL(scale=f"{fall.end['scale']:g}")
        return (_finding(fall.start, fall.end, "fatal" if fall.is_minimum else "severe", what),)
    for fall in falls(steps, events)[:1]:
        return (_finding(fall.start, fall.end, "minor", words.SCALE_SETTLED(scale=f"{fall.end['scale']:g}")),)
    return ()


def _finding(start: Row, end: Row, severity: Severity, what: Said) -> Finding:
    minor = severity == "minor"
    refs = tuple(Ref(file=row["file"] or "", line=row["line"], text=_figures(row)) for row in (start, end))
    text = what if start["step"] is None else words.SINCE_STEP(what=what, step=start["step"])
    action = Action(kind="ignore", target=words.LOSS_SCALE, command=None, reason=words.IT_SETTLED) if minor else Action(
        kind="check_config", target=words.PRECISION, command=None, reason=words.OVERFLOW_IN_FP16
    )  # fmt: skip
    return Finding(
        detector=DETECTOR.name,
        cause="overflow" if minor else "loss_scale_collapse",
        domain="workload",
        first_anomaly=FirstAnomaly(step=start["step"], value="inf", signature="loss_scale"),
        claims=(Claim(text, "for", refs),),
        severity=severity,
        actions=(action,),
        time_ns=start["time_ns"],
        summary=sentence(text),
    )


def _figures(row: Row) -> str:
    text = row.get("text")
    return str(text) if text else f"step={row['step']} loss_scale={row.get('scale')}"


DETECTOR = Detector(name="loss_scale", needs=(), detect=detect, about="bad_value")
