"""Which place in the parallel layout a rank has: what the ranks said of themselves, else what the user said."""

from collections.abc import Mapping
from math import prod

import polars as pl

AXES = ("tp", "cp", "ep", "dp", "pp")
_PRINTED = ("tp", "pp", "dp", "ep", "cp")


def coordinates(
    identity: pl.DataFrame, job: frozenset[int], topology: Mapping[str, int]
) -> dict[int, Mapping[str, int]]:
    """Rank → axis → index. From the identity table where a rank printed its coordinates; else by the sizes of
    `topology`, whose first axis runs fastest. Ranks of which nothing is known are left out."""
    found: dict[int, Mapping[str, int]] = {}
    sizes = {axis: size for axis, size in topology.items() if axis != "ep"}  # experts divide the data axis
    if sizes:
        world = prod(sizes.values())
        for rank in sorted(job) or range(world):
            if rank < world:
                found[rank] = _place(rank, sizes)
    if identity.height and "rank" in identity.columns:
        for row in identity.select("rank", *_PRINTED).iter_rows(named=True):
            told = {axis: row[axis] for axis in _PRINTED if row[axis] is not None}
            if told:
                found[row["rank"]] = told
    return found


def _place(rank: int, sizes: Mapping[str, int]) -> dict[str, int]:
    place: dict[str, int] = {}
    for axis, size in sizes.items():
        rank, place[axis] = divmod(rank, size)
    return place


def mates(places: Mapping[int, Mapping[str, int]], rank: int, *fixed: str) -> frozenset[int]:
    """Ranks with the same index on the axes `fixed`; empty where the rank's place is not known."""
    own = places.get(rank)
    if own is None or any(axis not in own for axis in fixed):
        return frozenset()
    return frozenset(other for other, place in places.items() if all(place.get(axis) == own[axis] for axis in fixed))
