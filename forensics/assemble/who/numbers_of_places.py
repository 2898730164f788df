"""Numbers in paths that each place counts for itself, though a word there says rank.

    gq1/rank_0/stderr   gq1/rank_1/stderr   gq2/rank_0/stderr   gq2/rank_1/stderr

Where folders that are alike but for a number hold a file of one name each, whose path alone says whose it is, and both files tell the same steps in the same
time, or at no time, two processes have that number: it is no rank. Attempts come one after the other, looks tell no steps, a folder for each step holds no other one,
and what a process says of itself stands.

Fooled by: one process that writes to two such folders at once; then its rank is not known.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import polars as pl

from parsers.schema.tables import TableName
from parsers.text.patterns import regex

_DIGITS = regex(r"\d+")


class _Told(NamedTuple):
    first: int | None  # time
    last: int | None
    steps: frozenset[int]
    folder: str


def without_numbers_of_places(tables: Mapping[TableName, pl.DataFrame]) -> dict[TableName, pl.DataFrame]:
    """Tables of one attempt → the same, without the ranks of files whose number is such a one."""
    files = tables["files"].filter(pl.col("rank").is_not_null())
    told = tables["steps"].filter(pl.col("step").is_not_null()).group_by("file").agg("step")
    steps = {str(file): frozenset(own) for file, own in told.iter_rows()}
    spoken = {*map(str, tables["ranks"].filter(pl.col("rank").is_not_null())["file"])}
    alike: defaultdict[tuple[str, int, int], list[_Told]] = defaultdict(list)
    for file, rank, first, last in files.select("file", "rank", "time_first_ns", "time_last_ns").iter_rows():
        parts = [] if file in spoken or file not in steps else str(file).split("/")
        for at, part in enumerate(parts[:-1]):
            if (shape := _DIGITS.sub("#", part)) != part:
                one = "/".join((*parts[:at], shape, *parts[at + 1 :]))
                alike[one, at, rank].append(_Told(first, last, steps[file], "/".join(parts[: at + 1]) + "/"))
    places = {one.folder for own in alike.values() if _are_at_once(own) for one in own}
    theirs = [file for file in map(str, tables["files"]["file"]) if file not in spoken and file.startswith((*places,))]
    if not places or not theirs:
        return dict(tables)
    is_theirs = pl.col("file").cast(pl.String).is_in(theirs)
    own = pl.when(is_theirs).then(None).otherwise("rank").alias("rank")
    return {name: one.with_columns(own) if {"file", "rank"} <= {*one.columns} else one for name, one in tables.items()}


def _are_at_once(told: Sequence[_Told]) -> bool:
    """Do two tell a step that is the same, and do their times overlap, or do some tell none?"""
    spans = sorted((one.first, one.last) for one in told if one.first is not None and one.last is not None)
    at_once = len(spans) < len(told) or any(one[1] > other[0] for one, other in pairwise(spans))
    return at_once and sum(len(one.steps) for one in told) > len(frozenset().union(*(one.steps for one in told)))
