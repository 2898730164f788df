"""Times of parts of a step that training scripts print in the line of the step.

    2026-01-31 10:11:12.689 [rank3] INFO train: step 5 loss 0.2131 step_time 0.691 s data_time 0.003 s
    01/31 10:11:12 - mmengine - INFO - Epoch(train)  [1][ 50/625]  lr: 1.0e-02  time: 0.2389  data_time: 0.0045  loss: 2.3
    eta: 0:10:00  iter: 19  total_loss: 1.2  time: 0.31  last_time: 0.3012  data_time: 0.0112  last_data_time: 0.0031
    step=7 forward_ms=101.5 backward_ms=203.9 comm_ms=20.4
    step 7/5000 loss 9.1 step_time 0.411s data 0.013s fwd 0.110s bwd 0.220s grad_sync 0.048s
    iter 7 | loss 9.1 | total 579.8 ms | data 10.6 ms | forward 106.4 ms | backward 220.5 ms | allreduce 224.3 ms
    step 7 loss 9.1 step_time 0.423 data 0.011 compute 0.320 sync 0.073

A part is a name with a figure, told by its ending (`_time`, `_ms`) or by the unit behind the figure; what follows a
`_time` without unit, has none either and is no longer than that is in seconds, too. The phase is the name without its
ending. Means (`avg_`), what remains (`eta_`) and totals are left out; of a line that prints the last step beside a mean, `last_` counts.

Printed by: plain scripts, mmengine, detectron2 and their kin.
Versions: mmengine 0.x, detectron2 0.1 to 0.6.
Source: LoggerHook of mmengine, CommonMetricPrinter of detectron2.
"""

import polars as pl

from parsers.parser import LineParser
from parsers.tables import Tables, conform, empty
from parsers.training.progress import with_reporter

_STEP = r"(?i)(?:^|[\s,;\]|(])(?:global_|train_)?(?:step|iter(?:ation)?)[\s:=\[]{1,4}([0-9]{1,15})\b"
_BRACKETED = r"\[\s*([0-9]{1,15})\s*/\s*[0-9]{1,15}\s*\]"
_NAME = r"([A-Za-z][A-Za-z_]{0,40}?)"
_VALUE = r"[0-9][0-9.]{0,20}(?:e[+-]?[0-9]{1,3})?"
_PAIR = (
    rf"\b[A-Za-z][A-Za-z_]{{0,40}}(?:_time|_ms)[ :=]{{1,3}}{_VALUE} ?(?:ms|us|s)?\b"
    rf"|\b[A-Za-z][A-Za-z_]{{0,40}}[ :=]{{1,3}}{_VALUE} ?(?:ms|us|s)\b"
)
_REST = rf"_time[ :=]{{1,3}}{_VALUE}((?:[ ,|]{{1,3}}[A-Za-z][A-Za-z_]{{0,40}}[ :=]{{1,3}}{_VALUE}\b)+)"
_BARE = rf"[A-Za-z][A-Za-z_]{{0,40}}[ :=]{{1,3}}{_VALUE}"
_FIRST = rf"_time[ :=]{{1,3}}({_VALUE})[ ,|]"
_OTHERS = r"(?i)^(?:eta|avg|mean|max|min|total_|remaining|elapsed|start|end|wall|epoch)(?:_|$)|_per_|(?:^|_)eta(?:_|$)"


def parse(lines: pl.DataFrame) -> Tables:
    """timings: a row per part of a step, level 0; `name` as printed."""
    text = pl.col("text")
    known = with_reporter(lines).with_columns(
        step=pl.coalesce(text.str.extract(group, 1) for group in (_STEP, _BRACKETED)).cast(pl.Int64, strict=False),
        pair=text.str.extract_all(_PAIR).list.concat(text.str.extract(_REST, 1).fill_null("").str.extract_all(_BARE)),
        most=text.str.extract(_FIRST, 1).cast(pl.Float64, strict=False),
    )
    known = known.filter(pl.col("step").is_not_null()).explode("pair").filter(pl.col("pair").is_not_null())
    known = known.unique(["file", "line", "pair"], maintain_order=True)
    if known.is_empty():
        return {"timings": empty("timings")}
    pair = pl.col("pair")
    unit = pl.coalesce(
        pair.str.extract(r" ?(ms|us|s)$", 1), pl.when(pair.str.contains(r"_ms[ :=]")).then(pl.lit("ms")), pl.lit("s")
    )
    value = pair.str.extract(r"[ :=]([0-9][0-9.]*(?:e[+-]?[0-9]+)?)", 1).cast(pl.Float64, strict=False)
    made = known.with_columns(
        name=pair.str.extract(r"^([A-Za-z_]+)", 1), phase=pair.str.extract(rf"^{_NAME}(?:_time|_ms)?[ :=]", 1).str.to_lowercase(),
        value_ms=value * unit.replace_strict({"s": 1e3, "ms": 1.0, "us": 1e-3}, return_dtype=pl.Float64),
    )  # fmt: skip
    is_bare = ~pair.str.contains(r"(?:_time|_ms)[ :=]") & ~pair.str.contains(r"(?:ms|us|s)$")
    fits = (value <= pl.col("most")).fill_null(False) | ~is_bare
    summed = pl.col("phase") != "total"  # `total_time` is of the run, `total 415 ms` of the step
    summed |= ~pair.str.contains(r"(?:_time|_ms)[ :=]")
    made = made.filter(summed & ~pl.col("phase").str.contains(_OTHERS) & pl.col("value_ms").is_not_null() & fits)
    last = pl.col("phase").str.starts_with("last_")
    made = made.with_columns(last=last, phase=pl.col("phase").str.strip_prefix("last_"))
    made = made.filter(pl.col("last") == pl.col("last").max().over("file", "line", "phase"))
    columns = ("rank", "host", "step", "phase", "name", "value_ms", "time_ns", "file", "line")
    return {"timings": conform("timings", made.select(*columns, pl.lit(0, dtype=pl.Int64).alias("level")))}


PARSER = LineParser(name="step_times", anchors=(b"_time", b"_ms", b"fwd", b"forward", b"compute"), parse=parse)
