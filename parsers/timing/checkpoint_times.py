"""How long a rank wrote its part of a checkpoint, and how long it then waited for the others, as programs log it.

    [n1][rank 3] checkpoint step 50: wrote shard 00003-of-00008 (5.1 GB) to /ckpt in 9.2s
    step 50: saved checkpoint to /ckpt/step50/rank3.pt, took 9.2 seconds
    [n1][rank 3] checkpoint step 50: barrier passed after 196.6s

Words for a checkpoint and for writing, the number of the step and a duration must stand in one line. `tokens` holds the bytes,
where they are printed. What is written beside the training (`async`, `background`) holds nobody up and is not read.

Printed by: training programs; there is no common form.
Versions: any.
Source: this project's own samples of such logs.
"""

import polars as pl

from parsers.schema.parser import LineParser
from parsers.schema.tables import Tables, conform
from parsers.text.durations import UNIT, UNITS
from parsers.training.progress import number, whole, with_reporter

_SUBJECT = r"(?i)(?:\b|_)(checkpoint|ckpt|state[_ ]?dict)"
_WRITES = r"(?i)\b(?:wrote|writ(?:e|ten|ing)|sav(?:e|ed|ing)|dump(?:ed)?|upload(?:ed)?|flush(?:ed)?)\b"
_WAITS = r"(?i)\b(barrier|waited)\b"
_BESIDE = r"(?i)\basync|background|schedul|load(?:ed|ing)|restor|fail"
_STEP = r"(?i)(?:\b|_)(?:step|iter(?:ation)?)[\s:=_-]{0,2}([0-9]{1,15})"
_LASTED = rf"(?i)\b(?:in|took|takes?|after|time)[ :=]{{1,2}}([0-9.]{{1,20}}) ?({UNIT})\b"
_SIZE = r"(?i)\b([0-9.]{1,12}) ?([KMGT])i?B\b"
_SIZES = {"K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}


def parse(lines: pl.DataFrame) -> Tables:
    """timings: phase checkpoint (`tokens`: bytes) or barrier, level 0; `name` is the word in the line."""
    text = pl.col("text")
    known = with_reporter(lines).filter(text.str.contains(_SUBJECT) & ~text.str.contains(_BESIDE))
    waits, writes = text.str.extract(_WAITS, 1), text.str.contains(_WRITES)
    lasted, size = text.str.extract(_LASTED, 2).str.to_lowercase(), text.str.extract(_SIZE, 2).str.to_uppercase()
    factor = lasted.replace_strict(UNITS, default=None, return_dtype=pl.Float64)
    unit = size.replace_strict(_SIZES, default=None, return_dtype=pl.Float64)
    rows = known.with_columns(
        step=whole(_STEP),
        name=pl.coalesce(waits, pl.when(writes).then(text.str.extract(_SUBJECT, 1))),
        phase=pl.when(waits.is_not_null()).then(pl.lit("barrier")).otherwise(pl.lit("checkpoint")),
        value_ms=number(_LASTED) * factor,
        tokens=pl.when(waits.is_null()).then(number(_SIZE) * unit).cast(pl.Int64, strict=False),
    ).filter(pl.all_horizontal(pl.col("step", "name", "value_ms").is_not_null()))
    columns = ("rank", "host", "step", "phase", "name", "value_ms", "tokens", "time_ns", "file", "line")
    return {"timings": conform("timings", rows.select(*columns, pl.lit(0, dtype=pl.Int64).alias("level")))}


PARSER = LineParser(name="checkpoint_times", anchors=(b"heckpoint", b"ckpt", b"state_dict", b"state dict"), parse=parse)
