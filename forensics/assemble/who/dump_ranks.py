"""Whose flight record is it, where its file name does not say so?

A dump holds no rank, and its name is a prefix of the job's choice with a number somewhere. Two things tell: the rank is a
member of every group that the dump lists, which often leaves one; and where the paths of several dumps differ
in one number, and each number is a possible rank of its dump, these numbers are the ranks.
"""

from collections import defaultdict
from collections.abc import Mapping

import polars as pl

from forensics.model.told import told_by
from parsers.schema.tables import TableName, Tables, spelled, table
from parsers.text.patterns import regex

_FILLED: tuple[TableName, ...] = ("operations", "groups", "progress", "settings")
_FROM_DUMP = ("flight recorder pg_config", "flight recorder pg_status")
_NUMBER = regex(r"\d{1,7}")


def with_dump_ranks(tables: Tables) -> dict[TableName, pl.DataFrame]:
    """Tables of one attempt → the same, with the rank of dumps that can be placed, and a row of `ranks` for each."""
    nameless = _nameless(tables)
    if not nameless:
        return dict(tables)
    possible = _possible(tables, nameless)
    by_content = {file: min(ranks) for file, ranks in possible.items() if len(ranks) == 1}
    placed = _by_path(possible) | by_content
    if not placed:
        return dict(tables)
    rank = pl.col("file").replace_strict(placed, default=None, return_dtype=pl.Int64)
    filled = {name: tables[name].with_columns(pl.coalesce("rank", rank).alias("rank")) for name in _FILLED}
    claims = [
        {"rank": number, "how": f"{'groups' if file in by_content else 'path'} of the flight record", "file": file}
        for file, number in sorted(placed.items())
    ]
    return {**tables, **filled, "ranks": pl.concat([tables["ranks"], table("ranks", claims)])}


@told_by("groups", "progress", "operations", nothing=list[str])
def _nameless(tables: Tables) -> list[str]:
    """Files of flight records without a rank."""
    parts = [tables[name].lazy().filter(pl.col("how").is_in(_FROM_DUMP)) for name in ("groups", "progress")]
    recorded = tables["operations"].lazy().filter(pl.col("record").is_not_null() & pl.col("line").is_null())
    distinct = [part.select("file", "rank").unique().collect(engine="streaming") for part in (*parts, recorded)]
    rows = pl.concat(map(spelled, distinct))  # of millions of entries none is copied
    return rows.group_by("file").agg(pl.col("rank").is_null().all()).filter("rank")["file"].sort().to_list()


def _possible(tables: Tables, files: list[str]) -> dict[str, frozenset[int]]:
    """file → members of all its groups; where nobody is, of all that it has entries of."""
    stated = tables["groups"].filter(pl.col("file").is_in(files) & (pl.col("members_space") == "global"))
    stated = stated.drop_nulls("members")
    used = spelled(tables["operations"].select("file", "group").filter(pl.col("file").is_in(files)).unique())
    every, entered = _common(stated), _common(stated.join(used, on=["file", "group"], how="semi"))
    return {file: every[file] or entered.get(file, frozenset()) for file in sorted(every)}


def _common(groups: pl.DataFrame) -> dict[str, frozenset[int]]:
    """file → ranks that are members of all its groups."""
    common: dict[str, frozenset[int]] = {}
    for file, members in groups.select("file", "members").iter_rows():
        own = frozenset(members)
        common[file] = common[file] & own if file in common else own
    return common


def _by_path(possible: Mapping[str, frozenset[int]]) -> dict[str, int]:
    """file → the number in its path by which it differs from most others, if that could be its rank."""
    shapes: dict[str, dict[str, int]] = defaultdict(dict)
    for file in possible:
        for found in _NUMBER.finditer(file):
            shapes[f"{file[: found.start()]}#{file[found.end() :]}"][file] = int(found[0])
    fitting = {
        shape: numbers for shape, numbers in shapes.items()
        if len(numbers) > 1 and len(set(numbers.values())) == len(numbers)
        and all(number in possible[file] for file, number in numbers.items())
    }  # fmt: skip
    placed: dict[str, int] = {}
    for file in possible:
        choices = sorted(((len(n), n[file]) for n in fitting.values() if file in n), reverse=True)
        if choices and (len(choices) == 1 or choices[0][0] > choices[1][0]):
            placed[file] = choices[0][1]
    return placed
