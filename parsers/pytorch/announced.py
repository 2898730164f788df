"""Lines of a rank right above a traceback that tells no rank: what a logger, or a handler of exceptions, says before the interpreter prints.

    gn12(4711) uncaught exception⏎Traceback (most recent call last):⏎  File …

Such a line is an event at the head of the traceback, `other` with the code `announces`: the rank, and the words. Whether it tells whose the traceback
is, `forensics/assemble/ends/logged_errors.py` decides, for another process may have printed there.

Printed by: CPython's traceback module, below lines of any logger.
Versions: all of Python 3.
Source: Lib/traceback.py of CPython 3.13; `logging.Formatter.format` puts `exc_text` on the lines below the record.
"""

import polars as pl

from parsers.schema.lines import event
from parsers.schema.parser import LineParser
from parsers.schema.tables import Tables, tables_of
from parsers.text.patterns import regex

ANNOUNCES = "announces"
_HEAD = regex(r"\s{0,8}Traceback \(most recent call last\):\s*\Z")


def parse(lines: pl.DataFrame) -> Tables:
    """events other."""
    spoken = pl.col("rank").is_not_null() | pl.col("path_rank").is_not_null()
    above = lines.filter(spoken).with_columns(pl.col("line") + 1)
    heads = lines.filter(~spoken).select("file", "line", head="text")
    rows = above.join(heads, on=["file", "line"]).sort("file", "line").rows(named=True)
    told = {"code": ANNOUNCES, "severity": "info"}
    return tables_of(events=[event(row, "other", **told) for row in rows if _HEAD.match(row["head"])])


PARSER = LineParser(name="announced", anchors=(b"Traceback (most recent call last)",), parse=parse, before=True)
