"""Whose bad figure of a step comes first, where all ranks print the same figures one after the other, as hooks of modules do.

What others show bad in that step stands behind the figure that this rank alone lost, in their own records as well: there it is a number. So the rank made it, and
what mates share came of it: of the others nobody lost first what no other lost first with him, as a stage does that gave the bad value away. All have shown
another figure of the step before, as a number. Lines are in order; the names within a record are not. A figure that is told several times a step (of micro-batches)
leaves it open, and so does one of what a rank has received.
"""

from collections import Counter
from collections.abc import Collection, Mapping

import polars as pl

from parsers.text.sides import side_of

_Key = tuple[str, str]  # of, name
_WHERE = ("rank", "file", "line")


def first_in_order(
    rows: pl.DataFrame, values: pl.DataFrame, losses: pl.DataFrame, ranks: Mapping[_Key, Collection[int]], job: frozenset[int]
) -> int | None:  # fmt: skip
    """Figures of one step (odd_values.told_values), `values` and the lost losses of that step, the ranks that lost each figure, those of the job → the rank."""
    one_each = values.group_by("of", "rank").len().group_by("of").agg(pl.col("len").max())
    once = {str(of) for of, most in one_each.iter_rows() if most == 1}
    bad = rows.filter("bad").sort("file", "line", "place")
    for rank in sorted({min(who) for who in ranks.values() if len(who) == 1}):
        lost = bad.filter(pl.col("rank") == rank).row(0, named=True)
        of, name = lost["of"], lost["name"]
        same = rows.filter((pl.col("of") == of) & (pl.col("name") == name))
        is_own = ranks[of, name] == {rank} and {*same["rank"]} == job and of in once and side_of(of) != "taken"
        is_of_all = all(rank in who for who in ranks.values())
        if is_own and is_of_all and _stand_behind(same, bad, losses) and _is_preceded(same, values, job):
            return rank if _lost_together(bad, losses, rank) else None
    return None


def _is_preceded(same: pl.DataFrame, values: pl.DataFrame, job: frozenset[int]) -> bool:
    """Does every rank's record of the step hold figures in a line before that one?"""
    at = same.select("rank", pl.col("file").cast(pl.String), pl.col("line").alias("_line"))
    told = values.filter(pl.col("fine").is_not_null()).select("rank", pl.col("file").cast(pl.String), "line")
    before = told.join(at, on=["rank", "file"]).filter(pl.col("line") < pl.col("_line"))
    return {*before["rank"]} == job


def _stand_behind(same: pl.DataFrame, bad: pl.DataFrame, losses: pl.DataFrame) -> bool:
    """Does all that anybody lost stand behind the line in which that rank shows the figure, in one file with it?"""
    at = same.select("rank", pl.col("file").cast(pl.String).alias("_file"), pl.col("line").alias("_line"), "bad")
    told = pl.concat([one.select("rank", pl.col("file").cast(pl.String), "line") for one in (bad, losses)])
    told = told.join(at, on="rank", how="left")
    is_behind = (pl.col("file") == pl.col("_file")) & (
        (pl.col("line") > pl.col("_line")) | (pl.col("bad") & (pl.col("line") == pl.col("_line")))
    )
    return bool(told.select(is_behind.fill_null(value=False).all()).item())


def _lost_together(bad: pl.DataFrame, losses: pl.DataFrame, rank: int) -> bool:
    """Did each of the others lose first what another of them lost first, too?"""
    named = bad.select(*_WHERE, "of", "name", "place")
    lost = losses.select(*_WHERE, pl.lit("").alias("of"), pl.lit("loss").alias("name"), pl.lit(-1).alias("place"))
    told = pl.concat([named, lost.cast(named.schema)]).filter(pl.col("rank") != rank)
    first = told.sort("line", "place").unique("rank", keep="first", maintain_order=True)
    return all(many > 1 for many in Counter(first.select("of", "name").iter_rows()).values())
