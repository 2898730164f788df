"""Numbers in paths that each place counts for itself, though a word there says rank.

    gq1/rank_0/stderr   gq1/rank_1/stderr   gq2/rank_0/stderr   gq2/rank_1/stderr

Where folders that are alike but for a number hold a file of one name each, whose path alone says whose it is, and both files tell steps in the same time,
or at no time, two processes have that number: it is no rank. Attempts come one after the other, looks tell no steps, and what a process says of itself stands.

Fooled by: one process that writes to two such folders at once; then its rank is not known.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise

import polars as pl

from parsers.schema.tables import TableName
from parsers.text.patterns import regex

_DIGITS = regex(r"\d+")


def without_numbers_of_places(tables: Mapping[TableName, pl.DataFrame]) -> dict[TableName, pl.DataFrame]:
    """Tables of one attempt → the same, without the ranks of files whose number is such a one."""
    files = tables["files"].filter(pl.col("rank").is_not_null())
    steps = {*map(str, tables["steps"]["file"])}
    spoken = {*map(str, tables["ranks"].filter(pl.col("rank").is_not_null())["file"])}
    alike: defaultdict[tuple[str, int, int], list[tuple[int | None, int | None, str]]] = defaultdict(list)
    for file, rank, first, last in files.select("file", "rank", "time_first_ns", "time_last_ns").iter_rows():
        parts = [] if file in spoken or file not in steps else str(file).split("/")
        for at, part in enumerate(parts[:-1]):
            if (shape := _DIGITS.sub("#", part)) != part:
                one = "/".join((*parts[:at], shape, *parts[at + 1 :]))
                alike[one, at, rank].append((first, last, "/".join(parts[: at + 1]) + "/"))
    places = {folder for told in alike.values() if _are_at_once(told) for *_, folder in told}
    theirs = [file for file in map(str, tables["files"]["file"]) if file not in spoken and file.startswith((*places,))]
    if not places or not theirs:
        return dict(tables)
    is_theirs = pl.col("file").cast(pl.String).is_in(theirs)
    own = pl.when(is_theirs).then(None).otherwise("rank").alias("rank")
    return {name: one.with_columns(own) if {"file", "rank"} <= {*one.columns} else one for name, one in tables.items()}


def _are_at_once(told: Sequence[tuple[int | None, int | None, str]]) -> bool:
    """Do the times of files, first and last, overlap, or do some tell none?"""
    spans = sorted((first, last) for first, last, _ in told if first is not None and last is not None)
    return len(told) > 1 and (len(spans) < len(told) or any(one[1] > other[0] for one, other in pairwise(spans)))
