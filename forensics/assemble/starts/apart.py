"""Do the logs of a few ranks and those of the others show that these went different ways, whatever their words?

Each of the few printed a line of a kind that none of the others did, and the others, two at least, all printed one of a kind that none of the few
did. A log that is merely shorter, or that ends as those of the others do, goes no way of its own.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

import polars as pl

from parsers.schema.tables import Tables
from parsers.text.patterns import regex
from parsers.who.lines.prefixes import strip

_DIGITS = regex(r"\d+")
_FEWEST = 2  # others
_INTRODUCED = "introduction"  # `ranks.how` of what a process says of itself


def own_logs(tables: Tables) -> pl.DataFrame:
    """Tables of one attempt → `files`, with the rank, too, of those in which one process alone says which it is."""
    said = tables["ranks"].filter((pl.col("how") == _INTRODUCED) & pl.col("rank").is_not_null())
    if not said.height:
        return tables["files"]
    alone = said.group_by("file").agg(pl.col("rank").unique()).filter(pl.col("rank").list.len() == 1)
    told = alone.select(pl.col("file").cast(tables["files"].schema["file"]), pl.col("rank").list.first().alias("_rank"))
    joined = tables["files"].join(told, on="file", how="left", maintain_order="left")
    return joined.with_columns(pl.coalesce("rank", "_rank").alias("rank")).drop("_rank")


def first_line(row: Mapping[str, Any]) -> int:
    """The number of the first of the last lines that a row of `files` holds."""
    count = len(row["last_lines"])
    return int(row["lines"] or count) - count + 1


def numbered_lines(row: Mapping[str, Any]) -> Iterator[tuple[int, str]]:
    """(number, line) of the last lines that a row of `files` holds; none where it holds none."""
    if row["last_lines"]:
        yield from enumerate(row["last_lines"], first_line(row))


def kind_of(line: str) -> str:
    """A line without what launchers put before it, and with # for its numbers."""
    return _DIGITS.sub("#", strip(line).text)


def kinds(lines: Iterable[str]) -> set[str]:
    return {kind_of(line).strip() for line in lines} - {""}


def is_apart(files: pl.DataFrame, few: Collection[int], others: Collection[int]) -> bool:
    """`files` of one attempt, with their ranks: by the last lines of their logs."""
    said: dict[int, set[str]] = {}
    for rank, lines in files.select("rank", "last_lines").drop_nulls().iter_rows():
        said.setdefault(rank, set()).update(kinds(lines))
    own, rest = [said.get(rank, set()) for rank in few], [said[rank] for rank in others if rank in said]
    if len(rest) < _FEWEST or not own:
        return False
    common = set[str].intersection(*rest)
    return all(one - set[str]().union(*rest) for one in own) and bool(common - set[str]().union(*own))
