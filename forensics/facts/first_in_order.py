"""Whose bad figure of a step comes first, where all ranks print the same figures one after the other, as hooks of modules do.

What others show bad in that step stands behind the figure that this rank alone lost, in their own records as well: there it is a number. So the rank made it, and
what mates share came of it. Lines are in order; the names within a record are not. A figure that is told several times a step (of micro-batches) leaves it open.
"""

from collections.abc import Collection, Mapping

import polars as pl

_Key = tuple[str, str]  # of, name


def first_in_order(
    rows: pl.DataFrame, values: pl.DataFrame, losses: pl.DataFrame, ranks: Mapping[_Key, Collection[int]], job: frozenset[int]
) -> int | None:  # fmt: skip
    """Figures of one step (odd_values.told_values), `values` and the lost losses of that step, the ranks that lost each figure, those of the job → the rank."""
    one_each = values.group_by("of", "rank").len().group_by("of").agg(pl.col("len").max())
    once = {str(of) for of, most in one_each.iter_rows() if most == 1}
    bad = rows.filter("bad").sort("file", "line", "place")
    for rank in sorted({min(who) for who in ranks.values() if len(who) == 1}):
        lost = bad.filter(pl.col("rank") == rank).row(0, named=True)
        key = (lost["of"], lost["name"])
        same = rows.filter((pl.col("of") == key[0]) & (pl.col("name") == key[1]))
        is_alone = ranks[key] == {rank} and {*same["rank"]} == job and key[0] in once
        is_of_all = all(rank in who for who in ranks.values())
        if is_alone and is_of_all and _stand_behind(same, bad, losses):
            return rank
    return None


def is_preceded(values: pl.DataFrame, rank: int, file: str, line: int | None) -> bool:
    """`values` of one step: does the rank's record of it hold another figure in a line before that one?"""
    own = values.filter((pl.col("rank") == rank) & (pl.col("file").cast(pl.String) == file))
    return own.filter((pl.col("line") < line) & pl.col("fine").is_not_null()).height > 0


def _stand_behind(same: pl.DataFrame, bad: pl.DataFrame, losses: pl.DataFrame) -> bool:
    """Does all that anybody lost stand behind the line in which that rank shows the figure, in one file with it?"""
    at = same.select("rank", pl.col("file").cast(pl.String).alias("_file"), pl.col("line").alias("_line"), "bad")
    others = [one.select("rank", pl.col("file").cast(pl.String), "line") for one in (bad, losses)]
    told = pl.concat(others).join(at, on="rank", how="left")
    is_behind = (pl.col("file") == pl.col("_file")) & (
        (pl.col("line") > pl.col("_line")) | (pl.col("bad") & (pl.col("line") == pl.col("_line")))
    )
    return bool(told.select(is_behind.fill_null(value=False).all()).item())
