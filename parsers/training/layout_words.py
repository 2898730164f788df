"""How many replicas of the model a job trains, in the words of programs that print it at their start.

    using world size: 4, data-parallel size: 4, tensor-model-parallel size: 1, pipeline-model-parallel size: 1      Megatron-LM
    strategy: ddp · strategy=ddp(dp=4) · pure data parallel · data parallel only                                    scripts
    replicas: dp=5, no sharding · layout: data-parallel 6 · parallel: {data: 8, tensor: 1} · (data parallel x8) · mesh: data=4 model=1

    gradients are averaged over the 6 ranks                                                                         scripts

    expert parallel size 4, 1 expert per rank                  over how many ranks experts are spread: expert_model_parallel_size
    num_experts: 8 · model: mixture of experts                 that there are any: experts
    context_parallel_size: 4 · tp=2 · 2 pipeline stages        that ranks share the work on one sample: divided

    [dp 1/4] mesh: data=4 model=1                              a place among replicas, where there is nothing else: the rank

Rows of `settings`: data_parallel_size, tensor_model_parallel_size, pipeline_model_parallel_size; the last two are 1 where the words say
that there is nothing but replicas. A line tells a size of an axis only; `(pp=2 dp=0)` tells whose line it is, and differs from rank to
rank, so forensics/facts/figures/own_values.py counts only what all lines say.

Printed by: Megatron-LM, Lightning, training scripts.
Versions: any.
Source: megatron/training/arguments.py; this project's own samples.
"""

from collections.abc import Iterator
from typing import Any

import polars as pl

from parsers.schema.lines import reporter
from parsers.schema.parser import LineParser
from parsers.schema.tables import Tables, tables_of
from parsers.text.layouts import divided, experts, sizes
from parsers.text.patterns import regex

_SAYS = r"(?i)experts?\b|\bep_size|parallel|attention|pipeline|\b(?:tp|pp|cp|sp|ulysses)[=:_]|data[ _-]parallel|\bdp|=dp|\bdata[=:]|\bddp|model parallel|tensor/pipeline|\bgrad(?:ient)?s? [0-9a-z_ ]{0,8}[0-9a-z_-]{4,16}ed (?:over|across|among|between) "
_PLACE = regex(r"(?i)(?<![\w-])(?:dp|data)(?:[ _-]?rank)?[ =:]{0,2}(?P<rank>\d{1,6}) ?/ ?(?P<world>\d{1,6})\b")
AMONG_REPLICAS = "place among replicas"  # `how` of a rank that is one where there is no other axis
_OF_A_STEP = r"(?i)\b(?:step|iter(?:ation)?|it|loss)\b[ =:]{1,3}[+-]?[0-9n]"  # a record of somebody else's


def parse(lines: pl.DataFrame) -> Tables:
    """settings, a row for each size of a line, of a file the first of each; ranks, where a line tells its place among all."""
    rows: list[dict[str, Any]] = []
    claims: list[dict[str, Any]] = []
    seen: set[tuple[str, str, str]] = set()
    said = pl.col("text").str.contains(_SAYS) & ~pl.col("text").str.contains(_OF_A_STEP)
    for row in lines.filter(said).iter_rows(named=True):
        told = sizes(row["text"][:4096])
        claims += _claim(row, told)
        for name, value in (told | experts(row["text"][:4096]) | divided(row["text"][:4096])).items():
            if (row["file"], name, value) not in seen:
                seen.add((row["file"], name, value))
                place = {key: reporter(row)[key] for key in ("rank", "host", "file", "line")}
                rows.append(place | {"name": name, "value": value, "scope": "layout"})
    return tables_of(settings=rows, ranks=claims)


def _claim(row: dict[str, Any], told: dict[str, str]) -> Iterator[dict[str, Any]]:
    place = _PLACE.search(row["text"][:4096])
    size = told.get("data_parallel_size")
    others = {value for name, value in told.items() if name != "data_parallel_size"}
    if place is None or size is None or size != place["world"] or others != {"1"} or int(place["rank"]) >= int(size):
        return
    at = {"file": row["file"], "line": row["line"]}
    yield at | {"rank": int(place["rank"]), "world_size": int(size), "how": AMONG_REPLICAS}


PARSER = LineParser(
    name="layout_words",
    anchors=(
        b"arallel", b"ep_size", b"xperts", b"ipeline", b" attention", b"_size", b"_degree", b"tp=", b"pp=", b"cp=", b"tp:", b"pp:", b"cp:",
        b"dp=", b"dp ", b"dp:", b"dp(", b"(dp", b"=dp", b"DP=", b"ddp", b"data=", b"radients ", b"grads ",
    ),
    parse=parse,
)  # fmt: skip
