"""A loss of all ranks that is no number, beside one of the rank's own that is: somebody else's went bad in that step.

    step=640 local_loss=2.0221 local_gnorm=1.457 mean_loss=nan
    {"step": 640, "rank": 3, "loss_local": 2.02, "loss_avg": NaN}

A row of `steps` of phase `reduced`; the row of phase `train` of that line or record holds the rank's own. Which words say that a loss is of all
ranks, parsers/data/vocabulary.csv tells.

Printed by: training scripts.
Versions: any.
Source: this project's own samples.
"""

from collections.abc import Mapping
from math import isfinite
from typing import Any

import polars as pl

from parsers.forms.reading import real
from parsers.text import vocabulary
from parsers.training.progress import number

REDUCED = "reduced"
_BAD = r"([+-]?(?:nan|inf(?:inity)?))\b"
_KEPT = ("rank", "local_rank", "step", "time_ns", "time_basis", "file", "line", "record", "framework")


def of_record(flat: Mapping[str, Any], row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A record and its row of phase `train` → at most one row."""
    loss = row["loss"]
    if loss is None or not isfinite(loss):
        return []
    for name, cell in flat.items():
        said = vocabulary.meaning_of(name)
        value = real(cell) if said is not None and said.meaning == "loss" and said.sort == "of_all" else None
        if value is not None and not isfinite(value):
            kept = {key: row[key] for key in _KEPT if key in row}
            return [kept | {"phase": REDUCED, "loss": value, "loss_seen": True}]
    return []


def of_lines(lines: pl.DataFrame, steps: pl.DataFrame) -> pl.DataFrame:
    """Lines and what they tell of steps → the rows of those with such a loss."""
    words = "|".join(sorted(word for word in vocabulary.whose("of_all") if word != "lm"))
    pattern = rf"(?i)(?:(?:^|[\s,;|(])(?:{words})[ _](?:train[_ ])?loss|\bloss[ _]\(?(?:{words})\)?)[\s=:]+{_BAD}"
    told = lines.filter(pl.col("text").str.contains(pattern))
    own = steps.filter((pl.col("phase") == "train") & pl.col("loss").is_finite())
    losses = told.select("file", "line", number(pattern).alias("_loss"))
    bad = own.join(losses, on=["file", "line"], maintain_order="left")
    kept = [
        pl.col(name) if name in (*_KEPT, "loss", "loss_seen") else pl.lit(None, dtype).alias(name)
        for name, dtype in steps.schema.items()
    ]
    return bad.with_columns(pl.col("_loss").alias("loss")).select(kept).with_columns(pl.lit(REDUCED).alias("phase"))
