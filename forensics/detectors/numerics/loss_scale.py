"""Did the dynamic loss scale of fp16 training collapse, or only warm up?

A scale that halves a few times and then stays is how it finds its level (minor). One that falls and falls, or reaches
its minimum, means that gradients overflow at every step: training no longer learns. Steps that follow the last overflow
without another one show that it stays, also where they print no scale.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from forensics.case import Case, Detector
from forensics.model.finding import Claim, Finding
from forensics.model.incident import Action, FirstAnomaly
from forensics.model.names import Severity
from forensics.model.ref import Ref
from forensics.model.said import Said, sentence
from forensics.words import numerics as words

Row = Mapping[str, Any]
_COLLAPSE = 16.0  # this many times below its highest value without a rise
_STABLE = 10  # lines without a change that end a warm-up
_START = 50  # a fall that begins by this step is a warm-up


def detect(case: Case) -> tuple[Finding, ...]:
    """At most one finding: the collapse; else the overflows of a warm-up, as minor."""
    events = case.events.filter(pl.col("kind") == "loss_scale").sort("file", "line", nulls_last=True)
    lowest = events.filter(
        pl.col("text").str.contains("(?i)already at minimum").fill_null(False) | (pl.col("code") == "minimum")
    )
    steps = case.tables["steps"].filter(pl.col("phase").fill_null("train") == "train")
    falls = [(rows, found) for rows in _series(steps, events) if (found := _fall(rows)) is not None]
    if lowest.height:
        row = lowest.row(0, named=True)
        start = min((found[0] for _, found in falls), key=_order, default=row)
        return (_finding(start, row, "fatal", words.SCALE_AT_MINIMUM),)
    for _, (start, end, settled, early) in sorted(falls, key=lambda item: _order(item[1][0])):
        fell = words.SCALE_FELL(scale=f"{end['scale']:g}")
        if (not settled or _skips_on(steps, end)) and not early and not _went_on(steps, end):
            return (_finding(start, end, "severe", fell),)
    for _, (start, end, _, _) in falls:
        return (_finding(start, end, "minor", words.SCALE_SETTLED(scale=f"{end['scale']:g}")),)
    return ()


def _series(steps: pl.DataFrame, events: pl.DataFrame) -> Sequence[Sequence[Row]]:
    """Scales in the order of their lines, per file and rank. Lines without a rank tell of all: the scale is one."""
    lines = steps.filter(pl.col("loss_scale").is_not_null())
    names = ("file", "rank", "line", "step", "time_ns")
    both = [
        lines.select(*names, pl.col("loss_scale").alias("scale")),
        events.select(*names, pl.col("value").alias("scale")),
    ]
    whole = pl.concat(both).filter(pl.col("scale").is_finite()).sort("file", "line", nulls_last=True)
    whole = whole.with_columns(pl.col("step").fill_null(_next_step(whole, steps)))
    series = []
    for part in whole.partition_by("file", maintain_order=True):
        for rank in part["rank"].drop_nulls().unique(maintain_order=True).to_list() or [None]:
            series.append(part.filter(pl.col("rank").is_null() | pl.col("rank").eq_missing(rank)).to_dicts())
    return series


def _next_step(scales: pl.DataFrame, steps: pl.DataFrame) -> pl.Series:
    """Of each line, the step that the file tells next: an overflow is printed before its step."""
    told = steps.select("file", "line", pl.col("step").alias("next")).drop_nulls().sort("line")
    scales = scales.with_row_index().sort("line")
    found = scales.join_asof(told, on="line", by="file", strategy="forward", check_sortedness=False)
    return found.sort("index")["next"]


def _went_on(steps: pl.DataFrame, end: Row) -> bool:
    """Whether enough steps were told after the last overflow, in its file or, by the clock, in others."""
    after = (pl.col("file") == end["file"]) & (pl.col("line") > end["line"])
    if end["time_ns"] is not None:
        after |= (pl.col("file") != end["file"]) & (pl.col("time_ns") > end["time_ns"])
    later = steps.filter(after & (pl.col("skipped").fill_null(0) == 0))
    uncounted = later.filter(pl.col("step").is_null() & pl.col("loss").is_finite())  # HF's trainer prints no numbers
    return max(later["step"].drop_nulls().n_unique(), uncounted.height) > _STABLE


def _skips_on(steps: pl.DataFrame, end: Row) -> bool:
    """Whether most steps are still skipped though the scale falls no more: it has no lower value."""
    later = steps.filter(
        (pl.col("file") == end["file"]) & (pl.col("line") > end["line"]) & pl.col("step").is_not_null()
    )
    return later.height > 0 and bool((later["skipped"].fill_null(0) > 0).mean() > 0.5)  # type: ignore[operator]


def _fall(rows: Sequence[Row]) -> tuple[Row, Row, bool, bool] | None:
    """(first line that is lower, lowest line, whether it was stable after, whether training had just begun)."""
    best: tuple[Row, Row, int] | None = None
    top = 0
    for at, row in enumerate(rows):
        if row["scale"] > rows[at - 1]["scale"] or not at:
            top = at
        low = row["scale"] > 0 and rows[top]["scale"] / row["scale"] >= _COLLAPSE
        if row["scale"] <= 0 or (low and (best is None or row["scale"] < best[1]["scale"])):
            lower = (other for other in rows[top:] if other["scale"] < rows[top]["scale"])
            start = next(lower, rows[top])  # a log may begin at nothing
            best = (start, row, at)
    if best is None:
        return None
    start, end, at = best
    step = start["step"]
    return start, end, len(rows) - at > _STABLE, step is not None and step <= _START


def _order(row: Row) -> tuple[int, str, int]:
    return (row["step"] if row["step"] is not None else 1 << 62, row["file"] or "", row["line"] or 0)


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
