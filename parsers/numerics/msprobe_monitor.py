"""The CSV files of msprobe's training monitor: activations, gradients, parameters and optimizer state per step.

    Jan31_10-11-12-rank3-ab12/actv_0-9.csv
    vpp_stage,name,step,micro_step,min,max,mean,norm,nans
    0,layers.1.mlp.input,4,0,-1.5,2.25,0.1,9.3,0.0

Table `tensors`. What the figures are of stands in the file's name: actv (forward), actv_grad (backward), grad_unreduced
and grad_reduced (before and after the reduction: grad_in, grad_out in grad_sync), acc_grad (accumulated), param_origin
and param_updated (before and after the optimizer), exp_avg and exp_avg_sq (optimizer state). chunk = vpp_stage,
microbatch = micro_step, l2norm = norm, nan_count = nans; the rank stands in the folder's name. Other columns (zeros, id
…) are left out.

Printed by: the training monitor of MindStudio's msprobe.
Versions: 2025 and 2026.
Source: MindStudio msprobe, pytorch/monitor (data_writers, module_hook).
"""

import io
from typing import Any

import polars as pl

from parsers.forms.reading import all_bytes
from parsers.numerics.stats_values import shape_text
from parsers.schema.parser import FileParser, Source
from parsers.schema.tables import Tables, conform, empty, tables_of
from parsers.text.patterns import regex

MAX_BYTES = 256 << 20
_NAMES = ["vpp_stage", "name", "step"]
_FOLDER_RANK = regex(r"-rank(\d{1,5})-")
_FILE = regex(r"(\w+?)_\d+-\d+\.csv$")
# File → phase, tensor; None: the name of each row tells the tensor.
_KINDS: dict[str, tuple[str, str | None]] = {
    "actv": ("forward", None),
    "actv_grad": ("backward", None),
    "grad_unreduced": ("grad_sync", "grad_in"),
    "grad_reduced": ("grad_sync", "grad_out"),
    "acc_grad": ("backward", "param_grad"),
    "param_origin": ("forward", "param"),
    "param_updated": ("optimizer", "param"),
    "exp_avg": ("optimizer", "optimizer_state.exp_avg"),
    "exp_avg_sq": ("optimizer", "optimizer_state.exp_avg_sq"),
}
# "layers.1.input[0]" → module, "input", "0"
_SLOT = r"^(.*?)\.?(input_grad|output_grad|input|output)((?:\[\w+\]|\.\w+)*)$"
_SLOTS = {"input": "input", "output": "output", "input_grad": "grad_input", "output_grad": "grad_output"}


def accepts(path: str, head: bytes) -> bool:
    """CSV whose header begins with the monitor's three columns."""
    del path
    return head.lstrip(b"\xef\xbb\xbf").startswith(b"vpp_stage,name,step")


def parse(source: Source) -> Tables:
    """tensors; unread where the table ends or cannot be read."""
    data = all_bytes(source, MAX_BYTES)
    if data is None:
        return _lost(source, f"larger than {MAX_BYTES} bytes")
    try:
        frame = pl.read_csv(
            io.BytesIO(data), infer_schema=False, encoding="utf8-lossy", truncate_ragged_lines=True, quote_char='"'
        )
    except pl.exceptions.PolarsError as error:
        return _lost(source, f"not a table: {str(error)[:200]}")
    if not set(_NAMES) <= set(frame.columns):
        return _lost(source, "a column is missing")
    frame = frame.with_columns(line=pl.int_range(2, pl.len() + 2, dtype=pl.Int64))
    rows = _rows(source, frame)
    whole = rows.filter(pl.col("step").is_not_null())
    cut = rows.filter(pl.col("step").is_null())["line"].head(100).to_list()
    reasons = [{"file": source.path, "line": line, "reason": "a row without a step"} for line in cut]
    return tables_of(tensors=conform("tensors", whole), unread=reasons)


def _rows(source: Source, frame: pl.DataFrame) -> pl.DataFrame:
    kind = _FILE.search(source.path.rsplit("/", 1)[-1])
    phase, tensor = _KINDS.get(kind[1] if kind else "", (None, None))
    slot = pl.col("name").str.extract_groups(_SLOT)
    suffix = slot.struct.field("3").str.replace_all(r"[\[.](\w+)\]?", ".$1")
    named = slot.struct.field("2").replace_strict(_SLOTS, default=None, return_dtype=pl.String())
    folder = _FOLDER_RANK.search(source.path)
    columns: dict[str, pl.Expr] = {
        "module": pl.col("name") if tensor else pl.coalesce(slot.struct.field("1"), "name"),
        "tensor": pl.lit(tensor) if tensor else named + suffix.fill_null(""),
        "phase": pl.lit(phase, dtype=pl.String()),
        "chunk": _whole(frame, "vpp_stage"),
        "step": _whole(frame, "step"),
        "microbatch": _whole(frame, "micro_step"),
        "min": _real(frame, "min"),
        "max": _real(frame, "max"),
        "mean": _real(frame, "mean"),
        "l2norm": _real(frame, "norm"),
        "nan_count": _whole(frame, "nans"),
        "shape": pl.col("shape").map_elements(shape_text, return_dtype=pl.String),
        "dtype": pl.col("dtype").str.strip_prefix("torch."),
    }
    absent = {"shape", "dtype"} - {*frame.columns}
    rank = int(folder[1]) if folder else source.rank
    told: dict[str, Any] = {"rank": rank, "host": source.host, "attempt": source.attempt, "file": source.path}
    told |= dict.fromkeys(absent)
    return frame.select("line", **columns | {key: pl.lit(value) for key, value in told.items()})


def _real(frame: pl.DataFrame, name: str) -> pl.Expr:
    if name not in frame.columns:
        return pl.lit(None, dtype=pl.Float64())
    return pl.col(name).str.strip_chars().str.to_lowercase().cast(pl.Float64, strict=False)


def _whole(frame: pl.DataFrame, name: str) -> pl.Expr:
    number = _real(frame, name)
    return pl.when(number.is_finite() & (number == number.floor())).then(number).cast(pl.Int64, strict=False)


def _lost(source: Source, reason: str) -> Tables:
    row = {"file": source.path, "bytes": source.size, "reason": reason}
    return tables_of(tensors=empty("tensors"), unread=[row])


PARSER = FileParser(name="msprobe_monitor", accepts=accepts, parse=parse, whole=True)
