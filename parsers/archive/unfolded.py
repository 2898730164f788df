"""Files that came compressed one by one: while they are read they are called without that ending, as what reads them and what speaks of them does.

`metrics.csv.gz` is `metrics.csv`, unless the bundle has one of these as well; the tables call it as it lies there.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from itertools import islice, takewhile

import polars as pl
from msgspec.structs import asdict, replace

from parsers.schema.parser import Source
from parsers.schema.tables import Tables
from parsers.text.path_hints import hints
from parsers.text.patterns import regex

_ENDING = regex(r"\.(?:gz|zst|bz2|xz)\Z")


def unfolded(sources: Sequence[Source], folded: Set[str]) -> tuple[list[Source], dict[str, str]]:
    """The members of a bundle, some of which, or whose wholes, came compressed → these as they are called, and path → path in the bundle."""
    paths = sorted(source.path for source in sources)
    names: dict[str, str] = {}
    twice = Counter(_ENDING.sub("", whole) for whole in folded)
    for whole in sorted(folded):
        bare = _ENDING.sub("", whole)
        if bare != whole and twice[bare] == 1 and not _at(paths, bare):
            names |= {path: bare + path[len(whole) :] for path in _at(paths, whole)}
    called = [_called(source, names[source.path]) if source.path in names else source for source in sources]
    return sorted(called, key=lambda source: source.path), {name: path for path, name in names.items()}


def _at(paths: Sequence[str], whole: str) -> list[str]:
    """Of sorted paths those that are this one, or lie below it."""
    own = paths[bisect_left(paths, whole) : bisect_right(paths, whole)]
    below = bisect_left(paths, f"{whole}/")
    return [*own, *takewhile(lambda path: path.startswith(f"{whole}/"), islice(paths, below, None))]


def with_paths(tables: Tables, paths: Mapping[str, str]) -> Tables:
    """The tables of a bundle, each file as it lies there."""
    if not paths:
        return tables
    named = pl.col("file").replace(paths)
    return {name: table.with_columns(named) if "file" in table.columns else table for name, table in tables.items()}


def _called(source: Source, path: str) -> Source:
    before, told = hints(source.path), hints(path)
    host = told.host if source.host == before.host else source.host
    return replace(source, path=path, **asdict(told) | {"host": host})
