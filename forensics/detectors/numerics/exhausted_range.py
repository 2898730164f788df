"""Was the range of a number format exhausted though nothing is NaN or Inf: saturated casts, gradients that became zero?

Scaled formats (FP8) clip instead of overflowing: the share of clipped values, or the largest value times the scale,
tells. A gradient that is too small for its format is zero: where all gradients of a step are, training has stopped.
"""

from typing import Any

import polars as pl

from forensics.case import Case, Detector
from forensics.detectors.numerics.anomaly_rows import Row, describe, first_anomaly, ref, same, where
from forensics.facts.durations.checkpoints import before_step
from forensics.graph.numerics.tensor_ops import newest_launch
from forensics.graph.numerics.tensor_rules import FOUND_INF, LARGEST
from forensics.model.finding import Claim, Finding
from forensics.model.incident import Action, to_do
from forensics.model.names import Cause
from forensics.model.said import Form, joined
from forensics.model.texts import ranges
from forensics.words import formats as words

_CALM_PCT, _CLIPPED_PCT, _LOST_PCT = 0.1, 1.0, 25.0  # of values; below the first nothing is wrong
_CALM_LOST_PCT = 5.0
_GONE, _THERE, _LEAST = 0.9, 0.1, 4  # share of gradients that are zero, and how many must be seen
_GRADIENTS = ("grad_input", "param_grad", "grad_in", "grad_out", "grad_output")
_SERIES = ("rank", "module", "tensor")


def detect(case: Case) -> tuple[Finding, ...]:
    """At most one finding per cause: the first saturation, the first underflow."""
    frame = newest_launch(case.tables["tensors"])
    if not frame.height:
        return ()
    clipped = _onset(frame, _clipped(), _CALM_PCT, _CLIPPED_PCT)
    lost = _onset(frame, pl.col("underflow_pct"), _CALM_LOST_PCT, _LOST_PCT)
    zero = _vanished(frame.filter(~pl.col("step").is_in(_skipped(case, frame))))
    found = []
    if clipped is not None:
        found.append(_finding(frame, clipped, "overflow", words.CLIPPED))
    if lost is not None and (zero is None or lost["step"][0] < zero[0]):  # the gradients are then what came of it
        found.append(_finding(frame, lost, "underflow", words.TOO_SMALL, _zero_claims(*zero) if zero else ()))
    elif zero is not None:
        found.append(_zero_finding(*zero))
    return tuple(found)


def _skipped(case: Case, frame: pl.DataFrame) -> list[int]:
    """Steps whose update the log says was left out, by the job or by every rank that has statistics: what became zero there
    was made so."""
    told = case.tables["steps"].filter((pl.col("skipped") > 0) & pl.col("step").is_not_null())
    ranks = set(frame["rank"].to_list())
    by_step = told.group_by("step").agg(pl.col("rank"), pl.col("rank").has_nulls().alias("whole"))
    return [step for step, said, whole in by_step.iter_rows() if whole or ranks <= set(said)]


def _clipped() -> pl.Expr:
    """Percent of values beyond the format, or 100 where the largest value is and no share is given."""
    most = pl.col("format").str.to_lowercase().replace_strict(dict(LARGEST), default=None, return_dtype=pl.Float64)
    beyond = pl.col("amax").abs() * pl.col("scale") > most
    return pl.coalesce("overflow_pct", pl.when(beyond).then(100.0).when(beyond.is_not_null()).then(0.0))


def _onset(frame: pl.DataFrame, share: pl.Expr, calm: float, much: float) -> pl.DataFrame | None:
    """The first rows, one per series, whose share is much though it was calm in every step before; None if none."""
    rows = frame.with_columns(share.alias("share")).filter(pl.col("share").is_not_null())
    if not rows.height:
        return None
    begin = rows.filter(pl.col("share") >= much).group_by(_SERIES, maintain_order=True).first()
    begin = begin.select(*_SERIES, pl.col("place").alias("begin"))
    whole = rows.join(begin, on=_SERIES, nulls_equal=True, maintain_order="left")
    before = whole.filter(pl.col("place") < pl.col("begin")).group_by(_SERIES).agg(pl.col("share").min().alias("calm"))
    calmed = before.filter(pl.col("calm") <= calm).select(_SERIES)
    begun = whole.filter(pl.col("place") == pl.col("begin"))
    first = begun.join(calmed, on=_SERIES, how="semi", nulls_equal=True, maintain_order="left")
    return first.sort("step", "place") if first.height else None


