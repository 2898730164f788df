"""Whether each rank computes from data of its own and shares nothing with others before gradients are averaged.

Tensor-parallel mates print the same loss, and stages of a pipeline but the last print none. So where most ranks of the
job print a loss that is no other rank's, over several steps, the layout is plain data parallel; arguments may say so, too. Then a bad value that a rank made before the averaging is that rank's alone.
"""

from collections.abc import Mapping

import polars as pl

from parsers.tables import TableName

_STEPS = 5  # with a finite loss of most ranks
_BY_CHANCE = 1 / 3  # of its steps may a rank print another's loss: four digits are few
_ONES = ("tensor_model_parallel_size", "pipeline_model_parallel_size")


def is_data_parallel(tables: Mapping[TableName, pl.DataFrame], job: frozenset[int]) -> bool:
    """Tables of an attempt, and its ranks → whether the values of each rank are its own. False where nothing tells."""
    return len(job) > 2 and (_is_told(tables["settings"]) or _losses_differ(tables["steps"], max(job) + 1))


def _is_told(settings: pl.DataFrame) -> bool:
    said = {
        name: set(settings.filter(pl.col("name") == name)["value"].to_list())
        for name in (*_ONES, "data_parallel_size", "world_size")
    }
    alone = said["data_parallel_size"]
    return all(said[name] == {"1"} for name in _ONES) or (len(alone) == 1 and alone == said["world_size"])


def _losses_differ(steps: pl.DataFrame, world: int) -> bool:
    """Of more than half of the ranks: two of these would be mates, or print nothing, if there were any other layout."""
    own = steps.filter(
        (pl.col("phase").fill_null("train") == "train")
        & pl.col("rank").is_between(0, world - 1)
        & pl.col("loss").is_finite()
        & pl.col("step").is_not_null()
    ).unique(["rank", "step"], keep="first", maintain_order=True)
    most = own.filter(2 * pl.len().over("step") > world)
    most = most.with_columns((pl.len().over("step", "loss") > 1).alias("shared"))
    ranks = most.group_by("rank").agg(pl.len().alias("steps"), pl.col("shared").mean())
    ranks = ranks.filter(pl.col("steps") >= _STEPS)
    return 2 * ranks.height > world and bool((ranks["shared"] <= _BY_CHANCE).all())
