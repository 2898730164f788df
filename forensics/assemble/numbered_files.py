"""Files that are one rank's each by two witnesses: the number in their names, and what a process says of itself in them.

Of files of one name but for its numbers, each holds claims of one rank and no two of the same, and in all of them one number of
the name is that rank: `worker_3.log`, in which a process says that it is rank 3. Logs of nodes are none: the rank of their first
process is no number of theirs, but on nodes of one process each, or several speak in them. Where the numbers are just 0 … N-1, half of the
files are enough: the others say nothing of who they are. Then a number that a launcher may give to a place on a host is one of the job, too.

Fooled by: nothing known.
"""

from collections import defaultdict
from collections.abc import Mapping

import polars as pl

from parsers.schema.tables import TableName
from parsers.text.patterns import regex

_NUMBER = regex(r"\d{1,10}")
_OF_OTHERS = ("elastic failure table",)  # of processes that the printer started
_FEWEST = 2


def numbered_files(tables: Mapping[TableName, pl.DataFrame]) -> pl.DataFrame:
    """Evidence tables → file, rank of such files whose path does not say whose they are."""
    claims = tables["ranks"].filter(pl.col("rank").is_not_null() & ~pl.col("how").is_in(_OF_OTHERS))
    spoken = claims.group_by("file").agg(pl.col("rank").unique(), pl.col("pid").drop_nulls().n_unique().alias("_pids"))
    alone = spoken.filter((pl.col("rank").list.len() == 1) & (pl.col("_pids") < _FEWEST))
    ranks: dict[str, int] = dict(alone.select("file", pl.col("rank").list.first()).iter_rows())
    several = {*spoken["file"]} - ranks.keys()
    shapes: defaultdict[str, list[str]] = defaultdict(list)
    untold = tables["files"].filter(pl.col("rank").is_null() & (pl.col("bytes") > 0))
    is_local = {file for file, local in untold.select("file", "local_rank").iter_rows() if local is not None}
    for file in untold["file"]:
        shapes[_NUMBER.sub("#", file)].append(file)
    found: dict[str, int] = {}
    for own in shapes.values():
        if not is_local.intersection(own) and _are_numbered(own, ranks):
            found |= {file: ranks[file] for file in own}
        elif not several.intersection(own):
            found |= _rolled(own, ranks)
    return pl.DataFrame(
        {"file": list(found), "rank": list(found.values())}, schema={"file": pl.String, "rank": pl.Int64}
    )


def _rolled(own: list[str], ranks: Mapping[str, int]) -> dict[str, int]:
    """Files whose numbers are just 0 … N-1, which those that say who they are confirm, at least half of them → their numbers."""
    told = [(file, ranks[file]) for file in own if file in ranks]
    if len(told) < max(_FEWEST, (len(own) + 1) // 2) or len(own) == len(told):
        return {}
    for column in zip(*(map(int, _NUMBER.findall(file)) for file in own), strict=True):
        number = dict(zip(own, column, strict=True))
        if sorted(column) == [*range(len(own))] and all(number[file] == rank for file, rank in told):
            return number
    return {}


def _are_numbered(own: list[str], ranks: Mapping[str, int]) -> bool:
    told = [ranks.get(file) for file in own]
    if None in told or len(set(told)) < max(_FEWEST, len(own)):
        return False
    columns = zip(*(map(int, _NUMBER.findall(file)) for file in own), strict=True)
    return any(list(column) == told for column in columns)