def _vanished(frame: pl.DataFrame) -> tuple[int, pl.DataFrame, pl.DataFrame] | None:
    """(step, per-step shares, rows of that step): the first step from which on gradients are zero that were not before. A
    module into which nothing but zeros went (an expert without tokens, a masked batch) has none by right."""
    flag = pl.any_horizontal(pl.col(name).str.contains(FOUND_INF).fill_null(False) for name in ("module", "tensor"))
    size = pl.coalesce("absmax", pl.max_horizontal(pl.col("min").abs(), pl.col("max").abs()))
    none = (size == 0).fill_null(False)
    if not frame.select(none.any()).item():
        return None
    rows = frame.filter(pl.col("base").is_in(_GRADIENTS) & (pl.col("numel").fill_null(2) > 1) & ~flag)
    run = ["rank", "step", "module"]
    fed = frame.filter(pl.col("base") == "input").group_by(run).agg(size.max().alias("fed")).filter(pl.col("fed") == 0)
    rows = rows.join(fed, on=run, how="anti", nulls_equal=True, maintain_order="left")
    rows = rows.with_columns((size == 0).alias("zero")).filter(pl.col("zero").is_not_null())
    steps = rows.group_by("step").agg(pl.col("zero").mean().alias("share"), pl.len().alias("seen")).sort("step")
    gone = steps.filter(pl.col("seen") >= _LEAST).filter(pl.col("share") >= _GONE)
    if not gone.height:
        return None
    first: Any = gone["step"][0]
    before, after = steps.filter(pl.col("step") < first), steps.filter(pl.col("step") >= first)
    if not before.height or before["share"].max() > _THERE or after["share"].min() < _GONE:  # type: ignore[operator]
        return None
    return first, steps, rows.filter((pl.col("step") == first) & pl.col("zero"))


def _finding(
    frame: pl.DataFrame, first: pl.DataFrame, cause: Cause, how: Form, followed: tuple[Claim, ...] = ()
) -> Finding:
    row = first.row(0, named=True)
    is_module = same(row, "module")
    hit = sorted(set(first.filter(pl.col("step") == row["step"], is_module)["rank"].to_list()))
    shown = [rank for rank in hit if rank >= 0]
    # In any step: of large files not all rows are kept.
    ran = frame.lazy().filter(is_module).select(pl.col("rank").n_unique()).collect().item()
    everywhere = 2 * len(hit) >= ran
    share = how(share=f"{row['share']:.3g}")
    summary = words.FROM_STEP_ON_RANKS if shown else words.FROM_STEP_ON

    return Finding(
        cause=cause,
        suspect_ranks=() if everywhere else tuple(shown),
        domain="workload" if everywhere else "unknown",
        first_anomaly=first_anomaly(row, None, None, cause),
        undecided=() if everywhere else ("tied_explanations",),
        claims=(
            Claim(words.BEFORE_IT_WAS_CALM(at=describe(row), share=share), "for", (ref(row),)),
            *_trend(frame, row),
            *followed,
        ),
        severity="severe",
        actions=_actions(row),
        summary=summary(step=row["step"], share=share, where=where(row), ranks=ranges(shown)),
    )


def _trend(frame: pl.DataFrame, row: Row) -> tuple[Claim, ...]:
    """The figures of the same tensor in the steps before."""
    before = frame.filter(same(row, *_SERIES), pl.col("place") <= row["place"]).tail(6)
    name = next((name for name in ("amax", "absmax") if before[name].drop_nulls().len() > 1), None)
    if name is None:
        return ()
    told = before.select("step", name).drop_nulls().iter_rows()
    figures = joined((words.AT_STEP(step=step, value=f"{value:.4g}") for step, value in told), ", ")
    return (Claim(words.ITS_FIGURES(name=name, figures=figures), "for", (ref(row),)),)


def _zero_claims(step: int, steps: pl.DataFrame, rows: pl.DataFrame) -> tuple[Claim, ...]:
    share = float(steps.filter(pl.col("step") == step)["share"][0])
    text = words.GRADIENTS_ARE_ZERO(percent=f"{100 * share:.0f}", step=step)
    return (Claim(text, "for", (ref(_first(rows)),)),)


def _first(rows: pl.DataFrame) -> Row:
    return rows.sort("rank", "place").row(0, named=True)


def _zero_finding(step: int, steps: pl.DataFrame, rows: pl.DataFrame) -> Finding:
    row, claims = _first(rows), _zero_claims(step, steps, rows)
    return Finding(
        cause="underflow",
        domain="workload",
        first_anomaly=first_anomaly(row, None, None, "underflow"),
        claims=claims,
        severity="severe",
        actions=_actions(row),
        summary=words.GRADIENTS_ZERO_FROM(step=step, what=claims[0].text),
    )


def _actions(row: Row) -> tuple[Action, ...]:
    return (
        to_do("check_config", words.SCALE_RECIPE_AND_FORMAT, words.RANGE_EXHAUSTED),
        to_do("rollback", before_step(row["step"]), words.LEARNT_FROM_LOST_VALUES),
    )


DETECTOR = Detector("exhausted_range", ("tensors",), detect, "bad_value")
