"""How many replicas of the model a job trains, in the words of programs that print it at their start.

    using world size: 4, data-parallel size: 4, tensor-model-parallel size: 1, pipeline-model-parallel size: 1      Megatron-LM
    strategy: ddp · strategy=ddp(dp=4) · pure data parallel · data parallel only                                    scripts
    replicas: dp=5, no sharding · layout: data-parallel 6 · parallel: {data: 8, tensor: 1} · (data parallel x8) · mesh: data=4 model=1

Rows of `settings`: data_parallel_size, tensor_model_parallel_size, pipeline_model_parallel_size; the last two are 1 where the words say
that there is nothing but replicas. A line tells a size of an axis only; `(pp=2 dp=0)` tells whose line it is, and differs from rank to
rank, so forensics/facts/own_values.py counts only what all lines say.

Printed by: Megatron-LM, Lightning, training scripts.
Versions: any.
Source: megatron/training/arguments.py; this project's own samples.
"""

from typing import Any

import polars as pl

from parsers.schema.lines import reporter
from parsers.schema.parser import LineParser
from parsers.schema.tables import Tables, table
from parsers.training.layouts import sizes

_SAYS = r"(?i)data[ _-]parallel|\bdp|=dp|\bdata[=:]|\bddp\b|model parallel|tensor/pipeline"
_OF_A_STEP = r"(?i)\b(?:step|iter(?:ation)?|it|loss)\b[ =:]{1,3}[+-]?[0-9n]"  # a record of somebody else's


def parse(lines: pl.DataFrame) -> Tables:
    """settings, a row for each size of a line; of a file the first of each."""
    rows: list[dict[str, Any]] = []
    seen: set[tuple[str, str, str]] = set()
    said = pl.col("text").str.contains(_SAYS) & ~pl.col("text").str.contains(_OF_A_STEP)
    for row in lines.filter(said).iter_rows(named=True):
        for name, value in sizes(row["text"][:4096]).items():
            if (row["file"], name, value) not in seen:
                seen.add((row["file"], name, value))
                place = {key: reporter(row)[key] for key in ("rank", "host", "file", "line")}
                rows.append(place | {"name": name, "value": value, "scope": "layout"})
    return {"settings": table("settings", rows)}


PARSER = LineParser(
    name="layout_words",
    anchors=(b"arallel", b"dp=", b"dp ", b"dp:", b"dp(", b"(dp", b"=dp", b"DP=", b"ddp", b"data="),
    parse=parse,
)
