"""How the job is split over its ranks, where all of it follows one numbering: tp, pp, dp, or whatever its groups are called.

Coordinates that ranks printed, or that the user gave, come first. Else the process groups tell: those of one description
split the whole job into parts of one size, and several such ways that meet in one rank at most make up the job.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import prod

import polars as pl

from forensics.assemble.who.topology import AXES
from forensics.case import Case
from forensics.model.drawn import MeshAxis

_AXES_AT_MOST = 5


def mesh(case: Case) -> list[MeshAxis]:
    """The axes, the one that changes fastest with the rank first; none where ranks do not tell or do not agree."""
    world = max(case.expected | case.seen, default=-1) + 1
    if world < 4:
        return []
    return _printed(case.coordinates, world) or _grouped(case, world)


def _printed(places: Mapping[int, Mapping[str, int]], world: int) -> list[MeshAxis]:
    found = []
    for name in AXES:
        indices = {rank: place[name] for rank, place in places.items() if name in place}
        size = max(indices.values(), default=0) + 1
        stride = next((rank for rank in sorted(indices) if indices[rank] == 1), None)
        if size > 1 and stride and all(rank // stride % size == index for rank, index in indices.items()):
            found.append(MeshAxis(name=name, size=size, stride=stride))
    return _whole(found, world)


def _grouped(case: Case, world: int) -> list[MeshAxis]:
    if not case.states.groups.height:
        return []
    groups = case.states.groups.filter(pl.col("whole") & pl.col("desc").is_not_null())
    calls = dict(case.states.entries["gid"].value_counts().iter_rows())
    families = []
    for (desc,), rows in groups.sort("gid").partition_by("desc", as_dict=True).items():
        axis = _axis(_called(str(desc)), [tuple(members) for members in rows["members"].to_list()], world)
        if axis:
            families.append((-sum(calls.get(gid, 0) for gid in rows["gid"].to_list()), axis))
    families.sort(key=lambda item: (item[0], item[1].name))  # of two that split alike, the one that is used more
    for count in range(min(len(families), _AXES_AT_MOST), 0, -1):  # the more ways, the finer
        for some in combinations((axis for _, axis in families), count):
            if chosen := _whole(some, world):
                return chosen
    return []


def _axis(name: str, groups: Sequence[tuple[int, ...]], world: int) -> MeshAxis | None:
    """Groups that hold every rank once, all of one size and one distance."""
    members = sorted(rank for group in set(groups) for rank in group)
    size = len(groups[0])
    if members != list(range(world)) or not 1 < size < world or any(len(group) != size for group in groups):
        return None
    stride = groups[0][1] - groups[0][0]
    placed = ((index, rank) for group in groups for index, rank in enumerate(sorted(group)))
    regular = stride > 0 and all(rank // stride % size == index for index, rank in placed)
    return MeshAxis(name=name, size=size, stride=stride) if regular else None


def _whole(axes: Sequence[MeshAxis], world: int) -> list[MeshAxis]:
    """The axes if together they give each rank a place of its own: every stride is the product of the faster sizes."""
    ordered = sorted(axes, key=lambda axis: axis.stride)
    fits = all(axis.stride == prod(faster.size for faster in ordered[:at]) for at, axis in enumerate(ordered))
    return ordered if ordered and fits and prod(axis.size for axis in ordered) == world else []


def _called(desc: str) -> str:
    """TENSOR_MODEL_PARALLEL_GROUP → "tensor model parallel"."""
    return desc.replace("_", " ").lower().removesuffix(" group")
