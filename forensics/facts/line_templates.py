"""Lines as templates (digits replaced by #), and in which files each stands: what log comparison works on.

Lines that nobody recognised come from the sample that the reader keeps of each file; warnings and errors that were
recognised count by their text.
"""

import re
from collections import defaultdict
from collections.abc import Mapping

import polars as pl

from parsers.tables import TableName

_DIGITS = re.compile(r"0x[0-9a-fA-F]+|\d+")
_COUNTED = re.compile(r"^\d+ × ")
_LONG = 200  # characters


def files_of_templates(tables: Mapping[TableName, pl.DataFrame]) -> dict[str, frozenset[str]]:
    """Template → files that hold such a line."""
    found: dict[str, set[str]] = defaultdict(set)
    for file, templates in tables["files"].select("file", "templates").iter_rows():
        for template in templates or ():
            found[_COUNTED.sub("", template)].add(file)
    told = tables["events"].filter(
        pl.col("severity").is_in(["warning", "error", "fatal"]) & pl.col("text").is_not_null()
    )
    for file, text in told.select("file", "text").unique().iter_rows():
        found[_DIGITS.sub("#", text)[:_LONG]].add(file)
    return {template: frozenset(files) for template, files in sorted(found.items())}
