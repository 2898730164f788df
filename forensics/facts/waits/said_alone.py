"""What one rank alone printed again and again at the end of its log, where the others printed nothing like it.

    W0720 04:39:31.000000 2833 store.cc:411] Retriable error on PUT …/d/5e8f: UNAVAILABLE: operation too slow (attempt 38)

A line is its template: without prefix, each word that holds a digit as #. Figures of a step are progress and no such line.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec
import polars as pl

from forensics.assemble.starts.apart import numbered_lines, own_logs
from forensics.model.ref import Ref
from parsers.schema.tables import Tables
from parsers.text.patterns import regex
from parsers.who.lines.prefixes import strip

_OFTEN, _OTHERS = 3, 2  # lines of a template, and other ranks with logs
_VARIES = regex(r"\S*\d\S*")


class SaidAlone(msgspec.Struct, frozen=True):
    """`times` of the last lines of `rank`'s log are alike; `last` is the last of them."""

    rank: int
    times: int
    last: Ref


def said_alone(tables: Tables, ranks: Collection[int]) -> list[SaidAlone]:
    """Tables of one attempt, ranks → what each of them printed alone, by rank: the most frequent template of each log."""
    logs = own_logs(tables).filter(pl.col("rank").is_not_null() & (pl.col("last_lines").list.len() > 0))
    others = logs.filter(~pl.col("rank").is_in(list(ranks)))
    if others["rank"].n_unique() < _OTHERS:
        return []
    theirs = {_template(text) for lines in others["last_lines"].to_list() for text in lines}
    steps = dict(tables["steps"].group_by("file").agg(pl.col("line").max()).iter_rows())
    found: list[SaidAlone] = []
    for row in logs.filter(pl.col("rank").is_in(list(ranks))).sort("rank", "file").iter_rows(named=True):
        own = _own(row, theirs, steps.get(row["file"]) or 0)
        if len(own) >= _OFTEN:
            found.append(SaidAlone(row["rank"], len(own), own[-1]))
    return found


def _own(row: Mapping[str, Any], theirs: Collection[str], after: int) -> Sequence[Ref]:
    """The lines of the most frequent template that is none of `theirs`, after the last line of a step."""
    lines: dict[str, list[Ref]] = defaultdict(list)
    for number, text in numbered_lines(row):
        if number > after and (said := _template(text)) and said not in theirs:
            lines[said].append(Ref(file=row["file"], line=number, text=text))
    return max(lines.values(), key=len, default=())


def _template(text: str) -> str:
    said = _VARIES.sub("#", strip(text).text).strip()
    return said if any(map(str.isalpha, said)) else ""
