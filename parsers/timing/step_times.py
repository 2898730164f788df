"""Times of parts of a step that training scripts print in the line of the step, in text.

    2026-01-31 10:11:12.689 [rank3] INFO train: step 5 loss 0.2131 step_time 0.691 s data_time 0.003 s
    [rank 3] step 5/900 loss 2.1 step_time 0.691s data 0.003s fwd 0.21s bwd 0.43s grad_sync 0.05s
    [n1][rank3] iter 5 | loss 2.1 | total 691.2 ms | data 3.1 ms | forward 210 ms | backward 430 ms | allreduce 48 ms
    step 5 loss 2.1 step_time 0.691 data 0.003 compute 0.64 sync 0.05
    step 5 data 0.003 fwd 0.21 bwd 0.43 allreduce 0.05 loss 2.1
    01/31 10:11:12 - mmengine - INFO - Epoch(train)  [1][ 50/625]  lr: 1.0e-02  time: 0.2389  data_time: 0.0045  loss: 2.3
    eta: 0:10:00  iter: 19  total_loss: 1.2  time: 0.31  last_time: 0.3012  data_time: 0.0112  last_data_time: 0.0031
    Epoch: [3]  [  20/5004]  eta: 0:38:51  lr: 0.000950  loss: 6.0636 (6.0960)  time: 0.4678  data: 0.0122  max mem: 41231
    Epoch: [0][ 20/5005]  Time  0.412 ( 0.480)  Data  0.012 ( 0.031)  Loss 6.9e+00 (6.9e+00)
    it 5 data 0.003s forward 0.21s backward 0.43s allreduce 0.05s step 0.69s
    step=7 forward_ms=101.5 backward_ms=203.9 comm_ms=20.4
    step:7 - actor/grad_norm:0.12 - timing_s/gen:58.8 - timing_s/update_actor:89.2 - timing_s/step:167.0

What a name says of unit and phase is told by parsers/text/durations.py. A figure is a time where its name says so, a unit stands
behind it, or it names a phase in a line whose step was timed (a bare `time` or `took` beside the count is the step's), and is no longer
than that, or in a line of parts alone: three at least, of two sorts, each with a fraction. Lines of a test or a validation time no step of the training. It has the unit that it or its name
shows, else that of the other figures of the line, else it is in seconds. Of a line that prints the last step beside a mean,
`last_` counts; a `total` counts where the parts in its line add up to about as much.

Printed by: plain scripts, verl, mmengine, detectron2, torchvision's reference scripts, PyTorch's ImageNet example and their kin.
Versions: mmengine 0.x, detectron2 0.1 to 0.6, torchvision 0.3 to 0.20.
Source: LoggerHook of mmengine, CommonMetricPrinter of detectron2, MetricLogger of torchvision, ProgressMeter of the example.
"""

import polars as pl

from parsers.schema.parser import LineParser
from parsers.schema.tables import Tables, conform, empty
from parsers.text import durations
from parsers.training.progress import Said, with_reporter

_STEP = r"(?i)(?:^|[\s,;\]|(])(?:global_|train_)?(?:step|iter(?:ation)?)[\s:=\[]{1,4}([0-9]{1,15})(?:[^0-9A-Za-z_.]|\.[^0-9]|\.?$)"
_IT = r"(?i)(?:^|[\s,;\]|(])it {1,4}([0-9]{1,15})(?:[^0-9A-Za-z_.]|\.[^0-9]|\.?$)"
_BRACKETED = r"\[\s*([0-9]{1,15})\s*/\s*[0-9]{1,15}\s*\]"
_NAME = r"[A-Za-z][A-Za-z0-9_/-]{0,40}(?: (?:time|pass|loading|load|wait|sync)){0,2}(?: ?[(\[](?:ms|s|us|sec)[)\]])?"
_VALUE = r"[0-9][0-9.]{0,20}(?:e[+-]?[0-9]{1,3})?"
_PAIR = rf"\b{_NAME}[ :=]{{1,3}}{_VALUE}(?: ?(?:{durations.UNIT})\b)?"
_WORDS = ("fwd", "forward", "bwd", "backward", "compute", "data", "Data", "dataloader", "loader")
_NO_TRAINING = r"(?i)^\W{0,8}(?:test|val|valid|validation|eval|evaluation)\b"
_PARTS, _SORTS = 3, 2  # of a step that a line of nothing but parts must name, at least
_OF_TOTAL = 3.0  # times the sum of the parts, at most
_LINE = ["file", "line"]
_STEPS_OWN = durations.Figure("step", None, True)  # what a bare `time` says: of the step, whose line has it already


