"""Which processes were given another size of the world than most, by their own words."""

from collections import Counter

import polars as pl

from forensics.facts.rows.event_rows import Row
from parsers.text.unanimous import unanimous

_FEWEST = 3
_INTRODUCED = "introduction"  # `ranks.how` of what a process says of itself


def given_another_size(ranks: pl.DataFrame) -> dict[int, Row]:
    """Table `ranks` → rank → its word on the size, of those that tell another one than more than half of all that tell one."""
    said = ranks.filter(pl.col("how") == _INTRODUCED).drop_nulls(["rank", "world_size"])
    sizes: dict[int, int] = unanimous(said.select("rank", "world_size").iter_rows())
    (usual, times), *_ = Counter(sizes.values()).most_common(1) or [(0, 0)]
    if len(sizes) < _FEWEST or 2 * times <= len(sizes):
        return {}
    first = said.sort("file", "line").unique("rank", keep="first", maintain_order=True)
    shown = {row["rank"]: row | {"text": f"world size {row['world_size']}"} for row in first.iter_rows(named=True)}
    return {rank: shown[rank] for rank, size in sizes.items() if size != usual}
