"""Evidence: everything that was read from a bundle, as tables."""

from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec
import polars as pl

from parsers.schema.merging import merge
from parsers.schema.tables import TableName, Tables, conform


class BundleError(Exception):
    """The path does not exist, cannot be read at all, or holds nothing."""


class Evidence(msgspec.Struct, frozen=True):
    """The tables of a bundle. All tables are there, empty ones too; rows are sorted by place."""

    name: str  # of the bundle
    tables: Mapping[TableName, pl.DataFrame]

    @property
    def files(self) -> int:
        """How many members the bundle has."""
        return self.tables["files"].height

    @property
    def bytes(self) -> int:
        """How many bytes they have, as stored."""
        return int(self.tables["files"]["bytes"].sum())


def joined(parts: Sequence[Evidence]) -> Evidence:
    """Several bundles of one job as one, such as what each of its nodes has parsed on its own: every file lies below the name
    of its bundle. Raises BundleError where two have one name."""
    if len(parts) == 1:
        return parts[0]
    name, count = Counter(part.name for part in parts).most_common(1)[0]
    if count > 1:
        why = "give each a name of its own, as its files lie below it"
        raise BundleError(f"{count} of the bundles are called {name}: {why}")
    from parsers.schema.years import settled

    ordered = sorted(parts, key=lambda part: part.name)
    return Evidence(", ".join(part.name for part in ordered), settled(merge([_below(part) for part in ordered])))


def _below(part: Evidence) -> Tables:
    place = pl.lit(f"{part.name}/") + pl.col("file").cast(pl.String)
    return {name: conform(name, frame.with_columns(file=place)) for name, frame in part.tables.items()}
