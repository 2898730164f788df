"""Which ranks do the same work: those of one pipeline stage.

Stages differ by design (embedding, head, uneven layers), so only ranks of one stage are compared. A stage is what a rank
printed of itself, what the user said, or what the printed sizes give: the pipeline is the slowest axis in Megatron-LM and
DeepSpeed. Where none of these is known, all ranks are taken for alike, and `is_known` is false.
"""

from collections.abc import Iterable, Mapping
from functools import cached_property
from math import prod

import msgspec
import polars as pl

from forensics.model.told import values
from parsers.schema.tables import Tables

_STAGES = ("pipeline_model_parallel_size", "pipeline_parallel_size", "pipeline_parallel_degree")
_TENSOR = ("tensor_model_parallel_size", "tensor_parallel_size", "tensor_parallel_degree")
_WORLD = "world_size"
_REPLICAS = "data_parallel_size"
_EXPERTS = ("num_experts", "num_moe_experts", "expert_model_parallel_size")
_SENDS = r"(?i)send_?recv|^send|^recv|p2p"
_TO_ALL = r"(?i)all_?to_?all"


class Roles(msgspec.Struct, frozen=True, dict=True):
    """`coordinates`: rank → axis → index. `tables`: where sizes and communications are printed."""

    tables: Tables
    coordinates: Mapping[int, Mapping[str, int]]
    job: frozenset[int]

    def stages(self, ranks: Iterable[int]) -> dict[int, int]:
        """Rank → pipeline stage; every rank in stage 0 where no stage is known."""
        ranks = list(ranks)
        told = {rank: stage for rank in ranks if (stage := self._stage(rank)) is not None}
        if len(told) == len(ranks):
            return told
        count, world = self._printed(*_STAGES), self._printed(_WORLD) or len(self.job)
        if count and world and world % count == 0 and max(ranks, default=0) < world:
            return {rank: rank // (world // count) for rank in ranks}
        return dict.fromkeys(ranks, 0)

    def is_known(self, ranks: Iterable[int]) -> bool:
        """Is it known that these ranks do the same work where they stand in one stage?"""
        ranks = list(ranks)
        if all(self._stage(rank) is not None for rank in ranks):
            return True
        count, world = self._printed(*_STAGES), self._printed(_WORLD) or len(self.job)
        return count == 1 or bool(count and world) or (world is not None and self._printed(_REPLICAS) == world > 0)

    def _stage(self, rank: int) -> int | None:
        place = self.coordinates.get(rank, {})
        return place.get("pp", 0 if place and self._is_flat else None)

    @cached_property
    def _is_flat(self) -> bool:
        """Do the axes that are told without a pipeline hold all ranks of the job? Then there is none."""
        axes = {axis for place in self.coordinates.values() for axis in place if axis != "ep"}
        sizes = [len({place.get(axis) for place in self.coordinates.values()}) for axis in axes]
        return "pp" not in axes and bool(axes) and prod(sizes) == len(self.coordinates) == len(self.job)

    def is_tensor_group(self, ranks: Iterable[int]) -> bool:
        """Are these all the ranks that share one layer's tensors? They wait for each other inside forward and backward, so
        that one slow rank makes all of them slow. Tensor parallelism is the fastest axis."""
        ranks = sorted(set(ranks))
        size = self._printed(*_TENSOR)
        if all("tp" in self.coordinates.get(rank, {}) for rank in ranks):
            size = len({place["tp"] for place in self.coordinates.values() if "tp" in place})
        return size is not None and len(ranks) == size > 1 and ranks[0] % size == 0 and ranks[-1] - ranks[0] == size - 1

    @cached_property
    def is_piped(self) -> bool:
        """Does anything show a pipeline: its size, or ranks that send to each other?"""
        timings, operations = self.tables["timings"], self.tables["operations"]
        bubbles = timings.filter((pl.col("phase") == "bubble") & (pl.col("value_ms") > 0))
        sends = timings.filter(pl.col("name").str.contains(_SENDS).fill_null(False))
        return (self._printed(*_STAGES) or 1) > 1 or bool(bubbles.height or sends.height or operations["is_p2p"].any())

    @cached_property
    def has_experts(self) -> bool:
        """Does anything show a mixture of experts, whose load may differ from rank to rank?"""
        named = (self.tables["timings"]["name"], self.tables["operations"]["kind"].unique().cast(pl.String))
        return (self._printed(*_EXPERTS) or 0) > 1 or any(bool(one.str.contains(_TO_ALL).any()) for one in named)

    def _printed(self, *names: str) -> int | None:
        """The one number that settings state under these names; null where they differ."""
        settings = self.tables["settings"]
        told = [*values(settings.filter(pl.col("name").is_in(names))["value"])] if settings.height else []
        return int(told[0]) if len(told) == 1 and told[0].isdigit() and len(told[0]) < 9 else None
