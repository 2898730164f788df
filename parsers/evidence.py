"""Evidence: everything that was read from a bundle, as tables."""

from collections.abc import Mapping

import msgspec
import polars as pl

from parsers.tables import TableName


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