def parse(lines: pl.DataFrame) -> Tables:
    """timings: a row per part of a step, level 0; `name` as printed."""
    text, said = pl.col("text"), Said(lines)
    in_words = pl.when(~text.str.contains(r"(?i)\bloss\b")).then(text.str.extract(_IT, 1))
    known = with_reporter(lines).with_columns(
        step=pl.coalesce(
            *(text.str.extract(group, 1) for group in (_STEP, _BRACKETED)),
            # Of a count by its bare word a line with a loss is a record, whose times go with it (logs/field_lines.py).
            *((in_words,) if said.holds("it ") else ()),
        ).cast(pl.Int64, strict=False),
        pair=text.str.extract_all(_PAIR),
    )
    is_other = text.str.contains(_NO_TRAINING) if said.holds("test", "val") else pl.lit(value=False)
    known = known.filter(pl.col("step").is_not_null() & ~is_other).explode("pair").filter(pl.col("pair").is_not_null())
    if known.is_empty():
        return {"timings": empty("timings")}
    made = _timed(_named(known))
    last = pl.col("name").str.starts_with("last_")
    made = made.filter(last == last.max().over(*_LINE, "phase"))
    columns = ("rank", "host", "step", "phase", "name", "value_ms", "time_ns", "file", "line")
    return {"timings": conform("timings", made.select(*columns, pl.lit(0, dtype=pl.Int64).alias("level")))}


def _named(known: pl.DataFrame) -> pl.DataFrame:
    """Rows of pairs → name, value, `shown` (the factor of a unit behind the figure), phase, factor, is_time, sort."""
    pair = pl.col("pair")
    unit = pair.str.extract(rf"[0-9] ?({durations.UNIT})$", 1)
    found = known.with_columns(
        name=pair.str.extract(rf"^({_NAME})[ :=]{{1,3}}[0-9]", 1),
        value=pair.str.extract(rf"[ :=]({_VALUE}) ?[a-z]*$", 1).cast(pl.Float64, strict=False),
        shown=unit.replace_strict(durations.UNITS, default=None, return_dtype=pl.Float64),
    )
    names = found["name"].drop_nulls().unique().to_list()
    said = ((name, _STEPS_OWN if name.lower() in ("time", "took") else durations.figure(name)) for name in names)
    rows = [(name, *one, durations.sort_of(one.phase)) for name, one in said if one is not None]
    schema = {"name": pl.String, "phase": pl.String, "factor": pl.Float64, "is_time": pl.Boolean, "sort": pl.String}
    told = pl.DataFrame(rows, schema=schema, orient="row")
    return found.join(told, on="name", maintain_order="left").filter(pl.col("value").is_finite())


def _timed(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows of _named that are times, with `value_ms`."""
    is_said = pl.col("is_time") | pl.col("shown").is_not_null()
    unit = pl.coalesce("shown", "factor")
    common = unit.min().over(_LINE)  # the unit of the line, where all that show one agree
    unit = pl.coalesce(unit, pl.when(common == unit.max().over(_LINE)).then(common), pl.lit(1e3))
    rows = rows.with_columns(is_said=is_said, value_ms=pl.col("value") * unit)
    is_whole = pl.col("sort") == "whole"
    step = pl.when(is_whole & pl.col("is_said")).then(pl.col("value_ms")).max().over(_LINE)
    # Or the line says of nothing else what it took: the parts of a step, each with its fraction.
    is_part = pl.col("sort").is_in(["work", "host", "wait"]) & pl.col("pair").str.contains(r"\d\.\d")
    is_part &= ~pl.col("is_said")
    parted = pl.when(is_part).then(pl.col("phase")).drop_nulls().n_unique().over(_LINE) >= _PARTS
    parted &= pl.when(is_part).then(pl.col("sort")).drop_nulls().n_unique().over(_LINE) >= _SORTS
    is_within = ((pl.col("value_ms") <= step) | (step.is_null() & is_part & parted)).fill_null(False)
    rows = rows.filter(pl.col("sort").is_not_null() & (pl.col("is_said") | (~is_whole & is_within)))
    parts = pl.when(pl.col("sort") != "whole").then(pl.col("value_ms")).sum().over(_LINE)
    is_total = pl.col("phase").str.contains("total")
    rows = rows.filter(pl.col("name").str.to_lowercase() != "time")
    return rows.filter(~is_total | (pl.col("value_ms") <= _OF_TOTAL * parts))


PARSER = LineParser(
    name="step_times",
    anchors=(b"_time", b"_ms", b"timing_s/", *(f"{word}{end}".encode() for word in _WORDS for end in " :=")),
    parse=parse,
)
