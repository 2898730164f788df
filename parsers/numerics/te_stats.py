"""Statistics that TransformerEngine logs through nvdlfw-inspect (features LogTensorStats and LogFp8TensorStats).

    2026-01-31 10:11:12,345 - INFO - layers.3.mlp.fc1_activation_max  \t iteration=000012  \t value=4.3188
    INFO - layers.3.mlp.fc1_gradient_fp8_delayed_scaling_overflows%   \t iteration=000012  \t value=0.5000

Table `tensors`, a row per printer, iteration, layer, tensor and recipe, at its first line; the lines of its other
figures are claimed. tensor: activation → `input` (forward), gradient → `grad_output` (backward), weight → `param`
(forward). min, max, mean, l2norm; absmax and amax from cur_amax or amax; overflow_pct, underflow_pct in percent; scale = 1 /
scale_inv_max, the smallest scale within the tensor; format = the recipe where the line names one. Other figures
(std, l1_norm, mse, dynamic_range, columnwise ones) are claimed only. Figures are of one rank or of its reduction group,
which the line does not say.

Printed by: TransformerEngine's debug features, through nvdlfw-inspect.
Versions: TransformerEngine 2.x; files are named by global rank.
Source: TransformerEngine, debug/features.
"""

import polars as pl

from parsers.schema.parser import LineParser
from parsers.schema.tables import Tables, conform

_NUMBER = r"([+-]?(?i:nan|inf(?:inity)?|[0-9]+\.?[0-9]*(?:e[+-]?[0-9]+)?))"
_RECIPES = r"fp8_delayed_scaling|delayed_scaling|fp8_current_scaling|current_scaling|fp8_block_scaling|mxfp8|nvfp4"
_LINE = (
    r"(?:^|\s)(\S+?)_(activation|gradient|weight)_"
    rf"(?:({_RECIPES})_)?([a-z0-9_]{{1,40}}%?)\s+iteration=([0-9]{{1,15}})\s+value={_NUMBER}"
)
_TENSORS = {"activation": "input", "gradient": "grad_output", "weight": "param"}
_PHASES = {"activation": "forward", "gradient": "backward", "weight": "forward"}
_FIGURES = {
    "min": "min", "max": "max", "mean": "mean", "l2_norm": "l2norm", "cur_amax": "amax", "amax": "amax",
    "overflows%": "overflow_pct", "underflows%": "underflow_pct", "scale_inv_max": "scale",
}  # fmt: skip
_KEY = ["file", "rank", "host", "attempt", "step", "module", "tensor", "phase", "format"]


def parse(lines: pl.DataFrame) -> Tables:
    """tensors and claimed."""
    parts = pl.col("text").str.extract_groups(_LINE)
    field = {number: parts.struct.field(str(number)) for number in range(1, 7)}
    read = lines.select(
        "file", "line", "attempt",
        rank=pl.coalesce("rank", "path_rank"),
        host=pl.coalesce("host", "path_host"),
        module=field[1],
        tensor=field[2].replace_strict(_TENSORS, default=None, return_dtype=pl.String()),
        phase=field[2].replace_strict(_PHASES, default=None, return_dtype=pl.String()),
        format=field[3],
        figure=field[4].replace_strict(_FIGURES, default=None, return_dtype=pl.String()),
        step=field[5].cast(pl.Int64, strict=False),
        value=field[6].cast(pl.Float64, strict=False),
    ).filter(pl.col("step").is_not_null())  # fmt: skip
    value = pl.when(pl.col("figure") == "scale").then(1 / pl.col("value")).otherwise(pl.col("value"))
    useful = read.with_columns(value=value).filter(pl.col("figure").is_not_null())
    names = sorted(set(_FIGURES.values()))
    figures = [pl.col("value").filter(pl.col("figure") == name).first().alias(name) for name in names]
    rows = useful.group_by(_KEY, maintain_order=True).agg(pl.col("line").min(), *figures)
    rows = rows.with_columns(absmax=pl.col("amax")).sort("file", "line", maintain_order=True)
    others = read.select("file", "line").join(rows.select("file", "line"), on=["file", "line"], how="anti")
    return {"tensors": conform("tensors", rows), "claimed": conform("claimed", others.unique(maintain_order=True))}


PARSER = LineParser(name="te_stats", anchors=(b" iteration=",), parse=parse)
