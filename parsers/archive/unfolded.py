"""Files that came compressed one by one: while they are read they are called without that ending, as what reads them and what speaks of them does.

`metrics.csv.gz` is `metrics.csv`, unless the bundle has one of these as well; the tables call it as it lies there.
"""

from collections.abc import Iterable, Mapping, Sequence, Set

import polars as pl
from msgspec.structs import replace

from parsers.archive.path_hints import hints
from parsers.schema.parser import Source
from parsers.schema.tables import Tables
from parsers.text.patterns import regex

_ENDING = regex(r"\.(?:gz|zst|bz2|xz)\Z")


def unfolded(sources: Sequence[Source], folded: Set[str]) -> tuple[list[Source], dict[str, str]]:
    """The members of a bundle, some of which, or whose wholes, came compressed → these as they are called, and path → path in the bundle."""
    bare = {path: name for path in folded if (name := _ENDING.sub("", path)) != path}
    taken = {above for source in sources for above in _above(source.path)}
    names: dict[str, str] = {}
    for source in sources if bare else ():
        whole = next((above for above in _above(source.path) if above in bare), None)
        if whole is not None and bare[whole] not in taken:
            names[source.path] = bare[whole] + source.path[len(whole) :]
    called = [_called(source, names[source.path]) if source.path in names else source for source in sources]
    return sorted(called, key=lambda source: source.path), {name: path for path, name in names.items()}


def with_paths(tables: Tables, paths: Mapping[str, str]) -> Tables:
    """The tables of a bundle, each file as it lies there."""
    if not paths:
        return tables
    named = pl.col("file").replace(paths)
    return {name: table.with_columns(named) if "file" in table.columns else table for name, table in tables.items()}


def _above(path: str) -> Iterable[str]:
    """A path, and what it lies below."""
    yield path
    for at, mark in enumerate(path):
        if mark == "/":
            yield path[:at]


def _called(source: Source, path: str) -> Source:
    before, told = hints(source.path), hints(path)
    host = told.host if source.host == before.host else source.host
    return replace(
        source,
        path=path,
        rank=told.rank,
        local_rank=told.local_rank,
        host=host,
        attempt=told.attempt,
        launch=told.launch,
    )
